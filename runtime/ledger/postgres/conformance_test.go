package pgledger_test

import (
	"crypto/rand"
	"testing"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pgledger "bailiff/runtime/ledger/postgres"
)

// TestConformance has a synchronous standby confirm everything.
func TestConformance(t *testing.T) {
	primary, _ := pgtest.StartPair(t)
	if err := pgledger.Init(primary.URL()); err != nil {
		t.Fatal(err)
	}
	open := func(t *testing.T) ledger.Ledger {
		var log pgledger.Log
		log, err := pgledger.Open(pgledger.Options{URL: primary.URL(), Name: "a", Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		l, err := commit.Open(log, commit.Options{Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	suite.Run(t, suite.Suite{
		Open: func(t *testing.T) ledger.Ledger {
			pgledger.Empty(t, primary.URL())
			return open(t)
		},
		Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t)
		},
	})
}
