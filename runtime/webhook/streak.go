package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"syscall"
	"time"

	"bailiff/runtime/ledger"
)

const (
	// A receiver is disabled when it has accepted nothing for disableAfter, and at least disableFailures attempts have failed by its
	// own fault since (specification, webhooks.5).
	disableAfter    = 24 * time.Hour
	disableFailures = 20
	// warnEvery is the shortest time between two warnings about one receiver, which may accept some events and refuse others.
	warnEvery = time.Hour
	// maxStreaks bounds the receivers whose failures are counted: 100,000 take about 15 MB. Beyond, some begin anew.
	maxStreaks = 100_000
)

// A streak is the attempts of one receiver that failed since it last accepted something. It is kept in memory: while the service is
// down nothing is attempted, so a restart begins anew: the log has how often each delivery was attempted, and not by whose fault it failed, nor which were accepted
// meanwhile.
type streak struct {
	since    time.Time // when the first attempt ended that failed by the receiver's fault
	failures int       // by the receiver's fault
	warned   bool      // the log says that deliveries fail
	quiet    time.Time // the next warning comes after it
}

// isDead reports whether another failure of the receiver's would be the last that it may have.
func (s *streak) isDead(now time.Time) bool {
	return s != nil && s.failures+1 >= disableFailures && !now.Before(s.since.Add(disableAfter))
}

// A streaks has the streaks of receivers that failed.
type streaks map[ledger.ID]*streak

// of returns the streak of a receiver, and begins one where there is none.
func (m streaks) of(hook ledger.ID) *streak {
	s := m[hook]
	if s == nil {
		if len(m) >= maxStreaks {
			for other := range m { // any one
				delete(m, other)
				break
			}
		}
		s = new(streak)
		m[hook] = s
	}
	return s
}

// note counts an attempt that has ended at a time. It says in the log when deliveries to a receiver begin to fail, and when they
// succeed again: a line for each attempt would be thousands a minute.
func (m streaks) note(o *outcome, at time.Time, log *slog.Logger) {
	hook := o.item.Webhook.ID
	if o.ok() || o.alive {
		m.accepted(hook, at, log)
	}
	if o.ok() {
		return
	}
	s := m.of(hook)
	if !o.alive && o.theirs() {
		if s.failures++; s.failures == 1 {
			s.since = at
		}
	}
	if !s.warned && !at.Before(s.quiet) {
		s.warned, s.quiet = true, at.Add(warnEvery)
		log.Warn("deliveries of the webhook fail; they are tried again, and it is disabled where it accepts nothing for 24 hours", "event", o.item.LSN, "status", o.status, "error", o.err)
	}
}

// accepted ends a streak. Until the next warning may come it is remembered that there was one.
func (m streaks) accepted(hook ledger.ID, at time.Time, log *slog.Logger) {
	s := m[hook]
	if s == nil {
		return
	}
	if s.warned {
		log.Info("deliveries of the webhook succeed again")
	}
	s.warned, s.failures = false, 0
	if !at.Before(s.quiet) {
		delete(m, hook)
	}
}

// theirs reports whether an attempt failed by the fault of its receiver: it has answered, or refused the connection, or taken it and not answered in
// time, or it has no address. That no connection was made in time, that a name server or the network failed, or that no e-mail can be sent, may be the
// fault of the service, of its machine or of the operator's mail server, which is not the receiver.
func (o *outcome) theirs() bool {
	return o.item.Webhook.Format != ledger.EmailFormat && receiverFault(o.status, o.err)
}

// isLate reports whether an error says that time was up.
func isLate(err error) bool {
	var late net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout()
}

func receiverFault(status int, err error) bool {
	var lookUp *net.DNSError
	var number syscall.Errno
	switch {
	case err == nil:
		return status != 0
	case errors.Is(err, errLate):
		return true
	case errors.Is(err, ErrURL), errors.Is(err, context.Canceled):
		return false
	case errors.As(err, &lookUp):
		return lookUp.IsNotFound
	case isLate(err):
		return false
	case errors.As(err, &number):
		return number == syscall.ECONNREFUSED || number == syscall.ECONNRESET || number == syscall.EPIPE
	}
	return true
}
