package state

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bailiff/runtime/ledger"
)

// meaning compares two states, but for their scratch memory, and for how many groups a key may have.
func meaning(a, b *State) string {
	return cmp.Diff(a, b, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(State{}, "name", "room", "roomKnown", "groups"), cmpopts.IgnoreFields(counterTable{}, "scratch"))
}

// snapshotted are steps, each of which leads to a state that needs a newer snapshot than the one before, or the same, and which.
var snapshotted = []struct {
	name    string
	version byte
	step    func(c *crowd)
}{
	{"one of everything", 10 + 1, func(*crowd) {}}, // the operator's key was replaced
	{"a suspended key", 11, func(c *crowd) { c.apply(c.halts(ledger.KeySuspended)) }},
	{"three holds of one intent", 11, func(c *crowd) {
		for n := range byte(3) {
			r := c.opens(ledger.ID{0x52 - n})
			r.Hold.IntentHash = [32]byte{0x50}
			c.apply(r)
		}
	}},
	{"an answer that can be repeated", 11, func(c *crowd) {
		c.apply(replays(c))
		again := replays(c)
		again.Replay.Expires++ // the first one is in the order still
		c.apply(again)
	}},
	{"pins and a default policy", 11, func(c *crowd) { c.apply(pinsTool(c)); c.apply(c.whole(ledger.DefaultBound)) }},
	{"approvers", 11, func(c *crowd) {
		c.apply(Record{Kind: ledger.ApproverConfirmed, Now: c.now, Approver: statementOf(1, "alice", "c")})
		c.apply(approvesPending(c))
	}},
	{"a note of who resolved", 11, func(c *crowd) {
		r := c.resolves(ledger.ID{0x50}, ledger.HoldRefused)
		r.Note = "because"
		c.apply(r)
	}},
	{"webhooks with a format and of the operator", 11, func(c *crowd) {
		c.apply(c.hooks(ledger.Webhook{ID: ledger.ID{0x61}, Topics: 1, Format: ledger.EmailFormat}))
		c.apply(c.hooks(ledger.Webhook{ID: ledger.ID{0x62}, Topics: 1, Operator: true}))
		c.apply(c.hooks(ledger.Webhook{ID: ledger.ID{0x63}, Topics: 1, Format: ledger.SlackFormat, Operator: true}))
	}},
	{"a restored log", 11, func(c *crowd) { c.apply(c.whole(ledger.ServiceRestored)) }},
	{"a log of which a part is dropped", 12, func(c *crowd) { c.apply(c.whole(ledger.EventsDropped)) }},
	{"a log that follows another one", 13, func(c *crowd) { c.apply(copyOf(c, ledger.ServiceFrozen, 7)) }},
}

// TestSnapshotOfEach reads a snapshot of each state: it gives the same state, to which the same records do the same. A snapshot that was
// cut off is refused.
func TestSnapshotOfEach(t *testing.T) {
	c := busy(t)
	var other *State
	for _, s := range snapshotted {
		before := c.lsn
		s.step(c)
		data := c.s.AppendSnapshot(nil)
		read, err := ReadSnapshot(data)
		if err != nil || data[0] != s.version {
			t.Fatalf("%s: version %d, %v", s.name, data[0], err)
		}
		if diff := meaning(c.s, read); diff != "" {
			t.Errorf("%s: %s", s.name, diff)
		}
		if other != nil && before == c.lsn {
			t.Errorf("%s: nothing has changed", s.name)
		}
		if other = read; !bytes.Equal(read.AppendSnapshot(nil), data) {
			t.Errorf("%s: the snapshot of the snapshot's state is another", s.name)
		}
		for _, wrong := range [][]byte{data[:len(data)-1], append(bytes.Clone(data), 0), append([]byte{5}, data[1:]...), append([]byte{14}, data[1:]...)} {
			if _, err := ReadSnapshot(wrong); err == nil {
				t.Errorf("%s: a snapshot of %d bytes, of version %d, is read", s.name, len(wrong), wrong[0])
			}
		}
	}
}

// TestSnapshotVersions: a snapshot is of the oldest version that holds what a state has.
func TestSnapshotVersions(t *testing.T) {
	for name, c := range map[string]struct {
		version byte
		step    func(c *crowd)
	}{
		"nothing":               {6, func(*crowd) {}},
		"a noted hold":          {9, func(c *crowd) { c.apply(c.opens(pendingHold)); r := resolvesPending(c); r.Note = "n"; c.apply(r) }},
		"a hold without a note": {6, func(c *crowd) { c.apply(c.opens(pendingHold)); c.apply(resolvesPending(c)) }},
		"a suspended key":       {7, func(c *crowd) { r := suspends(c); r.Epoch = 2; c.apply(r) }},
		"a frozen service":      {7, func(c *crowd) { c.apply(c.halts(ledger.ServiceFrozen)) }},
		"used up counters":      {8, func(c *crowd) { c.apply(c.whole(ledger.ServiceRestored)) }},
		"an approver":           {9, func(c *crowd) { c.apply(c.whole(ledger.ApproverConfirmed)) }},
		"a format": {10, func(c *crowd) {
			c.apply(c.hooks(ledger.Webhook{ID: ledger.ID{1}, Topics: 1, Format: ledger.SlackFormat}))
		}},
		"a rotated key": {11, func(c *crowd) { c.apply(c.whole(ledger.OperatorRotated)) }},
		"a copy":        {13, func(c *crowd) { c.apply(copyOf(c, ledger.ServiceThawed, 1)) }},
		"a drop":        {12, func(c *crowd) { c.apply(c.whole(ledger.EventsDropped)) }},
	} {
		crowd := newCrowd(t, 8)
		c.step(crowd)
		data := crowd.s.AppendSnapshot(nil)
		read, err := ReadSnapshot(data)
		if err != nil || data[0] != c.version {
			t.Errorf("%s: version %d, want %d, %v", name, data[0], c.version, err)
			continue
		}
		if diff := meaning(crowd.s, read); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestSnapshotOfApprovals: of the holds, those are listed beside the approvers that have an approval or a note.
func TestSnapshotOfApprovals(t *testing.T) {
	c := busy(t)
	c.apply(c.whole(ledger.ApproverConfirmed))
	list := func() []byte { return bytes.TrimPrefix(c.s.appendApprovals(nil), c.s.approvers.appendSnapshot(nil)) }
	if got := list(); !bytes.Equal(got, []byte{0}) {
		t.Errorf("holds without an approval and a note: %x", got)
	}
	c.apply(approvesPending(c))
	if got := list(); got[0] != 1 || !bytes.Contains(got, pendingHold[:]) || bytes.Contains(got, allowedHold[:]) {
		t.Errorf("an approved hold: %x", got)
	}
}

// TestSnapshotRefuses: a snapshot that says something of a key, a hold or a webhook that is not there is not read, nor one that says it twice.
func TestSnapshotRefuses(t *testing.T) {
	marked := ledger.ID(bytes.Repeat([]byte{0xee}, 16))
	for name, c := range map[string]struct {
		step  func(c *crowd)
		spoil func(data []byte) []byte
	}{
		"a halt of an unknown key": {func(c *crowd) {
			c.apply(Record{Kind: ledger.KeyCreated, Key: marked, Now: c.now, Created: ledger.Key{ID: marked, Hash: [32]byte{9}, Epoch: 1}})
			c.apply(Record{Kind: ledger.KeySuspended, Key: marked, Now: c.now, Epoch: 2, Halt: &ledger.Halt{Key: marked, Stop: true, At: c.now}})
		}, func(data []byte) []byte { return another(data, marked[:]) }},
		"an approval of an unknown hold": {func(c *crowd) {
			c.apply(c.whole(ledger.ApproverConfirmed))
			c.apply(c.opens(marked))
			c.apply(c.approves(marked))
		}, func(data []byte) []byte { return another(data, marked[:]) }},
		"a format of an unknown webhook": {func(c *crowd) {
			c.apply(c.hooks(ledger.Webhook{ID: marked, Topics: 1, Format: ledger.EmailFormat}))
		}, func(data []byte) []byte { return another(data, marked[:]) }},
		"an unknown format": {func(c *crowd) {
			c.apply(c.hooks(ledger.Webhook{ID: marked, Topics: 1, Format: ledger.EmailFormat}))
		}, func(data []byte) []byte { return append(data[:len(data)-1], byte(ledger.EmailFormat)+1) }},
		"no format": {func(c *crowd) {
			c.apply(c.hooks(ledger.Webhook{ID: marked, Topics: 1, Format: ledger.EmailFormat}))
		}, func(data []byte) []byte { return append(data[:len(data)-1], 0) }},
		"a key twice": {func(c *crowd) {
			c.apply(Record{Kind: ledger.KeyCreated, Key: marked, Now: c.now, Created: ledger.Key{ID: marked, Hash: [32]byte{9}, Epoch: 1}})
		}, func(data []byte) []byte { return bytes.ReplaceAll(data, marked[:], busyKey[:]) }},
	} {
		state := newCrowd(t, 8)
		c.step(state)
		data := state.s.AppendSnapshot(nil)
		if _, err := ReadSnapshot(data); err != nil {
			t.Errorf("without %s: %v", name, err)
		}
		if _, err := ReadSnapshot(c.spoil(data)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

// another puts another id in the place where one occurs last.
func another(data, id []byte) []byte {
	data[bytes.LastIndex(data, id)]++
	return data
}

// TestSnapshotOfNoKey: a snapshot in which a key of an approval or of a webhook's format is not there is refused.
func TestSnapshotOfNoKey(t *testing.T) {
	c := busy(t)
	c.apply(Record{Kind: ledger.ApproverConfirmed, Now: c.now, Approver: statementOf(1, "alice", "c")})
	c.apply(approvesPending(c))
	c.apply(c.hooks(ledger.Webhook{ID: ledger.ID{0x61}, Topics: 1, Format: ledger.EmailFormat}))
	snapshot := c.s.AppendSnapshot(nil)
	refused := map[string]bool{}
	for at := 0; ; at++ {
		next := bytes.Index(snapshot[at:], busyKey[:])
		if next < 0 {
			break
		}
		at += next
		_, err := ReadSnapshot(slices.Concat(snapshot[:at], unknownID[:], snapshot[at+len(unknownID):]))
		for _, part := range []string{"an approval of a hold that is not there", "a format of a webhook that is not there"} {
			refused[part] = refused[part] || err != nil && strings.Contains(err.Error(), part)
		}
	}
	for part, found := range refused {
		if !found {
			t.Errorf("no snapshot is refused because it has %s", part)
		}
	}
	if len(refused) == 0 {
		t.Error("the snapshot does not name the key")
	}
}
