package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/cmd/bailiff/serve"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/joining"
	pebbleledger "bailiff/runtime/ledger/pebble"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/otlp"
)

type exportCommand struct {
	To string `help:"The data folder to make." xor:"to" placeholder:"DIR" type:"path"`
	ReadingFlags
	Undo bool `help:"Let instances decide over the database again, where the folder that was made is gone and nothing has run on it. That is checked while it is on this machine, at that path; on another machine nothing is checked." xor:"to"`
	cli.ProgressFlag
}

// Help says how the copy is made, and that the database is not used then.
func (c *exportCommand) Help() string {
	return `Copies the record from the database of SVC_STORE into a new data folder, byte for byte, and signs its end, for a service
without SVC_STORE. Stop every instance first, and run it with the SVC_DATA_DIR of the one that decided: the record has to fit its checkpoint. The copy is read back and compared before it counts; the database notes that the
record continues there, and no instance decides over it any more.

Where the store has several slots, their logs become one record, in the order of their times. The part from before the
import stays as it is, byte for byte; records from after that get new places, so that a cursor of theirs ends. The logs have to fit the
checkpoints of those slots that the instance has had. Records that retention has dropped come from the files that it has exported.
To change how many slots a store has, export it, and import the folder into a store with another number of them.`
}

// Run exports the record.
func (c *exportCommand) Run(std cli.Streams) error {
	return alone(func(s *cmdsettings.Settings, store *pgledger.Store, busy func(error, string) error) error {
		return c.run(std, s, store, busy)
	})
}

func (c *exportCommand) run(std cli.Streams, s *cmdsettings.Settings, store *pgledger.Store, busy func(error, string) error) error {
	switch {
	case c.Undo:
		return undo(std, s, store)
	case c.To == "":
		return cli.Usage("give --to, the data folder to make")
	}
	to, _ := pathsOf(c.To)
	signer, err := client.ExistingSigner(s)
	if err != nil {
		return err
	}
	err = c.copy(std, s, store, signer, to)
	switch {
	case errors.Is(err, pgledger.ErrUnsettled):
		return cli.Fail("%v; bailiff store status says whether the record was exported. If it was, run bailiff store export --undo; then export again", err)
	case err != nil:
		return busy(err, "stop every instance first")
	}
	_, err = fmt.Fprintf(std.Out, "no instance decides over the database any more; start the service with SVC_DATA_DIR=%s, the same signing keys and policy, and without SVC_STORE\n", c.To)
	return err
}

// undo lets instances decide over the database again, unless the record is in the folder that was made, where a command or a service may have
// added to it, or was imported from there into another store. A record that an export has made but not named is removed.
func undo(std cli.Streams, s *cmdsettings.Settings, store *pgledger.Store) error {
	err := store.Undrain(func(moved string) error {
		made, imported := pathsOf(moved)
		switch {
		case moved == "":
			return cli.Fail("the record was not exported; there is nothing to undo")
		case !cli.IsMissing(made):
			return cli.Fail("the record is in %s, and would be served twice; if nothing has run on it there, move it away first, for good", made)
		case serve.Served(imported):
			return cli.Fail("a service has run on %s, and what it has decided is not in this database; the record was imported from there into another store, and continues in that one alone", moved)
		case !cli.IsMissing(imported):
			return cli.Fail("the record was imported from %s into another store, and both would serve it; if no instance has run on that store, and nothing has run on %s, remove that store's database first, and then %s", moved, moved, moved)
		case !cli.IsMissing(cmdsettings.Exporting(made)):
			return removeMade(s, moved)
		}
		return nil
	})
	if err != nil {
		return cli.Fail("%v", err)
	}
	_, err = fmt.Fprintln(std.Out, "instances may decide over the database again")
	return err
}

// copy makes the record beside its place, and then gives it its name. The database has let go of it by then. Where it has not for certain, nothing
// is left of the folder.
func (c *exportCommand) copy(std cli.Streams, s *cmdsettings.Settings, store *pgledger.Store, signer *attest.Signer, to string) error {
	beside := cmdsettings.Exporting(to)
	told := c.Start(std, "copying the record")
	var record *exported
	remove := func() error { return nil }
	err := store.Drain(c.To, func(from []commit.Log) error { // from here on no other export is under way
		reading, err := c.Reading(s, signer, len(from))
		if err == nil {
			err = reading.Fits(from)
		}
		if err != nil {
			return err
		}
		made, err := c.makeFolder(s, to)
		if err != nil {
			return err
		}
		remove = made
		err = pebbleledger.Filling(beside, pebbleledger.Options{}, func(log commit.Log) (err error) {
			record, err = export(reading, store, from, log, func(lsn uint64) { told.Reached("up to record %d", lsn) })
			return err
		})
		if err != nil {
			return err
		}
		return errors.Join(c.finish(s, store, signer, record, beside), reached("the folder is made"))
	})
	if err != nil {
		if !errors.Is(err, pgledger.ErrUnsettled) {
			err = errors.Join(err, remove())
		}
		return err
	}
	if err := reached("the database has let go"); err != nil {
		return err
	}
	if err := errors.Join(os.Rename(beside, to), atomicfile.SyncName(to)); err != nil {
		return err
	}
	record.tell(std)
	return nil
}

// makeFolder makes the data folder, which its owner alone may read. One that is there has to be empty, but for what an export has left that was
// interrupted. remove removes what this one makes.
func (c *exportCommand) makeFolder(s *cmdsettings.Settings, to string) (remove func() error, err error) {
	there, err := os.ReadDir(c.To)
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return errors.Join(removeMade(s, c.To), os.Remove(c.To)) }, os.MkdirAll(c.To, 0o700)
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range there {
		if name := strings.TrimSuffix(entry.Name(), ".new"); cli.IsMissing(cmdsettings.Exporting(to)) || !slices.Contains(madeIn(s), name) {
			return nil, cli.Fail("%s is there already; name a folder that is new or empty", filepath.Join(c.To, entry.Name()))
		}
	}
	return func() error { return removeMade(s, c.To) }, errors.Join(removeMade(s, c.To), os.Chmod(c.To, 0o700))
}

// madeIn names what an export makes in a data folder until the record has its name. The last one says that it was interrupted.
func madeIn(s *cmdsettings.Settings) []string {
	return []string{filepath.Base(s.CheckpointPath()), filepath.Base(s.OTLPPath()), cmdsettings.Exporting("ledger")}
}

// removeMade removes that.
func removeMade(s *cmdsettings.Settings, dir string) (err error) {
	for _, name := range madeIn(s) {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.RemoveAll(path+".new"), os.RemoveAll(path))
	}
	return err
}

// An exported is a record that was made of the logs of a database.
type exported struct {
	commit.Copied
	from []ledger.Head // where the logs of several slots end
	sent string        // how far its events were sent to a collector; "" where none were
}

// export makes a record of logs.
func export(reading *Reading, store *pgledger.Store, from []commit.Log, to commit.Log, told func(lsn uint64)) (*exported, error) {
	if len(from) == 1 {
		copied, err := commit.Copy(from[0], to, rand.Reader, told)
		if err != nil {
			return nil, err
		}
		sent, err := store.Place(pgledger.SentByOTLP)
		return &exported{copied, nil, sent}, err
	}
	joined, err := reading.Join(store, from, to, told)
	if err != nil {
		return nil, err
	}
	sent, err := sentOf(store, joined, len(from))
	return &exported{joined.Copied, joined.Ends, sent}, err
}

// sentOf returns the place in a joined record up to which each slot's events were sent to a collector; "" where none were.
func sentOf(store *pgledger.Store, joined *joining.Joined, logs int) (string, error) {
	divided, err := store.Divided()
	if err != nil {
		return "", err
	}
	reached, any := joined.LSN, false
	for slot := range logs {
		place, err := store.Place(pgledger.SentBySlot(slot))
		if err != nil {
			return "", err
		}
		any = any || place != ""
		reached = min(reached, joined.Reached(slot, sentUpTo(place, joined.Ends[slot], slot, divided)))
	}
	if !any {
		return "", nil
	}
	return otlp.PlaceAt(ledger.Head{Stream: joined.Stream, LSN: reached}), nil
}

// sentUpTo returns the LSN in a slot's log up to which a collector has its events: where the place is of another stream than that of its end, none of
// those since the division.
func sentUpTo(place string, end ledger.Head, slot int, divided uint64) uint64 {
	stream, lsn, err := otlp.ReadPlace(place)
	switch {
	case err == nil && stream == hex.EncodeToString(end.Stream[:]):
		return lsn
	case slot == 0:
		return 0
	}
	return divided
}

// tell describes the record.
func (e *exported) tell(std cli.Streams) {
	if len(e.from) == 0 {
		tellCopied(std, "exported", e.Copied)
		return
	}
	tellMade(std, fmt.Sprintf("exported from %d slots", len(e.from)-1), e.Copied)
	fmt.Fprintln(std.Out, "the record was read back: every key, its limits, holds, policies and webhooks are as in the log of its slot")
}

// endsOf lists where the logs of slots end, with which the stream of the record that was made of them begins: stream, LSN and hash of each, slot 0's first.
func endsOf(logs []ledger.Head) (text []byte) {
	for _, end := range logs {
		text = fmt.Appendf(text, "%x %d %x\n", end.Stream, end.LSN, end.Hash)
	}
	return text
}

// finish writes what a service needs beside the record.
func (c *exportCommand) finish(s *cmdsettings.Settings, store *pgledger.Store, signer *attest.Signer, made *exported, beside string) error {
	signed, err := signer.SignCheckpoint(attest.Checkpoint{Stream: made.Stream, LSN: made.LSN, Hash: made.Hash, At: clock.System()().Truncate(time.Second)})
	if err != nil {
		return err
	}
	noted, err := store.Signer()
	if err == nil && noted != "" {
		err = atomicfile.Create(filepath.Join(beside, filepath.Base(s.SignerPath())), []byte(noted))
	}
	if err == nil {
		err = atomicfile.ReplacePrivate(filepath.Join(c.To, filepath.Base(s.CheckpointPath())), signed)
	}
	if err == nil && len(made.from) > 0 {
		err = atomicfile.Create(filepath.Join(beside, "joined"), endsOf(made.from))
	}
	if err == nil && made.sent != "" { // its service continues there
		err = atomicfile.ReplacePrivate(filepath.Join(c.To, filepath.Base(s.OTLPPath())), []byte(made.sent))
	}
	return errors.Join(err, atomicfile.SyncName(beside), atomicfile.SyncName(c.To))
}
