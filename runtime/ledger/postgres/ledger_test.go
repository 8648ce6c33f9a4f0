package pgledger

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"regexp"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// A world is a database and a wire to it that loses statements and answers.
type world struct {
	db    database
	rng   *mathrand.Rand
	early bool
	wire  *wire
}

// breakLease is short, since an append over a wire that is down is looked into for as long.
const breakLease = 5 * time.Millisecond

func (w *world) Open() (ledger.Ledger, error) {
	w.wire = &wire{database: unclosed{w.db}, rng: w.rng, loses: 10, kind: 6, early: w.early}
	f := newLife(hour)
	f.patience = breakLease
	log, err := take(w.wire, instance{id: rand.Text(), name: "a"}, f, nil)
	if err != nil {
		return nil, err
	}
	l, err := commit.Open(log, commit.Options{Random: rand.Reader, MaxGroups: ledgertest.ModelGroups})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (w *world) Crash(l ledger.Ledger, _ int) {
	w.wire.set(true)
	l.Close() // nothing arrives any more
}

func (w *world) Break() { w.wire.set(true) }

func (w *world) Mend(l ledger.Ledger, _ int) { l.Close() } // its wire stays cut

// An unclosed database outlives its logs.
type unclosed struct{ database }

func (unclosed) close() {}

// TestModel loses statements and answers all the time.
func TestModel(t *testing.T) {
	t.Run("twin", func(t *testing.T) {
		fresh := func() database { return newTwin(1) }
		if said, caught := ledgertest.Caught(t, histories(10), regexp.MustCompile(""), worlds(t, fresh, false)); caught {
			t.Errorf("the model finds: %s", said)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		db := connect(t, pgtest.Shared(t).URL())
		empty := func() database { return connectAgain(t, db) }
		if said, caught := ledgertest.Caught(t, histories(4), regexp.MustCompile(""), worlds(t, empty, false)); caught {
			t.Errorf("the model finds: %s", said)
		}
	})
	t.Run("an answer before the append", func(t *testing.T) {
		early := worlds(t, func() database { return newTwin(1) }, true)
		if said, caught := ledgertest.Caught(t, 100, regexp.MustCompile("acknowledged|is not handed out|corrupt"), early); !caught {
			t.Errorf("the model did not notice, or not that: %q", said)
		}
	})
}

// histories returns how many histories a test makes.
func histories(few int) int {
	if *full {
		return 5 * few
	}
	return few
}

func worlds(t *testing.T, fresh func() database, early bool) func() ledgertest.World {
	rng := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
	return func() ledgertest.World {
		return &world{db: fresh(), early: early, rng: mathrand.New(mathrand.NewPCG(rng.Uint64(), 0))} //nolint:gosec // a test's
	}
}
