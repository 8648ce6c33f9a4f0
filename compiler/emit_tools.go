package compiler

import (
	"slices"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/form/httpurl"
)

// tools judges a tool intent: whether it is granted, then what it touches.
func (e *emitter) tools() {
	if !slices.Contains(e.policy.Profiles.granted(), "*") {
		e.toolGrants()
	}
	if e.policy.ToolCalls != nil {
		e.subjects()
	}
}

// toolGrants denies a tool that neither a profile nor `tool_calls.allowed` grants.
func (e *emitter) toolGrants() {
	t := e.policy.ToolCalls
	granted := e.NewLabel()
	if e.policy.Profiles.declared() {
		e.profileGrants(granted)
	}
	if t == nil || t.Allowed == nil {
		e.at(e.policy.wantsGrants())
		e.refuse(keyTools.Rule, keyTools.Code, "neither tool_calls.allowed nor a profile grants the tool")
	} else {
		e.allowing(t.Allowed)
		e.Test(vm.OpIn, vm.If, e.Field(slotAction), e.lowered(t.Allowed), granted)
		e.deny(keyTools.Rule, keyTools.Code, "the tool is not in tool_calls.allowed", e.value(slotAction), granted)
	}
	e.Place(granted)
}

// A blockList is one of the lists of `## tool_calls` that bind what a tool touches.
type blockList struct {
	list  *List
	key   *Key
	slot  string
	tests func(texts []string) []setTest

	missing, unreadable, blocked string // messages; unreadable is empty where requests are refused before
}

// wantsGrants returns the heading that makes tools need a grant, or the version where that is a profile's.
func (p *Policy) wantsGrants() grammar.Span {
	switch {
	case p.ToolCalls != nil:
		return p.ToolCalls.Span
	case p.EVM != nil:
		return p.EVM.Span
	case p.MCP != nil:
		return p.MCP.Span
	}
	return p.Version.Span
}

func (e *emitter) commands() blockList {
	return blockList{list: e.policy.ToolCalls.BlockedCommands, key: keyCommands, slot: slotCommand,
		tests:      func(texts []string) []setTest { return []setTest{{vm.OpContains, e.exactly(texts...)}} },
		missing:    "the policy blocks commands, and the intent has no command",
		unreadable: "the policy blocks commands, and this one can't be read",
		blocked:    "the command holds an entry of tool_calls.bash.blocked_commands"}
}

// domains reads also the IPv4 addresses in IPv6 literals where the list has one that they could be.
func (e *emitter) domains() blockList {
	domains, slot := e.policy.ToolCalls.BlockedDomains, slotHost
	if slices.ContainsFunc(domains.texts(), httpurl.IsIPv4) {
		slot = slotHosts
	}
	return blockList{list: domains, key: keyDomains, slot: slot,
		tests:   func(texts []string) []setTest { return []setTest{{vm.OpHost, e.Hosts(texts...)}} },
		missing: "the policy blocks domains, and the intent has no url",
		blocked: "the host is an entry of tool_calls.web_fetch.blocked_domains, or below one"}
}

func (e *emitter) paths(list *List, key *Key) blockList {
	return blockList{list: list, key: key, slot: slotPath,
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
	t := e.policy.ToolCalls
	files := func(paths *Paths, blocked, allowed *Key, action string) subject {
		return subject{[]string{action}, paths.Blocked != nil || paths.Allowed != nil,
			func(done vm.Label) { e.files(paths, blocked, allowed, done) }}
	}
	return []subject{
		{[]string{"bash"}, t.BlockedCommands != nil || t.ListedCommands != nil, e.bash},
		files(&t.Write, keyPaths, keyWritable, "file_write"),
		files(&t.Read, keyUnreadable, keyReadable, "file_read"),
		{[]string{"web_fetch", "http"}, t.BlockedDomains != nil || t.HTTP.rules(), e.web},
		{[]string{emailAction}, t.Email.lists(), e.email},
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
	e.Switch(e.Field(slotLowerAction), done, cases...)
	for i, subject := range ruled {
		e.Place(labels[i])
		subject.judge(done)
	}
	e.Place(done)
}

// bash judges a command: by the blocked ones first.
func (e *emitter) bash(done vm.Label) {
	t := e.policy.ToolCalls
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
	e.Test(vm.OpStarts, vm.If|vm.Every, e.Field(slotCalls), e.exactly(t.ListedCommands.texts()...), done)
	e.deny(keyListedCommands.Rule, keyListedCommands.Code, "the command is missing, or not in tool_calls.bash.allowed_commands", e.element(slotCalls), done)
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
	e.Test(vm.OpPath, vm.If|vm.Every, e.Field(slotFiles), e.Paths(paths.Allowed.texts()...), done)
	e.deny(allowed.Rule, allowed.Code, "the path is missing, or not in "+allowed.Rule, e.element(slotFiles), done)
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
	e.unlessAny(slot, list.tests(list.list.texts()), done)
	e.deny(list.key.Rule, list.key.Code, list.blocked, e.element(list.slot), done)
}
