package hook

import (
	"cmp"
	"fmt"
	"time"
)

// The statuses of the service's answers.
const (
	allowed = "ALLOWED"
	pending = "PENDING"
)

// An Answered is what the service answered.
type Answered struct {
	Status      string
	Code        string
	Rule        string // matched_rule
	Message     string
	HoldID      string // of PENDING
	ExpiresAt   int64  // of the hold, in Unix seconds
	ApprovalURL string // where approvers decide it; empty where there are none
}

// Decision is what an answer means to a host. A host knows no holds: PENDING is a denial that says what to do.
func (a Answered) Decision() Decision {
	switch a.Status {
	case allowed:
		return Decision{Allowed: true}
	case pending:
		at := ""
		if a.ApprovalURL != "" {
			at = "an approver decides it at " + a.ApprovalURL + ", or "
		}
		return Decision{Reason: fmt.Sprintf(
			"a person has to approve this call first: %s (%s, rule %s). Hold %s, until %s; %san operator approves it with: bailiff holds approve %s --key FILE (the operator's key). Then make the same call again.",
			a.Message, cmp.Or(a.Code, pending), cmp.Or(a.Rule, "unknown"), a.HoldID, time.Unix(a.ExpiresAt, 0).UTC().Format(time.RFC3339), at, a.HoldID)}
	}
	if a.Rule == "" {
		return Decision{Reason: fmt.Sprintf("denied: %s (%s)", a.Message, cmp.Or(a.Code, "no code"))}
	}
	return Decision{Reason: fmt.Sprintf("denied by the policy: %s (%s, rule %s). The same call would be denied again.", a.Message, cmp.Or(a.Code, "no code"), a.Rule)}
}
