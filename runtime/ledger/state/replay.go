package state

import (
	"encoding/binary"
	"fmt"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/codec"
)

// A replayRef names a request that was allowed.
type replayRef struct {
	key ledger.ID
	id  [32]byte
}

// A replay is what memory keeps of such a decision; the rest stays in the log, at lsn.
type replay struct {
	lsn     uint64
	epoch   uint64
	expires int64
}

// A replayTable finds the decisions that can be asked for again. The times are those of their attestations, and not of keys,
// whose time may be ahead of the clock.
type replayTable struct {
	by    map[replayRef]replay
	order []replayDue // in the order of the log
	head  int         // of order: what is before it has been forgotten
}

type replayDue struct {
	ref     replayRef
	expires int64
}

// findReplay returns the record of the decision that a plan repeats.
func (s *State) findReplay(k *keyState, p *ledger.Plan) (lsn uint64, found bool) {
	if p.Replay == nil || p.TestRun {
		return 0, false
	}
	known, found := s.replays.by[replayRef{p.Key, p.Replay.ID}]
	switch {
	case !found || p.At >= known.expires || known.expires > p.At+int64(ledger.ReplayLife):
		return 0, false
	case known.epoch != k.key.Epoch || len(k.deployments) == 0 && known.lsn < s.latestDefault():
		return 0, false
	case s.voids(k, known.expires-int64(ledger.ReplayLife)):
		return 0, false
	}
	return known.lsn, true
}

// latestDefault returns the record of the default policy that is in force, 0 where there is none.
func (s *State) latestDefault() uint64 {
	if n := len(s.defaults); n > 0 {
		return s.defaults[n-1].lsn
	}
	return 0
}

// add remembers a decision, and forgets some of those that have expired or are too many.
func (t *replayTable) add(ref replayRef, r replay) {
	if t.by == nil {
		t.by = map[replayRef]replay{}
	}
	t.by[ref] = r
	t.order = append(t.order, replayDue{ref, r.expires})
	issued := r.expires - int64(ledger.ReplayLife)
	for range sweepStep {
		oldest := t.order[t.head]
		if issued < oldest.expires && len(t.order)-t.head <= ledger.MaxReplays {
			break
		}
		if t.by[oldest.ref].expires == oldest.expires { // and not of a later decision
			delete(t.by, oldest.ref)
		}
		t.head++
	}
	if t.head > len(t.order)/2 {
		t.order = slices.Delete(t.order, 0, t.head)
		t.head = 0
	}
}

func (s *State) applyReplay(k *keyState, lsn uint64, r *Record) error {
	if r.Ending.Decision != ledger.Allowed {
		return fmt.Errorf("a decision %s that can be replayed", r.Ending.Decision)
	}
	s.replays.add(replayRef{r.Key, r.Replay.ID}, replay{lsn, k.key.Epoch, r.Replay.Expires})
	return nil
}

// Replayed fills in the decision that r records. It reports whether r is one of the key that can be replayed.
func (r *Record) Replayed(key ledger.ID, d *ledger.ReplayedDecision) bool {
	if r.Kind != ledger.Decided || r.Key != key || r.Replay == nil {
		return false
	}
	*d = ledger.ReplayedDecision{Result: r.Result, Ending: r.Ending, Observed: r.Observed, Now: r.Now, Replay: *r.Replay}
	return true
}

func (t *replayTable) appendSnapshot(b []byte) []byte {
	b = codec.AppendCount(b, len(t.order)-t.head)
	for _, due := range t.order[t.head:] {
		b = append(append(b, due.ref.key[:]...), due.ref.id[:]...)
		b = codec.AppendMoment(b, due.expires)
		known := t.by[due.ref]
		latest := known.expires == due.expires
		if !latest {
			known = replay{}
		}
		b = binary.AppendUvarint(append(b, codec.Bit(latest)), known.lsn)
		b = binary.AppendUvarint(b, known.epoch)
	}
	return b
}

func (t *replayTable) readSnapshot(d *decoder) {
	for range d.Count() {
		var due replayDue
		d.Copy(due.ref.key[:])
		d.Copy(due.ref.id[:])
		due.expires = d.Moment()
		latest, known := d.Bool(), replay{lsn: d.Uvarint(), epoch: d.Uvarint(), expires: due.expires}
		if latest {
			if t.by == nil {
				t.by = map[replayRef]replay{}
			}
			t.by[due.ref] = known
		}
		t.order = append(t.order, due)
	}
}
