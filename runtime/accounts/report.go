package accounts

import (
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/runtime/webhook"
	"context"
	"encoding/hex"
	"fmt"
	"time"
)

// KeyReport is a key with what it has used and deployed.
type KeyReport struct {
	Key         KeyView
	PolicyHash  string // of the policy that the key has deployed; empty while it has none
	Quota       uint64 // ALLOWED decisions of a month after which the key is refused; 0: as many as there are
	Months      []MonthUsage
	Deployments []DeploymentView
}

// MonthUsage is how many ALLOWED decisions a key had in a month.
type MonthUsage struct {
	Month   string // UTC, "2026-11"
	Allowed uint64
}

// KeyReport returns what there is to know of a key without its secret.
func (a *Accounts) KeyReport(ctx context.Context, key *ledger.Key) (*KeyReport, *service.Failure) {
	used, err := a.Ledger.Usage(ctx, key.ID)
	if err != nil {
		return nil, a.StoreFault("usage could not be read", err)
	}
	deployed, err := a.Ledger.Deployments(ctx, key.ID)
	if err != nil {
		return nil, a.StoreFault("deployments could not be read", err)
	}
	report := &KeyReport{Key: viewKey(key), Quota: a.Quota(key), Deployments: viewDeployments(deployed)}
	if key.PolicyHash != [32]byte{} {
		report.PolicyHash = hex.EncodeToString(key.PolicyHash[:])
	}
	for i := len(used) - 1; i >= 0; i-- {
		first := time.Date(int(used[i].Month/12), time.Month(used[i].Month%12+1), 1, 0, 0, 0, 0, time.UTC)
		report.Months = append(report.Months, MonthUsage{first.Format(monthForm), used[i].Count})
	}
	return report, nil
}

// A DeploymentView is a line of a key's log of deployments.
type DeploymentView struct {
	PolicyHash string    `json:"policyHash"`
	DeployedAt time.Time `json:"deployedAt"`
	LSN        uint64    `json:"lsn"`
	Rollback   bool      `json:"rollback"`
	Serial     uint64    `json:"serial,omitempty"`
}

// Deployments lists the deployments of the key of an id, oldest first. An error that wraps ledger.ErrNotFound says that
// there is no such key.
func (a *Accounts) Deployments(ctx context.Context, id string) ([]DeploymentView, error) {
	key, err := ledger.ParseID(id)
	if err != nil {
		return nil, err
	}
	log, err := a.Ledger.Deployments(ctx, key)
	if err != nil {
		return nil, err
	}
	if _, found := a.Ledger.LookupKeyID(key); !found {
		return nil, fmt.Errorf("%w: no key has the id %s", ledger.ErrNotFound, key)
	}
	return viewDeployments(log), nil
}

func viewDeployments(log []ledger.DeploymentView) []DeploymentView {
	views := []DeploymentView{}
	for i := range log {
		views = append(views, DeploymentView{hex.EncodeToString(log[i].PolicyHash[:]), clock.Moment(log[i].At), log[i].LSN, log[i].Rollback, log[i].Serial})
	}
	return views
}

// WebhookReport is a webhook with how its deliveries are doing.
type WebhookReport struct {
	WebhookView
	DisabledAt time.Time         // when deliveries stopped after repeated failure; zero while it works
	Dropped    uint64            // events that were not delivered
	Attempts   []webhook.Attempt // the latest, newest first, since the service has started
}

// WebhookReports lists the webhooks of a key that its holder, or the operator, is told of, oldest first.
func (a *Accounts) WebhookReports(ctx context.Context, key *ledger.Key, operator bool) ([]WebhookReport, *service.Failure) {
	hooks, fault := a.hooksOf(ctx, key, operator)
	if fault != nil {
		return nil, fault
	}
	reports := make([]WebhookReport, len(hooks))
	for i := range hooks {
		reports[i] = WebhookReport{WebhookView: viewWebhook(&hooks[i]), Dropped: hooks[i].Dropped, Attempts: a.Deliveries.Of(hooks[i].ID)}
		if hooks[i].Disabled != 0 {
			reports[i].DisabledAt = clock.Moment(hooks[i].Disabled)
		}
	}
	return reports, nil
}
