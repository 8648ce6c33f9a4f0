package state

import (
	"fmt"
	"time"

	"bailiff/runtime/ledger"
)

// Restore fills in the first record after a restore from a backup.
func (s *State) Restore(v *ledger.Restoration, r *Record) error {
	r.reset()
	if err := v.Validate(); err != nil {
		return err
	}
	if latest := s.Latest(); v.At < latest {
		return fmt.Errorf("%w: the backup has records of %s, later than now; set the clock", ledger.ErrInvalid, time.Unix(0, latest).UTC().Format(time.RFC3339))
	}
	r.Kind, r.Now, r.Restored = ledger.ServiceRestored, v.At, v
	return nil
}

// applyRestored takes back everything that may have been used after the backup: attestations, activations, answers that can be repeated,
// holds that are not used yet, and, unless the counters are kept, the rest of every open window.
func (s *State) applyRestored(_ *keyState, _ uint64, r *Record) error {
	v := r.Restored
	s.tokens.forgotten = max(s.tokens.forgotten, r.Now+attestationLife)
	s.activations.forgotten = max(s.activations.forgotten, r.Now+activationLife)
	s.replays = replayTable{}
	for _, k := range s.keys {
		k.holds.end(r.Now)
		if !v.KeepCounters {
			k.counters.useUp()
		}
	}
	s.endPending(r.Now)
	if !v.KeepCounters {
		s.usedUp = r.Now
	}
	if !v.Thawed {
		s.halt.Since, s.halt.Last = r.Now, r.Now
		s.halt.Reason = v.Reason()
	}
	return nil
}

func (r *Record) showRestored(e *ledger.LoggedEvent) { e.Reason = r.Restored.Reason() }
