package pgledger

import (
	"flag"
	"testing"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// full runs the long tests, with a synchronous standby that confirms everything.
var full = flag.Bool("full", false, "run the conformance suite with a synchronous standby, five times the histories, and ten times the takeovers")

// TestConformance makes snapshots and an index all the time.
func TestConformance(t *testing.T) {
	var server *pgtest.Server
	if *full {
		server, _ = pgtest.StartPair(t)
	} else {
		server = pgtest.Shared(t)
		connect(t, server.URL())
	}
	store := newStore(t, server.URL(), "a", !*full)
	_, err := store.Init(Setup{})
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
			store.life.forgets()
			return open(t)
		},
		Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
			must(t, l.Close())
			return open(t)
		},
	})
}
