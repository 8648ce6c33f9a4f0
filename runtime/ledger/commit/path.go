package commit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// Path implements ledger.Ledger.
func (l *Ledger) Path(ctx context.Context, lsn uint64, most int) (path ledger.Path, err error) {
	l.mu.Lock()
	head, begins, err := l.head, l.base.begins(), l.refusal()
	l.mu.Unlock()
	switch {
	case err != nil:
		return path, err
	case lsn <= begins.LSN && lsn != 0:
		return path, fmt.Errorf("%w: the log begins at record %d, and %d was asked for", ledger.ErrDropped, begins.LSN+1, lsn)
	case lsn == 0 || lsn > head.LSN:
		return path, fmt.Errorf("%w: the log has no durable record %d; it ends at %d", ledger.ErrNotFound, lsn, head.LSN)
	}
	var at ledger.Head
	var problem error
	size, full := 0, false
	err = l.log.Read(lsn, func(first uint64, b []byte) bool {
		if problem = context.Cause(ctx); problem != nil {
			return false
		}
		if problem = chain(&at, first, b); problem != nil {
			return false
		}
		if full = full || len(path.Groups) > 0 && size+len(b) > most; !full {
			path.Groups, path.End, size = append(path.Groups, slices.Clone(b)), at, size+len(b)
		}
		return at.LSN < head.LSN
	})
	switch {
	case err != nil:
		return ledger.Path{}, fmt.Errorf("%w: reading the log after %d: %w", ledger.ErrUnavailable, lsn, err)
	case problem != nil:
		return ledger.Path{}, fmt.Errorf("%w: %w", ledger.ErrCorrupt, problem)
	case at != head:
		return ledger.Path{}, fmt.Errorf("%w: the groups from record %d on do not lead to the head of the log", ledger.ErrCorrupt, lsn)
	}
	return path, nil
}

// chain moves at, which is zero before the first group, to the end of a group that has to follow it. It does not look at the
// records.
func chain(at *ledger.Head, first uint64, b []byte) error {
	if len(b) < headerBytes+sumBytes {
		return fmt.Errorf("group %d: it has %d bytes", first, len(b))
	}
	next := ledger.Head{Hash: sha256.Sum256(b)}
	copy(next.Stream[:], b[len(magic):])
	own, count := binary.BigEndian.Uint64(b[20:]), uint64(binary.BigEndian.Uint32(b[28:]))
	switch {
	case own != first || own == 0 || count == 0 || own > ledger.MaxLSN:
		return fmt.Errorf("group %d: it has the number %d and %d records", first, own, count)
	case at.LSN != 0 && (first != at.LSN+1 || (next.Stream != at.Stream) != (string(b[:len(magic)]) == magicBegins) || [32]byte(b[32:headerBytes]) != at.Hash):
		return fmt.Errorf("group %d: it does not follow the one before", first)
	}
	next.LSN = first + count - 1
	*at = next
	return nil
}

// VerifyPath checks that the groups of a path follow each other, and returns the record of an LSN in them, and the head of the log
// that they end with. The error wraps ledger.ErrCorrupt.
func VerifyPath(groups [][]byte, lsn uint64) (r *state.Record, end ledger.Head, err error) {
	for _, b := range groups {
		first := end.LSN + 1
		if end.LSN == 0 && len(b) >= headerBytes {
			first = binary.BigEndian.Uint64(b[20:])
		}
		if err := chain(&end, first, b); err != nil {
			return nil, end, fmt.Errorf("%w: %w", ledger.ErrCorrupt, err)
		}
		s, err := parse(b)
		if err == nil {
			var one state.Record
			err = s.each(&one, func(at uint64) error {
				if at == lsn {
					r = new(state.Record)
					return r.Decode(string(one.Append(nil)))
				}
				return nil
			})
		}
		if err != nil {
			return nil, end, fmt.Errorf("%w: group %d: %w", ledger.ErrCorrupt, first, err)
		}
	}
	if r == nil {
		return nil, end, fmt.Errorf("%w: record %d is in none of the groups", ledger.ErrCorrupt, lsn)
	}
	return r, end, nil
}
