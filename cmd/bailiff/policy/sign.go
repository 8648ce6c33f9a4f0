package policy

import (
	"crypto/ed25519"
	"fmt"

	"bailiff/cmd/bailiff/cli"
	"bailiff/compiler/lint"
	"bailiff/grammar"
	"bailiff/runtime/attest"
)

type signCommand struct {
	Key    string `required:"" help:"File of the operator's private key." placeholder:"FILE"`
	Output string `short:"o" help:"Write the signed policy there instead of in place." placeholder:"FILE"`
	Force  bool   `help:"Sign a policy with errors all the same, for a service of another version."`
	File   string `arg:"" help:"The policy."`
}

// Run signs the policy, replacing a signature that it has, and prints the policyHash. One with errors is not signed.
func (c *signCommand) Run(std cli.Streams) error {
	private, err := attest.ReadOperatorKey(c.Key)
	if err != nil {
		return err
	}
	src, err := cli.ReadPolicy(std, c.File)
	if err != nil {
		return err
	}
	output := c.Output
	if output == "" {
		output = c.File
	}
	if err := cli.KeepInput(output, c.Key, "the key that signs"); err != nil {
		return err
	}
	signed, hash, err := SignPolicy(std, src, private, c.Force)
	if err != nil {
		return err
	}
	if output == "-" {
		_, err := std.Out.Write(signed)
		return err
	}
	write := cli.ReplaceFile
	if c.Output != "" {
		write = cli.WriteFile
	}
	if err := write(output, signed); err != nil {
		return err
	}
	fmt.Fprintln(std.Out, hash)
	return nil
}

// SignPolicy returns the policy with a fresh signature block, and its policyHash. The signature covers the text before the
// old block, to which a line end is added if it lacks one. A policy with errors is refused unless force is set.
func SignPolicy(std cli.Streams, src *grammar.Source, private ed25519.PrivateKey, force bool) ([]byte, string, error) {
	body, found := grammar.Unsigned(src)
	if found.HasErrors() {
		return nil, "", Printed(std, src, found)
	}
	if len(body) > 0 && body[len(body)-1] != '\n' {
		body = append(body[:len(body):len(body)], '\n')
	}
	if err := signable(std, grammar.NewSource(src.Name, body), force); err != nil {
		return nil, "", err
	}
	signed, err := grammar.Join(body, attest.SignPolicy(private, body))
	if err != nil {
		return nil, "", cli.Fail("%s: %v", src.Name, err)
	}
	return signed, grammar.PolicyHash(body), nil
}

// signable prints what is wrong with a policy that is to be signed, and refuses one with errors unless force is set.
func signable(std cli.Streams, src *grammar.Source, force bool) error {
	_, found := lint.Compile(src)
	if err := src.RenderAll(std.Err, found); err != nil {
		return err
	}
	switch {
	case !found.HasErrors():
		return nil
	case force:
		fmt.Fprintf(std.Err, "bailiff: WARN: %s has errors and is signed all the same, since --force says so; a service of this version accepts it only if it is in force there already\n", src.Name)
		return nil
	}
	return cli.Fail("%s has errors and is not signed; correct them, or sign it for a service of another version with --force", src.Name)
}

type verifyCommand struct {
	PublicKey string `required:"" help:"The operator's public key (base64url); write --public-key=KEY where it begins with a hyphen." placeholder:"KEY"`
	File      string `arg:"" help:"The signed policy."`
}

// Run verifies the signature and prints the policyHash.
func (c *verifyCommand) Run(std cli.Streams) error {
	public, err := attest.ParseOperatorKey(c.PublicKey)
	if err != nil {
		return cli.Usage("%v", err)
	}
	src, err := cli.ReadPolicy(std, c.File)
	if err != nil {
		return err
	}
	hash, err := VerifySigned(std, src, c.File, public)
	if err != nil {
		return err
	}
	fmt.Fprintln(std.Out, hash)
	return nil
}

// VerifySigned returns the policyHash of a policy that is signed by a key, or prints what is wrong with it.
func VerifySigned(std cli.Streams, src *grammar.Source, name string, public ed25519.PublicKey) (string, error) {
	framed, found := grammar.Split(src)
	switch {
	case found.HasErrors():
		return "", Printed(std, src, found)
	case !framed.Signed:
		return "", cli.Fail("%s has no `## signature` block; sign it with: bailiff sign --key operator.key %s", name, name)
	}
	if err := attest.VerifyPolicy(public, framed.Body, framed.Signature); err != nil {
		return "", cli.Fail("%s: %v; it was changed after it was signed, or signed with another key", name, err)
	}
	return grammar.PolicyHash(framed.Body), nil
}

// Printed writes diagnostics to the error stream and returns the exit that says no more.
func Printed(std cli.Streams, src *grammar.Source, found grammar.Diagnostics) error {
	if err := src.RenderAll(std.Err, found); err != nil {
		return err
	}
	return &cli.Exit{Code: cli.ExitFailed}
}
