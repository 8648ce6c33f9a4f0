package serve

import (
	"context"
	"fmt"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/runtime/clock"
)

const (
	// farAhead is how far after the latest record a start is warned of.
	farAhead = 30 * 24 * time.Hour
	// clockEvery is how often the clock is looked at, and doubtLogEvery how often the log says that it is in doubt.
	clockEvery    = time.Second
	doubtLogEvery = time.Minute
)

// TimeSources are where the service takes the time from; tests put others in their place.
var TimeSources = clock.SystemSources

type clockCommand struct {
	Accept clockAcceptCommand `cmd:"" help:"Confirm that the machine's clock is right, where the service doubts it."`
}

// Help says what the subcommand works on.
func (c *clockCommand) Help() string {
	return "A service stops deciding (SVC_CLOCK_UNCONFIRMED) when the clock jumps ahead by more than five minutes and the system does not report it as synchronised, and when it starts more than five minutes before its latest record. Set the clock right; where it is right, accept it. Works on the service that runs on SVC_DATA_DIR or, where none does, on the data there."
}

type clockAcceptCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run accepts the clock, and prints what time it is.
func (c *clockAcceptCommand) Run(std cli.Streams) error {
	return client.WithAdmin(std, client.Changes, func(ctx context.Context, a client.Admin) error {
		view, err := a.AcceptClock(ctx)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, view, err)
		}
		fmt.Fprintf(std.Out, "it is %s\n", view.Time.Format(time.RFC3339))
		if view.Doubt != "" {
			fmt.Fprintf(std.Out, "accepted: %s\n", view.Doubt)
		}
		if view.Ahead != "" {
			fmt.Fprintf(std.Out, "the service is %s ahead of the machine's clock, because its time does not go back while it runs; restart it, and accept the clock again\n", view.Ahead)
		}
		return nil
	})
}

// A clockWatch is what the log has said of the clock.
type clockWatch struct {
	doubted bool
	settled bool          // the ledger has seen no later time
	said    time.Duration // how long ago
}

// beginClock holds the clock against the latest record, at start (decisions, section 7).
func (r *service) beginClock(ctx context.Context) error {
	latest, err := r.ledger.Latest(ctx)
	if err != nil {
		return err
	}
	if latest != 0 {
		last := time.Unix(0, latest)
		r.guard.Begin(last)
		if ahead := r.clock().Sub(last); ahead > farAhead {
			r.log.Warn("the clock is far ahead of the latest record; see that it is right", "clock", r.clock().UTC(), "latest", last.UTC())
		}
	}
	return r.watchClock(ctx)
}

// watchClock looks at the clock: it says in the log that it is in doubt, or is not any more, and takes back what the ledger has
// seen of a later time.
func (r *service) watchClock(ctx context.Context) error {
	now := r.clock()
	watch := &r.watch
	doubt, said := r.guard.Doubt(), r.guard.Raised() // short ones are told as well
	if said == nil && watch.said >= doubtLogEvery {
		said = doubt
	}
	if said != nil {
		r.log.Error("decisions have stopped: "+said.String()+"; set the clock or, where it is right, confirm it with: bailiff clock accept",
			"code", "SVC_CLOCK_UNCONFIRMED")
		watch.said = 0
	}
	if doubt == nil && (watch.doubted || said != nil) {
		r.log.Info("the clock is confirmed; decisions go on", "clock", now.UTC())
	}
	watch.said += clockEvery
	watch.doubted = doubt != nil
	if doubt != nil {
		watch.settled = false
		return nil
	}
	if !watch.settled && r.many == nil { // over several slots the clock is held against the database's
		watch.settled = r.settleClock(ctx, now)
	}
	return nil
}

// settleClock takes back what the ledger has seen of a later time than now. It reports whether there is nothing more to do: from then
// on the clock does not go back.
func (r *service) settleClock(ctx context.Context, now time.Time) bool {
	latest, err := r.ledger.Latest(ctx)
	if err != nil {
		return false
	}
	if latest <= now.UnixNano() {
		return true
	}
	if err := r.ledger.SetClock(ctx, now.UnixNano()); err != nil {
		r.log.Error("the ledger is ahead of the clock, and that can't be recorded; it is tried again", "error", err)
		return false
	}
	r.log.Warn("the ledger was ahead of the clock, and is set back to it", "clock", now.UTC(), "latest", time.Unix(0, latest).UTC())
	return true
}
