package slots

import (
	"crypto/rand"
	"maps"
	"testing"

	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/joining"
	"bailiff/runtime/ledger/memory"
)

// joined makes one log of those of a world.
func (w *world) joined(t *testing.T) *memory.Log {
	t.Helper()
	made := &begun{Log: memory.NewLog()}
	o := joining.Options{Divided: w.divided, At: ledgertest.Start, Random: rand.Reader, Told: func(uint64) {}}
	for _, log := range w.logs {
		o.From = append(o.From, log)
	}
	result, err := joining.Join(made, &o)
	must(t, err)
	if chain, err := commit.VerifyChain(made, w.divided); err != nil || chain.Head != result.Head {
		t.Errorf("%+v, %v", chain, err)
	}
	if _, err := commit.VerifySnapshot(made); err != nil {
		t.Error(err)
	}
	return made.Log
}

// divide makes a world of a log.
func divide(t *testing.T, log *memory.Log, slots int) *world {
	t.Helper()
	w := newWorld(slots)
	d := commit.Division{
		Of: func(hash [32]byte) int { return Of(hash, slots) }, At: ledgertest.Start, Ended: func(int, ledger.Head) {}, Random: rand.Reader, Told: func(uint64) {},
		Enter: func(key *ledger.Key, slot int) { must(t, w.EnterKey(key.ID, key.Hash, slot)) },
		Sign:  func(*ledger.Drop) ([]byte, error) { return []byte("signed"), nil },
	}
	for _, to := range w.logs {
		d.To = append(d.To, to)
	}
	copied, err := commit.Divide(log, &d)
	must(t, err)
	w.divided = copied.LSN
	return w
}

// TestConformanceJoined runs the suite with a ledger over slots first. Each time that it is opened again, the logs of the slots were made one, or
// that one was divided over another number of slots.
func TestConformanceJoined(t *testing.T) {
	const lsns = "records have other LSNs"
	without := maps.Clone(severalDiffer)
	without["Reopen"], without["Replays"] = lsns, lsns
	alone := map[ledger.Ledger]*memory.Log{}
	over := func(t *testing.T, w *world) ledger.Ledger {
		t.Helper()
		i := w.start(t, w.all()...)
		i.serve(t)
		return i
	}
	slots := 5
	suite.Run(t, suite.Suite{
		Without: without,
		Open:    func(t *testing.T) ledger.Ledger { return over(t, newWorld(slots)) },
		Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
			if log, one := alone[l]; one {
				delete(alone, l)
				must(t, l.(*commit.Ledger).Close())
				slots = 3 + slots%4
				return over(t, divide(t, log, slots))
			}
			i := l.(*instance)
			must(t, i.Close())
			log := divide(t, i.world.joined(t), 2+slots%3).joined(t) // also of a log that was divided
			one, err := commit.Open(log, commit.Options{Random: rand.Reader})
			must(t, err)
			alone[one] = log
			return one
		},
	})
}
