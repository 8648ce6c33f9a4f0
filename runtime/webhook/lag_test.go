package webhook

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/system"
)

// TestLag: a delivery that succeeds counts the time since its event; one that fails or that has no receiver left counts none.
func TestLag(t *testing.T) {
	counted := metrics.New()
	now := time.Unix(1_000_000, 0)
	d := New(Config{Calls: system.Real(func() time.Time { return now }), Metrics: counted})
	item := ledger.Delivery{Event: ledger.LoggedEvent{At: now.Add(-90 * time.Second).UnixNano()}}
	for _, o := range []outcome{{status: 200}, {status: 500}, {gone: true}} {
		o.item, o.lane = item, &lane{}
		d.result(&o)
	}
	recorder := httptest.NewRecorder()
	counted.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{"\nbailiff_webhook_lag_seconds_sum 90\n", "\nbailiff_webhook_lag_seconds_count 1\n"} {
		if !strings.Contains(recorder.Body.String(), want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}
