package sections

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/profiles"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/command"
	"bailiff/vm/form/fspath"
	"bailiff/vm/match"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// ToolCalls is the section `## tool_calls`.
type ToolCalls struct {
	frame.Heading
	frame.Controls
	Allowed         *frame.List // exact
	BlockedCommands *frame.List // the texts to seek
	BlockedDomains  *frame.List // canonical hosts
	HeldCommands    *frame.List // the texts to seek
	ListedCommands  *frame.List // the beginnings of simple commands
	Write, Read     Paths
	Email           Email
	HTTP            HTTP
}

// Paths is what the keys of a tool for files say.
type Paths struct {
	Blocked *frame.List // patterns over cleaned paths
	Allowed *frame.List // patterns over the exact readings of paths
}

// The types of values that only this section has.
var (
	exactActions    = frame.ValueOf(frame.TypeActions, func(c *frame.Checker, entry *grammar.Entry) *frame.List { return c.Actions(entry.Span, entry.Value) })
	blockedCommands = frame.EntriesOf(frame.TypeTexts, codes.BlockedCommand, command.Entry, lintCommand, (*frame.Checker).LintCommandWords)
	listedCommands  = frame.EntriesOf(frame.TypeTexts, codes.AllowedCommand, listedCommand)
	blockedPaths    = frame.EntriesOf(frame.TypePaths, codes.BlockedPath, frame.BlockedPath)
	allowedPaths    = frame.EntriesOf(frame.TypePaths, codes.AllowedPath, allowedPath)
)

// Grants reports whether a rule grants actions by their names.
func Grants(rule string) bool {
	return rule == keyTools.Rule || rule == keyActions.Rule || rule == keyChainActions.Rule
}

var (
	keyTools = frame.NewKey(exactActions, func(s *ToolCalls) **frame.List { return &s.Allowed }, frame.Key{Name: "allowed",
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The tools that are granted; exact.",
		Example: "allowed: bash, web_fetch, file_write"})

	// KeyCommands is the key bash.blocked_commands.
	KeyCommands = frame.NewKey(blockedCommands, func(s *ToolCalls) **frame.List { return &s.BlockedCommands }, frame.Key{Name: "bash.blocked_commands", Commands: true, Blocks: true,
		Code: errcode.BlockedCommand,
		Doc: "Texts that must not occur in a `bash` command, however it is quoted, spaced or spelled in upper and lower case, nor in a text that " +
			"the shell evaluates (`bash -c`, `eval`, `trap`, here-documents of shells). A command that cannot be read, or that leaves to the shell " +
			"what runs, is denied. Scripts on disk and other interpreters (`awk`, `python`, `make`) are not looked into.",
		Example: "bash.blocked_commands: rm -rf, curl"})

	keyListedCommands = frame.NewKey(listedCommands, func(s *ToolCalls) **frame.List { return &s.ListedCommands }, frame.Key{Name: "bash.allowed_commands", Commands: true, Since: frame.V24,
		Code: errcode.ToolCallNotAllowed,
		Doc: "The commands that `bash` may run, and no others: the words of every simple command, without their quotes, begin with the words of an entry. " +
			"Substitutions are commands too. A program that runs or evaluates its words (`sudo`, `xargs`, `bash -c`, `eval`, `find -exec`) must be listed with all of them. " +
			"Denied are assignments, definitions, arithmetic, `for`, `time`, and redirections that write anywhere but to `/dev/null` or a descriptor. " +
			"What a listed program does is not looked into.",
		Example: "bash.allowed_commands: ls, cat, git status, go test"})

	keyHeldCommands = frame.NewKey(blockedCommands, func(s *ToolCalls) **frame.List { return &s.HeldCommands }, frame.Key{Name: "bash.require_approval", Commands: true, Since: frame.V24, Blocks: true,
		Code: errcode.HoldApproval,
		Doc: "Texts for which a person has to decide on a `bash` command, sought as those of `bash.blocked_commands` are. A command that " +
			"cannot be read, or that leaves to the shell what runs, is held too.",
		Example: "bash.require_approval: git push, terraform apply"})

	keyPaths = frame.NewKey(blockedPaths, func(s *ToolCalls) **frame.List { return &s.Write.Blocked }, frame.Key{Name: "file_write.blocked_paths", Blocks: true,
		Code:    errcode.BlockedPath,
		Doc:     "Paths that `file_write` must not touch, with what lies below them. `*` matches any characters within a segment; an entry without a leading `/` or `~` matches anywhere. If the intent gives a `cwd`, a relative path is judged as a path in it.",
		Example: "file_write.blocked_paths: /etc, ~/.ssh, .env*"})

	keyWritable = frame.NewKey(allowedPaths, func(s *ToolCalls) **frame.List { return &s.Write.Allowed }, frame.Key{Name: "file_write.allowed_paths", Since: frame.V24,
		Code: errcode.ToolCallNotAllowed,
		Doc: "Paths that `file_write` may touch, with what lies below them, and no others. Case counts, and an entry is read from its first segment: " +
			"`src` is `src` in `cwd`, which the client names, `.` is `cwd` itself; without `cwd` they cover relative paths alone. `*` matches any " +
			"characters within a segment. A path with `..`, `~user`, `$VAR` or `%VAR%` is denied.",
		Example: "file_write.allowed_paths: /workspace/app, docs/*.md"})

	keyUnreadable = frame.NewKey(blockedPaths, func(s *ToolCalls) **frame.List { return &s.Read.Blocked }, frame.Key{Name: "file_read.blocked_paths", Since: frame.V24, Blocks: true,
		Code:    errcode.BlockedPath,
		Doc:     "Paths that `file_read` must not touch, read as `file_write.blocked_paths`.",
		Example: "file_read.blocked_paths: ~/.ssh, .env*"})

	keyReadable = frame.NewKey(allowedPaths, func(s *ToolCalls) **frame.List { return &s.Read.Allowed }, frame.Key{Name: "file_read.allowed_paths", Since: frame.V24,
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "Paths that `file_read` may touch, and no others, read as `file_write.allowed_paths`.",
		Example: "file_read.allowed_paths: /workspace, /usr/include"})

	keyToolsApproval = frame.ApprovalKey(func(s *ToolCalls) *frame.Controls { return &s.Controls }, "tool intents", "bash, deploy.*")

	keyToolsShim = frame.ShimKey(func(s *ToolCalls) *frame.Controls { return &s.Controls }, "tool intents")
)

// Enforces implements [frame.Enforcing].
func (t *ToolCalls) Enforces(bool) bool { return t.Allowed != nil }

// ToolsSection is the row of `## tool_calls`.
var ToolsSection = frame.NewSection[ToolCalls]("tool_calls", frame.V10, "Tools: which are allowed, and what they may not touch.",
	keyTools, KeyCommands, keyListedCommands, keyHeldCommands, keyDomains, keyPaths, keyWritable, keyUnreadable,
	keyReadable, keyEmailApproval, keyToolsEmailApprovalExemptRecipients, keyRecipients, keyNoRecipients, keyNoMethods,
	keyMethods, keyHosts, keyMethodDeny, keyMethodQuery, keyToolsApproval, keyToolsShim).ForClass(vm.Tool)

func listedCommand(text string) ([]string, error) {
	beginning, err := command.ListedEntry(text)
	return []string{beginning}, err
}

// allowedPath reads an entry of a list of allowed paths.
func allowedPath(text string) ([]string, error) {
	if strings.Count(text, "*") > match.MaxStars {
		return nil, fmt.Errorf("an allowed path has at most %d stars: write the directory above", match.MaxStars)
	}
	pattern, err := fspath.AllowedEntry(text)
	return []string{pattern}, err
}

// FinishTools checks what concerns several entries of `## tool_calls`.
func FinishTools(c *frame.Checker) {
	t := frame.Part[ToolCalls](c.Parts)
	if t == nil || t.Allowed != nil || c.Lost("tool_calls", "allowed") || profiles.Of(c.Parts).Declared() {
		return
	}
	c.Add(grammar.At(codes.ToolsGrantNothing, t.Span, "`## tool_calls` has no `allowed`, so it grants nothing").
		WithHint("name the tools: `allowed: bash, web_fetch`"))
}

// EmitTools judges a tool intent: whether it is granted, then what it touches.
func EmitTools(e *frame.Emitter) {
	if !slices.Contains(profiles.Of(e.Parts).Granted(), "*") {
		toolGrants(e)
	}
	if frame.Part[ToolCalls](e.Parts) != nil {
		subjects(e)
	}
}

// toolGrants denies a tool that neither a profile nor `tool_calls.allowed` grants.
func toolGrants(e *frame.Emitter) {
	t := frame.Part[ToolCalls](e.Parts)
	granted := e.NewLabel()
	if profiles.Of(e.Parts).Declared() {
		profiles.EmitGrants(e, granted)
	}
	if t == nil || t.Allowed == nil {
		e.At(wantsGrants(e))
		e.Refuse(keyTools.Rule, keyTools.Code, "neither tool_calls.allowed nor a profile grants the tool")
	} else {
		e.Allowing(t.Allowed)
		e.Test(vm.OpIn, vm.If, e.Field(frame.SlotAction), e.Lowered(t.Allowed), granted)
		e.DenyBy(keyTools.Rule, keyTools.Code, "the tool is not in tool_calls.allowed", e.Value(frame.SlotAction), granted)
	}
	e.Place(granted)
}

// wantsGrants returns the heading that makes tools need a grant, or the version where that is a profile's.
func wantsGrants(e *frame.Emitter) grammar.Span {
	if t := frame.Part[ToolCalls](e.Parts); t != nil {
		return t.Span
	}
	if evm := frame.Part[EVM](e.Parts); evm != nil {
		return evm.Span
	}
	if m := frame.Part[MCP](e.Parts); m != nil {
		return m.Span
	}
	return e.Version.Span
}

func commands(e *frame.Emitter) blockList {
	return blockList{list: frame.Part[ToolCalls](e.Parts).BlockedCommands, key: KeyCommands, slot: derived.Command,
		tests: func(texts []string) []frame.SetTest {
			return []frame.SetTest{{Op: vm.OpContains, Set: e.Exactly(texts...)}}
		},
		missing:    "the policy blocks commands, and the intent has no command",
		unreadable: "the policy blocks commands, and this one can't be read",
		blocked:    "the command holds an entry of tool_calls.bash.blocked_commands"}
}

func emitPaths(e *frame.Emitter, list *frame.List, key *frame.Key) blockList {
	return blockList{list: list, key: key, slot: derived.Path,
		tests:      e.PathTests,
		missing:    "the policy blocks paths, and the intent has no path",
		unreadable: "the policy blocks paths, and this path cannot be resolved to a single file",
		blocked:    "the path is an entry of " + key.Rule + ", or below one"}
}

// A subject is what some tools touch, and the rules about it.
type subject struct {
	actions []string // in lower case
	ruled   bool     // whether there are any rules
	judge   func(done vm.Label)
}

func allSubjects(e *frame.Emitter) []subject {
	t := frame.Part[ToolCalls](e.Parts)
	files := func(paths *Paths, blocked, allowed *frame.Key, action string) subject {
		return subject{[]string{action}, paths.Blocked != nil || paths.Allowed != nil,
			func(done vm.Label) { emitFiles(e, paths, blocked, allowed, done) }}
	}
	return []subject{
		{[]string{"bash"}, t.BlockedCommands != nil || t.ListedCommands != nil, func(done vm.Label) { bash(e, done) }},
		files(&t.Write, keyPaths, keyWritable, "file_write"),
		files(&t.Read, keyUnreadable, keyReadable, "file_read"),
		{[]string{"web_fetch", "http"}, t.BlockedDomains != nil || t.HTTP.rules(), func(done vm.Label) { web(e, done) }},
		{[]string{slot.EmailAction}, t.Email.lists(), func(done vm.Label) { emitEmail(e, done) }},
	}
}

// subjects judges what the tool touches.
func subjects(e *frame.Emitter) {
	var ruled []subject
	var cases []vm.Case
	var labels []vm.Label
	for _, subject := range allSubjects(e) {
		if !subject.ruled {
			continue
		}
		to := e.NewLabel()
		ruled, labels = append(ruled, subject), append(labels, to)
		for _, action := range subject.actions {
			cases = append(cases, vm.Case{Text: action, To: to})
		}
	}
	if len(ruled) == 0 {
		return
	}
	done := e.NewLabel()
	e.Switch(e.Field(derived.Action), done, cases...)
	for i, subject := range ruled {
		e.Place(labels[i])
		subject.judge(done)
	}
	e.Place(done)
}

// bash judges a command: by the blocked ones first.
func bash(e *frame.Emitter, done vm.Label) {
	t := frame.Part[ToolCalls](e.Parts)
	if t.ListedCommands == nil {
		emitBlocked(e, commands(e), done)
		return
	}
	if t.BlockedCommands != nil {
		next := e.NewLabel()
		emitBlocked(e, commands(e), next)
		e.Place(next)
	}
	e.Allowing(t.ListedCommands)
	e.Test(vm.OpStarts, vm.If|vm.Every, e.Field(derived.Calls), e.Exactly(t.ListedCommands.Texts()...), done)
	e.DenyBy(keyListedCommands.Rule, keyListedCommands.Code, "the command is missing, or not in tool_calls.bash.allowed_commands", e.Element(derived.Calls), done)
}

// emitFiles judges the paths of a tool: the blocked ones first.
func emitFiles(e *frame.Emitter, paths *Paths, blocked, allowed *frame.Key, done vm.Label) {
	if paths.Allowed == nil {
		emitBlocked(e, emitPaths(e, paths.Blocked, blocked), done)
		return
	}
	if paths.Blocked != nil {
		next := e.NewLabel()
		emitBlocked(e, emitPaths(e, paths.Blocked, blocked), next)
		e.Place(next)
	}
	e.Allowing(paths.Allowed)
	e.Test(vm.OpPath, vm.If|vm.Every, e.Field(derived.Files), e.Paths(paths.Allowed.Texts()...), done)
	e.DenyBy(allowed.Rule, allowed.Code, "the path is missing, or not in "+allowed.Rule, e.Element(derived.Files), done)
}

// EmitCommandApproval holds commands in which an entry is found, and what can't be read: a test of that never jumps.
func EmitCommandApproval(e *frame.Emitter) {
	held, hold, next := frame.Part[ToolCalls](e.Parts).HeldCommands, e.NewLabel(), e.NewLabel()
	e.Blocking(held)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.Exactly("bash"), next)
	e.Kind(vm.If, e.Field(derived.Command), frame.Absent, hold)
	e.Test(vm.OpContains, vm.Unless, e.Field(derived.Command), e.Exactly(held.Texts()...), next)
	e.Place(hold)
	e.HoldBy(keyHeldCommands, "a person has to decide on this command")
	e.Place(next)
}

// lintCommand warns of a blocked command without quotes that is written as a pattern: it is sought as it is.
func lintCommand(c *frame.Checker, item grammar.Item) {
	if item.Quoted {
		return
	}
	plain := strings.ReplaceAll(strings.Trim(item.Text, "*^$"), `\b`, "")
	plain = strings.TrimSuffix(strings.TrimPrefix(plain, "."), ".")
	d := grammar.At(codes.LiteralStar, item.Span, "a blocked command is not a pattern: it is searched for as written")
	switch {
	case !strings.Contains(item.Text, "*") && !strings.HasPrefix(item.Text, "^") && !strings.Contains(item.Text, `\b`):
		return
	case plain == "" || strings.Contains(plain, "*"):
		d = d.WithHint("write a part of the commands that are meant; if the characters are meant, put the entry between quotes")
	default:
		d = d.WithHint("write `%s`, which matches anywhere; if the characters are meant, put the entry between quotes", frame.Shorten(frame.AsItem(plain)))
	}
	c.Add(d)
}

// A blockList is one of the lists of `## tool_calls` that bind what a tool touches.
type blockList struct {
	list  *frame.List
	key   *frame.Key
	slot  string
	tests func(texts []string) []frame.SetTest

	missing, unreadable, blocked string // messages; unreadable is empty where requests are refused before
}

// emitBlocked judges what a tool touches by one list. A missing or unreadable subject is denied by the same rule.
func emitBlocked(e *frame.Emitter, list blockList, done vm.Label) {
	present, readable := e.NewLabel(), e.NewLabel()
	slot, value := e.Field(list.slot), e.Value(list.slot)
	e.Blocking(list.list)
	e.Kind(vm.Unless, slot, frame.Absent, present)
	e.DenyBy(list.key.Rule, list.key.Code, list.missing, value, done)
	e.Place(present)
	if list.unreadable != "" {
		e.Kind(vm.Unless, slot, vm.Kinds(vm.Invalid), readable)
		e.DenyBy(list.key.Rule, list.key.Code, list.unreadable, value, done)
	}
	e.Place(readable)
	e.UnlessAny(slot, list.tests(list.list.Texts()), done)
	e.DenyBy(list.key.Rule, list.key.Code, list.blocked, e.Element(list.slot), done)
}
