package compiler

import (
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// The keys of the commands that are blocked, held and allowed.
const (
	nameBlockedCommands = "bash.blocked_commands"
	nameHeldCommands    = "bash.require_approval"
	nameListedCommands  = "bash.allowed_commands"
)

// toolKeys are the keys of `## tool_calls`.
var toolKeys = []Key{
	{Section: "tool_calls", Name: "allowed", Type: TypeActions, Since: v10,
		Rule: "tool_calls.allowed", Code: errcode.ToolCallNotAllowed,
		Doc:     "The tools that are granted; exact.",
		Example: "allowed: bash, web_fetch, file_write"},
	{Section: "tool_calls", Name: nameBlockedCommands, Type: TypeTexts, Since: v10, Blocks: true,
		Rule: "tool_calls.bash.blocked_commands", Code: errcode.BlockedCommand,
		Doc: "Texts that must not stand in a `bash` command, however it is quoted, spaced or spelled in upper and lower case, nor in a text that " +
			"the shell evaluates (`bash -c`, `eval`, `trap`, here-documents of shells). A command that cannot be read, or that leaves to the shell " +
			"what runs, is denied. Scripts on disk and other interpreters (`awk`, `python`, `make`) are not looked into.",
		Example: "bash.blocked_commands: rm -rf, curl"},
	{Section: "tool_calls", Name: nameListedCommands, Type: TypeTexts, Since: v24,
		Rule: "tool_calls.bash.allowed_commands", Code: errcode.ToolCallNotAllowed,
		Doc: "The commands that `bash` may run, and no others: the words of every simple command, without their quotes, begin with the words of an entry. " +
			"Substitutions are commands too. What runs or evaluates its words (`sudo`, `xargs`, `bash -c`, `eval`, `find -exec`) is listed with all of them. " +
			"Denied are assignments, definitions, arithmetic, `for`, `time`, and redirections that write anywhere but to `/dev/null` or a descriptor. " +
			"What a listed program does is not looked into.",
		Example: "bash.allowed_commands: ls, cat, git status, go test"},
	{Section: "tool_calls", Name: nameHeldCommands, Type: TypeTexts, Since: v24, Blocks: true,
		Rule: "tool_calls.bash.require_approval", Code: errcode.HoldApproval,
		Doc: "Texts for which a person has to decide on a `bash` command, sought as those of `bash.blocked_commands` are. A command that " +
			"cannot be read, or that leaves to the shell what runs, is held too.",
		Example: "bash.require_approval: git push, terraform apply"},
	{Section: "tool_calls", Name: "web_fetch.blocked_domains", Type: TypeHosts, Since: v10, Blocks: true,
		Rule: "tool_calls.web_fetch.blocked_domains", Code: errcode.BlockedDomain,
		Doc:     "Hosts that `web_fetch` and `http` must not reach, with their subdomains; an IPv4 address also inside NAT64, 6to4 and IPv4-compatible literals.",
		Example: "web_fetch.blocked_domains: pastebin.com, 169.254.169.254"},
	{Section: "tool_calls", Name: "file_write.blocked_paths", Type: TypePaths, Since: v10, Blocks: true,
		Rule: "tool_calls.file_write.blocked_paths", Code: errcode.BlockedPath,
		Doc:     "Paths that `file_write` must not touch, with what lies below them. `*` stands for any characters within a segment; an entry without a leading `/` or `~` matches anywhere. A relative path is judged behind `cwd`, where the intent gives one.",
		Example: "file_write.blocked_paths: /etc, ~/.ssh, .env*"},
	{Section: "tool_calls", Name: "file_write.allowed_paths", Type: TypePaths, Since: v24,
		Rule: "tool_calls.file_write.allowed_paths", Code: errcode.ToolCallNotAllowed,
		Doc: "Paths that `file_write` may touch, with what lies below them, and no others. Case counts, and an entry is read from its first segment: " +
			"`src` is `src` in `cwd`, which the client names, `.` is `cwd` itself; without `cwd` they cover relative paths alone. `*` stands for any " +
			"characters within a segment. A path with `..`, `~user`, `$VAR` or `%VAR%` is denied.",
		Example: "file_write.allowed_paths: /workspace/app, docs/*.md"},
	{Section: "tool_calls", Name: "file_read.blocked_paths", Type: TypePaths, Since: v24, Blocks: true,
		Rule: "tool_calls.file_read.blocked_paths", Code: errcode.BlockedPath,
		Doc:     "Paths that `file_read` must not touch, read as `file_write.blocked_paths`.",
		Example: "file_read.blocked_paths: ~/.ssh, .env*"},
	{Section: "tool_calls", Name: "file_read.allowed_paths", Type: TypePaths, Since: v24,
		Rule: "tool_calls.file_read.allowed_paths", Code: errcode.ToolCallNotAllowed,
		Doc:     "Paths that `file_read` may touch, and no others, read as `file_write.allowed_paths`.",
		Example: "file_read.allowed_paths: /workspace, /usr/include"},
	{Section: "tool_calls", Name: "email.require_approval", Type: TypeBoolean, Since: v10, Default: "false",
		Rule: "tool_calls.email.require_approval", Code: errcode.HoldApproval,
		Doc: "Whether a person has to decide on every `email.send`.", Example: "email.require_approval: true"},
	{Section: "tool_calls", Name: "email.approval_exempt_recipients", Type: TypeRecipients, Since: v24,
		Doc:     "Recipients to whom `email.require_approval` does not apply, where all recipients of an e-mail are among them; `*` stands for any characters but `@`.",
		Example: "email.require_approval: true\nemail.approval_exempt_recipients: *@example.com"},
	{Section: "tool_calls", Name: "email.allowed_recipients", Type: TypeRecipients, Since: v10,
		Rule: "tool_calls.email.allowed_recipients", Code: errcode.RecipientNotAllowed,
		Doc:     "The recipients that `email.send` may have, all of them; `*` stands for any characters but `@`.",
		Example: "email.allowed_recipients: *@example.com"},
	{Section: "tool_calls", Name: "email.blocked_recipients", Type: TypeRecipients, Since: v10, Blocks: true,
		Rule: "tool_calls.email.blocked_recipients", Code: errcode.BlockedRecipient, Codes: []errcode.Code{errcode.RecipientNotAllowed},
		Doc:     "The recipients that `email.send` must not have, any of them; `*` stands for any characters but `@`.",
		Example: "email.blocked_recipients: *@example.net"},
	{Section: "tool_calls", Name: "http.blocked_methods", Type: TypeWords, Since: v20, Blocks: true, Values: slot.Methods(),
		Rule: "tool_calls.http.blocked_methods", Code: errcode.ToolCallNotAllowed,
		Doc: "The methods that `http` must not use.", Example: "http.blocked_methods: DELETE, PATCH"},
	{Section: "tool_calls", Name: "http.allowed_methods", Type: TypeWords, Since: v20, Values: slot.Methods(),
		Rule: "tool_calls.http.allowed_methods", Code: errcode.ToolCallNotAllowed,
		Doc: "The methods that `http` may use; `web_fetch`, which has none, is denied then.", Example: "http.allowed_methods: GET, HEAD"},
	{Section: "tool_calls", Name: "http.allowed_hosts", Type: TypeHosts, Since: v20,
		Rule: "tool_calls.http.allowed_hosts", Code: errcode.ToolCallNotAllowed,
		Doc:     "The hosts that `http` and `web_fetch` may reach: a name stands for itself, `*.example.com` for what is below it.",
		Example: "http.allowed_hosts: api.example.com, *.example.org"},
	{Section: "tool_calls", Name: "http.method_rules.<METHOD>.deny", Type: TypeBoolean, Since: v21, Default: "false",
		Rule: "tool_calls.http.method_rules.<METHOD>.deny", Code: errcode.ToolCallNotAllowed,
		Doc: "Whether the method is denied.", Example: "http.method_rules.DELETE.deny: true"},
	{Section: "tool_calls", Name: "http.method_rules.<METHOD>.require_query_matches", Type: TypeRegexp, Since: v21,
		Rule: "tool_calls.http.method_rules.<METHOD>.require_query_matches", Code: errcode.ToolCallNotAllowed,
		Doc:     "A pattern that the whole query, as it is sent and without `?`, has to match; an empty query never does.",
		Example: `http.method_rules.GET.require_query_matches: "q=[a-z]{1,32}"`},
	approvalKey("tool_calls", "tool intents", "bash, deploy.*"),
	shimKey("tool_calls", "tool intents"),
}
