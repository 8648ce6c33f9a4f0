package retention

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bailiff/runtime/atomicfile"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/groupfile"
	"bailiff/runtime/ledger/state"
)

// An exported file begins with
//
//	"bailiff events 1 " stream " " lsn " " hash "\n"
//
// the end of the group that its first one follows, with zeros before record 1. Then come the groups as the log had them (package
// groupfile), and after their end the signed checkpoint of the last one.
const (
	title  = "bailiff events 1 "
	suffix = ".bailiff"
)

// nameOf is the name of the file with the records after a place up to another one. The end of the stream's id keeps the files apart of a
// log that was restored from a backup, and of what was lost by that.
func nameOf(from, to ledger.Head) string {
	return prefixOf(from) + fmt.Sprintf("%020d-%x%s", to.LSN, to.Stream[:4], suffix)
}

func prefixOf(from ledger.Head) string { return fmt.Sprintf("events-%020d-", from.LSN+1) }

// A writer writes one exported file.
type writer struct {
	folder  string
	from    ledger.Head
	file    *os.File
	to      *groupfile.Writer
	sum     hash.Hash
	sign    func(ledger.Head) ([]byte, error)
	reached func(ledger.RetentionStep) error
}

// A file has a name of its own until it is whole, since instances may have the folder in common. One that was left behind is removed after
// a while: its writer, should there be one, can't give it its name then.
const (
	unfinished = "events.unfinished-"
	leftBehind = time.Hour
)

// removeLeft removes files that were left behind.
func removeLeft(folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, unfinished+"*"))
	for _, name := range names {
		info, gone := os.Stat(name)
		if gone == nil && time.Since(info.ModTime()) > leftBehind {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// newWriter begins a file in a folder, which it makes.
func newWriter(folder string, from ledger.Head, sign func(ledger.Head) ([]byte, error), reached func(ledger.RetentionStep) error) (*writer, error) {
	w := &writer{folder: folder, from: from, sum: sha256.New(), sign: sign, reached: reached}
	if w.reached == nil {
		w.reached = func(ledger.RetentionStep) error { return nil }
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	err := removeLeft(folder)
	if err != nil {
		return nil, err
	}
	if w.file, err = os.CreateTemp(folder, unfinished+"*"); err != nil { // with the mode 0600
		return nil, err
	}
	w.to, err = groupfile.NewWriter(io.MultiWriter(w.file, w.sum), fmt.Sprintf("%s%x %d %x", title, from.Stream, from.LSN, from.Hash))
	return w, err
}

// Add implements ledger.Exporter.
func (w *writer) Add(group []byte) error { return w.to.Add(group) }

// Abandon implements ledger.Exporter.
func (w *writer) Abandon() {
	_ = w.file.Close() // it is removed
	_ = os.Remove(w.file.Name())
}

// Close implements ledger.Exporter.
func (w *writer) Close(end ledger.Head) (sum [32]byte, err error) {
	signed, err := w.sign(end)
	if err == nil {
		err = w.to.End(signed)
	}
	if err == nil {
		err = w.reached(ledger.ExportWritten)
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		err = w.reached(ledger.ExportSynced)
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return sum, errors.Join(err, os.Remove(w.file.Name()))
	}
	path := filepath.Join(w.folder, nameOf(w.from, end))
	if err := errors.Join(os.Rename(w.file.Name(), path), atomicfile.SyncName(path), w.reached(ledger.ExportNamed)); err != nil {
		return sum, err
	}
	return [32]byte(w.sum.Sum(nil)), w.removeOthers(filepath.Base(path))
}

// removeOthers removes the files of interrupted passes: those of this log with the same beginning that end before this one, which has their
// groups. One that ends later may be of an instance that decides by now.
func (w *writer) removeOthers(but string) error {
	names, err := filepath.Glob(filepath.Join(w.folder, prefixOf(w.from)+"*"+but[strings.LastIndex(but, "-"):]))
	if err != nil {
		return err
	}
	for _, name := range names {
		if filepath.Base(name) < but { // numbers have the same length
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// A File is what an exported file says of itself.
type File struct {
	Path       string
	From, To   ledger.Head
	Sum        [32]byte
	Checkpoint []byte // signed, of To
}

// Read reads an exported file, checks that its groups follow each other, and calls visit with each record, and ends with the end of each
// group. Who signed its checkpoint is for Verify.
func Read(path string, visit func(lsn uint64, r *state.Record) error, ends func(ledger.Head)) (f File, err error) {
	f.Path = path
	file, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer file.Close()
	sum := sha256.New()
	r, _, rest, err := groupfile.NewReader(io.TeeReader(file, sum), title)
	if err != nil {
		return f, fmt.Errorf("it is no exported file: %w", err)
	}
	if f.From, err = parseHead(rest); err != nil {
		return f, err
	}
	chain := commit.Chain{Head: f.From}
	f.Checkpoint, err = r.Groups(attest.MaxCheckpointBytes, func(group []byte) error {
		err := chain.Next(group, visit)
		if err == nil {
			ends(chain.Head)
		}
		return err
	})
	f.To, f.Sum = chain.Head, [32]byte(sum.Sum(nil))
	return f, err
}

func parseHead(text string) (h ledger.Head, err error) {
	var stream, hash string
	if _, err := fmt.Sscanf(text, "%s %d %s", &stream, &h.LSN, &hash); err != nil {
		return h, fmt.Errorf("its first line does not say what it follows: %w", err)
	}
	a, err := hex.DecodeString(stream)
	b, more := hex.DecodeString(hash)
	if err = errors.Join(err, more); err != nil || len(a) != len(h.Stream) || len(b) != len(h.Hash) {
		return h, errors.Join(errors.New("its first line does not say what it follows"), err)
	}
	copy(h.Stream[:], a)
	copy(h.Hash[:], b)
	if h.LSN == 0 && h != (ledger.Head{}) {
		return h, errors.New("its first line says that it follows a record 0, which there is not")
	}
	return h, nil
}

// Verify checks that the service has signed the end of an exported file; a nil verifier checks only that the checkpoint is there.
func (f *File) Verify(v *attest.CheckpointVerifier) error {
	if v == nil {
		return nil
	}
	c, err := v.Open(f.Checkpoint)
	switch {
	case err != nil:
		return err
	case (ledger.Head{Stream: c.Stream, LSN: c.LSN, Hash: c.Hash}) != f.To:
		return fmt.Errorf("its checkpoint is of record %d, and its groups end with %d", c.LSN, f.To.LSN)
	}
	return nil
}

// Folder returns the exported files of a folder by name, none where there is no such folder.
func Folder(folder string) ([]string, error) {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) || folder == "" {
		return nil, nil
	}
	return filepath.Glob(filepath.Join(folder, "events-*"+suffix))
}

// Lead returns those of some files that lead to a place in a log, the earliest first: each begins where the one before ends.
func Lead(files []File, to ledger.Head) (lead []File) {
	for to.LSN != 0 {
		found := false
		for _, f := range files {
			if f.To == to && f.From.LSN < to.LSN {
				lead, to, found = append([]File{f}, lead...), f.From, true
				break
			}
		}
		if !found {
			break
		}
	}
	return lead
}
