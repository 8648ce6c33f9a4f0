package pgledger

import (
	"testing"
	"time"
)

// TestShares: an instance takes no more than its share, and is asked for as many slots as are above it, once each, however long they take to
// be handed over.
func TestShares(t *testing.T) {
	s := newShares(9)
	of := func(live int) { s.heard(company{live, 9 / live}, 1) }
	if taken(s) || s.mayTake() {
		t.Error("a slot is taken before it is known how many instances there are")
	}
	of(1)
	for range 9 {
		if !taken(s) {
			t.Fatal("an instance that is alone does not take all slots")
		}
	}
	asked := func() (n int) {
		for {
			select {
			case <-s.leave:
				n++
				s.goes(true)
				of(s.live) // a look, before the slot is handed over
			default:
				return n
			}
		}
	}
	of(2)
	if n := asked(); n != 4 || s.mayTake() {
		t.Errorf("%d slots of 9 are asked for by the second instance", n)
	}
	for range 4 {
		of(2)
		s.give(true)
	}
	if n := asked(); n != 0 || s.owned != 5 {
		t.Errorf("%d more slots are asked for, and %d are left", n, s.owned)
	}
	of(3)
	of(2) // it was gone before a slot was chosen
	if n := asked(); n != 0 || s.going != 0 {
		t.Errorf("%d slots are asked for in vain", n)
	}
	of(3)
	s.give(false) // its log has failed, before another slot was chosen
	if n := asked(); n != 1 || s.going != 1 {
		t.Errorf("%d slots are asked for, and %d go", n, s.going)
	}
	s.give(true)
	of(3)
	if n := asked(); n != 0 || s.owned != 3 || s.going != 0 {
		t.Errorf("%d slots are asked for, of %d", n, s.owned)
	}
	s.give(false)
	if !taken(s) || taken(s) {
		t.Error("a share is not filled up again, or overfilled")
	}
	var none *shares
	if none.give(false); !taken(none) || !none.mayTake() {
		t.Error("without shares a slot is not taken")
	}
}

// TestSharesOfFew: an instance that has more than each can have hands a slot over to one that has fewer, now and then, and leaves free ones
// to it.
func TestSharesOfFew(t *testing.T) {
	s := newShares(17)
	s.heard(company{6, 2}, 1)
	for range 3 {
		taken(s)
	}
	asked := func() bool {
		select {
		case <-s.leave:
			return true
		default:
			return false
		}
	}
	if s.heard(company{8, 2}, 1); asked() || s.waits() {
		t.Error("a slot is asked for although each instance has its share")
	}
	if s.heard(company{8, 0}, 1); !asked() || !s.waits() {
		t.Error("nothing is asked for where an instance has no slot")
	}
	s.goes(true)
	s.give(true)
	for range 2 * restLooks {
		if s.heard(company{8, 0}, 1); asked() {
			t.Fatal("an instance is left with fewer slots than each can have")
		}
	}
	if !s.waits() || !s.mayTake() {
		t.Error("a free slot is not left to the instance that has few")
	}
	taken(s) // no other one has taken it
	if s.heard(company{8, 0}, 1); !asked() {
		t.Error("nothing is asked for after a rest")
	}
	if s.heard(company{8, 0}, 1); asked() {
		t.Error("a slot is asked for again at once")
	}
}

func taken(s *shares) bool { return s.take(false) }

// TestSharesOfOrphans: a slot that no other instance takes is taken beyond the share, and is kept until another one has few.
func TestSharesOfOrphans(t *testing.T) {
	s := newShares(4)
	s.heard(company{2, 2}, 1)
	for _, want := range []bool{true, true, false} {
		if taken(s) != want {
			t.Fatal("the share is not two of four")
		}
	}
	if !s.take(true) || s.extra != 1 {
		t.Fatal("a slot is left without an owner")
	}
	offered := func() bool {
		for range restLooks + 1 {
			if s.heard(company{2, 1}, 1); len(s.leave) > 0 {
				<-s.leave
				return true
			}
		}
		return false
	}
	if !offered() {
		t.Error("a slot beyond the share is not offered to the other instance")
	}
	s.goes(true)
	s.give(true)
	if s.heard(company{2, 2}, 1); len(s.leave) > 0 || s.owned != 2 || s.extra != 0 || s.going != 0 {
		t.Errorf("%d slots are left, %d of them extra", s.owned, s.extra)
	}
	if newShares(4).take(true) {
		t.Error("a slot is taken before it is known how many instances there are")
	}
}

// TestOrphanOfLost: an instance that has its share takes the slot of one that is lost and has released nothing, where no other one does; until
// then the slot is nowhere.
func TestOrphanOfLost(t *testing.T) {
	each(t, func(t *testing.T, fresh func(string) database) { orphanOfLost(t, fresh("")) })
}

func orphanOfLost(t *testing.T, db database) {
	const lease = 300 * time.Millisecond
	lost, me := instance{"1", "lost", "there"}, instance{"2", "b", ""}
	must1(db.beat(0, lost))(t)
	if term := must1(db.claim(0, lost, lease, nil, 0))(t); term != 1 {
		t.Fatal("the slot is not taken")
	}
	f := newLife(lease)
	f.shares = newShares(4)
	f.shares.heard(company{2, 2}, 1)
	for range 2 {
		if !taken(f.shares) {
			t.Fatal("the share is not taken")
		}
	}
	known, nowhere := false, false
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for known, nowhere = false, false; ; time.Sleep(lease / 20) {
			select {
			case <-stop:
				return
			default:
			}
			owner := f.owner.Load()
			known = known || owner != nil && owner.id == "1"
			nowhere = nowhere || known && owner == nil
		}
	}()
	began := time.Now()
	l, err := takeSlot(unclosed{db}, 0, me, f, nil)
	took := time.Since(began)
	close(stop)
	<-done
	must(t, err)
	must(t, l.Close())
	if !known || !nowhere || took < (orphanLeases-1)*lease {
		t.Errorf("the slot of a lost instance is taken after %s; its owner was known: %t, and then not: %t", took, known, nowhere)
	}
	if f.shares.owned != 2 || f.shares.extra != 0 {
		t.Errorf("%d slots are counted after it, %d of them extra", f.shares.owned, f.shares.extra)
	}
}

// TestShareOfFailed: a slot whose log has failed is not counted any more, also before the log is closed, which may wait for the database; whether
// it was chosen to be handed over before or after that.
func TestShareOfFailed(t *testing.T) {
	const lease = 60 * time.Millisecond
	for _, when := range []string{"never", "before", "after"} {
		db := newTwin(1)
		f := newLife(lease)
		f.shares = newShares(2)
		f.shares.heard(company{2, 1}, 1)
		l, err := takeSlot(db, 0, instance{"1", "a", ""}, f, nil)
		if must(t, err); f.shares.mayTake() {
			t.Fatal("more than the share may be taken")
		}
		if when == "before" {
			l.leave()
		}
		other := instance{"2", "b", ""}
		must1(db.beat(0, other))(t)
		for must1(db.claim(0, other, 0, nil, l.term))(t) == 0 { // the owner was heard just now
			time.Sleep(time.Millisecond)
		}
		<-l.failed
		for deadline := time.Now().Add(10 * time.Second); !f.shares.mayTake(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: a slot that was lost is counted", when)
			}
		}
		if when == "after" {
			l.leave()
		}
		must(t, l.Close())
		if f.shares.owned != 0 || f.shares.going != 0 || f.shares.asked {
			t.Errorf("%s: %d slots are counted, %d of them going", when, f.shares.owned, f.shares.going)
		}
	}
}
