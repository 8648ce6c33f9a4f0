package decision

import (
	"context"
	"fmt"
	"time"

	"bailiff/runtime/clock"
)

// ClockView is a clock that was accepted.
type ClockView struct {
	Time  time.Time `json:"time"`            // what it is from then on
	Doubt string    `json:"doubt,omitempty"` // the fault of the clock; empty without one
	Ahead string    `json:"ahead,omitempty"` // how far the service is ahead of the machine's clock, which only a restart mends
}

// AcceptClock takes the machine's clock as right: decisions go on by it, and what the ledger has seen of a later time is taken
// back (decisions, section 7).
func (a *Admin) AcceptClock(ctx context.Context) (ClockView, error) {
	now := a.Clock()
	var view ClockView
	if a.Guard != nil {
		if doubt := a.Guard.Doubt(); doubt != nil {
			view.Doubt = doubt.String()
		}
		now = a.Guard.Wall()
	}
	if err := a.Ledger.SetClock(ctx, now.UnixNano()); err != nil {
		return ClockView{}, fmt.Errorf("the clock could not be set in the ledger: %w", err)
	}
	if a.Guard != nil {
		now = a.Guard.Accept()
		if ahead := a.Guard.AheadOfWall(); ahead > clock.MaxBehind {
			view.Ahead = ahead.Round(time.Second).String()
		}
	}
	view.Time = now.UTC()
	return view, nil
}
