package compiler

import (
	"slices"

	"bailiff/vm/errcode"
	"bailiff/vm/slot/derived"
)

// approvalKey returns the row of `require_approval` of a section whose intents the sentence names.
func approvalKey[S any](field func(*S) *Controls, about, example string) *Key {
	return key(actionPatterns, func(s *S) **List { return &field(s).Approval }, Key{Name: nameApproval, Since: v20, Blocks: true,
		Code: errcode.HoldApproval, control: func(s *Section) **Key { return &s.approval },
		Doc:     "The actions of " + about + " on which a person has to decide: an action, or the beginning of actions and `*`.",
		Example: "require_approval: " + example})
}

// shimKey returns the row of `require_shim` of a section whose intents the sentence names.
func shimKey[S any](field func(*S) *Controls, about string) *Key {
	return key(booleans, func(s *S) **Flag { return &field(s).Shim }, Key{Name: nameShim, Since: v20,
		Code: errcode.ProvenanceRequired, Default: "false", control: func(s *Section) **Key { return &s.shim },
		Doc: "Whether " + about + " need a key whose provenance is a shim.", Example: "require_shim: true"})
}

// approval holds the intents whose action a pattern of a section covers.
func (e *emitter) approval(key *Key, patterns *List) {
	hold, next := e.NewLabel(), e.NewLabel()
	e.blocking(patterns)
	if slices.Contains(patterns.Texts(), "*") {
		e.hold(key, "a person has to decide on every action")
		return
	}
	e.Switch(e.Field(derived.Action), next, actionCases(patterns.Texts(), hold)...)
	e.Place(hold)
	e.hold(key, "a person has to decide on this action")
	e.Place(next)
}
