package attest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// AppendClaims appends the RFC 8785 form of the claims without pqc, which is what the post-quantum signature is of.
func AppendClaims(dst []byte, c *Claims) []byte {
	dst, _ = appendClaims(dst, c, issued(c))
	return dst
}

// IssueText is Issue for claims as AppendClaims wrote them. Anything else is errPayload.
func (s *Signer) IssueText(dst, text []byte) ([]byte, error) {
	claims, err := ParseClaims(text)
	if err != nil {
		return dst, err
	}
	return s.Issue(dst, claims)
}

// ParseClaims reads what AppendClaims wrote, for the claims to be signed anew. Anything else is errPayload.
func ParseClaims(text []byte) (*Claims, error) {
	p := new(payload)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errPayload, err)
	}
	if !bytes.Equal(AppendClaims(make([]byte, 0, len(text)), &p.Claims), text) {
		return nil, fmt.Errorf("%w: it is not the canonical form of the claims", errPayload)
	}
	return &p.Claims, nil
}
