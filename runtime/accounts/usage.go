package accounts

import (
	"context"
	"fmt"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
)

// UsageView is what a key has used in a month, and what that costs by the plan that it has now. Amounts are USD with three
// decimals, exact.
type UsageView struct {
	KeyID       string `json:"key_id"`
	Email       string `json:"email"`
	Plan        string `json:"plan"`
	Environment string `json:"environment"`
	Month       string `json:"month"`    // UTC, "2026-11"
	Allowed     uint64 `json:"allowed"`  // ALLOWED decisions
	Included    uint64 `json:"included"` // in the plan; 0: as many as there are
	Overage     uint64 `json:"overage"`  // beyond those
	FeeUSD      string `json:"fee_usd"`  // of the plan; empty where a contract says it
	OverageUSD  string `json:"overage_usd"`
	AmountUSD   string `json:"amount_usd"` // both; empty where a contract says it
}

// monthForm is how a month is written.
const monthForm = "2006-01"

// Usage returns for each key that there was in a month ("2026-11"; "" is the current one, UTC) what it used and what it
// would be billed. Only a hosted production service bills; elsewhere everything costs nothing. An error that wraps
// ledger.ErrInvalid says that the month is none.
func (a *Accounts) Usage(ctx context.Context, month string) ([]UsageView, error) {
	start := a.Clock().UTC()
	if month != "" {
		var err error
		if start, err = time.Parse(monthForm, month); err != nil {
			return nil, fmt.Errorf("%w: %.32q is not a month: write it as YYYY-MM", ledger.ErrInvalid, month)
		}
	}
	keys, err := a.Ledger.Keys(ctx)
	if err != nil {
		return nil, err
	}
	views := []UsageView{}
	for i := range keys {
		used, err := a.Ledger.Usage(ctx, keys[i].ID)
		if err != nil {
			return nil, err
		}
		if view := a.bill(&keys[i], used, start); view.Allowed > 0 || existed(&keys[i], start) {
			views = append(views, view)
		}
	}
	return views, nil
}

// existed reports whether a key was there and good at some time of the month.
func existed(key *ledger.Key, month time.Time) bool {
	from := time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(0, 1, 0)
	return clock.Moment(key.Created).Before(to) && (key.Revoked == 0 || !clock.Moment(key.Revoked).Before(from))
}

// bill is what a key's use in a month comes to.
func (a *Accounts) bill(key *ledger.Key, used []ledger.Usage, month time.Time) UsageView {
	p := planOf(key)
	if !a.Hosted || key.Environment != service.Production {
		p = plan{name: p.name}
	}
	view := UsageView{
		KeyID: key.ID.String(), Email: key.Email, Plan: p.name, Environment: key.Environment, Month: month.Format(monthForm),
		Allowed: allowedIn(used, month), Included: p.included,
	}
	if p.included > 0 && view.Allowed > p.included {
		view.Overage = view.Allowed - p.included
	}
	view.OverageUSD = dollars(view.Overage * p.overage)
	if !p.contract {
		view.FeeUSD, view.AmountUSD = dollars(p.fee), dollars(p.fee+view.Overage*p.overage)
	}
	return view
}

func allowedIn(used []ledger.Usage, month time.Time) uint64 {
	for _, u := range used {
		if u.Month == uint32(12*month.Year()+int(month.Month())-1) {
			return u.Count
		}
	}
	return 0
}

// dollars writes thousandths of a USD.
func dollars(thousandths uint64) string {
	return fmt.Sprintf("%d.%03d", thousandths/1000, thousandths%1000)
}
