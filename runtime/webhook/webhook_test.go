package webhook

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/metrics"
	"bailiff/runtime/system"
	"bailiff/vm/errcode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a ledger with a key, a clock that is, and a dispatcher that runs.
type world struct {
	*testing.T
	log   *memory.Log
	l     *commit.Ledger
	now   atomic.Int64
	stop  func()
	away  atomic.Bool // the ledger cannot be read
	plans atomic.Uint64
	poll  time.Duration // of the next dispatcher
	logTo *slog.Logger  // of the next dispatcher

	history *History
	mail    func(ctx context.Context, to, id, subject, text string) error // of the next dispatcher
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, log: memory.NewLog(), history: NewHistory(), stop: func() {}, poll: 2 * time.Millisecond}
	w.now.Store(ledgertest.Start)
	w.open()
	t.Cleanup(func() { w.shut() })
	key := ledgertest.NewKey(1)
	key.Scopes |= ledger.ScopeWebhooks
	if err := w.l.CreateKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) clock() time.Time { return time.Unix(0, w.now.Load()) }

// open opens the ledger and starts a dispatcher.
func (w *world) open() {
	w.Helper()
	l, err := commit.Open(w.log, commit.Options{Random: rand.Reader})
	if err != nil {
		w.Fatal(err)
	}
	w.l = l
	d := New(Config{Ledger: visible{l, &w.away}, AllowPrivate: true, Calls: system.Real(w.clock), Log: w.logTo, Metrics: metrics.New(), History: w.history, Mail: w.mail, HoldPages: "https://bailiff.example.com/approve/holds/", Sends: func(key *ledger.Key) bool { return key.Tier != "free" }})
	d.poll = w.poll
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx) }()
	w.stop = sync.OnceFunc(func() { cancel(); <-done })
}

func (w *world) shut() {
	w.stop()
	w.l.Close()
}

// A visible is a ledger that can be read only while it is not away.
type visible struct {
	*commit.Ledger
	away *atomic.Bool
}

func (v visible) Webhooks(ctx context.Context, key ledger.ID) ([]ledger.Webhook, error) {
	if v.away.Load() {
		return nil, ledger.ErrUnavailable
	}
	return v.Ledger.Webhooks(ctx, key)
}

func (v visible) LogOf(ledger.ID) ledger.Log { return v }

func (v visible) Events(ctx context.Context, query ledger.EventQuery) (ledger.EventPage, error) {
	if v.away.Load() {
		return ledger.EventPage{}, ledger.ErrUnavailable
	}
	return v.Ledger.Events(ctx, query)
}

// hook registers a webhook and returns its id.
func (w *world) hook(n uint64, url string, topics ledger.Topics) ledger.ID {
	w.Helper()
	id := ledgertest.ID('w', n)
	err := w.l.CreateWebhook(w.Context(), ledger.Webhook{
		ID: id, Key: ledgertest.ID('k', 1), URL: url, Topics: topics, Secret: secret, Created: w.now.Load(),
	})
	if err != nil {
		w.Fatal(err)
	}
	return id
}

var secret = []byte("a secret of thirty-two bytes, ok")

// deny has a denial recorded and returns its LSN.
func (w *world) deny() uint64 { return w.decide(func(*ledger.Plan) {}) }

func (w *world) decide(change func(*ledger.Plan)) uint64 {
	w.Helper()
	p := &ledger.Plan{
		ID: ledgertest.ID('p', w.plans.Add(1)), At: w.now.Load(), Key: ledgertest.ID('k', 1), Epoch: 1,
		Pass:  ledger.Ending{Decision: ledger.Denied, Code: errcode.BlockedCommand, Rule: "tool_calls.bash.blocked_commands"},
		Event: ledger.Event{Endpoint: "/v1/authorize", AgentID: "agent-7", Action: "bash", Value: "rm -rf /"},
	}
	change(p)
	ticket := w.l.Submit(p)
	if err := ticket.Wait(w.Context()); err != nil {
		w.Fatal(err)
	}
	return ticket.Outcome().LSN
}

func (w *world) disabled(id ledger.ID) bool { return w.webhook(id).Disabled != 0 }

// webhook returns a webhook as it is recorded.
func (w *world) webhook(id ledger.ID) ledger.Webhook {
	hooks, err := w.l.Webhooks(w.Context(), ledgertest.ID('k', 1))
	if err != nil {
		w.Error(err)
	}
	for _, h := range hooks {
		if h.ID == id {
			return h
		}
	}
	return ledger.Webhook{}
}

// A delivered is a request that a receiver got.
type delivered struct {
	http.Header
	body []byte
}

func (d delivered) id() string { return d.Get("webhook-id") }

// receive runs a server that answers by answer, with the number of the request, and passes on what it got.
func receive(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) (url string, got chan delivered) {
	got = make(chan delivered, 10_000)
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- delivered{r.Header.Clone(), body}
		answer(int(n.Add(1)), w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func status(codes ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(codes[min(n, len(codes))-1]) }
}

func take(t *testing.T, got chan delivered) delivered {
	t.Helper()
	select {
	case d := <-got:
		return d
	case <-time.After(5 * time.Second):
		t.Fatal("no delivery")
	}
	panic("unreachable")
}

// none checks that nothing comes for a while.
func none(t *testing.T, got chan delivered) {
	t.Helper()
	select {
	case d := <-got:
		t.Fatalf("unexpected: %s %s", d.id(), d.body)
	case <-time.After(40 * time.Millisecond):
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 5000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("not in time: %s", what)
}

// TestDelivers checks a delivery as a receiver sees it, at the real time, with the library's own verification.
func TestDelivers(t *testing.T) {
	w := newWorld(t)
	w.now.Store(time.Now().UnixNano())
	url, got := receive(t, status(204))
	id := w.hook(1, url+"/hook?token=a%20b", ledger.IntentDenied)
	lsn := w.deny()
	w.decide(func(p *ledger.Plan) { p.Pass = ledger.Ending{Decision: ledger.Allowed} })
	w.decide(func(p *ledger.Plan) { p.TestRun = true })
	d := take(t, got)
	verifier, err := standardwebhooks.NewWebhook(FormatSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify(d.body, d.Header); err != nil {
		t.Error(err)
	}
	if want := fmt.Sprintf("%s.%d", id, lsn); d.id() != want || d.Get("Content-Type") != "application/json" {
		t.Errorf("webhook-id %s, want %s; headers %v", d.id(), want, d.Header)
	}
	var body struct {
		Type      string
		Timestamp time.Time
		Data      map[string]any
	}
	if err := json.Unmarshal(d.body, &body); err != nil {
		t.Fatal(err)
	}
	if body.Type != "intent.denied" || body.Timestamp.UnixNano() != w.now.Load() || body.Data["value"] != "rm -rf /" ||
		body.Data["matchedRule"] != "tool_calls.bash.blocked_commands" || body.Data["lsn"] != float64(lsn) {
		t.Errorf("%s", d.body)
	}
	none(t, got)
}

// recorded waits until the failure of the only delivery is recorded, and returns the time.
func (w *world) recorded() int64 {
	w.Helper()
	now := w.now.Load()
	eventually(w.T, "the record of the failure", func() bool {
		_, next, err := w.l.Due(w.Context(), now, 1)
		return err == nil && next > now
	})
	return now
}

// TestRetries follows one delivery through its schedule until it is given up: its ten failures disable nothing.
func TestRetries(t *testing.T) {
	w := newWorld(t)
	url, got := receive(t, status(500, 404, 301, 429, 100+400, 503))
	hook := w.hook(1, url, ledger.AllTopics)
	w.deny()
	id := take(t, got).id()
	for i, pause := range pauses {
		failed := w.recorded()
		w.now.Store(failed + int64(pause-pause/jitterPart) - 1)
		none(t, got)
		w.now.Store(failed + int64(pause+pause/jitterPart))
		if again := take(t, got).id(); again != id {
			t.Fatalf("attempt %d has the id %s, the first %s", i+2, again, id)
		}
	}
	w.now.Add(int64(100 * 24 * time.Hour))
	none(t, got)
	if hook := w.webhook(hook); hook.Disabled != 0 || hook.Dropped != 1 {
		t.Errorf("after ten failures of one delivery: %+v", hook)
	}
	w.deny()
	if after := take(t, got).id(); after == id {
		t.Errorf("%s came, which was given up", after)
	}
}

// TestRecovers has a receiver fail once: its delivery succeeds later, and others go on.
func TestRecovers(t *testing.T) {
	w := newWorld(t)
	url, got := receive(t, status(500, 200))
	hook := w.hook(1, url, ledger.AllTopics)
	w.deny()
	first := take(t, got).id()
	w.recorded()
	w.deny()
	if second := take(t, got).id(); second == first {
		t.Error("the failed one came first")
	}
	w.now.Add(int64(6 * time.Second))
	if again := take(t, got).id(); again != first {
		t.Errorf("%s came, want %s", again, first)
	}
	w.now.Add(int64(30 * 24 * time.Hour))
	none(t, got)
	if w.disabled(hook) {
		t.Error("disabled")
	}
}

// TestRedirect has a receiver send deliveries on: nothing arrives there, and it counts as a failure.
func TestRedirect(t *testing.T) {
	w := newWorld(t)
	elsewhere, stolen := receive(t, status(200))
	for i, code := range []int{301, 302, 303, 307, 308} {
		url, got := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				w.Header().Set("Location", elsewhere)
				w.WriteHeader(code)
			}
		})
		id := w.hook(uint64(i), url, ledger.AllTopics)
		w.deny()
		first := take(t, got).id()
		w.recorded()
		w.now.Add(int64(6 * time.Second))
		if again := take(t, got).id(); again != first {
			t.Errorf("%d: %s came, want %s", code, again, first)
		}
		none(t, stolen)
		if err := w.l.RemoveWebhook(t.Context(), ledger.WebhookChange{Key: ledgertest.ID('k', 1), ID: id, At: w.now.Load()}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnswers has receivers answer at length, and for ever: the status is enough.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	var bytes atomic.Int64
	url, got := receive(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			n, err := w.Write(make([]byte, 1024))
			bytes.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	w.hook(1, url, ledger.AllTopics)
	w.deny()
	w.deny()
	take(t, got)
	take(t, got)
	eventually(t, "the end of the deliveries", func() bool {
		_, next, err := w.l.Due(t.Context(), 0, 1)
		return err == nil && next == 0
	})
	time.Sleep(20 * time.Millisecond)
	w.now.Add(int64(time.Hour))
	none(t, got)
	if n := bytes.Load(); n > 32<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// TestRestart closes dispatcher and ledger while some deliveries have succeeded and others have not.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	var broken atomic.Bool
	broken.Store(true)
	url, got := receive(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if broken.Load() && r.URL.Path == "/broken" {
			w.WriteHeader(500)
		}
	})
	w.hook(1, url+"/broken", ledger.AllTopics)
	w.hook(2, url+"/works", ledger.AllTopics)
	missing := map[string]bool{}
	for range 20 {
		missing[fmt.Sprintf("%s.%d", ledgertest.ID('w', 1), w.deny())] = true
	}
	for range 40 {
		take(t, got)
	}
	w.shut()
	broken.Store(false)
	w.open()
	none(t, got) // the ledger remembers when to try again
	w.now.Add(int64(6 * time.Second))
	for range 20 {
		id := take(t, got).id()
		if !missing[id] {
			t.Errorf("%s came again", id)
		}
		delete(missing, id)
	}
	w.now.Add(int64(time.Hour))
	none(t, got)
}

// TestStopsInOrder stops a dispatcher in the middle of a delivery: that one is finished and recorded.
func TestStopsInOrder(t *testing.T) {
	w := newWorld(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	url, got := receive(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			close(entered)
			<-leave
		}
	})
	w.hook(1, url, ledger.AllTopics)
	w.deny()
	<-entered
	stopped := make(chan struct{})
	go func() { defer close(stopped); w.stop() }()
	select {
	case <-stopped:
		t.Fatal("stopped with a delivery under way")
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	<-stopped
	take(t, got)
	w.shut()
	w.open()
	w.now.Add(int64(time.Hour))
	none(t, got)
}

// TestSlowReceivers has ten receivers that do not answer, with much to deliver: an eleventh gets everything at once.
func TestSlowReceivers(t *testing.T) {
	w := newWorld(t)
	leave := make(chan struct{})
	var held, most atomic.Int64
	slow, _ := receive(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), held.Add(1)))
		<-leave
		held.Add(-1)
	})
	for n := range uint64(10) {
		w.hook(n+1, slow, ledger.AllTopics)
	}
	for range 50 {
		w.deny()
	}
	url, got := receive(t, status(200))
	w.hook(11, url, ledger.AllTopics)
	for range 50 {
		w.deny()
		take(t, got)
	}
	close(leave)
	eventually(t, "the end", func() bool { return held.Load() == 0 })
	w.stop()
	if most.Load() > 10*perReceiver {
		t.Errorf("%d requests to ten receivers at once", most.Load())
	}
}

// TestLongQueue has deliveries wait without their events, and remove the webhook before they are made.
func TestLongQueue(t *testing.T) {
	w := newWorld(t)
	leave := make(chan struct{})
	url, got := receive(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n <= perReceiver {
			<-leave
		}
	})
	w.hook(1, url, ledger.AllTopics)
	missing := map[string]bool{}
	for range 100 {
		missing[fmt.Sprint(w.deny())] = true
	}
	seen := func() {
		d := take(t, got)
		var body struct{ Data struct{ LSN json.Number } }
		if err := json.Unmarshal(d.body, &body); err != nil || !strings.HasSuffix(d.id(), "."+body.Data.LSN.String()) {
			t.Errorf("%s carries %s", d.id(), d.body)
		}
		delete(missing, body.Data.LSN.String())
	}
	for range perReceiver {
		seen()
	}
	none(t, got)
	close(leave)
	for range 100 - perReceiver {
		seen()
	}
	if len(missing) > 0 {
		t.Errorf("not delivered: %v", missing)
	}
}

// TestLedgerAway has the ledger fail between handing deliveries out and their being made: none is lost or counted.
func TestLedgerAway(t *testing.T) {
	w := newWorld(t)
	url, got := receive(t, status(200))
	w.hook(1, url, ledger.AllTopics)
	w.away.Store(true)
	missing := map[string]bool{}
	for range 50 {
		missing[fmt.Sprintf("%s.%d", ledgertest.ID('w', 1), w.deny())] = true
	}
	none(t, got)
	w.away.Store(false)
	for range 50 {
		delete(missing, take(t, got).id())
	}
	none(t, got)
	if len(missing) > 0 {
		t.Errorf("not delivered: %v", missing)
	}
}

// TestBusyAfterAway: what could not be looked up while the ledger was away is tried again after a pause, however much else
// there is to deliver by then.
func TestBusyAfterAway(t *testing.T) {
	w := newWorld(t)
	w.shut()
	w.poll = 50 * time.Millisecond
	w.open()
	url, got := receive(t, status(200))
	w.hook(1, url, ledger.AllTopics)
	w.away.Store(true)
	first := fmt.Sprintf("%s.%d", ledgertest.ID('w', 1), w.deny())
	none(t, got)
	w.away.Store(false)
	for range 200 {
		w.deny()
		if take(t, got).id() == first {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the first delivery waits for as long as others come")
}

// TestRemoved removes a webhook while deliveries wait: those under way come, and no others.
func TestRemoved(t *testing.T) {
	w := newWorld(t)
	leave := make(chan struct{})
	url, got := receive(t, func(int, http.ResponseWriter, *http.Request) { <-leave })
	id := w.hook(1, url, ledger.AllTopics)
	for range 50 {
		w.deny()
	}
	for range perReceiver {
		take(t, got)
	}
	if err := w.l.RemoveWebhook(t.Context(), ledger.WebhookChange{Key: ledgertest.ID('k', 1), ID: id, At: w.now.Load()}); err != nil {
		t.Fatal(err)
	}
	close(leave)
	none(t, got)
}

// TestPlanEnds takes the plan with webhooks from a key, and gives it back: in between nothing is delivered, then or later. The scope to
// register webhooks does not matter.
func TestPlanEnds(t *testing.T) {
	w := newWorld(t)
	url, got := receive(t, status(200))
	w.hook(1, url, ledger.AllTopics)
	for _, plan := range []string{"free", "growth"} {
		change := ledger.KeyChange{ID: ledgertest.ID('k', 1), At: w.now.Load(), Tier: plan, Scopes: ledger.ScopeAuthorize}
		if _, err := w.l.ChangeKey(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		w.deny()
		if plan != "free" {
			take(t, got)
		}
		none(t, got)
	}
}

// TestExpiry has a hold expire: its webhooks are told.
func TestExpiry(t *testing.T) {
	w := newWorld(t)
	url, got := receive(t, status(200))
	w.hook(1, url, ledger.TopicHoldExpired)
	hold := ledgertest.ID('h', 1)
	w.decide(func(p *ledger.Plan) {
		p.Pass = ledger.Ending{Decision: ledger.Allowed}
		p.Hold = &ledger.HoldRequest{
			Candidate: hold, IntentHash: [32]byte{1}, Lifetime: 24 * time.Hour, Intent: []byte("{}"),
			Pending: ledger.Ending{Decision: ledger.Pending, Code: errcode.HoldApproval, Rule: "email.require_approval"},
			Denied:  ledger.Ending{Decision: ledger.Denied, Code: errcode.HoldDenied, Rule: "email.require_approval"},
		}
	})
	none(t, got)
	w.now.Add(int64(24*time.Hour + time.Minute))
	if d := take(t, got); !strings.Contains(string(d.body), `"hold.expired"`) || !strings.Contains(string(d.body), hold.String()) {
		t.Errorf("%s", d.body)
	}
}
