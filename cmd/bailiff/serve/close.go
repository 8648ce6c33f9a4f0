package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// closeWithin ends in the order in which the parts need each other: clients are answered and the work in the background
// ends, then the last checkpoint is signed and the operator's ways in are closed, and last the ledger is, which makes
// durable what was submitted. All of it ends within the budget: a request that does not end takes four fifths of it at
// most, so that the record is closed in order all the same, and whatever has not ended then ends with the process.
func (r *service) closeWithin(budget time.Duration) error {
	if r.ready != nil {
		r.ready.ending.Store(true)
		r.notify(daemon.SdNotifyStopping)
	}
	var stages [3]context.Context // that end at 80, 90 and 100 %
	for i := range stages {
		ctx, cancel := context.WithTimeout(context.Background(), budget*time.Duration(8+i)/10)
		defer cancel()
		stages[i] = ctx
	}
	faults := together(stages[0],
		part{"what clients asked for", func(ctx context.Context) error {
			r.endWaiting()
			return r.drain(ctx)
		}},
		part{"the work in the background", r.work.stop})
	worked := faults[1]
	faults = append(faults, together(stages[1],
		part{"the last checkpoint", func(ctx context.Context) error { return r.lastCheckpoint(ctx, worked) }},
		part{"what the operator asked for", func(ctx context.Context) error { return shutDown(ctx, r.operator) }})...)
	faults = append(faults, together(stages[2],
		part{"the ledger", func(ctx context.Context) error {
			defer r.closeStore()
			return errors.Join(r.closeLedger(), shutDown(ctx, r.passing))
		}})...)
	return errors.Join(faults...)
}

// closeLedger closes the ledger. Several slots are handed over.
func (r *service) closeLedger() error {
	if r.many != nil {
		r.endStore()
	}
	return r.ledger.Close()
}

// lastCheckpoint writes the checkpoint unless the service has never worked, or its work goes on and may be writing it.
func (r *service) lastCheckpoint(ctx context.Context, worked error) error {
	if !r.work.started || errors.Is(worked, errNotEnded) {
		return nil
	}
	return r.keepCheckpoint(ctx)
}

// errNotEnded says that something did not end in its part of the budget.
var errNotEnded = errors.New("did not end in time")

// part is a part of the service that is to end.
type part struct {
	name string
	end  func(context.Context) error
}

// together ends parts at the same time, and returns what was wrong with each. It waits for none of them longer than ctx
// lasts.
func together(ctx context.Context, parts ...part) []error {
	faults, ended := make([]error, len(parts)), make([]chan error, len(parts))
	for i, one := range parts {
		ended[i] = make(chan error, 1)
		go func() { ended[i] <- one.end(ctx) }()
	}
	for i, one := range parts {
		fault, inTime := wait(ctx, ended[i])
		if !inTime || errors.Is(fault, context.DeadlineExceeded) && ctx.Err() != nil {
			fault = fmt.Errorf("%s %w", one.name, errNotEnded)
		}
		faults[i] = fault
	}
	return faults
}

// wait returns what came before ctx ended; what has come by then counts, however late anybody looks.
func wait(ctx context.Context, ended <-chan error) (fault error, inTime bool) {
	select {
	case fault = <-ended:
		return fault, true
	case <-ctx.Done():
	}
	select {
	case fault = <-ended:
		return fault, true
	default:
		return nil, false
	}
}

// drainPatience is how long an instance that ends keeps its slots for requests that are under way. Those that come meanwhile, by other
// instances, wait.
const drainPatience = 2 * time.Second

// drain ends what clients ask for. The slots are handed over with the ledger or, where requests take longer than drainPatience, earlier:
// requests continue at the instances that have them next.
func (r *service) drain(ctx context.Context) error {
	if r.many != nil {
		time.AfterFunc(drainPatience, r.endStore)
	}
	return shutDown(ctx, r.clients)
}
