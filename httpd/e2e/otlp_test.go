package e2e

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"
)

// A telemetry is an OpenTelemetry collector that keeps the traces of what it takes, and may be away.
type telemetry struct {
	*httptest.Server
	mu     sync.Mutex
	away   bool
	traces []string
	header http.Header
}

func newTelemetry(t *testing.T) *telemetry {
	c := &telemetry{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportLogsServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil || c.away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		c.header = r.Header
		for _, record := range request.ResourceLogs[0].ScopeLogs[0].LogRecords {
			if record.TraceId != nil {
				c.traces = append(c.traces, hex.EncodeToString(record.TraceId))
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *telemetry) leave(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

// TestTelemetry kills a service while its collector is away: every decision that was answered comes to the collector with the
// trace of its request, in the order of the answers.
//
// Over a database another instance continues after each kill.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		telemetered(t, newTelemetry(t), func(s *site) func() *site { return func() *site { return s } })
	})
	if os.Getenv(slotsSetting) != "" {
		return // the folder is such a store
	}
	t.Run("store", func(t *testing.T) {
		t.Parallel()
		telemetered(t, newTelemetry(t), func(s *site) func() *site {
			s.overStore()
			n := 0
			return func() *site { n++; return s.instance(string(rune('a' + n%2))) }
		})
	})
}

// telemetered runs services of a site, each after the one before was killed.
func telemetered(t *testing.T, c *telemetry, machines func(*site) func() *site) {
	s := newSite(t, taskPolicy, "SVC_OTLP_LOGS="+c.URL+"/v1/logs", "SVC_OTLP_HEADERS=x-team=a%20b,authorization=Bearer%20secret")
	next := machines(s)
	start := func() *running {
		r := next().start()
		r.awaitReady(t, 200)
		return r
	}
	key := s.apiKey()
	service := start()
	var want []string
	for round := range 3 {
		for i := range 20 {
			trace := fmt.Sprintf("%032x", 1+100*round+i)
			request, err := http.NewRequest(http.MethodPost, service.base+"/v1/authorize", strings.NewReader(tool("bash", fmt.Sprintf(`"command":"ls %d","task_id":"t%d%d"`, i, round, i))))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+key)
			request.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
			want = append(want, trace)
			if i == 10 {
				c.leave(true)
			}
		}
		service.kill()
		service = start()
		c.leave(false)
	}
	got := func() []string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Compact(slices.Clone(c.traces))
	}
	for deadline := time.Now().Add(time.Minute); !slices.Contains(got(), want[len(want)-1]) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	// What was sent before a kill may be sent again after it.
	seen, order := map[string]bool{}, []string(nil)
	for _, trace := range got() {
		if !seen[trace] {
			seen[trace], order = true, append(order, trace)
		}
	}
	if !slices.Equal(order, want) {
		t.Errorf("the collector has %v, want %v", order, want)
	}
	if c.header.Get("X-Team") != "a b" || c.header.Get("Authorization") != "Bearer secret" {
		t.Errorf("the headers are %v", c.header)
	}
	if log := service.log.String(); strings.Contains(log, "secret") {
		t.Errorf("the log has the collector's key: %s", log)
	}
}
