// Package groupfile frames the groups of a log in a file, for backups and exports: a line that says what the file is, parts with
// their length before them, groups likewise, and a length of zero after the last group.
package groupfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	maxLineBytes  = 256
	maxGroupBytes = 64 << 20 // many times that of the largest group
)

// A Writer writes such a file.
type Writer struct{ to *bufio.Writer }

// NewWriter begins a file with a line, which has no end of line yet.
func NewWriter(to io.Writer, line string) (*Writer, error) {
	w := &Writer{bufio.NewWriterSize(to, 1<<20)}
	_, err := w.to.WriteString(line + "\n")
	return w, err
}

// Add writes a group.
func (w *Writer) Add(group []byte) error {
	if err := w.length(len(group)); err != nil {
		return err
	}
	_, err := w.to.Write(group)
	return err
}

// AddPart writes bytes with their length, in 8 bytes, before them. It comes before the groups.
func (w *Writer) AddPart(from io.Reader, size int64) error {
	if _, err := w.to.Write(binary.BigEndian.AppendUint64(nil, uint64(size))); err != nil {
		return err
	}
	_, err := io.CopyN(w.to, from, size)
	return err
}

// End writes the mark of the end, and what comes after it.
func (w *Writer) End(trailer []byte) error {
	err := w.length(0)
	if err == nil {
		_, err = w.to.Write(trailer)
	}
	if err == nil {
		err = w.to.Flush()
	}
	return err
}

func (w *Writer) length(n int) error {
	_, err := w.to.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
	return err
}

// A Reader reads such a file.
type Reader struct{ from *bufio.Reader }

// NewReader reads the line of a file, which has to begin with one of some titles, and returns that and the rest of the line.
func NewReader(from io.Reader, titles ...string) (r *Reader, title, rest string, err error) {
	r = &Reader{bufio.NewReaderSize(from, 1<<20)}
	line, err := r.from.ReadSlice('\n')
	if err == nil && len(line) <= maxLineBytes {
		for _, title := range titles {
			if rest, found := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), title); found {
				return r, title, rest, nil
			}
		}
	}
	return nil, "", "", fmt.Errorf("it does not begin with %q", strings.TrimSpace(strings.Join(titles, "or")))
}

// Part returns the next part, which is to be read before anything that follows it.
func (r *Reader) Part() (part io.Reader, size int64, err error) {
	var length [8]byte
	if _, err := io.ReadFull(r.from, length[:]); err != nil {
		return nil, 0, cut(err)
	}
	size = int64(binary.BigEndian.Uint64(length[:]))
	return io.LimitReader(r.from, size), size, nil
}

// Groups calls yield with each group, whose memory is valid during the call, and returns what comes after the end, up to most bytes.
func (r *Reader) Groups(most int, yield func(group []byte) error) (trailer []byte, err error) {
	var group []byte
	for {
		var length [4]byte
		if _, err := io.ReadFull(r.from, length[:]); err != nil {
			return nil, cut(err)
		}
		n := binary.BigEndian.Uint32(length[:])
		switch {
		case n == 0:
			trailer, err := io.ReadAll(io.LimitReader(r.from, int64(most)+1))
			if err == nil && len(trailer) > most {
				err = errors.New("something follows its end")
			}
			return trailer, err
		case n > maxGroupBytes:
			return nil, fmt.Errorf("a group of %d bytes, of at most %d", n, maxGroupBytes)
		case uint32(cap(group)) < n:
			group = make([]byte, n)
		}
		group = group[:n]
		if _, err := io.ReadFull(r.from, group); err != nil {
			return nil, cut(err)
		}
		if err := yield(group); err != nil {
			return nil, err
		}
	}
}

// cut says that a file ends too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut short")
	}
	return err
}
