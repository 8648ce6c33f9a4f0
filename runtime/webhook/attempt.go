package webhook

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
)

const (
	// requestTimeout bounds a whole attempt, from the look-up of the name to the end of the answer.
	requestTimeout = 15 * time.Second
	// maxAnswer is how much of an answer is read, so that its connection can be used again. Nothing of it is looked at.
	maxAnswer = 4 << 10
)

// A payload is the body of a delivery.
type payload struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"` // of the event
	Data      eventjson.Event `json:"data"`
}

// messageID returns the webhook-id of a delivery, which no other event of the webhook has.
func messageID(d *ledger.Delivery) string {
	id := d.Webhook.ID.String() + "." + strconv.FormatUint(d.LSN, 10)
	if d.Renumbered != [16]byte{} {
		id += "." + hex.EncodeToString(d.Renumbered[:8])
	}
	return id
}

// An outcome is what came of an attempt.
type outcome struct {
	lane   *lane
	slot   slot
	item   ledger.Delivery
	status int   // of the answer; 0 where there was none
	err    error // why there was none
	gone   bool  // the delivery is not awaited any more
	final  bool  // it is not made again: it was the last attempt, or the receiver wants it no more
	alive  bool  // the receiver has taken a ping after it
	dead   bool  // the receiver has refused a ping after it, and is disabled
	unread bool  // the ledger could not be read: nothing was attempted
	left   bool  // the ledger does not have it any more: nothing was attempted, and another one hands it out
	took   time.Duration
}

// ok reports whether the receiver has taken the delivery.
func (o *outcome) ok() bool { return o.err == nil && isSuccess(o.status) }

func isSuccess(status int) bool { return status >= 200 && status < 300 }

// attempt makes one attempt, whatever comes of it. Where it fails by the receiver's fault, and that is the last time it may, a ping
// decides whether the receiver is disabled: one that takes pings refuses some events alone.
func (d *Dispatcher) attempt(l *lane, s slot, item ledger.Delivery, last bool) outcome {
	began := d.config.Calls.Clock()
	o := outcome{lane: l, slot: s, item: item}
	ctx, cancel := d.config.Calls.Timeout(context.Background(), requestTimeout)
	defer cancel()
	if !d.config.Ledger.Has(&o.item) {
		o.left = true
		return o
	}
	switch wanted, err := d.refresh(ctx, &o.item); {
	case err != nil:
		o.err, o.unread = err, true
	case !wanted:
		o.gone = true
	default:
		o.status, o.err = d.send(ctx, &o.item)
		o.final = !o.ok() && (o.status == http.StatusGone || o.item.Attempts+1 >= maxAttempts)
	}
	if last && !o.gone && !o.unread && !o.ok() && o.theirs() {
		status, err := d.ping(&o.item)
		o.alive = err == nil && isSuccess(status)
		o.dead = !o.alive && receiverFault(status, err)
	}
	o.took = d.config.Calls.Clock().Sub(began)
	return o
}

// pingType is the type of a delivery without an event, which asks whether a receiver takes anything at all.
const pingType = "webhook.ping"

// ping sends a receiver that refuses deliveries an empty one. Where it takes that, the fault is with the events.
func (d *Dispatcher) ping(item *ledger.Delivery) (status int, err error) {
	ctx, cancel := d.config.Calls.Timeout(context.Background(), requestTimeout)
	defer cancel()
	body, err := json.Marshal(pingPayload{pingType, d.config.Calls.Clock().UTC(), struct{}{}})
	if err != nil {
		return 0, err
	}
	if item.Webhook.Format == ledger.StandardFormat {
		return d.post(ctx, item, messageID(item)+".ping", body, nil)
	}
	m := pingMessage()
	return d.tell(ctx, item, messageID(item)+".ping", &m)
}

// A pingPayload is the body of a ping.
type pingPayload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of the ping
	Data      struct{}  `json:"data"`
}

// refresh looks whether the webhook still wants a delivery that may have waited for long, and reads its event where
// that was left in the log. Nothing is sent for a key whose plan has no webhooks any more; a revoked key is told what happened
// while it was good.
func (d *Dispatcher) refresh(ctx context.Context, item *ledger.Delivery) (wanted bool, err error) {
	switch key, found := d.config.Ledger.LookupKeyID(item.Webhook.Key); {
	case !found: // keys stay for ever: it is the ledger that is away
		return false, fmt.Errorf("%w: key %s", ledger.ErrNotFound, item.Webhook.Key)
	case d.config.Sends != nil && !d.config.Sends(key):
		return false, nil
	}
	hooks, err := d.config.Ledger.Webhooks(ctx, item.Webhook.Key)
	if err != nil {
		return false, fmt.Errorf("looking for the webhook: %w", err)
	}
	for _, h := range hooks {
		if h.ID == item.Webhook.ID && h.Disabled == 0 {
			item.Webhook, wanted = h, true
		}
	}
	if !wanted || item.Event.LSN != 0 {
		return wanted, nil
	}
	page, err := d.config.Ledger.LogOf(item.Webhook.Key).Events(ctx, ledger.EventQuery{After: item.LSN - 1, Limit: 1, Examine: 1})
	if err != nil {
		return false, fmt.Errorf("reading the event: %w", err)
	}
	if len(page.Events) != 1 || page.Events[0].LSN != item.LSN {
		return false, fmt.Errorf("%w: event %d is not where it was", ledger.ErrCorrupt, item.LSN)
	}
	item.Event = page.Events[0]
	return true, nil
}

// send makes the request of a delivery and returns the status of the answer.
func (d *Dispatcher) send(ctx context.Context, item *ledger.Delivery) (status int, err error) {
	view := eventjson.View(&item.Event)
	if item.Event.HoldState == ledger.HoldPending && d.config.HoldPages != "" {
		view.ApprovalURL = d.config.HoldPages + view.HoldID
	}
	if item.Webhook.Format != ledger.StandardFormat {
		m := messageOf(item.Topic, &view)
		return d.tell(ctx, item, messageID(item), &m)
	}
	body, err := json.Marshal(payload{item.Topic.Names()[0], time.Unix(0, item.Event.At).UTC(), view})
	if err != nil {
		return 0, err
	}
	return d.post(ctx, item, messageID(item), body, nil)
}

// tell sends a message for people, in the webhook's form. An e-mail that its server has taken is 250.
func (d *Dispatcher) tell(ctx context.Context, item *ledger.Delivery, id string, m *message) (status int, err error) {
	switch item.Webhook.Format {
	case ledger.SlackFormat:
		body, err := m.slack()
		if err != nil {
			return 0, err
		}
		return d.post(ctx, item, id, body, nil)
	case ledger.NtfyFormat:
		return d.post(ctx, item, id, []byte(m.text()), m.ntfyHeaders())
	default:
		if d.config.Mail == nil {
			return 0, errNoMail
		}
		if err := d.config.Mail(ctx, strings.TrimPrefix(item.Webhook.URL, mailbox), id, "Bailiff: "+m.title, m.text()+"\n"); err != nil {
			return 0, err
		}
		return mailTaken, nil
	}
}

// mailTaken is the status of an e-mail that its server has taken (RFC 5321).
const mailTaken = 250

// post sends a body to a delivery's receiver, signed and with further headers, and returns the status of the answer.
func (d *Dispatcher) post(ctx context.Context, item *ledger.Delivery, id string, body []byte, headers http.Header) (status int, err error) {
	request, err := d.request(ctx, item, id, body)
	if err != nil {
		return 0, err
	}
	maps.Copy(request.Header, headers)
	var reached atomic.Bool
	answer, err := d.client.Do(request.WithContext(watchReached(ctx, &reached)))
	if err != nil {
		var wrapped *url.Error // repeats the URL, which may hold a secret
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		if reached.Load() && isLate(err) {
			err = fmt.Errorf("%w: %w", errLate, err)
		}
		return 0, err
	}
	defer answer.Body.Close()
	io.CopyN(io.Discard, answer.Body, maxAnswer) //nolint:errcheck // the status has come; what follows does not matter
	return answer.StatusCode, nil
}

// errLate says that a receiver has taken a connection of this attempt and then has not answered in time. The network was there, so that the fault is its own.
var errLate = errors.New("the receiver has taken the connection, and has not answered in time")

// watchReached has reached say whether a new connection to the receiver was made. One that was there before says nothing about the network now.
func watchReached(ctx context.Context, reached *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { reached.Store(true) },
		GotConn: func(c httptrace.GotConnInfo) {
			if !c.Reused {
				reached.Store(true)
			}
		},
	})
}

// request returns the signed request that carries a body to a delivery's receiver.
func (d *Dispatcher) request(ctx context.Context, item *ledger.Delivery, id string, body []byte) (*http.Request, error) {
	target, err := parseURL(item.Webhook.URL, d.config.AllowPrivate)
	if err != nil {
		return nil, err
	}
	signer, err := standardwebhooks.NewWebhookRaw(item.Webhook.Secret)
	if err != nil {
		return nil, err
	}
	now := d.config.Calls.Clock()
	signature, err := signer.Sign(id, now, body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "bailiff-webhooks/1")
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return request, nil
}
