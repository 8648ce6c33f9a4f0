package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/otlp"
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
suspensions and deployments from after that state are lost, so the service is frozen.

Each log says so in its record, and begins a stream of its own with that. Start each instance once with serve --no-checkpoint, since the
checkpoints in the folders are of records that are gone. Then revoke and suspend again, run

  bailiff thaw --key operator.key

and deploy again, which a frozen service refuses, before agents reach it.`
}

// Run adds the records of the restoration.
func (c *restoredCommand) Run(std cli.Streams) error {
	return alone(func(_ *cmdsettings.Settings, store *pgledger.Store, busy func(error, string) error) error {
		return c.run(std, store, busy)
	})
}

func (c *restoredCommand) run(std cli.Streams, store *pgledger.Store, busy func(error, string) error) error {
	told := c.Start(std, "reading the record")
	v := ledger.Restoration{KeepCounters: c.KeepCounters, Thawed: c.Thawed}
	logs := 0
	err := store.Continue(func(now time.Time, to *pgledger.Filling) error {
		var all []*commit.Restoring
		for n, log := range to.Logs() {
			told.Reached("of slot %d", n)
			one, err := commit.Continue(log, rand.Reader)
			if err != nil {
				return fmt.Errorf("slot %d: %w", n, err)
			}
			all = append(all, one)
			v.Taken = max(v.Taken, one.Latest()/int64(time.Second))
		}
		if v.Taken == 0 {
			return errors.New("the database has no records: there is nothing to take back")
		}
		logs, v.At = len(all), now.UnixNano()
		v.Taken = min(v.Taken, now.Unix()) // a clock may have been ahead
		for n, one := range all {
			if err := takeBack(store, to, n, one, v); err != nil {
				return fmt.Errorf("slot %d: %w", n, err)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, pgledger.ErrUnsettled):
		return cli.Fail("%v; bailiff events verify --no-checkpoint says how many records there are, and this has added one to each log, if it has", err)
	case errors.Is(err, pgledger.ErrStopped):
		return busy(err, "stop every instance first")
	case err != nil:
		return cli.Fail("%v", err)
	}
	fmt.Fprintf(std.Out, "logs: %d, with the latest record of %s; what may have been used after it is taken back\n", logs, time.Unix(v.Taken, 0).UTC().Format(time.RFC3339))
	_, err = fmt.Fprintln(std.Out, "start each instance once with serve --no-checkpoint")
	if !c.Thawed && err == nil {
		_, err = fmt.Fprintln(std.Out, "the service is frozen: make revocations and suspensions from after that time again, then run bailiff thaw, and deploy again before agents reach it")
	}
	return err
}

// takeBack adds the record of a restoration to the log of a slot. An empty one gets it, too, so that all logs have it. The first of several logs gets the freeze
// as well, since the others, and instances that have none of them, follow it.
func takeBack(store *pgledger.Store, to *pgledger.Filling, slot int, log *commit.Restoring, v ledger.Restoration) error {
	before := log.Head()
	after, err := log.Finish(v, rand.Reader)
	if err != nil {
		return err
	}
	if err := sentBefore(store, to, to.SentByOTLP(slot), before, after); err != nil {
		return err
	}
	if slot > 0 || len(to.Logs()) == 1 || v.Thawed {
		return nil
	}
	return log.Freeze(&v)
}

// sentBefore has a collector get what follows the place up to which it had the events of a log, also in the stream that the log has now.
func sentBefore(store *pgledger.Store, to *pgledger.Filling, name string, before, after ledger.Head) error {
	place, err := store.Place(name)
	if err != nil || place == "" {
		return err
	}
	stream, lsn, err := otlp.ReadPlace(place)
	if err != nil || stream != hex.EncodeToString(before.Stream[:]) {
		return nil //nolint:nilerr // it is of another record, as the service will say
	}
	return to.KeepPlace(name, otlp.PlaceAt(ledger.Head{Stream: after.Stream, LSN: min(lsn, before.LSN)}))
}
