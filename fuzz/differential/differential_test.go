package differential_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/kit/seed"
)

var (
	pairs  = flag.Int("pairs", 0, "compare that many pairs with fresh seeds, instead of the usual ones, and say how far it is")
	fixed  = flag.Int("fixed", 100_000, "how many pairs are the same every time")
	record = flag.String("record", "", "write the divergence that is found to testdata/found/<name>.txt")
	survey = flag.Int("survey", 0, "go on after a divergence, and show so many kinds of them, the most frequent first")
	shrink = flag.Bool("shrink", true, "make a divergence small before it is shown")
)

// The usual numbers of fresh pairs. With those of -fixed they fit into half a minute of one core.
const (
	freshPairs = 100_000
	fixedSeed  = 1
)

// TestDifferential compares the machine with the oracle: on the same pairs every time, and on fresh ones.
func TestDifferential(t *testing.T) {
	if n := wanted(t); n > 0 {
		long(t, n)
		return
	}
	t.Run("fixed", func(t *testing.T) {
		hunt(t, &differential.Hunt{Seed: fixedSeed, Pairs: *fixed, Workers: 2})
	})
	t.Run("fresh", func(t *testing.T) {
		hunt(t, &differential.Hunt{Seed: seed.Value(t), Pairs: freshPairs, Workers: 2})
	})
}

// wanted returns the number of pairs that -pairs or BAILIFF_PAIRS asks for, or 0.
func wanted(t *testing.T) int {
	text := os.Getenv("BAILIFF_PAIRS")
	if *pairs > 0 || text == "" {
		return *pairs
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		t.Fatalf("BAILIFF_PAIRS=%q is no positive number", text)
	}
	return n
}

// long is a hunt that takes so long that it says how far it is.
func long(t *testing.T, n int) {
	start := time.Now()
	last := start
	hunt(t, &differential.Hunt{Seed: seed.Value(t), Pairs: n, Workers: 2, Progress: func(s *differential.Stats) {
		if time.Since(last) > 10*time.Second {
			last = time.Now()
			t.Logf("%d of %d pairs, %.0f a second", s.Pairs, n, float64(s.Pairs)/time.Since(start).Seconds())
		}
	}})
}

// TestSurvey shows all kinds of divergences, for whoever mends several at a time.
func TestSurvey(t *testing.T) {
	if *survey == 0 {
		t.Skip("only with -survey")
	}
	kinds, first := map[string]int{}, map[string]*differential.Divergence{}
	h := &differential.Hunt{Seed: fixedSeed, Pairs: max(wanted(t), *fixed), Workers: 2, Survey: func(d *differential.Divergence) {
		if kinds[d.Kind()]++; kinds[d.Kind()] == 1 {
			first[d.Kind()] = d
		}
	}}
	stats, _ := h.Run()
	t.Log(stats)
	order := slices.SortedFunc(maps.Keys(kinds), func(x, y string) int { return kinds[y] - kinds[x] })
	for _, kind := range order[:min(*survey, len(order))] {
		d := first[kind]
		if *shrink {
			d = d.Shrink()
		}
		t.Errorf("%d × %s\n%s", kinds[kind], kind, d)
	}
}

func hunt(t *testing.T, h *differential.Hunt) *differential.Stats {
	t.Helper()
	start := time.Now()
	stats, found := h.Run()
	t.Logf("%s\n%.0f pairs a second", stats, float64(stats.Pairs)/time.Since(start).Seconds())
	if found == nil {
		return stats
	}
	if *shrink {
		found = found.Shrink()
	}
	if *record != "" {
		path := filepath.Join("testdata", "found", *record+".txt")
		if err := os.WriteFile(path, []byte(found.Golden()), 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Fatalf("%s", found)
	return nil
}
