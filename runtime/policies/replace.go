package policies

import (
	"context"
	"errors"
	"time"

	"bailiff/runtime/ledger"
)

// A replacement is a change of the default policy that is under way.
type replacement struct{ done chan struct{} }

// replaceRetry is how long to wait before the ledger is asked again whether it has recorded a default policy.
const replaceRetry = 50 * time.Millisecond

// ReplaceDefault puts another default policy in force while requests are decided, by the rules of BindDefault. It reports false
// where the policy was in force already. On an error the policy in force stays.
//
// The policy is recorded first. What was judged by the policy before and comes to the ledger later is judged anew, so that the
// log has no decision by the policy before after the record, and it waits until the new policy is in force. install is called
// in between, for others that have to change with the policy; it must not fail.
func (a *Policies) ReplaceDefault(ctx context.Context, policy *Policy, install func()) (changed bool, err error) {
	a.replaced.Lock()
	defer a.replaced.Unlock()
	before := a.DefaultPolicy()
	switch {
	case before == nil || policy == nil:
		return false, errors.New("a hosted service has no default policy; deploy a policy to each key")
	case before.Digest == policy.Digest:
		return false, nil
	case policy.Earlier:
		return false, errEarlier
	case policy.Refused != nil:
		return false, policy.Refused
	}
	under := &replacement{make(chan struct{})}
	a.replacing.Store(under)
	defer func() {
		a.replacing.Store(nil)
		close(under.done)
	}()
	bound, err := a.recordDefault(ctx, policy)
	if err != nil {
		return false, notBound(err)
	}
	install()
	a.InForce.Store(policy)
	a.Programs.superseded(before)
	a.warnDefault(policy, bound)
	return true, nil
}

// recordDefault records a default policy. Where it is unknown whether that was done, the ledger is asked until it is known: a
// ledger that has recorded another policy than the one in force refuses everything that is judged by the latter.
func (a *Policies) recordDefault(ctx context.Context, policy *Policy) (ledger.BoundDefault, error) {
	for unknown := false; ; {
		bound, err := a.Ledger.BindDefault(context.WithoutCancel(ctx), a.asDefault(policy))
		unknown = unknown || errors.Is(err, ledger.ErrUnknown)
		undecided := errors.Is(err, ledger.ErrUnknown) || errors.Is(err, ledger.ErrUnavailable)
		if !unknown || !undecided {
			return bound, err
		}
		select {
		case <-ctx.Done():
			return bound, err
		case <-a.Timers.Alarm(replaceRetry).C:
		}
	}
}

// ReplacingDefault reports whether a change of the default policy is under way.
func (a *Policies) ReplacingDefault() bool { return a.replacing.Load() != nil }

// AwaitReplacement waits until no change of the default policy is under way, or ctx ends.
func (a *Policies) AwaitReplacement(ctx context.Context) {
	if under := a.replacing.Load(); under != nil {
		select {
		case <-under.done:
		case <-ctx.Done():
		}
	}
}
