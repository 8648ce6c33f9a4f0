package attest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// audienceClaim is the `aud` of every attestation.
	audienceClaim = "svc"
	// decisionClaim is the `decision` of every attestation: nothing else is attested.
	decisionClaim = "ALLOWED"
	// ModeObserve is the `mode` of an attestation issued while OBSERVE is in effect; there is no other.
	ModeObserve = "OBSERVE"
	// pqcAlgorithm is `pqc.alg`, and the `alg` of the post-quantum key set (RFC 9964).
	pqcAlgorithm = "ML-DSA-65"
	// pqcContext is `pqc.ctx`, the FIPS 204 context string of the post-quantum signature.
	pqcContext = "svc-pqc-attestation-v1"

	// LifetimeSeconds is exp - iat of every attestation (specification, attestation.5).
	LifetimeSeconds = 60
	// MaxTokenBytes bounds a token from above: one that is this long is refused. The two signatures take
	// about 6,200 bytes of it, the fixed claims about 700; headers of HTTP servers hold 8 KiB and more.
	MaxTokenBytes = 8 << 10
)

// The kinds of an intent, as `kind` spells them.
const (
	KindEVM   = "evm"
	KindTool  = "tool"
	KindMCP   = "mcp"
	kindModel = "model"
)

// TokenID is `jti`: 128 random bits, on the wire as 22 characters of unpadded base64url.
type TokenID [16]byte

// NewTokenID reads a token id from random.
func NewTokenID(random io.Reader) (TokenID, error) {
	var id TokenID
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return TokenID{}, fmt.Errorf("reading 16 random bytes for jti: %w", err)
	}
	return id, nil
}

// String returns the id as it is in the token.
func (id TokenID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// MarshalText returns the id as it is in the token.
func (id TokenID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText accepts what MarshalText returns and nothing else.
func (id *TokenID) UnmarshalText(text []byte) error {
	raw, err := decodeSegment(string(text))
	if err != nil || len(raw) != len(id) {
		return errors.New("jti is not 22 characters of canonical base64url")
	}
	copy(id[:], raw)
	return nil
}

// Claims are the claims of one attestation (specification, attestation.2). `aud`, `exp`, `decision`
// and `pqc` are not among them, because they follow: audienceClaim, IssuedAt + LifetimeSeconds, decisionClaim, and
// the signature itself. Hashes are SHA-256 in 64 lower-case hex digits unless said otherwise.
type Claims struct {
	Issuer     string  `json:"iss"`
	Subject    string  `json:"sub"` // the agent id, 1 – 256 characters
	ID         TokenID `json:"jti"`
	IssuedAt   int64   `json:"iat"`        // Unix seconds
	TxCommit   string  `json:"txCommit"`   // this, or UserOpHash: exactly one of the two
	UserOpHash string  `json:"userOpHash"` // 0x and 64 lower-case hex digits; kind evm only
	PolicyHash string  `json:"policyHash"`
	ChainID    uint64  `json:"chainId"`   // 0 where the intent named none
	Framework  string  `json:"framework"` // 1 – 64 characters
	KeyID      string  `json:"keyId"`     // of the API key, never the key
	Kind       string  `json:"kind"`      // KindEVM, KindTool, KindMCP or kindModel
	IntentHash string  `json:"intentHash"`
	Intent     Intent  `json:"intent"`
	Mode       string  `json:"mode"` // empty, or ModeObserve
}

// Intent is what the attestation says of the intent itself. Only Action is there for all kinds; of the
// rest AmountBase is required for EVM intents, and everything is refused for others.
type Intent struct {
	Action        string     `json:"action"`        // 1 – 128 characters of printable ASCII
	AmountBase    string     `json:"amountBase"`    // decimal integer below 2^256, in base units
	TargetAddress string     `json:"targetAddress"` // 0x and 40 lower-case hex digits; empty: none given
	Token         string     `json:"token"`         // symbol or address as the intent gave it; empty: native
	Decimals      *int       `json:"decimals"`      // of the token rule, 0 – 36; nil: none
	To            Recipients `json:"to"`
	MaxFeeBase    string     `json:"maxFeeBase,omitempty"` // the most that gas may cost, in wei; empty: none declared
	CalldataHash  string     `json:"calldataHash"`         // SHA-256 of the declared call data; empty: none declared
}

// Recipients is `intent.to`: a string, or an array of strings. The zero value is an absent `to`.
type Recipients struct {
	List  []string
	Array bool // written as an array; otherwise List holds no more than one
}

// UnmarshalJSON reads a string or an array of strings.
func (r *Recipients) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*r = Recipients{List: []string{one}}
		return nil
	}
	r.Array = true
	return json.Unmarshal(text, &r.List)
}

// MarshalJSON writes the form that UnmarshalJSON read; an absent `to` is null.
func (r Recipients) MarshalJSON() ([]byte, error) {
	switch {
	case r.Array:
		return json.Marshal(r.List)
	case len(r.List) == 1:
		return json.Marshal(r.List[0])
	case len(r.List) == 0:
		return []byte("null"), nil
	}
	return nil, errors.New("several recipients, but not marked as an array")
}
