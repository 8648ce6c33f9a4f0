package policy

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/attest"
)

type keygenCommand struct {
	Output string `short:"o" default:"operator.key" help:"File of the private key (PKCS#8 PEM, mode 0600; ${default})." placeholder:"FILE"`
}

// Run makes the key and prints the public one, as SVC_OPERATOR_PUBLIC_KEY takes it.
func (c *keygenCommand) Run(std cli.Streams) error {
	public, err := MakeOperatorKey(c.Output)
	if errors.Is(err, fs.ErrExist) {
		return cli.Fail("%s exists and is not overwritten, because the old key would be lost; choose another name with -o", c.Output)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(std.Out, attest.FormatOperatorKey(public))
	return nil
}

// MakeOperatorKey makes a key pair and writes the private key. A pair whose public key would begin with a hyphen,
// one in 64, is passed over: it would read as a flag wherever it is pasted.
func MakeOperatorKey(path string) (ed25519.PublicKey, error) {
	for {
		private, err := attest.GenerateOperatorKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		public := private.Public().(ed25519.PublicKey)
		if !strings.HasPrefix(attest.FormatOperatorKey(public), "-") {
			return public, attest.WriteOperatorKey(path, private)
		}
	}
}
