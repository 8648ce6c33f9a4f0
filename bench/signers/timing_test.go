package main

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestWelch holds the statistic to an example that was computed by hand: means 3 and 5, variances 2.5 and 10, five values each.
func TestWelch(t *testing.T) {
	found := compare([]float64{1, 2, 3, 4, 5}, []float64{1, 3, 5, 7, 9})
	all := found[len(found)-1]
	deviation := math.Sqrt(2.5/5 + 10.0/5)
	if all.crop != 100 || math.Abs(all.t+2/deviation) > 1e-9 || all.difference != -2 || math.Abs(all.smallest-suspicious*deviation) > 1e-9 {
		t.Errorf("found %+v", all)
	}
	half := found[0]
	if half.crop != 50 || half.difference != 0 { // 1, 2, 3 and 1, 3, of which the means are both 2
		t.Errorf("found %+v", half)
	}
	if f, _ := largest(found); f.t != all.t {
		t.Errorf("the largest is %+v", f)
	}
	if got := sharpest(found); math.Abs(got-min(half.smallest, found[1].smallest, found[2].smallest, all.smallest)) > 1e-9 {
		t.Errorf("a difference would show from %v", got)
	}
	if _, any := largest(compare(nil, nil)); any {
		t.Error("nothing was compared, and something was found")
	}
}

// simulated is a machine on which signing takes 100 µs, more or less, and a clock that only signing moves.
type simulated struct {
	signer
	now    time.Duration
	random *rand.Rand
}

func (s *simulated) sign([]byte, []byte, []byte, bool) error {
	s.now += 100*time.Microsecond + time.Duration(s.random.NormFloat64()*1000)
	return nil
}

// TestTimingFindsALeak: a signer that works longer by a bit of its key has a large t, and the same one without that has none.
// The clock is simulated, so that the machine's load has no say.
func TestTimingFindsALeak(t *testing.T) {
	machine := &simulated{random: rand.New(rand.NewPCG(1, 2))}
	load := func([]byte) (signer, error) { return machine, nil }
	list := []subject{{"even", load}, {"leaky", leaky(load, func() { machine.now += 2 * time.Microsecond })}}
	q, err := newQuestions(1)
	if err != nil {
		t.Fatal(err)
	}
	measured, err := measureTimes(func() time.Duration { return machine.now }, q, list, 1500)
	if err != nil {
		t.Fatal(err)
	}
	even, _ := largest(compare(measured[0].fixed[1], measured[0].others[1]))
	found, _ := largest(compare(measured[1].fixed[1], measured[1].others[1]))
	if math.Abs(even.t) > suspicious || found.t < suspicious || math.Abs(found.difference-1000) > 250 {
		t.Errorf("even: %+v, leaky: %+v", even, found)
	}
	for i, blind := range []bool{true, false} {
		var text strings.Builder
		reportTimes(&text, list[i:i+1], measured[i:i+1])
		if strings.Contains(text.String(), "shows nothing") != blind {
			t.Errorf("%s as the canary: %s", list[i].name, text.String())
		}
	}
}

// TestSubjects: all of them make circl's signatures, the canary, too, and each question took as many attempts as it says.
func TestSubjects(t *testing.T) {
	q, err := newQuestions(2)
	if err != nil {
		t.Fatal(err)
	}
	fixed := 0
	for range 20 {
		one, err := q.next()
		if err != nil {
			t.Fatal(err)
		}
		if one.fixed {
			fixed++
		}
		var first []byte
		for _, s := range subjects() {
			loaded, err := s.load(one.private)
			if err != nil {
				t.Fatal(err)
			}
			signature := signed(t, loaded, one.message, timingContext)
			if first == nil {
				first = signature
			}
			if string(signature) != string(first) {
				t.Errorf("%s makes another signature", s.name)
			}
		}
		if n, err := attempts(one.private, one.message, timingContext, first); err != nil || n != one.attempts || n > maxCompared {
			t.Errorf("%d attempts, %v; it says %d", n, err, one.attempts)
		}
	}
	if fixed == 0 || fixed == 20 {
		t.Errorf("%d of 20 questions have the fixed key", fixed)
	}
}
