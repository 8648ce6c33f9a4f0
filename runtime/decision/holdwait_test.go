package decision

import (
	"context"
	"testing"
	"time"

	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// counting is a ledger that counts how often holds are read.
type counting struct {
	ledger.Ledger
	reads *int
}

func (c counting) Hold(ctx context.Context, key, id ledger.ID, at int64) (ledger.Hold, error) {
	*c.reads++
	return c.Ledger.Hold(ctx, key, id, at)
}

type waited struct {
	view  *holds.View
	fault *service.Failure
}

// wait has a request wait for a hold, and returns when it does.
func (h *town) wait(ctx context.Context, secret, id string, long time.Duration) <-chan waited {
	h.t.Helper()
	before, answer := h.Waiting(), make(chan waited, 1)
	key := h.key(secret)
	go func() {
		view, fault := h.WaitHold(ctx, key, id, long)
		answer <- waited{view, fault}
	}()
	for h.Waiting() == before && len(answer) == 0 {
		time.Sleep(time.Millisecond)
	}
	return answer
}

// TestWaitHold holds that a resolution wakes who waits, who reads the hold once.
func TestWaitHold(t *testing.T) {
	h, secret, by := holding(t)
	hold := h.openHold(secret)
	reads := 0
	h.Ledger = counting{h.ledger, &reads}
	first, second := h.wait(t.Context(), secret, hold.HoldID, holds.MaxWait), h.wait(t.Context(), secret, hold.HoldID, holds.MaxWait)
	began := time.Now()
	if _, fault := h.resolve(secret, by, hold, "DENIED", noon.Unix()); fault != nil {
		t.Fatal(fault)
	}
	for _, one := range []<-chan waited{first, second} {
		got := <-one
		if got.fault != nil || got.view.Status != "DENIED" || got.view.ResolvedAt == nil {
			t.Errorf("%+v %v", got.view, got.fault)
		}
	}
	if took := time.Since(began); took > holds.MaxWait/2 {
		t.Errorf("the resolution woke after %v", took)
	}
	if reads != 3 { // each of them, and the resolution
		t.Errorf("the hold was read %d times", reads)
	}
	if got := <-h.wait(t.Context(), secret, hold.HoldID, holds.MaxWait); got.fault != nil || got.view.Status != "DENIED" {
		t.Errorf("resolved before: %+v %v", got.view, got.fault)
	}
	if n := h.Waiting(); n != 0 {
		t.Errorf("%d requests wait", n)
	}
}

// TestWaitHoldOver: the wait ends with its time and with its context, and what changed meanwhile counts.
func TestWaitHoldOver(t *testing.T) {
	h, secret, _ := holding(t)
	hold := h.openHold(secret)
	if got := <-h.wait(t.Context(), secret, hold.HoldID, 20*time.Millisecond); got.fault != nil || got.view.Status != "PENDING" {
		t.Errorf("in time: %+v %v", got.view, got.fault)
	}
	ctx, cancel := context.WithCancel(t.Context())
	answer := h.wait(ctx, secret, hold.HoldID, holds.MaxWait)
	cancel()
	if got := <-answer; got.fault != nil || got.view.Status != "PENDING" {
		t.Errorf("left: %+v %v", got.view, got.fault)
	}
	for _, id := range []string{"", "x", "00000000-0000-4000-8000-000000000000"} {
		want(t, (<-h.wait(t.Context(), secret, id, holds.MaxWait)).fault, errcode.NotFound)
	}
	h.Ledger = ailing{h.ledger}
	want(t, (<-h.wait(t.Context(), secret, hold.HoldID, holds.MaxWait)).fault, errcode.StoreUnavailable)
	h.Ledger = h.ledger

	ctx, cancel = context.WithCancel(t.Context())
	answer = h.wait(ctx, secret, hold.HoldID, holds.MaxWait)
	h.pass(24 * time.Hour)
	cancel()
	want(t, (<-answer).fault, errcode.NotFound)
}

// TestWaitHoldRevoked: a key that is revoked while it waits is told nothing.
func TestWaitHoldRevoked(t *testing.T) {
	h, secret, _ := holding(t)
	hold := h.openHold(secret)
	ctx, cancel := context.WithCancel(t.Context())
	answer := h.wait(ctx, secret, hold.HoldID, holds.MaxWait)
	if _, err := h.ledger.RevokeKey(t.Context(), h.key(secret).ID, noon.UnixNano()); err != nil {
		t.Fatal(err)
	}
	cancel()
	want(t, (<-answer).fault, errcode.APIKeyInvalid)
}

// TestWaitHoldRoom: of a key only so many wait; others get the hold as it is.
func TestWaitHoldRoom(t *testing.T) {
	h, secret, _ := holding(t, func(c *Config) { c.HoldWaits = 8 })
	hold := h.openHold(secret)
	ctx, cancel := context.WithCancel(t.Context())
	var answers []<-chan waited
	for range 2 {
		answers = append(answers, h.wait(ctx, secret, hold.HoldID, holds.MaxWait))
	}
	if got := <-h.wait(ctx, secret, hold.HoldID, holds.MaxWait); got.fault != nil || got.view.Status != "PENDING" {
		t.Errorf("beyond the room of the key: %+v %v", got.view, got.fault)
	}
	cancel()
	for _, answer := range answers {
		<-answer
	}
}
