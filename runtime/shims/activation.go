package shims

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bailiff/compiler"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const (
	// activationLifetime is the longest that exp may lie behind iat, in seconds.
	activationLifetime = 300
	// The length of jti, in characters.
	minNonce, maxNonce = 16, 128
)

// An activationCheck is one step of judging an activation.
type activationCheck struct {
	code    errcode.Code
	failed  func(*consent) bool
	message string
}

// consent is an activation with all that it is held against.
type consent struct {
	*attest.Activation
	shims       *Trusted
	key         shimKey
	audience    string
	now         int64    // Unix seconds
	needed      []string // capabilities
	policyHash  string
	fingerprint string // of the operator public key
}

// activationChecks are the steps in their order (decisions, section 5, "Trusted shim"), behind those for which there has
// to be a token.
var activationChecks = []activationCheck{
	{errcode.ShimUntrusted, (*consent).untrusted, "the key of the activation is not trusted here, or its signature does not verify"},
	{errcode.ShimIssuer, func(c *consent) bool { return c.Issuer != c.key.issuer.name }, "iss is not the issuer that the key belongs to"},
	{errcode.ShimAudience, func(c *consent) bool { return c.audience == "" || c.Audience != c.audience }, "aud is not the address of this route"},
	{errcode.ShimIdentity, func(c *consent) bool { return !slices.Contains(c.key.issuer.identities, c.Subject) }, "sub is not a registered shim"},
	{errcode.ShimVersion, func(c *consent) bool { return c.Version == "" }, "shim_version is missing"},
	{errcode.ShimVersionUnknown, func(c *consent) bool { return !slices.Contains(c.key.issuer.versions, c.Version) }, "shim_version is not supported"},
	{errcode.ShimExpired, (*consent).outOfTime, fmt.Sprintf("now is not between iat and exp, or they are more than %d seconds apart", activationLifetime)},
	{errcode.ShimNonce, (*consent).badNonce, fmt.Sprintf("jti has not %d to %d characters", minNonce, maxNonce)},
	{errcode.ShimCapability, (*consent).incapable, "capabilities lacks a profile of the policy"},
	{errcode.ShimBinding, (*consent).unbound, "policy_hash or operator_key_fingerprint is not that of this deployment"},
}

func (c *consent) untrusted() bool {
	known := false
	if c.shims != nil {
		c.key, known = c.shims.keys[c.KeyID]
	}
	return !known || c.Verify(c.key.public) != nil
}

func (c *consent) outOfTime() bool {
	lifetime := c.Expires - c.IssuedAt
	return c.IssuedAt < 0 || lifetime <= 0 || lifetime > activationLifetime || c.now < c.IssuedAt || c.now < c.NotBefore || c.now >= c.Expires
}

func (c *consent) badNonce() bool {
	n := utf8.RuneCountInString(c.ID)
	return n < minNonce || n > maxNonce
}

func (c *consent) incapable() bool {
	return slices.ContainsFunc(c.needed, func(profile string) bool { return !slices.Contains(c.Capabilities, profile) })
}

func (c *consent) unbound() bool {
	return c.PolicyHash != c.policyHash || c.OperatorFingerprint != c.fingerprint
}

// A Deployment is what an activation is held against.
type Deployment struct {
	Policy      *compiler.Policy
	PolicyHash  string
	OperatorKey string // as the request writes it
	Attestation string // the activation; empty where the request has none
	Audience    string // the address of the deploy route; empty refuses every activation
	Now         time.Time
}

// Activate judges whether a policy needs a trusted shim's consent, and whether the request brings it. It returns no
// activation where none is needed. No shims are trusted where trusted is nil.
func (s *Trusted) Activate(d *Deployment) (*ledger.Activation, *service.Failure) {
	needed := capabilities(d.Policy)
	if len(needed) == 0 {
		return nil, nil
	}
	if sections := d.Policy.Unshimmed(); len(sections) > 0 {
		return nil, service.Fail(errcode.ShimRequired, "these sections need `require_shim: true`: "+strings.Join(sections, ", "))
	}
	if d.Attestation == "" {
		return nil, service.Fail(errcode.ShimAttestation, "the policy has resource profiles; send a trusted shim's activation as trusted_shim_attestation")
	}
	activation, err := attest.ParseActivation(d.Attestation)
	if err != nil {
		return nil, service.Fail(errcode.ShimMalformed, err.Error())
	}
	fingerprint := sha256.Sum256([]byte(d.OperatorKey))
	c := &consent{
		Activation: activation, shims: s, audience: d.Audience, now: d.Now.Unix(), needed: needed,
		policyHash: d.PolicyHash, fingerprint: hex.EncodeToString(fingerprint[:]),
	}
	for _, check := range activationChecks {
		if check.failed(c) {
			return nil, service.Fail(check.code, check.message)
		}
	}
	return &ledger.Activation{ID: activationID(activation), Expires: activation.Expires * int64(time.Second)}, nil
}

// activationID names an activation for ever: the issuer's nonce.
func activationID(a *attest.Activation) [32]byte {
	name := binary.BigEndian.AppendUint64(nil, uint64(len(a.Issuer)))
	return sha256.Sum256(append(append(name, a.Issuer...), a.ID...))
}

// capabilities are those that a shim has to have for the profiles of a policy.
func capabilities(policy *compiler.Policy) (needed []string) {
	profiles := &policy.Profiles
	for _, row := range []struct {
		declared bool
		name     string
	}{
		{profiles.Repository != nil, "profile.repository"},
		{profiles.Filesystem != nil, "profile.filesystem"},
		{profiles.Git != nil, "profile.git"},
		{profiles.Database != nil, "profile.database"},
		{policy.ExecutionLimits != nil, "profile.execution_limits"},
	} {
		if row.declared {
			needed = append(needed, row.name)
		}
	}
	if len(needed) == 1 && policy.ExecutionLimits != nil { // no profile is beside it
		return nil
	}
	return needed
}
