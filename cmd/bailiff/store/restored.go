package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/system"
)

type restoredCommand struct {
	KeepCounters bool `help:"Let limits go on from where the database has them. Else every hour and day that is open, and every task that it knows, counts as used up."`
	Thawed       bool `help:"Let instances decide at once. Else the service is frozen until bailiff thaw."`
	cli.ProgressFlag
}

// Help says when to run it, and which things it takes back.
func (c *restoredCommand) Help() string {
	return `Run this after the database of SVC_STORE was put back to an older state, by its own backup or by the promotion of a standby that
lacked records, and before any instance starts. It takes back what may have been used since: attestations from before are void,
and so are holds that were pending or not used yet. Limits count as used up until their hour or day is over. Revocations,
suspensions and deployments from after that state are lost, so the service is frozen: revoke and deploy again, then

  bailiff thaw --key operator.key

Each log says so in its record, and begins a stream of its own with that. Start each instance once with serve --no-checkpoint, since the
checkpoints in the folders are of records that are gone.`
}

// Run adds the records of the restoration.
func (c *restoredCommand) Run(std cli.Streams) error {
	s, err := settings()
	if err != nil {
		return err
	}
	calls := system.Real(clock.System())
	store, busy, err := client.CommandStore(s, calls)
	if err != nil {
		return cli.Usage("%v", err)
	}
	defer store.Close()
	told := c.Start(std, "reading the record")
	v := ledger.Restoration{At: calls.Clock().UnixNano(), KeepCounters: c.KeepCounters, Thawed: c.Thawed}
	var logs, records int
	err = store.Continue(func(all []commit.Log) error {
		var continued []*commit.Restoring
		for n, log := range all {
			told.Reached("of slot %d", n)
			one, err := commit.Continue(log, rand.Reader)
			if err != nil {
				return fmt.Errorf("slot %d: %w", n, err)
			}
			continued = append(continued, one)
			logs, records = logs+1, records+int(one.Head().LSN) //nolint:gosec // no log has so many
			v.Taken = max(v.Taken, one.Latest()/int64(time.Second))
		}
		if records == 0 {
			return errors.New("the database has no records: there is nothing to take back")
		}
		for n, one := range continued {
			if _, err := one.Finish(v, rand.Reader); err != nil {
				return fmt.Errorf("slot %d: %w", n, err)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, pgledger.ErrUnsettled):
		return cli.Fail("%v; bailiff events list --limit 1 says whether it has", err)
	case errors.Is(err, pgledger.ErrStopped):
		return busy(err, "stop every instance first")
	case err != nil:
		return cli.Fail("%v", err)
	}
	fmt.Fprintf(std.Out, "%d records in %d logs, the latest of %s: what may have been used after it is taken back\n", records, logs, time.Unix(v.Taken, 0).UTC().Format(time.RFC3339))
	if !c.Thawed {
		fmt.Fprintln(std.Out, "the service is frozen: make revocations, suspensions and deployments from after that time again, then run bailiff thaw")
	}
	_, err = fmt.Fprintln(std.Out, "start each instance once with serve --no-checkpoint")
	return err
}
