package compiler

// commonKeys are the keys that more than one section has.
var commonKeys = []Key{
	{Section: anySection, Name: "require_approval", Type: TypeActions, Since: v20,
		Doc: "The actions on which a person has to decide.", Example: "require_approval: contract.call"},
	{Section: anySection, Name: "require_shim", Type: TypeBoolean, Since: v20,
		Doc: "Whether the section's intents need a key whose provenance is a shim.", Example: "require_shim: true"},
}
