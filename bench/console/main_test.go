package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/testbin"
	"bailiff/fuzz/kit/testbin/service"
)

// TestRun goes through a whole run with few events. Its figures say nothing.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	binary := filepath.Join(folder, "bailiff")
	testbin.Track(t)
	if err := testbin.Command(binary); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := options{service: binary, dir: folder, events: 2000, requests: 3, tails: 3, connections: 2, turns: 1, turn: 500 * time.Millisecond}
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !regexp.MustCompile(`\nconsole: 2000 events, page p99 \d+\.\d ms, 3 tails cost -?\d+\.\d %\n$`).Match(out.Bytes()) {
		t.Errorf("the last line has no figures:\n%s", &out)
	}
}

// TestStrangers is the canary: without a key there are no figures.
func TestStrangers(t *testing.T) {
	folder := t.TempDir()
	binary := filepath.Join(folder, "bailiff")
	testbin.Track(t)
	if err := testbin.Command(binary); err != nil {
		t.Fatal(err)
	}
	s, err := service.Start(binary, folder, policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := signIn(s.Address, "sk_svc_nobody"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("signing in with a key that is none: %v", err)
	}
}

// TestQuantile holds the quantiles of 200 values.
func TestQuantile(t *testing.T) {
	var sorted []time.Duration
	for i := range 200 {
		sorted = append(sorted, time.Duration(i+1))
	}
	if p50, p99 := quantile(sorted, 50), quantile(sorted, 99); p50 != 100 || p99 != 198 {
		t.Errorf("p50 %d, p99 %d", p50, p99)
	}
}
