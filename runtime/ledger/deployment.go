package ledger

import "fmt"

// A Deployment binds a signed policy to a key, in one step: the key's operator key is compared and, the first time,
// pinned; the activation is used up; the epoch moves.
type Deployment struct {
	Key           ID
	At            int64    // Unix nanoseconds
	Operator      [32]byte // the operator's Ed25519 public key that the signature verifies with
	PolicyHash    [32]byte
	PolicyVersion string      // of the policy format; at most MaxKeyText bytes
	Text          []byte      // the file exactly as it was signed, its signature block included; at most MaxPolicyText
	Program       []byte      // canonical encoding of the compiled program; at most MaxProgram
	Machine       uint32      // version of the compiler and the machine that the program is for
	Activation    *Activation // the trusted shim's; nil where none is needed
	// RefuseRollback refuses a policy that an earlier deployment of the key had and a later one replaced.
	RefuseRollback bool
}

// Bounds of what is deployed, in bytes.
const (
	MaxPolicyText = 256 << 10 // decisions, section 2
	MaxProgram    = 4 << 20
)

// An Activation is a trusted shim's consent, usable once.
type Activation struct {
	ID      [32]byte // SHA-256 of issuer and jti
	Expires int64    // when it could not be valid any more: Unix nanoseconds
}

// A Deployed is what came of a deployment.
type Deployed struct {
	Key      Key   // as it is now
	At       int64 // the step's time: Unix nanoseconds
	LSN      uint64
	Rollback bool // the key had this policy before, and another one since
	Same     bool // the key had exactly this policy already; it is deployed again all the same
}

// A DeploymentView is a line of a key's log of deployments.
type DeploymentView struct {
	PolicyHash [32]byte
	At         int64 // Unix nanoseconds
	LSN        uint64
	Rollback   bool
}

// A StoredPolicy is the policy that a key has deployed last, as it was stored.
type StoredPolicy struct {
	Operator   [32]byte
	PolicyHash [32]byte
	Version    string
	Text       []byte
	Program    []byte
	Machine    uint32
	At         int64
}

// Validate returns an error that wraps [ErrInvalid] and names the first part of d that no ledger would record.
func (d *Deployment) Validate() error {
	switch {
	case d.At < 0 || d.At > MaxTime:
		return fmt.Errorf("%w: deployment of the time %d: use Unix nanoseconds", ErrInvalid, d.At)
	case d.Operator == [32]byte{} || d.PolicyHash == [32]byte{}:
		return fmt.Errorf("%w: deployment without an operator key or a policy hash", ErrInvalid)
	case len(d.PolicyVersion) > MaxKeyText:
		return fmt.Errorf("%w: policy version of %d bytes", ErrInvalid, len(d.PolicyVersion))
	case len(d.Text) == 0 || len(d.Text) > MaxPolicyText:
		return fmt.Errorf("%w: policy of %d bytes: give 1 to %d", ErrInvalid, len(d.Text), MaxPolicyText)
	case len(d.Program) > MaxProgram:
		return fmt.Errorf("%w: program of %d bytes: at most %d", ErrInvalid, len(d.Program), MaxProgram)
	case d.Activation != nil && (d.Activation.Expires <= 0 || d.Activation.Expires > MaxTime):
		return fmt.Errorf("%w: activation that expires at %d", ErrInvalid, d.Activation.Expires)
	}
	return nil
}
