package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// awaitReady asks for /readyz until it is answered with a status, and returns the last answer. A service that has ended
// answers 0.
func (r *running) awaitReady(t *testing.T, want int) (status int, body string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		got, err := r.try("GET", "/readyz", "", "")
		switch {
		case err != nil && r.ended():
			return 0, ""
		case err == nil && got.status == want:
			return got.status, got.body
		case time.Now().After(deadline):
			t.Errorf("readyz is %d %s (%v), want %d", got.status, got.body, err, want)
			return got.status, got.body
		}
	}
}

// TestOperated: a service is ready on the API and beside the metrics, says in its log and its metrics which build it is, and
// serves profiles on a listener of their own only.
func TestOperated(t *testing.T) {
	monitor, profiler := freeAddress(t), freeAddress(t)
	s := newSite(t, reloadable(1), "SVC_ADMIN_LISTEN="+monitor, "SVC_PPROF_LISTEN="+profiler)
	service := s.start()
	status, ready := service.awaitReady(t, 200)
	for _, check := range []string{"ledger", "policy", "signing", "disk", "clock"} {
		if status == 200 && !strings.Contains(ready, `{"name":"`+check+`","ready":true,"reason":"`) {
			t.Errorf("readyz has no check %s: %s", check, ready)
		}
	}
	get := func(url string) (int, string) {
		response, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	if status, text := get("http://" + monitor + "/readyz"); status != http.StatusOK || text != ready {
		t.Errorf("readyz beside the metrics: %d %s, and on the API %s", status, text, ready)
	}
	if status, _ := get("http://" + monitor + "/debug/pprof/"); status != http.StatusNotFound {
		t.Errorf("profiles beside the metrics: %d", status)
	}
	if status, _ := get("http://" + profiler + "/debug/pprof/heap"); status != http.StatusOK {
		t.Errorf("profiles: %d", status)
	}
	version := s.must("version")
	commit := strings.Fields(strings.Split(version, "\n")[1])[1]
	if !strings.Contains(service.log.String(), "commit="+commit) && !strings.Contains(service.log.String(), `commit="`+commit) {
		t.Errorf("the log does not say that it is %s", version)
	}
	if a := service.ask("/v1/authorize", s.apiKey(), evenBody("")); a.Status != "DENIED" {
		t.Errorf("a command that is not listed: %s", a.Raw)
	}
	_, metrics := get("http://" + monitor + "/metrics")
	for _, want := range []string{
		`bailiff_build_info{commit="` + commit, `bailiff_mode{environment="production",hosting="self-hosted",mode="enforce"} 1`,
		`bailiff_ready{check="ledger"} 1`, `bailiff_ready{check="clock"} 1`, `bailiff_ledger_refusing 0`, `bailiff_disk_free_bytes `,
		`bailiff_checkpoint_age_seconds `, `bailiff_holds_pending 0`, `bailiff_holds_oldest_seconds 0`,
		`bailiff_denials_total{enforced="true",rule="tool_calls.bash.allowed_commands"} 1`,
		`bailiff_http_request_seconds_count{route="/v1/authorize"} 1`,
		`bailiff_http_request_seconds_bucket{route="/v1/authorize",le="33.554432"} 1`, // the start of the request is known
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	if err := service.stop(); err != nil {
		t.Error(err)
	}
}
