// Package codes defines the compiler's diagnostics: for each code its title, its explanation, a policy that has it and the same
// one mended, and whether a command mends it. The reference, `bailiff explain-code`, the rules of SARIF reports and `check --fix`
// are made from it.
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
