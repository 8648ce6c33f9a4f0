package serve

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/retention"
)

const (
	// retainParts is into how many parts the time that events stay is divided: the record has at most one part more than it should.
	retainParts = 24
	// retainLeast and retainMost bound the time between two passes.
	retainLeast = time.Minute
	retainMost  = 24 * time.Hour
	// retainRetry is the time until the next pass where one has failed, or where a backup is being taken.
	retainRetry = time.Minute
)

// retaining drops old events of a service.
type retaining struct {
	failing atomic.Bool
	sent    func() uint64 // the LSN up to which events were sent by OTLP; nil where they are not sent
	next    time.Time     // of the pass
}

// startRetention starts dropping old events, where the settings say so.
func (r *service) startRetention(ctx context.Context, fault func(error)) {
	if r.settings.EventRetention == 0 {
		return
	}
	r.log.Info("old events are exported and then dropped", "olderThan", r.settings.EventRetention.String(), "folder", r.settings.EventExport)
	r.work.start(ctx, every(retainRetry, r.retain), fault)
}

// retain makes a pass where it is time for one. A failure is said, and tried again; the record is whole all the same.
func (r *service) retain(ctx context.Context) error {
	now := r.clock()
	if now.Before(r.retaining.next) || r.admin.Copying(now) {
		return nil
	}
	keep := r.retaining.sent
	if keep != nil && keep() == 0 {
		return nil // what the collector has is not known yet
	}
	if r.store != nil { // before anything is exported
		if err := r.store.Drops(); err != nil {
			r.log.Error("old events can't be dropped", "error", err)
			r.retaining.failing.Store(true)
			return nil
		}
	}
	age := time.Duration(r.settings.EventRetention)
	drops, err := retention.Drop(ctx, retention.Config{
		Ledger: r.ledger, Signer: r.signer, Clock: r.clock, Age: age, Folder: r.settings.EventExport, Keep: keep,
	})
	for _, d := range drops {
		r.log.Info("old events were exported and dropped", "upTo", d.Through.LSN, "folder", r.settings.EventExport)
	}
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, ledger.ErrUnavailable) {
			r.log.Error("old events can't be exported and dropped; they stay, and it is tried again", "folder", r.settings.EventExport, "error", err)
		}
		r.retaining.failing.Store(ctx.Err() == nil)
		return nil
	}
	r.retaining.failing.Store(false)
	r.retaining.next = now.Add(min(max(age/retainParts, retainLeast), retainMost))
	return nil
}
