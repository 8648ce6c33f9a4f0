package attest

import (
	"strconv"

	"bailiff/runtime/jcs"
)

// envelope holds the claims that are fixed when a token is issued, and read back when one is verified.
type envelope struct {
	audience string
	decision string
	expires  int64 // Unix seconds
}

// issued is the envelope of every token that is issued.
func issued(c *Claims) envelope {
	return envelope{audience: audienceClaim, decision: decisionClaim, expires: c.IssuedAt + LifetimeSeconds}
}

// appendClaims appends the RFC 8785 form of the claims without pqc: members sorted by name, no white
// space, the shortest escapes. It also returns where in the result `pqc` belongs, so that the payload is
// the same bytes with one member put in.
func appendClaims(dst []byte, c *Claims, e envelope) (out []byte, pqcAt int) {
	dst = appendMember(dst, `{"aud":`, e.audience)
	if c.ChainID != 0 {
		dst = strconv.AppendUint(append(dst, `,"chainId":`...), c.ChainID, 10)
	}
	dst = appendMember(dst, `,"decision":`, e.decision)
	dst = strconv.AppendInt(append(dst, `,"exp":`...), e.expires, 10)
	dst = appendMember(dst, `,"framework":`, c.Framework)
	dst = strconv.AppendInt(append(dst, `,"iat":`...), c.IssuedAt, 10)
	dst = c.Intent.append(append(dst, `,"intent":`...))
	dst = appendMember(dst, `,"intentHash":`, c.IntentHash)
	dst = appendMember(dst, `,"iss":`, c.Issuer)
	dst = appendBase64(append(dst, `,"jti":"`...), c.ID[:])
	dst = appendMember(dst, `","keyId":`, c.KeyID)
	dst = appendMember(dst, `,"kind":`, c.Kind)
	dst = appendOptional(dst, `,"mode":`, c.Mode)
	dst = appendMember(dst, `,"policyHash":`, c.PolicyHash)
	pqcAt = len(dst)
	dst = appendMember(dst, `,"sub":`, c.Subject)
	dst = appendOptional(dst, `,"txCommit":`, c.TxCommit)
	dst = appendOptional(dst, `,"userOpHash":`, c.UserOpHash)
	return append(dst, '}'), pqcAt
}

func (i *Intent) append(dst []byte) []byte {
	dst = appendMember(dst, `{"action":`, i.Action)
	dst = appendOptional(dst, `,"amountBase":`, i.AmountBase)
	dst = appendOptional(dst, `,"calldataHash":`, i.CalldataHash)
	if i.Decimals != nil {
		dst = strconv.AppendInt(append(dst, `,"decimals":`...), int64(*i.Decimals), 10)
	}
	dst = appendOptional(dst, `,"maxFeeBase":`, i.MaxFeeBase)
	dst = appendOptional(dst, `,"targetAddress":`, i.TargetAddress)
	dst = i.To.append(dst)
	dst = appendOptional(dst, `,"token":`, i.Token)
	return append(dst, '}')
}

func (r *Recipients) append(dst []byte) []byte {
	switch {
	case r.absent():
		return dst
	case !r.Array:
		return appendMember(dst, `,"to":`, r.List[0])
	}
	dst = append(dst, `,"to":[`...)
	for i, to := range r.List {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jcs.AppendString(dst, to)
	}
	return append(dst, ']')
}

// appendPayload appends the canonical claims with `pqc` put in at pqcAt. The member's text up to the
// signature is the same for all tokens of a key: pqcHead of its kid.
func appendPayload(dst, canonical []byte, pqcAt int, head string, signature []byte) []byte {
	dst = append(dst, canonical[:pqcAt]...)
	dst = append(dst, head...)
	dst = appendBase64(dst, signature)
	dst = append(dst, `"}`...)
	return append(dst, canonical[pqcAt:]...)
}

// pqcHead is the member `pqc` up to the opening quote of its signature.
func pqcHead(kid string) string { return pqcHeadFor(kid, pqcContext) }

// pqcHeadFor is pqcHead under another context.
func pqcHeadFor(kid, context string) string {
	head := appendMember(nil, `,"pqc":{"alg":`, pqcAlgorithm)
	head = appendMember(head, `,"ctx":`, context)
	head = appendMember(head, `,"kid":`, kid)
	return string(head) + `,"sig":"`
}

// appendMember appends a member's opening (separator, name and colon, as they are) and its string value.
func appendMember(dst []byte, opening, value string) []byte {
	return jcs.AppendString(append(dst, opening...), value)
}

// appendOptional is appendMember where an empty value means that the member is absent.
func appendOptional(dst []byte, opening, value string) []byte {
	if value == "" {
		return dst
	}
	return appendMember(dst, opening, value)
}
