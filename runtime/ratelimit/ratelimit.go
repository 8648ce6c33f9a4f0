// Package ratelimit counts requests in sliding windows ("Rate limits" of the decisions, section 3).
//
// A window is exact: of the requests under one name at most Limit are allowed in any span of the length Per, wherever
// the span begins. A bucket per minute would let twice as many through around its border. For that the time of every
// allowed request is kept while it counts, eight bytes each. Requests that are refused count for nothing, so that a
// client that keeps asking is let through again as soon as its window has room.
//
// Memory is bounded, because clients choose their names: a [Memory] holds so many names at once, and answers [ErrFull]
// where another comes. Callers have to treat that as a refusal.
package ratelimit

import (
	"errors"
	"time"
)

// A Window is how much is allowed in which time.
type Window struct {
	Limit int           // requests; 0 lifts the limit
	Per   time.Duration // length of the window
}

// A Result is what came of asking.
type Result struct {
	Allowed bool
	// Remaining is how many more would be allowed at this moment; unlimited where the window has no limit.
	Remaining int
	// Reset is how long it takes until Remaining grows by one: until the oldest request that counts has left the window.
	// Where the request is refused that is when the next is allowed. 0 where the window has no limit.
	Reset time.Duration
}

// unlimited is what remains where there is no limit.
const unlimited = int(^uint(0) >> 1)

// A Store counts requests. Its methods may be called by many goroutines at once.
type Store interface {
	// Take asks for one request under a name, such as "ip:192.0.2.1", at a time. One name belongs to one window; where
	// that changes, what has left the window before stays forgotten. An error says that it is not known whether there
	// was room: nothing was counted, and the request must be refused.
	Take(name string, w Window, now time.Time) (Result, error)
}

// The errors of a store. Every one is a refusal.
var (
	// ErrFull says that the store holds as much as it may.
	ErrFull = errors.New("limit: too many names are counted at once")
	// errInvalid says that a window or a name breaks a bound of this package: a defect of the caller.
	errInvalid = errors.New("limit: invalid")
)
