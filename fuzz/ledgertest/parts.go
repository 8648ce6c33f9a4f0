package ledgertest

import (
	"context"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
)

// Several is implemented by those ledgers of a [World] that are over several slots, each of which has a log of its own. Model holds each log
// against a model of its own, and what concerns all keys against all of them.
type Several interface {
	ledger.Ledger
	// Of returns in which slot a key is whose secret has a SHA-256 hash.
	Of(hash [32]byte) int
	// SlotLog returns the log of a slot.
	SlotLog(slot int) ledger.Log
	// SlotHealth returns nil while requests of a slot are answered.
	SlotHealth(slot int) error
}

// A Mover is a [Several] whose slots can move.
type Mover interface {
	// Move has another instance take over a slot, and returns when it has.
	Move(slot int) error
}

// modelKeys is how many keys the histories of Model have.
const modelKeys = 2

// modelKey returns a key of the histories of Model.
func modelKey(n uint64) ledger.Key {
	key := NewKey(n)
	key.Hash[31] = 1
	return key
}

// checkedParts are the logs of a ledger, each of which is checked.
type checkedParts struct {
	whole ledger.Ledger
	parts []*Checked
	slots []int             // of the parts; nil where there is one log
	in    map[ledger.ID]int // in which part a key is
	tried map[[32]byte]int  // in which part an activation was tried first
}

// checkParts has a ledger checked, each log of it by itself.
func checkParts(l ledger.Ledger, checks Checks) *checkedParts {
	c := &checkedParts{whole: l, in: map[ledger.ID]int{}, tried: map[[32]byte]int{}}
	several, ok := l.(Several)
	if !ok {
		c.parts = []*Checked{Check(l, checks)}
		return c
	}
	at := map[int]int{}
	for n := range uint64(modelKeys) {
		key := modelKey(n)
		slot := several.Of(key.Hash)
		number, known := at[slot]
		if !known {
			number = len(c.parts)
			at[slot] = number
			own := checks
			own.Elsewhere = func(activation [32]byte) bool {
				in, tried := c.tried[activation]
				c.tried[activation] = number
				if tried {
					c.tried[activation] = in
				}
				return tried && in != number
			}
			c.parts, c.slots = append(c.parts, Check(nil, own)), append(c.slots, slot)
		}
		c.in[key.ID] = number
	}
	for n := range c.parts {
		c.parts[n].Ledger = c.part(n)
	}
	return c
}

// onePart is a ledger over one log that is checked.
func onePart(c *Checked) *checkedParts { return &checkedParts{whole: c, parts: []*Checked{c}} }

// of returns the part with the log of a key; of none, the first one.
func (c *checkedParts) of(key ledger.ID) *Checked { return c.parts[c.in[key]] }

// violation returns the first finding.
func (c *checkedParts) violation() error {
	for _, part := range c.parts {
		if err := part.Violation(); err != nil {
			return err
		}
	}
	return nil
}

// restarted has another ledger continue the logs.
func (c *checkedParts) restarted(l ledger.Ledger) error {
	if c.whole = l; c.slots == nil {
		return c.parts[0].Restarted(l, nil)
	}
	for n, part := range c.parts {
		if err := part.Restarted(c.part(n), nil); err != nil {
			return fmt.Errorf("slot %d: %w", c.slots[n], err)
		}
	}
	return nil
}

// part returns a ledger over the log of one slot.
func (c *checkedParts) part(n int) ledger.Ledger {
	return &part{Ledger: c.whole, several: c.whole.(Several), slot: c.slots[n], all: c, number: n} //nolint:forcetypeassert // there are several slots
}

// moves reports whether slots can move.
func (h *history) moves() bool {
	_, can := h.whole.(Mover)
	return can && h.slots != nil
}

// move hands one of the slots over to another instance, which knows all that was recorded in it.
func (h *history) move(arg uint32) error {
	n := int(arg) % len(h.parts)
	before := h.parts[n]
	if err := h.whole.(Mover).Move(h.slots[n]); err != nil { //nolint:forcetypeassert // it is one
		return err
	}
	h.reached["moved"]++
	recorded := before.Recorded()
	if err := before.Restarted(h.part(n), nil); err != nil {
		return fmt.Errorf("slot %d moved: %w", h.slots[n], err)
	}
	if left := before.Recorded(); left != recorded {
		return fmt.Errorf("slot %d moved with %d records of %d", h.slots[n], left, recorded)
	}
	return h.compare()
}

// changeOther creates the other keys where they have logs of their own: a key that was never created is in no slot.
func (h *history) changeOther() error {
	for n := uint64(1); n < modelKeys && h.slots != nil; n++ {
		if err := h.of(ID('k', n)).CreateKey(context.Background(), modelKey(n)); err != nil {
			return err
		}
	}
	return nil
}

// expireAll records which holds have expired: no more than a limit where there is one log, and otherwise all.
func (h *history) expireAll(limit int) error {
	if h.slots == nil {
		_, err := h.parts[0].ExpireHolds(context.Background(), h.at, limit)
		return err
	}
	total := 0
	call := func() error {
		n, err := h.whole.ExpireHolds(context.Background(), h.at, 1000)
		if err == nil && n != total {
			err = fmt.Errorf("ExpireHolds: %d, the model says %d", n, total)
		}
		h.reached["hold expired"] += n
		return err
	}
	for _, part := range h.parts {
		due, inner := part.due(h.at, 1000), call
		if len(due) > 0 {
			total += len(due)
			call = func() error { return part.take("ExpireHolds", nil, due, inner) }
		}
	}
	return call()
}

// A part is a ledger over several slots as one of their logs has it. Calls that concern all keys go to the other parts, too, before the
// ledger is called.
type part struct {
	ledger.Ledger
	several Several
	slot    int
	all     *checkedParts
	number  int
	due     []ledger.Delivery // that were handed out when another part asked
}

// next returns the part that comes after this one, and the ledger after the last.
func (p *part) next() ledger.Ledger {
	if p.number+1 < len(p.all.parts) {
		return p.all.parts[p.number+1]
	}
	return p.Ledger
}

// Health implements ledger.Ledger.
func (p *part) Health() error { return p.several.SlotHealth(p.slot) }

// Head implements ledger.Ledger.
func (p *part) Head(ctx context.Context) (ledger.Head, error) {
	return p.several.SlotLog(p.slot).Head(ctx)
}

// Events implements ledger.Ledger.
func (p *part) Events(ctx context.Context, query ledger.EventQuery) (ledger.EventPage, error) {
	if query.Key.IsZero() {
		return p.several.SlotLog(p.slot).Events(ctx, query)
	}
	return p.Ledger.Events(ctx, query)
}

// Halt implements ledger.Ledger.
func (p *part) Halt(ctx context.Context, h *ledger.Halt) error {
	if !h.Key.IsZero() {
		return p.Ledger.Halt(ctx, h)
	}
	return p.next().Halt(ctx, h)
}

// RotateOperator implements ledger.Ledger.
func (p *part) RotateOperator(ctx context.Context, r *ledger.Rotation) error {
	return p.next().RotateOperator(ctx, r)
}

// BindDefault implements ledger.Ledger.
func (p *part) BindDefault(ctx context.Context, d *ledger.DefaultPolicy) (ledger.BoundDefault, error) {
	return p.next().BindDefault(ctx, d)
}

// Due implements ledger.Ledger, for the keys of the slot.
func (p *part) Due(ctx context.Context, at int64, limit int) ([]ledger.Delivery, int64, error) {
	all, next, err := p.Ledger.Due(ctx, at, limit)
	for _, d := range all {
		number, known := p.all.in[d.Webhook.Key]
		if !known {
			return nil, 0, errors.Join(err, fmt.Errorf("a delivery of key %s", d.Webhook.Key))
		}
		other := p.all.parts[number].Ledger.(*part) //nolint:forcetypeassert // each is one
		other.due = append(other.due, d)
	}
	due := p.due
	p.due = nil
	return due, next, err
}
