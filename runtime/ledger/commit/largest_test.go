package commit_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// largest is a plan whose record is as large as a decision's can be.
func largest() *ledger.Plan {
	p := plan()
	p.Reservations = nil
	counter := func(i int) ledger.Counter {
		return ledger.Counter{Limit: fmt.Sprintf("%0*d", ledger.MaxLimitName, i), Window: ledger.Day, Group: strings.Repeat("g", ledger.MaxGroupText)}
	}
	most := amount.FromBytes32([32]byte(bytes.Repeat([]byte{0xff}, 32)))
	for i := range ledger.MaxReservations {
		p.Reservations = append(p.Reservations, ledger.Reservation{Counter: counter(i), Op: ledger.Sum, Amount: most, Limit: most})
	}
	for i := range ledger.MaxSightings {
		p.Seen = append(p.Seen, ledger.Sighting{Counter: counter(ledger.MaxReservations + i), Value: most})
	}
	return p
}

// longest is a plan that opens a hold, with the longest texts that a record takes.
func longest() *ledger.Plan {
	text := strings.Repeat("t", ledger.MaxEventText)
	ending := func(d ledger.Decision) ledger.Ending {
		return ledger.Ending{Decision: d, Code: errcode.Code(strings.Repeat("c", ledger.MaxRule)), Rule: strings.Repeat("r", ledger.MaxRule)}
	}
	p := plan()
	p.Event = ledger.Event{Endpoint: text, RequestID: text, AgentID: text, Action: text, ChainID: math.MaxUint64, Value: text, Detail: text}
	p.Hold = &ledger.HoldRequest{
		Candidate: ledgertest.ID('h', 1), IntentHash: [32]byte{1}, PolicyHash: [32]byte{2}, Lifetime: ledger.MaxHoldLifetime,
		Pending: ending(ledger.Pending), Denied: ending(ledger.Denied),
		Method: text, AgentID: text, PolicyVersion: text, Intent: bytes.Repeat([]byte("i"), ledger.MaxIntent),
	}
	return p
}

// TestLongestRecords opens a log again that holds as many counters and as long texts as plans may have: whatever is
// acknowledged can be read.
func TestLongestRecords(t *testing.T) {
	log := memory.NewLog()
	l := open(t, log)
	must(t, l.CreateKey(context.Background(), ledgertest.NewKey(1)))
	for name, p := range map[string]*ledger.Plan{"counters": largest(), "texts": longest()} {
		ticket := l.Submit(p)
		if err := ticket.Wait(context.Background()); err != nil || !ticket.Outcome().Result.Recorded() {
			t.Fatalf("%s: %+v, %v", name, ticket.Outcome(), err)
		}
	}
	must(t, l.Close())
	must(t, open(t, log).Close())
}

// TestLargestGroup opens a log again whose second group is as large as one gets: it was nearly full when the largest
// record came.
func TestLargestGroup(t *testing.T) {
	log := slowLog{memory.NewLog(), make(chan struct{}, 1), make(chan error)}
	l := open(t, log.Log)
	must(t, l.CreateKey(context.Background(), ledgertest.NewKey(1)))
	must(t, l.Close())
	l = open(t, log)
	l.Submit(plan())
	<-log.entered // and hangs, so that the next group fills
	rider := plan()
	rider.TestRun = true
	rider.Event.Value, rider.Event.Detail = strings.Repeat("v", ledger.MaxEventText), strings.Repeat("d", ledger.MaxEventDetail)
	for range 472 {
		l.Submit(rider)
	}
	last := l.Submit(largest())
	go func() {
		for range log.entered { // every other group is written at once
			log.gate <- nil
		}
	}()
	log.gate <- nil
	must(t, last.Wait(context.Background()))
	must(t, l.Close())
	close(log.entered)
	var groups [][]byte
	must(t, log.Read(0, func(_ uint64, g []byte) bool { groups = append(groups, g); return true }))
	records, err := s2.Decode(nil, groups[len(groups)-1][64:len(groups[len(groups)-1])-4])
	if err != nil || len(groups) != 3 || len(records) < 5_500_000 {
		t.Fatalf("%d groups, the last one of %d bytes, %v", len(groups), len(records), err)
	}
	must(t, open(t, log.Log).Close())
}
