package backup

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// The files of a backup. The first is
//
//	"bailiff backup 1 " time "\n" (length group)*n 0        lengths are 4 bytes, big-endian; the time is RFC 3339
//
// with the groups of the log as they were written. The checkpoint is of their end.
const (
	logFile        = "log"
	checkpointFile = "checkpoint"
	policyFile     = "warranty.md"
	keysFile       = "signing-keys.age"
)

const (
	title         = "bailiff backup 1 "
	maxTitleBytes = 64
	maxGroupBytes = 64 << 20 // many times that of the largest group
)

// A writer writes the log of a backup.
type writer struct{ to *bufio.Writer }

func newWriter(to io.Writer, at time.Time) (*writer, error) {
	w := &writer{bufio.NewWriterSize(to, 1<<20)}
	_, err := w.to.WriteString(title + at.UTC().Format(time.RFC3339) + "\n")
	return w, err
}

// add writes a group.
func (w *writer) add(group []byte) error {
	if err := w.length(len(group)); err != nil {
		return err
	}
	_, err := w.to.Write(group)
	return err
}

// end writes the mark of the end.
func (w *writer) end() error { return errors.Join(w.length(0), w.to.Flush()) }

func (w *writer) length(n int) error {
	_, err := w.to.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
	return err
}

// read calls yield with each group of a log, and returns when the backup was taken.
func read(from io.Reader, yield func(group []byte) error) (taken time.Time, err error) {
	r := bufio.NewReaderSize(from, 1<<20)
	line, err := r.ReadSlice('\n')
	at, found := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), title)
	if err != nil || !found || len(line) > maxTitleBytes {
		return taken, fmt.Errorf("it is not the log of a backup: it does not begin with %q", strings.TrimSpace(title))
	}
	if taken, err = time.Parse(time.RFC3339, at); err != nil {
		return taken, fmt.Errorf("its first line has no time: %w", err)
	}
	var group []byte
	for {
		var length [4]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return taken, cut(err)
		}
		n := binary.BigEndian.Uint32(length[:])
		switch {
		case n == 0:
			if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
				return taken, errors.New("something follows its end")
			}
			return taken, nil
		case n > maxGroupBytes:
			return taken, fmt.Errorf("a group of %d bytes, of at most %d", n, maxGroupBytes)
		case uint32(cap(group)) < n:
			group = make([]byte, n)
		}
		group = group[:n]
		if _, err := io.ReadFull(r, group); err != nil {
			return taken, cut(err)
		}
		if err := yield(group); err != nil {
			return taken, err
		}
	}
}

// cut says that a log ends too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut short")
	}
	return err
}
