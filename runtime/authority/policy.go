package authority

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/intent"
	"bailiff/vm"
)

// The ways in which a policy can't be put in force (specification, "Startup errors").
var (
	// ErrUnsigned: the policy has no signature block.
	ErrUnsigned = errors.New("the policy has no `## signature` block")
	// ErrSignature: the signature does not verify.
	ErrSignature = errors.New("the signature does not verify against the operator public key: the file was modified, signed with another key, or its signature block was edited")
)

// InvalidPolicy says that a policy's text does not compile. The diagnostics say what is wrong where.
type InvalidPolicy struct {
	Source      *grammar.Source
	Diagnostics grammar.Diagnostics
}

// Error counts the errors.
func (e *InvalidPolicy) Error() string {
	errors := 0
	for _, d := range e.Diagnostics {
		if d.Severity == grammar.Error {
			errors++
		}
	}
	if errors == 1 {
		return "the policy has an error"
	}
	return fmt.Sprintf("the policy has %d errors", errors)
}

// Policy is a policy ready to judge: its program, bound to the fields of a request. It never changes.
type Policy struct {
	Hash     string // policyHash: SHA-256 of the signed bytes, lower-case hex
	Version  string // of the policy format
	Warnings grammar.Diagnostics

	digest  [sha256.Size]byte
	program *vm.Program
	binding *intent.Binding
}

// LoadPolicy compiles a policy that must be signed by operator. The errors are ErrUnsigned, ErrSignature and
// *InvalidPolicy.
func LoadPolicy(src *grammar.Source, operator ed25519.PublicKey) (*Policy, error) {
	framed, found := grammar.Split(src)
	switch {
	case found.HasErrors():
		return nil, &InvalidPolicy{src, found.Sorted()}
	case !framed.Signed:
		return nil, ErrUnsigned
	case attest.VerifyPolicy(operator, framed.Body, framed.Signature) != nil:
		return nil, ErrSignature
	}
	return CompilePolicy(src)
}

// CompilePolicy compiles a policy whether it is signed or not, for its author to try. The error is *InvalidPolicy.
func CompilePolicy(src *grammar.Source) (*Policy, error) {
	compiled, found := compiler.Compile(src)
	if found.HasErrors() {
		return nil, &InvalidPolicy{src, found}
	}
	binding, err := intent.NewBinding(compiled.Program.Fields())
	if err != nil {
		return nil, fmt.Errorf("the compiled program can't be bound to requests: %w", err)
	}
	policy := &Policy{Hash: compiled.Hash, Version: compiled.Version, Warnings: found, program: compiled.Program, binding: binding}
	policy.digest = sha256.Sum256(compiled.File.Framed.Body)
	return policy, nil
}
