package frame

import (
	"slices"

	"bailiff/vm/errcode"
	"bailiff/vm/slot/derived"
)

// ApprovalKey returns the row of `require_approval` of a section whose intents the sentence names.
func ApprovalKey[S any](field func(*S) *Controls, about, example string) *Key {
	return NewKey(ActionPatterns, func(s *S) **List { return &field(s).Approval }, Key{Name: NameApproval, Since: V20, Blocks: true,
		Code: errcode.HoldApproval, control: func(s *Section) **Key { return &s.ApprovalKey },
		Doc:     "The actions of " + about + " on which a person has to decide: an action, or the beginning of actions and `*`.",
		Example: "require_approval: " + example})
}

// ShimKey returns the row of `require_shim` of a section whose intents the sentence names.
func ShimKey[S any](field func(*S) *Controls, about string) *Key {
	return NewKey(Booleans, func(s *S) **Flag { return &field(s).Shim }, Key{Name: NameShim, Since: V20,
		Code: errcode.ProvenanceRequired, Default: "false", control: func(s *Section) **Key { return &s.ShimKey },
		Doc: "Whether " + about + " need a key whose provenance is a shim.", Example: "require_shim: true"})
}

// Approval holds the intents whose action a pattern of a section covers.
func (e *Emitter) Approval(key *Key, patterns *List) {
	hold, next := e.NewLabel(), e.NewLabel()
	e.Blocking(patterns)
	if slices.Contains(patterns.Texts(), "*") {
		e.HoldBy(key, "a person has to decide on every action")
		return
	}
	e.Switch(e.Field(derived.Action), next, ActionCases(patterns.Texts(), hold)...)
	e.Place(hold)
	e.HoldBy(key, "a person has to decide on this action")
	e.Place(next)
}
