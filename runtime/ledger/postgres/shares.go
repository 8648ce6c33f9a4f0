package pgledger

import (
	"sync"
	"time"
)

// shares say how many slots an instance owns: no more than its share of them among the instances that are heard, so that each has something
// to do, and that no more slots move than have to when one comes or goes.
type shares struct {
	mu    sync.Mutex
	slots int  // of the store
	live  int  // instances that were heard, this one included; 0 until that is known, and nothing is claimed
	least int  // slots of the one that has the fewest
	rest  int  // looks until one is offered again to others, who may not take it
	long  int  // how long the next rest is
	asked bool // one was asked for that is offered, and none was chosen yet
	owned int
	extra int // how many of those are beyond its share, since no other instance has taken them
	going int // slots that are being handed over

	leave chan struct{} // has a value while a slot is to be handed over, and none was chosen
	ask   chan struct{} // has a value where somebody wants to know how many instances are heard now
}

func newShares(slots int) *shares {
	return &shares{slots: slots, long: restLooks, leave: make(chan struct{}, 1), ask: make(chan struct{}, 1)}
}

// most is how many slots the instance may own.
func (s *shares) most() int {
	if s.live == 0 {
		return 0
	}
	return (s.slots + s.live - 1) / s.live
}

const (
	// restLooks is how many looks at the others there are at least between two slots that are offered to them, beside those above the share.
	restLooks = beatsPerLease
	// mostRest is how many there are at most: a slot that no other instance takes is without an owner for up to orphanLeases.
	mostRest = 256 * restLooks
)

// few reports whether an instance has fewer slots than each can have, and this one more than that, or as many.
func (s *shares) few() bool {
	return s.live > 0 && s.least < s.slots/s.live && s.owned-s.going >= s.slots/s.live
}

// waits reports whether a free slot is for another instance, which has few.
func (s *shares) waits() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.few()
}

// mayTake reports whether take would succeed.
func (s *shares) mayTake() bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owned-s.extra < s.most()
}

// free says that a slot has no owner, so that an instance may have ended.
func (s *shares) free() {
	if s == nil || s.mayTake() && !s.waits() {
		return
	}
	select {
	case s.ask <- struct{}{}:
	default: // it is asked already
	}
}

// take counts a slot, and reports false where that would be more than the share; an orphan is taken all the same. give takes it back.
func (s *shares) take(orphan bool) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	over := s.owned - s.extra - s.most()
	if over > 0 || over == 0 && (!orphan || s.live == 0) { // one that has slots to hand over takes none
		return false
	}
	if s.owned++; over == 0 { // no other instance has taken it, and none would at once
		s.extra++
		s.rest = max(s.rest, s.long)
	}
	return true
}

// give takes back a slot that was counted, which goes has said of that it is being handed over, or not.
func (s *shares) give(going bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owned--
	s.extra = min(s.extra, max(0, s.owned-s.most())) // one that is handed over is not taken back at once
	if going {
		s.going--
	}
	s.judge()
}

// goes says that a slot was chosen to be handed over, which is still counted or not.
func (s *shares) goes(counted bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked = false; counted {
		s.going++
	}
	s.judge()
}

// judge asks for a slot to be handed over where those that are handed over already are too few, or does not any more.
func (s *shares) judge() {
	giving := s.live > 0 && s.rest == 0 && (s.few() && s.owned-s.going > s.slots/s.live || s.extra > 0 && s.owned-s.going > s.most())
	if giving {
		s.rest = s.long
		s.long = min(2*s.rest, mostRest) // where that was in vain
		s.asked = true
	}
	if giving || s.owned-s.extra-s.going > s.most() {
		select {
		case s.leave <- struct{}{}:
		default: // one is asked for
		}
		return
	}
	if s.asked { // for another reason
		return
	}
	select {
	case <-s.leave:
	default:
	}
}

// heard notes which instances were heard at a look, of which one counts when it was time for it.
func (s *shares) heard(c company, looks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = max(0, s.rest-looks)
	if c.least > s.least || c.number != s.live { // the one that has few has taken what it was given, or another one may
		s.rest, s.long = 0, restLooks
	}
	s.live, s.least = c.number, c.least
	s.extra = min(s.extra, max(0, s.owned-s.most()))
	s.judge()
}

// follow asks how many instances are heard, again and again until stop is closed. Where that is not answered, it stays as it was. also is
// called each time that it was time for a look.
func (s *shares) follow(db manifold, name string, lease time.Duration, stop <-chan struct{}, also func()) {
	pause := machine.timers.Alarm(lease / beatsPerLease)
	for looks := 1; ; {
		if c, err := db.live(name, lease); err == nil {
			s.heard(c, looks)
		}
		if looks > 0 {
			also()
		}
		select {
		case <-stop:
			pause.Stop()
			return
		case <-s.ask:
			looks = 0
		case <-pause.C:
			pause = machine.timers.Alarm(lease / beatsPerLease)
			looks = 1
		}
	}
}
