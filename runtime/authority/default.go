package authority

import (
	"context"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
)

// BindDefault records which policy governs the keys without one of their own from now on, none where the service is hosted.
// It is to be called once, before anything is decided. The error says what an operator has to do where the policy has a lower
// serial than one before it (decisions, section 5); that it goes back to an earlier text is a WARN.
func (a *Authority) BindDefault(ctx context.Context) error {
	d := &ledger.DefaultPolicy{At: a.Clock().UnixNano()}
	if a.Policy != nil {
		d.PolicyHash, d.Serial, d.Named = a.Policy.digest, a.Policy.serial, a.Policy.named
		d.Known = a.Policy.Refused != nil
		for key := range a.Policy.keys {
			d.Keys = append(d.Keys, key)
		}
	}
	bound, err := a.Ledger.BindDefault(ctx, d)
	if d.Known && errors.Is(err, ledger.ErrNotFound) {
		if bound, err = a.bindUsed(ctx, d); err != nil {
			return err
		}
	}
	var serial *ledger.SerialError
	switch {
	case errors.As(err, &serial):
		return errors.New("the default policy goes back: " + lowSerial(serial))
	case err != nil:
		return fmt.Errorf("the default policy could not be recorded: %w", err)
	}
	if a.Policy != nil && a.Policy.Refused != nil {
		a.warnDeferred(&ledger.Key{}, a.Policy)
	}
	if bound.Rollback {
		a.Log.Warn("the default policy was in force before, and another one since; see that it is no old copy", "policyHash", a.Policy.Hash)
	}
	if bound.Unnamed {
		a.Log.Warn("the default policy is for every API key, and one before it named the keys that it was for; write `keys` into its `## deployment`", "policyHash", a.Policy.Hash)
	}
	return nil
}

// bindUsed binds a default policy whose text has errors by now, if an event says that it has judged before: older releases
// recorded no default policies. Otherwise the error is what is wrong with the text.
func (a *Authority) bindUsed(ctx context.Context, d *ledger.DefaultPolicy) (ledger.BoundDefault, error) {
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
			return ledger.BoundDefault{}, a.Policy.Refused
		}
		query.After = page.Next
	}
}
