package state_test

import (
	"bytes"
	"crypto/rand"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/ledger/state"
)

// everything compares whatever two states have in them, but for their scratch memory.
var everything = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty(),
	cmp.FilterPath(func(p cmp.Path) bool {
		field, ok := p.Last().(cmp.StructField)
		return ok && slices.Contains([]string{"name", "room", "roomKnown", "scratch"}, field.Name())
	}, cmp.Ignore()),
}

// again returns the state of a state's snapshot.
func again(t *testing.T, s *state.State) *state.State {
	t.Helper()
	snapshot := s.AppendSnapshot(nil)
	read, err := state.ReadSnapshot(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read.AppendSnapshot(nil), snapshot) {
		t.Fatal("the snapshot of a snapshot's state is another one")
	}
	return read
}

// logs returns the logs that the conformance suite leaves behind: all kinds of records, with all that they do.
func logs(t *testing.T) (all []*memory.Log) {
	suite.Run(t, suite.Suite{Open: func(t *testing.T) ledger.Ledger {
		log := memory.NewLog()
		all = append(all, log)
		l, err := commit.Open(log, commit.Options{Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}})
	for i, log := range all {
		if i%4 == 0 {
			all = append(all, restoredFrom(t, log, i%8 == 0))
		}
	}
	return all
}

// restoredFrom returns a copy of a log, restored as from a backup.
func restoredFrom(t *testing.T, from *memory.Log, keeps bool) *memory.Log {
	t.Helper()
	log := memory.NewLog()
	filling, err := commit.Restore(log)
	if err != nil {
		t.Fatal(err)
	}
	var problem error
	if err := from.Read(0, func(_ uint64, group []byte) bool {
		problem = filling.Add(group)
		return problem == nil
	}); err != nil || problem != nil {
		t.Fatal(err, problem)
	}
	if _, err := filling.Finish(ledger.Restoration{At: 4e18, KeepCounters: keeps, Thawed: keeps}, rand.Reader); err != nil {
		t.Fatal(err)
	}
	return log
}

// TestSnapshot takes the snapshot of a state within many histories, reads it, and wants the two states to be the same
// down to their last field, and to be so still after the rest of the history. The canary: every record that changes
// something is missed in a snapshot that was taken before it.
func TestSnapshot(t *testing.T) {
	seen := map[ledger.Kind]int{}
	for _, log := range logs(t) {
		s := state.New(state.Secret{1, 2})
		var other *state.State
		var r state.Record
		err := commit.Records(log, nil, func(lsn uint64, record string) error {
			if err := r.Decode(record); err != nil {
				return err
			}
			look := seen[r.Kind] < 12 || lsn%30000 == 0
			seen[r.Kind]++
			var before *state.State
			if look {
				before = again(t, s)
			}
			for _, s := range []*state.State{s, other} {
				if s == nil {
					continue
				}
				if err := s.Apply(lsn, &r); err != nil {
					return err
				}
			}
			if !look {
				return nil
			}
			if changes := r.Kind != ledger.Simulated && r.Kind != ledger.RequestMalformed; cmp.Equal(before, s, everything) == changes {
				t.Errorf("record %d of kind %d: is a change: %v, and is seen: %v", lsn, r.Kind, changes, !changes)
			}
			if other = again(t, s); !cmp.Equal(s, other, everything) {
				t.Errorf("after record %d of kind %d: %s", lsn, r.Kind, cmp.Diff(s, other, everything))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if other != nil && !cmp.Equal(s, other, everything) {
			t.Errorf("at the end: %s", cmp.Diff(s, other, everything))
		}
	}
	for kind := ledger.Kind(0); kind < 255; kind++ {
		// A log in memory drops nothing, and is of no slots; testdata/histories.txt has a drop.
		if kind.Known() && seen[kind] == 0 && kind != ledger.EventsDropped && kind != ledger.StoreDivided && kind != ledger.StoreJoined {
			t.Errorf("no history has a record of kind %d, %s, only %v", kind, kind, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// FuzzReadSnapshot reads any bytes: they are refused, or lead to a state whose snapshot is read as the same one.
func FuzzReadSnapshot(f *testing.F) {
	s := state.New(state.Secret{3, 4})
	f.Add(s.AppendSnapshot(nil))
	var r state.Record
	key := ledgertest.NewKey(1)
	if err := s.CreateKey(&key, &r); err != nil {
		f.Fatal(err)
	}
	if err := s.Apply(1, &r); err != nil {
		f.Fatal(err)
	}
	f.Add(s.AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, snapshot []byte) {
		s, err := state.ReadSnapshot(snapshot)
		if err != nil {
			return
		}
		once := s.AppendSnapshot(nil)
		if s, err = state.ReadSnapshot(once); err != nil {
			t.Fatal(err)
		}
		if twice := s.AppendSnapshot(nil); !bytes.Equal(once, twice) {
			t.Fatalf("%x, and then %x", once, twice)
		}
	})
}
