package authority

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
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
	shims       *TrustedShims
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
	{errcode.ShimIdentity, func(c *consent) bool { return !slices.Contains(c.key.issuer.identities, c.Subject) }, "sub is no registered shim"},
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

// activate judges whether the policy needs a trusted shim's consent, and whether the request brings it. It returns no
// activation where none is needed.
func (a *Policies) activate(policy *compiler.Policy, hash string, request *deployment, now time.Time) (*ledger.Activation, *service.Failure) {
	needed := capabilities(policy)
	if len(needed) == 0 {
		return nil, nil
	}
	if sections := policy.Unshimmed(); len(sections) > 0 {
		return nil, service.Fail(errcode.ShimRequired, "these sections need `require_shim: true`: "+strings.Join(sections, ", "))
	}
	if request.attestation == "" {
		return nil, service.Fail(errcode.ShimAttestation, "the policy has resource profiles; send a trusted shim's activation as trusted_shim_attestation")
	}
	activation, err := attest.ParseActivation(request.attestation)
	if err != nil {
		return nil, service.Fail(errcode.ShimMalformed, err.Error())
	}
	fingerprint := sha256.Sum256([]byte(request.operatorText))
	c := &consent{
		Activation: activation, shims: a.Shims, audience: a.DeployURL, now: now.Unix(), needed: needed,
		policyHash: hash, fingerprint: hex.EncodeToString(fingerprint[:]),
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
	if len(needed) == 1 && policy.ExecutionLimits != nil { // no profile stands beside it
		return nil
	}
	return needed
}

// activationFault is the failure of an activation that the ledger refused.
func activationFault(err error) *service.Failure {
	switch {
	case errors.Is(err, ledger.ErrUsed):
		return service.Fail(errcode.ShimReplayed, "the activation (jti) was used before; ask the shim for another")
	case errors.Is(err, ledger.ErrExpired):
		return service.Fail(errcode.ShimExpired, "the activation has expired; ask the shim for another")
	}
	return nil
}
