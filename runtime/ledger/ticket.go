package ledger

import (
	"context"
	"fmt"
)

// A Ticket is the receipt of a submitted plan. Its outcome is known at once; it becomes true for others when Wait
// returns nil.
type Ticket struct {
	outcome    Outcome
	commitment *Commitment
	err        error
}

// Outcome returns what came of the plan. Nothing may be answered by it before [Ticket.Wait] has returned nil.
func (t Ticket) Outcome() Outcome { return t.outcome }

// Wait returns nil when everything that the outcome rests on is durable. A test-run's record is not waited for.
//
// An error that wraps [ErrUnavailable] or [ErrInvalid] says that nothing was recorded. Any other wraps
// [ErrUnknown], also when ctx ends first: the record may be durable now or later, and the counters stay advanced.
func (t Ticket) Wait(ctx context.Context) error {
	if t.commitment == nil {
		return t.err
	}
	return t.commitment.Wait(ctx)
}

// NewTicket returns the ticket of an outcome that waits for commitment, or at once has the result err where commitment
// is nil. It is for implementations.
func NewTicket(outcome Outcome, commitment *Commitment, err error) Ticket {
	return Ticket{outcome, commitment, err}
}

// A Commitment is the durability of one group of records. It is for implementations: one commitment serves all
// tickets of its group.
type Commitment struct {
	done chan struct{}
	err  error // written before done is closed
}

// NewCommitment returns a commitment that is not settled yet.
func NewCommitment() *Commitment { return &Commitment{done: make(chan struct{})} }

// Settle says how the group's write ended and wakes everybody who waits. It is called exactly once.
func (c *Commitment) Settle(err error) {
	c.err = err
	close(c.done)
}

// Wait returns what Settle was called with, or an error that wraps [ErrUnknown] and ctx's when ctx ends first.
func (c *Commitment) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	default:
	}
	if ctx.Done() == nil { // nothing can end the wait: a plain receive costs half of a select
		<-c.done
		return c.err
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return fmt.Errorf("%w: stopped waiting for its group: %w", ErrUnknown, context.Cause(ctx))
	}
}
