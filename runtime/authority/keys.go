package authority

import (
	"bytes"
	"crypto/sha256"

	"bailiff/runtime/code"
	"bailiff/runtime/ledger"
)

// The form of API keys (specification, "API key"). What follows the prefix is 64 hex digits, 256 random bits.
const (
	keyPrefix     = "sk_svc_"
	testKeyPrefix = "sk_svc_test_"
	maxKeyLength  = 256
)

// Authenticate finds the key that a bearer token is, and checks that it is good here and has a scope.
func (a *Authority) Authenticate(token []byte, scope ledger.Scopes) (*ledger.Key, *Failure) {
	if !bytes.HasPrefix(token, []byte(keyPrefix)) || len(token) > maxKeyLength {
		return nil, failure(code.APIKeyInvalid, "the API key is malformed; it starts with "+keyPrefix)
	}
	if a.Environment == Production && bytes.HasPrefix(token, []byte(testKeyPrefix)) {
		return nil, failure(code.APIKeyWrongEnv, "this is a key of the test environment; use a production key here")
	}
	hash := sha256.Sum256(token)
	key, found := a.Ledger.LookupKey(hash)
	switch {
	case !found || key.Revoked != 0:
		return nil, failure(code.APIKeyInvalid, "the API key is unknown or revoked")
	case key.Environment != a.Environment:
		return nil, failure(code.APIKeyWrongEnv, "the API key belongs to the environment "+key.Environment)
	case !key.Scopes.Has(scope):
		return nil, failure(code.APIKeyScope, "the API key lacks the scope "+scope.String())
	}
	return key, nil
}
