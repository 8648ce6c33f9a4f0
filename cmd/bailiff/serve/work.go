package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/mail"
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
	if r.store != nil {
		r.work.start(ctx, every(comparePoliciesEvery, r.comparePolicies), fault)
	}
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

// warnOfOutdatedHolds tells of holds that expire because a newer release finds intents by another hash.
func (r *service) warnOfOutdatedHolds() {
	if n, err := r.ledger.OutdatedHolds(); err == nil && n > 0 {
		r.log.Warn("open holds of an older release expire now: approvals are found by another hash; ask for these intents again", "holds", n)
	}
}

// renewCheckpoint writes the checkpoint, and says where it can't. Only where records are missing that is a failure.
func (r *service) renewCheckpoint(ctx context.Context) error {
	err := r.keepCheckpoint(ctx)
	if misfits(err) {
		return err
	}
	if err != nil && !errors.Is(err, ledger.ErrUnavailable) && ctx.Err() == nil {
		r.log.Error("the checkpoint can't be written", "path", r.settings.CheckpointPath(), "error", err)
	}
	return nil
}
