package metrics_test

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/runtime/metrics"
	"bailiff/vm/errcode"
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
	m.Decision("ALLOWED", errcode.BlockedPath, false) // OBSERVE
	m.Decision("DENIED", errcode.BlockedPath, true)
	m.Decision("DENIED", errcode.BlockedPath, true)
	m.Decision("PENDING", errcode.HoldApproval, false)
	m.Decision("DENIED", "SVC_MADE_UP", false)
	m.Decision("ERROR", "", false)
	m.Stage(metrics.StageSign, 3*time.Microsecond)
	m.Delivery(metrics.GivenUp, time.Second)
	m.Group(5, 1000, time.Millisecond)
	m.Route("/v1/authorize").Count(200, time.Millisecond)
	m.Route("/v1/authorize").Count(200, time.Millisecond)
	m.Route("/v1/authorize").Count(7, time.Millisecond)
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
	shows(t, got,
		`bailiff_http_request_seconds_count{route="/v1/authorize"} 3`, `bailiff_http_request_seconds_sum{route="/v1/authorize"} 0.003`,
		`bailiff_http_request_seconds_bucket{route="/v1/authorize",le="0.001024"} 3`, `bailiff_http_request_seconds_bucket{route="/v1/authorize",le="0.000512"} 0`,
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
	)
	if n := strings.Count(got, "bailiff_decisions_total"); n != 4 {
		t.Errorf("%d series of decisions, want 4: what did not happen is not shown\n%s", n, got)
	}
}

// shows fails where a line is missing.
func shows(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains("\n"+got+"\n", "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestGauges adds what is read from the service, and counts denials, reloads and the lag of webhooks.
func TestGauges(t *testing.T) {
	m := metrics.New()
	m.Denial("evm.max_transaction_eth", true)
	m.Denial("evm.max_transaction_eth", true)
	m.Denial("evm.max_transaction_eth", false)
	m.Denial("", true) // a decision by no rule
	m.WebhookLag(time.Second)
	m.Reload(metrics.ReloadRefused)
	m.Passed(metrics.PassLost)
	if err := errors.Join(
		m.BuildInfo(metrics.Build{Version: "v1", Commit: "abc", Go: "go1", Engine: "machine 1"}), m.Mode("enforce", "hosted", "test"),
		m.Ready("disk", func() bool { return true }), m.Ready("clock", func() bool { return false }),
		m.LedgerRefusing(func() bool { return true }), m.CheckpointAge(func() time.Duration { return 1500 * time.Millisecond }),
		m.DiskFree(func() float64 { return 42 }), m.Holds(func() (int, time.Duration) { return 3, time.Minute }),
		m.Store(func() bool { return true }, func() metrics.StoreCounts {
			return metrics.StoreCounts{Takeovers: 1, Unanswered: 2, Fenced: 3, Offset: 4 * time.Second}
		}), m.Policies(func() int { return 7 }),
		m.UpstreamFailures("rpc", "1", func() uint64 { return 5 }), m.UpstreamFailures("bundler", "1", func() uint64 { return 6 }),
	); err != nil {
		t.Fatal(err)
	}
	shows(t, scrape(t, m),
		`bailiff_denials_total{enforced="true",rule="evm.max_transaction_eth"} 2`,
		`bailiff_denials_total{enforced="false",rule="evm.max_transaction_eth"} 1`,
		`bailiff_webhook_lag_seconds_count 1`, `bailiff_webhook_lag_seconds_sum 1`,
		`bailiff_policy_reloads_total{result="refused"} 1`, `bailiff_policy_reloads_total{result="replaced"} 0`,
		`bailiff_passed_requests_total{result="lost"} 1`, `bailiff_passed_requests_total{result="answered"} 0`,
		`bailiff_store_deciding 1`, `bailiff_store_takeovers_total 1`, `bailiff_store_unanswered_appends_total 2`, `bailiff_store_fenced_appends_total 3`,
		`bailiff_store_clock_offset_seconds 4`, `bailiff_store_other_policies 7`,
		`bailiff_build_info{commit="abc",engine="machine 1",go="go1",version="v1"} 1`,
		`bailiff_mode{environment="test",hosting="hosted",mode="enforce"} 1`,
		`bailiff_ready{check="disk"} 1`, `bailiff_ready{check="clock"} 0`, `bailiff_ledger_refusing 1`,
		`bailiff_checkpoint_age_seconds 1.5`, `bailiff_disk_free_bytes 42`, `bailiff_holds_pending 3`, `bailiff_holds_oldest_seconds 60`,
		`bailiff_upstream_failures_total{chain="1",endpoint="rpc"} 5`, `bailiff_upstream_failures_total{chain="1",endpoint="bundler"} 6`,
	)
}

// TestCheap holds counting to no memory, and nil to nothing at all.
func TestCheap(t *testing.T) {
	for name, m := range map[string]*metrics.Metrics{"metrics": metrics.New(), "nil": nil} {
		route := m.Route("/v1/authorize")
		if n := testing.AllocsPerRun(100, func() {
			m.Decision("DENIED", errcode.BlockedPath, false)
			m.Stage(metrics.StageDecode, time.Microsecond)
			m.Group(1, 1, time.Microsecond)
			m.Delivery(metrics.Failed, time.Microsecond)
			route.Count(403, time.Second)
			m.Denial("a.rule", true)
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
				m.Route(name).Count(200, time.Millisecond)
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

// TestDurations finds the bucket of a duration: of each bound, of what is above it, and of what is beyond all.
func TestDurations(t *testing.T) {
	m := metrics.New()
	route := m.Route("/a")
	for _, took := range []time.Duration{-1, 0, 64 * time.Microsecond, 64*time.Microsecond + 1, 128 * time.Microsecond, 1 << 25 * time.Microsecond, 1<<25*time.Microsecond + 1, 1 << 62} {
		route.Count(200, took)
	}
	got := scrape(t, m)
	for bound, want := range map[string]int{"6.4e-05": 3, "0.000128": 5, "0.000256": 5, "16.777216": 5, "33.554432": 6, "+Inf": 8} {
		if line := fmt.Sprintf("bailiff_http_request_seconds_bucket{route=\"/a\",le=%q} %d\n", bound, want); !strings.Contains(got, line) {
			t.Errorf("no %sin\n%s", line, got)
		}
	}
}

// TestDenialsAreBounded: however many rules there are, no more series are; and none is lost.
func TestDenialsAreBounded(t *testing.T) {
	m := metrics.New()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 1000 {
				m.Denial(fmt.Sprintf("rule.%d", i), true)
			}
			m.Denial(strings.Repeat("x", 200)+fmt.Sprint(worker), true)
			m.Denial("\xff", true)
		})
	}
	all.Wait()
	got := scrape(t, m)
	if n := strings.Count(got, "bailiff_denials_total{"); n != 257 {
		t.Errorf("%d series", n)
	}
	total := 0
	for _, found := range regexp.MustCompile(`bailiff_denials_total\{.*\} (\d+)`).FindAllStringSubmatch(got, -1) {
		n, _ := strconv.Atoi(found[1])
		total += n
	}
	if total != 8*1002 {
		t.Errorf("%d denials were counted of %d", total, 8*1002)
	}
	if !strings.Contains(got, fmt.Sprintf(`bailiff_denials_total{enforced="true",rule=%q} %d`, metrics.OtherRules, total-8*256)) {
		t.Errorf("the other rules are not counted as such:\n%s", got)
	}
}

// TestDescriptions names what was added, with labels of both kinds.
func TestDescriptions(t *testing.T) {
	m := metrics.New()
	if err := errors.Join(m.Mode("a", "b", "c"), m.Ready("x", func() bool { return true }), m.Ready("y", func() bool { return true })); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, d := range m.Descriptions() {
		if found[d.Name] != "" || d.Help == "" {
			t.Errorf("%+v", d)
		}
		found[d.Name] = fmt.Sprint(d.Labels)
	}
	for name, labels := range map[string]string{
		"bailiff_mode": "[environment hosting mode]", "bailiff_ready": "[check]", "bailiff_denials_total": "[rule enforced]", "bailiff_replays_total": "[]",
		"bailiff_webhook_lag_seconds": "[]", "bailiff_http_requests_total": "[route status]",
	} {
		if found[name] != labels {
			t.Errorf("%s has the labels %s, want %s", name, found[name], labels)
		}
	}
}

// TestWithin holds that a share of a route's requests was answered within the bound that is said, and not within the one before.
func TestWithin(t *testing.T) {
	r := metrics.New().Route("/v1/authorize")
	if got := r.Within(0.5); got != 0 {
		t.Errorf("of no requests half were answered within %v", got)
	}
	for range 98 {
		r.Count(200, 300*time.Microsecond)
	}
	r.Count(200, 3*time.Millisecond)
	r.Count(200, time.Hour)
	for share, want := range map[float64]time.Duration{0.5: 512 * time.Microsecond, 0.98: 512 * time.Microsecond, 0.99: 4096 * time.Microsecond, 1: 0} {
		if got := r.Within(share); got != want {
			t.Errorf("a share of %v was answered within %v, want %v", share, got, want)
		}
	}
	var none *metrics.Route
	if none.Within(0.5) != 0 {
		t.Error("a route that counts nothing has a duration")
	}
}
