// Package codes defines the compiler's diagnostics: for each code its title, its explanation, a policy with that fault and the
// same policy mended, and whether `check --fix` mends it. The reference (docs/diagnostics.md), `bailiff explain-code`, the rules
// of SARIF reports and `check --fix` are made from it. Codes about the form of the text (E1…) are in package grammar.
package codes

import (
	"slices"

	"bailiff/grammar"
)

var table grammar.CodeTable

func define(code grammar.Code, info grammar.CodeInfo) grammar.Code { return table.Define(code, info) }

// All returns the definitions of the compiler's codes, in order.
func All() []grammar.CodeInfo { return table.All() }

// OfKnownKey reports whether findings of a code are in the line of a key that exists, or in its block.
func OfKnownKey(code grammar.Code) bool {
	return slices.ContainsFunc(table.All(), func(info grammar.CodeInfo) bool { return info.Code == code && !info.AnyLine })
}
