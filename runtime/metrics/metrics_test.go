package metrics_test

import (
	"errors"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/runtime/code"
	"bailiff/runtime/metrics"
)

// scrape returns the service's own metrics as Prometheus reads them.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(recorder.Result().Body)
	if err != nil || recorder.Code != 200 {
		t.Fatalf("status %d, %v", recorder.Code, err)
	}
	return strings.Join(regexp.MustCompile(`(?m)^bailiff_.*$`).FindAllString(string(text), -1), "\n")
}

// TestCounts counts one of each and reads it back.
func TestCounts(t *testing.T) {
	m := metrics.New()
	m.Decision("ALLOWED", "", false)
	m.Decision("ALLOWED", code.BlockedPath, false) // OBSERVE
	m.Decision("DENIED", code.BlockedPath, true)
	m.Decision("DENIED", code.BlockedPath, true)
	m.Decision("PENDING", code.HoldApproval, false)
	m.Decision("DENIED", "SVC_MADE_UP", false)
	m.Decision("ERROR", "", false)
	m.Stage(metrics.StageSign, 3*time.Microsecond)
	m.Delivery(metrics.GivenUp, time.Second)
	m.Group(5, 1000, time.Millisecond)
	m.Route("/v1/authorize").Count(200)
	m.Route("/v1/authorize").Count(200)
	m.Route("/v1/authorize").Count(7)
	if err := m.Queue("outbox", func() int { return 42 }); err != nil {
		t.Fatal(err)
	}
	if m.Queue("outbox", func() int { return 0 }) == nil {
		t.Error("one name was given to two queues")
	}
	if err := m.Use(metrics.UpstreamAnswers, 1000, func() float64 { return 7 }); err != nil {
		t.Fatal(err)
	}
	if m.Use(metrics.UpstreamAnswers, 1, func() float64 { return 0 }) == nil {
		t.Error("one name was given to two budgets")
	}
	m.Beyond(metrics.UpstreamAnswers)
	if err := m.ClockDoubt(func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	got := scrape(t, m)
	for _, want := range []string{
		`bailiff_decisions_total{code="",status="ALLOWED",test_run="false"} 1`,
		`bailiff_decisions_total{code="SVC_POLICY_VIOLATION_BLOCKED_PATH",status="ALLOWED",test_run="false"} 1`,
		`bailiff_decisions_total{code="SVC_POLICY_VIOLATION_BLOCKED_PATH",status="DENIED",test_run="true"} 2`,
		`bailiff_decisions_total{code="SVC_POLICY_HOLD_APPROVAL_REQUIRED",status="PENDING",test_run="false"} 1`,
		`bailiff_stage_seconds_count{stage="sign"} 1`,
		`bailiff_stage_seconds_bucket{stage="sign",le="4e-06"} 1`,
		`bailiff_stage_seconds_bucket{stage="sign",le="2e-06"} 0`,
		`bailiff_webhook_delivery_seconds_count{outcome="given_up"} 1`,
		`bailiff_ledger_group_records_sum 5`,
		`bailiff_ledger_bytes_total 1000`,
		`bailiff_ledger_sync_seconds_count 1`,
		`bailiff_http_requests_total{route="/v1/authorize",status="200"} 2`,
		`bailiff_http_requests_total{route="/v1/authorize",status="500"} 1`,
		`bailiff_queue_depth{queue="outbox"} 42`,
		`bailiff_budget_limit{budget="upstream_answers"} 1000`,
		`bailiff_budget_used{budget="upstream_answers"} 7`,
		`bailiff_budget_exceeded_total{budget="upstream_answers"} 1`,
		`bailiff_clock_in_doubt 1`,
	} {
		if !strings.Contains("\n"+got+"\n", "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if n := strings.Count(got, "bailiff_decisions_total"); n != 4 {
		t.Errorf("%d series of decisions, want 4: what did not happen is not shown\n%s", n, got)
	}
}

// TestCheap holds counting to no memory, and nil to nothing at all.
func TestCheap(t *testing.T) {
	for name, m := range map[string]*metrics.Metrics{"metrics": metrics.New(), "nil": nil} {
		route := m.Route("/v1/authorize")
		if n := testing.AllocsPerRun(100, func() {
			m.Decision("DENIED", code.BlockedPath, false)
			m.Stage(metrics.StageDecode, time.Microsecond)
			m.Group(1, 1, time.Microsecond)
			m.Delivery(metrics.Failed, time.Microsecond)
			route.Count(403)
		}); n != 0 {
			t.Errorf("%s: counting takes memory %v times", name, n)
		}
		if err := errors.Join(m.Queue("q", func() int { return 0 }), m.Use(metrics.RequestBodies, 1, func() float64 { return 0 })); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRoutesAtOnce asks for the same routes from many goroutines: no count may be lost to a second cell.
func TestRoutesAtOnce(t *testing.T) {
	m := metrics.New()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for _, name := range []string{"/a", "/b"} {
				m.Route(name).Count(200)
			}
		})
	}
	all.Wait()
	got := scrape(t, m)
	for _, want := range []string{`route="/a",status="200"} 50`, `route="/b",status="200"} 50`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
}
