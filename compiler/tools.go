package compiler

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/command"
	"bailiff/vm/form/fspath"
	"bailiff/vm/match"
	"bailiff/vm/slot/derived"
)

// ToolCalls is the section `## tool_calls`.
type ToolCalls struct {
	Heading
	Controls
	Allowed         *List // exact
	BlockedCommands *List // the texts to seek
	BlockedDomains  *List // canonical hosts
	HeldCommands    *List // the texts to seek
	ListedCommands  *List // the beginnings of simple commands
	Write, Read     Paths
	Email           Email
	HTTP            HTTP
}

// Paths is what the keys of a tool for files say.
type Paths struct {
	Blocked *List // patterns over cleaned paths
	Allowed *List // patterns over the exact readings of paths
}

// The types of values that only this section has.
var (
	exactActions    = valueOf(TypeActions, func(c *checker, entry *grammar.Entry) *List { return c.actions(entry.Span, entry.Value) })
	blockedCommands = entriesOf(TypeTexts, codes.BlockedCommand, command.Entry, (*checker).lintCommand, (*checker).lintCommandWords)
	listedCommands  = entriesOf(TypeTexts, codes.AllowedCommand, listedCommand)
	blockedPaths    = entriesOf(TypePaths, codes.BlockedPath, blockedPath)
	allowedPaths    = entriesOf(TypePaths, codes.AllowedPath, allowedPath)
)

var (
	keyTools = key(exactActions, func(s *ToolCalls) **List { return &s.Allowed }, Key{Name: "allowed",
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The tools that are granted; exact.",
		Example: "allowed: bash, web_fetch, file_write"})

	// KeyCommands is the key bash.blocked_commands.
	KeyCommands = key(blockedCommands, func(s *ToolCalls) **List { return &s.BlockedCommands }, Key{Name: "bash.blocked_commands", commands: true, Blocks: true,
		Code: errcode.BlockedCommand,
		Doc: "Texts that must not stand in a `bash` command, however it is quoted, spaced or spelled in upper and lower case, nor in a text that " +
			"the shell evaluates (`bash -c`, `eval`, `trap`, here-documents of shells). A command that cannot be read, or that leaves to the shell " +
			"what runs, is denied. Scripts on disk and other interpreters (`awk`, `python`, `make`) are not looked into.",
		Example: "bash.blocked_commands: rm -rf, curl"})

	keyListedCommands = key(listedCommands, func(s *ToolCalls) **List { return &s.ListedCommands }, Key{Name: "bash.allowed_commands", commands: true, Since: v24,
		Code: errcode.ToolCallNotAllowed,
		Doc: "The commands that `bash` may run, and no others: the words of every simple command, without their quotes, begin with the words of an entry. " +
			"Substitutions are commands too. What runs or evaluates its words (`sudo`, `xargs`, `bash -c`, `eval`, `find -exec`) is listed with all of them. " +
			"Denied are assignments, definitions, arithmetic, `for`, `time`, and redirections that write anywhere but to `/dev/null` or a descriptor. " +
			"What a listed program does is not looked into.",
		Example: "bash.allowed_commands: ls, cat, git status, go test"})

	keyHeldCommands = key(blockedCommands, func(s *ToolCalls) **List { return &s.HeldCommands }, Key{Name: "bash.require_approval", commands: true, Since: v24, Blocks: true,
		Code: errcode.HoldApproval,
		Doc: "Texts for which a person has to decide on a `bash` command, sought as those of `bash.blocked_commands` are. A command that " +
			"cannot be read, or that leaves to the shell what runs, is held too.",
		Example: "bash.require_approval: git push, terraform apply"})

	keyPaths = key(blockedPaths, func(s *ToolCalls) **List { return &s.Write.Blocked }, Key{Name: "file_write.blocked_paths", Blocks: true,
		Code:    errcode.BlockedPath,
		Doc:     "Paths that `file_write` must not touch, with what lies below them. `*` stands for any characters within a segment; an entry without a leading `/` or `~` matches anywhere. A relative path is judged behind `cwd`, where the intent gives one.",
		Example: "file_write.blocked_paths: /etc, ~/.ssh, .env*"})

	keyWritable = key(allowedPaths, func(s *ToolCalls) **List { return &s.Write.Allowed }, Key{Name: "file_write.allowed_paths", Since: v24,
		Code: errcode.ToolCallNotAllowed,
		Doc: "Paths that `file_write` may touch, with what lies below them, and no others. Case counts, and an entry is read from its first segment: " +
			"`src` is `src` in `cwd`, which the client names, `.` is `cwd` itself; without `cwd` they cover relative paths alone. `*` stands for any " +
			"characters within a segment. A path with `..`, `~user`, `$VAR` or `%VAR%` is denied.",
		Example: "file_write.allowed_paths: /workspace/app, docs/*.md"})

	keyUnreadable = key(blockedPaths, func(s *ToolCalls) **List { return &s.Read.Blocked }, Key{Name: "file_read.blocked_paths", Since: v24, Blocks: true,
		Code:    errcode.BlockedPath,
		Doc:     "Paths that `file_read` must not touch, read as `file_write.blocked_paths`.",
		Example: "file_read.blocked_paths: ~/.ssh, .env*"})

	keyReadable = key(allowedPaths, func(s *ToolCalls) **List { return &s.Read.Allowed }, Key{Name: "file_read.allowed_paths", Since: v24,
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "Paths that `file_read` may touch, and no others, read as `file_write.allowed_paths`.",
		Example: "file_read.allowed_paths: /workspace, /usr/include"})

	keyToolsApproval = approvalKey(func(s *ToolCalls) *Controls { return &s.Controls }, "tool intents", "bash, deploy.*")

	keyToolsShim = shimKey(func(s *ToolCalls) *Controls { return &s.Controls }, "tool intents")
)

func (t *ToolCalls) enforces(bool) bool { return t.Allowed != nil }

var tools = section[ToolCalls]("tool_calls", v10, "Tools: which are allowed, and what they may not touch.",
	keyTools, KeyCommands, keyListedCommands, keyHeldCommands, keyDomains, keyPaths, keyWritable, keyUnreadable,
	keyReadable, keyEmailApproval, keyToolsEmailApprovalExemptRecipients, keyRecipients, keyNoRecipients, keyNoMethods,
	keyMethods, keyHosts, keyMethodDeny, keyMethodQuery, keyToolsApproval, keyToolsShim).of(vm.Tool)

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

// finishTools checks what concerns several entries of `## tool_calls`.
func (c *checker) finishTools() {
	t := part[ToolCalls](c.parts)
	if t == nil || t.Allowed != nil || c.lost("tool_calls", "allowed") || profilesOf(c.parts).Declared() {
		return
	}
	c.add(grammar.At(codes.ToolsGrantNothing, t.Span, "`## tool_calls` has no `allowed`, so it grants nothing").
		WithHint("name the tools: `allowed: bash, web_fetch`"))
}

// tools judges a tool intent: whether it is granted, then what it touches.
func (e *emitter) tools() {
	if !slices.Contains(profilesOf(e.parts).Granted(), "*") {
		e.toolGrants()
	}
	if part[ToolCalls](e.parts) != nil {
		e.subjects()
	}
}

// toolGrants denies a tool that neither a profile nor `tool_calls.allowed` grants.
func (e *emitter) toolGrants() {
	t := part[ToolCalls](e.parts)
	granted := e.NewLabel()
	if profilesOf(e.parts).Declared() {
		e.profileGrants(granted)
	}
	if t == nil || t.Allowed == nil {
		e.at(e.wantsGrants())
		e.refuse(keyTools.Rule, keyTools.Code, "neither tool_calls.allowed nor a profile grants the tool")
	} else {
		e.allowing(t.Allowed)
		e.Test(vm.OpIn, vm.If, e.Field(slotAction), e.lowered(t.Allowed), granted)
		e.deny(keyTools.Rule, keyTools.Code, "the tool is not in tool_calls.allowed", e.value(slotAction), granted)
	}
	e.Place(granted)
}

// wantsGrants returns the heading that makes tools need a grant, or the version where that is a profile's.
func (e *emitter) wantsGrants() grammar.Span {
	if t := part[ToolCalls](e.parts); t != nil {
		return t.Span
	}
	if evm := part[EVM](e.parts); evm != nil {
		return evm.Span
	}
	if m := part[MCP](e.parts); m != nil {
		return m.Span
	}
	return e.version.Span
}

func (e *emitter) commands() blockList {
	return blockList{list: part[ToolCalls](e.parts).BlockedCommands, key: KeyCommands, slot: derived.Command,
		tests:      func(texts []string) []setTest { return []setTest{{vm.OpContains, e.exactly(texts...)}} },
		missing:    "the policy blocks commands, and the intent has no command",
		unreadable: "the policy blocks commands, and this one can't be read",
		blocked:    "the command holds an entry of tool_calls.bash.blocked_commands"}
}

func (e *emitter) paths(list *List, key *Key) blockList {
	return blockList{list: list, key: key, slot: derived.Path,
		tests:      e.pathTests,
		missing:    "the policy blocks paths, and the intent has no path",
		unreadable: "the policy blocks paths, and nobody can tell which file this one means",
		blocked:    "the path is an entry of " + key.Rule + ", or below one"}
}

// A subject is what some tools touch, and the rules about it.
type subject struct {
	actions []string // in lower case
	ruled   bool     // whether there are any rules
	judge   func(done vm.Label)
}

func (e *emitter) allSubjects() []subject {
	t := part[ToolCalls](e.parts)
	files := func(paths *Paths, blocked, allowed *Key, action string) subject {
		return subject{[]string{action}, paths.Blocked != nil || paths.Allowed != nil,
			func(done vm.Label) { e.files(paths, blocked, allowed, done) }}
	}
	return []subject{
		{[]string{"bash"}, t.BlockedCommands != nil || t.ListedCommands != nil, e.bash},
		files(&t.Write, keyPaths, keyWritable, "file_write"),
		files(&t.Read, keyUnreadable, keyReadable, "file_read"),
		{[]string{"web_fetch", "http"}, t.BlockedDomains != nil || t.HTTP.rules(), e.web},
		{[]string{EmailAction}, t.Email.lists(), e.email},
	}
}

// subjects judges what the tool touches.
func (e *emitter) subjects() {
	var ruled []subject
	var cases []vm.Case
	var labels []vm.Label
	for _, subject := range e.allSubjects() {
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
func (e *emitter) bash(done vm.Label) {
	t := part[ToolCalls](e.parts)
	if t.ListedCommands == nil {
		e.blocked(e.commands(), done)
		return
	}
	if t.BlockedCommands != nil {
		next := e.NewLabel()
		e.blocked(e.commands(), next)
		e.Place(next)
	}
	e.allowing(t.ListedCommands)
	e.Test(vm.OpStarts, vm.If|vm.Every, e.Field(derived.Calls), e.exactly(t.ListedCommands.Texts()...), done)
	e.deny(keyListedCommands.Rule, keyListedCommands.Code, "the command is missing, or not in tool_calls.bash.allowed_commands", e.element(derived.Calls), done)
}

// files judges the paths of a tool: the blocked ones first.
func (e *emitter) files(paths *Paths, blocked, allowed *Key, done vm.Label) {
	if paths.Allowed == nil {
		e.blocked(e.paths(paths.Blocked, blocked), done)
		return
	}
	if paths.Blocked != nil {
		next := e.NewLabel()
		e.blocked(e.paths(paths.Blocked, blocked), next)
		e.Place(next)
	}
	e.allowing(paths.Allowed)
	e.Test(vm.OpPath, vm.If|vm.Every, e.Field(derived.Files), e.Paths(paths.Allowed.Texts()...), done)
	e.deny(allowed.Rule, allowed.Code, "the path is missing, or not in "+allowed.Rule, e.element(derived.Files), done)
}

// commandApproval holds commands in which an entry is found, and what can't be read: a test of that never jumps.
func (e *emitter) commandApproval() {
	held, hold, next := part[ToolCalls](e.parts).HeldCommands, e.NewLabel(), e.NewLabel()
	e.blocking(held)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.exactly("bash"), next)
	e.Kind(vm.If, e.Field(derived.Command), absent, hold)
	e.Test(vm.OpContains, vm.Unless, e.Field(derived.Command), e.exactly(held.Texts()...), next)
	e.Place(hold)
	e.hold(keyHeldCommands, "a person has to decide on this command")
	e.Place(next)
}

// lintCommand warns of a blocked command without quotes that is written as a pattern: it is sought as it is.
func (c *checker) lintCommand(item grammar.Item) {
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
		d = d.WithHint("write `%s`, which blocks what has it anywhere; if the characters are meant, put the entry between quotes", Shorten(AsItem(plain)))
	}
	c.add(d)
}

// A blockList is one of the lists of `## tool_calls` that bind what a tool touches.
type blockList struct {
	list  *List
	key   *Key
	slot  string
	tests func(texts []string) []setTest

	missing, unreadable, blocked string // messages; unreadable is empty where requests are refused before
}

// blocked judges what a tool touches by one list. A missing or unreadable subject is denied by the same rule.
func (e *emitter) blocked(list blockList, done vm.Label) {
	present, readable := e.NewLabel(), e.NewLabel()
	slot, value := e.Field(list.slot), e.value(list.slot)
	e.blocking(list.list)
	e.Kind(vm.Unless, slot, absent, present)
	e.deny(list.key.Rule, list.key.Code, list.missing, value, done)
	e.Place(present)
	if list.unreadable != "" {
		e.Kind(vm.Unless, slot, vm.Kinds(vm.Invalid), readable)
		e.deny(list.key.Rule, list.key.Code, list.unreadable, value, done)
	}
	e.Place(readable)
	e.unlessAny(slot, list.tests(list.list.Texts()), done)
	e.deny(list.key.Rule, list.key.Code, list.blocked, e.element(list.slot), done)
}
