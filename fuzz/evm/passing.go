package evm

import (
	"errors"
	"math/rand/v2"

	"bailiff/runtime/attest"
)

// Passing looks for a policy that needs no setting of the gateway, and for so many transactions that authorize attests and the gateway
// lets through under it.
func Passing(r *rand.Rand, signer *attest.Signer, n int) (policy *Policy, transactions []*Plan, err error) {
	for range 100 {
		if policy = NewPolicy(r); policy.FeeSetting != nil {
			continue
		}
		s, err := NewService(policy, signer)
		if err != nil {
			return nil, nil, err
		}
		transactions = nil
		for range 100 {
			p := NewPlan(r, policy)
			if _, write, _ := s.Forward(p, authorize); write != nil && p.Op == nil && len(transactions) < n {
				transactions = append(transactions, p)
			}
		}
		s.Close()
		if len(transactions) == n {
			return policy, transactions, nil
		}
	}
	return nil, nil, errors.New("no policy lets transactions through")
}
