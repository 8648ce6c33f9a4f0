package reopen

import (
	"context"

	"bailiff/runtime/ledger"
)

// MeetTools implements ledger.Ledger.
func (l *Ledger) MeetTools(ctx context.Context, list *ledger.ToolList) error {
	return l.do(func(in ledger.Ledger) error { return in.MeetTools(ctx, list) })
}

// AcceptTool implements ledger.Ledger.
func (l *Ledger) AcceptTool(ctx context.Context, d *ledger.PinDecision) error {
	return l.do(func(in ledger.Ledger) error { return in.AcceptTool(ctx, d) })
}

// ForgetTools implements ledger.Ledger.
func (l *Ledger) ForgetTools(ctx context.Context, d *ledger.PinDecision) error {
	return l.do(func(in ledger.Ledger) error { return in.ForgetTools(ctx, d) })
}

// Pins implements ledger.Ledger.
func (l *Ledger) Pins(ctx context.Context, key ledger.ID, server string) ([]ledger.Pin, error) {
	return call(l, func(in ledger.Ledger) ([]ledger.Pin, error) { return in.Pins(ctx, key, server) })
}

// Pin implements ledger.Ledger.
func (l *Ledger) Pin(ctx context.Context, key ledger.ID, server, tool string) (ledger.Pin, error) {
	return call(l, func(in ledger.Ledger) (ledger.Pin, error) { return in.Pin(ctx, key, server, tool) })
}
