package decision

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/events"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/runtime/turns"
	"bailiff/vm/errcode"
)

// busy is a service with a key of whose events there are some of each kind, and with a stranger's.
func busy(t *testing.T) (h *town, key *ledger.Key) {
	t.Helper()
	h, secret, by := holding(t)
	ctx, key := context.Background(), h.key(secret)
	stranger := h.register()
	h.mustDeploy(stranger, by, bashPolicy)
	h.ask(h.key(stranger), bashIntent)
	for _, intent := range []string{bashIntent, deployIntent, `{"action":"other"}`} {
		if fault := h.Decide(ctx, key, request(intent), Call{RequestID: "req-1"}, new(Answer)); fault != nil {
			t.Fatal(fault)
		}
		h.pass(time.Minute)
	}
	for range 3 {
		h.ask(key, bashIntent)
	}
	h.Decide(ctx, key, request(bashIntent), Call{TestRun: true}, new(Answer))
	h.ask(key, bashIntent) // carries the test-run's record along
	return h, key
}

// TestEvents: a key sees its own events, by page, decision, rule and time.
func TestEvents(t *testing.T) {
	h, key := busy(t)
	ctx := context.Background()
	for _, row := range []struct {
		query events.Query
		want  string
	}{
		{events.Query{}, "key.created policy.deployed ALLOWED PENDING DENIED ALLOWED ALLOWED DENIED TEST_RUN DENIED"},
		{events.Query{Limit: 2}, "key.created policy.deployed"},
		{events.Query{Decision: ledger.Allowed}, "ALLOWED ALLOWED ALLOWED"},
		{events.Query{Decision: ledger.TestRun}, "TEST_RUN"},
		{events.Query{Rule: "tool_calls.allowed"}, "DENIED"},
		{events.Query{Rule: "execution_limits.max_tool_calls_per_hour"}, "DENIED TEST_RUN DENIED"},
		{events.Query{From: noon.Add(time.Minute), To: noon.Add(2 * time.Minute)}, "PENDING"},
		{events.Query{To: time.Date(1066, 1, 1, 0, 0, 0, 0, time.UTC)}, ""},
		{events.Query{From: time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)}, ""},
		{events.Query{From: time.Date(1066, 1, 1, 0, 0, 0, 0, time.UTC), Decision: ledger.Pending}, "PENDING"},
	} {
		view, fault := h.Events(ctx, key, row.query)
		if fault != nil {
			t.Errorf("%+v: %v", row.query, fault)
			continue
		}
		var got []string
		for _, e := range view.Events {
			if e.KeyID != key.ID.String() {
				t.Errorf("%+v is another key's", e)
			}
			if e.Event != "decision" {
				e.Decision = e.Event
			}
			got = append(got, e.Decision)
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%+v: %v, not %s", row.query, got, row.want)
		}
	}
	_, fault := h.Events(ctx, key, events.Query{Limit: -1})
	want(t, fault, errcode.ValidationSchema)
	for _, after := range []uint64{events.MaxCursor + 1, 1<<64 - 1} { // the place behind it would be the first one again
		_, fault = h.Events(ctx, key, events.Query{After: after})
		want(t, fault, errcode.ValidationSchema)
	}
	if view, fault := h.Events(ctx, key, events.Query{After: events.MaxCursor}); fault != nil || len(view.Events) != 0 || view.More {
		t.Errorf("%+v %v", view, fault)
	}
	_, fault = h.Events(ctx, key, events.Query{Rule: strings.Repeat("x", ledger.MaxRule+1)})
	want(t, fault, errcode.ValidationSchema)
	all, err := h.admin().EventsOf(ctx, "", events.Query{Decision: ledger.Allowed})
	if err != nil || len(all.Events) != 4 {
		t.Errorf("%+v %v", all, err)
	}
	if _, err := h.admin().EventsOf(ctx, "x", events.Query{}); !errors.Is(err, ledger.ErrInvalid) {
		t.Error(err)
	}
}

// TestEvent looks at single events, and follows cursors.
func TestEvent(t *testing.T) {
	h, key := busy(t)
	held, fault := h.Events(context.Background(), key, events.Query{Decision: ledger.Pending})
	if fault != nil {
		t.Fatal(fault)
	}
	e := held.Events[0]
	if e.RequestID != "req-1" || e.Endpoint != "/v1/authorize" || e.Action != "deploy.app" || e.Kind != "tool" || e.ChainID != 1 ||
		e.Commitment != strings.Repeat("ab", 32) || e.Rule != "tool_calls.require_approval" || e.HoldID == "" || e.HoldStatus != "PENDING" ||
		e.Message != "a person has to decide" || !e.Timestamp.Equal(noon.Add(time.Minute)) || e.PolicyHash != fmt.Sprintf("%x", key.PolicyHash) {
		t.Errorf("%+v", e)
	}
	refused, _ := h.Events(context.Background(), key, events.Query{Rule: "execution_limits.max_tool_calls_per_hour", Limit: 1})
	if refused.Events[0].Message != "the intent would exceed execution_limits.max_tool_calls_per_hour" || !refused.More {
		t.Errorf("%+v", refused)
	}
	var after uint64
	for n := 0; ; n++ {
		page, fault := h.Events(context.Background(), key, events.Query{After: after, Limit: 3})
		if fault != nil {
			t.Fatal(fault)
		}
		if after, _ = strconv.ParseUint(page.Next, 10, 64); !page.More {
			if n != 3 {
				t.Errorf("%d pages follow the first", n)
			}
			return
		}
	}
}

// TestCheckpoint: the signed checkpoint names the log's end, and verifies.
func TestCheckpoint(t *testing.T) {
	h := newTown(t)
	key := h.key(h.register())
	note, fault := h.Checkpoint(context.Background(), key)
	if fault != nil {
		t.Fatal(fault)
	}
	opened, err := h.Signer.CheckpointVerifier().Open(note)
	head, _ := h.ledger.Head(context.Background())
	if err != nil || opened.LSN != head.LSN || opened.Hash != head.Hash || opened.Stream != head.Stream || !opened.At.Equal(noon) {
		t.Errorf("%+v %v, not %+v", opened, err, head)
	}
	h.ledger.Fail(errors.New("the disk is gone"))
	_, fault = h.Checkpoint(context.Background(), key)
	want(t, fault, errcode.StoreUnavailable)
}

// TestRefused: a request that its caller refuses after it was decoded is not judged, and what it took is given back.
func TestRefused(t *testing.T) {
	h := newTown(t)
	key := h.key(h.register())
	_, fault := h.Decode(context.Background(), key, []byte(`{}`), Call{}, new(Answer))
	want(t, fault, errcode.ValidationSchema) // before the caller is asked
	long := strings.Replace(string(request(bashIntent)), `"chainId"`, `"context":"`+strings.Repeat("a", largeExplained)+`","chainId"`, 1)
	r, fault := h.Decode(context.Background(), key, []byte(long), Call{TestRun: true, Explain: true}, new(Answer)) // without a policy
	if fault != nil || h.heavy.UnderWay() != 1 {
		t.Fatalf("%v, %d turns", fault, h.heavy.UnderWay())
	}
	r.Close()
	if h.heavy.UnderWay() != 0 {
		t.Error("the turn was not given back")
	}
}

// TestTiming: stages are timed where somebody asks, and only then.
func TestTiming(t *testing.T) {
	h := newTown(t)
	h.Clock = func() time.Time { return time.Unix(0, h.time.Add(int64(time.Microsecond))).UTC() }
	secret := h.register()
	h.mustDeploy(secret, newOperator(t), bashPolicy)
	key := h.key(secret)
	var answer Answer
	if fault := h.Decide(context.Background(), key, request(bashIntent), Call{Timed: true}, &answer); fault != nil {
		t.Fatal(fault)
	}
	for stage, took := range answer.Timing {
		if took <= 0 || took > time.Millisecond {
			t.Errorf("%s took %s", metrics.Stage(stage), took)
		}
	}
	if fault := h.Decide(context.Background(), key, request(bashIntent), Call{}, &answer); fault != nil || answer.Timing != ([metrics.Stages]time.Duration{}) {
		t.Errorf("%v %v", answer.Timing, fault)
	}
	h.Metrics = metrics.New()
	if fault := h.Decide(context.Background(), key, request(`{"action":"other"}`), Call{}, &answer); fault != nil || answer.Timing[metrics.StageDecode] == 0 || answer.Timing[metrics.StageSign] != 0 {
		t.Errorf("%v %v", answer.Timing, fault)
	}
}

// TestEventsInTurn holds that a key's pages of events wait for each other, that few wait, and that others' pages wait, too, where
// all places are taken.
func TestEventsInTurn(t *testing.T) {
	h, key := busy(t)
	other := h.key(h.register())
	var dones []func()
	for range turns.HalfOf() { // each place
		done, ok := h.Turn(context.Background(), &ledger.Key{ID: ledger.ID{byte(len(dones) + 1)}})
		if !ok {
			t.Fatal("no place")
		}
		dones = append(dones, done)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, key := range []*ledger.Key{key, other} {
		_, fault := h.Events(ended, key, events.Query{})
		want(t, fault, errcode.RateLimited)
		if fault.RetryAfter != service.ComeAgain {
			t.Errorf("again after %v", fault.RetryAfter)
		}
	}
	for _, done := range dones {
		done()
	}
	if _, fault := h.Events(context.Background(), key, events.Query{}); fault != nil {
		t.Error(fault)
	}
	done, _ := h.Turn(context.Background(), key)
	_, fault := h.Events(ended, key, events.Query{})
	want(t, fault, errcode.RateLimited)
	done()
	if _, fault := h.Events(context.Background(), key, events.Query{}); fault != nil {
		t.Error(fault)
	}
}
