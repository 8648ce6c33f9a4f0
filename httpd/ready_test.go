package httpd

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"bailiff/runtime/metrics"
)

// TestReady: the API and the monitor answer alike, with 503 where one check fails or there is none.
func TestReady(t *testing.T) {
	for name, row := range map[string]struct {
		checks func() []Check
		status int
		want   string
	}{
		"nothing is checked": {nil, 503, `{"status":"not ready","checks":[]}`},
		"all pass": {func() []Check { return []Check{{"ledger", true, "it works"}, {"disk", true, `"2" GiB are free`}} }, 200,
			`{"status":"ready","checks":[{"name":"ledger","ready":true,"reason":"it works"},{"name":"disk","ready":true,"reason":"\"2\" GiB are free"}]}`},
		"one fails": {func() []Check { return []Check{{"ledger", false, "it refuses"}, {"disk", true, ""}} }, 503,
			`{"status":"not ready","checks":[{"name":"ledger","ready":false,"reason":"it refuses"},{"name":"disk","ready":true,"reason":""}]}`},
	} {
		w := newWorld(t)
		config := w.config(w.authority("", false))
		config.Ready = row.checks
		w.serve(config)
		response, body := w.send(w.request("GET /readyz"))
		if response.StatusCode != row.status || body != row.want || response.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the API answers %d %s", name, response.StatusCode, body)
		}
		recorder := httptest.NewRecorder()
		monitor := NewMonitor(metrics.New(), row.checks, slog.New(slog.DiscardHandler))
		monitor.http.Handler.ServeHTTP(recorder, httptest.NewRequest("GET", "/readyz", nil))
		if recorder.Code != row.status || recorder.Body.String() != row.want {
			t.Errorf("%s: the monitor answers %d %s", name, recorder.Code, recorder.Body)
		}
	}
}
