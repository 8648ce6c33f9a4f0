package commit_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
)

// agent is the id of an agent, as long as any other's.
func agent(n int) string { return fmt.Sprintf("agent-%06d", n) }

// TestBytesOfPages holds what a page unpacks that may only look at so many records: about 16 MiB, however large the records are.
// Together the pages have every event once, and their texts stay what they were when other groups are unpacked.
func TestBytesOfPages(t *testing.T) {
	l := open(t, memory.NewLog())
	defer l.Close()
	ctx, key := context.Background(), ledgertest.NewKey(1)
	must(t, l.CreateKey(ctx, key))
	const deployments = 40 << 20 / ledger.MaxPolicyText
	for n := range deployments {
		d := &ledger.Deployment{
			Key: key.ID, At: ledgertest.Start, Operator: [32]byte{'o'}, PolicyVersion: "2.0.0",
			Text: bytes.Repeat([]byte{byte(n)}, ledger.MaxPolicyText),
		}
		binary.BigEndian.PutUint32(d.PolicyHash[:], uint32(n+1))
		done, err := l.Deploy(ctx, d)
		must(t, err)
		p := plan()
		p.ID, p.Event.AgentID = ledgertest.ID('d', uint64(n+1)), agent(n)
		p.Epoch = done.Key.Epoch
		must(t, l.Submit(p).Wait(ctx))
	}
	const events = 1 + 2*deployments
	if _, err := l.Events(ctx, ledger.EventQuery{AfterEach: []uint64{1, 2}, Limit: 1}); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("a cursor of several slots: %v", err)
	}
	whole, err := l.Events(ctx, ledger.EventQuery{Limit: ledger.MaxEventPage})
	if err != nil || whole.More || len(whole.Events) != events {
		t.Fatalf("%d events, more %v, %v", len(whole.Events), whole.More, err)
	}
	query, pages := ledger.EventQuery{Key: key.ID, Limit: ledger.MaxEventPage, Examine: 1 << 20}, 0
	var got []ledger.LoggedEvent
	for more := true; more; pages++ {
		page, err := l.Events(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		if bytes := len(page.Events) / 2 * ledger.MaxPolicyText; bytes > 18<<20 || page.More && bytes < 14<<20 {
			t.Errorf("page %d has %d events, %d MiB", pages, len(page.Events), bytes>>20)
		}
		got, query.After, more = append(got, page.Events...), page.Next, page.More
	}
	for i, e := range got {
		if e.Kind == ledger.Decided && e.Event.AgentID != agent((i-2)/2) {
			t.Errorf("event %d has the agent %q", i, e.Event.AgentID)
		}
	}
	if diff := cmp.Diff(whole.Events, got); diff != "" {
		t.Errorf("-page of all +pages:\n%s", diff)
	}
}
