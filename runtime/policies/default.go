package policies

import (
	"context"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
)

// BindDefault records which policy governs the keys without one of their own from now on, none where the service is hosted.
// It is to be called once, before anything is decided. The error says what an operator has to do where the policy has a lower
// serial than one before it (decisions, section 5); that it goes back to an earlier text is a WARN.
func (a *Policies) BindDefault(ctx context.Context) error {
	policy := a.DefaultPolicy()
	d := a.asDefault(policy)
	bound, err := a.Ledger.BindDefault(ctx, d)
	if d.Known && errors.Is(err, ledger.ErrNotFound) && policy.Earlier {
		return errEarlier
	}
	if d.Known && errors.Is(err, ledger.ErrNotFound) {
		if bound, err = a.bindUsed(ctx, d); err != nil {
			return err
		}
	}
	if err != nil {
		return notBound(err)
	}
	if policy != nil {
		a.warnDefault(policy, bound)
	}
	return nil
}

// errEarlier says that a default policy can't come into force, because its signature is that of a key that was replaced.
var errEarlier = errors.New("the default policy is signed by an operator key that was replaced, and was not in force before; sign it with the new one: bailiff sign --key FILE")

// DefaultPolicy returns the policy that governs the keys without one of their own; nil where the service is hosted.
func (a *Policies) DefaultPolicy() *Policy { return a.InForce.Load() }

// DefaultText returns the text of the default policy in force where it has a hash.
func (a *Policies) DefaultText(hash [32]byte) (text string, ok bool) {
	policy := a.DefaultPolicy()
	if policy == nil || policy.Digest != hash {
		return "", false
	}
	return string(policy.Text), true
}

// asDefault is a policy, nil for none, as the ledger records it.
func (a *Policies) asDefault(policy *Policy) *ledger.DefaultPolicy {
	d := &ledger.DefaultPolicy{At: a.Clock().UnixNano()}
	if policy != nil {
		d.PolicyHash, d.Serial, d.Named, d.Known = policy.Digest, policy.serial, policy.named, policy.Refused != nil || policy.Earlier
		for key := range policy.Keys {
			d.Keys = append(d.Keys, key)
		}
	}
	return d
}

// notBound says why the ledger has not recorded a default policy.
func notBound(err error) error {
	var serial *ledger.SerialError
	if errors.As(err, &serial) {
		return errors.New("the default policy goes back: " + lowSerial(serial))
	}
	return fmt.Errorf("the default policy could not be recorded: %w", err)
}

// DefaultRefused says why a ledger that came later has refused the default policy in force.
func (a *Policies) DefaultRefused(err error) error {
	policy := a.DefaultPolicy()
	var serial *ledger.SerialError
	switch {
	case errors.As(err, &serial):
		return fmt.Errorf("the serial of the default policy is %d, and %d was in force there; load the newer policy, and send SIGHUP", serial.Serial, serial.Latest)
	case policy == nil || !errors.Is(err, ledger.ErrNotFound):
		return notBound(err)
	case policy.Earlier:
		return errEarlier
	case policy.Refused != nil:
		return policy.Refused
	}
	return notBound(err)
}

// DefaultBound logs what an operator should know of the default policy in force, where a ledger that came later has bound it.
func (a *Policies) DefaultBound(bound ledger.BoundDefault) {
	if policy := a.DefaultPolicy(); policy != nil && (bound.Rollback || bound.Unnamed) {
		a.warnDefault(policy, bound)
	}
}

// warnDefault logs what an operator should know of a default policy that was bound.
func (a *Policies) warnDefault(policy *Policy, bound ledger.BoundDefault) {
	if policy.Refused != nil {
		a.warnDeferred(&ledger.Key{}, policy)
	}
	if bound.Rollback {
		a.Log.Warn("the default policy was in force before, and another one since; check that it is not an old copy", "policyHash", policy.Hash)
	}
	if bound.Unnamed {
		a.Log.Warn("the default policy is for every API key, and one before it named the keys that it was for; write `keys` into its `## deployment`", "policyHash", policy.Hash)
	}
}

// bindUsed binds a default policy whose text has errors by now, if an event says that it has judged before: older releases
// recorded no default policies. Otherwise the error is what is wrong with the text.
func (a *Policies) bindUsed(ctx context.Context, d *ledger.DefaultPolicy) (ledger.BoundDefault, error) {
	for query := (ledger.EventQuery{Limit: ledger.MaxEventPage}); ; {
		page, err := a.Ledger.Events(ctx, query)
		if err != nil {
			return ledger.BoundDefault{}, fmt.Errorf("whether the default policy was in force could not be read: %w", err)
		}
		for i := range page.Events {
			if page.Events[i].Event.PolicyHash == d.PolicyHash {
				d.Known = false
				return a.Ledger.BindDefault(ctx, d)
			}
		}
		if !page.More {
			return ledger.BoundDefault{}, a.DefaultPolicy().Refused
		}
		query.Continue(&page)
	}
}
