package policy

import (
	"io"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/vm"
)

type compileCommand struct {
	Output string `short:"o" help:"Write the program there; without it the listing is printed." placeholder:"FILE"`
	File   string `arg:"" help:"The policy, signed or not."`
}

// Run compiles the policy, warnings to standard error.
func (c *compileCommand) Run(std cli.Streams) error {
	src, err := cli.ReadPolicy(std, c.File)
	if err != nil {
		return err
	}
	program, err := compilePolicy(std, src)
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
	if c.Output == "-" {
		_, err := std.Out.Write(encoded)
		return err
	}
	if err := cli.KeepInput(c.Output, c.File, "the policy itself"); err != nil {
		return err
	}
	return cli.WriteFile(c.Output, encoded)
}

type disasmCommand struct {
	File string `arg:"" help:"A policy, signed or not, or a compiled program."`
}

// Run lists the program: header, then each instruction with its operands in words and its source line.
func (c *disasmCommand) Run(std cli.Streams) error {
	content, err := cli.ReadBounded(std, c.File, 2*vm.MaxBytes) // with its debug section
	if err != nil {
		return err
	}
	if vm.IsProgram(content) {
		program, err := vm.Decode(content)
		if err != nil {
			return cli.Fail("%s: %v", c.File, err)
		}
		return list(std, program, nil)
	}
	src := grammar.NewSource(c.File, content)
	program, err := compilePolicy(std, src)
	if err != nil {
		return err
	}
	return list(std, program, src)
}

// compilePolicy returns the program of a policy; what is to be said of it goes to standard error.
func compilePolicy(std cli.Streams, src *grammar.Source) (*vm.Program, error) {
	compiled, found := compiler.Compile(src)
	if found.HasErrors() {
		return nil, Printed(std, src, found)
	}
	return compiled.Program, src.RenderAll(std.Err, found)
}

// list prints the listing of a program; src is nil where only the program is at hand.
func list(std cli.Streams, program *vm.Program, src *grammar.Source) error {
	var lines []string
	if src != nil {
		lines = strings.Split(string(src.Text), "\n")
	}
	_, err := io.WriteString(std.Out, program.Listing(lines))
	return err
}
