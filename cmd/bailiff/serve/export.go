package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/otlp"
)

// startExport starts the sending of events by OTLP, where there is a collector.
func (r *service) startExport(ctx context.Context, fault func(error)) error {
	address := string(r.settings.OTLPLogs)
	if address == "" {
		return nil
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
	return pgledger.SentBySlot(slot)
}

// sentPlace returns the place in a log up to which events were sent by OTLP. It is stored with the log, so that another instance continues there.
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

// beginSending keeps where sending begins in the log of a slot, before the slot takes requests: the exporter starts after it.
func (r *service) beginSending(slot int, log ledger.Log) error {
	if r.settings.OTLPLogs == "" {
		return nil
	}
	kept, err := r.sentPlace(slot)
	if err != nil {
		return err
	}
	head, err := log.Head(context.Background())
	if err != nil {
		return err
	}
	after, known := otlp.Begin(kept, head, r.log)
	if known {
		return nil
	}
	return r.keepSentPlace(slot, otlp.PlaceAt(ledger.Head{Stream: head.Stream, LSN: after}))
}

// keepSentPlace keeps what sentPlace returns.
func (r *service) keepSentPlace(slot int, place string) error {
	if r.store != nil {
		return r.store.KeepPlace(r.sentBy(slot), place)
	}
	return atomicfile.ReplacePrivate(r.settings.OTLPPath(), []byte(place))
}

// perSlotEvery is how often it is looked for slots that have come, or are gone.
const perSlotEvery = time.Second

// perSlot runs a task with the log of each slot, as long as it is here.
func (r *service) perSlot(task func(ctx context.Context, slot int, log ledger.Log) error) func(context.Context) error {
	type running struct {
		of     *commit.Ledger
		cancel context.CancelFunc
		done   chan struct{}
	}
	return func(ctx context.Context) error {
		all := map[int]*running{}
		look := func(ctx context.Context) error {
			here := maps.Collect(r.many.Here())
			for slot, one := range all {
				select {
				case <-one.done:
					delete(all, slot)
				default:
					if here[slot] != one.of {
						one.cancel()
					}
				}
			}
			for slot, l := range here {
				if all[slot] != nil {
					continue
				}
				own, cancel := context.WithCancel(ctx)
				one := &running{l, cancel, make(chan struct{})}
				all[slot] = one
				r.calls.Go(func() {
					defer close(one.done)
					defer cancel()
					if err := task(own, slot, l); err != nil && own.Err() == nil {
						r.log.Warn("work on a slot's log has to be begun again", "slot", slot, "error", err)
					}
				})
			}
			return nil
		}
		err := every(perSlotEvery, look)(ctx)
		for _, one := range all {
			one.cancel()
			<-one.done
		}
		return err
	}
}
