package decision

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// A machine is a wall that can be set, and the clocks that cannot.
type machine struct {
	wall         time.Time
	awake, slept time.Duration
	synchronised bool
}

func newMachine() *machine {
	return &machine{wall: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
}

func (m *machine) clock() *clock.Guarded {
	return clock.NewGuarded(clock.Sources{
		Now:          func() (time.Time, time.Duration) { return m.wall, m.awake },
		Counted:      func() time.Duration { return m.awake + m.slept },
		Synchronised: func() bool { return m.synchronised },
	})
}

// pass lets time pass, and jump sets the wall.
func (m *machine) pass(d time.Duration) { m.wall, m.awake = m.wall.Add(d), m.awake+d }
func (m *machine) jump(d time.Duration) { m.wall = m.wall.Add(d) }

// TestClockStopsDecisions: while the clock is in doubt nothing is decided, in OBSERVE mode neither, and nothing recorded; after
// the clock was put right or accepted decisions go on.
func TestClockStopsDecisions(t *testing.T) {
	for _, observe := range []bool{false, true} {
		h := newHouse(t, rand.Reader)
		m := newMachine()
		h.Guard, h.Observe = m.clock(), observe
		h.Clock = h.Guard.Now
		ask := func(testRun bool) *service.Failure {
			_, fault := h.decide(bashIntent, testRun)
			return fault
		}
		if fault := ask(false); fault != nil {
			t.Fatal(fault)
		}
		_, records := h.counted()
		m.jump(time.Hour)
		for _, testRun := range []bool{false, true} {
			want(t, ask(testRun), errcode.ClockUnconfirmed)
		}
		if fault := h.Decide(context.Background(), h.key, []byte("not read"), Call{}, new(Answer)); codeOf(fault) != errcode.ClockUnconfirmed {
			t.Errorf("the clock comes before the body: %v", fault)
		}
		if _, after := h.counted(); after != records {
			t.Errorf("%d records became %d", records, after)
		}
		admin := h.Admin()
		view, err := admin.AcceptClock(context.Background())
		if err != nil || !strings.Contains(view.Doubt, "1h0m0s ahead") || view.Time != m.wall || view.Ahead != "" {
			t.Errorf("%+v %v", view, err)
		}
		if fault := ask(false); fault != nil {
			t.Errorf("accepted: %v", fault)
		}
		m.jump(-time.Hour)
		if view, err = admin.AcceptClock(context.Background()); err != nil || view.Doubt != "" || view.Ahead != "1h0m0s" {
			t.Errorf("%+v %v", view, err)
		}
	}
}

// TestClockTakenBack: a service that starts after a jump that was undone is in doubt until that is accepted; a limit then is used up
// for no longer than its window.
func TestClockTakenBack(t *testing.T) {
	h := newHouse(t, rand.Reader)
	m := newMachine()
	m.jump(365 * 24 * time.Hour)
	h.Guard = m.clock()
	h.Clock = h.Guard.Now
	for range 5 {
		h.authorize(nonced("", bashIntent))
	}
	if answer := h.authorize(nonced("", bashIntent)); answer.Code != errcode.LoopLimitExceeded {
		t.Fatalf("%+v", answer)
	}
	m.jump(-365 * 24 * time.Hour)
	h.Guard = m.clock() // a restart
	h.Clock = h.Guard.Now
	latest, err := h.ledger.Latest(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	h.Guard.Begin(time.Unix(0, latest))
	_, fault := h.decide(bashIntent, false)
	want(t, fault, errcode.ClockUnconfirmed)
	admin := h.Admin()
	if view, err := admin.AcceptClock(context.Background()); err != nil || !strings.Contains(view.Doubt, "before the latest record") {
		t.Errorf("%+v %v", view, err)
	}
	if answer := h.authorize(nonced("", bashIntent)); answer.Code != errcode.LoopLimitExceeded || !bytes.Contains(answer.Message, []byte("5 of 5")) {
		t.Errorf("the limit was forgotten: %+v", answer)
	}
	m.pass(time.Hour)
	if answer := h.authorize(nonced("", bashIntent)); answer.Status != "ALLOWED" {
		t.Errorf("an hour later: %+v", answer)
	}
}
