package gateway

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/vm"
)

// noted is a ledger that keeps the uses, and may answer with another policy.
type noted struct {
	Ledger
	used   []*ledger.Use
	reads  int // of policies
	policy func() (ledger.StoredPolicy, error)
}

func (n *noted) UseOnce(ctx context.Context, u *ledger.Use) error {
	n.used = append(n.used, u)
	return n.Ledger.UseOnce(ctx, u)
}

func (n *noted) Policy(ctx context.Context, key ledger.ID) (ledger.StoredPolicy, error) {
	n.reads++
	if n.policy != nil {
		return n.policy()
	}
	return n.Ledger.Policy(ctx, key)
}

// TestUses: the ledger gets every member of a use, among them key, policy, commitment and the end of the attestation's 60 seconds.
func TestUses(t *testing.T) {
	own := policy + "\n# of its own\n"
	for _, deployed := range []bool{false, true} {
		for _, endpoint := range []Endpoint{RPC, Bundler} {
			kept := new(noted)
			b := newBench(t, func(c *Config) { kept.Ledger, c.Ledger = c.Ledger, kept })
			if deployed {
				b.deploy(own)
				var err error
				if b.terms, err = ParseTerms([]byte(own)); err != nil {
					t.Fatal(err)
				}
			}
			key, _ := b.ledger.LookupKeyID(b.key.ID)
			raw := sign(t, dynamic(payee, 5, nil), chain)
			claims, body := b.claims(raw), rawBody(raw)
			commitment := claims.TxCommit
			if endpoint == Bundler {
				op := operation(execute(payee, 5, nil))
				claims, body = b.opClaims(op.Hash(common.HexToAddress(entryPoint07), chain)), opBody(op, entryPoint07)
				commitment = claims.UserOpHash[2:]
			}
			b.now.Add(3)
			if got := reason(t, b.do(endpoint, "8453", body, b.token(claims))); got != "" {
				t.Fatal(got)
			}
			want := &ledger.Use{
				Key: b.key.ID, Epoch: key.Epoch, Token: ledger.ID(claims.ID),
				Issued: issuedAt.UnixNano(), Expires: issuedAt.Add(60 * time.Second).UnixNano(), At: issuedAt.Add(3 * time.Second).UnixNano(),
				Event: ledger.Event{
					Endpoint: "/" + endpoint.String() + "/8453", AgentID: "agent", Action: claims.Intent.Action, Class: uint8(vm.EVM), ChainID: chain,
					Commitment: [32]byte(common.FromHex(commitment)), PolicyHash: [32]byte(common.FromHex(b.terms.Hash)),
				},
			}
			if !deployed {
				want.Default = want.Event.PolicyHash
			}
			if diff := cmp.Diff([]*ledger.Use{want}, kept.used); diff != "" {
				t.Errorf("/%s, deployed %t: %s", endpoint, deployed, diff)
			}
		}
	}
}

// TestPolicyCannotBeRead: where the policy in force can't be looked up, or not be compiled any more, nothing is sent, and the
// attestation is not used up.
func TestPolicyCannotBeRead(t *testing.T) {
	for name, answer := range map[string]func() (ledger.StoredPolicy, error){
		"the ledger fails":     func() (ledger.StoredPolicy, error) { return ledger.StoredPolicy{}, ledger.ErrUnavailable },
		"it does not compile":  func() (ledger.StoredPolicy, error) { return ledger.StoredPolicy{Text: []byte("version: 9")}, nil },
		"there is no text":     func() (ledger.StoredPolicy, error) { return ledger.StoredPolicy{}, nil },
		"it is another policy": func() (ledger.StoredPolicy, error) { return ledger.StoredPolicy{Text: []byte(policy)}, nil },
	} {
		kept := new(noted)
		b := newBench(t, func(c *Config) { kept.Ledger, c.Ledger = c.Ledger, kept })
		b.deploy(policy + "\n# of its own\n")
		key, _ := b.ledger.LookupKeyID(b.key.ID)
		kept.policy = answer
		raw := sign(t, dynamic(payee, 5, nil), chain)
		claims := b.claims(raw)
		claims.PolicyHash = hex.EncodeToString(key.PolicyHash[:])
		token := b.token(claims)
		want := "-32000 SVC_STORE_UNAVAILABLE: "
		if name == "it is another policy" {
			want = "-32602 SVC_POLICY_VIOLATION: the attestation is of policy"
		}
		if got := reason(t, b.send(raw, token)); !strings.HasPrefix(got, want) || len(b.node.sent()) != 0 || len(kept.used) != 0 {
			t.Errorf("%s: %q, %d sent, %d used", name, got, len(b.node.sent()), len(kept.used))
		}
		kept.policy = nil
		if name == "it is another policy" {
			continue // its terms are remembered by the hash of its text
		}
		if got := reason(t, b.send(raw, token)); got != "" {
			t.Errorf("%s, and then it can be read: %s", name, got)
		}
	}
}

// changing is a ledger that refuses the first uses, because the key has changed.
type changing struct {
	Ledger
	left int
}

func (c *changing) UseOnce(ctx context.Context, u *ledger.Use) error {
	if c.left--; c.left >= 0 {
		return ledger.ErrStale
	}
	return c.Ledger.UseOnce(ctx, u)
}

// TestStaleKeys: a key that changes under a write is looked up again, three times in all.
func TestStaleKeys(t *testing.T) {
	for left, want := range map[int]string{0: "", 2: "", 3: "the key's policy is being replaced"} {
		b := newBench(t, func(c *Config) { c.Ledger = &changing{c.Ledger, left} })
		raw := sign(t, dynamic(payee, 5, nil), chain)
		if got := reason(t, b.send(raw, b.token(b.claims(raw)))); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("it changes %d times: %q, want %q", left, got, want)
		}
	}
}

// TestLedgerFaults: each fault of the ledger has its answer.
func TestLedgerFaults(t *testing.T) {
	for fault, want := range map[error]string{
		ledger.ErrUsed:        "-32602 SVC_POLICY_VIOLATION: the attestation was used before",
		ledger.ErrKeyRevoked:  "-32602 SVC_POLICY_VIOLATION: the API key that the attestation was issued to is revoked",
		ledger.ErrHalted:      "-32602 SVC_POLICY_VIOLATION: the API key is suspended or the service frozen",
		ledger.ErrStale:       "-32602 SVC_POLICY_VIOLATION: the key's policy is being replaced",
		ledger.ErrExpired:     "SVC_ATTESTATION_EXPIRED: the attestation has expired",
		ledger.ErrUnavailable: "-32000 SVC_STORE_UNAVAILABLE: the service could not look up the policy in force, or not record that the attestation is used up; nothing was sent",
	} {
		b := newBench(t, func(c *Config) { c.Ledger = failing{c.Ledger, fmt.Errorf("wrapped: %w", fault)} })
		raw := sign(t, dynamic(payee, 5, nil), chain)
		response := b.send(raw, b.token(b.claims(raw)))
		if got := reason(t, response); !strings.HasPrefix(got, want) || len(b.node.sent()) != 0 || response.Unfit != strings.HasPrefix(want, "-32602") {
			t.Errorf("%v: %q, unfit %t, %d sent", fault, got, response.Unfit, len(b.node.sent()))
		}
	}
}

// TestNoPlaceForWrites: a write that finds no place at the upstream is refused in words, is not sent, and keeps its attestation.
func TestNoPlaceForWrites(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxInFlight, c.Timeout = 1, 20*time.Millisecond })
	places := b.gateway.upstreams[place{RPC, chain}].writes
	raw := sign(t, dynamic(payee, 5, nil), chain)
	token := b.token(b.claims(raw))
	places <- struct{}{}
	got := reason(t, b.send(raw, token))
	if got != "-32000 SVC_UPSTREAM_UNAVAILABLE: the upstream has too many requests under way; nothing was sent to it" || len(b.node.sent()) != 0 {
		t.Errorf("%q, %d sent", got, len(b.node.sent()))
	}
	<-places
	b.gateway.Timeout = time.Minute
	answer := b.send(raw, token)
	if got := reason(t, answer); got != "" || len(places) != 0 {
		t.Errorf("with a place: %q; %d are taken", got, len(places))
	}
	answer.Release()
	reads := b.gateway.upstreams[place{RPC, chain}].reads
	reads <- struct{}{}
	b.gateway.Timeout = 20 * time.Millisecond
	const body = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}`
	if got := reason(t, b.do(RPC, "8453", body, "")); !strings.Contains(got, "too many requests under way") || b.gateway.Answers.Held() != 0 {
		t.Errorf("a read: %q; %d bytes are held", got, b.gateway.Answers.Held())
	}
	<-reads
	b.gateway.Timeout = time.Minute
	if got := reason(t, b.do(RPC, "8453", body, "")); got != "" || len(reads) != 0 {
		t.Errorf("a read with a place: %q; %d are taken", got, len(reads))
	}
}

// TestEnterAfterTheEnd: a request whose time is over takes no place, though there is one.
func TestEnterAfterTheEnd(t *testing.T) {
	u := newBench(t).gateway.upstreams[place{RPC, chain}]
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, write := range []bool{false, true} {
		if release, err := u.enter(over, write); err == nil || release != nil || len(u.reads)+len(u.writes) != 0 {
			t.Errorf("write %t: %v; %d and %d are taken", write, err, len(u.reads), len(u.writes))
		}
	}
	var full *upstreamError
	release, err := u.enter(t.Context(), true)
	if err != nil || len(u.writes) != 1 || len(u.reads) != 0 {
		t.Fatalf("%v; %d and %d are taken", err, len(u.reads), len(u.writes))
	}
	if release(); len(u.writes) != 0 || errors.As(err, &full) {
		t.Errorf("%d are taken after the release", len(u.writes))
	}
}

// TestUnreadableClaims: an amount that cannot be read fits nothing, though the verifier refuses such a claim before.
func TestUnreadableClaims(t *testing.T) {
	b := newBench(t)
	_, sender := account(0)
	call := &Call{Sender: sender, Target: common.HexToAddress(payee)}
	if err := fit(call, &attest.Intent{Action: "wallet.transfer", AmountBase: "5.0", TargetAddress: payee}, chain, b.terms); err == nil || !strings.Contains(err.Error(), "amount can't be read") {
		t.Errorf("an amount: %v", err)
	}
	s := &submission{cost: spending{most: gwei(1)}}
	if err := b.gateway.checkFee(s, &attest.Intent{MaxFeeBase: "1e9"}, chain, b.terms); err == nil || !strings.Contains(err.Error(), "maxFeeBase can't be read") {
		t.Errorf("a fee: %v", err)
	}
}
