package main

import (
	"crypto/ed25519"
	"fmt"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/attest"
)

type signCommand struct {
	Key    string `required:"" help:"File of the operator's private key." placeholder:"FILE"`
	Output string `short:"o" help:"Write the signed policy there instead of in place." placeholder:"FILE"`
	File   string `arg:"" help:"The policy."`
}

// Run signs the policy, replacing a signature that it has, and prints the policyHash.
func (c *signCommand) Run(std streams) error {
	private, err := attest.ReadOperatorKey(c.Key)
	if err != nil {
		return err
	}
	src, err := readPolicy(std, c.File)
	if err != nil {
		return err
	}
	output := c.Output
	if output == "" {
		output = c.File
	}
	if err := keepInput(output, c.Key, "the key that signs"); err != nil {
		return err
	}
	signed, hash, err := signPolicy(std, src, private)
	if err != nil {
		return err
	}
	if output == "-" {
		_, err := std.out.Write(signed)
		return err
	}
	write := replaceFile
	if c.Output != "" {
		write = writeFile
	}
	if err := write(output, signed); err != nil {
		return err
	}
	fmt.Fprintln(std.out, hash)
	return nil
}

// signPolicy returns the policy with a fresh signature block, and its policyHash. What is signed is what
// stands before the old block; only where that does not end its last line is a line end added.
func signPolicy(std streams, src *grammar.Source, private ed25519.PrivateKey) ([]byte, string, error) {
	body, found := grammar.Unsigned(src)
	if found.HasErrors() {
		return nil, "", printed(std, src, found)
	}
	if len(body) > 0 && body[len(body)-1] != '\n' {
		body = append(body[:len(body):len(body)], '\n')
	}
	signed, err := grammar.Join(body, attest.SignPolicy(private, body))
	if err != nil {
		return nil, "", fail("%s: %v", src.Name, err)
	}
	return signed, grammar.PolicyHash(body), warn(std, grammar.NewSource(src.Name, body))
}

// warn says what is wrong with a policy that is being signed. A signature says who wrote a text, not that it is right,
// and another version may know more; but no service of this one will start with it.
func warn(std streams, src *grammar.Source) error {
	_, found := compiler.Compile(src)
	if err := src.RenderAll(std.err, found); err != nil {
		return err
	}
	if found.HasErrors() {
		fmt.Fprintf(std.err, "bailiff: %s is signed, but it has errors: no service of this version starts with it\n", src.Name)
	}
	return nil
}

type verifyCommand struct {
	PublicKey string `required:"" help:"The operator's public key (base64url); write --public-key=KEY where it begins with a hyphen." placeholder:"KEY"`
	File      string `arg:"" help:"The signed policy."`
}

// Run verifies the signature and prints the policyHash.
func (c *verifyCommand) Run(std streams) error {
	public, err := attest.ParseOperatorKey(c.PublicKey)
	if err != nil {
		return usage("%v", err)
	}
	src, err := readPolicy(std, c.File)
	if err != nil {
		return err
	}
	hash, err := verifySigned(std, src, c.File, public)
	if err != nil {
		return err
	}
	fmt.Fprintln(std.out, hash)
	return nil
}

// verifySigned returns the policyHash of a policy that is signed by a key, or prints what is wrong with it.
func verifySigned(std streams, src *grammar.Source, name string, public ed25519.PublicKey) (string, error) {
	framed, found := grammar.Split(src)
	switch {
	case found.HasErrors():
		return "", printed(std, src, found)
	case !framed.Signed:
		return "", fail("%s has no `## signature` block; sign it with: bailiff sign --key operator.key %s", name, name)
	}
	if err := attest.VerifyPolicy(public, framed.Body, framed.Signature); err != nil {
		return "", fail("%s: %v; it was changed after it was signed, or signed with another key", name, err)
	}
	return grammar.PolicyHash(framed.Body), nil
}

// printed writes diagnostics to the error stream and returns the exit that says no more.
func printed(std streams, src *grammar.Source, found grammar.Diagnostics) error {
	if err := src.RenderAll(std.err, found); err != nil {
		return err
	}
	return &exit{code: exitFailed}
}
