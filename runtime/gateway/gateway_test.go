package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
)

// A body is one JSON-RPC request, or refused with HTTP 400 before anything else is looked at.
func TestBodies(t *testing.T) {
	b := newBench(t)
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ body, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`, ""},
		{` {"params":[25.5, 9007199254740991, "` + "\U0001F600" + `"],"id":"a\u0062","method":"eth_feeHistory","jsonrpc":"2.0"}` + "\n", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":` + deep(31) + `}`, ""},
		{``, "empty"},
		{`[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}]`, "batch"},
		{` [] `, "batch"},
		{`"eth_chainId"`, "not a JSON object"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"`, "not valid JSON"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}{}`, "follows"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"} x`, "follows"},
		{`{"jsonrpc":"2.0","id":1,"id":1,"method":"eth_chainId"}`, "duplicate"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","\u0069d":2}`, "duplicate"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x1","to":"0x2"}]}`, "duplicate"},
		{`{"jsonrpc":"2.0","id":1,"Method":"eth_chainId"}`, `"Method" is not a member`},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","auth":1}`, `"auth" is not a member`},
		{`{"id":1,"method":"eth_chainId"}`, "jsonrpc"},
		{`{"jsonrpc":2.0,"id":1,"method":"eth_chainId"}`, "jsonrpc"},
		{`{"jsonrpc":"2.0","id":1}`, "method is missing"},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, "method must be"},
		{`{"jsonrpc":"2.0","id":1,"method":["eth_chainId"]}`, "method must be"},
		{`{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}`, "id must be"},
		{`{"jsonrpc":"2.0","id":true,"method":"eth_chainId"}`, "id must be"},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"eth_chainId"}`, "id has"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":{"to":"0x1"}}`, "params must be an array"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":null}`, "params must be an array"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}`, "params has"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[9007199254740993]}`, "readers differ"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[1e3]}`, "readers differ"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x4","latest",[33.3333333333333,-0.12345678901234]]}`, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x4","latest",[33.33333333333333]]}`, "readers differ"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["` + "\xff" + `"]}`, "UTF-8"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["\ud800"]}`, "surrogate"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":` + deep(32) + `}`, "nests deeper"},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["` + strings.Repeat("x", MaxBody) + `"]}`, "bytes"},
		{`{"jsonrpc":"2.0","method":"eth_sendRawTransaction","params":["0x00"]}`, "id is missing"},
		{`{"jsonrpc":"2.0","id":null,"method":"eth_sendRawTransaction","params":["0x00"]}`, "id is missing"},
	} {
		_, refused := b.gateway.Parse(RPC, "8453", []byte(c.body))
		switch {
		case c.want == "" && refused != nil:
			t.Errorf("%.100s: refused: %s", c.body, refused.Message)
		case c.want != "" && (refused == nil || refused.Code == "" || !strings.Contains(refused.Message, c.want)):
			t.Errorf("%.100s: got %+v, want a 400 that says %q", c.body, refused, c.want)
		}
	}
}

func TestChains(t *testing.T) {
	b := newBench(t)
	const body = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`
	for chain, want := range map[string]string{
		"8453": "", "1": "", "10": "not served", "08453": "not served", "+1": "not served", "0x1": "not served", "": "not served",
		"-1": "not served", "18446744073709551617": "not served", "1 ": "not served",
	} {
		got := reason(t, b.do(RPC, chain, body, ""))
		if want == "" && got != "" || want != "" && !strings.Contains(got, want) {
			t.Errorf("chain %q: %q, want %q", chain, got, want)
		}
	}
	other := newBench(t, func(c *Config) {
		c.Chains, c.Upstreams = []uint64{10}, []Upstream{{RPC, 10, c.Upstreams[0].URL}, {RPC, 1, c.Upstreams[0].URL}}
	})
	if got := reason(t, other.do(RPC, "10", body, "")); got != "" {
		t.Errorf("a chain that was put on the list: %s", got)
	}
	if got := reason(t, other.do(RPC, "1", body, "")); !strings.Contains(got, "SVC_CHAIN_NOT_SUPPORTED: chain \"1\" is not served") {
		t.Errorf("a chain with an upstream that is not on the list: %s", got)
	}
	if got := reason(t, b.do(Bundler, "1", body, "")); !strings.Contains(got, "SVC_CHAIN_NOT_SUPPORTED: chain 1 has no upstream for /bundler") {
		t.Errorf("a chain without a bundler: %s", got)
	}
}

// What is on the list passes without a credential, byte for byte under the client's id; nothing else does.
func TestReads(t *testing.T) {
	b := newBench(t)
	for e := range methods {
		for _, m := range Endpoint(e).Methods() {
			if m.Source == "" {
				t.Errorf("%s has no source", m.Name)
			}
			got := b.do(Endpoint(e), "8453", `{"jsonrpc":"2.0","id":"\u0041 1","method":"`+m.Name+`","params":[ {"b" : "\u0041"} ]}`, "")
			if m.Write {
				if got.Code != "SVC_ATTESTATION_REQUIRED" {
					t.Errorf("%s without an attestation: %s", m.Name, reason(t, got))
				}
				continue
			}
			if string(got.Body) != `{"jsonrpc":"2.0","id":"\u0041 1","result":"0x01"}` {
				t.Errorf("%s: %s", m.Name, got.Body)
			}
			sent := b.node.sent()
			if last := sent[len(sent)-1]; last != `{"jsonrpc":"2.0","id":1,"method":"`+m.Name+`","params":[{"b":"A"}]}` {
				t.Errorf("%s: sent upstream %s", m.Name, last)
			}
		}
	}
	before := len(b.node.sent())
	for _, name := range []string{
		"eth_sendTransaction", "eth_SendRawTransaction", "eth_sendRawTransaction ", "eth_sendRawTransactionSync", "personal_sign", "eth_sign",
		"eth_sendUserOperation", "debug_traceCall", "admin_peers", "anvil_setBalance", "evm_mine", "eth_newFilter", "eth_subscribe", "eth_accounts",
		"eth_sendRawTransactionConditional", "eth_sendPrivateTransaction", "eth_sendPrivateRawTransaction", "eth_sendBundle", "mev_sendBundle",
		"eth_signTransaction", "eth_submitWork", "wallet_sendCalls", "engine_newPayloadV4", "miner_setGasPrice", `eth_sendRawTransaction\u0000`,
		"debug_bundler_sendBundleNow", "pimlico_sendUserOperationNow", "eth_call ", "eth_getLogs\u200b",
	} {
		for _, e := range []Endpoint{RPC, Bundler} {
			if e == Bundler && name == "eth_sendUserOperation" {
				continue
			}
			got := reason(t, b.do(e, "8453", `{"jsonrpc":"2.0","id":1,"method":"`+name+`","params":[]}`, ""))
			if !strings.HasPrefix(got, "-32601 SVC_RPC_METHOD_NOT_ALLOWED: ") {
				t.Errorf("/%s: %s: %s", e, name, got)
			}
		}
	}
	if got := reason(t, b.do(Bundler, "8453", rawBody([]byte{1}), "")); !strings.HasPrefix(got, "-32601 ") {
		t.Errorf("a transaction at the bundler: %s", got)
	}
	if after := len(b.node.sent()); after != before {
		t.Errorf("%d methods that are not let through went upstream", after-before)
	}
}

// TestReadParams: the params of a read go upstream in their order, each as it is.
func TestReadParams(t *testing.T) {
	b := newBench(t)
	for params, want := range map[string]string{
		`[]`: `[]`, `[ 1 ]`: `[1]`, `[1, "a" ]`: `[1,"a"]`, `["0x1", {"a": [1, 2]}, null, false]`: `["0x1",{"a":[1,2]},null,false]`,
	} {
		request, refused := b.gateway.Parse(RPC, "8453", []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":`+params+`}`))
		if refused != nil || request.Write() {
			t.Fatalf("%s: %+v", params, refused)
		}
		b.gateway.Serve(t.Context(), request, Credential{}).Release()
		sent := b.node.sent()
		if last := sent[len(sent)-1]; last != `{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":`+want+`}` {
			t.Errorf("%s is sent upstream in %s", params, last)
		}
	}
	request, refused := b.gateway.Parse(RPC, "8453", []byte(rawBody([]byte{1})))
	if refused != nil || !request.Write() {
		t.Errorf("a transaction is not a write: %+v", refused)
	}
}

// TestAnswersWithoutID: a request without an id is answered under null, in the answers of the gateway and in those of an upstream.
func TestAnswersWithoutID(t *testing.T) {
	b := newBench(t)
	for method, want := range map[string]string{
		"eth_chainId":   `{"jsonrpc":"2.0","id":null,"result":"0x01"}`,
		"eth_subscribe": `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"SVC_RPC_METHOD_NOT_ALLOWED","data":{"reason":"the method \"eth_subscribe\" is not let through"}}}`,
	} {
		if got := b.do(RPC, "8453", `{"jsonrpc":"2.0","method":"`+method+`"}`, ""); string(got.Body) != want {
			t.Errorf("%s: %s, want %s", method, got.Body, want)
		}
	}
}

// TestParseChain: a path has a chain's number in its one spelling.
func TestParseChain(t *testing.T) {
	for text, want := range map[string]uint64{
		"1": 1, "8453": 8453, "18446744073709551615": math.MaxUint64,
		"0": 0, "00": 0, "01": 0, "+1": 0, "-1": 0, "0x1": 0, "1_0": 0, "": 0, " 1": 0, "18446744073709551616": 0,
	} {
		if id, ok := parseChain(text); ok != (want > 0) || ok && id != want {
			t.Errorf("%q: %d, %t", text, id, ok)
		}
	}
}

// A client's headers end at the gateway.
func TestNothingOfTheClientGoesUpstream(t *testing.T) {
	b := newBench(t)
	raw := sign(t, dynamic(payee, 5, nil), chain)
	if got := reason(t, b.send(raw, b.token(b.claims(raw)))); got != "" {
		t.Fatal(got)
	}
	b.node.mu.Lock()
	defer b.node.mu.Unlock()
	b.node.header.Del("Accept-Encoding")
	b.node.header.Del("Content-Length")
	want := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}, "User-Agent": {"bailiff"}}
	if fmt.Sprint(b.node.header) != fmt.Sprint(want) {
		t.Errorf("headers upstream: %v", b.node.header)
	}
}

func TestCredentials(t *testing.T) {
	b := newBench(t)
	raw := sign(t, dynamic(payee, 5, nil), chain)
	good := b.token(b.claims(raw))
	other := b.token(b.claims(raw))
	expired := b.claims(raw)
	expired.IssuedAt -= attest.LifetimeSeconds
	foreign := b.claims(raw)
	foreign.Issuer = "somebody-else"
	byOther, err := otherSigner().Issue(nil, b.claims(raw))
	if err != nil {
		t.Fatal(err)
	}
	bearer := func(tokens ...string) (values [][]byte) {
		for _, token := range tokens {
			values = append(values, []byte("Bearer "+token))
		}
		return values
	}
	receipt := func(token string) [][]byte { return [][]byte{[]byte(token)} }
	for _, c := range []struct {
		name string
		Credential
		want string
	}{
		{"none", Credential{}, "SVC_ATTESTATION_REQUIRED"},
		{"another scheme", Credential{Authorization: [][]byte{[]byte("Basic " + good)}}, "SVC_ATTESTATION_INVALID"},
		{"no scheme", Credential{Authorization: [][]byte{[]byte(good)}}, "SVC_ATTESTATION_INVALID"},
		{"a scheme alone", Credential{Authorization: [][]byte{[]byte("Bearer")}}, "SVC_ATTESTATION_INVALID: the Authorization header holds no bearer token"},
		{"a scheme and spaces", Credential{Authorization: [][]byte{[]byte("Bearer  ")}}, "SVC_ATTESTATION_INVALID: the Authorization header holds no bearer token"},
		{"two spaces", Credential{Authorization: [][]byte{[]byte("bearer  " + b.token(b.claims(raw)))}}, ""},
		{"a token of one byte", Credential{Authorization: bearer("x")}, "SVC_ATTESTATION_INVALID: attestation is malformed"},
		{"an API key", Credential{Authorization: bearer("sk_svc_0123456789")}, "SVC_ATTESTATION_INVALID"},
		{"both, different", Credential{bearer(good), receipt(other)}, "different attestations"},
		{"two bearer headers, different", Credential{Authorization: bearer(good, other)}, "different attestations"},
		{"two receipts, different", Credential{Receipt: append(receipt(good), receipt(other)...)}, "different attestations"},
		{"an empty receipt beside a good one", Credential{bearer(good), [][]byte{{}}}, "SVC_ATTESTATION_INVALID: the Svc-Receipt header is empty"},
		{"a receipt of one byte", Credential{Receipt: [][]byte{[]byte("x")}}, "SVC_ATTESTATION_INVALID: attestation is malformed"},
		{"cut", Credential{Authorization: bearer(good[:len(good)-1])}, "SVC_ATTESTATION_INVALID"},
		{"expired", Credential{Authorization: bearer(b.token(expired))}, "SVC_ATTESTATION_EXPIRED"},
		{"of another issuer", Credential{Authorization: bearer(b.token(foreign))}, "SVC_ATTESTATION_INVALID"},
		{"by another service's keys", Credential{Authorization: bearer(string(byOther))}, "SVC_ATTESTATION_INVALID"},
		{"both, the same", Credential{bearer(good), receipt(good)}, ""},
		{"a receipt alone", Credential{Receipt: receipt(other)}, ""},
	} {
		request, refused := b.gateway.Parse(RPC, "8453", []byte(rawBody(raw)))
		if refused != nil {
			t.Fatal(refused.Message)
		}
		got := reason(t, b.gateway.Serve(context.Background(), request, c.Credential))
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if sent := b.node.sent(); len(sent) != 3 {
		t.Errorf("%d writes went upstream, want 3", len(sent))
	}
}

// TestHalted: an attestation from before a halt is void, while it lasts and after it.
func TestHalted(t *testing.T) {
	for _, c := range []struct {
		name, want string
		halts      []ledger.Halt
		later      int64 // seconds from the halts to the attestation; 0: the halts come after it
	}{
		{name: "key suspended", want: "suspended or the service frozen", halts: []ledger.Halt{{Key: ledger.ID{1}, Stop: true}}},
		{name: "service frozen", want: "suspended or the service frozen", halts: []ledger.Halt{{Stop: true}}},
		{name: "key resumed", want: "or was since the attestation was issued", halts: []ledger.Halt{{Key: ledger.ID{1}, Stop: true}, {Key: ledger.ID{1}}}},
		{name: "service thawed", want: "or was since the attestation was issued", halts: []ledger.Halt{{Stop: true}, {}}},
		{name: "thawed before", halts: []ledger.Halt{{Stop: true}, {}}, later: 2},
		{name: "resumed before", halts: []ledger.Halt{{Key: ledger.ID{1}, Stop: true}, {Key: ledger.ID{1}}}, later: 2},
	} {
		b := newBench(t)
		raw := sign(t, dynamic(payee, 5, nil), chain)
		claims := b.claims(raw)
		for _, halt := range c.halts {
			if !halt.Key.IsZero() {
				halt.Key = b.key.ID
			}
			halt.At = issuedAt.UnixNano()
			if err := b.ledger.Halt(t.Context(), &halt); err != nil {
				t.Fatal(err)
			}
		}
		b.now.Add(c.later)
		claims.IssuedAt += c.later
		if got := reason(t, b.send(raw, b.token(claims))); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What may have changed since an attestation was issued.
func TestStanding(t *testing.T) {
	for _, c := range []struct {
		name, want string
		before     func(b *bench, claims *attest.Claims)
		after      func(b *bench)
		adjust     func(*Config)
	}{
		{name: "as it was"},
		{name: "61 seconds late", want: "SVC_ATTESTATION_EXPIRED", after: func(b *bench) { b.now.Add(61) }},
		{name: "60 seconds late", want: "SVC_ATTESTATION_EXPIRED", after: func(b *bench) { b.now.Add(60) }},
		{name: "59 seconds late", after: func(b *bench) { b.now.Add(59) }},
		{name: "key revoked", want: "is revoked", after: func(b *bench) {
			if _, err := b.ledger.RevokeKey(context.Background(), b.key.ID, issuedAt.UnixNano()); err != nil {
				b.t.Fatal(err)
			}
		}},
		{name: "key unknown", want: "is unknown here", before: func(b *bench, c *attest.Claims) { c.KeyID = ledger.ID{1}.String() }},
		{name: "keyId no id", want: "names no API key", before: func(b *bench, c *attest.Claims) { c.KeyID = "key" }},
		{name: "key of another environment", want: "of the environment test", before: func(b *bench, c *attest.Claims) { c.KeyID = b.createKey("test").ID.String() }},
		{name: "policy replaced", want: "the policy in force is", after: func(b *bench) {
			b.deploy(strings.Replace(policy, "max_transaction_eth: 1", "max_transaction_eth: 2", 1))
		}},
		{name: "another policy claimed", want: "the policy in force is", before: func(b *bench, c *attest.Claims) { c.PolicyHash = strings.Repeat("0", 64) }},
		{name: "the same policy deployed", after: func(b *bench) { b.deploy(policy) }},
		{name: "no policy", want: "has no policy", adjust: func(c *Config) { c.BootPolicy = nil }},
		{name: "OBSERVE while enforced", want: "OBSERVE", before: func(b *bench, c *attest.Claims) { c.Mode = attest.ModeObserve }},
		{name: "OBSERVE while observed", before: func(b *bench, c *attest.Claims) { c.Mode = attest.ModeObserve }, adjust: func(c *Config) { c.Observe = true }},
		{name: "enforced while observed", adjust: func(c *Config) { c.Observe = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var adjust []func(*Config)
			if c.adjust != nil {
				adjust = append(adjust, c.adjust)
			}
			b := newBench(t, adjust...)
			raw := sign(t, dynamic(payee, 5, nil), chain)
			claims := b.claims(raw)
			if c.before != nil {
				c.before(b, claims)
			}
			token := b.token(claims)
			if c.after != nil {
				c.after(b)
			}
			got, sent := reason(t, b.send(raw, token)), len(b.node.sent())
			if c.want == "" && (got != "" || sent != 1) || c.want != "" && (!strings.Contains(got, c.want) || sent != 0) {
				t.Errorf("%q, want %q; %d went upstream", got, c.want, sent)
			}
		})
	}
}

// deploy binds a policy to the key of the tests; the signature is not looked at here.
func (b *bench) deploy(text string) {
	b.t.Helper()
	terms, err := ParseTerms([]byte(text))
	if err != nil {
		b.t.Fatal(err)
	}
	d := &ledger.Deployment{
		Key: b.key.ID, At: issuedAt.UnixNano(), Operator: [32]byte{1}, PolicyVersion: "2.0.0", Text: []byte(text), Program: []byte{0},
	}
	copy(d.PolicyHash[:], common.FromHex(terms.Hash))
	if _, err := b.ledger.Deploy(context.Background(), d); err != nil {
		b.t.Fatal(err)
	}
}

// An attestation is used up by the first write that fits, whatever the upstream makes of it, and by no other.
func TestSingleUse(t *testing.T) {
	b := newBench(t)
	raw := sign(t, dynamic(payee, 5, nil), chain)
	token := b.token(b.claims(raw))
	if got := reason(t, b.send(sign(t, dynamic(payee, 6, nil), chain), token)); !strings.Contains(got, "txCommit") {
		t.Fatalf("another transaction: %s", got)
	}
	fails := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	b.node.answer.Store(&fails)
	if got := reason(t, b.send(raw, token)); !strings.HasPrefix(got, "-32000 SVC_UPSTREAM_UNAVAILABLE: the upstream answered with HTTP 500") {
		t.Fatalf("failing upstream: %s", got)
	}
	b.node.answer.Store(nil)
	if got := reason(t, b.send(raw, token)); !strings.HasPrefix(got, "-32602 SVC_POLICY_VIOLATION: the attestation was used before") {
		t.Fatalf("second use: %s", got)
	}
	if sent := len(b.node.sent()); sent != 1 {
		t.Errorf("%d writes went upstream", sent)
	}
}

// Many clients race one attestation: one write goes upstream.
func TestRace(t *testing.T) {
	const clients = 32
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	b := newBench(t)
	raw := sign(t, dynamic(payee, 5, nil), chain)
	for round := range rounds {
		token := b.token(b.claims(raw))
		var passed atomic.Int32
		var group sync.WaitGroup
		for range clients {
			group.Go(func() {
				switch got := reason(t, b.send(raw, token)); {
				case got == "":
					passed.Add(1)
				case !strings.Contains(got, "used before"):
					t.Errorf("round %d: %s", round, got)
				}
			})
		}
		group.Wait()
		if sent := len(b.node.sent()); passed.Load() != 1 || sent != round+1 {
			t.Fatalf("round %d: %d clients passed, %d writes went upstream so far", round, passed.Load(), sent)
		}
	}
}

// A ledger that forgets is noticed: the canary of the test above.
func TestRaceCatches(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Ledger = forgetful{c.Ledger} })
	raw := sign(t, dynamic(payee, 5, nil), chain)
	token := b.token(b.claims(raw))
	b.send(raw, token)
	b.send(raw, token)
	if sent := len(b.node.sent()); sent != 2 {
		t.Errorf("%d writes went upstream past a ledger that forgets, want 2", sent)
	}
}

type forgetful struct{ Ledger }

func (forgetful) UseOnce(context.Context, *ledger.Use) error { return nil }

// A ledger that does not answer lets nothing through.
func TestLedgerFails(t *testing.T) {
	for _, err := range []error{ledger.ErrUnavailable, ledger.ErrUnknown, ledger.ErrClosed, ledger.ErrInvalid, ledger.ErrStale, ledger.ErrKeyRevoked, ledger.ErrExpired} {
		b := newBench(t, func(c *Config) { c.Ledger = failing{c.Ledger, err} })
		raw := sign(t, dynamic(payee, 5, nil), chain)
		if got := reason(t, b.send(raw, b.token(b.claims(raw)))); got == "" || len(b.node.sent()) != 0 {
			t.Errorf("%v: %q, %d sent", err, got, len(b.node.sent()))
		}
	}
}

type failing struct {
	Ledger
	err error
}

func (f failing) UseOnce(context.Context, *ledger.Use) error { return f.err }

// What the ledger keeps of a use says what was sent.
func TestUseIsRecorded(t *testing.T) {
	b := newBench(t)
	raw := sign(t, dynamic(payee, 5, nil), chain)
	claims := b.claims(raw)
	if got := reason(t, b.send(raw, b.token(claims))); got != "" {
		t.Fatal(got)
	}
	page, err := b.ledger.Events(context.Background(), ledger.EventQuery{Key: b.key.ID, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	last := page.Events[len(page.Events)-1]
	if last.Kind != ledger.AttestationUsed || last.Event.Endpoint != "/rpc/8453" || fmt.Sprintf("%x", last.Event.Commitment) != claims.TxCommit ||
		last.Event.ChainID != chain || fmt.Sprintf("%x", last.Event.PolicyHash) != claims.PolicyHash {
		t.Errorf("recorded: %+v", last)
	}
}

func TestNewRefuses(t *testing.T) {
	good := newBench(t).gateway.Config
	for name, spoil := range map[string]func(*Config){
		"no verifier":           func(c *Config) { c.Verifier = nil },
		"no ledger":             func(c *Config) { c.Ledger = nil },
		"no clock":              func(c *Config) { c.Calls.Clock = nil },
		"two upstreams":         func(c *Config) { c.Upstreams = append(c.Upstreams, c.Upstreams[0]) },
		"a file as an upstream": func(c *Config) { c.Upstreams = []Upstream{{RPC, 1, "file:///etc/passwd"}} },
		"no host":               func(c *Config) { c.Upstreams = []Upstream{{RPC, 1, "http://"}} },
		"a broken policy":       func(c *Config) { c.BootPolicy = []byte("version: 9") },
	} {
		c := good
		c.Upstreams = append([]Upstream(nil), good.Upstreams...)
		spoil(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// Every answer of a gateway is valid JSON, whatever is in the id and the method.
func FuzzBody(f *testing.F) {
	b := newBench(f)
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`, `{"jsonrpc":"2.0","id":"\"","method":"x\u0000","params":[{"a":[1.5]}]}`,
		`[]`, `{"jsonrpc":"2.0","id":null,"method":"eth_call","params":[{"a":"\ud83d\ude00"}]}`, rawBody([]byte{1, 2}),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		request, refused := b.gateway.Parse(RPC, "8453", body)
		if (request == nil) == (refused == nil) {
			t.Fatal("neither or both")
		}
		if request == nil {
			if refused.Code == "" && !json.Valid(refused.Body) {
				t.Fatalf("answer %s", refused.Body)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatalf("accepted %q", body)
		}
		params := appendParams(nil, request.call.params)
		again, err := readCall(append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":`), params...), '}'))
		if err != nil || string(appendParams(nil, again.params)) != string(params) {
			t.Fatalf("what is sent upstream, %s, reads as something else: %v", params, err)
		}
	})
}
