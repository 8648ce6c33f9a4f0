package pgledger

import (
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/state"
)

// TestFill fills an empty database whole or not at all, and no other.
func TestFill(t *testing.T) {
	url := pgtest.Shared(t).URL()
	db := connect(t, url)
	_, err := db.copying.exec("DROP SCHEMA IF EXISTS bailiff CASCADE")
	must(t, err)
	store := newStore(t, url, "a", true)
	_, err = store.Init(Setup{})
	must(t, err)
	rng := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 4)) //nolint:gosec // a test's
	var groups [][]byte
	for first := uint64(1); len(groups) < 2*pageGroups+3; first++ {
		groups = append(groups, sealed(rng, first, 1))
	}
	fill := func(n int, after error) error {
		return store.Fill("k", func(to *Filling) error {
			log := to.Logs()[0]
			for i, g := range groups[:n] {
				if err := log.Append(uint64(i+1), g); err != nil {
					return err
				}
			}
			read := 0
			err := log.Read(1, func(first uint64, g []byte) bool {
				read++
				return first == uint64(read) && string(g) == string(groups[read-1])
			})
			if err == nil && read != n {
				err = errors.New("it reads others than it has kept")
			}
			return errors.Join(err, after)
		})
	}
	count := func() (n int64) {
		n, err = db.asking.number("SELECT count(*) FROM bailiff.groups")
		must(t, err)
		return n
	}
	interrupted := errors.New("interrupted")
	for _, n := range []int{1, len(groups)} {
		if err := fill(n, interrupted); !errors.Is(err, interrupted) || count() != 0 {
			t.Fatalf("interrupted after %d groups: %v, and %d are there", n, err, count())
		}
	}
	must(t, fill(len(groups), nil))
	if err := fill(1, nil); !errors.Is(err, errRecords) {
		t.Errorf("a database that has records is filled: %v", err)
	}
	seen := 0
	must(t, store.Look(0, func(log commit.Log) error {
		return log.Read(1, func(uint64, []byte) bool { seen++; return true })
	}))
	if n := count(); n != int64(len(groups)) || seen != len(groups) {
		t.Errorf("%d groups are there, and %d are seen, of %d", n, seen, len(groups))
	}
	if signer, err := store.Signer(); signer != "k" || err != nil {
		t.Errorf("the signer is %q: %v", signer, err)
	}
}

// TestDrainOnce lets a record continue in one place only.
func TestDrainOnce(t *testing.T) {
	store, _ := inDatabase(t)
	nothing := func([]commit.Log) error { return nil }
	must(t, store.Drain("/elsewhere", nothing))
	if err := store.Drain("/other", nothing); !errors.Is(err, errMoved) || !strings.Contains(err.Error(), "/elsewhere") {
		t.Errorf("a record that continues elsewhere: %v", err)
	}
	must(t, store.Undrain(anywhere))
	must(t, store.Drain("/other", nothing))
}

// lastKinds are the kinds of the last two records of each log.
func lastKinds(t *testing.T, url string) (all [][2]ledger.Kind) {
	t.Helper()
	store := newStore(t, url, "command", true)
	slots, err := store.Count()
	must(t, err)
	for n := range slots + 1 {
		var last [2]ledger.Kind
		must(t, store.Look(n, func(log commit.Log) error {
			if chain, err := commit.VerifyChain(log, 0); err != nil || len(chain.Streams) > 2 {
				t.Errorf("slot %d: %+v, %v", n, chain, err)
			}
			return commit.Records(log, nil, func(_ uint64, record string) error {
				var r state.Record
				err := r.Decode(record)
				last = [2]ledger.Kind{last[1], r.Kind}
				return err
			})
		}))
		all = append(all, last)
	}
	return all
}

// TestContinue adds the record of a restoration to each log that has records, and a freeze to the first one: to all of them or to none, and not
// while an instance works. A slot that has not followed a thaw from before is frozen all the same.
func TestContinue(t *testing.T) {
	url, alone := severalSlots(t, pgtest.Shared(t).URL(), 4), func(string) *sharer { return nil }
	l := share(t, url, "a", alone)
	wait(t, l.Whole)
	for n := range uint64(3) {
		must(t, l.CreateKey(t.Context(), ledgertest.NewKey(1+n)))
	}
	restore := func(after error) error {
		return newStore(t, url, "command", true).Continue(func(now time.Time, to *Filling) error {
			v := ledger.Restoration{At: now.UnixNano()}
			for n, log := range to.Logs() {
				one, err := commit.Continue(log, rand.Reader)
				must(t, err)
				if one.Head().LSN > 0 {
					_, err = one.Finish(v, rand.Reader)
					must(t, err)
				}
				if n == 0 {
					must(t, one.Freeze(&v))
				}
			}
			return after
		})
	}
	if err := restore(nil); !errors.Is(err, ErrStopped) {
		t.Errorf("an instance decides: %v", err)
	}
	must(t, l.Halt(t.Context(), &ledger.Halt{Stop: true, At: 1, Reason: "drill"}))
	l.end(t)
	before, interrupted := lastKinds(t, url), errors.New("interrupted")
	if err := restore(interrupted); !errors.Is(err, interrupted) || !slices.Equal(lastKinds(t, url), before) {
		t.Errorf("interrupted: %v, and the logs end with %v, before with %v", err, lastKinds(t, url), before)
	}
	must(t, restore(nil))
	empty := 0
	for n, last := range lastKinds(t, url) {
		switch {
		case n == 0 && last != [2]ledger.Kind{ledger.ServiceRestored, ledger.ServiceFrozen}, n > 0 && before[n][1] != 0 && last[1] != ledger.ServiceRestored:
			t.Errorf("the log of slot %d ends with %v, and ended with %v", n, last, before[n])
		case before[n][1] == 0:
			empty++
		}
	}
	l = share(t, url, "b", alone)
	wait(t, l.Whole)
	for slot, here := range l.Here() {
		if frozen := here.Frozen(); !strings.HasPrefix(frozen.Reason, "restored from a backup") {
			t.Errorf("slot %d: %+v", slot, frozen)
		}
	}
	if key, ok := l.LookupKey(ledgertest.NewKey(1).Hash); !ok || key.ID != ledgertest.NewKey(1).ID {
		t.Error("a key is gone")
	}
	l.end(t)
	off := shareAs(t, url, "off", alone, &ledger.DefaultPolicy{At: 1}, 3*time.Second) // it gets no slots
	if frozen := off.Frozen(); !strings.HasPrefix(frozen.Reason, "restored from a backup") {
		t.Errorf("an instance without slots: %+v", frozen)
	}
	off.end(t)
}

// TestLookAll: the logs of all slots are as they are at one moment, however much instances add while one after the other is read. A record that was
// exported is not looked at.
func TestLookAll(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 4)
	l := share(t, url, "a", func(string) *sharer { return nil })
	wait(t, l.Whole)
	made := uint64(0)
	more := func() {
		for range 12 { // each slot has some of them
			made++
			must(t, l.CreateKey(t.Context(), ledgertest.NewKey(made)))
		}
		must(t, l.Halt(t.Context(), &ledger.Halt{Stop: made%24 != 0, At: int64(made)})) //nolint:gosec // it is small
	}
	ends := func(store *Store) (all []ledger.Head) {
		for n := range 5 {
			must(t, store.Look(n, func(log commit.Log) error {
				end, err := commit.EndOf(log)
				all = append(all, end)
				return err
			}))
		}
		return all
	}
	more()
	store := newStore(t, url, "command", true)
	before := ends(store)
	must(t, store.LookAll(func(logs []commit.Log) error {
		var all []ledger.Head
		for _, log := range logs {
			end, err := commit.EndOf(log)
			all = append(all, end)
			must(t, err)
			more()
		}
		if !slices.Equal(all, before) {
			t.Errorf("the logs are not as they are at one moment: %+v, and then %+v", before, all)
		}
		return nil
	}))
	for slot, end := range ends(store) {
		if end.LSN <= before[slot].LSN {
			t.Errorf("slot %d has nothing more: the test shows too little", slot)
		}
	}
	l.end(t)
	must(t, store.Drain("/elsewhere", func([]commit.Log) error { return nil }))
	if err := store.LookAll(func([]commit.Log) error { return nil }); !errors.Is(err, errMoved) {
		t.Errorf("a record that was exported: %v", err)
	}
}
