package conform_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/conform/falsify"
	"bailiff/fuzz/kit/seed"
)

// TestLaws: a service that misses denials where a body has white space conforms by all requests that the oracle judges, and the law of
// spelling finds it. Without the fault each law that a short run tests has pairs.
func TestLaws(t *testing.T) {
	w := serveHere(t)
	report, err := conform.Run(context.Background(), w.config(seed.Value(t), 800, conform.Core))
	must(t, err)
	for _, law := range []string{"spelling", "form", "test-run"} {
		if report.Laws[law] < 10 {
			t.Errorf("the law of %s was held to %d pairs of requests: %v", law, report.Laws[law], report.Laws)
		}
	}
	config := w.config(seed.Value(t), 6000, conform.Core)
	config.NoShrink = true
	config.Front = falsify.Front(mutant(t, "space-blind"))
	report, err = conform.Run(context.Background(), config)
	must(t, err)
	if len(report.Divergences) == 0 || report.Divergences[0].What != "law of spelling" {
		t.Errorf("a service that misses denials of bodies with white space:\n%s", text(t, report))
	}
}

// mutant is that of a name.
func mutant(t *testing.T, name string) falsify.Mutant {
	t.Helper()
	all := append(falsify.Drawn(0, 20), falsify.Named()...) // each operator is drawn once, and some twice
	i := slices.IndexFunc(all, func(m falsify.Mutant) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("there is no mutant %s", name)
	}
	return all[i]
}

// TestScript has the kit make a divergence small, and runs the script of curl that it prints: with fresh keys the last answer is the wrong
// one, and without the fault it is not.
func TestScript(t *testing.T) {
	switch _, err := exec.LookPath("curl"); {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("there is no curl; install it: CI runs the scripts of divergences")
	case err != nil:
		t.Skip("there is no curl")
	}
	w := serveHere(t)
	front, stop, err := falsify.Front(mutant(t, "case-blind"))(w.url)
	must(t, err)
	defer stop()
	config := w.config(seed.Value(t), 20_000, conform.Core)
	config.URL = front
	report, err := conform.Run(context.Background(), config)
	must(t, err)
	if len(report.Divergences) != 1 || report.Divergences[0].Note != "" {
		t.Fatalf("the mutant is not found, or not made small:\n%s", text(t, report))
	}
	script := report.Divergences[0].Script
	if requests := strings.Count(script, "\ncurl "); requests > 5 { // two deployments at most, and a few of the 60 requests
		t.Errorf("the smallest story has %d requests:\n%s", requests, script)
	}
	last := func(address string) string {
		agent, err := w.keys(context.Background(), false)
		must(t, err)
		shim, err := w.keys(context.Background(), true)
		must(t, err)
		command := exec.Command("sh")
		command.Stdin = strings.NewReader(script)
		command.Env = append(os.Environ(), "URL="+address, "AGENT_KEY="+agent, "SHIM_KEY="+shim)
		said, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("the script: %v\n%s\n%s", err, said, script)
		}
		answers := strings.Split(strings.TrimSpace(string(said)), "HTTP/1.1 ")
		return answers[len(answers)-1]
	}
	if wrong := last(front); !strings.Contains(wrong, `"status":"ALLOWED"`) || !strings.HasPrefix(wrong, "200") {
		t.Errorf("the last answer is not the wrong one: %s\n%s", wrong, script)
	}
	if right := last(w.url); !strings.Contains(right, `"status":"DENIED"`) {
		t.Errorf("without the fault the last answer is not the right one: %s", right)
	}
}
