package main

import (
	"io"
	"os"
	"strings"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/vm"
)

type compileCommand struct {
	Output string `short:"o" help:"Write the program there; without it the listing is printed." placeholder:"FILE"`
	File   string `arg:"" help:"The policy, signed or not."`
}

// Run compiles the policy, warnings to standard error.
func (c *compileCommand) Run(std streams) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return usage("%v", err)
	}
	program, src, err := compilePolicy(std, c.File, text)
	if err != nil {
		return err
	}
	if c.Output == "" {
		return list(std, program, src)
	}
	encoded, err := program.MarshalBinary()
	if err != nil {
		return err
	}
	return replaceFile(c.Output, encoded)
}

type disasmCommand struct {
	File string `arg:"" help:"A policy, signed or not, or a compiled program."`
}

// Run lists the program: header, then each instruction with its operands in words and its source line.
func (c *disasmCommand) Run(std streams) error {
	content, err := os.ReadFile(c.File)
	if err != nil {
		return usage("%v", err)
	}
	if vm.IsProgram(content) {
		program, err := vm.Decode(content)
		if err != nil {
			return fail("%s: %v", c.File, err)
		}
		return list(std, program, nil)
	}
	program, src, err := compilePolicy(std, c.File, content)
	if err != nil {
		return err
	}
	return list(std, program, src)
}

func compilePolicy(std streams, name string, text []byte) (*vm.Program, *grammar.Source, error) {
	src := grammar.NewSource(name, text)
	compiled, found := compiler.Compile(src)
	if found.HasErrors() {
		return nil, nil, printed(std, src, found)
	}
	if err := src.RenderAll(std.err, found); err != nil {
		return nil, nil, err
	}
	return compiled.Program, src, nil
}

// list prints the listing of a program; src is nil where only the program is at hand.
func list(std streams, program *vm.Program, src *grammar.Source) error {
	var lines []string
	if src != nil {
		lines = strings.Split(string(src.Text), "\n")
	}
	_, err := io.WriteString(std.out, program.Listing(lines))
	return err
}
