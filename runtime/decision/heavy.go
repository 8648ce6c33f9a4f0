package decision

import (
	"context"

	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// judgeInTurn judges the intent. Where that may take long, and for an explanation, which runs every rule and some of them
// again, the key's requests take turns, and few are judged at once. The turn of an explanation lasts until the function that
// comes back is called.
func (a *Decider) judgeInTurn(ctx context.Context, r *Request) (done func(), fault *service.Failure) {
	release := r.turn
	r.turn = nil
	switch {
	case release != nil:
	case !r.Explain && r.policy.Effort.Of(len(r.body)) <= heavyEvaluation:
		r.judge()
		return func() {}, nil
	default:
		if release, fault = a.heavyTurn(ctx, r.key.ID); fault != nil {
			return nil, fault
		}
	}
	lasts := false
	defer func() {
		if !lasts { // after a panic as well: the turn would be taken for good
			release()
		}
	}()
	r.judge()
	if lasts = r.Explain; lasts {
		return release, nil
	}
	return func() {}, nil
}

// heavyTurn waits for the key's turn to be judged. What it returns gives the turn back.
func (a *Decider) heavyTurn(ctx context.Context, key ledger.ID) (release func(), fault *service.Failure) {
	waiting, cancel := a.Timeout(ctx, heavyWait)
	defer cancel()
	release, ok := a.heavy.Take(waiting, key)
	if !ok {
		return nil, service.Retryable(errcode.EvaluationBusy, "such a request takes long to judge or to explain, and others wait for it; send fewer at once, or a smaller one", service.ComeAgain)
	}
	return release, nil
}

// judgeBy has a request judged by a policy, and by the one before no more.
func (a *Decider) judgeBy(r *Request, policy *policies.Policy) {
	if r.policy != nil {
		a.Policies.Release(r.policy)
	}
	if r.policy = policy; policy != nil {
		a.Policies.Acquire(policy)
	}
}
