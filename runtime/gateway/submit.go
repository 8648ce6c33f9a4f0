package gateway

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/vm"
	"bailiff/vm/slot"
)

// A submission is a write that was decoded: what it commits to, the call it makes, and what goes upstream.
type submission struct {
	commitment [32]byte
	sender     common.Address
	cost       spending
	call       *Call  // nil where it can't be told
	unreadable error  // why not
	params     []byte // encoded anew
}

// submit takes a write from its verified attestation to the upstream's answer. Errors are a misfit, an upstreamError,
// and those of the ledger.
func (g *Gateway) submit(ctx context.Context, r *Request, claims *attest.Claims) (*Response, error) {
	if err := checkKind(r, claims); err != nil {
		return nil, err
	}
	s, err := g.decode(r, claims)
	if err != nil {
		return nil, err
	}
	// A place in the upstream's queue comes first: an attestation is not used up for a write that has to turn back.
	release, err := r.upstream.enter(ctx, r.write)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := g.consume(ctx, r, claims, s); err != nil {
		return nil, err
	}
	return r.upstream.ask(ctx, r, s.params), nil
}

// checkKind holds the kind and the chain of an attestation to the gateway that it came to.
func checkKind(r *Request, claims *attest.Claims) error {
	userOp := strings.ToLower(claims.Intent.Action) == slot.UserOpAction
	switch {
	case claims.Kind != attest.KindEVM:
		return misfitf("the attestation is for an intent of kind %s (%s), not for a transaction", claims.Kind, claims.Intent.Action)
	case claims.ChainID != r.chain:
		return misfitf("the attestation is for chain %d, and this is chain %d", claims.ChainID, r.chain)
	case r.endpoint == RPC && (userOp || claims.TxCommit == ""):
		return misfit("the attestation is for a user operation; submit that at /bundler")
	case r.endpoint == Bundler && (!userOp || claims.UserOpHash == ""):
		return misfit("the attestation is for a transaction, not for a user operation; submit that at /rpc")
	}
	return nil
}

func (g *Gateway) decode(r *Request, claims *attest.Claims) (*submission, error) {
	if r.endpoint == Bundler {
		return g.decodeOperation(r, claims)
	}
	return decodeTransaction(r, claims)
}

// decodeTransaction reads the one parameter of eth_sendRawTransaction and holds it to the claim txCommit.
func decodeTransaction(r *Request, claims *attest.Claims) (*submission, error) {
	if len(r.call.params) != 1 {
		return nil, misfitf("params has %d members; give exactly one raw transaction", len(r.call.params))
	}
	text, err := stringOf(r.call.params[0])
	if err != nil {
		return nil, misfit("the raw transaction must be a string of hexadecimal digits")
	}
	raw, err := parseHex(text)
	if err != nil {
		return nil, misfitf("the raw transaction can't be read: %v", err)
	}
	tx, err := DecodeTransaction(raw)
	switch {
	case err != nil:
		return nil, misfitf("the transaction is refused: %v", err)
	case hex.EncodeToString(tx.Commitment[:]) != claims.TxCommit:
		return nil, misfitf("the transaction's SHA-256 is %x, and the attestation is for txCommit %s", tx.Commitment, claims.TxCommit)
	case tx.ChainID != r.chain:
		return nil, misfitf("the transaction is for chain %d, and this is chain %d", tx.ChainID, r.chain)
	case tx.Creation:
		return nil, misfit("the transaction creates a contract, which the gateway does not submit")
	}
	params := append(hex.AppendEncode([]byte(`["0x`), raw), `"]`...)
	return &submission{commitment: tx.Commitment, sender: tx.Sender, cost: spending{most: tx.MaxCost}, call: &tx.Call, params: params}, nil
}

// decodeOperation reads the two parameters of eth_sendUserOperation and holds them to the claim userOpHash.
func (g *Gateway) decodeOperation(r *Request, claims *attest.Claims) (*submission, error) {
	if len(r.call.params) != 2 {
		return nil, misfitf("params has %d members; give exactly one user operation and its entry point", len(r.call.params))
	}
	entryPoint, version, err := g.entryPoint(r.call.params[1])
	if err != nil {
		return nil, err
	}
	op, err := DecodeUserOperation(r.call.params[0], version)
	if err != nil {
		return nil, misfitf("the user operation is refused: %v", err)
	}
	if op.Authorization != nil {
		if err := op.Authorization.check(op.Sender, r.chain); err != nil {
			return nil, err
		}
	}
	s := &submission{commitment: op.Hash(addressOf(entryPoint), r.chain), sender: op.Sender, cost: spending{op.Prefund(), op.paymaster()}}
	if spelled := "0x" + hex.EncodeToString(s.commitment[:]); spelled != claims.UserOpHash {
		return nil, misfitf("the userOpHash is %s, and the attestation is for %s", spelled, claims.UserOpHash)
	}
	s.call, s.unreadable = op.Call()
	s.params = append(append(op.AppendJSON([]byte{'['}), `,"`...), entryPoint...)
	s.params = append(s.params, `"]`...)
	return s, nil
}

// entryPoint reads the second parameter: an entry point that is on the list.
func (g *Gateway) entryPoint(raw []byte) (normal string, version Version, err error) {
	text, err := stringOf(raw)
	if err == nil {
		normal, err = normalize(text)
	}
	if err != nil {
		return "", 0, misfit("the entry point must be an address")
	}
	if version = g.EntryPoints[addressOf(normal)]; version == 0 {
		return "", 0, misfitf("the entry point %s is not on the list", normal)
	}
	return normal, version, nil
}

// staleTries bounds how often a key is looked up again because it changed between two steps.
const staleTries = 3

// consume holds a write to the key and the policy as they are now, and uses the attestation up. When it returns nil,
// that is durable.
func (g *Gateway) consume(ctx context.Context, r *Request, claims *attest.Claims, s *submission) (err error) {
	for range staleTries {
		var key *ledger.Key
		if key, err = g.judge(ctx, claims, s); err != nil {
			return err
		}
		err = g.Ledger.UseOnce(ctx, g.use(r, claims, s, key))
		if !errors.Is(err, ledger.ErrStale) {
			break
		}
	}
	switch {
	case errors.Is(err, ledger.ErrUsed):
		return misfit("the attestation was used before; ask for a new authorization")
	case errors.Is(err, ledger.ErrKeyRevoked):
		return errRevoked
	case errors.Is(err, ledger.ErrHalted):
		return misfit("the API key is suspended or the service frozen, or was since the attestation was issued; ask for a new authorization once the operator lets it go on")
	case errors.Is(err, ledger.ErrStale):
		return misfit("the key's policy is being replaced; ask for a new authorization")
	}
	return err
}

const errRevoked = misfit("the API key that the attestation was issued to is revoked")

// judge looks at everything that may have changed since the attestation was issued, and holds the call to the intent.
func (g *Gateway) judge(ctx context.Context, claims *attest.Claims, s *submission) (*ledger.Key, error) {
	key, err := g.keyOf(claims)
	if err != nil {
		return nil, err
	}
	terms, err := g.termsOf(ctx, key)
	if err != nil {
		return nil, err
	}
	switch {
	case terms.Hash != claims.PolicyHash:
		return nil, misfitf("the attestation is of policy %s, and the policy in force is %s; ask for a new authorization", claims.PolicyHash, terms.Hash)
	case claims.Mode == attest.ModeObserve && !g.Observe:
		return nil, misfit("the attestation was issued in OBSERVE mode, and this service enforces")
	case s.call == nil && terms.EVM:
		return nil, misfitf("the user operation's call can't be told: %v", s.unreadable)
	}
	if err := g.checkFee(s, &claims.Intent, claims.ChainID, terms); err != nil {
		return nil, err
	}
	if s.call == nil {
		return key, nil // there are no limits that the call inside could break
	}
	if terms.EVM {
		if err := g.checkCall(s.call, claims, terms); err != nil {
			return nil, err
		}
	}
	return key, fit(s.call, &claims.Intent, claims.ChainID, terms)
}

func (g *Gateway) keyOf(claims *attest.Claims) (*ledger.Key, error) {
	id, err := ledger.ParseID(claims.KeyID)
	if err != nil {
		return nil, misfitf("keyId %.64q names no API key", claims.KeyID)
	}
	key, found := g.Ledger.LookupKeyID(id)
	switch {
	case !found:
		return nil, misfitf("the API key %s is unknown here", claims.KeyID)
	case key.Revoked != 0:
		return nil, errRevoked
	case key.Environment != g.Environment:
		return nil, misfitf("the attestation was issued to a key of the environment %s, and this is %s", key.Environment, g.Environment)
	}
	return key, nil
}

// termsOf returns the terms of the policy that governs a key now: its own, or the one that the service was started with.
func (g *Gateway) termsOf(ctx context.Context, key *ledger.Key) (*Terms, error) {
	if key.PolicyHash == [32]byte{} {
		boot := g.boot.Load()
		if boot == nil || len(boot.keys) > 0 && !slices.Contains(boot.keys, key.ID.String()) {
			return nil, misfit("the API key has no policy")
		}
		return boot, nil
	}
	hash := hex.EncodeToString(key.PolicyHash[:])
	if known := g.terms.get(hash); known != nil {
		return known, nil
	}
	return g.readTerms(ctx, key, hash)
}

// parsePatience is how long a write waits for its turn to have its policy's terms read.
const parsePatience = 5 * time.Second

// readTerms reads the terms of a key's policy, and remembers them. It compiles, which may take half a second: one policy at a
// time.
func (g *Gateway) readTerms(ctx context.Context, key *ledger.Key, hash string) (*Terms, error) {
	waiting, cancel := g.Calls.Timeout(ctx, parsePatience)
	defer cancel()
	select {
	case g.parsing <- struct{}{}:
		defer func() { <-g.parsing }()
	case <-waiting.Done():
		return nil, fmt.Errorf("the policies of other keys are being read: %w", context.Cause(waiting))
	}
	if known := g.terms.get(hash); known != nil { // meanwhile
		return known, nil
	}
	stored, err := g.Ledger.Policy(ctx, key.ID)
	if err != nil {
		return nil, fmt.Errorf("reading the policy in force: %w", err)
	}
	terms, err := ParseTerms(stored.Text)
	if err != nil {
		return nil, err
	}
	g.terms.put(terms)
	return terms, nil // where it is newer than key, UseOnce finds the key stale
}

// use is what the ledger records of a write that is about to be sent.
func (g *Gateway) use(r *Request, claims *attest.Claims, s *submission, key *ledger.Key) *ledger.Use {
	use := &ledger.Use{
		Key: key.ID, Epoch: key.Epoch, Token: ledger.ID(claims.ID), At: g.Calls.Clock().UnixNano(),
		Issued: claims.IssuedAt * int64(time.Second), Expires: (claims.IssuedAt + attest.LifetimeSeconds) * int64(time.Second),
		Event: ledger.Event{
			Endpoint: fmt.Sprintf("/%s/%d", r.endpoint, r.chain), AgentID: claims.Subject, Action: claims.Intent.Action,
			Class: uint8(vm.EVM), ChainID: r.chain, Commitment: s.commitment,
		},
	}
	_, _ = hex.Decode(use.Event.PolicyHash[:], []byte(claims.PolicyHash)) // the verifier has checked its form
	if key.PolicyHash == [32]byte{} {
		use.Default = use.Event.PolicyHash // judge has held it against the default policy
	}
	return use
}
