package compiler

import "bailiff/vm"

// tools judges a tool intent: whether it is granted, then what it touches.
func (e *emitter) tools() {
	t := e.policy.ToolCalls
	if t == nil {
		e.at(e.policy.EVM.Span)
		e.refuse(keyTools.Rule, keyTools.Code, "the policy has no tool_calls section, which would have to grant the tool")
		return
	}
	e.at(t.Allowed.Span)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.If, e.Field(slotAction), e.exactly(t.Allowed.texts()...), pass)
	}, keyTools.Rule, keyTools.Code, "the tool is not in tool_calls.allowed")
	e.subjects()
}

// A blockList is one of the lists of `## tool_calls` that bind what a tool touches.
type blockList struct {
	list    *List
	key     *Key
	actions []string // in lower case
	slot    string
	op      vm.Op
	set     func(texts []string) vm.Const

	missing, unreadable, blocked string // messages; unreadable is empty where requests are refused before
}

func (e *emitter) blockLists() []blockList {
	t := e.policy.ToolCalls
	return []blockList{
		{list: t.BlockedCommands, key: keyCommands, actions: []string{"bash"}, slot: slotCommand,
			op: vm.OpContains, set: func(texts []string) vm.Const { return e.folded(texts...) },
			missing:    "the policy blocks commands, and the intent has no command",
			unreadable: "the policy blocks commands, and this one can't be read",
			blocked:    "the command holds an entry of tool_calls.bash.blocked_commands"},
		{list: t.BlockedDomains, key: keyDomains, actions: []string{"web_fetch", "http"}, slot: slotHost,
			op: vm.OpHost, set: func(texts []string) vm.Const { return e.Hosts(texts...) },
			missing: "the policy blocks domains, and the intent has no url",
			blocked: "the host is an entry of tool_calls.web_fetch.blocked_domains, or below one"},
		{list: t.BlockedPaths, key: keyPaths, actions: []string{"file_write"}, slot: slotPath,
			op: vm.OpPath, set: func(texts []string) vm.Const { return e.Paths(texts...) },
			missing:    "the policy blocks paths, and the intent has no path",
			unreadable: "the policy blocks paths, and nobody can tell which file this one means",
			blocked:    "the path is an entry of tool_calls.file_write.blocked_paths, or below one"},
	}
}

// subjects judges what the tool touches by the list for it.
func (e *emitter) subjects() {
	var lists []blockList
	var cases []vm.Case
	var labels []vm.Label
	for _, list := range e.blockLists() {
		if list.list == nil {
			continue
		}
		to := e.NewLabel()
		lists, labels = append(lists, list), append(labels, to)
		for _, action := range list.actions {
			cases = append(cases, vm.Case{Text: action, To: to})
		}
	}
	if len(lists) == 0 {
		return
	}
	done := e.NewLabel()
	e.Switch(e.Field(slotLowerAction), done, cases...)
	for i, list := range lists {
		e.Place(labels[i])
		e.subject(list, done)
	}
	e.Place(done)
}

// subject judges what a tool touches by one list. A missing or unreadable subject is denied by the same rule.
func (e *emitter) subject(list blockList, done vm.Label) {
	present, readable := e.NewLabel(), e.NewLabel()
	slot := e.Field(list.slot)
	e.at(list.list.Span)
	e.Kind(vm.Unless, slot, absent, present)
	e.deny(list.key.Rule, list.key.Code, list.missing, done)
	e.Place(present)
	if list.unreadable != "" {
		e.Kind(vm.Unless, slot, vm.Kinds(vm.Invalid), readable)
		e.deny(list.key.Rule, list.key.Code, list.unreadable, done)
	}
	e.Place(readable)
	e.Test(list.op, vm.Unless, slot, list.set(list.list.texts()), done)
	e.deny(list.key.Rule, list.key.Code, list.blocked, done)
}
