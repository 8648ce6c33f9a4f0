package clock

import (
	"strings"
	"testing"
	"time"
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

func (m *machine) clock() *Guarded {
	return NewGuarded(Sources{
		Now:          func() (time.Time, time.Duration) { return m.wall, m.awake },
		Counted:      func() time.Duration { return m.awake + m.slept },
		Synchronised: func() bool { return m.synchronised },
	})
}

// pass lets time pass, and jump sets the wall.
func (m *machine) pass(d time.Duration) { m.wall, m.awake = m.wall.Add(d), m.awake+d }
func (m *machine) jump(d time.Duration) { m.wall = m.wall.Add(d) }

// sleep lets the machine sleep.
func (m *machine) sleep(d time.Duration) { m.wall, m.slept = m.wall.Add(d), m.slept+d }

// TestClock moves the wall and the time elapsed apart.
func TestClock(t *testing.T) {
	m := newMachine()
	start, clock := m.wall, m.clock()
	for _, step := range []struct {
		what string
		do   func()
		want time.Duration
	}{
		{"both go on", func() { m.pass(time.Second) }, time.Second},
		{"the wall lags a little", func() { m.pass(time.Second); m.jump(-100 * time.Millisecond) }, 2 * time.Second},
		{"the wall is set back an hour", func() { m.pass(time.Second); m.jump(-time.Hour) }, 3 * time.Second},
		{"the wall is set right, a little ahead", func() { m.pass(time.Second); m.jump(time.Hour + 600*time.Millisecond) }, 4 * time.Second},
		{"the machine sleeps for an hour", func() { m.sleep(time.Hour) }, time.Hour + 4*time.Second + 500*time.Millisecond},
		{"the wall is set ahead by minutes", func() { m.jump(4 * time.Minute) }, time.Hour + 4*time.Minute + 4*time.Second + 500*time.Millisecond},
		{"the wall is set back again", func() { m.pass(time.Second); m.jump(-time.Hour) }, time.Hour + 4*time.Minute + 5*time.Second + 500*time.Millisecond},
	} {
		step.do()
		if got := clock.Now().Sub(start); got != step.want || clock.Doubt() != nil {
			t.Errorf("%s: the clock says %v after the start, want %v; doubt %v", step.what, got, step.want, clock.Doubt())
		}
	}
}

// TestClockJumps: a wall that jumps ahead is not followed and stops decisions, until it is undone, synchronised or accepted.
func TestClockJumps(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, row := range map[string]struct {
		jump, want time.Duration // what the clock says after it, a minute later
		settle     func(m *machine, c *Guarded)
		doubted    bool
	}{
		"undone":              {year, time.Minute, func(m *machine, _ *Guarded) { m.jump(-year) }, true},
		"undone, but minutes": {year, 5 * time.Minute, func(m *machine, _ *Guarded) { m.jump(4*time.Minute - year) }, true},
		"synchronised":        {year, year + time.Minute, func(m *machine, _ *Guarded) { m.synchronised = true }, true},
		"accepted":            {year, year + time.Minute, func(_ *machine, c *Guarded) { c.Accept() }, true},
		"six minutes":         {6 * time.Minute, 7 * time.Minute, func(_ *machine, c *Guarded) { c.Accept() }, true},
		"five minutes":        {5 * time.Minute, 6 * time.Minute, func(*machine, *Guarded) {}, false},
	} {
		m := newMachine()
		start, clock := m.wall, m.clock()
		m.jump(row.jump)
		now := clock.Now()
		if (clock.Doubt() != nil) != row.doubted || row.doubted && now != start {
			t.Errorf("%s: at once the clock says %v, doubt %v", name, now, clock.Doubt())
		}
		m.pass(30 * time.Second)
		if now := clock.Now(); row.doubted && (now.Sub(start) != 30*time.Second || clock.Doubt() == nil) {
			t.Errorf("%s: in doubt the clock says %v, doubt %v", name, now, clock.Doubt())
		}
		row.settle(m, clock)
		m.pass(30 * time.Second)
		if got := clock.Now().Sub(start); got != row.want || clock.Doubt() != nil {
			t.Errorf("%s: the clock says %v after the start, want %v, doubt %v", name, got, row.want, clock.Doubt())
		}
	}
}

// TestClockSteps: small steps add up, and what a time service confirms does not.
func TestClockSteps(t *testing.T) {
	for _, synchronised := range []bool{false, true} {
		m := newMachine()
		m.synchronised = synchronised
		clock := m.clock()
		for range 3 {
			m.jump(2 * time.Minute)
			m.pass(time.Minute)
			clock.Now()
		}
		if m.synchronised = false; (clock.Doubt() != nil) == synchronised {
			t.Errorf("synchronised %v: %v", synchronised, clock.Doubt())
		}
	}
}

// TestClockBehind: at start the wall may not be behind the ledger.
func TestClockBehind(t *testing.T) {
	m := newMachine()
	clock := m.clock()
	clock.Begin(m.wall.Add(5 * time.Minute))
	if clock.Doubt() != nil {
		t.Errorf("five minutes: %v", clock.Doubt())
	}
	clock.Begin(m.wall.Add(time.Hour))
	if doubt := clock.Doubt(); doubt == nil || !doubt.Behind || !strings.Contains(doubt.String(), "1h0m0s before") {
		t.Fatalf("an hour: %v", doubt)
	}
	m.pass(50 * time.Minute)
	if clock.Now(); clock.Doubt() == nil {
		t.Error("ten minutes are left, and it is not in doubt")
	}
	m.pass(6 * time.Minute)
	if clock.Now(); clock.Doubt() != nil {
		t.Errorf("time has passed: %v", clock.Doubt())
	}
	clock.Begin(m.wall.Add(time.Hour))
	if clock.Accept(); clock.Doubt() != nil {
		t.Errorf("accepted: %v", clock.Doubt())
	}
}

// TestSystemSources: the machine's own clocks go on.
func TestSystemSources(t *testing.T) {
	sources := SystemSources()
	_, elapsed := sources.Now()
	counted := sources.Counted()
	time.Sleep(2 * time.Millisecond)
	if _, later := sources.Now(); later <= elapsed || sources.Counted() <= counted {
		t.Error("the clocks stand still")
	}
}
