package accounts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/mail"
	"strings"
	"unicode"

	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// The form of API keys (specification, accounts.1). What follows the prefix is 64 hex digits, 256 random bits.
const (
	keyPrefix     = "sk_svc_"
	testKeyPrefix = "sk_svc_test_" // of legacy keys of the test environment
	maxKeyLength  = 256
)

// Authenticate finds the key that a bearer token is, and checks that it is good here and has the scopes. A malformed
// key, an unknown and a revoked one take the same way to the same answer, so that the answer does not reveal which it was. In the
// test environment a live key that is used for the first time is looked up in production.
func (a *Accounts) Authenticate(token []byte, scopes ledger.Scopes) (*ledger.Key, *service.Failure) {
	if a.Environment == service.Production && bytes.HasPrefix(token, []byte(testKeyPrefix)) {
		return nil, service.Fail(errcode.APIKeyWrongEnv, "this is a key of the test environment; use a production key here")
	}
	hash := sha256.Sum256(token)
	key, found := a.Ledger.LookupKey(hash)
	if a.Sync != nil && (!found && isLive(token) || found && unfinished(key)) {
		var fault *service.Failure
		if key, fault = a.Sync.Sync(hash, key); fault != nil {
			return nil, fault
		}
		found = key != nil
	}
	return a.admit(key, found, scopes)
}

// admit checks that a key is good here and has the scopes.
func (a *Accounts) admit(key *ledger.Key, found bool, scopes ledger.Scopes) (*ledger.Key, *service.Failure) {
	switch {
	case !found || key.Revoked != 0:
		return nil, service.BadKey()
	case key.Environment != a.Environment:
		return nil, service.Fail(errcode.APIKeyWrongEnv, "the API key belongs to the environment "+key.Environment)
	case !key.Scopes.Has(scopes):
		return nil, service.Fail(errcode.APIKeyScope, "the API key lacks the scope "+scopes.String())
	}
	return key, nil
}

// ReadmitKey returns the key of an id as it is now, under the rules by which [Accounts.Authenticate] admits it. A session
// that began with a key calls it for every request, so that it ends with the key.
func (a *Accounts) ReadmitKey(id ledger.ID, scopes ledger.Scopes) (*ledger.Key, *service.Failure) {
	key, found := a.Ledger.LookupKeyID(id)
	return a.admit(key, found, scopes)
}

// unfinished reports whether a mirrored key still lacks the policy that it came with: the service ended between the two.
// No other key is pinned and has no policy.
func unfinished(key *ledger.Key) bool {
	return key.Revoked == 0 && key.Operator != [32]byte{} && key.PolicyHash == [32]byte{}
}

// isLive reports whether a token has the form of a production key.
func isLive(token []byte) bool {
	return len(token) <= maxKeyLength && bytes.HasPrefix(token, []byte(keyPrefix)) && !bytes.HasPrefix(token, []byte(testKeyPrefix))
}

// mint draws the secret and the id of a key that is complete but for them.
func mint(random io.Reader, prefix string, key *ledger.Key) (secret string, err error) {
	var raw [32 + 16]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("reading random bytes: %w", err)
	}
	secret = prefix + hex.EncodeToString(raw[:32])
	key.ID, key.Hash = ledger.ID(raw[32:]).UUIDv4(), sha256.Sum256([]byte(secret))
	return secret, nil
}

// maxEmail is the length of the longest e-mail address (RFC 5321, section 4.5.3.1), in bytes.
const maxEmail = 254

// isEmail reports whether a text is an e-mail address and nothing else.
func isEmail(text string) bool {
	address, err := mail.ParseAddress(text)
	return err == nil && address.Address == text && len(text) <= maxEmail && isPlain(text)
}

// isPlain reports whether a text shows as what it is, wherever an operator reads it: nothing in it moves a cursor, or turns
// the direction of the text beside it.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) })
}
