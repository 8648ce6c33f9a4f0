package ledger

import (
	"fmt"
	"strings"
)

// A Webhook is a receiver of one key's events.
type Webhook struct {
	ID      ID
	Key     ID
	URL     string // 1 to MaxWebhookURL bytes
	Topics  Topics
	Format  WebhookFormat
	Secret  []byte // of the signatures; MinWebhookSecret to MaxWebhookSecret bytes (Standard Webhooks)
	Created int64  // Unix nanoseconds
	// Disabled is when deliveries stopped after repeated failure: Unix nanoseconds, 0 while it works.
	Disabled int64
	// Dropped is the number of events that the outbox had no room for, or that the receiver refused to the last.
	Dropped uint64
	// Operator says that the operator registered it, whose it is: the holder of the key neither sees nor changes it.
	Operator bool
}

// A WebhookChange names a webhook that somebody removes or enables.
type WebhookChange struct {
	Key, ID  ID
	At       int64 // Unix nanoseconds
	Operator bool  // the operator changes it: any webhook of the key, also while the key or the service is stopped
}

// A WebhookFormat is the form in which a receiver is told. The numbers are on disk.
type WebhookFormat uint8

// The formats.
const (
	StandardFormat WebhookFormat = iota // the event as JSON, signed (Standard Webhooks)
	SlackFormat                         // a message for an incoming webhook of Slack, or of what takes its form
	NtfyFormat                          // a message for a topic of ntfy
	EmailFormat                         // an e-mail
)

var webhookFormats = [...]string{"standard", "slack", "ntfy", "email"}

// String returns the format as the API spells it.
func (f WebhookFormat) String() string {
	if int(f) < len(webhookFormats) {
		return webhookFormats[f]
	}
	return fmt.Sprintf("WebhookFormat(%d)", uint8(f))
}

// ParseWebhookFormat returns the format that the API spells name.
func ParseWebhookFormat(name string) (WebhookFormat, error) {
	for i, known := range webhookFormats {
		if name == known {
			return WebhookFormat(i), nil
		}
	}
	return 0, fmt.Errorf("%w: unknown format %.64q: use %s", ErrInvalid, name, strings.Join(webhookFormats[:], ", "))
}

// Bounds of webhooks.
const (
	MaxWebhooks   = 20   // of one key
	MaxWebhookURL = 2048 // bytes

	// MinWebhookSecret and MaxWebhookSecret bound the length of a secret, in bytes.
	MinWebhookSecret = 24
	MaxWebhookSecret = 64

	// MaxOutbox is how many deliveries of one key may wait. More are dropped, and counted: but each of its webhooks has
	// room for OutboxShare, so that one whose receiver is down does not take it all from the others.
	MaxOutbox   = 10_000
	OutboxShare = 500
)

// Topics is a set of what webhooks are told (decisions, section 5, "Webhooks").
type Topics uint8

// The topics, in the order of the decisions.
const (
	IntentAllowed Topics = 1 << iota
	IntentDenied
	IntentPending
	TopicHoldResolved
	TopicHoldExpired
	PolicyDeployed
	// AllTopics is all of them.
	AllTopics = IntentAllowed | IntentDenied | IntentPending | TopicHoldResolved | TopicHoldExpired | PolicyDeployed
)

var topicNames = [...]string{"intent.allowed", "intent.denied", "intent.pending", "hold.resolved", "hold.expired", "policy.deployed"}

// Names returns the topics of t as the API spells them, in the order of the decisions.
func (t Topics) Names() []string {
	names := make([]string, 0, len(topicNames))
	for i, name := range topicNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ParseTopic returns the topic that the API spells name.
func ParseTopic(name string) (Topics, error) {
	for i, known := range topicNames {
		if name == known {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("%w: unknown event %.64q: use %s", ErrInvalid, name, strings.Join(topicNames[:], ", "))
}

// Validate returns an error that wraps [ErrInvalid] and names the first part of w that no ledger would record.
func (w *Webhook) Validate() error {
	switch {
	case w.ID.IsZero():
		return fmt.Errorf("%w: webhook without an id", ErrInvalid)
	case w.URL == "" || len(w.URL) > MaxWebhookURL:
		return fmt.Errorf("%w: webhook with a url of %d bytes: give 1 to %d", ErrInvalid, len(w.URL), MaxWebhookURL)
	case w.Topics == 0 || w.Topics&^AllTopics != 0:
		return fmt.Errorf("%w: webhook with events %#x", ErrInvalid, uint8(w.Topics))
	case int(w.Format) >= len(webhookFormats):
		return fmt.Errorf("%w: webhook of the unknown format %d", ErrInvalid, w.Format)
	case len(w.Secret) < MinWebhookSecret || len(w.Secret) > MaxWebhookSecret:
		return fmt.Errorf("%w: webhook secret of %d bytes: give %d to %d", ErrInvalid, len(w.Secret), MinWebhookSecret, MaxWebhookSecret)
	case w.Created < 0 || w.Created > MaxTime || w.Disabled != 0 || w.Dropped != 0:
		return fmt.Errorf("%w: a new webhook has a time of creation, and is neither disabled nor full", ErrInvalid)
	}
	return nil
}

// A Delivery is an event on its way to a webhook.
type Delivery struct {
	Webhook  Webhook
	LSN      uint64 // of the event
	Topic    Topics // the one topic that the event is
	Attempts int    // made so far, and failed
	Event    LoggedEvent

	// Renumbered is the stream in which the event has got its LSN anew, since the logs of slots became one; zeros where it did not. Another
	// event may have had that LSN before.
	Renumbered [16]byte

	Opening uint64 // of several slots, which time the slot was here that handed it out
}

// A DeliveryResult is what came of an attempt to deliver.
type DeliveryResult struct {
	Key, Webhook ID
	LSN          uint64 // of the event
	At           int64  // when the attempt ended: Unix nanoseconds
	Delivered    bool   // the delivery is done with; otherwise it is due again at Next
	Next         int64  // Unix nanoseconds; 0 gives the delivery up
	Disable      bool   // the webhook is to be disabled; what waits for it is forgotten
}

// Validate returns an error that wraps [ErrInvalid] where a time of r is out of bounds.
func (r *DeliveryResult) Validate() error {
	if r.At < 0 || r.At > MaxTime || r.Next < 0 || r.Next > MaxTime {
		return fmt.Errorf("%w: delivery at %d, due again at %d: use Unix nanoseconds", ErrInvalid, r.At, r.Next)
	}
	return nil
}
