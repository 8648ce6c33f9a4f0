package serve

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	cmdsettings "bailiff/cmd/bailiff/settings"
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
	sent    func(slot int) uint64 // the LSN up to which events were sent by OTLP; nil where they are not sent
	next    time.Time             // of the pass
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
	if r.store != nil { // before anything is exported
		if err := r.store.Drops(); err != nil {
			r.log.Error("old events can't be dropped", "error", err)
			r.retaining.failing.Store(true)
			return nil
		}
	}
	var err error
	if r.many == nil {
		err = r.retainLog(ctx, 0, r.ledger, r.settings.EventExport)
	} else {
		err = r.retainSlots(ctx)
	}
	if err != nil {
		r.retaining.failing.Store(ctx.Err() == nil && !errors.Is(err, errNotSent))
		return nil
	}
	r.retaining.failing.Store(false)
	r.retaining.next = now.Add(min(max(time.Duration(r.settings.EventRetention)/retainParts, retainLeast), retainMost))
	return nil
}

// retainSlots makes a pass over the logs of the slots that are here. The first slot's stays whole: the others copy from it what concerns the
// service, each at a time of its own.
func (r *service) retainSlots(ctx context.Context) (err error) {
	for slot, l := range r.many.Here() {
		if slot == 0 {
			continue
		}
		folder := cmdsettings.SlotFolder(r.settings.EventExport, slot)
		if made := os.MkdirAll(folder, 0o700); made != nil {
			r.log.Error("the folder of exported events can't be made", "error", made)
			err = errors.Join(err, made)
			continue
		}
		err = errors.Join(err, r.retainLog(ctx, slot, l, folder))
	}
	return err
}

// errNotSent says that it is not known yet what the collector of events has.
var errNotSent = errors.New("no events were sent yet")

// retainLog makes a pass over a log. A failure is said.
func (r *service) retainLog(ctx context.Context, slot int, l retention.Retainer, folder string) error {
	var keep func() uint64
	if sent := r.retaining.sent; sent != nil {
		if sent(slot) == 0 {
			return errNotSent
		}
		keep = func() uint64 { return sent(slot) }
	}
	drops, err := retention.Drop(ctx, retention.Config{
		Ledger: l, Signer: r.signer, Clock: r.clock, Age: time.Duration(r.settings.EventRetention), Folder: folder, Keep: keep,
	})
	for _, d := range drops {
		r.log.Info("old events were exported and dropped", "upTo", d.Through.LSN, "folder", folder)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, ledger.ErrUnavailable) {
		r.log.Error("old events can't be exported and dropped; they stay, and it is tried again", "folder", folder, "error", err)
	}
	return err
}
