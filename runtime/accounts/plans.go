package accounts

import (
	"fmt"
	"slices"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// A plan is what an account pays for (specification, accounts.5). Money is in thousandths of a USD, so that every price is
// an integer.
type plan struct {
	name     string
	fee      uint64 // a month
	included uint64 // ALLOWED decisions a month; 0: unbounded
	stored   uint64 // bytes of deployed policies that are kept for a key of a hosted service; 0: unbounded
	refuses  bool   // beyond what is included it refuses
	overage  uint64 // price of each decision beyond
	webhooks bool   // confers webhooks:write
	contract bool   // the price is agreed on with each account
}

// The names of the plans.
const (
	planDeveloper  = "developer"
	planGrowth     = "growth"
	planPro        = "pro" // another name of growth
	planEnterprise = "enterprise"
)

var plans = []plan{
	{name: planDeveloper, included: 1_000, stored: 20 << 20, refuses: true},
	{name: planGrowth, fee: 49_000, included: 10_000, overage: 2, webhooks: true},
	{name: planEnterprise, webhooks: true, contract: true},
}

// parsePlan returns the plan of a name, for an operator who writes it.
func parsePlan(name string) (plan, error) {
	if name == planPro {
		name = planGrowth
	}
	i := slices.IndexFunc(plans, func(p plan) bool { return p.name == name })
	if i < 0 {
		return plan{}, fmt.Errorf("%w: unknown plan %.64q: use %s, %s (or %s), %s", ledger.ErrInvalid, name, planDeveloper, planGrowth, planPro, planEnterprise)
	}
	return plans[i], nil
}

// planOf returns the plan of a key. An unknown one counts as the smallest.
func planOf(key *ledger.Key) plan {
	p, err := parsePlan(key.Tier)
	if err != nil {
		return plans[0]
	}
	return p
}

// defaultPlan is the plan of a key for which the operator names none. Self-hosted, it refuses nothing.
func (a *Accounts) defaultPlan() plan {
	if a.Hosted {
		return plans[0]
	}
	return plans[len(plans)-1]
}

// scopes returns the scopes of a key that had these and now has the plan.
func (p *plan) scopes(had ledger.Scopes) ledger.Scopes {
	if p.webhooks {
		return had | ledger.ScopeWebhooks
	}
	return had &^ ledger.ScopeWebhooks
}

// Quota is the number of ALLOWED decisions after which a key is refused for the rest of the month; 0 for none. Hosted
// production alone has one (decisions, sections 1 and 3).
func (a *Accounts) Quota(key *ledger.Key) uint64 {
	if p := planOf(key); a.Hosted && a.Environment == service.Production && p.refuses {
		return p.included
	}
	return 0
}

// Storage is how many bytes of texts and programs the deployments of a key may keep; 0 for no limit. Hosted services alone
// have one (decisions, section 8).
func (a *Accounts) Storage(key *ledger.Key) uint64 {
	if !a.Hosted {
		return 0
	}
	p := planOf(key)
	return p.stored
}

// QuotaExceeded answers an intent that would have been allowed.
func QuotaExceeded(key *ledger.Key, now int64) *service.Failure {
	p, at := planOf(key), clock.Moment(now)
	return service.Fail(errcode.QuotaExceeded, fmt.Sprintf("the plan %s includes %d allowed actions a month, and they are used up; the next month starts at %s",
		p.name, p.included, time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)))
}
