package state

import (
	"fmt"
	"strings"

	"bailiff/runtime/ledger"
)

// halted returns what a halt is about: the state of its key, or of the service.
func (s *State) halted(key ledger.ID) (*ledger.HaltState, *keyState) {
	if key.IsZero() {
		return &s.halt, nil
	}
	if k := s.keys[key]; k != nil {
		return &k.key.Halt, k
	}
	return nil, nil
}

// Halt fills in the record of a halt, or returns why there is none; r.Kind is NoRecord where nothing changes. A statement counts
// once: its serial is above that of the one before.
func (s *State) Halt(h *ledger.Halt, r *Record) error {
	r.reset()
	if err := h.Validate(); err != nil {
		return err
	}
	if err := s.staleOperator(h.Operator); err != nil {
		return err
	}
	now, k := s.halted(h.Key)
	switch {
	case now == nil:
		return fmt.Errorf("%w: key %s", ledger.ErrNotFound, h.Key)
	case k != nil && k.key.Revoked != 0:
		return fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, h.Key)
	case h.Signed != nil && h.Signed.Serial <= now.Serial:
		return fmt.Errorf("%w: the statement has serial %d, and %d was used", ledger.ErrStatementSerial, h.Signed.Serial, now.Serial)
	case h.Stop == now.Stopped() && h.Signed == nil:
		return nil // nothing changes
	}
	r.Kind, r.Key, r.Now, r.Halt = h.Kind(), h.Key, h.At, h
	if k != nil {
		r.Now, r.Epoch = max(k.now, h.At), k.key.Epoch+1
	}
	return nil
}

// applyHalt makes a halt so. A key's epoch moves with each: plans from before are judged again.
func (s *State) applyHalt(k *keyState, _ uint64, r *Record) error {
	now, _ := s.halted(r.Key)
	if k != nil {
		if r.Epoch != k.key.Epoch+1 {
			return fmt.Errorf("epoch %d cannot follow epoch %d", r.Epoch, k.key.Epoch)
		}
		k.key.Epoch = r.Epoch
	}
	now.Reason, now.Since = strings.Clone(r.Halt.Reason), 0
	if r.Halt.Stop {
		now.Since, now.Last = r.Now, r.Now
	}
	if r.Halt.Signed != nil {
		now.Serial = r.Halt.Signed.Serial
	}
	return nil
}

// Frozen returns how far the service is stopped.
func (s *State) Frozen() ledger.HaltState { return s.halt }

// stops reports whether nothing may be done for a key now.
func (s *State) stops(k *keyState) bool { return s.halt.Stopped() || k.key.Halt.Stopped() }

// voids reports whether an attestation that was issued in the second of a time is void, because its key or the service was
// stopped since.
func (s *State) voids(k *keyState, issued int64) bool {
	last := max(s.halt.Last, k.key.Halt.Last)
	return last != 0 && issued <= last
}

func (r *Record) showHalt(e *ledger.LoggedEvent) {
	e.Reason, e.Statement = r.Halt.Reason, r.Halt.Signed
}
