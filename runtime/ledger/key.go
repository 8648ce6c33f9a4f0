package ledger

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// A Key is one API key. The secret itself is nowhere: only its hash is kept.
type Key struct {
	ID    ID
	Hash  [32]byte // SHA-256 of the secret as the client presents it
	Email string   // the account; 1 to MaxKeyText bytes
	// Organization is what the account calls itself; at most MaxKeyText bytes.
	Organization string
	Environment  string // "production" or "test"; 1 to MaxKeyText bytes
	Tier         string // the plan that the account pays for: "developer", "growth", "enterprise"
	Scopes       Scopes
	Shim         bool   // the key's provenance is a trusted shim; no request can claim it
	Created      int64  // Unix nanoseconds
	Revoked      int64  // Unix nanoseconds; 0 while the key is good
	Epoch        uint64 // moves when the key is revoked, suspended or resumed, and when a policy is deployed; 1 for a new key

	Halt HaltState // whether the key is suspended

	// Operator is the pinned operator public key; zeros until CreateKey or the first deployment pins one.
	Operator   [32]byte
	PolicyHash [32]byte // of the policy that is deployed; zeros while none is
	PolicyLSN  uint64   // of the record that deployed it; 0 while none is
}

// A KeyChange changes what an operator may change about a key. The epoch stays: who holds the key may do less or more
// from the next request on.
type KeyChange struct {
	ID     ID
	At     int64  // Unix nanoseconds
	Tier   string // the new tier; 1 to MaxKeyText bytes
	Scopes Scopes // the new scopes
}

// MaxKeyText bounds every text of a key, in bytes. An e-mail address has at most 254 (RFC 5321, section 4.5.3.1).
const MaxKeyText = 256

// Scopes is a set of scopes (specification, accounts.3).
type Scopes uint8

// The scopes. Their order is that of the specification.
const (
	ScopeAuthorize Scopes = 1 << iota
	ScopeDeploy
	ScopeWebhooks

	// AllScopes is the full grant.
	AllScopes = ScopeAuthorize | ScopeDeploy | ScopeWebhooks
)

var scopeNames = [...]string{"authorize", "warranty:deploy", "webhooks:write"}

// Has reports whether s holds every scope of t.
func (s Scopes) Has(t Scopes) bool { return s&t == t }

// Names returns the scopes of s as the API spells them, in the order of the specification.
func (s Scopes) Names() []string {
	names := make([]string, 0, len(scopeNames))
	for i, name := range scopeNames {
		if s.Has(1 << i) {
			names = append(names, name)
		}
	}
	return names
}

// String returns the names of s, separated by spaces.
func (s Scopes) String() string { return strings.Join(s.Names(), " ") }

// ParseScope returns the scope that the API spells name.
func ParseScope(name string) (Scopes, error) {
	for i, known := range scopeNames {
		if name == known {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("%w: unknown scope %.64q: use %s", ErrInvalid, name, strings.Join(scopeNames[:], ", "))
}

// Validate returns an error that wraps [ErrInvalid] and names the first field of k that no ledger would record.
func (k *Key) Validate() error {
	switch {
	case k.ID.IsZero():
		return fmt.Errorf("%w: key without an id", ErrInvalid)
	case k.Hash == [32]byte{}:
		return fmt.Errorf("%w: key without a hash", ErrInvalid)
	case k.Scopes == 0 || k.Scopes&^AllScopes != 0:
		return fmt.Errorf("%w: key with scopes %#x", ErrInvalid, uint8(k.Scopes))
	case k.Created < 0 || k.Created > MaxTime:
		return fmt.Errorf("%w: key created at %d: use Unix nanoseconds", ErrInvalid, k.Created)
	case k.Revoked != 0 || k.Epoch != 0:
		return fmt.Errorf("%w: a new key is neither revoked nor of an epoch", ErrInvalid)
	case len(k.Organization) > MaxKeyText:
		return fmt.Errorf("%w: key with an organization of %d bytes: at most %d", ErrInvalid, len(k.Organization), MaxKeyText)
	case k.PolicyHash != [32]byte{} || k.PolicyLSN != 0:
		return fmt.Errorf("%w: a new key has no policy: deploy one", ErrInvalid)
	}
	for _, text := range [...]struct{ name, value string }{{"email", k.Email}, {"environment", k.Environment}, {"tier", k.Tier}} {
		if text.value == "" || len(text.value) > MaxKeyText {
			return fmt.Errorf("%w: key with an %s of %d bytes: give 1 to %d", ErrInvalid, text.name, len(text.value), MaxKeyText)
		}
	}
	return nil
}

// Validate returns an error that wraps [ErrInvalid] and names the first part of c that no ledger would record.
func (c *KeyChange) Validate() error {
	switch {
	case c.At < 0 || c.At > MaxTime:
		return fmt.Errorf("%w: change of a key at %d: use Unix nanoseconds", ErrInvalid, c.At)
	case c.Tier == "" || len(c.Tier) > MaxKeyText:
		return fmt.Errorf("%w: key with a tier of %d bytes: give 1 to %d", ErrInvalid, len(c.Tier), MaxKeyText)
	case c.Scopes == 0 || c.Scopes&^AllScopes != 0:
		return fmt.Errorf("%w: key with scopes %#x", ErrInvalid, uint8(c.Scopes))
	}
	return nil
}

// SlotOf returns the slot of the key whose secret has a SHA-256 hash, in a store with so many, the first of several included: 0 where there
// is one slot, and otherwise not the first, which has the service-wide records (specification, slots.2).
func SlotOf(hash [32]byte, all int) int {
	if all == 1 {
		return 0
	}
	return 1 + int(binary.BigEndian.Uint64(hash[:8])%uint64(all-1)) //nolint:gosec // it is below the number of slots
}
