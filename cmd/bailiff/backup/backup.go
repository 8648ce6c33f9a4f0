package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/cmd/bailiff/store"
	"bailiff/grammar"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/events"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/groupfile"
)

type backupCommand struct {
	Dir      string   `arg:"" help:"The folder to make." type:"path"`
	WithKeys []string `help:"Add the signing keys, encrypted to this recipient of age (age1…, as age-keygen prints it). Can be given more than once." placeholder:"RECIPIENT"`
	store.ReadingFlags
	cli.ProgressFlag
}

// Help says which files a backup has.
func (c *backupCommand) Help() string {
	return `Copies the record, from its first to its latest entry, and signs where it ends; the service goes on deciding. The folder
gets the record, the checkpoint and the signed policy. Works on the service that runs on SVC_DATA_DIR (default: data) or,
where none does, on the data there.

Where the database of SVC_STORE has several slots, their logs are read from the database, as they are at one moment, and become one
record, as with bailiff store export; instances decide meanwhile. Run it with the signing keys and the SVC_DATA_DIR of an instance: the logs
have to fit the checkpoints of the slots that it has had. --exported and --no-checkpoint are for that alone.

The backup does not contain the signing keys, because they can sign attestations: keep a copy of the key file elsewhere, or
give --with-keys, which encrypts them with age (https://age-encryption.org). It never contains the operator's key.

  bailiff restore --check DIR       verifies the backup`
}

// Run makes the backup. The folder is there whole or not at all.
func (c *backupCommand) Run(std cli.Streams) error {
	s, err := cmdsettings.Load(os.Environ())
	if err != nil {
		return cli.Usage("%v", err)
	}
	recipients, err := readRecipients(c.WithKeys)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(c.Dir); !errors.Is(err, fs.ErrNotExist) {
		return cli.Fail("%s is there already; name a folder that is not, such as one with the date", c.Dir)
	}
	dir, err := os.MkdirTemp(filepath.Dir(c.Dir), ".bailiff-backup-")
	if err != nil {
		return cli.Unwritable(c.Dir, err)
	}
	defer os.RemoveAll(dir) // by then it has its name, or was not finished
	if err := reached(backupFolder); err != nil {
		return err
	}
	from, lsn, err := c.copy(std, s, dir)
	if err != nil {
		return err
	}
	if err := errors.Join(addFiles(s, dir, recipients), reached(backupFiles)); err != nil {
		return err
	}
	if err := os.Rename(dir, c.Dir); err != nil {
		return cli.Unwritable(c.Dir, err)
	}
	if err := errors.Join(atomicfile.SyncName(c.Dir), reached(backupNamed)); err != nil {
		return cli.Unwritable(c.Dir, err)
	}
	fmt.Fprintf(std.Out, "%s has the record%s up to %d\n", c.Dir, from, lsn)
	if len(recipients) == 0 {
		fmt.Fprintln(std.Out, "the signing keys are not in it; keep a copy of", keyPath(s))
	}
	return nil
}

// copy copies the record, and its checkpoint, into a folder, and returns the last LSN. from says of how many slots it was made, "" where the record is one log.
func (c *backupCommand) copy(std cli.Streams, s *cmdsettings.Settings, dir string) (from string, lsn uint64, err error) {
	told := c.Start(std, "copying the record")
	if s.Store != "" {
		slots, end, err := c.copySlots(told, s, dir)
		if err != nil || slots > 1 {
			return fmt.Sprintf(" of %d slots", slots), end.LSN, err
		}
	}
	err = client.WithAdmin(std, client.MustExist, func(ctx context.Context, a client.Admin) (err error) {
		lsn, err = copyLog(ctx, told, s, a, dir)
		return err
	})
	return "", lsn, err
}

// copyLog copies the one log that there is, and its checkpoint, into a folder, and returns the last LSN.
func copyLog(ctx context.Context, told *cli.Progress, s *cmdsettings.Settings, a client.Admin, dir string) (uint64, error) {
	now := clock.System()()
	var end events.BackupPage
	err := writeLog(dir, func(file io.Writer) (w *groupfile.Writer, err error) {
		w, end, err = copyPages(ctx, told, a, file, now)
		return w, err
	})
	if err == nil && end.Checkpoint == "" {
		end.Checkpoint, err = sign(s, end.End, now)
	}
	if err != nil {
		return 0, err
	}
	return end.LSN, writeCheckpoint(dir, end.Checkpoint)
}

// writeLog makes the file of the log in a folder. write writes all of it but its end.
func writeLog(dir string, write func(io.Writer) (*groupfile.Writer, error)) (err error) {
	file, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w, err := write(file)
	if err == nil {
		err = w.End(nil)
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), reached(backupLog))
}

func writeCheckpoint(dir, signed string) error {
	return errors.Join(atomicfile.Create(filepath.Join(dir, checkpointFile), []byte(signed)), reached(backupCheckpoint))
}

// copyPages copies the pages of a log into a file.
func copyPages(ctx context.Context, told *cli.Progress, a client.Admin, file io.Writer, now time.Time) (w *groupfile.Writer, end events.BackupPage, err error) {
	first, err := a.Backup(ctx, 0)
	if err != nil {
		return nil, end, err
	}
	if w, err = begin(ctx, file, now, a, first); err != nil {
		return nil, end, err
	}
	if first.Begins != 0 {
		end = *first
	}
	for !end.Last {
		page, err := a.Backup(ctx, end.LSN)
		if err != nil {
			return nil, end, err
		}
		if len(page.Groups) == 0 && !page.Last {
			return nil, end, cli.Fail("the service sent its record up to entry %d and no further, although the record has more entries; run the command again", end.LSN)
		}
		for _, group := range page.Groups {
			if err := w.Add(group); err != nil {
				return nil, end, err
			}
		}
		end = *page
		told.Reached("up to record %d", end.LSN)
	}
	return w, end, nil
}

// begin begins the file of a log, with what it has in place of groups that were dropped.
func begin(ctx context.Context, to io.Writer, at time.Time, a client.Admin, first *events.BackupPage) (*groupfile.Writer, error) {
	if first.Begins == 0 {
		return newWriter(to, title, at)
	}
	w, err := newWriter(to, titleBegun, at)
	if err != nil {
		return nil, err
	}
	page, err := a.BackupBase(ctx, first.Begins, 0)
	if err != nil {
		return nil, err
	}
	return w, errors.Join(
		w.AddPart(bytes.NewReader(page.Beginning), int64(len(page.Beginning))),
		w.AddPart(&baseReader{ctx: ctx, admin: a, of: first.Begins}, page.Size))
}

// sign signs the end of the record where no service runs that would.
func sign(s *cmdsettings.Settings, head ledger.Head, now time.Time) (string, error) {
	signer, err := client.ExistingSigner(s)
	if err != nil {
		return "", cli.Fail("the end of the record can't be signed: %v", err)
	}
	signed, err := signer.SignCheckpoint(attest.Checkpoint{Stream: head.Stream, LSN: head.LSN, Hash: head.Hash, At: now.Truncate(time.Second)})
	return string(signed), err
}

// addFiles adds the signed policy, and the signing keys where they are asked for.
func addFiles(s *cmdsettings.Settings, dir string, recipients []age.Recipient) error {
	if !s.Hosted {
		switch text, err := cli.ReadFile(s.WarrantyPath, grammar.MaxBytes); {
		case errors.Is(err, fs.ErrNotExist): // the command runs elsewhere; the service has it
		case err != nil:
			return cli.Fail("the policy %v; WARRANTY_PATH names it", err)
		default:
			if err := atomicfile.Create(filepath.Join(dir, policyFile), text); err != nil {
				return err
			}
		}
	}
	if len(recipients) == 0 {
		return nil
	}
	return encryptKeys(s, filepath.Join(dir, keysFile), recipients)
}
