package otlp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logs "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/metrics"
	"bailiff/runtime/subject"
	"bailiff/vm/errcode"
)

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A world is a ledger with a key, and a collector.
type world struct {
	*testing.T
	l       *commit.Ledger
	plans   uint64
	metrics *metrics.Metrics
	said    bytes.Buffer
	url     string

	mu       sync.Mutex
	kept     string
	requests []*http.Request
	most     int               // events that the collector takes at once; 0 for any number
	got      []*logs.LogRecord // that the collector has taken
	answers  []func(http.ResponseWriter)
	answered chan struct{}
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, metrics: metrics.New(), answered: make(chan struct{}, 1000)}
	l, err := commit.Open(memory.NewLog(), commit.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w.l = l
	if err := l.CreateKey(t.Context(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(w.collect))
	t.Cleanup(server.Close)
	w.url = server.URL + "/v1/logs"
	return w
}

// collect answers as the next of answers does, or takes what comes.
func (w *world) collect(response http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // a stop has cut it off
	}
	var request collector.ExportLogsServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		w.Errorf("a request that is none: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.answered <- struct{}{} }()
	w.requests = append(w.requests, r)
	if len(w.answers) > 0 {
		answer := w.answers[0]
		w.answers = w.answers[1:]
		if answer != nil {
			answer(response)
			return
		}
	}
	if w.most > 0 && len(request.ResourceLogs[0].ScopeLogs[0].LogRecords) > w.most {
		response.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	for _, part := range request.ResourceLogs {
		for _, scoped := range part.ScopeLogs {
			w.got = append(w.got, scoped.LogRecords...)
		}
	}
}

func status(code int) func(http.ResponseWriter) {
	return func(response http.ResponseWriter) { response.WriteHeader(code) }
}

// deny has a denial recorded.
func (w *world) deny(change func(*ledger.Plan)) {
	w.Helper()
	w.plans++
	p := &ledger.Plan{
		ID: ledgertest.ID('p', w.plans), At: ledgertest.Start, Key: ledgertest.ID('k', 1), Epoch: 1,
		Pass:  ledger.Ending{Decision: ledger.Denied, Code: errcode.BlockedCommand, Rule: "tool_calls.bash.blocked_commands"},
		Event: ledger.Event{Endpoint: "/v1/authorize", AgentID: fmt.Sprint("agent-", w.plans), Action: "bash", Value: "rm -rf /"},
	}
	p.Event.Subject.Set(subject.Command, "rm -rf /")
	if change != nil {
		change(p)
	}
	if err := w.l.Submit(p).Wait(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// run runs an exporter until the function that it returns is called.
func (w *world) run() (stop func()) {
	w.mu.Lock()
	kept := w.kept
	w.mu.Unlock()
	e := New(Config{
		Ledger: w.l, URL: w.url, Headers: http.Header{"Authorization": {"Bearer of-the-collector"}}, Version: "1.2.3", Kept: kept,
		Keep: func(text string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.kept = text
			return nil
		},
		Log: slog.New(slog.NewTextHandler(&w.said, nil)), Metrics: w.metrics,
	})
	e.look, e.first = time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = e.Run(ctx) }()
	w.wait("the beginning", func() bool { return w.kept != "" })
	return func() { cancel(); <-done }
}

// wait waits for what is true under the world's lock.
func (w *world) wait(what string, ready func() bool) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		ok := ready()
		w.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("waited in vain for %s", what)
		}
	}
}

// agents are the agents of what the collector has taken, each once: a request that a stop cuts off is made again.
func (w *world) agents() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, record := range w.got {
		if name := plain(record.Attributes)["bailiff.agentId"].(string); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// plain returns attributes as encoding/json would decode an object.
func plain(members []*common.KeyValue) map[string]any {
	object := map[string]any{}
	for _, member := range members {
		object[member.Key] = plainValue(member.Value)
	}
	return object
}

func plainValue(value *common.AnyValue) any {
	switch value := value.Value.(type) {
	case *common.AnyValue_StringValue:
		return value.StringValue
	case *common.AnyValue_BoolValue:
		return value.BoolValue
	case *common.AnyValue_IntValue:
		return float64(value.IntValue)
	case *common.AnyValue_KvlistValue:
		return plain(value.KvlistValue.Values)
	case *common.AnyValue_ArrayValue:
		list := []any{}
		for _, each := range value.ArrayValue.Values {
			list = append(list, plainValue(each))
		}
		return list
	}
	return nil
}

// TestRecord holds that a log record has all of the event's JSON form, its trace, and the severity of a denial.
func TestRecord(t *testing.T) {
	w := newWorld(t)
	stop := w.run()
	defer stop()
	w.deny(func(p *ledger.Plan) {
		p.Event.Subject.Set(subject.Trace, traceparent)
		p.Event.Details = ledger.Details{Allowed: []string{"ls", "cat"}, Count: 7, Line: 12}
	})
	w.wait("the event", func() bool { return len(w.got) > 0 })
	page, err := w.l.Events(t.Context(), ledger.EventQuery{Decision: ledger.Denied, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	text, err := json.Marshal(eventjson.View(&page.Events[0]))
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	record, has := w.got[0], plain(w.got[0].Attributes)
	for name, value := range want {
		if got := has["bailiff."+name]; fmt.Sprint(got) != fmt.Sprint(value) {
			t.Errorf("%s is %v, want %v", name, got, value)
		}
	}
	if len(has) != len(want) || want["subject"] == nil || want["details"] == nil {
		t.Errorf("%v, want %v", has, want)
	}
	if fmt.Sprintf("%x-%x-%d", record.TraceId, record.SpanId, record.Flags) != "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1" {
		t.Errorf("the trace is %x-%x-%d", record.TraceId, record.SpanId, record.Flags)
	}
	if record.TimeUnixNano != uint64(ledgertest.Start) || record.SeverityText != "WARN" || record.EventName != "bailiff.decision" ||
		!strings.HasPrefix(record.Body.GetStringValue(), "decision DENIED bash tool_calls.bash.blocked_commands") {
		t.Errorf("%v", record)
	}
	if header := w.requests[0].Header; header.Get("Authorization") != "Bearer of-the-collector" || header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%v", header)
	}
}

// TestNothingIsLost has a collector that is away in many ways, and exporters that are stopped: each event comes, in order.
func TestNothingIsLost(t *testing.T) {
	w := newWorld(t)
	stop := w.run()
	w.mu.Lock()
	w.answers = []func(http.ResponseWriter){
		status(503), status(429), status(401), status(404), status(500), nil,
		func(response http.ResponseWriter) { panic(http.ErrAbortHandler) },
		func(response http.ResponseWriter) {
			response.Header().Set("Location", "/elsewhere")
			response.WriteHeader(http.StatusTemporaryRedirect)
		},
	}
	w.mu.Unlock()
	var want []string
	for n := 1; n <= 40; n++ {
		w.deny(nil)
		want = append(want, fmt.Sprint("agent-", n))
		if n <= 2 { // which meet all of the answers
			w.wait("the first events", func() bool { return len(w.got) >= n })
		}
		if n%13 == 0 {
			stop()
			w.deny(nil) // while no exporter runs
			n++
			want = append(want, fmt.Sprint("agent-", n))
			stop = w.run()
		}
	}
	w.wait("the last event", func() bool { // a request that a stop cut off may be taken after it, once more
		return slices.ContainsFunc(w.got, func(r *logs.LogRecord) bool {
			return plain(r.Attributes)["bailiff.agentId"] == want[len(want)-1]
		})
	})
	stop()
	if got := w.agents(); got != strings.Join(want, " ") {
		t.Errorf("the collector has %s", got)
	}
	for _, r := range w.requests {
		if r.URL.Path != "/v1/logs" {
			t.Errorf("a request went to %s", r.URL)
		}
	}
	if said := w.said.String(); !strings.Contains(said, "503") || !strings.Contains(said, "again") {
		t.Errorf("the log says %s", said)
	}
}

// TestRefused holds that events which the collector refuses for good do not stop those behind them, and are counted.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	partly, err := proto.Marshal(&collector.ExportLogsServiceResponse{PartialSuccess: &collector.ExportLogsPartialSuccess{RejectedLogRecords: 1}})
	if err != nil {
		t.Fatal(err)
	}
	w.answers = []func(http.ResponseWriter){status(400), func(response http.ResponseWriter) { response.Write(partly) }}
	stop := w.run()
	defer stop()
	for range w.answers {
		w.deny(nil)
		<-w.answered
	}
	w.deny(nil)
	w.wait("the event behind", func() bool { return len(w.got) > 0 })
	if got := w.agents(); got != "agent-3" {
		t.Errorf("the collector has %s", got)
	}
	for _, line := range []string{`bailiff_otlp_events_total{result="exported"} 1`, `bailiff_otlp_events_total{result="rejected"} 2`} {
		w.wait(line, func() bool {
			page := httptest.NewRecorder()
			w.metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			return strings.Contains(page.Body.String(), line)
		})
	}
}

// TestTooLarge holds that events come in smaller requests where the collector takes no large ones.
func TestTooLarge(t *testing.T) {
	w := newWorld(t)
	w.most = 3
	w.run()() // keeps the place before the events
	var want []string
	for n := 1; n <= 40; n++ {
		w.deny(nil)
		want = append(want, fmt.Sprint("agent-", n))
	}
	stop := w.run()
	defer stop()
	w.wait("all events", func() bool { return len(w.got) >= len(want) })
	if got := w.agents(); got != strings.Join(want, " ") || len(w.got) != len(want) {
		t.Errorf("the collector has %s", got)
	}
}

// TestAnotherRecord holds that a place in another log, or behind the end, is not believed.
func TestAnotherRecord(t *testing.T) {
	for _, kept := range []string{"00000000000000000000000000000000 1\n", "nonsense", "%x 99999\n", "%x -1\n", "%x\n"} {
		w := newWorld(t)
		head, err := w.l.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(kept, "%x") {
			kept = fmt.Sprintf(kept, head.Stream)
		}
		w.kept = kept
		w.deny(nil)
		stop := w.run()
		w.wait("a new place", func() bool { return w.kept != kept })
		w.deny(nil)
		w.wait("the event", func() bool { return len(w.got) > 0 })
		stop()
		if got := w.agents(); got != "agent-2" || !strings.Contains(w.said.String(), "not of this record") {
			t.Errorf("after %q the collector has %s, and the log says %s", kept, got, w.said.String())
		}
	}
}

// TestBegin: an event that is recorded between Begin and Run is sent. A service takes requests from Begin on.
func TestBegin(t *testing.T) {
	w := newWorld(t)
	end, err := w.l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	for kept, want := range map[string]struct {
		after uint64
		known bool
	}{"": {end.LSN, false}, PlaceAt(ledger.Head{}): {0, false}, PlaceAt(end): {end.LSN, true}, PlaceAt(ledger.Head{Stream: [16]byte{1}, LSN: end.LSN}): {end.LSN, false}} {
		if after, known := Begin(kept, end, quiet); known != want.known || after != want.after {
			t.Errorf("after %q sending begins after %d, known %t; the end is %d", kept, after, known, end.LSN)
		}
	}
	after, _ := Begin("", end, quiet)
	w.kept = PlaceAt(ledger.Head{Stream: end.Stream, LSN: after})
	w.deny(nil)
	stop := w.run()
	w.wait("the event", func() bool { return len(w.got) > 0 })
	stop()
	if got := w.agents(); got != "agent-1" {
		t.Errorf("the collector has %s", got)
	}
}
