package decision

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const bashPolicy = "version: 2.0.0\n\n## tool_calls\nallowed: bash\n"

// TestQuotaBorder: 64 clients at the border of the month's quota; exactly what is included is allowed, and the next month
// begins anew.
func TestQuotaBorder(t *testing.T) {
	h := newTown(t)
	secret := h.register()
	h.mustDeploy(secret, newOperator(t), bashPolicy)
	key := h.key(secret)
	const clients, each = 64, 17 // 1,088 intents
	var allowed, refused atomic.Int64
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for range each {
				switch answer, fault := h.ask(key, bashIntent); {
				case fault == nil && answer.Status == "ALLOWED":
					allowed.Add(1)
				case codeOf(fault) == errcode.QuotaExceeded:
					refused.Add(1)
				default:
					t.Errorf("%+v %v", answer, fault)
				}
			}
		})
	}
	group.Wait()
	if allowed.Load() != 1_000 || refused.Load() != clients*each-1_000 {
		t.Errorf("%d allowed, %d refused", allowed.Load(), refused.Load())
	}
	answer := new(Answer)
	want(t, h.Decide(context.Background(), key, request(bashIntent), Call{TestRun: true}, answer), errcode.QuotaExceeded) // a test-run reads it
	if answer, fault := h.ask(key, `{"action":"other"}`); fault != nil || answer.Status != "DENIED" {
		t.Errorf("a denial does not count: %+v %v", answer, fault)
	}
	_, fault := h.ask(key, bashIntent)
	if !strings.Contains(fault.Message, "1000 allowed actions a month") || !strings.Contains(fault.Message, "2026-12-01T00:00:00Z") {
		t.Error(fault)
	}
	h.pass(10 * 24 * time.Hour)
	if answer, fault := h.ask(key, bashIntent); fault != nil || answer.Status != "ALLOWED" {
		t.Errorf("in December: %+v %v", answer, fault)
	}
}

// TestQuotaNone: other plans, the test environment and self-hosted services refuse nothing.
func TestQuotaNone(t *testing.T) {
	developer, growth := &ledger.Key{Tier: "developer"}, &ledger.Key{Tier: "growth"}
	production, test, own := newTown(t), newTown(t, func(c *Config) { c.Service.Environment = service.Test }), newHouse(t, rand.Reader)
	for _, row := range []struct {
		a    *Decider
		key  *ledger.Key
		want uint64
	}{
		{production.Decider, developer, 1_000}, {production.Decider, growth, 0}, {production.Decider, &ledger.Key{Tier: "enterprise"}, 0},
		{production.Decider, &ledger.Key{Tier: "what?"}, 1_000}, {test.Decider, developer, 0}, {own.Decider, developer, 0},
	} {
		if quota := row.a.Quota(row.key); quota != row.want {
			t.Errorf("%s %v %s: %d, not %d", row.a.Environment, row.a.Hosted, row.key.Tier, quota, row.want)
		}
	}
}

// TestUsage counts by key and month, and leaves out keys that there were not.
func TestUsage(t *testing.T) {
	h, ctx := newTown(t), context.Background()
	secret := h.register()
	h.mustDeploy(secret, newOperator(t), bashPolicy)
	for range 3 {
		h.ask(h.key(secret), bashIntent)
	}
	gone := h.key(h.register())
	if _, err := h.ledger.RevokeKey(ctx, gone.ID, h.Clock().UnixNano()); err != nil {
		t.Fatal(err)
	}
	h.pass(15 * 24 * time.Hour)
	h.register()
	for _, row := range []struct {
		month string
		want  []uint64
	}{{"2026-10", nil}, {"2026-11", []uint64{3, 0}}, {"2026-12", []uint64{0, 0}}, {"", []uint64{0, 0}}} {
		views, err := h.admin().Usage(ctx, row.month)
		var got []uint64
		for _, view := range views {
			got = append(got, view.Allowed)
		}
		if want, _ := json.Marshal(row.want); err != nil || string(want) != string(must(json.Marshal(got))) {
			t.Errorf("%s: %v %v, not %v", row.month, got, err, row.want)
		}
	}
	for _, month := range []string{"2026", "2026-13", "11-2026", "2026-11-01"} {
		if _, err := h.admin().Usage(ctx, month); err == nil {
			t.Errorf("%s is a month", month)
		}
	}
}

func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}
