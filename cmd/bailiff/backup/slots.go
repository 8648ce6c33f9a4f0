package backup

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/groupfile"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/system"
)

// copySlots copies the record of a store of several slots, whose logs become one, and its checkpoint, while instances decide. It returns in how many slots
// the record is: of one it copies nothing.
func (c *backupCommand) copySlots(told *cli.Progress, s *cmdsettings.Settings, dir string) (slots int, end ledger.Head, err error) {
	calls := system.Real(clock.System())
	store, _, err := client.CommandStore(s, calls)
	if err != nil {
		return 0, end, cli.Usage("%v", err)
	}
	defer store.Close()
	if slots, err = store.Count(); err != nil || slots == 1 {
		return slots, end, err
	}
	signer, err := client.ExistingSigner(s)
	if err != nil {
		return slots, end, err
	}
	now := calls.Clock() // before the moment: what came after it is not in the record
	reading, err := c.Reading(s, signer, slots+1)
	if err != nil {
		return slots, end, err
	}
	beside := filepath.Join(dir, "joining")
	err = store.LookAll(func(logs []commit.Log) error {
		if err := reading.Fits(logs); err != nil {
			return err
		}
		return pebbleledger.Filling(beside, pebbleledger.Options{}, func(made commit.Log) error {
			joined, err := reading.Join(store, logs, made, func(lsn uint64) { told.Reached("up to record %d", lsn) })
			if err != nil {
				return err
			}
			end = joined.Head
			return writeLog(dir, func(file io.Writer) (*groupfile.Writer, error) { return copyMade(made, file, now) })
		})
	})
	if err = errors.Join(err, os.RemoveAll(beside)); err != nil {
		return slots, end, err
	}
	signed, err := sign(s, end, now)
	if err != nil {
		return slots, end, err
	}
	return slots, end, writeCheckpoint(dir, signed)
}

// copyMade copies a log into a file.
func copyMade(from commit.Log, file io.Writer, now time.Time) (w *groupfile.Writer, err error) {
	var problem error
	err = from.Read(0, func(_ uint64, group []byte) bool {
		if w != nil {
			problem = w.Add(group)
			return problem == nil
		}
		var begins ledger.Head
		if begins, problem = commit.Begins(group); problem == nil && begins.LSN > 0 {
			w, problem = beginAfter(from, begins.LSN, group, file, now)
			return problem == nil
		}
		if problem == nil {
			w, problem = newWriter(file, title, now)
		}
		if problem == nil {
			problem = w.Add(group)
		}
		return problem == nil
	})
	return w, errors.Join(problem, err)
}

// beginAfter begins the file of a log whose oldest groups were dropped, with what it has in their place.
func beginAfter(from commit.Log, lsn uint64, beginning []byte, file io.Writer, now time.Time) (*groupfile.Writer, error) {
	kept, ok := from.(commit.Dropper)
	if !ok {
		return nil, ledger.ErrNotRetained
	}
	base, err := kept.OpenBase(lsn)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	size, err := base.Size()
	if err != nil {
		return nil, err
	}
	w, err := newWriter(file, titleBegun, now)
	if err != nil {
		return nil, err
	}
	return w, errors.Join(w.AddPart(bytes.NewReader(beginning), int64(len(beginning))), w.AddPart(io.NewSectionReader(base, 0, size), size))
}
