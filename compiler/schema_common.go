package compiler

import "bailiff/vm/errcode"

// approvalKey returns the row of `require_approval` of a section whose intents the sentence names.
func approvalKey(section, about, example string) Key {
	return Key{Section: section, Name: "require_approval", Type: TypePatterns, Since: v20, Blocks: true,
		Rule: section + ".require_approval", Code: errcode.HoldApproval,
		Doc:     "The actions of " + about + " on which a person has to decide: an action, or the beginning of actions and `*`.",
		Example: "require_approval: " + example}
}

// shimKey returns the row of `require_shim` of a section whose intents the sentence names.
func shimKey(section, about string) Key {
	return Key{Section: section, Name: "require_shim", Type: TypeBoolean, Since: v20,
		Rule: section + ".require_shim", Code: errcode.ProvenanceRequired, Default: "false",
		Doc: "Whether " + about + " need a key whose provenance is a shim.", Example: "require_shim: true"}
}

const (
	nameApproval = "require_approval"
	nameShim     = "require_shim"
)
