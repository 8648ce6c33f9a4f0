package decision

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const testPolicy = `version: 2.0.0

## evm
allowed_chains: 1
allowed_actions: wallet.transfer
max_transaction_eth: 1
consensus_threshold_eth: 0.5
consensus_require_hold: true

## tool_calls
allowed: bash

## execution_limits
max_tool_calls_per_hour: 5
`

// house is an authority over a ledger in memory, with one key.
type house struct {
	*Decider
	t      *testing.T
	ledger *commit.Ledger
	key    *ledger.Key
	log    *bytes.Buffer
}

func newHouse(t *testing.T, random io.Reader) *house {
	t.Helper()
	return newHouseOn(t, memory.New(), random)
}

func newHouseOn(t *testing.T, l *commit.Ledger, random io.Reader) *house {
	t.Helper()
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(testPolicy)))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, ledger: l, log: &bytes.Buffer{}}
	t.Cleanup(func() { h.ledger.Close() })
	clock := func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }
	admin := NewAdmin(service.Config{Ledger: h.ledger, Environment: service.Production, Clock: clock, Random: rand.Reader})
	view, err := admin.CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	h.Decider, err = New(Config{Policies: policies.Config{Default: policy}, Service: service.Config{
		Ledger: h.ledger, Signer: signer, Environment: service.Production, Issuer: "svc-core",
		Clock: clock, Random: random, Log: slog.New(slog.NewTextHandler(h.log, nil)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var fault *service.Failure
	if h.key, fault = h.Authenticate([]byte(view.APIKey), ledger.ScopeAuthorize); fault != nil {
		t.Fatal(fault)
	}
	return h
}

func (h *house) decide(intent string, testRun bool) (*Answer, *service.Failure) {
	body := `{"framework":"custom","agentId":"a","chainId":1,"txCommit":"` + strings.Repeat("ab", 32) + `","intent":` + intent + `}`
	answer := new(Answer)
	return answer, h.Decide(context.Background(), h.key, []byte(body), Call{TestRun: testRun}, answer)
}

const (
	bashIntent     = `{"action":"bash","command":"ls"}`
	transferIntent = `{"action":"wallet.transfer","amount":"0.1"}`
	heldIntent     = `{"action":"wallet.transfer","amount":"0.7"}`
	deniedIntent   = `{"action":"wallet.transfer","amount":"7"}`
)

// TestTroubles: while the store fails the log gets a line in a second, however many requests meet it, and none is uncounted.
func TestTroubles(t *testing.T) {
	h := newHouse(t, rand.Reader)
	now := h.Clock()
	h.Clock = func() time.Time { return now }
	h.ledger.Fail(errors.New("the disk is gone"))
	for range 50 {
		h.decide(bashIntent, false)
	}
	now = now.Add(time.Second)
	for range 3 {
		h.decide(transferIntent, false)
	}
	lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "the disk is gone") || !strings.Contains(lines[1], "alsoBefore=49") {
		t.Errorf("the log is %q", lines)
	}
}

// TestStoreFailure: once the store has failed nothing is allowed, denied or held any more. What needs a counter is
// denied for want of it, everything else is unavailable.
func TestStoreFailure(t *testing.T) {
	h := newHouse(t, rand.Reader)
	if answer, fault := h.decide(bashIntent, false); fault != nil || answer.Status != "ALLOWED" {
		t.Fatalf("before the failure: %v %v", answer, fault)
	}
	h.ledger.Fail(errors.New("the disk is gone"))
	answer, fault := h.decide(bashIntent, false)
	if fault != nil || answer.Status != "DENIED" || answer.Code != errcode.LimitStore || answer.Rule != "" || answer.Attestation != nil || answer.HTTP != 403 {
		t.Errorf("with a limit: %+v %v", answer, fault)
	}
	for _, intent := range []string{transferIntent, heldIntent, deniedIntent} {
		if answer, fault := h.decide(intent, false); fault == nil || fault.Code != errcode.StoreUnavailable {
			t.Errorf("%s: %+v %v", intent, answer, fault)
		}
	}
}

// stuckLog is a disk that hangs while stuck is locked.
type stuckLog struct {
	*memory.Log
	stuck sync.Mutex
}

// Append implements commit.Log.
func (l *stuckLog) Append(first uint64, group []byte) error {
	l.stuck.Lock()
	defer l.stuck.Unlock()
	return l.Log.Append(first, group)
}

// TestClockPutRight: where the clock was ahead, a key's time stays there, and what is issued from then on is good for 60
// seconds from now all the same.
func TestClockPutRight(t *testing.T) {
	h := newHouse(t, rand.Reader)
	right := h.Clock
	for _, ahead := range []time.Duration{2 * time.Hour, 0} {
		h.Clock = func() time.Time { return right().Add(ahead) }
		answer, fault := h.decide(transferIntent, false)
		if fault != nil || answer.Status != "ALLOWED" {
			t.Fatalf("%v ahead: %+v %v", ahead, answer, fault)
		}
		verifier, err := h.Signer.Verifier("svc-core")
		if err != nil {
			t.Fatal(err)
		}
		if claims, err := verifier.Verify(string(answer.Attestation), h.Clock()); err != nil || claims.IssuedAt != h.Clock().Unix() {
			t.Errorf("%v ahead: %+v %v", ahead, claims, err)
		}
	}
}

// TestWaitEnds: a decision whose record is not durable when the wait ends is unknown, and no attestation leaves.
func TestWaitEnds(t *testing.T) {
	log := &stuckLog{Log: memory.NewLog()}
	l, err := commit.Open(log, commit.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseOn(t, l, rand.Reader)
	log.stuck.Lock()
	defer log.stuck.Unlock()
	ended, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	for _, intent := range []string{transferIntent, heldIntent, deniedIntent} {
		body := `{"framework":"custom","agentId":"a","chainId":1,"txCommit":"` + strings.Repeat("ab", 32) + `","intent":` + intent + `}`
		var answer Answer
		if fault := h.Decide(ended, h.key, []byte(body), Call{}, &answer); fault == nil || fault.Code != errcode.StoreUnavailable {
			t.Errorf("%s: %+v %v", intent, answer, fault)
		}
	}
}

// TestRevokedUnderWay: a request that was authenticated before its key was revoked comes to nothing.
func TestRevokedUnderWay(t *testing.T) {
	h := newHouse(t, rand.Reader)
	before := *h.key
	if _, err := h.ledger.RevokeKey(context.Background(), h.key.ID, time.Now().UnixNano()); err != nil {
		t.Fatal(err)
	}
	h.key = &before
	for _, intent := range []string{bashIntent, transferIntent, heldIntent, deniedIntent} {
		if answer, fault := h.decide(intent, false); fault == nil || fault.Code != errcode.APIKeyInvalid {
			t.Errorf("%s: %+v %v", intent, answer, fault)
		}
	}
}

// TestNoRandomness: without randomness nothing is decided, and nothing panics.
func TestNoRandomness(t *testing.T) {
	h := newHouse(t, iotest.ErrReader(errors.New("no entropy")))
	for _, intent := range []string{bashIntent, heldIntent, deniedIntent} {
		if answer, fault := h.decide(intent, false); fault == nil || fault.Code != errcode.Internal {
			t.Errorf("%s: %+v %v", intent, answer, fault)
		}
	}
}

// TestTooLargeToAttest: an intent whose attestation would not fit is refused before anything is recorded or counted.
func TestTooLargeToAttest(t *testing.T) {
	h := newHouse(t, rand.Reader)
	recipients := `"` + strings.Repeat("x", 400) + `"`
	intent := fmt.Sprintf(`{"action":"wallet.transfer","amount":"0.1","to":[%s]}`, recipients+strings.Repeat(","+recipients, 9))
	for _, testRun := range []bool{false, true} {
		answer, fault := h.decide(intent, testRun)
		if fault == nil || fault.Code != errcode.ValidationSchema || !strings.Contains(fault.Message, "shorten") {
			t.Errorf("test-run %v: %+v %v", testRun, answer, fault)
		}
	}
	page, err := h.ledger.Events(context.Background(), ledger.EventQuery{Limit: 10})
	if err != nil || len(page.Events) != 1 { // the key's creation
		t.Errorf("%d events, %v", len(page.Events), err)
	}
}

// TestSurelyAttestable fills a request of that size with what its attestation repeats, and issues it.
func TestSurelyAttestable(t *testing.T) {
	h := newHouse(t, rand.Reader)
	const intent = `{"action":"wallet.transfer","amount":"0.1","to":"%s"}`
	body := func(to string) string {
		return `{"framework":"custom","agentId":"a","chainId":1,"txCommit":"` + strings.Repeat("ab", 32) + `","intent":` + fmt.Sprintf(intent, to) + `}`
	}
	to := strings.Repeat("x", surelyAttestable-len(body("")))
	var answer Answer
	fault := h.Decide(context.Background(), h.key, []byte(body(to)), Call{}, &answer)
	if fault != nil || answer.Status != "ALLOWED" {
		t.Errorf("%+v %v", answer, fault)
	}
}

// TestUnknownFramework warns once per name, in words that outlive the request.
func TestUnknownFramework(t *testing.T) {
	h := newHouse(t, rand.Reader)
	for _, name := range []string{"zebra", "zebra", "custom", "yak"} {
		body := `{"framework":"` + name + `","agentId":"a","txCommit":"` + strings.Repeat("ab", 32) + `","intent":` + bashIntent + `}`
		if fault := h.Decide(context.Background(), h.key, []byte(body), Call{TestRun: true}, new(Answer)); fault != nil {
			t.Fatal(fault)
		}
	}
	if log := h.log.String(); strings.Count(log, "zebra") != 1 || strings.Count(log, "yak") != 1 || strings.Contains(log, "custom") {
		t.Errorf("the log says\n%s", log)
	}
}

// TestWindows: every window of a program has its window in the ledger, by name.
func TestWindows(t *testing.T) {
	for from, to := range windows {
		if from.String() != to.String() {
			t.Errorf("%s became %s", from, to)
		}
	}
	if len(windows) != 3 {
		t.Errorf("%d windows are translated", len(windows))
	}
}
