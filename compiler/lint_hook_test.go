package compiler_test

import (
	"bailiff/compiler"
	"bailiff/compiler/lint"
)

func init() { compiler.CompileInTests(lint.Compile) }
