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
	cli.ProgressFlag
}

// Help says which files a backup has.
func (c *backupCommand) Help() string {
	return `Copies the record, from its first to its latest entry, and signs where it ends; the service goes on deciding. The folder
gets the record, the checkpoint and the signed policy. Works on the service that runs on SVC_DATA_DIR (default: data) or,
where none does, on the data there.

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
	var end events.BackupPage
	if err := client.WithAdmin(std, client.MustExist, func(ctx context.Context, a client.Admin) (err error) {
		end, err = copyLog(ctx, c.Start(std, "copying the record"), s, a, dir)
		return err
	}); err != nil {
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
	fmt.Fprintf(std.Out, "%s has the record up to %d\n", c.Dir, end.LSN)
	if len(recipients) == 0 {
		fmt.Fprintln(std.Out, "the signing keys are not in it; keep a copy of", keyPath(s))
	}
	return nil
}

// copyLog copies the log, and its checkpoint, into a folder.
func copyLog(ctx context.Context, told *cli.Progress, s *cmdsettings.Settings, a client.Admin, dir string) (end events.BackupPage, err error) {
	now := clock.System()()
	file, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return end, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	first, err := a.Backup(ctx, 0)
	if err != nil {
		return end, err
	}
	w, err := begin(ctx, file, now, a, first)
	if err != nil {
		return end, err
	}
	if first.Begins != 0 {
		end = *first
	}
	for !end.Last {
		page, err := a.Backup(ctx, end.LSN)
		if err != nil {
			return end, err
		}
		if len(page.Groups) == 0 && !page.Last {
			return end, cli.Fail("the service sent its record up to entry %d and no further, although the record has more entries; run the command again", end.LSN)
		}
		for _, group := range page.Groups {
			if err := w.Add(group); err != nil {
				return end, err
			}
		}
		end = *page
		told.Reached("up to record %d", end.LSN)
	}
	if err := w.End(nil); err != nil {
		return end, err
	}
	if err := errors.Join(file.Sync(), reached(backupLog)); err != nil {
		return end, err
	}
	if end.Checkpoint == "" {
		if end.Checkpoint, err = sign(s, end.End, now); err != nil {
			return end, err
		}
	}
	return end, errors.Join(atomicfile.Create(filepath.Join(dir, checkpointFile), []byte(end.Checkpoint)), reached(backupCheckpoint))
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
