package commit

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// A Copied is what Copy has copied.
type Copied struct {
	ledger.Head
	Groups, Keys int
	Bytes        int64
	Environments map[string]int // how many of the keys are good in each environment
}

// Copy fills an empty log with the groups of another one, byte for byte, and returns how many they are, and where they end. A log whose
// oldest groups were dropped is copied with its base. Every group
// has to follow the one before it, and every record those before. Then the copy is read, and has to come to the same state. It gets a snapshot where it keeps
// one, so that opening it reads no more than that; random gives the secret of the state in there. A last group whose checksum is wrong was
// never acknowledged, and is not copied, but where the log is a Confirmer, which keeps a group whole or not at all. told is called with the
// LSN that was reached.
func Copy(from, to Log, random io.Reader, told func(lsn uint64)) (copied Copied, err error) {
	fresh, err := DrawnState(random)
	if err != nil {
		return copied, err
	}
	filling, err := CopyGroups(from, to, ledger.MaxLSN, fresh, told)
	if err != nil {
		return copied, err
	}
	return filling.Filled(), filling.Verify()
}

// CopyGroups is Copy of the groups that begin with a record up to one. Where the log has no base, fresh is the state that it begins with. The copy
// is not read.
func CopyGroups(from, to Log, upto uint64, fresh *state.State, told func(lsn uint64)) (*Restoring, error) {
	last, err := from.Head()
	if err != nil {
		return nil, err
	}
	filling, err := fill(from, to, fresh)
	if err != nil {
		return nil, err
	}
	_, whole := from.(Confirmer)
	begins := filling.Head().LSN
	var problem error
	err = from.Read(begins+1, func(first uint64, group []byte) bool {
		if first <= begins || first > upto {
			return first <= upto
		}
		problem = filling.Add(group)
		if first == last && errors.Is(problem, errTorn) && !whole {
			problem = nil
			return false
		}
		if problem == nil {
			told(filling.Head().LSN)
		}
		return problem == nil
	})
	return filling, errors.Join(problem, err)
}

// DrawnState returns the state of an empty log. Random gives its secret.
func DrawnState(random io.Reader) (*state.State, error) {
	var drawn Ledger
	err := drawn.draw(random)
	return state.New(drawn.secret), err
}

// fill begins to fill a log with another one: where retention has dropped groups, with their base.
func fill(from, to Log, fresh *state.State) (*Restoring, error) {
	filling, err := RestoreAs(to, fresh)
	if err != nil {
		return nil, err
	}
	b, err := baseOf(from)
	if b == nil || err != nil {
		return filling, err
	}
	size, err := b.file.Size()
	if err == nil {
		_, err = filling.Begin(b.seal(), io.NewSectionReader(b.file, 0, size))
	}
	return filling, errors.Join(err, b.close())
}

// comesTo returns an error where a log does not come to a past.
func comesTo(log Log, want *past) error {
	b, err := baseOf(log)
	if err != nil {
		return fmt.Errorf("the copy: %w", err)
	}
	again, err := b.past(func() *past { return &past{state: want.state.Fresh()} })
	if err = errors.Join(err, b.close()); err != nil {
		return fmt.Errorf("the copy: %w", err)
	}
	begins := again.head.LSN
	var r state.Record
	var problem error
	err = log.Read(begins+1, func(first uint64, group []byte) bool {
		if first > begins {
			problem = again.replay(&r, first, group, func() {})
		}
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
