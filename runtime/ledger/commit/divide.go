package commit

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// A Division says how the log of a service becomes those of the slots of a store.
type Division struct {
	// To are the empty logs of the slots. The first gets the groups, each other one begins after them.
	To []Log
	// Enter is called with each key.
	Enter func(key *ledger.Key, slot int)
	// At is the time of the division.
	At int64
	// Sign signs what a slot's log begins with: a drop without an exported file, since the groups stay.
	Sign func(*ledger.Drop) ([]byte, error)
	// Ended is called with the end of the log of each slot.
	Ended func(slot int, end ledger.Head)
	// Random gives the secret of the state in snapshots.
	Random io.Reader
	// Told is called with the LSN that was reached.
	Told func(lsn uint64)
}

// Divide copies a log into that of the first slot, as [Copy] does, and adds the record of the division, after which it has no keys. The log of
// each other slot begins after the last group that was copied: its base is what the log has come to there, of the keys of this slot alone. It
// is a stream of its own.
func Divide(from Log, d *Division) (copied Copied, err error) {
	fresh, err := DrawnState(d.Random)
	if err != nil {
		return copied, err
	}
	filling, err := CopyGroups(from, d.To[0], ledger.MaxLSN, fresh, d.Told)
	if err != nil {
		return copied, err
	}
	if copied = filling.Filled(); copied.LSN == 0 {
		return copied, errors.New("ledger: the record is empty; there is nothing to divide")
	}
	filling.past.state.Keys(func(key ledger.Key) { d.Enter(&key, ledger.SlotOf(key.Hash, len(d.To))) })
	before, err := baseOf(from)
	if err != nil {
		return copied, err
	}
	defer func() { err = errors.Join(err, before.close()) }()
	whole := filling.past.snapshot()
	for slot := 1; slot < len(d.To); slot++ {
		if err := d.begin(slot, whole, from, before); err != nil {
			return copied, fmt.Errorf("slot %d: %w", slot, err)
		}
	}
	var r state.Record
	if err := filling.past.state.Divide(len(d.To)-1, d.At, &r); err != nil {
		return copied, err
	}
	if _, err := filling.Put(&r); err != nil {
		return copied, err
	}
	if err := filling.Flush(); err != nil {
		return copied, err
	}
	d.Ended(0, filling.Head())
	return copied, filling.Verify()
}

// begin has the log of a slot begin with what the log that is divided has come to.
func (d *Division) begin(slot int, whole []byte, from Log, before *base) error {
	p, err := readSnapshot(whole)
	if err != nil {
		return err
	}
	to, ok := d.To[slot].(Dropper)
	if !ok {
		return ledger.ErrNotRetained
	}
	p.state.Keep(func(key *ledger.Key) bool { return ledger.SlotOf(key.Hash, len(d.To)) == slot }, p.head.LSN)
	p.times.dropThrough(p.head.LSN)
	p.head.Stream = slotStream(p.head.Stream, slot)
	nothing := func(ledger.RetentionStep) error { return nil }
	drop := ledger.Drop{At: d.At, Through: p.head}
	if drop.Base, err = saveBase(to, p, from, before, nothing); err != nil {
		return err
	}
	signed, err := d.Sign(&drop)
	if err != nil {
		return err
	}
	g := beginning{ledger.Beginning{After: p.head, Base: drop.Base, Signed: signed}}
	if err := to.Drop(p.head.LSN, g.seal(), nothing); err != nil {
		return err
	}
	b, err := openBase(d.To[slot], g)
	if err != nil {
		return fmt.Errorf("%w: its base %w", ledger.ErrCorrupt, err)
	}
	d.Ended(slot, p.head)
	return errors.Join(b.verify(), b.close())
}

// BeginAs has an empty log begin with the service-wide state that another one begins with, and with no keys. The ledger over it follows the log
// that the other one follows, from where that began.
func BeginAs(to Dropper, other Log) error {
	b, err := baseOf(other)
	if err != nil {
		return err
	}
	p, err := b.past(func() *past { return &past{state: state.New(state.Secret{})} })
	if err = errors.Join(err, b.close()); err != nil || b == nil {
		return err
	}
	p.state.Keep(func(*ledger.Key) bool { return false }, p.state.Followed())
	nothing := func(ledger.RetentionStep) error { return nil }
	g := beginning{ledger.Beginning{After: p.head}}
	if g.Base, err = saveBase(to, p, nil, nil, nothing); err != nil {
		return err
	}
	return to.Drop(p.head.LSN, g.seal(), nothing)
}

// EndOf returns where a log ends; the zero Head where it is empty.
func EndOf(log Log) (end ledger.Head, err error) {
	last, err := log.Head()
	if err != nil || last == 0 {
		return end, err
	}
	var problem error
	err = log.Read(last, func(_ uint64, b []byte) bool {
		end, problem = headOf(b)
		return false
	})
	return end, errors.Join(problem, err)
}

// VerifyDivided returns an error where the log of a slot, which begins after a place, does not continue the one of the first slot.
func VerifyDivided(first Log, slot int, begins ledger.Head) error {
	var at ledger.Head
	var problem error
	err := first.Read(begins.LSN, func(_ uint64, b []byte) bool {
		at, problem = headOf(b)
		return false
	})
	if err = errors.Join(problem, err); err != nil {
		return err
	}
	if at.Stream = slotStream(at.Stream, slot); at != begins {
		return fmt.Errorf("%w: the log begins after a record %d that is not the one of slot 0's log", ledger.ErrCorrupt, begins.LSN)
	}
	return nil
}

// slotStream is the id of the stream of a slot of a log that was divided.
func slotStream(stream [16]byte, slot int) [16]byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint32(append([]byte("slot"), stream[:]...), uint32(slot))) //nolint:gosec // 1024 at most
	return [16]byte(sum[:16])
}
