// Package otlp sends the ledger's events to an OpenTelemetry collector, as log records over OTLP/HTTP (OpenTelemetry Protocol
// 1.x, "OTLP/HTTP", binary form).
//
// It promises that each event that becomes durable while the export is switched on reaches the collector at least once, in the
// order of the log, unless the collector refuses it for good: the export keeps its place in the log, and waits while the
// collector is away. It has one request under way at a time, so that a slow collector takes no memory.
package otlp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"

	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
)

const (
	// batch is the most events of a request. One has a few kilobytes at most.
	batch = 500
	// lookEvery is how long after an empty page the log is looked at again.
	lookEvery = time.Second
	// patience is how long a request may take.
	patience = 15 * time.Second
	// A request that has failed is made again after firstWait, then after twice as long each time, at most after lastWait. A
	// Retry-After that is longer counts, up to lastWait.
	firstWait = time.Second
	lastWait  = time.Minute
	// maxAnswer is how much of an answer is read, in bytes.
	maxAnswer = 64 << 10
)

// Config is what an exporter works with.
type Config struct {
	Ledger  ledger.EventReader
	URL     string      // of the collector's logs, such as http://127.0.0.1:4318/v1/logs
	Headers http.Header // sent with each request
	Version string      // of the service
	// Kept is what Keep was given last, or empty: then sending begins at the end that the record has when Run starts.
	Kept string
	Keep func(string) error // keeps how far the exporter has come
	Log  *slog.Logger
	// Metrics may be nil.
	Metrics *metrics.Metrics
}

// An Exporter sends events until its Run ends.
type Exporter struct {
	config  Config
	client  *http.Client
	stream  [16]byte
	after   uint64        // the LSN of the last event that is done with
	sent    atomic.Uint64 // the same, as it was kept
	oldest  atomic.Int64
	failing bool
	look    time.Duration // lookEvery
	first   time.Duration // firstWait
}

// New returns an exporter that has done nothing.
func New(config Config) *Exporter {
	return &Exporter{config: config, look: lookEvery, first: firstWait, client: &http.Client{
		Timeout: patience,
		// A redirect would take the headers, and the events, to an address that the operator has not named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Waiting returns the time of the oldest event that waits, or zero.
func (e *Exporter) Waiting() time.Time {
	if at := e.oldest.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// Sent returns the LSN of the last record that is done with, 0 before the exporter knows it: what follows has to stay in the log.
func (e *Exporter) Sent() uint64 { return e.sent.Load() }

// Run sends events until ctx ends, whose error it returns. What troubles the ledger is said elsewhere; it is asked again.
func (e *Exporter) Run(ctx context.Context) error {
	for err := e.begin(ctx); err != nil; err = e.begin(ctx) {
		if err := pause(ctx, e.look); err != nil {
			return err
		}
	}
	for wait := time.Duration(0); ; {
		if err := pause(ctx, wait); err != nil {
			return err
		}
		page, err := e.config.Ledger.Events(ctx, ledger.EventQuery{After: e.after, Limit: batch, Examine: ledger.MaxEventPage})
		if err != nil {
			wait = e.look
			continue
		}
		own := slices.DeleteFunc(page.Events, func(e ledger.LoggedEvent) bool { return e.Origin != 0 }) // the first slot's log has it
		if len(own) > 0 {
			e.oldest.Store(own[0].At)
			if err := e.deliver(ctx, own); err != nil {
				return err
			}
		}
		e.oldest.Store(0)
		if page.Next > e.after {
			e.after = page.Next
			e.keep()
		}
		if wait = 0; !page.More {
			wait = e.look
		}
	}
}

// begin finds where to continue.
func (e *Exporter) begin(ctx context.Context) error {
	head, err := e.config.Ledger.Head(ctx)
	if err != nil {
		return err
	}
	after, known := Begin(e.config.Kept, head, e.config.Log)
	e.stream, e.after = head.Stream, after
	if known {
		e.sent.Store(after)
	} else {
		e.keep()
	}
	return nil
}

// Begin returns after which LSN sending begins in a record with this end: the one that was kept, if that is known to be of this
// record, else the end. A service calls it before it takes requests, and keeps a new beginning, so that the first of them are sent too.
func Begin(kept string, end ledger.Head, log *slog.Logger) (after uint64, known bool) {
	stream, lsn, err := ReadPlace(kept)
	switch {
	case kept == "":
		return end.LSN, false
	case err == nil && lsn == 0: // it was empty then, and had no stream of its own
		return 0, false
	case err != nil || stream != hex.EncodeToString(end.Stream[:]) || lsn > end.LSN:
		log.Warn("the place up to which events were sent by OTLP is not of this record; sending begins at its end", "kept", kept)
		return end.LSN, false
	}
	return lsn, true
}

// PlaceAt returns what Keep is given where all events up to the end of a record were sent.
func PlaceAt(end ledger.Head) string { return fmt.Sprintf("%x %d\n", end.Stream, end.LSN) }

// ReadPlace reads what PlaceAt returns: the stream in hexadecimal digits, and the LSN.
func ReadPlace(kept string) (stream string, lsn uint64, err error) {
	stream, place, _ := strings.Cut(strings.TrimSpace(kept), " ")
	lsn, err = strconv.ParseUint(place, 10, 63)
	return stream, lsn, err
}

// keep keeps the place. One that can't be kept makes the events after it be sent twice, and is no reason to stop.
func (e *Exporter) keep() {
	e.sent.Store(e.after)
	if err := e.config.Keep(PlaceAt(ledger.Head{Stream: e.stream, LSN: e.after})); err != nil {
		e.config.Log.Error("how far events were sent by OTLP can't be kept; after a restart some are sent again", "error", err)
	}
}

// deliver sends events until the collector has taken or refused them. The error is that of ctx.
func (e *Exporter) deliver(ctx context.Context, events []ledger.LoggedEvent) error {
	body, err := proto.Marshal(requestOf(events, e.config.Version))
	if err != nil {
		e.refused(len(events), err) // a text that is no UTF-8; none is recorded
		return nil
	}
	for wait := e.first; ; wait = min(2*wait, lastWait) {
		after, rejected, err := e.post(ctx, body)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var final refusal
		switch {
		case err == nil:
			e.config.Metrics.OTLP(metrics.OTLPExported, len(events)-rejected)
			if rejected > 0 {
				e.refused(rejected, errors.New("the collector has taken a part only"))
			}
			if e.failing {
				e.config.Log.Info("events are sent by OTLP again")
			}
			e.failing = false
			return nil
		case errors.As(err, &final) && len(events) > 1:
			// It may be too large, or one of them not to its liking.
			if err := e.deliver(ctx, events[:len(events)/2]); err != nil {
				return err
			}
			return e.deliver(ctx, events[len(events)/2:])
		case errors.As(err, &final):
			e.refused(1, err)
			return nil
		}
		e.config.Metrics.OTLP(metrics.OTLPFailed, 1)
		if !e.failing {
			e.config.Log.Warn("events can't be sent by OTLP; they wait in the record", "error", err)
		}
		e.failing = true
		if err := pause(ctx, min(max(wait, after), lastWait)); err != nil {
			return err
		}
	}
}

// pause waits, and returns the error of ctx if that ends before.
func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

func (e *Exporter) refused(events int, err error) {
	e.config.Metrics.OTLP(metrics.OTLPRejected, events)
	e.config.Log.Error("the OTLP collector refuses events; they are not sent again, and stay in the record", "events", events, "error", err)
}

// A refusal is an answer that would not be another one if the request were made again.
type refusal string

// Error says what was answered.
func (r refusal) Error() string { return string(r) }

// post makes one request. It returns how many of its events were refused, and for a failure how long to wait at least.
func (e *Exporter) post(ctx context.Context, body []byte) (after time.Duration, rejected int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	for name, values := range e.config.Headers {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", "bailiff/"+cmp.Or(e.config.Version, "unknown"))
	answer, err := e.client.Do(request)
	if err != nil {
		return 0, 0, withoutURL(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		var taken collector.ExportLogsServiceResponse
		if err == nil && proto.Unmarshal(text, &taken) == nil { // a body that is none says nothing
			rejected = int(taken.GetPartialSuccess().GetRejectedLogRecords())
		}
		return 0, max(rejected, 0), nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType:
		return 0, 0, refusal("it answered " + answer.Status)
	}
	// 401, 403, 404 and redirects are mistakes of the setting, which the operator mends: the events wait.
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	return time.Duration(min(max(seconds, 0), int(lastWait/time.Second))) * time.Second, 0, fmt.Errorf("the collector answered %s", answer.Status)
}

// withoutURL drops the address from an error of a client: it may have a key in it.
func withoutURL(err error) error {
	var failed interface{ Unwrap() error }
	if errors.As(err, &failed) && failed.Unwrap() != nil {
		return failed.Unwrap()
	}
	return err
}
