package verify

import (
	"sync"
	"time"

	"bailiff/runtime/attest"
)

// maxRemembered bounds how many attestations a Once remembers: a minute of 16,000 a second.
const maxRemembered = 1_000_000

// Once remembers which attestations were used, in the memory of this process. Several processes that carry out actions of
// the same kind need a store that they share. The zero value is ready for use; it is safe for concurrent use.
type Once struct {
	mu   sync.Mutex
	used map[attest.TokenID]int64 // to the Unix second at which each one ends
	next int64                    // when those that have ended are forgotten again
}

// Use uses up a verified attestation. The error is ErrUsed, ErrCrowded where there is no room to remember it, or
// attest.ErrExpired. Use it before the action: an action that fails needs a new attestation.
func (o *Once) Use(claims *attest.Claims, now time.Time) error {
	ends := claims.IssuedAt + attest.LifetimeSeconds
	if now.Unix() >= ends {
		return attest.ErrExpired
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.used == nil {
		o.used = map[attest.TokenID]int64{}
	}
	if _, used := o.used[claims.ID]; used {
		return ErrUsed
	}
	o.forget(now.Unix())
	if len(o.used) >= maxRemembered {
		return ErrCrowded
	}
	o.used[claims.ID] = ends
	return nil
}

// forget forgets what no verification accepts any more. It keeps all for a lifetime longer, for a clock that is set back.
func (o *Once) forget(now int64) {
	if now < o.next {
		return
	}
	o.next = now + attest.LifetimeSeconds
	for id, ends := range o.used {
		if now >= ends+attest.LifetimeSeconds {
			delete(o.used, id)
		}
	}
}
