package decision

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/policies"
	"bailiff/vm/errcode"
)

// nonced is a request with a request_nonce.
func nonced(nonce, intent string) string {
	return `{"framework":"custom","agentId":"a","chainId":1,"txCommit":"` + strings.Repeat("ab", 32) + `","request_nonce":"` + nonce + `","intent":` + intent + `}`
}

// authorize returns the answer to a body.
func (h *house) authorize(body string) *Answer {
	h.t.Helper()
	answer := new(Answer)
	if fault := h.Decide(context.Background(), h.key, []byte(body), Call{}, answer); fault != nil {
		h.t.Fatal(fault)
	}
	return answer
}

// claims returns the claims of an answer's attestation, verified.
func (h *house) claims(answer *Answer) *attest.Claims {
	h.t.Helper()
	verifier, err := h.Signer.Verifier("svc-core")
	if err != nil {
		h.t.Fatal(err)
	}
	claims, err := verifier.Verify(string(answer.Attestation), h.Clock())
	if err != nil {
		h.t.Fatal(err)
	}
	return claims
}

// sameDecision reports whether an answer is another one again, with an attestation that says the same.
func (h *house) sameDecision(what string, first, again *Answer) {
	h.t.Helper()
	same := again.Status == first.Status && again.HTTP == first.HTTP && again.PolicyHash == first.PolicyHash && again.Nonce == first.Nonce &&
		again.Code == first.Code && again.Rule == first.Rule && bytes.Equal(again.Message, first.Message)
	if !again.Replayed || !same || bytes.Equal(again.Attestation, first.Attestation) { // hedged: signed anew
		h.t.Errorf("%s: %+v, first %+v", what, again, first)
	}
	one := attest.AppendClaims(nil, h.claims(first))
	if other := attest.AppendClaims(nil, h.claims(again)); !bytes.Equal(one, other) {
		h.t.Errorf("%s: claims %s, first %s", what, other, one)
	}
}

// counted returns how many decisions the ledger has counted and recorded.
func (h *house) counted() (allowed uint64, records int) {
	h.t.Helper()
	usage, err := h.ledger.Usage(context.Background(), h.key.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, u := range usage {
		allowed += u.Count
	}
	page, err := h.ledger.Events(context.Background(), ledger.EventQuery{Limit: ledger.MaxEventPage})
	if err != nil {
		h.t.Fatal(err)
	}
	return allowed, len(page.Events)
}

// TestReplay: the same request gets its ALLOWED again, and nothing is counted or recorded twice.
func TestReplay(t *testing.T) {
	h := newHouse(t, rand.Reader)
	now := h.Clock()
	h.Clock = func() time.Time { return now }
	body := nonced("n-1", transferIntent)
	first := h.authorize(body)
	if first.Status != "ALLOWED" || first.Replayed {
		t.Fatalf("%+v", first)
	}
	allowed, records := h.counted()
	now = now.Add(59 * time.Second)
	h.sameDecision("again", first, h.authorize(body))
	if a, r := h.counted(); a != allowed || r != records {
		t.Errorf("%d allowed and %d records became %d and %d", allowed, records, a, r)
	}
	for name, other := range map[string]string{
		"another nonce":         nonced("n-2", transferIntent),
		"the same in spelling":  body + "\n",
		"another intent":        nonced("n-1", `{"action":"wallet.transfer","amount":"0.2"}`),
		"no nonce":              strings.Replace(body, `"request_nonce":"n-1",`, "", 1),
		"no nonce, once more":   strings.Replace(body, `"request_nonce":"n-1",`, "", 1),
		"an empty nonce":        nonced("", transferIntent),
		"an empty nonce, again": nonced("", transferIntent),
	} {
		if got := h.authorize(other); got.Status != "ALLOWED" || got.Replayed {
			t.Errorf("%s: %+v", name, got)
		}
	}
	testRun := new(Answer)
	if fault := h.Decide(context.Background(), h.key, []byte(body), Call{TestRun: true}, testRun); fault != nil || testRun.Replayed || testRun.Attestation != nil {
		t.Errorf("a test-run: %+v %v", testRun, fault)
	}
	now = now.Add(time.Second) // exp
	anew := h.authorize(body)
	if anew.Replayed {
		t.Errorf("after exp: %+v", anew)
	}
	h.sameDecision("the later one", anew, h.authorize(body))
}

// TestReplayAnew: what was denied or held is decided anew, and an allowed one keeps its count where a limit is used up since.
func TestReplayAnew(t *testing.T) {
	h := newHouse(t, rand.Reader)
	for _, intent := range []string{deniedIntent, heldIntent} {
		for range 2 {
			if got := h.authorize(nonced("n", intent)); got.Replayed || got.Status == "ALLOWED" {
				t.Errorf("%s: %+v", intent, got)
			}
		}
	}
	body := nonced("n", bashIntent)
	first := h.authorize(body)
	for range 4 {
		h.decide(bashIntent, false)
	}
	if answer, _ := h.decide(bashIntent, false); answer.Code != errcode.LoopLimitExceeded {
		t.Fatalf("the limit is not used up: %+v", answer)
	}
	if answer := h.authorize(nonced("m", bashIntent)); answer.Code != errcode.LoopLimitExceeded {
		t.Errorf("a new request: %+v", answer)
	}
	h.sameDecision("the limit is used up", first, h.authorize(body))
}

// TestReplayInFlight: of the same requests at once one is decided, and all get its attestation.
func TestReplayInFlight(t *testing.T) {
	log := &stuckLog{Log: memory.NewLog()}
	l, err := commit.Open(log, commit.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseOn(t, l, rand.Reader)
	answers := make([]*Answer, 16)
	var group sync.WaitGroup
	log.stuck.Lock() // all of them are under way before one is durable
	for i := range answers {
		group.Go(func() { answers[i] = h.authorize(nonced("n", bashIntent)) })
	}
	time.Sleep(20 * time.Millisecond)
	log.stuck.Unlock()
	group.Wait()
	replayed := 0
	for _, answer := range answers {
		if answer.Replayed {
			replayed++
		}
		if h.claims(answer).ID != h.claims(answers[0]).ID {
			t.Error("two attestations for one request")
		}
	}
	if allowed, _ := h.counted(); replayed != 15 || allowed != 1 {
		t.Errorf("%d of 16 were replayed, %d were counted", replayed, allowed)
	}
}

// TestReplayRestarted: a service that was started again signs the attestation anew, unless the policy or the mode is another.
func TestReplayRestarted(t *testing.T) {
	log := memory.NewLog()
	open := func() *commit.Ledger {
		l, err := commit.Open(log, commit.Options{Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	h := newHouseOn(t, open(), rand.Reader)
	body := nonced("n", transferIntent)
	restart := func(text string, observe bool) {
		h.ledger.Close()
		config := h.Config
		h.ledger = open()
		policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		config.Service.Ledger, config.Policies.Default, config.Observe, config.Service.Log = h.ledger, policy, observe, slog.New(slog.DiscardHandler)
		if h.Decider, err = New(config); err != nil {
			t.Fatal(err)
		}
		if err := h.BindDefault(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	restart(testPolicy, false)
	first := h.authorize(body)
	restart(testPolicy, false)
	h.sameDecision("after a restart", first, h.authorize(body))
	restart(testPolicy, true)
	if got := h.authorize(body); got.Replayed {
		t.Errorf("in another mode: %+v", got)
	}
	observed := h.authorize(nonced("n", deniedIntent))
	h.sameDecision("observed", observed, h.authorize(nonced("n", deniedIntent)))
	restart(testPolicy, false)
	if got := h.authorize(nonced("n", deniedIntent)); got.Replayed || got.Status != "DENIED" {
		t.Errorf("observed before: %+v", got)
	}
	h.sameDecision("in the mode of before", first, h.authorize(body))
	restart(bashPolicy, false)
	restart(testPolicy, false)
	if got := h.authorize(body); got.Replayed {
		t.Errorf("after another default policy: %+v", got)
	}
}

// TestReplayDeployed: a deployment ends what can be asked for again.
func TestReplayDeployed(t *testing.T) {
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	h.mustDeploy(secret, by, bashPolicy)
	ask := func() *Answer {
		answer := new(Answer)
		if fault := h.Decide(context.Background(), h.key(secret), []byte(nonced("n", bashIntent)), Call{}, answer); fault != nil {
			t.Fatal(fault)
		}
		return answer
	}
	ask()
	if !ask().Replayed {
		t.Error("it is not replayed")
	}
	h.mustDeploy(secret, by, bashPolicy)
	if ask().Replayed {
		t.Error("it is replayed after a deployment")
	}
}

// TestReplayOfOtherCompiler: an observed denial by an operator is answered again where the program of the same policy, made
// by another release, holds nothing, or by another rule.
func TestReplayOfOtherCompiler(t *testing.T) {
	h := newHouse(t, rand.Reader)
	h.Observe = true
	body := []byte(nonced("n", heldIntent))
	held := h.authorize(string(body))
	id, err := ledger.ParseID(held.HoldID)
	if err != nil {
		t.Fatal(err)
	}
	now := h.Clock()
	if _, err := h.ledger.ResolveHold(context.Background(), ledger.Resolution{Key: h.key.ID, Hold: id, At: now.UnixNano(), Resolved: now.Unix()}); err != nil {
		t.Fatal(err)
	}
	first := h.authorize(string(body))
	if first.Status != "ALLOWED" || first.Code != errcode.HoldDenied || first.Details.Limit != "0.5" {
		t.Fatalf("%+v", first)
	}
	for name, text := range map[string]string{
		"allowed":         strings.Replace(testPolicy, "consensus_threshold_eth: 0.5", "consensus_threshold_eth: 0.9", 1),
		"only mentioned":  strings.Replace(testPolicy, "hold: true", "hold: false", 1),
		"denied":          strings.Replace(testPolicy, "max_transaction_eth: 1", "max_transaction_eth: 0.6", 1),
		"by another rule": strings.Replace(testPolicy, "consensus_threshold_eth: 0.5\nconsensus_require_hold: true", "require_approval: wallet.transfer", 1),
	} {
		other, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(text)))
		if err != nil {
			t.Fatal(name, err)
		}
		other.Digest, other.Hash = h.Policies.Config.Default.Digest, h.Policies.Config.Default.Hash
		mine := h.Policies.Config.Default
		h.InForce.Store(other)
		for _, explain := range []bool{false, true} {
			again := new(Answer)
			if fault := h.Decide(context.Background(), h.key, body, Call{Explain: explain}, again); fault != nil {
				t.Fatal(name, fault)
			}
			h.sameDecision(name, first, again)
			if again.Details.Limit != "" {
				t.Errorf("%s: details of another rule: %+v", name, again.Details)
			}
			if explain && (len(again.Explanation.Violations) == 0 || again.Explanation.Violations[len(again.Explanation.Violations)-1].Rule != first.Rule) {
				t.Errorf("%s: explained by %+v", name, again.Explanation.Violations)
			}
		}
		h.InForce.Store(mine)
	}
}
