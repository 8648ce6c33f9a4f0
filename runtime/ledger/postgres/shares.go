package pgledger

import (
	"sync"
	"time"
)

// shares say how many slots an instance owns: no more than its share of them among the instances that are heard, so that each has something
// to do, and that no more slots move than have to when one comes or goes.
type shares struct {
	mu    sync.Mutex
	slots int // of the store
	live  int // instances that were heard, this one included; 0 until that is known, and nothing is claimed
	least int // slots of the one that has the fewest
	rest  int // looks until one is handed over again to an instance that has few
	owned int
	going int // slots that are being handed over

	leave chan struct{} // has a value while a slot is to be handed over, and none was chosen
	ask   chan struct{} // has a value where somebody wants to know how many instances are heard now
}

func newShares(slots int) *shares {
	return &shares{slots: slots, leave: make(chan struct{}, 1), ask: make(chan struct{}, 1)}
}

// most is how many slots the instance may own.
func (s *shares) most() int {
	if s.live == 0 {
		return 0
	}
	return (s.slots + s.live - 1) / s.live
}

// restLooks is how many looks at the others there are between two slots that are handed over to one that has few: it may not take them.
const restLooks = 10 * beatsPerLease

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
	return s.owned < s.most()
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

// take counts a slot, and reports false where that would be more than the share. give takes it back.
func (s *shares) take() bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owned >= s.most() {
		return false
	}
	s.owned++
	return true
}

// give takes back a slot that was counted, which goes has said of that it is being handed over, or not.
func (s *shares) give(going bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owned--; going {
		s.going--
	}
	s.judge()
}

// goes says that a slot is being handed over.
func (s *shares) goes() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.going++
	s.judge()
}

// judge asks for a slot to be handed over where those that are handed over already are too few, or does not any more.
func (s *shares) judge() {
	giving := s.rest == 0 && s.few() && s.owned-s.going > s.slots/s.live
	if giving {
		s.rest = restLooks
	}
	if giving || s.owned-s.going > s.most() {
		select {
		case s.leave <- struct{}{}:
		default: // one is asked for
		}
		return
	}
	if s.rest == restLooks { // it was asked for just now
		return
	}
	select {
	case <-s.leave:
	default:
	}
}

// heard notes which instances were heard.
func (s *shares) heard(c company) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live, s.least, s.rest = c.number, c.least, max(0, s.rest-1)
	s.judge()
}

// follow asks how many instances are heard, again and again until stop is closed. Where that is not answered, it stays as it was.
func (s *shares) follow(db manifold, name string, lease time.Duration, stop <-chan struct{}) {
	for {
		if c, err := db.live(name, lease); err == nil {
			s.heard(c)
		}
		pause := machine.timers.Alarm(lease / beatsPerLease)
		select {
		case <-stop:
			pause.Stop()
			return
		case <-s.ask:
			pause.Stop()
		case <-pause.C:
		}
	}
}
