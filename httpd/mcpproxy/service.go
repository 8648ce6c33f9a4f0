package mcpproxy

import (
	"context"
	"crypto/rand"
	"errors"

	"bailiff/httpd/client"
)

// Ask returns a [Decide] that asks the service as an agent. Each request has a nonce of its own, so that an answer which
// got lost can be asked for again and no other request gets it.
func Ask(service *client.Client, framework, agentID string) Decide {
	return func(ctx context.Context, intent *Intent, testRun bool) Decision {
		request := &client.Request{
			Framework: framework, AgentID: agentID, TxCommit: intent.TxCommit, RequestNonce: rand.Text(),
			Intent: client.Intent{Action: intent.Action, TaskID: intent.TaskID, Metadata: intent.Metadata},
		}
		ask := service.Authorize
		if testRun {
			ask = service.TestRun
		}
		answer, err := ask(ctx, request)
		var refused *client.Refused
		var unreachable *client.Unreachable
		switch {
		case errors.As(err, &refused):
			return Decision{Status: statusDenied, Code: refused.Code, Message: refused.Message}
		case errors.As(err, &unreachable):
			return Decision{Unreachable: true, Message: err.Error()}
		case err != nil: // the request cannot be written, so the service was not asked
			return Decision{Status: statusDenied, Code: string(codeUnreadable), Message: err.Error()}
		}
		return Decision{
			Status: answer.Status, Code: answer.ErrorCode, Rule: answer.MatchedRule, Message: answer.Message,
			HoldID: answer.HoldID, ApprovalURL: answer.ApprovalURL, PolicyHash: answer.PolicyHash, Attestation: answer.Attestation,
		}
	}
}
