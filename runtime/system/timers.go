package system

import (
	"context"
	"errors"
	"time"

	"bailiff/runtime/clock"
)

// Timers start timers: f is called in the background once d has passed, unless the timer was stopped before. nil are the timers of
// the machine.
type Timers func(d time.Duration, f func()) Timer

// A Timer can be stopped and started again, as a [time.Timer] can.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// An Alarm is a timer that sends on C when its time has passed.
type Alarm struct {
	Timer
	C <-chan time.Time
}

// AfterFunc calls f once d has passed, in the background.
func (t Timers) AfterFunc(d time.Duration, f func()) Timer {
	if t == nil {
		return time.AfterFunc(d, f)
	}
	return t(d, f)
}

// Alarm returns a channel that gets a value once d has passed.
func (t Timers) Alarm(d time.Duration) Alarm {
	if t == nil {
		timer := time.NewTimer(d)
		return Alarm{timer, timer.C}
	}
	c := make(chan time.Time, 1)
	return Alarm{t(d, func() { c <- time.Time{} }), c}
}

// Timeout is [context.WithTimeout]. The deadline that the context names is by a clock.
func (t Timers) Timeout(ctx context.Context, now clock.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	if t == nil {
		return context.WithTimeout(ctx, d)
	}
	inner, cancel := context.WithCancelCause(ctx)
	timer := t(d, func() { cancel(context.DeadlineExceeded) })
	return deadlined{inner, now().Add(d)}, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

// deadlined is a context that ends at a deadline of timers that are not the machine's.
type deadlined struct {
	context.Context
	at time.Time
}

// Deadline implements context.Context.
func (d deadlined) Deadline() (time.Time, bool) {
	if outer, ok := d.Context.Deadline(); ok && outer.Before(d.at) {
		return outer, true
	}
	return d.at, true
}

// Err implements context.Context.
func (d deadlined) Err() error {
	err := d.Context.Err()
	if err != nil && errors.Is(context.Cause(d.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}
