package state

import (
	"fmt"
	"math"
	"slices"

	"bailiff/runtime/ledger"
)

// A boundDefault is a default policy that is or was in force.
type boundDefault struct {
	ledger.DefaultPolicy
	lsn uint64 // of the record that bound it
}

// A past is what the policies that governed a key say of one that it is to have.
type past struct {
	same   bool   // it governs the key now
	had    bool   // it has governed the key
	named  bool   // one of them named the key
	serial uint64 // the highest of theirs; 0 where none had any
}

func (p *past) add(hash, wanted [32]byte, named bool, serial uint64) {
	p.same = hash == wanted
	p.had = p.had || p.same
	p.named = p.named || named
	p.serial = max(p.serial, serial)
}

// pastOf returns what governed a key: the default policies, as long as it had none of its own, and those that it deployed.
func (s *State) pastOf(k *keyState, wanted [32]byte) (p past) {
	first := uint64(math.MaxUint64)
	if len(k.deployments) > 0 {
		first = k.deployments[0].LSN
	}
	for i := range s.defaults {
		d := &s.defaults[i]
		replaced := i+1 < len(s.defaults) && s.defaults[i+1].lsn < k.created
		switch {
		case d.lsn > first || replaced:
		case d.PolicyHash == [32]byte{} || !d.Names(k.key.ID):
			p.same = false
		default:
			p.add(d.PolicyHash, wanted, d.Named, d.Serial)
		}
	}
	for i := range k.deployments {
		d := &k.deployments[i]
		p.add(d.PolicyHash, wanted, d.Named, d.Serial)
	}
	return p
}

// refuses returns why a key with that past does not take a policy (decisions, section 5). What is in force may come again.
func (p *past) refuses(d *ledger.Deployment) error {
	switch {
	case p.same || d.Mirrored:
	case p.named && !d.Named:
		return fmt.Errorf("%w: key %s", ledger.ErrNotNamed, d.Key)
	case d.Serial <= p.serial && p.serial != 0:
		return &ledger.SerialError{Serial: d.Serial, Latest: p.serial}
	case p.had && d.RefuseRollback:
		return fmt.Errorf("%w: %x", ledger.ErrRollback, d.PolicyHash)
	}
	return nil
}

// BindDefault fills in the record of a new default policy, or returns why there is none. Where it is in force already there
// is nothing to record.
func (s *State) BindDefault(d *ledger.DefaultPolicy, r *Record) (bound ledger.BoundDefault, err error) {
	r.reset()
	if err := d.Validate(); err != nil {
		return bound, err
	}
	var none, last, latest [32]byte // last may be none; latest is not
	var p past
	for i := range s.defaults {
		if last = s.defaults[i].PolicyHash; last != none {
			latest = last
			p.add(last, d.PolicyHash, s.defaults[i].Named, s.defaults[i].Serial)
		}
	}
	switch {
	case last == d.PolicyHash:
		bound.Same = true
		return bound, nil
	case d.Known && !p.had && d.PolicyHash != latest:
		return bound, fmt.Errorf("%w: default policy %x", ledger.ErrNotFound, d.PolicyHash)
	case d.PolicyHash == none || d.PolicyHash == latest:
	case p.serial != 0 && d.Serial <= p.serial:
		return bound, &ledger.SerialError{Serial: d.Serial, Latest: p.serial}
	default:
		bound.Rollback, bound.Unnamed = p.had, p.named && !d.Named
	}
	r.Kind, r.Now = ledger.DefaultBound, d.At
	r.Default = &DefaultEffect{PolicyHash: d.PolicyHash, Rollback: bound.Rollback, Serial: d.Serial, Named: d.Named, Keys: slices.Clone(d.Keys)}
	return bound, nil
}

// replacedDefault reports whether another default policy than that of hash has been bound. Zeros ask for none.
func (s *State) replacedDefault(hash [32]byte) bool {
	n := len(s.defaults)
	return n > 0 && hash != [32]byte{} && s.defaults[n-1].PolicyHash != hash
}

func (s *State) applyDefault(_ *keyState, lsn uint64, r *Record) error {
	e := r.Default
	s.defaults = append(s.defaults, boundDefault{
		ledger.DefaultPolicy{At: r.Now, PolicyHash: e.PolicyHash, Serial: e.Serial, Named: e.Named, Keys: e.Keys}, lsn,
	})
	return nil
}
