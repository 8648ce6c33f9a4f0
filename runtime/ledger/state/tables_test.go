package state

import (
	"errors"
	"fmt"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// TestOnceKeeps: used ids are remembered for a while after they have expired; ids that expire no later are refused from then on.
func TestOnceKeeps(t *testing.T) {
	for now, forgotten := range map[int64]int64{10 + keptExpired - 1: 0, 10 + keptExpired: 10} {
		var table onceTable[int]
		for id := range 3 {
			if err := table.add(id, 10+int64(id), 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.add(9, now+1, now); err != nil || table.forgotten != forgotten {
			t.Errorf("at %d all is forgotten up to %d, want %d, %v", now, table.forgotten, forgotten, err)
		}
		if err := table.check(0, now+1, now); errors.Is(err, ledger.ErrUsed) != (forgotten == 0) {
			t.Errorf("at %d: %v", now, err)
		}
		if forgotten > 0 {
			if err := table.check(7, forgotten, 0); !errors.Is(err, ledger.ErrExpired) {
				t.Errorf("what expires with something that is forgotten: %v", err)
			}
		}
	}
}

// TestReplayTable: what can be asked for again is forgotten when it has expired before a later decision, or when there is too much.
func TestReplayTable(t *testing.T) {
	life := int64(ledger.ReplayLife)
	ref := func(n int) replayRef { return replayRef{id: [32]byte{byte(n), byte(n >> 8), byte(n >> 16)}} }
	var table replayTable
	for n := range 100 {
		table.add(ref(n), replay{lsn: uint64(n), expires: life + int64(n)*life/4})
		if len(table.by) != min(n+1, 4) || len(table.order) > 2*len(table.by)+1 {
			t.Fatalf("after %d, %d are remembered, in an order of %d", n+1, len(table.by), len(table.order))
		}
		if oldest := table.order[table.head].ref; oldest != ref(max(0, n-3)) {
			t.Errorf("after %d, %x is forgotten next", n+1, oldest.id[:1])
		}
	}
	table = replayTable{order: make([]replayDue, ledger.MaxReplays-1, ledger.MaxReplays+1)}
	for n := range table.order {
		table.order[n].expires = 3 * life
	}
	for n, head := range []int{0, 1} {
		if table.add(ref(n+1), replay{expires: 3 * life}); table.head != head || len(table.by) != n+1 {
			t.Errorf("of %d, %d are forgotten", len(table.order), table.head)
		}
	}
	again := replayTable{}
	again.add(ref(1), replay{lsn: 1, expires: life})
	again.add(ref(1), replay{lsn: 2, expires: 2 * life}) // the first one goes, and not this
	if len(again.by) != 1 || again.by[ref(1)].lsn != 2 {
		t.Errorf("%+v", again.by)
	}
}

// TestFindReplay: a decision is repeated from when it was made until its attestation expires, while nothing changed.
func TestFindReplay(t *testing.T) {
	const issued = 100 * day
	life := int64(ledger.ReplayLife)
	for name, c := range map[string]struct {
		at    int64
		with  func(s *State, k *keyState, p *ledger.Plan)
		found bool
	}{
		"when it was made":     {issued, nil, true},
		"before it was made":   {issued - 1, nil, false},
		"its last moment":      {issued + life - 1, nil, true},
		"when it has expired":  {issued + life, nil, false},
		"of a test-run":        {issued, func(_ *State, _ *keyState, p *ledger.Plan) { p.TestRun = true }, false},
		"of another key":       {issued, func(_ *State, _ *keyState, p *ledger.Plan) { p.Key = revokedKey }, false},
		"of another request":   {issued, func(_ *State, _ *keyState, p *ledger.Plan) { p.Replay.ID[0]++ }, false},
		"not asked for":        {issued, func(_ *State, _ *keyState, p *ledger.Plan) { p.Replay = nil }, false},
		"of another epoch":     {issued, func(_ *State, k *keyState, _ *ledger.Plan) { k.key.Epoch++ }, false},
		"stopped before":       {issued, func(s *State, _ *keyState, _ *ledger.Plan) { s.halt.Last = issued - 1 }, true},
		"stopped then":         {issued, func(s *State, _ *keyState, _ *ledger.Plan) { s.halt.Last = issued }, false},
		"its key stopped then": {issued, func(_ *State, k *keyState, _ *ledger.Plan) { k.key.Halt.Last = issued }, false},
		"a default of before":  {issued, func(s *State, _ *keyState, _ *ledger.Plan) { s.defaults = []boundDefault{{lsn: 7}} }, true},
		"a later default":      {issued, func(s *State, _ *keyState, _ *ledger.Plan) { s.defaults = []boundDefault{{lsn: 9}} }, false},
		"a later one, of others": {issued, func(s *State, k *keyState, _ *ledger.Plan) {
			s.defaults = []boundDefault{{lsn: 9}}
			k.deployments = make([]ledger.DeploymentView, 1)
		}, true},
	} {
		s, k := New(Secret{}), &keyState{key: ledger.Key{ID: busyKey, Epoch: 1}}
		s.replays.add(replayRef{busyKey, [32]byte{1}}, replay{lsn: 8, epoch: 1, expires: issued + life})
		p := &ledger.Plan{Key: busyKey, At: c.at, Replay: &ledger.Replay{ID: [32]byte{1}}}
		if c.with != nil {
			c.with(s, k, p)
		}
		if lsn, found := s.findReplay(k, p); found != c.found || found && lsn != 8 {
			t.Errorf("%s: record %d, %t", name, lsn, found)
		}
	}
}

// TestCountersEnd: a counter is alive until it dies, and its memory is given back then.
func TestCountersEnd(t *testing.T) {
	var table counterTable
	name := func(n uint64) counterID { return counterID{hash: [2]uint64{n, n}, known: true} }
	advance := func(now int64, n, value uint64, window ledger.Window) error {
		return table.advance(1, &Record{Now: now, Counters: []CounterEffect{{Counter: ledger.Counter{Window: window}, Value: amount.FromUint64(value), id: name(n)}}})
	}
	for n, window := range []ledger.Window{ledger.Hour, ledger.Day} {
		if err := advance(0, uint64(n), 5, window); err != nil {
			t.Fatal(err)
		}
	}
	for now, alive := range map[int64][2]bool{hour - 1: {true, true}, hour: {false, true}, day - 1: {false, true}, day: {}} {
		for n := range alive {
			if got := table.has(name(uint64(n)), now); got != alive[n] || table.value(name(uint64(n)), now).IsZero() == got {
				t.Errorf("counter %d at %d is alive: %t, %s", n, now, got, table.value(name(uint64(n)), now))
			}
		}
		if dead := table.deadCount(now); dead != map[bool]int{alive[0]: 0, !alive[0]: 1}[true]+map[bool]int{alive[1]: 0, !alive[1]: 1}[true] {
			t.Errorf("%d are dead at %d", dead, now)
		}
	}
	if table.has(name(9), 0) {
		t.Error("an unknown counter is alive")
	}
	if table.sweep(hour - 1); len(table.live) != 2 || table.nextDeath != hour {
		t.Errorf("%d counters, the next dies at %d", len(table.live), table.nextDeath)
	}
	if table.sweep(hour); len(table.live) != 1 || table.nextDeath != day {
		t.Errorf("%d counters, the next dies at %d", len(table.live), table.nextDeath)
	}
	if err := advance(hour, 0, 1, ledger.Hour); err != nil || table.nextDeath != 2*hour {
		t.Errorf("from zero again: %v, the next dies at %d", err, table.nextDeath)
	}
}

// TestRotationLimit: the operator's key is replaced so often, from the first one on.
func TestRotationLimit(t *testing.T) {
	c := newCrowd(t, 2)
	key := func(n int) [32]byte { return [32]byte{byte(n), byte(n >> 8), 1} }
	rotate := func(n int) error {
		var r Record
		q := &ledger.Rotation{From: key(n), To: key(n + 1), At: c.now}
		if err := c.s.RotateOperator(q, &r); err != nil {
			return err
		}
		c.apply(r)
		return nil
	}
	for n := range ledger.MaxRotations {
		if err := rotate(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := rotate(ledger.MaxRotations); !errors.Is(err, ledger.ErrTooMany) || err.Error() != fmt.Sprintf("%v: the operator's key was replaced %d times already", ledger.ErrTooMany, ledger.MaxRotations) {
		t.Errorf("one more: %v", err)
	}
	if got := c.s.Operators(); len(got.Keys) != ledger.MaxRotations+1 || got.Current(key(0)) != key(ledger.MaxRotations) {
		t.Errorf("%d keys", len(got.Keys))
	}
}

// TestRestoreTimes: a restore is as late as the backup's last record or later, and takes back what may have been used since.
func TestRestoreTimes(t *testing.T) {
	c := busy(t)
	for at, want := range map[int64]error{c.now - 1: ledger.ErrInvalid, c.now: nil, c.now + 1: nil} {
		var r Record
		if err := c.s.Restore(&ledger.Restoration{At: at}, &r); !errors.Is(err, want) || err == nil && (r.Kind != ledger.ServiceRestored || r.Now != at) {
			t.Errorf("restored %d after the last record: %+v, %v", at-c.now, r.Kind, err)
		}
	}
	c.apply(c.whole(ledger.ServiceRestored))
	frozen := c.s.Frozen()
	if c.s.tokens.forgotten != c.now+60e9 || c.s.activations.forgotten != c.now+300e9 || c.s.usedUp != c.now || !frozen.Stopped() || len(c.s.expiring.pending) != 1 {
		t.Errorf("attestations up to %d, activations up to %d are refused; used up at %d; %+v", c.s.tokens.forgotten-c.now, c.s.activations.forgotten-c.now, c.s.usedUp, frozen)
	}
	if got := c.s.Counter(busyKey, busyCounter, c.now); got != ledger.UsedUp {
		t.Errorf("a counter is at %s", got)
	}
	if _, _, shown := c.s.Hold(busyKey, pendingHold, c.now); shown {
		t.Error("a hold of before is shown")
	}
	var r Record
	if c.s.ExpireHold(c.now, &r); r.Kind != ledger.HoldExpired || r.Hold.ID != pendingHold {
		t.Errorf("%s is due", r.Kind)
	}
}
