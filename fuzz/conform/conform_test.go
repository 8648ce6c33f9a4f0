package conform_test

import (
	"bytes"
	"context"
	"testing"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/kit/seed"
)

// TestConforms runs the kit against the service, at the levels that need nothing else.
func TestConforms(t *testing.T) {
	w := serveHere(t)
	report, err := conform.Run(context.Background(), w.config(seed.Value(t), 800, conform.Core, conform.Limits, conform.Holds, conform.Attestation))
	must(t, err)
	t.Log(text(t, report))
	if !report.Conforms() {
		t.Error("the service diverges")
	}
	for _, level := range report.Levels {
		if level.Cases == 0 {
			t.Errorf("no case of %s was run", level.Level)
		}
	}
}

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
}

func text(t *testing.T, r *conform.Report) string {
	t.Helper()
	var b bytes.Buffer
	must(t, r.Text(&b))
	return b.String()
}
