package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/system"
)

// Config is what deliveries need. Ledger and Calls are required.
type Config struct {
	Ledger       Ledger
	AllowPrivate bool             // SVC_WEBHOOK_ALLOW_PRIVATE: http and addresses that are not public
	Calls        system.Calls     // Random is used for the jitter
	Log          *slog.Logger     // nil for none
	Metrics      *metrics.Metrics // nil for none
	History      *History         // of attempts; nil for none

	// Mail sends an e-mail; nil: none are sent.
	Mail      func(ctx context.Context, to, id, subject, text string) error
	HoldPages string                 // what an id of a hold is put behind to make the address where approvers decide it; empty where there are none
	Sends     func(*ledger.Key) bool // whether a key's events are sent; nil: all are
}

const (
	// poll is the longest pause between two looks at the clock.
	poll = time.Second
	// pullSize is how many deliveries are taken from the outbox at once, and maxQueued how many wait here at most.
	pullSize  = 256
	maxQueued = 1 << 20
	// slowAfter is when a receiver counts as slow.
	slowAfter = 2 * time.Second
	// expireEvery is how often the expiry of holds is recorded, expirySize of how many at once.
	expireEvery = time.Minute
	expirySize  = 1000
)

// A Dispatcher makes deliveries.
type Dispatcher struct {
	config   Config
	client   *http.Client
	lanes    lanes
	later    []ledger.Delivery // could not be looked up; tried again after a pause
	retry    <-chan time.Time  // the end of that pause, whatever happens in between; nil while nothing waits for it
	finished chan outcome
	streaks  streaks
	waiting  atomic.Int64 // deliveries in the lanes and under way
	poll     time.Duration
	unread   bool // the outbox could not be read the last time
}

// New returns a dispatcher. It does nothing until Run.
func New(config Config) *Dispatcher {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	g := &guard{config.Calls, config.AllowPrivate}
	return &Dispatcher{
		config: config, client: g.client(), poll: poll,
		lanes: lanes{byHook: map[ledger.ID]*lane{}}, finished: make(chan outcome, maxRunning), streaks: streaks{},
	}
}

// Waiting returns how many deliveries are due and not done with. It may be called at any time.
func (d *Dispatcher) Waiting() int { return int(d.waiting.Load()) }

// Run makes deliveries, and has the expiry of holds recorded, until ctx ends. Then it starts nothing more and returns
// when what is under way has ended, which takes 15 seconds at most. What was not delivered by then stays in the outbox,
// for another ledger's process. It is called once.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer d.client.CloseIdleConnections()
	expired := make(chan struct{})
	d.config.Calls.Go(func() { defer close(expired); d.expireHolds(ctx) })
	defer func() { <-expired }()
	for ctx.Err() == nil {
		pause := d.pull(ctx)
		d.start()
		d.wait(ctx, pause)
	}
	for d.lanes.running > 0 {
		d.finish(<-d.finished)
	}
	return nil
}

// pull takes what is due from the outbox, and returns how long nothing more will be.
func (d *Dispatcher) pull(ctx context.Context) time.Duration {
	for d.lanes.queued < maxQueued {
		at := d.config.Calls.Clock().UnixNano()
		due, next, err := d.config.Ledger.Due(ctx, at, pullSize)
		for _, item := range due {
			d.lanes.add(item)
		}
		d.count()
		if err != nil {
			d.cannotRead(ctx, err)
			return d.poll
		}
		d.unread = false
		switch {
		case next == 0 || len(due) == 0 && next <= at:
			return d.poll
		case next > at:
			return min(time.Duration(next-at), d.poll)
		}
	}
	return d.poll
}

// cannotRead tells once that the outbox cannot be read.
func (d *Dispatcher) cannotRead(ctx context.Context, err error) {
	if !d.unread && ctx.Err() == nil {
		d.config.Log.Error("the outbox of webhooks cannot be read; it is tried again", "error", err)
	}
	d.unread = true
}

func (d *Dispatcher) count() {
	d.waiting.Store(int64(d.lanes.queued + d.lanes.running + len(d.later)))
}

// start starts as many requests as may be under way.
func (d *Dispatcher) start() {
	for {
		l, kind, item, ok := d.lanes.take()
		if !ok {
			return
		}
		last := d.streaks[l.hook].isDead(d.config.Calls.Clock())
		d.config.Calls.Go(func() { d.finished <- d.attempt(l, kind, item, last) })
	}
}

// wait returns when there may be something to do: after a pause, or before. Whatever has ended by then is recorded first.
func (d *Dispatcher) wait(ctx context.Context, pause time.Duration) {
	timer := d.config.Calls.Timers.Alarm(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-d.config.Ledger.Outboxed():
	case <-timer.C:
	case <-d.retry:
		for _, item := range d.later {
			d.lanes.add(item)
		}
		d.later, d.retry = nil, nil
	case o := <-d.finished:
		d.finish(o)
	}
	for len(d.finished) > 0 {
		d.finish(<-d.finished)
	}
	select {
	case <-d.config.Ledger.Outboxed(): // what follows looks for it anyway
	default:
	}
}

// finish records what came of an attempt.
func (d *Dispatcher) finish(o outcome) {
	if o.unread {
		d.config.Log.Debug("a webhook's delivery has to wait", "webhook", o.item.Webhook.ID, "event", o.item.LSN, "error", o.err)
		d.later = append(d.later, o.item)
		if d.retry == nil {
			d.retry = d.config.Calls.Timers.Alarm(d.poll).C
		}
		d.lanes.done(o.lane, o.slot, o.lane.slow)
		d.count()
		return
	}
	if o.left {
		d.lanes.done(o.lane, o.slot, o.lane.slow)
		d.count()
		return
	}
	r := d.result(&o)
	if err := d.config.Ledger.SettleDelivery(r); err != nil {
		d.config.Log.Error("the result of a delivery is not recorded; it will be made again", "webhook", r.Webhook, "event", r.LSN, "error", err)
	} else if r.Disable {
		delete(d.streaks, r.Webhook)
	}
	slow := !o.gone && !r.Disable && (!r.Delivered || o.took > slowAfter)
	d.lanes.done(o.lane, o.slot, slow)
	d.count()
}

// result returns what the ledger is told of an attempt, and tells metrics and log.
func (d *Dispatcher) result(o *outcome) ledger.DeliveryResult {
	at := d.config.Calls.Clock()
	hook := &o.item.Webhook
	r := ledger.DeliveryResult{Key: hook.Key, Webhook: hook.ID, LSN: o.item.LSN, At: at.UnixNano()}
	outcome := metrics.Delivered
	switch {
	case o.gone:
		r.Delivered = true // no receiver is left
		delete(d.streaks, hook.ID)
		return r
	case o.ok():
		r.Delivered = true
	case o.dead:
		r.Disable = true
		outcome = metrics.Disabled
	case o.final:
		outcome = metrics.GivenUp // a result that asks for nothing gives the delivery up
	default:
		again, _ := next(at, o.item.Attempts+1, d.config.Calls.Random)
		r.Next = again.UnixNano()
		outcome = metrics.Failed
	}
	attempt := Attempt{
		At: at, LSN: o.item.LSN, Topic: strings.Join(o.item.Topic.Names(), ", "), Number: o.item.Attempts + 1, Status: o.status, Fault: faultOf(o.err),
		Took: o.took, Ended: outcome,
	}
	if r.Next != 0 {
		attempt.Next = time.Unix(0, r.Next).UTC()
	}
	d.config.History.add(hook.ID, attempt)
	d.config.Metrics.Delivery(outcome, o.took)
	if r.Delivered {
		d.config.Metrics.WebhookLag(at.Sub(time.Unix(0, o.item.Event.At)))
	}
	d.report(o, at)
	return r
}

// report tells the streaks, and the log, what came of an attempt. What an attempt came to is in the metrics.
func (d *Dispatcher) report(o *outcome, at time.Time) {
	hook := &o.item.Webhook
	log := d.config.Log.With("webhook", hook.ID, "key", hook.Key)
	if hook.Dropped > 0 {
		log = log.With("dropped", hook.Dropped)
	}
	d.streaks.note(o, at, log)
	if o.dead {
		log.Info("the webhook is disabled: its receiver takes neither an event nor a ping; bailiff webhooks enable brings it back", "event", o.item.LSN, "status", o.status, "error", o.err)
	}
}

// expireHolds has the expiry of holds recorded every minute, by the clock.
func (d *Dispatcher) expireHolds(ctx context.Context) {
	var last time.Time
	for ctx.Err() == nil {
		if now := d.config.Calls.Clock(); now.Sub(last) >= expireEvery {
			last = now
			d.expireNow(ctx, now)
		}
		pause := d.config.Calls.Timers.Alarm(d.poll)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

func (d *Dispatcher) expireNow(ctx context.Context, now time.Time) {
	for n := expirySize; n == expirySize; {
		var err error
		if n, err = d.config.Ledger.ExpireHolds(ctx, now.UnixNano(), expirySize); err != nil {
			if ctx.Err() == nil {
				d.config.Log.Error("recording the expiry of holds", "error", err)
			}
			return
		}
	}
}
