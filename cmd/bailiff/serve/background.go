package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/ledger"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/mail"
	"bailiff/runtime/otlp"
	"bailiff/runtime/webhook"
)

const (
	// checkpointEvery is how often the signed checkpoint is renewed, where the ledger has moved.
	checkpointEvery = 10 * time.Second
	// dropEvery is how often the service looks for policies that have not been used for long.
	dropEvery = time.Minute
	// crowdedEvery is how often keys are looked for that have few counter groups left.
	crowdedEvery = 10 * time.Second
)

// background is the work that goes on behind the servers.
type background struct {
	started bool
	cancel  context.CancelFunc
	running sync.WaitGroup
	mutex   sync.Mutex
	faults  []error
}

// start runs a task until its context ends; fault gets the error of one that ends before, and stop returns the others.
func (b *background) start(ctx context.Context, task func(context.Context) error, fault func(error)) {
	b.running.Go(func() {
		err := task(ctx)
		if err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return
		}
		if ctx.Err() == nil {
			fault(err)
			return
		}
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.faults = append(b.faults, err)
	})
}

// stop ends the tasks and waits for them, no longer than ctx lasts.
func (b *background) stop(ctx context.Context) error {
	if b.cancel == nil {
		return nil
	}
	b.cancel()
	ended := make(chan struct{})
	go func() { b.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	return errors.Join(b.faults...)
}

// newMailer returns what sends e-mails, nil where there is no server for them.
func (r *service) newMailer() (func(ctx context.Context, to, id, subject, text string) error, error) {
	if r.settings.SMTPURL == "" {
		return nil, nil
	}
	sender, err := mail.New(string(r.settings.SMTPURL), r.settings.SMTPFrom, r.calls)
	if err != nil {
		return nil, fmt.Errorf("SVC_SMTP_FROM: %w", err)
	}
	return sender.Send, nil
}

// startWork starts the deliveries of webhooks, which see to the expiry of holds too, the checkpoints, the dropping of
// policies out of use, and the reloading of the default policy.
func (r *service) startWork(hangUps <-chan os.Signal) error {
	r.warnOfOutdatedHolds()
	ctx, cancel := context.WithCancel(context.Background())
	r.work.cancel, r.work.started = cancel, true
	send, err := r.newMailer()
	if err != nil {
		return err
	}
	dispatcher := webhook.New(webhook.Config{
		HoldPages: r.holdPages(), Mail: send,
		Ledger: r.ledger, AllowPrivate: r.settings.WebhookAllowPrivate, Calls: r.calls,
		Log: r.log, Metrics: r.metrics, History: r.deliveries, Sends: r.decider.SendsWebhooks,
	})
	fault := func(err error) { r.failed <- err }
	r.work.start(ctx, dispatcher.Run, fault)
	r.work.start(ctx, every(checkpointEvery, r.renewCheckpoint), fault)
	r.work.start(ctx, every(readyEvery, r.ready.look), fault)
	r.work.start(ctx, every(clockEvery, r.watchClock), fault)
	r.work.start(ctx, every(dropEvery, func(context.Context) error {
		r.decider.DropUnused(r.clock())
		return nil
	}), fault)
	r.work.start(ctx, r.reloadOn(hangUps), fault)
	r.startWatchdog(ctx, fault)
	if r.many != nil {
		r.work.start(ctx, every(askPeerEvery, r.watchPeers), fault)
	}
	crowded := crowdedKeys{ledger: r.ledger, clock: r.clock, log: r.log}
	r.work.start(ctx, every(crowdedEvery, crowded.look), fault)
	if err := r.startExport(ctx, fault); err != nil {
		return err
	}
	r.startRetention(ctx, fault)
	return errors.Join(r.metrics.Queue("webhook_outbox", dispatcher.Waiting), r.metrics.Queue("crowded_keys", crowded.count))
}

// startExport starts the sending of events by OTLP, where there is a collector.
func (r *service) startExport(ctx context.Context, fault func(error)) error {
	address := string(r.settings.OTLPLogs)
	if address == "" {
		return nil
	}
	if _, err := r.sentPlace(0); err != nil {
		return err
	}
	if u, err := url.Parse(address); err == nil && u.Scheme == "http" && !cmdsettings.Loopback(u.Hostname()) {
		r.log.Warn("events travel to the OTLP collector without TLS; use https unless the network is private", "host", u.Host)
	}
	r.retaining.sent = r.exports.sent
	export := func(ctx context.Context, slot int, log ledger.Log) error {
		kept, err := r.sentPlace(slot)
		if err != nil {
			return err
		}
		exporter := otlp.New(otlp.Config{
			Ledger: log, URL: address, Headers: http.Header(r.settings.OTLPHeaders), Version: cli.ThisBuild().Version, Log: r.log, Metrics: r.metrics,
			Kept: kept, Keep: func(place string) error { return r.keepSentPlace(slot, place) },
		})
		defer r.exports.add(slot, exporter)()
		return exporter.Run(ctx)
	}
	if r.many != nil {
		r.work.start(ctx, r.perSlot(export), fault)
	} else {
		r.work.start(ctx, func(ctx context.Context) error { return export(ctx, 0, r.ledger) }, fault)
	}
	return r.metrics.OTLPWaiting(func() time.Duration { return r.exports.waiting(r.clock()) })
}

// exports are what sends events by OTLP, by the slot whose log they are in.
type exports struct {
	mu  sync.Mutex
	all map[int]*otlp.Exporter
}

// add adds an exporter, which remove takes out.
func (e *exports) add(slot int, exporter *otlp.Exporter) (remove func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[int]*otlp.Exporter{}
	}
	e.all[slot] = exporter
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.all[slot] == exporter {
			delete(e.all, slot)
		}
	}
}

// sent returns up to where the events of a slot were sent; 0 where that is not known.
func (e *exports) sent(slot int) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if exporter := e.all[slot]; exporter != nil {
		return exporter.Sent()
	}
	return 0
}

// waiting returns for how long the oldest event has waited.
func (e *exports) waiting(now time.Time) (longest time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, exporter := range e.all {
		if oldest := exporter.Waiting(); !oldest.IsZero() {
			longest = max(longest, now.Sub(oldest))
		}
	}
	return longest
}

// sentBy is the name of the place up to which the events of a slot were sent.
func (r *service) sentBy(slot int) string {
	if r.many == nil {
		return pgledger.SentByOTLP
	}
	return pgledger.SentByOTLP + "-" + strconv.Itoa(slot)
}

// sentPlace returns up to where events were sent by OTLP: where the record is, so that another instance goes on there.
func (r *service) sentPlace(slot int) (kept string, err error) {
	if r.store != nil {
		kept, err = r.store.Place(r.sentBy(slot))
	} else {
		var text []byte
		if text, err = os.ReadFile(r.settings.OTLPPath()); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		kept = string(text)
	}
	if err != nil {
		return "", fmt.Errorf("up to where events were sent by OTLP can't be read: %w", err)
	}
	return kept, nil
}

// keepSentPlace keeps what sentPlace returns.
func (r *service) keepSentPlace(slot int, place string) error {
	if r.store != nil {
		return r.store.KeepPlace(r.sentBy(slot), place)
	}
	return atomicfile.ReplacePrivate(r.settings.OTLPPath(), []byte(place))
}

// warnOfOutdatedHolds tells of holds that expire because a newer release finds intents by another hash.
func (r *service) warnOfOutdatedHolds() {
	if n, err := r.ledger.OutdatedHolds(); err == nil && n > 0 {
		r.log.Warn("open holds of an older release expire now: approvals are found by another hash; ask for these intents again", "holds", n)
	}
}

// every returns a task that takes a step at once and then after each period, until one fails.
func every(period time.Duration, step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			if err := step(ctx); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
	}
}

// renewCheckpoint writes the checkpoint, and says where it can't. Only where records are missing that is a failure.
func (r *service) renewCheckpoint(ctx context.Context) error {
	err := r.keepCheckpoint(ctx)
	if errors.Is(err, errMissing) {
		return err
	}
	if err != nil && !errors.Is(err, ledger.ErrUnavailable) && ctx.Err() == nil {
		r.log.Error("the checkpoint can't be written", "path", r.settings.CheckpointPath(), "error", err)
	}
	return nil
}
