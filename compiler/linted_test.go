package compiler

import "bailiff/grammar"

// compileLinted is lint.Compile, which tests of this package cannot import.
var compileLinted func(src *grammar.Source) (*Compiled, grammar.Diagnostics)

// CompileInTests sets how tests of this package compile.
func CompileInTests(compile func(src *grammar.Source) (*Compiled, grammar.Diagnostics)) {
	compileLinted = compile
}
