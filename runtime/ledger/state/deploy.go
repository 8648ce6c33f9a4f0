package state

import (
	"fmt"
	"slices"

	"bailiff/runtime/ledger"
)

// Deploy fills in the record that binds a policy to a key, or returns why there is none. It is judged in the order:
// key, operator, names, serial, rollback, storage, activation. Key and LSN of the result are not filled in.
func (s *State) Deploy(d *ledger.Deployment, r *Record) (ledger.Deployed, error) {
	r.reset()
	var done ledger.Deployed
	if err := d.Validate(); err != nil {
		return done, err
	}
	k := s.keys[d.Key]
	switch {
	case k == nil:
		return done, fmt.Errorf("%w: key %s", ledger.ErrNotFound, d.Key)
	case k.key.Revoked != 0:
		return done, fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, d.Key)
	case s.stops(k):
		return done, fmt.Errorf("%w: deployment for key %s", ledger.ErrHalted, d.Key)
	case s.operators.Replaced(d.Operator) || k.key.Operator != [32]byte{} && s.operators.Current(k.key.Operator) != d.Operator:
		return done, fmt.Errorf("%w: key %s", ledger.ErrOperator, d.Key)
	}
	past := s.pastOf(k, d.PolicyHash)
	done.Same, done.Rollback = past.same, past.had && !past.same
	if err := past.refuses(d); err != nil {
		return done, err
	}
	if done.Stored = k.stored + d.Size(); d.MaxStored != 0 && done.Stored > d.MaxStored {
		return done, &ledger.StorageError{Size: d.Size(), Stored: k.stored, Most: d.MaxStored}
	}
	done.At = max(k.now, d.At)
	if a := d.Activation; a != nil {
		if err := s.activations.check(a.ID, a.Expires, done.At); err != nil {
			return done, fmt.Errorf("%w: activation %x", err, a.ID)
		}
	}
	r.Kind, r.Key, r.Now, r.Epoch = ledger.PolicyBound, d.Key, done.At, k.key.Epoch+1
	r.Deployed = &DeployEffect{
		Operator: d.Operator, PolicyHash: d.PolicyHash, PolicyVersion: d.PolicyVersion, Machine: d.Machine,
		Rollback: done.Rollback, Named: d.Named, Serial: d.Serial, Activation: d.Activation, Text: d.Text, Program: d.Program,
	}
	k.tell(r)
	return done, nil
}

func (s *State) applyDeployed(k *keyState, lsn uint64, r *Record) error {
	e := r.Deployed
	if r.Epoch != k.key.Epoch+1 {
		return fmt.Errorf("epoch %d cannot follow epoch %d", r.Epoch, k.key.Epoch)
	}
	if a := e.Activation; a != nil {
		if err := s.activations.add(a.ID, a.Expires, r.Now); err != nil {
			return err
		}
	}
	k.key.Epoch, k.key.Operator, k.key.PolicyHash, k.key.PolicyLSN = r.Epoch, e.Operator, e.PolicyHash, lsn
	k.stored += uint64(len(e.Text)) + uint64(len(e.Program))
	k.deployments = append(k.deployments, ledger.DeploymentView{PolicyHash: e.PolicyHash, At: r.Now, LSN: lsn, Rollback: e.Rollback, Named: e.Named, Serial: e.Serial})
	return nil
}

// Deployments returns a key's deployments, oldest first.
func (s *State) Deployments(key ledger.ID) []ledger.DeploymentView {
	if k := s.keys[key]; k != nil {
		return slices.Clone(k.deployments)
	}
	return nil
}

// Policy fills in a stored policy from the record that deployed it. It reports whether r is such a record of the key.
func (r *Record) Policy(key ledger.ID, p *ledger.StoredPolicy) bool {
	if r.Kind != ledger.PolicyBound || r.Key != key {
		return false
	}
	e := r.Deployed
	*p = ledger.StoredPolicy{
		Operator: e.Operator, PolicyHash: e.PolicyHash, Version: e.PolicyVersion,
		Text: e.Text, Program: e.Program, Machine: e.Machine, At: r.Now,
	}
	return true
}
