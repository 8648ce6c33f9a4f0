package load

import (
	"errors"
	"math"
	"time"
)

// An open loop says when requests are made, whatever their answers: a server that falls behind is not given time to
// recover, as it is by clients that wait for their answers. A request that no connection is free for waits for one, and
// its time runs.

// errOpenLoop says that this system has no way to keep a pace of some ten microseconds.
var errOpenLoop = errors.New("the open loop needs Linux 5.11 or later")

// A Pace is which requests are due when.
type Pace struct {
	Requests int
	Interval time.Duration
	Shot     func(n int) *Shot  // the n-th request; nil: that of the client
	Answered func(requests int) // is told now and then how many have their answer; may be nil

	start time.Time
	sent  int
}

// NewPace returns the pace of a rate for a length: at least one request.
func NewPace(rate float64, length time.Duration) *Pace {
	return &Pace{Requests: max(1, int(rate*length.Seconds())), Interval: time.Duration(float64(time.Second) / rate)}
}

// Drive makes requests as they are due until all are answered, and records how long each took from then. It ends at the
// first answer that is not the expected one, and when the patience is over.
func (p *Pace) Drive(clients []*Client, patience time.Duration) error {
	return p.drive(clients, patience)
}

// due returns when request n is.
func (p *Pace) due(n int) time.Time { return p.start.Add(time.Duration(n) * p.Interval) }

// waiting returns for how long nothing is due: zero or less where a request is, for ever where none is left.
func (p *Pace) waiting() time.Duration {
	if p.sent == p.Requests {
		return math.MaxInt64
	}
	return time.Until(p.due(p.sent))
}
