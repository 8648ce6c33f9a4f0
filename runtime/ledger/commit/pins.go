package commit

import (
	"context"
	"fmt"
	"strconv"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// MeetTools implements ledger.Ledger.
func (l *Ledger) MeetTools(ctx context.Context, list *ledger.ToolList) error {
	return l.step(ctx, func(r *state.Record) error { return l.state.MeetTools(list, r) }, func(uint64) {})
}

// AcceptTool implements ledger.Ledger.
func (l *Ledger) AcceptTool(ctx context.Context, d *ledger.PinDecision) error {
	return l.step(ctx, func(r *state.Record) error { return l.state.AcceptTool(d, r) }, func(uint64) {})
}

// ForgetTools implements ledger.Ledger.
func (l *Ledger) ForgetTools(ctx context.Context, d *ledger.PinDecision) error {
	return l.step(ctx, func(r *state.Record) error { return l.state.ForgetTools(d, r) }, func(uint64) {})
}

// Pins implements ledger.Ledger.
func (l *Ledger) Pins(ctx context.Context, key ledger.ID, server string) (pins []ledger.Pin, err error) {
	err = l.view(ctx, key, func(s *state.State) { pins = s.Pins(key, server) })
	if err != nil {
		return nil, err
	}
	return pins, nil
}

// Pin implements ledger.Ledger.
func (l *Ledger) Pin(ctx context.Context, key ledger.ID, server, tool string) (p ledger.Pin, err error) {
	var accepted, changed uint64
	var found bool
	err = l.view(ctx, key, func(s *state.State) { p, accepted, changed, found = s.Pin(key, server, tool) })
	switch {
	case err != nil:
		return ledger.Pin{}, err
	case !found:
		return ledger.Pin{}, fmt.Errorf("%w: the tool %.80q of the server %.80q is not pinned", ledger.ErrNotFound, tool, server)
	}
	if p.Accepted.Text, err = l.definition(key, &p, accepted); err != nil {
		return ledger.Pin{}, err
	}
	if changed == 0 {
		return p, nil
	}
	if p.Changed.Text, err = l.definition(key, &p, changed); err != nil {
		return ledger.Pin{}, err
	}
	return p, nil
}

// definition reads the text of a definition from the record that has it.
func (l *Ledger) definition(key ledger.ID, p *ledger.Pin, lsn uint64) (text []byte, err error) {
	err = l.pickAt("the definition of the tool", strconv.Quote(p.Tool), []uint64{lsn}, func(_ int, r *state.Record) bool {
		text = r.Definition(key, p.Server, p.Tool)
		return false
	})
	switch {
	case err != nil:
		return nil, err
	case text == nil:
		return nil, fmt.Errorf("%w: record %d does not have the definition of the tool %.80q", ledger.ErrCorrupt, lsn, p.Tool)
	}
	return text, nil
}
