package backup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/retention"
	"bailiff/runtime/system"
)

type restoreCommand struct {
	Dir          string `arg:"" help:"The folder of the backup." type:"path"`
	Check        bool   `help:"Verify the backup, and write nothing."`
	Identity     string `help:"File of the age identity (age-keygen -o) that the signing keys are encrypted to; they are put where the service reads them." placeholder:"FILE" type:"path"`
	KeepCounters bool   `help:"Let limits go on from where the backup has them. Else every hour and day that is open, and every task that the backup knows, counts as used up."`
	Thawed       bool   `help:"Let the service decide at once. Else it is frozen until bailiff thaw."`
	client.CheckpointKeys
	cli.ProgressFlag
	NoCheckpoint bool `help:"Do not hold the backup against its checkpoint; a backup that was cut off, or made anew, is not found then."`
}

// Help says which things a restoration takes back.
func (c *restoreCommand) Help() string {
	return `Verifies the backup, makes the record in SVC_DATA_DIR (default: data) from it, where none may be, and begins a stream of its
own, which the record says. Attestations from before are void, and so are holds that were pending or not used yet: they may
have been used after the backup. Limits count as used up until their hour or day is over. Revocations, suspensions and
deployments from after the backup are lost, so the service starts frozen: revoke and suspend again, then

  bailiff thaw --key operator.key

and deploy again, which a frozen service refuses, before agents reach it.

Put the signing keys back first, or give --identity. The policy is not put back: DIR/warranty.md is a copy.`
}

// A filler takes the groups of a backup.
type filler interface {
	Begin(beginning []byte, base io.Reader) (ledger.Beginning, error)
	Add(group []byte) error
	Head() ledger.Head
}

// Run restores the backup. The record is there whole or not at all.
func (c *restoreCommand) Run(std cli.Streams) error {
	s, err := cmdsettings.Load(os.Environ())
	if err != nil {
		return cli.Usage("%v", err)
	}
	if c.Check {
		return c.check(std, s)
	}
	if err := s.WithoutStore("restore"); err != nil {
		return cli.Fail("%v", err)
	}
	if _, err := os.Lstat(s.LedgerPath()); !errors.Is(err, fs.ErrNotExist) {
		return cli.Fail("%s is there already; a backup is restored where no data is: move %s away, or set SVC_DATA_DIR", s.LedgerPath(), s.DataDir)
	}
	if err := client.Moved(s); err != nil { // its record would be served beside the one that a database continues
		return cli.Fail("%v; or set SVC_DATA_DIR to another folder, and restore there", err)
	}
	if c.Identity != "" {
		if err := decryptKeys(s, filepath.Join(c.Dir, keysFile), c.Identity); err != nil {
			return err
		}
	}
	if err := reached(restoreKeys); err != nil {
		return err
	}
	v, head, err := c.restore(std, s)
	if err != nil {
		return err
	}
	c.tell(std, s, v, head.LSN-1)
	return keepCheckpoint(s, head, v)
}

// check verifies the backup.
func (c *restoreCommand) check(std cli.Streams, s *cmdsettings.Settings) error {
	log := new(nowhere)
	defer log.Close()
	filling, err := commit.Restore(log)
	if err != nil {
		return err
	}
	taken, err := c.fill(std, s, filling)
	if err == nil {
		fmt.Fprintf(std.Out, "%s is good: %d records, taken at %s\n", c.Dir, filling.Head().LSN, taken.Format(time.RFC3339))
	}
	return err
}

// keepCheckpoint signs the end of the record, as a service does that has run on it. Without signing keys the first start does.
func keepCheckpoint(s *cmdsettings.Settings, head ledger.Head, v ledger.Restoration) error {
	signed, err := sign(s, head, time.Unix(0, v.At))
	if err != nil {
		return nil
	}
	return atomicfile.ReplacePrivate(s.CheckpointPath(), []byte(signed))
}

// restore makes the record beside its place, and then gives it its name.
func (c *restoreCommand) restore(std cli.Streams, s *cmdsettings.Settings) (v ledger.Restoration, head ledger.Head, err error) {
	beside := s.LedgerPath() + ".restoring"
	if err := errors.Join(os.MkdirAll(s.DataDir, 0o700), os.RemoveAll(beside)); err != nil {
		return v, head, err
	}
	calls := system.Real(clock.System())
	filling, err := pebbleledger.Restore(beside, pebbleledger.Options{Random: calls.Random, Clock: calls.Clock, Go: calls.Go})
	if err != nil {
		return v, head, err
	}
	var taken time.Time
	if err = reached(restoreFolder); err == nil {
		taken, err = c.fill(std, s, filling)
	}
	if err == nil {
		err = reached(restoreFilled)
	}
	if err == nil {
		v = ledger.Restoration{At: calls.Clock().UnixNano(), Taken: taken.Unix(), KeepCounters: c.KeepCounters, Thawed: c.Thawed}
		head, err = filling.Finish(v, rand.Reader)
	}
	if err := errors.Join(err, filling.Close()); err != nil {
		return v, head, errors.Join(err, os.RemoveAll(beside))
	}
	if err := reached(restoreFinished); err != nil {
		return v, head, err
	}
	old := s.CheckpointPath()
	if err := os.Rename(old, old+".before-restore"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v, head, err
	}
	if err := reached(restoreAside); err != nil {
		return v, head, err
	}
	return v, head, errors.Join(os.Rename(beside, s.LedgerPath()), atomicfile.SyncName(s.LedgerPath()), reached(restoreNamed))
}

// fill adds the groups of the backup, and holds their end against the checkpoint.
func (c *restoreCommand) fill(std cli.Streams, s *cmdsettings.Settings, into filler) (taken time.Time, err error) {
	kept, verifier, err := c.checkpoint(s)
	if err != nil {
		return taken, err
	}
	path := filepath.Join(c.Dir, logFile)
	file, err := os.Open(path)
	if err != nil {
		return taken, cli.Fail("%s is not a backup: %v", c.Dir, cli.Unreadable(err))
	}
	defer file.Close()
	told := c.Start(std, "verifying the backup")
	taken, err = read(file, func(b begun) error {
		begins, err := into.Begin(b.beginning, b.base)
		if err == nil && verifier != nil {
			_, err = retention.VerifyBeginning(begins, verifier)
		}
		return err
	}, func(group []byte) error {
		told.Reached("up to record %d", into.Head().LSN)
		return into.Add(group)
	})
	switch head := into.Head(); {
	case err != nil:
		return taken, cli.Fail("%s: %v (the %d records before that are intact); take another backup", path, err, head.LSN)
	case c.NoCheckpoint:
	case head.LSN != kept.LSN || head.Stream != kept.Stream || head.Hash != kept.Hash:
		return taken, cli.Fail("%s ends with record %d of the stream %x, and the checkpoint is of %d of %x: records are missing or were exchanged; take another backup",
			path, head.LSN, head.Stream, kept.LSN, kept.Stream)
	}
	return taken, nil
}

// checkpoint reads and verifies the checkpoint of the backup, and returns what it was verified by: nil with --no-checkpoint.
func (c *restoreCommand) checkpoint(s *cmdsettings.Settings) (kept attest.Checkpoint, verifier *attest.CheckpointVerifier, err error) {
	if c.NoCheckpoint {
		return kept, nil, nil
	}
	verifier, err = c.Verifier(s)
	if err != nil {
		return kept, nil, cli.Fail("the checkpoint of the backup can't be verified: %v, put the key file back, or give --identity", err)
	}
	path := filepath.Join(c.Dir, checkpointFile)
	text, err := cli.ReadFile(path, attest.MaxCheckpointBytes)
	if err != nil {
		return kept, nil, cli.Fail("%s is not a backup: %v", c.Dir, err)
	}
	if kept, err = verifier.Open(text); err != nil {
		return kept, nil, cli.Fail("%s: %v", path, err)
	}
	return kept, verifier, nil
}

// tell reports the restoration, and says what to do now.
func (c *restoreCommand) tell(std cli.Streams, s *cmdsettings.Settings, v ledger.Restoration, lsn uint64) {
	fmt.Fprintf(std.Out, "restored %d records, as they were at %s, into %s\n", lsn, time.Unix(v.Taken, 0).UTC().Format(time.RFC3339), s.DataDir)
	fmt.Fprintln(std.Out, "attestations from before are void, and so are holds that were pending or not used yet")
	if !c.KeepCounters {
		fmt.Fprintln(std.Out, "limits count as used up until their hour or UTC day is over, and those of tasks that the backup knows stay used up")
	}
	if c.Thawed {
		return
	}
	fmt.Fprintln(std.Out, "revocations, suspensions and deployments from after that are lost: start the service, which is frozen, revoke and suspend again, and then: bailiff thaw --key operator.key; deploy again before agents reach it")
}
