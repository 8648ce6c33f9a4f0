package conform_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/kit/seed"
	"bailiff/httpd"
	"bailiff/runtime/ratelimit"
)

// TestRateLimits runs the kit against a service with a rate limit, which ten requests a second meet already: it is named, and a request after the
// wait is held to the oracle as of then.
func TestRateLimits(t *testing.T) {
	w := serveWith(t, newKey(t), newKey(t), httpd.Limits{IP: ratelimit.Window{Limit: 38, Per: 4 * time.Second}}) // more than a claim's time may be off
	config := w.config(seed.Value(t), 1, conform.Attestation)                                                    // one story, of 67 requests or more
	config.Workers = 1
	report, err := conform.Run(context.Background(), config)
	must(t, err)
	if t.Log(text(t, report)); !report.Conforms() || report.RateLimits["ip"] == 0 || report.Cases == 0 {
		t.Errorf("%d divergences in %d cases; limits that were met: %v", len(report.Divergences), report.Cases, report.RateLimits)
	}
}

// TestGivenKeys: of keys that somebody else has made each is looked at before it is used, at every level.
func TestGivenKeys(t *testing.T) {
	w := serveHere(t)
	var keys, shims []string
	for range 2 {
		for of, list := range map[bool]*[]string{false: &keys, true: &shims} {
			key, err := w.keys(context.Background(), of)
			must(t, err)
			*list = append(*list, key)
		}
	}
	run := func(keys, shims []string) (*conform.Report, error) {
		config := w.config(1, 30, conform.Attestation) // a seed whose cases need a shim
		config.Keys, config.Given, config.Workers = conform.GivenKeys(keys, shims), true, len(keys)
		return conform.Run(context.Background(), config)
	}
	report, err := run(keys[:1], shims[:1])
	must(t, err)
	if !report.Conforms() {
		t.Errorf("fresh keys:\n%s", text(t, report))
	}
	for _, used := range [][2][]string{{{keys[1], keys[0]}, nil}, {keys[1:], shims[:1]}} {
		if _, err := run(used[0], used[1]); err == nil || !strings.Contains(err.Error(), "was used before") {
			t.Errorf("of the keys %q one was used before, and the run ends with %v", used, err)
		}
	}
}

// TestLater: what needs another hour or day is counted at Limits and at Holds.
func TestLater(t *testing.T) {
	w := serveHere(t)
	report, err := conform.Run(context.Background(), w.config(1, 200, conform.Limits, conform.Holds)) // a seed with limits of days
	must(t, err)
	for i := range report.Levels {
		l, left := &report.Levels[i], 0
		for reason, n := range l.NotRun {
			if strings.Contains(reason, "day") {
				left += n
			}
		}
		if left == 0 || left >= l.Cases {
			t.Errorf("%s has %d cases and leaves out %d that need another time: %v", l.Level, l.Cases, left, l.NotRun)
		}
	}
}
