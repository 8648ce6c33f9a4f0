package conform_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/kit/seed"
)

// TestGateway runs the level Gateway, with the kit as the chain's node.
func TestGateway(t *testing.T) {
	w := serveHere(t)
	config := w.config(seed.Value(t), 1, conform.Gateway)
	config.Upstream = w.nodes
	report, err := conform.Run(context.Background(), config)
	must(t, err)
	if t.Log(text(t, report)); !report.Conforms() {
		t.Error("the gateway diverges")
	}
	config.Upstream = freePort(t) // at which nothing arrives
	report, err = conform.Run(context.Background(), config)
	must(t, err)
	if len(report.Divergences) == 0 {
		t.Error("a gateway whose reads do not arrive is not found")
	}
}

// TestClient runs the level Client against adapters that are wrong each in one way: one lets every call run, one stops each.
func TestClient(t *testing.T) {
	for _, command := range []string{"cat", "false"} {
		report, err := conform.Run(context.Background(), conform.Config{Levels: []conform.Level{conform.Client}, Seed: 7, Client: []string{command}, Flags: []string{"--client=" + command}})
		must(t, err)
		if len(report.Divergences) == 0 {
			t.Errorf("%s is an adapter", command)
		}
		if again := "again:    bailiff conform --seed 7 --level Client '--client=" + command + "'\n"; !strings.Contains(text(t, report), again) {
			t.Errorf("the report has no line %q:\n%s", again, text(t, report))
		}
	}
}

func text(t *testing.T, r *conform.Report) string {
	t.Helper()
	var b bytes.Buffer
	must(t, r.Text(&b))
	return b.String()
}
