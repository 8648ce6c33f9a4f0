package state

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// TestCrowdedKeys are those with many groups, in the order of their ids, as long as they have them.
func TestCrowdedKeys(t *testing.T) {
	s, ids := New(Secret{}), []ledger.ID{{1}, {2}, {3}, {4}}
	groups := func(id ledger.ID, n int) {
		k := &keyState{key: ledger.Key{ID: id}, counters: counterTable{live: map[[2]uint64]counter{}, nextDeath: hour}}
		for i := range uint64(n) {
			k.counters.live[[2]uint64{i, i}] = counter{dies: hour + int64(i%2)*hour}
		}
		s.keys[id] = k
		s.noteCrowded(k)
	}
	for _, id := range slices.Backward(ids) {
		groups(id, ledger.CrowdedGroups)
	}
	groups(ids[1], ledger.CrowdedGroups-1)
	var crowded []ledger.ID
	for _, k := range s.CrowdedKeys(hour - 1) {
		if crowded = append(crowded, k.Key); k.Groups != ledger.CrowdedGroups {
			t.Errorf("%s has %d", k.Key, k.Groups)
		}
	}
	if !slices.Equal(crowded, []ledger.ID{{1}, {3}, {4}}) || len(s.crowded) != 3 {
		t.Errorf("%s are crowded, of %d that were", crowded, len(s.crowded))
	}
	if got := s.CrowdedKeys(hour); got != nil {
		t.Errorf("%v are crowded by the dead", got)
	}
	if read, err := ReadSnapshot(s.AppendSnapshot(nil)); err != nil || !slices.Equal(read.CrowdedKeys(hour-1), s.CrowdedKeys(hour-1)) {
		t.Errorf("of a snapshot others are crowded, %v", err)
	}
	groups(ids[0], ledger.CrowdedGroups-1)
	groups(ids[2], ledger.CrowdedGroups-1)
	groups(ids[3], ledger.CrowdedGroups-1)
	if len(s.crowded) != 0 {
		t.Errorf("%d are still noted", len(s.crowded))
	}
}

// TestHaltRefuses: a key is stopped that is there and is not revoked, by the operator, by statements in their order.
func TestHaltRefuses(t *testing.T) {
	signed := func(serial uint64) *ledger.HaltStatement { return &ledger.HaltStatement{Serial: serial} }
	for name, c := range map[string]struct {
		halt ledger.Halt
		want error
		kind ledger.Kind
	}{
		"a key":                    {ledger.Halt{Key: busyKey, Stop: true}, nil, ledger.KeySuspended},
		"by a statement":           {ledger.Halt{Key: busyKey, Stop: true, Signed: signed(3)}, nil, ledger.KeySuspended},
		"the service":              {ledger.Halt{Stop: true}, nil, ledger.ServiceFrozen},
		"one that is not stopped":  {ledger.Halt{Key: busyKey}, nil, ledger.NoRecord},
		"that by a statement":      {ledger.Halt{Key: busyKey, Signed: signed(3)}, nil, ledger.KeyResumed},
		"an unknown key":           {ledger.Halt{Key: unknownID, Stop: true}, ledger.ErrNotFound, 0},
		"a revoked key":            {ledger.Halt{Key: revokedKey, Stop: true}, ledger.ErrKeyRevoked, 0},
		"by a key of before":       {ledger.Halt{Key: busyKey, Stop: true, Operator: operatorBefore}, ledger.ErrOperator, 0},
		"by a statement of before": {ledger.Halt{Key: busyKey, Stop: true, Signed: signed(2)}, ledger.ErrStatementSerial, 0},
	} {
		state := busy(t)
		stop, resume := state.halts(ledger.KeySuspended), state.halts(ledger.KeyResumed)
		stop.Halt.Signed, resume.Epoch = signed(2), stop.Epoch+1
		state.apply(stop)
		state.apply(resume)
		c.halt.At = state.now
		var r Record
		if err := state.s.Halt(&c.halt, &r); !errors.Is(err, c.want) || r.Kind != c.kind {
			t.Errorf("%s: %s, %v", name, r.Kind, err)
		}
	}
}

// TestRevokedKeysHooks: a webhook of a revoked key is removed, and not enabled.
func TestRevokedKeysHooks(t *testing.T) {
	c := busy(t)
	c.apply(revokesKey(c))
	var r Record
	change := &ledger.WebhookChange{Key: busyKey, ID: hookDisabled, At: c.now}
	if err := c.s.EnableWebhook(change, &r); !errors.Is(err, ledger.ErrKeyRevoked) {
		t.Errorf("enabled: %v", err)
	}
	enabled := c.changesHook(ledger.WebhookEnabled, hookDisabled)
	if other := busy(t); other.s.Apply(other.lsn+1, &enabled) != nil {
		t.Error("the webhook of a key that is not revoked is not enabled")
	}
	if c.s.Apply(c.lsn+1, &enabled) == nil {
		t.Error("the record of a revoked key's enabled webhook is applied")
	}
	c = busy(t)
	c.apply(revokesKey(c))
	if err := c.s.RemoveWebhook(change, &r); err != nil || r.Kind != ledger.WebhookRemoved {
		t.Errorf("removed: %s, %v", r.Kind, err)
	}
}

// TestUsageBroughtBack: usage of months that have not come is counted in the month to which the clock is set.
func TestUsageBroughtBack(t *testing.T) {
	for name, c := range map[string]struct{ before, after []ledger.Usage }{
		"none":           {nil, nil},
		"before":         {[]ledger.Usage{{Month: 8, Count: 1}, {Month: 9, Count: 2}}, []ledger.Usage{{Month: 8, Count: 1}, {Month: 9, Count: 2}}},
		"then":           {[]ledger.Usage{{Month: 9, Count: 2}, {Month: 10, Count: 1}}, []ledger.Usage{{Month: 9, Count: 2}, {Month: 10, Count: 1}}},
		"then and after": {[]ledger.Usage{{Month: 9, Count: 2}, {Month: 10, Count: 3}, {Month: 11, Count: 4}, {Month: 12, Count: 5}}, []ledger.Usage{{Month: 9, Count: 2}, {Month: 10, Count: 12}}},
		"after":          {[]ledger.Usage{{Month: 12, Count: 1}}, []ledger.Usage{{Month: 10, Count: 1}}},
	} {
		k := &keyState{usage: c.before}
		if k.bringUsage(10); !slices.Equal(k.usage, c.after) {
			t.Errorf("%s: %v, want %v", name, k.usage, c.after)
		}
	}
}

// TestCountersBroughtBack: the rest of a window stays as long, from the time to which the clock is set; a window that was over stays over.
func TestCountersBroughtBack(t *testing.T) {
	id := func(n uint64) [2]uint64 { return [2]uint64{n} }
	table := counterTable{live: map[[2]uint64]counter{id(0): {dies: 100}, id(1): {dies: 101}, id(2): {dies: 150}}, nextDeath: 100, scratch: &roomScratch{}}
	table.bring(100, 40)
	for n, want := range []int64{100, 41, 90} {
		if got := table.live[id(uint64(n))].dies; got != want {
			t.Errorf("counter %d dies at %d, want %d", n, got, want)
		}
	}
	if table.nextDeath != 41 || table.scratch != nil {
		t.Errorf("the next dies at %d", table.nextDeath)
	}
}

// TestHoldsBroughtBack: a hold that was opened just when a clock is set to is due as it was, and one that was opened later has its whole life.
func TestHoldsBroughtBack(t *testing.T) {
	c := newCrowd(t, 2)
	c.apply(c.opens(pendingHold))
	c.now += hour
	c.apply(c.decision())
	due := slices.Clone(c.s.expiring.order.Items())
	c.now -= hour
	c.apply(Record{Kind: ledger.ClockSet, Now: c.now})
	if got := c.s.expiring.order.Items(); !slices.Equal(got, due) {
		t.Errorf("after the clock was set back, %v are due, want %v", got, due)
	}
	c.apply(c.decision())
	c.now -= hour
	c.apply(Record{Kind: ledger.ClockSet, Now: c.now})
	if h, _, ok := c.s.Hold(busyKey, pendingHold, c.now); !ok || h.Created != c.now || h.Expires != c.now+holdEnds {
		t.Errorf("a hold that was opened later: %+v", h)
	}
}

// TestDefaults: a default policy that comes again is a rollback, and one that names no keys after one that does is told.
func TestDefaults(t *testing.T) {
	c := newCrowd(t, 2)
	for i, step := range []struct {
		policy ledger.DefaultPolicy
		want   ledger.BoundDefault
		err    error
	}{
		{ledger.DefaultPolicy{PolicyHash: [32]byte{1}, Known: true}, ledger.BoundDefault{}, ledger.ErrNotFound},
		{ledger.DefaultPolicy{PolicyHash: [32]byte{1}}, ledger.BoundDefault{}, nil},
		{ledger.DefaultPolicy{PolicyHash: [32]byte{1}}, ledger.BoundDefault{Same: true}, nil},
		{ledger.DefaultPolicy{PolicyHash: [32]byte{2}}, ledger.BoundDefault{}, nil},
		{ledger.DefaultPolicy{PolicyHash: [32]byte{1}}, ledger.BoundDefault{Rollback: true}, nil},
		{ledger.DefaultPolicy{PolicyHash: [32]byte{3}, Named: true, Serial: 5}, ledger.BoundDefault{}, nil},
		{ledger.DefaultPolicy{PolicyHash: [32]byte{4}, Named: true, Serial: 5}, ledger.BoundDefault{}, ledger.ErrSerial},
		{ledger.DefaultPolicy{PolicyHash: [32]byte{4}, Named: true, Serial: 6}, ledger.BoundDefault{}, nil},
		{ledger.DefaultPolicy{PolicyHash: [32]byte{5}, Serial: 7}, ledger.BoundDefault{Unnamed: true}, nil},
		{ledger.DefaultPolicy{}, ledger.BoundDefault{}, nil},
		{ledger.DefaultPolicy{PolicyHash: [32]byte{5}, Serial: 7}, ledger.BoundDefault{}, nil}, // the latest
	} {
		step.policy.At = c.now
		var r Record
		bound, err := c.s.BindDefault(&step.policy, &r)
		if !errors.Is(err, step.err) || err == nil && bound != step.want {
			t.Errorf("step %d: %+v, %v", i, bound, err)
		}
		if r.Kind != ledger.NoRecord {
			c.apply(r)
		}
	}
	for hash, want := range map[[32]byte]bool{{}: false, {5}: false, {4}: true} {
		if got := c.s.replacedDefault(hash); got != want {
			t.Errorf("%x was replaced: %t", hash[:1], got)
		}
	}
}

// TestLive: the records are live that answers, pins and webhooks still need, each once.
func TestLive(t *testing.T) {
	c := newCrowd(t, 2)
	if got := c.s.Live(); len(got) != 0 {
		t.Errorf("of an empty log, %d", got)
	}
	c.apply(replays(c))
	replayedAt := c.lsn
	c.apply(pinsTool(c))
	if got := c.s.Live(); !slices.Equal(got, []uint64{replayedAt, c.lsn}) {
		t.Errorf("%d, want %d and %d", got, replayedAt, c.lsn)
	}
	c.apply(c.hooks(ledger.Webhook{ID: hookOfAll, Topics: ledger.AllTopics}))
	opened := c.opens(ledger.ID{5})
	opened.Outbox = []OutboxEffect{{Webhook: hookOfAll}}
	c.apply(opened) // a hold, of which a webhook is told
	if got := c.s.Live(); !slices.Equal(got, []uint64{replayedAt, replayedAt + 1, c.lsn}) {
		t.Errorf("%d, want %d too", got, c.lsn)
	}
	if got := c.s.Pins(busyKey, "s"); len(got) != 1 || got[0].Tool != "t" {
		t.Errorf("pins %+v", got)
	}
	var r Record
	drop := &ledger.Drop{At: c.now, Through: ledger.Head{LSN: 3}}
	if err := c.s.DropEvents(drop, &r); err != nil || r.Kind != ledger.EventsDropped || r.Now != c.now || r.Drop != drop {
		t.Errorf("%+v, %v", r, err)
	}
	if err := c.s.Restore(&ledger.Restoration{At: 1}, &r); err == nil || !strings.Contains(err.Error(), "records of 1970-04-11T00:00:00Z") {
		t.Errorf("restored before the last record: %v", err)
	}
}

// TestMonths begin and end with those of UTC, to the nanosecond.
func TestMonths(t *testing.T) {
	begin := time.Date(2026, time.February, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	for now, want := range map[int64]uint32{begin - 1: 12 * 2026, begin: 12*2026 + 1, begin + 28*day - 1: 12*2026 + 1, begin + 28*day: 12*2026 + 2} {
		if got := monthOf(now); got != want {
			t.Errorf("%s is in the month %d, want %d", time.Unix(0, now).UTC(), got, want)
		}
	}
}

// TestStateIsItsOwn: a state shares no memory with the records that made it.
func TestStateIsItsOwn(t *testing.T) {
	c := newCrowd(t, 2)
	r := c.hooks(ledger.Webhook{ID: hookOfAll, Topics: 1})
	if err := c.s.Apply(2, &r); err != nil {
		t.Fatal(err)
	}
	r.Webhook.Secret[0]++
	if got := string(c.s.Webhooks(busyKey)[0].Secret); got != "secret" {
		t.Errorf("the secret is %q after its record changed", got)
	}
}

// TestClockOfOthers: a clock that is set back changes no key that is not later.
func TestClockOfOthers(t *testing.T) {
	c := newCrowd(t, 2)
	c.apply(Record{Kind: ledger.KeyChanged, Key: busyKey, Now: c.now})
	c.apply(Record{Kind: ledger.KeyCreated, Key: ledger.ID{2}, Now: c.now + 1, Created: ledger.Key{ID: ledger.ID{2}, Hash: [32]byte{2}}})
	c.s.usedUp = c.now + 5
	c.apply(Record{Kind: ledger.ClockSet, Now: c.now})
	if own, other := c.s.LSN(busyKey), c.s.LSN(ledger.ID{2}); own != 2 || other != c.lsn {
		t.Errorf("the keys were changed last by the records %d and %d, of %d", own, other, c.lsn)
	}
	if c.s.usedUp != c.now || c.s.Latest() != c.now {
		t.Errorf("counters of %d are used up; the latest time is %d", c.s.usedUp, c.s.Latest())
	}
}

// TestClockOfSlot: a clock that was set back for the keys of one slot of several changes no other key, and nothing that all keys have in common.
func TestClockOfSlot(t *testing.T) {
	for slot, want := range map[int][2]int64{
		0: {5, 7}, 1: {1, 7}, 2: {5, 1}, 3: {5, 7}, // a slot without a later key
	} {
		c := newCrowd(t, 2)
		start := c.now
		hash := func(n byte) (h [32]byte) { h[7] = 3 + n; return h } // it is in slot n + 1 of 3
		for n, at := range []int64{5, 7} {
			key := ledger.Key{ID: ledger.ID{byte(2 + n)}, Hash: hash(byte(n))}
			c.apply(Record{Kind: ledger.KeyCreated, Key: key.ID, Now: start + at, Created: key})
		}
		c.s.usedUp, c.s.halt.Last, c.s.halt.Since = start+20, start+20, start+20
		c.s.tokens.forgotten, c.s.activations.forgotten = start+day, start+day
		c.apply(Record{Kind: ledger.ClockSet, Now: start + 1, Slots: 3, Slot: slot})
		if got := [2]int64{c.s.keys[ledger.ID{2}].now - start, c.s.keys[ledger.ID{3}].now - start}; got != want {
			t.Errorf("slot %d: the keys are at %v, want %v", slot, got, want)
		}
		common := [5]int64{c.s.usedUp, c.s.halt.Last, c.s.halt.Since, c.s.tokens.forgotten, c.s.activations.forgotten}
		if common != [5]int64{start + 20, start + 20, start + 20, start + day, start + day} {
			t.Errorf("slot %d: all keys have %v in common, from %d on", slot, common, start)
		}
	}
}

// TestOrderOfMany: what a clock or a restore does to many holds does not depend on the order in which memory has them.
func TestOrderOfMany(t *testing.T) {
	for name, kind := range map[string]ledger.Kind{"a clock": ledger.ClockSet, "a restore": ledger.ServiceRestored} {
		c := newCrowd(t, 2)
		for n := range byte(30) {
			c.apply(c.opens(ledger.ID{n + 1}))
		}
		r := c.whole(kind)
		if kind == ledger.ClockSet {
			r.Now -= day
		}
		var snapshots [5][]byte
		for i := range snapshots {
			s, err := ReadSnapshot(c.s.AppendSnapshot(nil))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Apply(c.lsn+1, &r); err != nil {
				t.Fatal(err)
			}
			if snapshots[i] = s.AppendSnapshot(nil); !bytes.Equal(snapshots[i], snapshots[0]) {
				t.Errorf("%s does two things", name)
			}
		}
	}
}

// TestExpiryAgain: a hold has one time at which it expires, the last that it was given.
func TestExpiryAgain(t *testing.T) {
	var table expiryTable
	ref := holdRef{busyKey, pendingHold}
	for _, at := range []int64{10, 20, 15} {
		if table.add(ref, at); table.order.Min().at != at || len(table.pending) != 1 {
			t.Errorf("after %d it expires at %d", at, table.order.Min().at)
		}
	}
	if table.remove(ref); table.order.Len() != 0 {
		t.Errorf("%d expiries are left", table.order.Len())
	}
	s := New(Secret{})
	s.expiring.add(ref, 10)
	if s.endPending(10); s.expiring.order.Len() != 1 {
		t.Errorf("a hold that ends then anyway is due %d times", s.expiring.order.Len())
	}
}

// TestGroupLimit: a key has so many live groups, by its records too.
func TestGroupLimit(t *testing.T) {
	table := counterTable{live: map[[2]uint64]counter{}, nextDeath: hour, scratch: &roomScratch{}}
	for n := range uint64(ledger.MaxGroups - 1) {
		table.live[[2]uint64{n, 1}] = counter{dies: hour, order: n + 1}
	}
	for n, fits := range []bool{true, false} {
		r := &Record{Counters: []CounterEffect{{Counter: busyCounter, Value: amount.FromUint64(1), id: counterID{hash: [2]uint64{uint64(n), 2}, known: true}}}}
		if err := table.advance(1, r); (err == nil) != fits || err != nil && !strings.Contains(err.Error(), " 65536 ") {
			t.Errorf("group %d beside the others: %v", n, err)
		}
	}
	table.scratch = &roomScratch{}
	table.useUp()
	for _, c := range table.live {
		if c.value != ledger.UsedUp || c.order != 0 {
			t.Fatalf("a counter that is used up is %+v", c)
		}
	}
	if table.scratch != nil {
		t.Error("what was found before counters were used up is kept")
	}
}

// TestPast: a key was governed by the default policies from its creation until it had a policy of its own, and by those.
func TestPast(t *testing.T) {
	policy := func(n byte, lsn uint64) boundDefault {
		return boundDefault{ledger.DefaultPolicy{PolicyHash: [32]byte{n}}, lsn}
	}
	s := New(Secret{})
	s.defaults = []boundDefault{policy(1, 1), policy(2, 2), policy(0, 4), policy(3, 5), policy(4, 12)}
	k := &keyState{created: 3, deployments: []ledger.DeploymentView{{PolicyHash: [32]byte{5}, LSN: 10}}}
	for hash, want := range map[byte]past{1: {}, 2: {had: true}, 3: {had: true}, 4: {}, 5: {same: true, had: true}} {
		if got := s.pastOf(k, [32]byte{hash}); got != want {
			t.Errorf("of policy %d: %+v, want %+v", hash, got, want)
		}
	}
	k.deployments = nil
	if got := s.pastOf(k, [32]byte{4}); !got.same {
		t.Error("without a policy of its own, the last default policy does not govern a key")
	}
	s.defaults = s.defaults[:3]
	if got := s.pastOf(k, [32]byte{2}); got.same || !got.had {
		t.Errorf("a default policy governs that was taken away: %+v", got)
	}
	s.defaults = s.defaults[:1]
	if s.replacedDefault([32]byte{1}) || !s.replacedDefault([32]byte{2}) {
		t.Error("the one default policy was replaced, or another was not")
	}
}
