package simulate

import (
	"testing"
	"time"

	"bailiff/vm/errcode"
)

// TestAnswersCanary records the answers of worlds, puts a wrong one in the place of a right one, and holds that no order
// explains them any more.
func TestAnswersCanary(t *testing.T) {
	m, err := material()
	if err != nil {
		t.Fatal(err)
	}
	defer one()()
	planted, found := map[string]int{}, map[string]int{}
	for seed := range uint64(24) {
		w := newWorld(seed, true, map[string]int{})
		s := newAuthorityScene(m, w.kernel)
		w.scene = s
		if err := w.run(200); err != nil {
			t.Fatalf("seed %d, without a wrong answer: %v", seed, err)
		}
		for _, q := range s.answers.all {
			said := q.said
			for _, wrong := range wrongs {
				if wrong.kind != q.kind || wrong.right != said {
					continue
				}
				planted[wrong.name]++
				if q.said = wrong.said; s.answers.check(w, searchTime) != nil {
					found[wrong.name]++
				}
			}
			q.said = said
		}
	}
	for _, wrong := range wrongs {
		if found[wrong.name] == 0 || found[wrong.name] < planted[wrong.name]/3 { // others that were under way, or have no answer, may explain it
			t.Errorf("%s: found in %d of the %d recorded answers it was planted in", wrong.name, found[wrong.name], planted[wrong.name])
		}
	}
	t.Logf("planted: %v, found: %v", planted, found)
}

// TestUnfoundCanary seeks orders for no time, and holds that a run whose answers were hardly held against any fails.
func TestUnfoundCanary(t *testing.T) {
	m, err := material()
	if err != nil {
		t.Fatal(err)
	}
	defer one()()
	reached := map[string]int{}
	for seed := range uint64(8) {
		w := newWorld(seed, true, map[string]int{})
		s := newAuthorityScene(m, w.kernel)
		w.scene = s
		if err := w.run(200); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := tooManyUnfound(w.reached); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		w.reached = reached
		if err := s.answers.check(w, time.Nanosecond); err != nil {
			t.Errorf("seed %d, in no time: %v", seed, err)
		}
	}
	if err := tooManyUnfound(reached); err == nil {
		t.Errorf("it is not found that orders were not sought: %v", reached)
	}
	for _, row := range []struct{ found, unfound int }{{0, 3}, {1999, 4}, {107_000, 110}} {
		for unfound, want := range map[int]bool{row.unfound: true, row.unfound - 1: false} {
			if got := tooManyUnfound(map[string]int{ordersFound: row.found, ordersUnfound: unfound}) != nil; got != want {
				t.Errorf("%d beside %d found: %t", unfound, row.found, got)
			}
		}
	}
}

// wrongs are wrong answers, and the right ones in whose place they are put.
var wrongs = []struct {
	name        string
	kind        int
	right, said string
}{
	{"a used-up limit allows", authorize, "DENIED", "ALLOWED"},
	{"a limit that is not used up denies", authorize, "ALLOWED", "DENIED"},
	{"what a person has to approve is allowed", authorizeHeld, "PENDING", "ALLOWED"},
	{"a hold is resolved twice", resolve, string(errcode.HoldResolved), ""},
	{"a revoked key decides", authorize, string(errcode.APIKeyInvalid), "ALLOWED"},
	{"a suspended key decides", authorize, string(errcode.KeySuspended), "ALLOWED"},
	{"a frozen service decides", authorize, string(errcode.Frozen), "ALLOWED"},
}
