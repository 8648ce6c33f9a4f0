package commit

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// A base is what replay starts from where groups were dropped, and the dropped records that the state is not enough for:
//
//	magic "blb1"
//	length of the snapshot, 8 bytes
//	the snapshot of the log up to the record dropped last (snapshot.go)
//	(LSN, 8 bytes; length, 4 bytes; the record)*    ascending: those that state.Live names, and no others
//
// The beginning of the log has its SHA-256, and so does the signed retention checkpoint in there.
const (
	magicBase  = "blb1"
	baseHeader = len(magicBase) + 8
	keptHeader = 8 + lengthBytes
)

// A Dropper is a Log that can drop its oldest groups. Its methods are called by one goroutine at a time, OpenBase excepted. Each calls
// reached after its steps, and returns what that returns.
type Dropper interface {
	// SaveBase durably keeps what write writes as the base of an LSN, beside the bases that are there.
	SaveBase(lsn uint64, write func(io.Writer) error, reached func(ledger.RetentionStep) error) error
	// OpenBase opens the base of an LSN to be read.
	OpenBase(lsn uint64) (Base, error)
	// Drop durably puts a beginning, under its LSN, in the place of every group that begins at this LSN or before it: both or neither. An error
	// that wraps ErrNotDropped says that it is neither; after another one the log is in doubt.
	Drop(lsn uint64, beginning []byte, reached func(ledger.RetentionStep) error) error
	// Free gives the space back of groups that begin before an LSN, which were dropped, and removes every base but that of the LSN.
	Free(lsn uint64, reached func(ledger.RetentionStep) error) error
}

// ErrNotDropped says that groups were certainly not dropped.
var ErrNotDropped = errors.New("ledger: nothing was dropped")

// A Base is a base that is open.
type Base interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// A base is the base of a log that is open.
type base struct {
	beginning
	file     Base
	snapshot int64               // its length
	kept     map[uint64]keptPart // the records, by LSN
}

// A keptPart says where in a base a record is.
type keptPart struct {
	at   int64
	size int
}

// begins returns the place that a log begins after; b may be nil.
func (b *base) begins() ledger.Head {
	if b == nil {
		return ledger.Head{}
	}
	return b.After
}

// close closes the file of a base; b may be nil.
func (b *base) close() error {
	if b == nil {
		return nil
	}
	return b.file.Close()
}

// baseOf opens the base of a log, nil where the log begins with record 1. It refuses one that is not what the beginning says.
func baseOf(log Log) (*base, error) {
	g, err := beginningOf(log)
	if g == nil || err != nil {
		return nil, err
	}
	b, err := openBase(log, *g)
	if err != nil {
		return nil, fmt.Errorf("%w: the log begins at record %d, and the base of its retention checkpoint %w: restore the directory from a backup",
			ledger.ErrCorrupt, g.After.LSN+1, err)
	}
	return b, nil
}

func openBase(log Log, g beginning) (*base, error) {
	store, ok := log.(Dropper)
	if !ok {
		return nil, ledger.ErrNotRetained
	}
	file, err := store.OpenBase(g.After.LSN)
	if err != nil {
		return nil, fmt.Errorf("can't be read: %w", err)
	}
	b := &base{beginning: g, file: file}
	if err := b.scan(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return b, nil
}

// scan reads the whole base, and notes where its records are.
func (b *base) scan() error {
	size, err := b.file.Size()
	if err != nil {
		return fmt.Errorf("can't be read: %w", err)
	}
	sum := sha256.New()
	r := &baseReader{from: bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(b.file, 0, size), sum), 1<<20)}
	b.snapshot, b.kept, err = r.read(io.Discard)
	switch {
	case [32]byte(sum.Sum(nil)) != b.Base:
		return errors.New("is not the one that the service has signed")
	case err != nil:
		return fmt.Errorf("is not as a base is written: %w", err)
	}
	return nil
}

// A baseReader reads a base from its beginning.
type baseReader struct {
	from *bufio.Reader
	at   int64
}

func (r *baseReader) full(b []byte) error {
	n, err := io.ReadFull(r.from, b)
	r.at += int64(n)
	return err
}

func (r *baseReader) copyTo(to io.Writer, n int64) error {
	done, err := io.CopyN(to, r.from, n)
	r.at += done
	return err
}

// read reads all of a base, and writes its snapshot to one.
func (r *baseReader) read(snapshot io.Writer) (size int64, kept map[uint64]keptPart, err error) {
	var head [baseHeader]byte
	if err := r.full(head[:]); err != nil || string(head[:len(magicBase)]) != magicBase {
		return 0, nil, errors.Join(fmt.Errorf("it does not begin with %q", magicBase), err)
	}
	size = int64(binary.BigEndian.Uint64(head[len(magicBase):]))
	if err := r.copyTo(snapshot, size); err != nil {
		return 0, nil, fmt.Errorf("its snapshot is cut short: %w", err)
	}
	kept = map[uint64]keptPart{}
	for last := uint64(0); ; {
		var head [keptHeader]byte
		switch err := r.full(head[:]); {
		case errors.Is(err, io.EOF):
			return size, kept, nil
		case err != nil:
			return 0, nil, fmt.Errorf("a record is cut short: %w", err)
		}
		lsn, n := binary.BigEndian.Uint64(head[:]), int(binary.BigEndian.Uint32(head[8:]))
		if lsn <= last || n > state.MaxRecord() {
			return 0, nil, fmt.Errorf("record %d follows record %d, with %d bytes", lsn, last, n)
		}
		last, kept[lsn] = lsn, keptPart{r.at, n}
		if err := r.copyTo(io.Discard, int64(n)); err != nil {
			return 0, nil, fmt.Errorf("record %d is cut short: %w", lsn, err)
		}
	}
}

// past returns what the log comes to where it begins; b may be nil, for the past that fresh makes.
func (b *base) past(fresh func() *past) (*past, error) {
	if b == nil {
		return fresh(), nil
	}
	text := make([]byte, b.snapshot)
	if _, err := b.file.ReadAt(text, int64(baseHeader)); err != nil {
		return nil, fmt.Errorf("ledger: reading the base of the log: %w", err)
	}
	p, err := readSnapshot(text)
	if err == nil && p.head != b.After {
		err = fmt.Errorf("it is of record %d", p.head.LSN)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the log begins at record %d, and the state in the base of its retention checkpoint can't be used: %w", ledger.ErrCorrupt, b.After.LSN+1, err)
	}
	return p, nil
}

// record returns a record of the base, false where it has none of that LSN.
func (b *base) record(lsn uint64) (data []byte, found bool, err error) {
	part, found := b.kept[lsn]
	if !found {
		return nil, false, nil
	}
	data = make([]byte, part.size)
	_, err = b.file.ReadAt(data, part.at)
	return data, true, err
}

// pick is the function pick for records before the log's beginning.
func (b *base) pick(lsns []uint64, visit func(i int, r *state.Record) bool) error {
	var r state.Record
	for i, lsn := range lsns {
		if lsn > b.After.LSN {
			return nil
		}
		data, found, err := b.record(lsn)
		switch {
		case err != nil:
			return fmt.Errorf("record %d: %w", lsn, err)
		case !found:
			return fmt.Errorf("record %d was dropped: %w", lsn, ledger.ErrDropped)
		}
		if err := r.Decode(string(data)); err != nil {
			return fmt.Errorf("record %d: %w", lsn, err)
		}
		if !visit(i, &r) {
			return nil
		}
	}
	return nil
}

// records calls visit with every record of the base, in the order of the log.
func (b *base) records(visit func(lsn uint64, record string) error) error {
	lsns := make([]uint64, 0, len(b.kept))
	for lsn := range b.kept {
		lsns = append(lsns, lsn)
	}
	slices.Sort(lsns)
	for _, lsn := range lsns {
		data, _, err := b.record(lsn)
		if err == nil {
			err = visit(lsn, string(data))
		}
		if err != nil {
			return fmt.Errorf("record %d of the base: %w", lsn, err)
		}
	}
	return nil
}

// verify checks that the base has the state at the log's beginning, and the records that this names.
func (b *base) verify() error {
	p, err := b.past(nil)
	if err != nil {
		return err
	}
	live := p.state.Live()
	if len(live) != len(b.kept) {
		return fmt.Errorf("%w: the base of the log has %d records, and its state needs %d", ledger.ErrCorrupt, len(b.kept), len(live))
	}
	var r state.Record
	for _, lsn := range live {
		data, found, err := b.record(lsn)
		if err == nil && !found {
			err = errors.New("it is missing")
		}
		if err == nil {
			err = r.Decode(string(data))
		}
		if err != nil {
			return fmt.Errorf("%w: record %d, which the base of the log has to have: %w", ledger.ErrCorrupt, lsn, err)
		}
	}
	return nil
}

// saveBase writes the base of a past: its state, and the records of a log that it needs, which begins after another base where before is not
// nil. It returns its SHA-256.
func saveBase(to Dropper, p *past, log Log, before *base, reached func(ledger.RetentionStep) error) ([32]byte, error) {
	snapshot, sum := p.snapshot(), sha256.New()
	err := to.SaveBase(p.head.LSN, func(to io.Writer) error {
		w, err := newBaseWriter(io.MultiWriter(to, sum), snapshot)
		if err == nil {
			err = w.addFrom(log, before, p.state.Live())
		}
		if err != nil {
			return err
		}
		return w.to.Flush()
	}, reached)
	return [32]byte(sum.Sum(nil)), err
}

// A baseWriter writes a base.
type baseWriter struct {
	to *bufio.Writer
}

func newBaseWriter(to io.Writer, snapshot []byte) (*baseWriter, error) {
	w := &baseWriter{to: bufio.NewWriterSize(to, 1<<20)}
	head := binary.BigEndian.AppendUint64([]byte(magicBase), uint64(len(snapshot)))
	_, err := w.to.Write(head)
	if err == nil {
		_, err = w.to.Write(snapshot)
	}
	return w, err
}

func (w *baseWriter) add(lsn uint64, record string) error {
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, lsn), uint32(len(record)))
	_, err := w.to.Write(head)
	if err == nil {
		_, err = w.to.WriteString(record)
	}
	return err
}

// addFrom adds records of a log, or of the base that it begins with.
func (w *baseWriter) addFrom(log Log, before *base, lsns []uint64) error {
	for len(lsns) > 0 {
		if lsns[0] <= before.begins().LSN {
			data, found, err := before.record(lsns[0])
			if err == nil && !found {
				err = errors.New("it was dropped before")
			}
			if err == nil {
				err = w.add(lsns[0], string(data))
			}
			if err != nil {
				return fmt.Errorf("record %d, which is needed: %w", lsns[0], err)
			}
			lsns = lsns[1:]
			continue
		}
		n, err := w.addFromGroup(log, lsns)
		if err != nil {
			return err
		}
		lsns = lsns[n:]
	}
	return nil
}

// addFromGroup adds those records that are in the group of the first of some LSNs, and returns how many they are.
func (w *baseWriter) addFromGroup(log Log, lsns []uint64) (n int, err error) {
	var problem error
	err = log.Read(lsns[0], func(_ uint64, b []byte) bool {
		s, err := parse(b)
		if err == nil {
			err = s.scan(func(lsn uint64, data string) error {
				if n == len(lsns) || lsn != lsns[n] {
					return nil
				}
				n++
				return w.add(lsn, data)
			})
		}
		problem = err
		return false
	})
	if err = errors.Join(problem, err); err == nil && n == 0 {
		err = fmt.Errorf("%w: record %d is not in the log", ledger.ErrCorrupt, lsns[0])
	}
	return n, err
}
