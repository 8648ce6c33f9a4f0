package pgledger

import (
	"cmp"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"

	"bailiff/fuzz/kit/seed"
)

// needed leaves out requests without an answer that no order needs: it may have them do nothing. No more can have been done than the limit leaves
// beside those that were answered so; an order that has done one can have done another in its place that was sent before it, so that the first
// ones sent are enough.
func needed(of object, all []porcupine.Operation) []porcupine.Operation {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	if of.kind == policies {
		return neededDeployments(all)
	}
	most := map[int]int{counts: orderLimit, holds: 1, tokens: 1, keys: 1}[of.kind]
	left := map[bool]int{false: most, true: most}
	for _, one := range all {
		if a := one.Input.(act); !a.reads && one.Output.(reply).said == yes {
			left[a.second]--
		}
	}
	return slices.DeleteFunc(all, func(one porcupine.Operation) bool {
		if one.Output.(reply).said != unanswered {
			return false
		}
		a := one.Input.(act)
		left[a.second]--
		return left[a.second] < 0
	})
}

// A sight of an epoch says that a policy had come so far when an answer returned.
type sight struct {
	epoch          int
	call, returned int64
}

// sights returns what the answers say of epochs, and the epoch that it may have come to beside that: a plan that was refused says that the epoch
// was another, which is a later one where it had come so far before.
func sights(all []porcupine.Operation) (seen []sight, loose int) {
	for _, one := range all {
		a, said := one.Input.(act), one.Output.(reply)
		switch {
		case a.second && said.said == yes:
			seen = append(seen, sight{a.value, one.Call, one.Return})
		case !a.second && said.said != unanswered:
			seen = append(seen, sight{said.epoch, one.Call, one.Return})
		}
	}
	for _, one := range all {
		a := one.Input.(act)
		if !a.second || one.Output.(reply).said == yes {
			continue
		}
		if slices.ContainsFunc(seen, func(s sight) bool { return s.epoch >= a.value && s.returned < one.Call }) {
			seen = append(seen, sight{a.value + 1, one.Call, one.Return})
		} else {
			loose = max(loose, a.value+1)
		}
	}
	return seen, loose
}

// neededDeployments is needed for a policy. A deployment whose policy was read was made before that was answered. Of the others so many were made
// as epochs are of none that is known, the first ones sent first, each before the answer that says that the epoch had come so far.
func neededDeployments(all []porcupine.Operation) []porcupine.Operation {
	seen, loose := sights(all)
	read, known, last := map[int]int64{}, map[int]bool{}, loose
	for _, one := range all {
		a, said := one.Input.(act), one.Output.(reply)
		switch {
		case a.second || said.said == unanswered:
			continue
		case a.reads:
			if before, again := read[said.said]; !again || one.Return < before {
				read[said.said] = one.Return
			}
		}
		known[said.epoch] = true
	}
	for _, s := range seen {
		last = max(last, s.epoch)
	}
	epoch := 1
	kept := keep(all, func(one *porcupine.Operation) bool {
		a := one.Input.(act)
		if a.reads || one.Output.(reply).said != unanswered {
			return true
		}
		if by, was := read[a.value]; was {
			one.Return = max(one.Call, by)
			return true
		}
		for epoch++; known[epoch]; epoch++ {
		}
		for _, s := range seen {
			if s.epoch >= epoch {
				one.Return = max(one.Call, min(one.Return, s.returned))
			}
		}
		return epoch <= last
	})
	return all[:kept]
}

// keep moves those operations to the front that are kept, and returns how many there are.
func keep(all []porcupine.Operation, keeps func(*porcupine.Operation) bool) (n int) {
	for i := range all {
		if keeps(&all[i]) {
			all[n] = all[i]
			n++
		}
	}
	return n
}

// TestNeeded: the requests without an answer that are left out change nothing of whether some order explains a history.
func TestNeeded(t *testing.T) {
	random := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 6)) //nolint:gosec // a test's
	explained, out := map[bool]int{}, 0
	for range 5000 {
		of := object{kind: random.IntN(kinds)}
		var all []porcupine.Operation
		for n := range int64(1 + random.IntN(8)) {
			a := draw(random, map[int]int{0: 1 + random.IntN(3)})
			for a.kind != of.kind || a.n != of.n {
				a = draw(random, map[int]int{0: 1 + random.IntN(3)})
			}
			if a.kind == policies && !a.reads {
				a.value = int(n + 1)
			}
			all = append(all, drawn(random, a, n))
		}
		few := needed(of, all)
		was, is := porcupine.CheckOperations(ordered, all), porcupine.CheckOperations(ordered, few)
		if was != is {
			t.Fatalf("%v: explained %t, and %t without some of %v", of, was, is, all)
		}
		explained[was]++
		out += len(all) - len(few)
	}
	if explained[true] < 500 || explained[false] < 500 || out < 500 {
		t.Errorf("histories that are explained, and not: %v; %d requests left out", explained, out)
	}
}

// drawn is an operation with some answer.
func drawn(random *mathrand.Rand, a act, n int64) porcupine.Operation {
	one := porcupine.Operation{ClientId: int(n), Input: a, Call: n, Return: n + random.Int64N(4)}
	said := reply{said: random.IntN(2)}
	switch {
	case a.kind == policies && a.second:
	case a.kind == policies && a.reads:
		said = reply{random.IntN(4), 1 + random.IntN(3)}
	case a.kind == policies:
		said = reply{yes, 2 + random.IntN(2)}
	case a.kind == counts && a.reads:
		said.said = random.IntN(4)
	case a.kind == holds && a.second:
		said.said = random.IntN(3)
	}
	if !a.reads && random.IntN(2) == 0 {
		said, one.Return = reply{said: unanswered}, math.MaxInt64
	}
	one.Output = said
	return one
}

// TestNeededExplained: an order explains the answers of requests that were carried out one after the other, without some of those that have no
// answer.
func TestNeededExplained(t *testing.T) {
	random := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 8)) //nolint:gosec // a test's
	out := 0
	for range 3000 {
		of := object{kind: random.IntN(kinds)}
		all := carriedOut(random, of, 1+random.IntN(20))
		few := needed(of, all)
		if !porcupine.CheckOperations(ordered, few) {
			t.Fatalf("%v: not explained without some of %v: %v", of, all, few)
		}
		out += len(all) - len(few)
	}
	if out < 500 {
		t.Errorf("%d requests left out", out)
	}
}

// carriedOut returns requests that were carried out, each at a moment between its call and its answer, or without one.
func carriedOut(random *mathrand.Rand, of object, requests int) (all []porcupine.Operation) {
	const moments = 1 << 20
	at := map[int]int64{}
	for n := range requests {
		a := draw(random, map[int]int{0: 1 + random.IntN(4)})
		for a.object != of {
			a = draw(random, map[int]int{0: 1 + random.IntN(4)})
		}
		call := random.Int64N(moments)
		if a.kind == policies && !a.reads {
			a.value = n + 1
		}
		at[n] = call + 1 + random.Int64N(moments/4)
		all = append(all, porcupine.Operation{ClientId: n, Input: a, Call: call, Return: at[n] + 1 + random.Int64N(moments/4)})
	}
	order := make([]int, requests)
	for n := range order {
		order[n] = n
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	s := standing{0, 1}
	for _, n := range order {
		all[n].Output = s.carries(all[n].Input.(act), random.IntN(4) > 0)
		if said := all[n].Output.(reply); said.said != unanswered {
			s = s.then(all[n].Input.(act), said)
			continue
		}
		if done, possible := s.after(all[n].Input.(act)); possible && random.IntN(2) == 0 {
			s = done
		}
		all[n].Return = math.MaxInt64
	}
	return all
}

// carries returns what an act says in a state, or that it has no answer.
func (s standing) carries(a act, answers bool) reply {
	done, possible := s.after(a)
	switch {
	case a.reads && a.kind == policies && a.second:
		return reply{said: map[bool]int{true: yes, false: no}[s.epoch == a.value]}
	case a.reads && a.kind == policies:
		return reply{s.value, s.epoch}
	case a.reads:
		return reply{said: s.value}
	case !answers:
		return reply{said: unanswered}
	case possible && a.kind == policies:
		return reply{yes, done.epoch}
	case possible:
		return reply{said: yes}
	case a.kind == holds && a.second && s.value == 0:
		return reply{said: pending}
	}
	return reply{said: no}
}

// then returns the state after an act that has said something.
func (s standing) then(a act, said reply) standing {
	if done, possible := s.after(a); possible && !a.reads && said.said == yes {
		return done
	}
	return s
}
