package policy

import (
	"crypto/ed25519"
	"fmt"

	"bailiff/cmd/bailiff/cli"
	"bailiff/compiler/lint"
	"bailiff/grammar"
	"bailiff/runtime/attest"
)

// resigner looks after the signatures of policies whose text a command changes.
type resigner struct {
	std     cli.Streams
	private ed25519.PrivateKey // nil where nothing is to be signed
}

// newResigner reads the operator's key, if there is a name for one.
func newResigner(std cli.Streams, keyFile string) (*resigner, error) {
	if keyFile == "" {
		return &resigner{std: std}, nil
	}
	private, err := attest.ReadOperatorKey(keyFile)
	return &resigner{std, private}, err
}

// successor returns the text that takes the place of a policy, given the body that its own was changed into. What was
// signed is signed anew if there is a key; otherwise the signature, which no longer holds, is left out. Either is said
// on the error stream.
//
// Only what the same key had signed is signed anew: a signature that does not verify says that somebody else changed
// the text, and a formatter must not give that its blessing. Nor is a policy signed anew that still has errors.
func (r *resigner) successor(src *grammar.Source, body []byte) ([]byte, error) {
	framed, _ := grammar.Split(src)
	switch {
	case !framed.Signed:
		return body, nil
	case r.private == nil:
		fmt.Fprintf(r.std.Err, "bailiff: %s: its bytes changed, so its signature no longer holds and is left out; sign it again with: bailiff sign --key operator.key %s\n", src.Name, src.Name)
		return body, nil
	}
	if err := attest.VerifyPolicy(r.private.Public().(ed25519.PublicKey), framed.Body, framed.Signature); err != nil {
		return nil, cli.Fail("%s: its signature does not verify with this key, so it is not signed anew: somebody may have changed it; read it, then sign it with bailiff sign", src.Name)
	}
	next := grammar.NewSource(src.Name, body)
	if _, found := lint.Compile(next); found.HasErrors() {
		return nil, cli.Fail("%s: it would still have errors, so it is neither changed nor signed anew; correct what bailiff check %s reports, or leave --key out and sign it afterwards", src.Name, src.Name)
	}
	signed, hash, err := SignPolicy(r.std, next, r.private, false)
	if err == nil {
		fmt.Fprintf(r.std.Err, "bailiff: %s: signed anew, policyHash %s\n", src.Name, hash)
	}
	return signed, err
}
