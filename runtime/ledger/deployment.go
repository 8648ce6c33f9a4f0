package ledger

import (
	"fmt"
	"slices"
)

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
	// MaxStored is how many bytes of texts and programs the key's deployments may keep, with this one ([StorageError]); 0 for no
	// limit. They are kept for ever, those of a policy that is deployed again included.
	MaxStored uint64
	// RefuseRollback refuses a policy that governed the key before and was replaced since.
	RefuseRollback bool
	// Named says that the policy names the keys that it is for, and this one among them. A key that a policy has named takes
	// no other ([ErrNotNamed]).
	Named bool
	// Serial is the policy's number, 0 where it has none. A key that has had one takes only higher ones, or the policy in
	// force again ([ErrSerial]).
	Serial uint64
	// Mirrored says that the key and its policy are taken over from another service, which has judged Named and Serial.
	Mirrored bool
}

// A DefaultPolicy is the policy that governs every key without one of its own, as it is when the service starts.
type DefaultPolicy struct {
	At         int64    // Unix nanoseconds
	PolicyHash [32]byte // zeros where there is no such policy: the service is hosted
	Serial     uint64   // 0 where it has none
	Named      bool     // it governs only Keys or, where that is empty, every key by name
	Keys       []ID     // at most MaxNamedKeys
	// Known refuses a policy that was not a default policy before ([ErrNotFound]): its text has errors by now, and may
	// only stay in force.
	Known bool
}

// MaxNamedKeys is the largest number of keys that a policy can name: each takes 36 bytes of its text.
const MaxNamedKeys = MaxPolicyText / 36

// Names reports whether the policy governs a key.
func (d *DefaultPolicy) Names(key ID) bool {
	return !d.Named || len(d.Keys) == 0 || slices.Contains(d.Keys, key)
}

// Validate returns an error that wraps [ErrInvalid] and names the first part of d that no ledger would record.
func (d *DefaultPolicy) Validate() error {
	switch {
	case d.At < 0 || d.At > MaxTime:
		return fmt.Errorf("%w: default policy of the time %d: use Unix nanoseconds", ErrInvalid, d.At)
	case len(d.Keys) > MaxNamedKeys || len(d.Keys) > 0 && !d.Named:
		return fmt.Errorf("%w: default policy that names %d keys", ErrInvalid, len(d.Keys))
	}
	return nil
}

// A BoundDefault is what came of binding a default policy.
type BoundDefault struct {
	Same     bool // it was in force already; nothing was recorded
	Rollback bool // it was in force before, and another one since
	Unnamed  bool // one before named the keys that it was for, and this one is for all
}

// Bounds of a deployed policy, in bytes.
const (
	MaxPolicyText = 256 << 10 // specification, policy-text.1
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
	Rollback bool   // the key had this policy before, and another one since
	Same     bool   // the key had exactly this policy already; it is deployed again all the same
	Stored   uint64 // bytes that the key's deployments keep, with this one
}

// A DeploymentView is a line of a key's log of deployments.
type DeploymentView struct {
	PolicyHash [32]byte
	At         int64 // Unix nanoseconds
	LSN        uint64
	Rollback   bool
	Named      bool   // the policy named the key
	Serial     uint64 // of the policy; 0 where it had none
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

// Size returns the number of bytes that d has its key keep: those of its text and of its program.
func (d *Deployment) Size() uint64 { return uint64(len(d.Text)) + uint64(len(d.Program)) }

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
