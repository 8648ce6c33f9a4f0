package pebbleledger

import (
	"crypto/rand"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/ledgertest"
)

func TestConformance(t *testing.T) {
	var fs vfs.FS
	open := func(t *testing.T) ledger.Ledger {
		l, err := Open("ledger", Options{FS: fs, Random: rand.Reader, Errorf: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	ledgertest.Run(t, ledgertest.Suite{
		Open: func(t *testing.T) ledger.Ledger {
			fs = vfs.NewMem()
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
