// Package webhook delivers events to the receivers that keys have registered (decisions, section 5, "Webhooks").
//
// A delivery is a POST as Standard Webhooks has it: the headers webhook-id, webhook-timestamp and webhook-signature
// (v1, HMAC-SHA256), and a JSON body of type, timestamp and data, where data is the event as GET /v1/events shows it.
// The webhook-id is "<id of the webhook>.<LSN of the event>", the same for each attempt, so that a receiver can recognise
// a repetition; after an export of several slots the stream that began with it follows. An answer of 2xx is success, and everything else a failure; redirects are not followed.
//
// Deliveries come from the ledger's outbox, where they were written with the events themselves, and leave it when they
// have succeeded: each is made at least once, across restarts and failures of the ledger. Their order is not promised. A
// failed one is tried again after 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, each a tenth more or less. One
// that has failed ten times, or that the receiver answers with 410 Gone, is given up, and counted.
//
// A receiver that has accepted nothing for 24 hours, in which at least 20 attempts failed by its own fault, is sent a
// webhook.ping, whose data is empty and whose webhook-id ends in ".ping". If it refuses that too, the webhook is disabled until its
// key's holder enables it again, and its waiting deliveries are dropped. An answer that does not come in time is not counted as
// the receiver's fault, because the service may be slow itself; nor does the time before the service was started count.
//
// Customers choose receivers, so that requests to them are confined: by [CheckURL] when they are registered, and
// by the address of every connection when it is made, whatever name it was found under. No proxy is used.
//
// A slow receiver delays only its own deliveries. Each receiver has a few requests under way at most; one that fails or is slow
// has a single one, and all such receivers together have at most half of all requests.
package webhook

import (
	"context"

	"bailiff/runtime/ledger"
)

// Ledger is what the deliveries need of a ledger.Ledger.
type Ledger interface {
	ledger.Outbox
	LookupKeyID(id ledger.ID) (key *ledger.Key, found bool)
	ExpireHolds(ctx context.Context, at int64, limit int) (int, error)
	Webhooks(ctx context.Context, key ledger.ID) ([]ledger.Webhook, error)
	LogOf(key ledger.ID) ledger.Log
}

var _ Ledger = ledger.Ledger(nil)
