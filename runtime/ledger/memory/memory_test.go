package memory_test

import (
	"crypto/rand"
	"errors"
	"flag"
	"regexp"
	"sync/atomic"
	"testing"

	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

func TestConformance(t *testing.T) {
	suite.Run(t, suite.Suite{
		Open: func(*testing.T) ledger.Ledger { return memory.New() },
	})
}

// A world is a log in memory, which outlives its ledgers. Nothing is lost by a crash.
type world struct{ *log }

// A log is one whose writes can fail.
type log struct {
	*memory.Log
	broken atomic.Bool
}

func (l *log) Append(first uint64, group []byte) error {
	if l.broken.Load() {
		return errors.New("broken")
	}
	return l.Log.Append(first, group)
}

func (w world) Open() (ledger.Ledger, error) {
	l, err := commit.Open(w.log, commit.Options{Random: rand.Reader, MaxGroups: ledgertest.ModelGroups})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (w world) Crash(l ledger.Ledger, _ int) { l.Close() }

func (w world) Break() { w.broken.Store(true) }

func (w world) Mend(l ledger.Ledger, _ int) {
	l.Close()
	w.broken.Store(false)
}

var histories = flag.Int("histories", 200, "how many histories TestModel makes")

// TestModel is the model without a disk. It does not make what it finds smaller, which takes minutes: the mutants of the
// ledger (fuzz/mutants) are sought by it.
func TestModel(t *testing.T) {
	anything := regexp.MustCompile("")
	if said, caught := ledgertest.Caught(t, *histories, anything, func() ledgertest.World { return world{&log{Log: memory.NewLog()}} }); caught {
		t.Errorf("the model finds: %s", said)
	}
}
