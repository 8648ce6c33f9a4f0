package memory_test

import (
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/ledgertest"
	"bailiff/runtime/ledger/memory"
)

func TestConformance(t *testing.T) {
	ledgertest.Run(t, ledgertest.Suite{
		Open: func(*testing.T) ledger.Ledger { return memory.New() },
	})
}
