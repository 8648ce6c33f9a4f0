package serve

import (
	"cmp"
	"context"
	"strings"
	"time"

	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/policies"
)

// comparePoliciesEvery is how often an instance compares its default policy with those of the others.
const comparePoliciesEvery = time.Minute

// notePolicy notes a default policy as this instance's, nil for none, unless it is noted already. The caller has the lock.
func (r *service) notePolicy(policy *policies.Policy) error {
	hash := ""
	if policy != nil {
		hash = policy.Hash
	}
	o := &r.policies
	if o.known && hash == o.noted {
		return nil
	}
	if err := r.store.NotePolicy(hash); err != nil {
		return err
	}
	o.known, o.noted = true, hash
	return nil
}

// noteFirstPolicy notes the default policy of a service that starts, and may wait for another instance: nothing else does it until it
// decides. Where that fails it is noted then.
func (r *service) noteFirstPolicy() {
	r.policies.mu.Lock()
	defer r.policies.mu.Unlock()
	if err := r.notePolicy(r.boot.Policy); err != nil {
		r.log.Warn("the default policy can't be noted for the other instances; it will be when this one decides", "error", err)
	}
}

// comparePolicies compares the default policy in force with those of the other instances.
func (r *service) comparePolicies(context.Context) error {
	r.comparePolicy(r.decider.DefaultPolicy())
	return nil
}

// comparePolicy says in the log which instances have another default policy. Without a serial the ledger takes either.
func (r *service) comparePolicy(policy *policies.Policy) {
	o := &r.policies
	o.mu.Lock()
	defer o.mu.Unlock()
	all, err := []pgledger.InstancePolicy(nil), r.notePolicy(policy)
	if err == nil {
		all, err = r.store.Policies()
	}
	if err != nil {
		r.log.Warn("the default policy can't be compared with those of the other instances", "error", err)
		return
	}
	var others []string
	for _, one := range all {
		if one.Instance != r.store.Name() && one.Policy != o.noted {
			others = append(others, one.Instance+" "+cmp.Or(one.Policy, "none"))
		}
	}
	o.number.Store(int64(len(others)))
	if said := strings.Join(others, ", "); said != o.said {
		o.said = said
		if said == "" {
			r.log.Info("the other instances have the default policy of this one", "policyHash", o.noted)
			return
		}
		r.log.Warn("other instances have another default policy: give all of them the same file, reload those that decide, and restart those that wait", "policyHash", o.noted, "others", said)
	}
}
