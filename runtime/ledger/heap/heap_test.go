package heap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type number int

func (n number) Before(other number) bool { return n < other }

// TestHeap compares a heap with a list that is sorted again each time.
func TestHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h Heap[number]
	var list []number
	for i := range 20_000 {
		switch {
		case len(list) == 0 || rng.IntN(5) < 3:
			n := number(rng.IntN(50))
			h.Push(n)
			list = append(list, n)
			slices.Sort(list)
		case i%1000 == 0:
			h.Keep(func(n number) bool { return n%3 != 0 })
			list = slices.DeleteFunc(list, func(n number) bool { return n%3 == 0 })
		default:
			first := h.Min()
			if got := h.Pop(); got != list[0] || got != first {
				t.Fatalf("step %d: %d after Min %d, want %d", i, got, first, list[0])
			}
			list = list[1:]
		}
		if h.Len() != len(list) {
			t.Fatalf("step %d: %d items, want %d", i, h.Len(), len(list))
		}
	}
}
