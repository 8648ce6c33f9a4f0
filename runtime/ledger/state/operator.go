package state

import (
	"encoding/binary"
	"fmt"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/codec"
)

// RotateOperator fills in the record of a rotation, or returns why there is none.
func (s *State) RotateOperator(q *ledger.Rotation, r *Record) error {
	r.reset()
	if err := q.Validate(); err != nil {
		return err
	}
	if err := s.admitsRotation(q); err != nil {
		return err
	}
	r.Kind, r.Now, r.Rotation = ledger.OperatorRotated, q.At, q
	return nil
}

// admitsRotation returns why a rotation can't follow those before it.
func (s *State) admitsRotation(q *ledger.Rotation) error {
	o := &s.operators
	switch {
	case q.Signed != nil && q.Signed.Serial <= o.Serial:
		return fmt.Errorf("%w: the statement has serial %d, and %d was used", ledger.ErrStatementSerial, q.Signed.Serial, o.Serial)
	case len(o.Keys) > 0 && o.Keys[len(o.Keys)-1] != q.From:
		return fmt.Errorf("%w: the key that is to be replaced is not the operator's", ledger.ErrOperator)
	case slices.Contains(o.Keys, q.To):
		return fmt.Errorf("%w: the new key was the operator's before; make another one", ledger.ErrInvalid)
	case len(o.Keys) > ledger.MaxRotations:
		return fmt.Errorf("%w: the operator's key was replaced %d times already", ledger.ErrTooMany, ledger.MaxRotations)
	}
	return nil
}

// applyRotation makes a rotation so. Keys that are pinned to an earlier key of the operator's follow by [ledger.Operators.Current].
func (s *State) applyRotation(_ *keyState, _ uint64, r *Record) error {
	if err := s.admitsRotation(r.Rotation); err != nil {
		return err
	}
	o := &s.operators
	if len(o.Keys) == 0 {
		o.Keys = append(o.Keys, r.Rotation.From)
	}
	o.Keys = append(slices.Clip(o.Keys), r.Rotation.To) // those that were shown stay as they are
	if r.Rotation.Signed != nil {
		o.Serial = r.Rotation.Signed.Serial
	}
	return nil
}

// Operators returns the keys of the service's operator. They are shared, and must not be changed.
func (s *State) Operators() ledger.Operators { return s.operators }

// staleOperator returns why a key may not sign any more, nil where it may.
func (s *State) staleOperator(key [32]byte) error {
	if s.operators.Replaced(key) {
		return fmt.Errorf("%w: the operator key that signed was replaced", ledger.ErrOperator)
	}
	return nil
}

func (r *Record) showRotation(e *ledger.LoggedEvent) { e.Rotation = r.Rotation }

// rotation is the body of a rotation.
var rotation = &field{
	"from to (0 | 1 serial signed-at signature)", 2*32 + 1 + 2*maxVarint + 64,
	func(r *Record, b []byte) []byte {
		q := r.Rotation
		return appendSigned(append(append(b, q.From[:]...), q.To[:]...), q.Signed)
	}, func(r *Record, d *decoder) {
		q := &ledger.Rotation{At: r.Now}
		d.Copy(q.From[:])
		d.Copy(q.To[:])
		q.Signed = readSigned(d)
		d.Check(q.Validate() == nil, "a rotation that is out of bounds")
		r.Rotation = q
	},
}

// appendSigned appends a statement, nil for none.
func appendSigned(b []byte, s *ledger.HaltStatement) []byte {
	b = append(b, codec.Bit(s != nil))
	if s == nil {
		return b
	}
	b = codec.AppendMoment(binary.AppendUvarint(b, s.Serial), s.At)
	return append(b, s.Signature[:]...)
}

func readSigned(d *decoder) *ledger.HaltStatement {
	if !d.Bool() {
		return nil
	}
	s := &ledger.HaltStatement{Serial: d.Uvarint(), At: d.Time()}
	d.Check(s.Serial > 0, "a statement without a serial")
	d.Copy(s.Signature[:])
	return s
}

func (s *State) appendOperators(b []byte) []byte {
	b = codec.AppendCount(binary.AppendUvarint(b, s.operators.Serial), len(s.operators.Keys))
	for _, key := range s.operators.Keys {
		b = append(b, key[:]...)
	}
	return b
}

func (s *State) readOperators(d *decoder) {
	s.operators.Serial = d.Uvarint()
	s.operators.Keys = make([][32]byte, d.Count())
	for i := range s.operators.Keys {
		d.Copy(s.operators.Keys[i][:])
	}
}
