package serve

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/page"
	"bailiff/runtime/metrics"
)

// metricsPage is the reference of the metrics of a service, as docs/metrics.md has it.
func metricsPage(r *service) string {
	var b strings.Builder
	b.WriteString("# Metrics\n\nWhat `SVC_ADMIN_LISTEN` answers at `/metrics`, beside the metrics of the Go runtime and of the process. Names that end in\n" +
		"`_total` are counters; those of durations and sizes with a `_bucket` are histograms; the others are gauges. No label is chosen\n" +
		"by a client; those of rules are chosen by operators, and at most 256 are counted apart. The page is made from the metrics of\n" +
		"a service; `make golden` makes it anew.\n\n| metric | labels | what it tells |\n|---|---|---|\n")
	for _, d := range r.metrics.Descriptions() {
		labels := ""
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.Name, labels, d.Help)
	}
	return b.String()
}

// TestMetricsPage holds the page of metrics in docs to a service; with -rewrite it writes the page.
func TestMetricsPage(t *testing.T) {
	dir := t.TempDir()
	if err := certificate.Make(dir, "ca", "api"); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Read([]string{
		"SVC_TLS_CERT=" + filepath.Join(dir, "api.pem"), "SVC_TLS_KEY=" + filepath.Join(dir, "api.key"),
		"SVC_HOSTED=true", "SVC_DATA_DIR=" + t.TempDir(), "SVC_LISTEN=127.0.0.1:0", "SVC_ADMIN_LISTEN=off", "SVC_RPC_URL_1=http://127.0.0.1:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := start(launch{settings: s, log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := r.metrics.Store(func() bool { return true }, func() metrics.StoreCounts { return metrics.StoreCounts{} }); err != nil {
		t.Fatal(err)
	}
	if err := r.metrics.Policies(func() int { return 0 }); err != nil {
		t.Fatal(err)
	}
	if err := r.metrics.Slots(func() int { return 0 }, func() int { return 0 }, func() int { return 0 }); err != nil {
		t.Fatal(err)
	}
	page.Whole(t, "../../../docs/metrics.md", "go test ./cmd/bailiff/serve -run TestMetricsPage -rewrite", metricsPage(r))
}
