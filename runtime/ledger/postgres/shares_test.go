package pgledger

import "testing"

// TestShares: an instance takes no more than its share, and is asked for as many slots as are above it, once each, however long they take to
// be handed over.
func TestShares(t *testing.T) {
	s := newShares(9)
	if s.take() || s.mayTake() {
		t.Error("a slot is taken before it is known how many instances there are")
	}
	s.heard(1)
	for range 9 {
		if !s.take() {
			t.Fatal("an instance that is alone does not take all slots")
		}
	}
	asked := func() (n int) {
		for {
			select {
			case <-s.leave:
				n++
				s.goes()
				s.heard(s.live) // a look, before the slot is handed over
			default:
				return n
			}
		}
	}
	s.heard(2)
	if n := asked(); n != 4 || s.mayTake() {
		t.Errorf("%d slots of 9 are asked for by the second instance", n)
	}
	for range 4 {
		s.heard(2)
		s.give(true)
	}
	if n := asked(); n != 0 || s.owned != 5 {
		t.Errorf("%d more slots are asked for, and %d are left", n, s.owned)
	}
	s.heard(3)
	s.heard(2) // it was gone before a slot was chosen
	if n := asked(); n != 0 || s.going != 0 {
		t.Errorf("%d slots are asked for in vain", n)
	}
	s.heard(3)
	s.give(false) // its log has failed, before another slot was chosen
	if n := asked(); n != 1 || s.going != 1 {
		t.Errorf("%d slots are asked for, and %d go", n, s.going)
	}
	s.give(true)
	s.heard(3)
	if n := asked(); n != 0 || s.owned != 3 || s.going != 0 {
		t.Errorf("%d slots are asked for, of %d", n, s.owned)
	}
	s.give(false)
	if !s.take() || s.take() {
		t.Error("a share is not filled up again, or overfilled")
	}
	var none *shares
	if none.give(false); !none.take() || !none.mayTake() {
		t.Error("without shares a slot is not taken")
	}
}
