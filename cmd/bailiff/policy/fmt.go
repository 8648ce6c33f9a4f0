package policy

import (
	"bytes"

	"bailiff/cmd/bailiff/cli"
	"bailiff/compiler"
	"bailiff/grammar"

	"github.com/rogpeppe/go-internal/diff"
)

type fmtCommand struct {
	Write bool     `short:"w" xor:"mode" help:"Write the files instead of printing them."`
	Diff  bool     `short:"d" xor:"mode" help:"Print what would change, as a unified diff; exit with 1 if anything would."`
	Key   string   `help:"Sign signed files anew with the operator's private key." placeholder:"FILE"`
	Files []string `arg:"" optional:"" name:"file" help:"The policies, signed or not; none, or -, is standard input."`
}

// Run lays each policy out in the one canonical way. One with errors is left alone, and reported.
func (c *fmtCommand) Run(std cli.Streams) error {
	signer, err := newResigner(std, c.Key)
	if err != nil {
		return err
	}
	if len(c.Files) == 0 {
		c.Files = []string{"-"}
	}
	worst := cli.ExitDone
	for _, name := range c.Files {
		worst = max(worst, cli.Conclude(std, c.format(std, signer, name)))
	}
	return cli.ExitWith(worst)
}

// format lays one policy out.
func (c *fmtCommand) format(std cli.Streams, signer *resigner, name string) error {
	if name == "-" && c.Write {
		return cli.Usage("standard input can't be written; leave out -w")
	}
	src, err := cli.ReadPolicy(std, name)
	if err != nil {
		return err
	}
	formatted, found := compiler.Format(src)
	if formatted == nil {
		return Printed(std, src, found)
	}
	if !bytes.Equal(formatted, src.Text) {
		if formatted, err = signer.successor(src, formatted); err != nil {
			return err
		}
	}
	return c.put(std, src, formatted)
}

// put prints, compares or writes a policy that was laid out.
func (c *fmtCommand) put(std cli.Streams, src *grammar.Source, formatted []byte) error {
	same := bytes.Equal(src.Text, formatted)
	switch {
	case !c.Diff && !c.Write:
		_, err := std.Out.Write(formatted)
		return err
	case same:
		return nil
	case c.Write:
		return cli.ReplaceFile(src.Name, formatted)
	}
	if _, err := std.Out.Write(diff.Diff(src.Name+".orig", src.Text, src.Name, formatted)); err != nil {
		return err
	}
	return &cli.Exit{Code: cli.ExitFailed}
}
