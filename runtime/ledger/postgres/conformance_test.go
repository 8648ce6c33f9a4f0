package pgledger

import (
	"testing"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// TestConformance has a synchronous standby confirm everything, and makes snapshots and an index all the time.
func TestConformance(t *testing.T) {
	primary, _ := pgtest.StartPair(t)
	store := newStore(t, primary.URL(), "a", false)
	_, err := store.Init("")
	must(t, err)
	open := func(t *testing.T) ledger.Ledger {
		t.Helper()
		log, err := store.open()
		must(t, err)
		l, err := commit.Open(log, commit.Options{Random: store.options.Calls.Random, SnapshotEvery: 40, IndexEvery: 10})
		must(t, err)
		return l
	}
	suite.Run(t, suite.Suite{
		Open: func(t *testing.T) ledger.Ledger {
			connectAgain(t, store.db)
			store.life.kept = group{} // it is another log
			return open(t)
		},
		Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
			must(t, l.Close())
			return open(t)
		},
	})
}
