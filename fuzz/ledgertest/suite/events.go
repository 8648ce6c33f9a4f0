package suite

import (
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

// testEventsOfKeys writes records of several keys, in groups of one record and of many, and compares the events of each key
// with those of all while they are written: an index may be behind, or just catch up.
func testEventsOfKeys(f *fixture) {
	keys := []ledger.Key{f.key, f.newKey(2), f.newKey(3), f.newKey(4)} // the last one does nothing
	for round := range 12 {
		for i := range 1 + round%3*20 {
			p := f.plan()
			p.Key = keys[(i*i+round)%3].ID
			if round%4 == 3 {
				p.Key = keys[0].ID // a stretch without the others
			}
			p.TestRun = i%2 == 0 // nobody waits for these: they come in groups
			if f.l.Submit(p); i%7 == 0 {
				f.submit(f.denied())
			}
		}
		if err := f.l.Flush(f.Context()); err != nil {
			f.Fatal(err)
		}
		for _, key := range keys {
			if err := ledgertest.CompareEvents(f.l, key.ID); err != nil {
				f.Fatalf("round %d: %v", round, err)
			}
		}
	}
}

// testReopenEventsOfKeys compares the events of keys after a start, and what comes after it.
func testReopenEventsOfKeys(f *fixture) {
	testEventsOfKeys(f)
	for range 3 {
		f.l = f.suite.Reopen(f.T, f.l)
		for range 5 {
			for n := range uint64(4) {
				if err := ledgertest.CompareEvents(f.l, ledgertest.ID('k', n+1)); err != nil {
					f.Fatal(err)
				}
			}
			f.submit(f.denied())
		}
	}
}
