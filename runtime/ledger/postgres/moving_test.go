package pgledger

import (
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
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
	nothing := func(commit.Log) error { return nil }
	must(t, store.Drain("/elsewhere", nothing))
	if err := store.Drain("/other", nothing); !errors.Is(err, errMoved) || !strings.Contains(err.Error(), "/elsewhere") {
		t.Errorf("a record that continues elsewhere: %v", err)
	}
	must(t, store.Undrain())
	must(t, store.Drain("/other", nothing))
}

// TestContinue adds the record of a restoration to the log of each slot, an empty one included: to all of them or to none, and not while an
// instance decides.
func TestContinue(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 3)
	l := share(t, url, "a", func(string) *sharer { return nil })
	wait(t, l.Whole)
	for n := range uint64(6) {
		must(t, l.CreateKey(t.Context(), ledgertest.NewKey(1+n)))
	}
	restore := func(after error) error {
		return newStore(t, url, "command", true).Continue(func(logs []commit.Log) error {
			for _, log := range logs {
				one, err := commit.Continue(log, rand.Reader)
				must(t, err)
				_, err = one.Finish(ledger.Restoration{At: max(one.Latest(), 1), Taken: 0}, rand.Reader)
				must(t, err)
			}
			return after
		})
	}
	if err := restore(nil); !errors.Is(err, ErrStopped) {
		t.Errorf("an instance decides: %v", err)
	}
	l.end(t)
	ends := func() (all []uint64) {
		status, err := newStore(t, url, "command", true).Status()
		must(t, err)
		for _, slot := range status.Slots {
			all = append(all, slot.Last)
		}
		return all
	}
	before, interrupted := ends(), errors.New("interrupted")
	if err := restore(interrupted); !errors.Is(err, interrupted) || !slices.Equal(ends(), before) {
		t.Errorf("interrupted: %v, and the logs end at %v, before at %v", err, ends(), before)
	}
	must(t, restore(nil))
	for n, end := range ends() {
		if end != before[n]+1 {
			t.Errorf("the log of slot %d ends at %d, before at %d", n, end, before[n])
		}
		must(t, newStore(t, url, "command", true).Look(n, func(log commit.Log) error {
			chain, err := commit.VerifyChain(log, 0)
			if len(chain.Streams) != 2 && before[n] > 0 {
				t.Errorf("the log of slot %d has %d streams", n, len(chain.Streams))
			}
			return err
		}))
	}
	l = share(t, url, "b", func(string) *sharer { return nil })
	wait(t, l.Whole)
	for slot, here := range l.Here() {
		if frozen := here.Frozen(); !frozen.Stopped() {
			t.Errorf("slot %d is not frozen: %+v", slot, frozen)
		}
	}
	if key, ok := l.LookupKey(ledgertest.NewKey(1).Hash); !ok || key.ID != ledgertest.NewKey(1).ID {
		t.Error("a key is gone")
	}
	l.end(t)
}
