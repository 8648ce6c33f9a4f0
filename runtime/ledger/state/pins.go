package state

import (
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/pins"
)

// MeetTools fills in the record of what is new about the tools that a server lists; r.Kind is NoRecord where nothing is.
func (s *State) MeetTools(l *ledger.ToolList, r *Record) error {
	r.reset()
	if err := l.Validate(); err != nil {
		return err
	}
	return s.changePins(l.Key, l.At, r, func(t *pins.Table) (*pins.Effect, error) {
		effect, err := t.Meet(l)
		if effect != nil && s.stops(s.keys[l.Key]) {
			return nil, fmt.Errorf("%w: tools of %s", ledger.ErrHalted, l.Server)
		}
		return effect, err
	})
}

// changePins fills in the record of what becomes of a key's pins; r.Kind is NoRecord where nothing does.
func (s *State) changePins(key ledger.ID, at int64, r *Record, change func(*pins.Table) (*pins.Effect, error)) error {
	k := s.keys[key]
	switch {
	case k == nil:
		return fmt.Errorf("%w: key %s", ledger.ErrNotFound, key)
	case k.key.Revoked != 0:
		return fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, key)
	}
	effect, err := change(k.pins)
	if err != nil || effect == nil {
		return err
	}
	r.Kind, r.Key, r.Now, r.Pins = ledger.PinsChanged, key, max(k.now, at), effect
	return nil
}

// AcceptTool fills in the record of the definition that an operator accepts, or returns why there is none. r.Kind is NoRecord
// where that is accepted and nothing else is seen.
func (s *State) AcceptTool(d *ledger.PinDecision, r *Record) error {
	return s.decidePins(d, r, (*pins.Table).Accept)
}

// ForgetTools fills in the record of pins that an operator gives up: of one tool or, without a name, of a server.
func (s *State) ForgetTools(d *ledger.PinDecision, r *Record) error {
	if d.Tool == "" {
		if _, err := s.pinsOf(d.Key).Forget(d); err != nil {
			return err
		}
	}
	return s.decidePins(d, r, (*pins.Table).Forget)
}

func (s *State) decidePins(d *ledger.PinDecision, r *Record, decide func(*pins.Table, *ledger.PinDecision) (*pins.Effect, error)) error {
	r.reset()
	if d.At < 0 || d.At > ledger.MaxTime {
		return fmt.Errorf("%w: a decision on a tool at %d: use Unix nanoseconds", ledger.ErrInvalid, d.At)
	}
	return s.changePins(d.Key, d.At, r, func(t *pins.Table) (*pins.Effect, error) { return decide(t, d) })
}

func (s *State) applyPins(k *keyState, lsn uint64, r *Record) (err error) {
	k.pins, err = k.pins.Apply(r.Pins, lsn, r.Now)
	return err
}

// pinsOf returns the pins of a key, nil where it has none.
func (s *State) pinsOf(key ledger.ID) *pins.Table {
	if k := s.keys[key]; k != nil {
		return k.pins
	}
	return nil
}

// Pins returns the pins of a key, of one server or, without a name, of all, in the order of their names.
func (s *State) Pins(key ledger.ID, server string) []ledger.Pin { return s.pinsOf(key).All(server) }

// Pin returns a pin, and the LSNs of the records that have the texts of its definitions, 0 where there is none.
func (s *State) Pin(key ledger.ID, server, tool string) (p ledger.Pin, accepted, changed uint64, found bool) {
	return s.pinsOf(key).Pin(server, tool)
}

// Definition returns the definition of a tool that r records, nil where it does not record one.
func (r *Record) Definition(key ledger.ID, server, tool string) []byte {
	if r.Kind != ledger.PinsChanged || r.Key != key {
		return nil
	}
	return r.Pins.Definition(server, tool)
}
