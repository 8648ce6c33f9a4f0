package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/system"
)

// TestDisabled: a receiver is disabled when it has accepted nothing for 24 hours in which 20 attempts failed, and refuses a ping; not by
// one of them.
func TestDisabled(t *testing.T) {
	for _, answer := range []int{http.StatusInternalServerError, http.StatusGone} {
		w := newWorld(t)
		url, got := receive(t, status(answer))
		hook := w.hook(1, url, ledger.AllTopics)
		fail := func() {
			t.Helper()
			w.deny()
			take(t, got)
			w.counted(hook)
		}
		start := w.now.Load()
		for range disableFailures - 1 {
			fail()
		}
		w.now.Store(start + int64(disableAfter) - 1)
		w.settle(got, hook)
		fail() // the 20th or a later one, a moment too early
		if w.disabled(hook) {
			t.Fatalf("%d: disabled before 24 hours", answer)
		}
		w.now.Store(start + int64(disableAfter))
		w.deny()
		for {
			if d := take(t, got); d.kind(t) == pingType {
				if !strings.HasSuffix(d.id(), ".ping") {
					t.Errorf("the ping has the id %s", d.id())
				}
				break
			}
		}
		eventually(t, "disabled", func() bool { return w.disabled(hook) })
		w.deny()
		w.now.Add(int64(100 * 24 * time.Hour))
		none(t, got)
		if err := w.l.EnableWebhook(t.Context(), ledger.WebhookChange{Key: ledgertest.ID('k', 1), ID: hook, At: w.now.Load()}); err != nil {
			t.Fatal(err)
		}
		w.deny()
		take(t, got)
		w.counted(hook)
		if w.disabled(hook) {
			t.Errorf("%d: disabled again by one failure", answer)
		}
	}
}

// counted waits until all attempts of a webhook are recorded.
func (w *world) counted(hook ledger.ID) {
	w.Helper()
	eventually(w.T, "the record of the attempts", func() bool {
		_, next, err := w.l.Due(w.Context(), w.now.Load(), 1)
		return err == nil && (next == 0 || next > w.now.Load())
	})
}

// settle takes what a jump of the clock has made due, until nothing more comes.
func (w *world) settle(got chan delivered, hook ledger.ID) {
	w.Helper()
	for {
		select {
		case <-got:
		case <-time.After(40 * time.Millisecond):
			w.counted(hook)
			return
		}
	}
}

// TestPoisonedEvents has a receiver that refuses all events and takes pings: it is not disabled.
func TestPoisonedEvents(t *testing.T) {
	w := newWorld(t)
	var pings atomic.Int64
	url, got := receive(t, func(_ int, out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("webhook-id"), ".ping") {
			pings.Add(1)
			return
		}
		out.WriteHeader(http.StatusGone)
	})
	hook := w.hook(1, url, ledger.AllTopics)
	for range 2 * disableFailures {
		w.deny()
		take(t, got)
		w.now.Add(int64(disableAfter / disableFailures))
	}
	w.settle(got, hook)
	if hook := w.webhook(hook); hook.Disabled != 0 || hook.Dropped != 2*disableFailures || pings.Load() != 1 {
		t.Errorf("after %d pings: %+v", pings.Load(), hook)
	}
}

// TestDisabledByOwnFailuresAlone: what may be the service's own fault does not count, and neither does what came before a restart or
// before the receiver accepted something.
func TestDisabledByOwnFailuresAlone(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	resolver := func(missing bool) error { return &net.DNSError{Err: "no", IsNotFound: missing} }
	for name, row := range map[string]struct {
		o    outcome
		dead bool
	}{
		"500":                      {outcome{status: 500}, true},
		"a redirect":               {outcome{status: 307}, true},
		"refused":                  {outcome{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, true},
		"reset":                    {outcome{err: syscall.ECONNRESET}, true},
		"closed":                   {outcome{err: io.EOF}, true},
		"a private address":        {outcome{err: errAddress}, true},
		"no such host":             {outcome{err: resolver(true)}, true},
		"the name server failed":   {outcome{err: resolver(false)}, false},
		"the deadline of attempts": {outcome{err: context.DeadlineExceeded}, false},
		"a shutdown":               {outcome{err: context.Canceled}, false},
		"a timeout":                {outcome{err: &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}}, false},
		"no answer in time":        {outcome{err: fmt.Errorf("%w: %w", errLate, context.DeadlineExceeded)}, true},
		"no network":               {outcome{err: &net.OpError{Op: "dial", Err: syscall.ENETUNREACH}}, false},
		"no descriptors":           {outcome{err: syscall.EMFILE}, false},
		"a setting":                {outcome{err: fmt.Errorf("%w: http", ErrURL)}, false},
		"e-mail":                   {outcome{item: ledger.Delivery{Webhook: ledger.Webhook{Format: ledger.EmailFormat}}, err: io.EOF}, false},
	} {
		m, hook := streaks{}, row.o.item.Webhook.ID
		if m[hook].isDead(start) {
			t.Fatal("a receiver that never failed")
		}
		note := func(o outcome, at time.Time) { m.note(&o, at, slog.New(slog.DiscardHandler)) }
		for range disableFailures {
			note(row.o, start)
		}
		if m[hook].isDead(start.Add(disableAfter - 1)) {
			t.Errorf("%s: before 24 hours", name)
		}
		if got := m[hook].isDead(start.Add(disableAfter)); got != row.dead {
			t.Errorf("%s: disabled %v", name, got)
		}
		note(outcome{status: 204}, start.Add(time.Minute))
		for range disableFailures {
			note(row.o, start.Add(2*time.Minute))
		}
		if m[hook].isDead(start.Add(disableAfter + time.Minute)) {
			t.Errorf("%s: 24 hours do not begin anew when it accepts something", name)
		}
	}
	m := streaks{}
	for n := range uint64(maxStreaks + 10) {
		m.of(ledgertest.ID('w', n))
	}
	if len(m) != maxStreaks {
		t.Errorf("%d streaks are kept", len(m))
	}
}

// TestLateReceivers: a receiver that takes a connection and doesn't answer in time fails by its own fault; where no connection comes about, or one of before
// is used, that is not known.
func TestLateReceivers(t *testing.T) {
	silent := make(chan struct{})
	var hangs atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if hangs.Load() {
			<-silent
		}
	}))
	defer server.Close()
	defer close(silent)
	item := &ledger.Delivery{Webhook: ledger.Webhook{URL: server.URL, Secret: secret}}
	attempt := func(client *http.Client) error {
		d := &Dispatcher{config: Config{AllowPrivate: true, Calls: system.Real(func() time.Time { return time.Unix(1_800_000_000, 0) })}, client: client}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		t.Cleanup(client.CloseIdleConnections)
		_, err := d.post(ctx, item, "id", []byte("{}"), nil)
		return err
	}
	reused := &http.Client{Transport: &http.Transport{}}
	eventually(t, "a connection is kept", func() bool { return attempt(reused) == nil })
	hangs.Store(true)
	if err := attempt(reused); err == nil || receiverFault(0, err) {
		t.Errorf("over a connection of before: %v", err)
	}
	if err := attempt(&http.Client{Transport: &http.Transport{}}); !errors.Is(err, errLate) || !receiverFault(0, err) {
		t.Errorf("over a new connection: %v", err)
	}
	unreachable := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	if err := attempt(&http.Client{Transport: unreachable}); err == nil || receiverFault(0, err) {
		t.Errorf("without a connection: %v", err)
	}
}

// TestRestartCountsAnew: the time before a start counts for nothing.
func TestRestartCountsAnew(t *testing.T) {
	w := newWorld(t)
	url, got := receive(t, status(http.StatusGone))
	hook := w.hook(1, url, ledger.AllTopics)
	for range 2 * disableFailures {
		w.deny()
		take(t, got)
	}
	w.shut()
	w.now.Add(int64(2 * disableAfter))
	w.open()
	w.deny()
	w.settle(got, hook)
	if w.disabled(hook) {
		t.Error("disabled while the service was down")
	}
}

// TestFewLines: the log says when a receiver begins to fail and when it works again, and has no line for each attempt.
func TestFewLines(t *testing.T) {
	w := newWorld(t)
	w.shut()
	var log lockedBuffer
	w.logTo = slog.New(slog.NewTextHandler(&log, nil))
	w.open()
	var good atomic.Bool
	url, got := receive(t, func(_ int, out http.ResponseWriter, _ *http.Request) {
		if !good.Load() {
			out.WriteHeader(http.StatusInternalServerError)
		}
	})
	w.hook(1, url, ledger.AllTopics)
	for range 30 {
		w.deny()
		take(t, got)
	}
	good.Store(true)
	for taken := 0; taken < 30; {
		select {
		case <-got:
			taken++
		case <-time.After(20 * time.Millisecond): // the last failure may have been recorded after the clock had moved
			w.now.Add(int64(6 * time.Second))
		}
	}
	eventually(t, "the line of its working again", func() bool { return strings.Contains(log.String(), "succeed again") })
	if text := log.String(); strings.Count(text, "\n") > 4 || !strings.Contains(text, "deliveries of the webhook fail") {
		t.Errorf("60 attempts, of which 30 failed, are in the log as:\n%s", text)
	}
}

// A lockedBuffer is a buffer that a log may write to while it is read.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestOneWarning: a receiver that is broken until it is disabled gets one warning, and one that accepts every other event does not
// fill the log.
func TestOneWarning(t *testing.T) {
	var log lockedBuffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	m, now := streaks{}, time.Unix(1_800_000_000, 0)
	note := func(status int) {
		o := outcome{status: status}
		m.note(&o, now, logger)
	}
	for range 100 {
		now = now.Add(time.Hour)
		note(500)
	}
	note(200)
	if text := log.String(); strings.Count(text, "WARN") != 1 || strings.Count(text, "INFO") != 1 {
		t.Errorf("100 failures and one success are in the log as:\n%s", text)
	}
	for range 600 { // an hour
		now = now.Add(6 * time.Second)
		note(500)
		note(200)
	}
	if text := log.String(); strings.Count(text, "WARN") > 3 || strings.Count(text, "INFO") > 3 {
		t.Errorf("a receiver that refuses every other event is in the log as:\n%s", text)
	}
	now = now.Add(warnEvery)
	note(200)
	if len(m) != 0 {
		t.Errorf("a receiver that accepts everything is remembered: %v", m)
	}
}

// kind returns the type of a delivery.
func (d delivered) kind(t *testing.T) string {
	t.Helper()
	var body struct{ Type string }
	if err := json.Unmarshal(d.body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Type
}
