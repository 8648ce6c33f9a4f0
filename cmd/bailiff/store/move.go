package store

import (
	"crypto/rand"
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
	pebbleledger "bailiff/runtime/ledger/pebble"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/retention"
)

type importCommand struct {
	From string `help:"The data folder of the service so far." required:"" placeholder:"DIR" type:"path"`
	cli.ProgressFlag
	Moved        bool `help:"Import the folder although it is a copy. No service may run on the original any more."`
	NoCheckpoint bool `help:"Import although the folder has no checkpoint that the record fits; records that were cut off are not noticed then."`
}

// Help says which things are copied.
func (c *importCommand) Help() string {
	return `Copies the record of a data folder into the database of SVC_STORE, byte for byte: keys, limits as far as they are used, holds,
policies and every event are there, and cursors stay good. Stop the service on the folder first, and keep it stopped. The record has
to fit the folder's checkpoint, the database has to be empty, and the copy is read back and compared before it counts.

Where the store has several slots, the first one gets the copy, and each other one begins with the keys that are its own; the signing keys
sign what it begins with.

The record is called ledger.imported in the folder then, so that no service starts on it. Start the instances with the same signing
keys, and one of them with the folder as its SVC_DATA_DIR: its checkpoint is held against the database.`
}

// Run imports the record.
func (c *importCommand) Run(std cli.Streams) error {
	return alone(func(s *cmdsettings.Settings, store *pgledger.Store, busy func(error, string) error) error {
		return c.run(std, s, store, busy)
	})
}

func (c *importCommand) run(std cli.Streams, s *cmdsettings.Settings, store *pgledger.Store, busy func(error, string) error) error {
	from, to := pathsOf(c.From)
	if client.DialAdmin(filepath.Join(c.From, filepath.Base(s.AdminSocket()))) != nil {
		return cli.Fail("a service runs on %s; stop it first", c.From)
	}
	if err := c.original(from, to); err != nil {
		return err
	}
	status, err := store.Status()
	switch {
	case err != nil:
		return cli.Fail("%v", err)
	case status.Records() != 0:
		return c.resume(std, s, store, &status, from, to)
	}
	aside, err := setAside(from, to, status.ID)
	if err != nil {
		return err
	}
	if err := reached("the folder's record is set aside"); err != nil {
		return err
	}
	copied, over, err := c.copy(std, s, store, &status, to)
	if err != nil {
		if errors.Is(err, pgledger.ErrUnsettled) {
			return cli.Fail("%v; import again, which finds that out; no service starts on the folder until then", err)
		}
		if aside { // the database has nothing of it for certain
			err = errors.Join(err, putBack(from, to))
		}
		return busy(err, "stop every instance first")
	}
	if err := reached("the database has the record"); err != nil {
		return err
	}
	tellCopied(std, "imported", copied)
	if n := status.Keyed(); n > 1 {
		fmt.Fprintf(std.Out, "the keys are in %d slots, each with a log of its own from record %d on; those before are in the log of slot 0\n", n, copied.LSN+1)
	}
	return c.end(std, s, over, to)
}

// end says that the database has the record, signs the checkpoints of its slots, and notes in the folder that all is done.
func (c *importCommand) end(std cli.Streams, s *cmdsettings.Settings, over *divided, to string) error {
	fmt.Fprintf(std.Out, "the folder's record is called %s now, and no service runs on it; the database continues it\n", to)
	fmt.Fprintln(std.Out, "the signing keys and the policy were not copied: they are where they were, and each instance needs them")
	if err := over.keep(s, c.From); err != nil {
		return cli.Fail("the record was imported, and the checkpoints of its slots can't be written: %v; import again, which writes them", err)
	}
	if err := reached("the checkpoints are signed"); err != nil {
		return err
	}
	return atomicfile.ReplacePrivate(donePath(to), []byte(clock.System()().UTC().Format(time.RFC3339)+"\n"))
}

// resume ends an import that was interrupted when the database had the record: what the database has continues the folder's record.
func (c *importCommand) resume(std cli.Streams, s *cmdsettings.Settings, store *pgledger.Store, status *pgledger.Status, from, to string) error {
	other := cli.Fail("the database has records already, %d in all; import into one that has none", status.Records())
	if cli.IsMissing(to) || !cli.IsMissing(from) || !cli.IsMissing(donePath(to)) || intentOf(to) != status.ID {
		return other
	}
	ours, err := pebbleledger.VerifyChain(to, pebbleledger.Options{}, 0)
	if err != nil {
		return cli.Fail("the folder's record is not good: %v", err)
	}
	signer, err := client.ExistingSigner(s)
	if err != nil {
		return err
	}
	over := &divided{signer: signer, resumed: true, ends: map[int]ledger.Head{}}
	for slot := range status.Slots {
		var chain commit.Verified
		err := store.Look(slot, func(log commit.Log) (err error) {
			chain, err = verified(log, ours.Head.LSN, signer.CheckpointVerifier())
			return err
		})
		if err != nil {
			return cli.Fail("the import was interrupted when the database had the record, and slot %d is not good: %v", slot, err)
		}
		if slot == 0 && (!chain.Ends || chain.At != ours.Head.Hash || !slices.Contains(chain.Streams, ours.Head.Stream)) {
			return other
		}
		if status.Keyed() > 1 {
			over.ends[slot] = chain.Head
		}
	}
	fmt.Fprintf(std.Out, "imported: the database has the %d records of the folder since an import that was interrupted, and each log is whole\n", ours.Head.LSN)
	return c.end(std, s, over, to)
}

// original refuses a copy of a data folder, as serve does, wherever its record is.
func (c *importCommand) original(records ...string) error {
	for _, record := range records {
		if err := serve.CheckPlaceOf(record, "import it with --moved"); err != nil && !c.Moved {
			return cli.Fail("%v", err)
		}
	}
	return nil
}

// tellCopied says how much was copied.
func tellCopied(std cli.Streams, how string, copied commit.Copied) {
	tellMade(std, how, copied)
	fmt.Fprintln(std.Out, "the copy was read back: it ends with the same hash and comes to the same state")
}

func tellMade(std cli.Streams, how string, made commit.Copied) {
	fmt.Fprintf(std.Out, "%s: %d records in %d groups of %d bytes, with %d keys, stream %x, head %x\n", how, made.LSN, made.Groups, made.Bytes, made.Keys, made.Stream, made.Hash)
}

// copy copies a record into the database.
func (c *importCommand) copy(std cli.Streams, s *cmdsettings.Settings, store *pgledger.Store, status *pgledger.Status, from string) (copied commit.Copied, over *divided, err error) {
	kept, err := c.checkpoint(s)
	if err != nil {
		return copied, nil, err
	}
	signer, err := os.ReadFile(filepath.Join(from, filepath.Base(s.SignerPath())))
	if err == nil {
		err = agree(store, string(signer))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return copied, nil, err
	}
	if over, err = divides(s, status, string(signer)); err != nil {
		return copied, nil, err
	}
	working := c.Start(std, "verifying the record")
	done := working.Working()
	chain, err := pebbleledger.VerifyChain(from, pebbleledger.Options{}, kept.LSN)
	done()
	if err != nil {
		return copied, nil, cli.Fail("the record is not good, and nothing was imported: %v", err)
	}
	if err := client.Fits(chain, kept, c.NoCheckpoint); err != nil {
		return copied, nil, err
	}
	sent, err := os.ReadFile(filepath.Join(c.From, filepath.Base(s.OTLPPath())))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return copied, nil, err
	}
	told := c.Start(std, "copying the record")
	err = store.Fill(string(signer), func(to *pgledger.Filling) error {
		if len(sent) > 0 { // what a collector has not got is sent from the database
			if err := to.KeepPlace(to.SentByOTLP(0), string(sent)); err != nil {
				return err
			}
		}
		return pebbleledger.Reading(from, pebbleledger.Options{}, func(log commit.Log) (err error) {
			copied, err = over.copy(log, to, func(lsn uint64) { told.Reached("up to record %d", lsn) })
			return errors.Join(err, foreign(copied, s.Environment))
		})
	})
	return copied, over, err
}

// foreign refuses a record with keys of other environments than that of the store, whose instances would refuse them.
func foreign(copied commit.Copied, environment string) error {
	for other, n := range copied.Environments {
		if other != environment {
			return cli.Fail("%d keys of the folder are of the environment %s, and the store's is %s, so nothing was imported; import into a store of %s, or revoke these keys first", n, other, environment, other)
		}
	}
	return nil
}

// A divided is where the logs of slots end that a record was divided over, and the keys that sign that.
type divided struct {
	signer *attest.Signer // nil where there is one slot
	ends   map[int]ledger.Head

	resumed bool // instances may have run since
}

// divides reads the keys that sign where slots begin. They have to be those of the folder's service.
func divides(s *cmdsettings.Settings, status *pgledger.Status, noted string) (*divided, error) {
	d := &divided{ends: map[int]ledger.Head{}}
	if status.Keyed() == 1 {
		return d, nil
	}
	var err error
	if d.signer, err = client.ExistingSigner(s); err != nil {
		return nil, err
	}
	if ids := strings.Fields(noted); len(ids) > 0 && !slices.Contains(ids, d.signer.KeyID()) {
		return nil, cli.Fail("the folder's service signs with %s, and the keys in SVC_KEY_DIR are %s: put those of the service there, which sign where each slot begins", strings.Join(ids, " and "), d.signer.KeyID())
	}
	return d, nil
}

// copy copies a log into those of the slots.
func (d *divided) copy(from commit.Log, to *pgledger.Filling, told func(lsn uint64)) (copied commit.Copied, err error) {
	logs := to.Logs()
	if len(logs) == 1 {
		return commit.Copy(from, logs[0], rand.Reader, told)
	}
	copied, err = commit.Divide(from, &commit.Division{
		To: logs, Enter: to.EnterKey, At: clock.System()().UnixNano(),
		Sign:  func(drop *ledger.Drop) ([]byte, error) { return retention.Sign(d.signer, drop) },
		Ended: func(slot int, end ledger.Head) { d.ends[slot] = end }, Random: rand.Reader, Told: told,
	})
	to.Divided(copied.LSN)
	return copied, err
}

// keep signs the ends of the logs into a data folder, whose instance holds the database against them.
func (d *divided) keep(s *cmdsettings.Settings, folder string) error {
	for slot, end := range d.ends {
		path := filepath.Join(folder, filepath.Base(s.SlotCheckpointPath(slot)))
		if d.resumed {
			if kept, err := serve.ReadCheckpoint(path, d.signer.CheckpointVerifier()); err == nil && kept.Stream == end.Stream {
				continue // a later one would hide what the database has lost
			}
		}
		signed, err := d.signer.SignCheckpoint(attest.Checkpoint{Stream: end.Stream, LSN: end.LSN, Hash: end.Hash, At: clock.System()().Truncate(time.Second)})
		if err == nil {
			err = atomicfile.ReplacePrivate(path, signed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// agree returns an error where other keys have signed for the database than for a record.
func agree(store *pgledger.Store, signer string) error {
	noted, err := store.Signer()
	if err == nil && noted != "" && noted != signer {
		return cli.Fail("instances of SVC_STORE sign with %s, and the folder's service with %s: relying parties would not know both; import into a database of its own",
			strings.Join(strings.Fields(noted), " and "), strings.Join(strings.Fields(signer), " and "))
	}
	return err
}

// checkpoint reads and verifies the checkpoint of the folder.
func (c *importCommand) checkpoint(s *cmdsettings.Settings) (kept attest.Checkpoint, err error) {
	if c.NoCheckpoint {
		return kept, nil
	}
	signer, err := client.ExistingSigner(s)
	if err != nil {
		return kept, err
	}
	path := filepath.Join(c.From, filepath.Base(s.CheckpointPath()))
	if cli.IsMissing(path) {
		return kept, cli.Fail("there is no checkpoint in %s, so missing records cannot be ruled out; put it back, or, if no record can be missing, give --no-checkpoint", c.From)
	}
	text, err := cli.ReadFile(path, attest.MaxCheckpointBytes)
	if err != nil {
		return kept, cli.Fail("%v", err)
	}
	if kept, err = signer.CheckpointVerifier().Open(text); err != nil {
		return kept, cli.Fail("%s: %v", path, err)
	}
	return kept, nil
}

// reached is called at each step after which something is on a disk, and what it returns is the step's error. Tests replace it.
var reached = func(string) error { return nil }
