package state

import (
	"encoding/binary"
	"fmt"
	"slices"

	"bailiff/runtime/ledger"
)

// DropEvents fills in the record of a drop of old events, or returns why there is none.
func (s *State) DropEvents(d *ledger.Drop, r *Record) error {
	r.reset()
	if err := d.Validate(); err != nil {
		return err
	}
	r.Kind, r.Now, r.Drop = ledger.EventsDropped, d.At, d
	return nil
}

// applyDrop notes how far a drop goes. A crash may keep the groups there for the next one.
func (s *State) applyDrop(_ *keyState, lsn uint64, r *Record) error {
	if r.Drop.Through.LSN >= lsn {
		return fmt.Errorf("it drops the log up to record %d, which is not before it", r.Drop.Through.LSN)
	}
	s.dropped = max(s.dropped, r.Drop.Through.LSN)
	return nil
}

func (r *Record) showDrop(e *ledger.LoggedEvent) { e.Drop = r.Drop }

// Live returns the LSNs of the records that the state is not enough for, ascending: holds' intents, policies, definitions of
// pinned tools, answers that can be repeated, and events that webhooks wait for.
func (s *State) Live() (lsns []uint64) {
	for _, k := range s.keys {
		for _, h := range k.holds.byID {
			lsns = append(lsns, h.lsn)
		}
		for i := range k.deployments {
			lsns = append(lsns, k.deployments[i].LSN)
		}
		if k.hooks != nil {
			for _, h := range k.hooks.list {
				for lsn := range h.queue {
					lsns = append(lsns, lsn)
				}
			}
		}
		lsns = k.pins.AppendRecords(lsns)
	}
	for _, r := range s.replays.by {
		lsns = append(lsns, r.lsn)
	}
	slices.Sort(lsns)
	lsns = slices.Compact(lsns)
	if len(lsns) > 0 && lsns[0] == 0 { // a definition that has not changed
		lsns = lsns[1:]
	}
	return lsns
}

// PendingHold reports whether a hold waits for a decision.
func (s *State) PendingHold(key, id ledger.ID) bool {
	k := s.keys[key]
	return k != nil && k.holds.byID[id].state == ledger.HoldPending
}

// dropEffect is the body of a drop.
var dropEffect = &field{
	"stream lsn hash base-hash export-hash", 16 + maxVarint + 3*32,
	func(r *Record, b []byte) []byte {
		d := r.Drop
		b = binary.AppendUvarint(append(b, d.Through.Stream[:]...), d.Through.LSN)
		b = append(append(b, d.Through.Hash[:]...), d.Base[:]...)
		return append(b, d.Export[:]...)
	}, func(r *Record, d *decoder) {
		q := &ledger.Drop{At: r.Now}
		d.Copy(q.Through.Stream[:])
		q.Through.LSN = d.Uvarint()
		d.Copy(q.Through.Hash[:])
		d.Copy(q.Base[:])
		d.Copy(q.Export[:])
		d.Check(q.Validate() == nil, "a drop that is out of bounds")
		r.Drop = q
	},
}
