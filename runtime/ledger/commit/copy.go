package commit

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// ErrBegun says that the oldest groups of a log were dropped by retention, so that it can't be copied to where all are kept.
var ErrBegun = errors.New("the oldest records were dropped by retention")

// A Copied is what Copy has copied.
type Copied struct {
	ledger.Head
	Groups, Keys int
	Bytes        int64
}

// Copy fills an empty log with the groups of another one, byte for byte, and returns how many they are, and where they end. Every group
// has to follow the one before it, and every record those before. Then the copy is read, and has to come to the same state. It gets a snapshot where it keeps
// one, so that opening it reads no more than that; random gives the secret of the state in there. A last group whose checksum is wrong was
// never acknowledged, and is not copied, but where the log is a Confirmer, which keeps a group whole or not at all. told is called with the
// LSN that was reached.
func Copy(from, to Log, random io.Reader, told func(lsn uint64)) (copied Copied, err error) {
	switch b, err := beginningOf(from); {
	case err != nil:
		return copied, err
	case b != nil:
		return copied, fmt.Errorf("%w: it begins with record %d", ErrBegun, b.After.LSN+1)
	}
	last, err := from.Head()
	if err != nil {
		return copied, err
	}
	filling, err := Restore(to)
	if err != nil {
		return copied, err
	}
	var drawn Ledger
	if err := drawn.draw(random); err != nil {
		return copied, err
	}
	filling.past.state = state.New(drawn.secret)
	_, whole := from.(Confirmer)
	var problem error
	err = from.Read(1, func(first uint64, group []byte) bool {
		problem = filling.Add(group)
		if first == last && errors.Is(problem, errTorn) && !whole {
			problem = nil
			return false
		}
		if problem == nil {
			copied.Head, copied.Groups, copied.Bytes = filling.Head(), copied.Groups+1, copied.Bytes+int64(len(group))
			told(copied.LSN)
		}
		return problem == nil
	})
	if err = errors.Join(problem, err); err != nil {
		return copied, err
	}
	filling.past.state.Keys(func(ledger.Key) { copied.Keys++ })
	if err := comesTo(to, filling.past); err != nil {
		return copied, err
	}
	if store, ok := to.(Snapshots); ok {
		err = store.SaveSnapshot(filling.past.snapshot())
	}
	return copied, err
}

// comesTo returns an error where a log does not come to a past.
func comesTo(log Log, want *past) error {
	again := &past{state: want.state.Fresh()}
	var r state.Record
	var problem error
	err := log.Read(1, func(first uint64, group []byte) bool {
		problem = again.replay(&r, first, group, func() {})
		return problem == nil
	})
	switch {
	case problem != nil:
		return fmt.Errorf("%w: the copy: %w", ledger.ErrCorrupt, problem)
	case err != nil:
		return fmt.Errorf("ledger: reading the copy: %w", err)
	case again.head != want.head || !bytes.Equal(again.snapshot(), want.snapshot()):
		return fmt.Errorf("%w: the copy, up to record %d, comes to another state than the log, up to record %d", ledger.ErrCorrupt, again.head.LSN, want.head.LSN)
	}
	return nil
}
