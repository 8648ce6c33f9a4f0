package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A signed transfer of 5 wei on chain 1, and the intent that it is.
const (
	payment       = `{"jsonrpc":"2.0","id":"a","method":"eth_sendRawTransaction","params":["0xf85f01018252089400000000000000000000000000000000000000aa058026a073c0ce616bb6c57e050db45f1a411e3818c024030988b6b99135612ec17ed850a0029afe723d8978130f772e732ab5b14b6aad8b492619e2d460282593e455f04d"]}`
	paymentIntent = `{"framework":"custom","agentId":"a-1","chainId":1,"txCommit":"cdfe1225cd731b48450c7045d52f54115b9fa3c207f92f818c57d1d4ea2e77a3",` +
		`"intent":{"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"0.000000000000000005"}}`
	paymentPolicy = "version: 2.0.0\n\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\n"
)

// writes counts what comes in at a node.
type writes struct{ n atomic.Int64 }

func (w *writes) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "eth_sendRawTransaction") {
		w.n.Add(1)
	}
	io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":"0x01"}`)
}

// oneWrite says what is wrong unless one of the answers is the node's, all others say that the attestation was used, and
// so many writes came to the node.
func oneWrite(answers []answer, came int64) error {
	passed, used := 0, 0
	for _, a := range answers {
		switch {
		case a.HTTP == 200 && strings.Contains(string(a.Raw), `"result":"0x01"`):
			passed++
		case a.HTTP == 200 && strings.Contains(string(a.Raw), "used before"):
			used++
		default:
			return fmt.Errorf("%d %s", a.HTTP, a.Raw)
		}
	}
	if passed != 1 || used != len(answers)-1 || came != 1 {
		return fmt.Errorf("%d of %d passed, and %d writes came to the node", passed, len(answers), came)
	}
	return nil
}

// TestUnfitWrites repeats a write whose attestation is used up: beyond the limit of the source it is told to wait, and a
// write that fits its attestation goes through all the same.
func TestUnfitWrites(t *testing.T) {
	var node writes
	upstream := httptest.NewServer(&node)
	defer upstream.Close()
	s := newSite(t, paymentPolicy, "SVC_RPC_URL_1="+upstream.URL, "SVC_RATE_LIMIT_IP=10")
	key, service := s.apiKey(), s.start()
	first := service.ask("/v1/authorize", key, paymentIntent).Attestation
	second := service.ask("/v1/authorize", key, paymentIntent).Attestation
	if got := service.ask("/rpc/1", first, payment); !strings.Contains(string(got.Raw), `"result"`) {
		t.Fatalf("a good write is answered %d %s", got.HTTP, got.Raw)
	}
	refused := 0
	for range 9 {
		if got := service.ask("/rpc/1", first, payment); got.HTTP == 429 {
			refused++
		} else if !strings.Contains(string(got.Raw), "used before") {
			t.Fatalf("a repeated write is answered %d %s", got.HTTP, got.Raw)
		}
	}
	if refused != 1 { // two authorizations and eight repetitions fit
		t.Errorf("%d repetitions were told to wait", refused)
	}
	if got := service.ask("/rpc/1", second, payment); !strings.Contains(string(got.Raw), `"result"`) || node.n.Load() != 2 {
		t.Errorf("a good write beyond the limit is answered %d %s, %d came to the node", got.HTTP, got.Raw, node.n.Load())
	}
}

// TestOneWrite has 32 clients submit a transaction under one attestation at once, over a ledger on the disk, 50 times: one
// write goes upstream. So it stays when the service is killed and started again.
func TestOneWrite(t *testing.T) {
	var node writes
	upstream := httptest.NewServer(&node)
	defer upstream.Close()
	s := newSite(t, paymentPolicy, "SVC_RPC_URL_1="+upstream.URL)
	key, service := s.apiKey(), s.start()
	all := newSwarm(t, service, 32)
	var last string
	for round := range times(t, "BAILIFF_ROUNDS", 50) {
		last = service.ask("/v1/authorize", key, paymentIntent).Attestation
		before := node.n.Load()
		answers := all.attack(last, func(int) (string, string) { return "/rpc/1", payment })
		came := node.n.Load() - before
		if err := oneWrite(answers, came); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if round == 0 && (oneWrite(append(answers, answers...), came) == nil || oneWrite(answers, 2) == nil || oneWrite(answers[:0], 1) == nil) {
			t.Error("the check finds nothing")
		}
	}
	service.kill()
	service = s.start()
	before := node.n.Load()
	again := service.ask("/rpc/1", last, payment)
	if !strings.Contains(string(again.Raw), "used before") || node.n.Load() != before {
		t.Errorf("after a kill the attestation is answered %d %s, and %d writes more came to the node", again.HTTP, again.Raw, node.n.Load()-before)
	}
	if got := service.ask("/rpc/1", service.ask("/v1/authorize", key, paymentIntent).Attestation, payment); !strings.Contains(string(got.Raw), `"result":"0x01"`) {
		t.Errorf("a new attestation is answered %d %s", got.HTTP, got.Raw)
	}
}
