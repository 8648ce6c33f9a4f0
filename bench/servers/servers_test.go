package main

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"bailiff/bench/player"
	"bailiff/fuzz/kit/page"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/kit/testbin"
)

const rewrite = "go test ./bench/servers -run TestPage -rewrite"

// TestPage holds the page of results and the plots to the figures of the last run.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	r := new(results)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	page.Hold(t, filepath.Join("..", "RESULTS.md"), "servers", rewrite, r.page())
	pictures, err := r.plots()
	if err != nil {
		t.Fatal(err)
	}
	for name, svg := range pictures {
		page.Whole(t, filepath.Join("plots", name), rewrite, string(svg))
	}
}

// playing returns a server that answers in the form of OPA by a rule of its own.
func playing(t *testing.T, rule func(*question) bool) *server {
	t.Helper()
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input question }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(object{"result": rule(&asked.Input)})
	}))
	t.Cleanup(answers.Close)
	return opa(&player.Process{Name: "played", Address: answers.Listener.Addr().String()})
}

// TestAgree: each of the planted faults is found, a rule that is left out and a limit that is off by one.
func TestAgree(t *testing.T) {
	random := uint64(seed.Value(t))
	if _, err := agree(t.Context(), []*server{playing(t, (*question).allowed)}, 1000, random); err != nil {
		t.Error(err)
	}
	for name, rule := range map[string]func(*question) bool{
		"no chains": func(q *question) bool {
			other := *q
			other.Chain = 1
			return q.allowed() || other.Token == "" && other.allowed()
		},
		"a limit that is one up": func(q *question) bool { other := *q; other.Amount--; return other.allowed() },
		"a payee too many":       func(q *question) bool { other := *q; other.Payee = payees[0]; return other.allowed() },
		"everything":             func(*question) bool { return true },
	} {
		if _, err := agree(t.Context(), []*server{playing(t, rule)}, 1000, random); err == nil || !strings.Contains(err.Error(), " says ") {
			t.Errorf("%s is not found: %v", name, err)
		}
	}
}

// TestService: the service, under the policy that it is measured with, answers as the rules do.
func TestService(t *testing.T) {
	testbin.Track(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "bailiff")
	if err := testbin.Command(binary); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	s, err := startBailiff(ctx, &start{binary: binary, dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := agree(ctx, []*server{s}, 300, uint64(seed.Value(t))); err != nil {
		t.Error(err)
	}
	m := &mode{servers: []*server{s}}
	if err := m.connect(1); err != nil {
		t.Error(err)
	}
	for _, e := range m.entries {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(m.entries) != 3 {
		t.Errorf("%d kinds of answers are measured", len(m.entries))
	}
}

// TestTuples: what OpenFGA is given is just what the rules allow.
func TestTuples(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0))
	most := map[string]int{}
	for _, one := range tuples() {
		most[one["object"].(string)+one["user"].(string)] = one["condition"].(object)["context"].(object)["limit"].(int)
	}
	for range 3000 {
		q := generate(random)
		way, user := q.way()
		limit, found := most[way+user]
		if got := found && q.Amount <= int64(limit); got != q.allowed() {
			t.Fatalf("%v for %s", got, encode(q))
		}
	}
}

// TestVersions: each module pins the peer that the page names.
func TestVersions(t *testing.T) {
	for _, p := range peers {
		if version, err := p.version(p.folder); err != nil || !strings.HasPrefix(version, "v") {
			t.Errorf("%s: %q, %v", p.name, version, err)
		}
	}
	if _, err := (&peer{folder: "opa", command: "example.org/other"}).version("opa"); err == nil {
		t.Error("a module that is not there has a version")
	}
}

// TestLeftOut: a peer that could not be built is named with the reason, and ratios are medians over rounds.
func TestLeftOut(t *testing.T) {
	at := func(rate, p99 float64) turn {
		cpu := 4.0
		if rate >= 100 && p99 < 4 {
			cpu = 2
		}
		return turn{Closed: loop{Rate: rate}, CPU: cpu, Low: &loop{Rate: 10, P50: 1, P99: p99}}
	}
	r := &results{Peers: []peerResult{{Name: "Gone", Version: "v1", LeftOut: "403 Forbidden"}}}
	for _, tls := range []bool{false, true} {
		for _, answer := range []string{testRun, denied, allowed} {
			r.Rows = append(r.Rows, &row{Server: bailiff, Answer: answer, TLS: tls, Rounds: []turn{at(100, 1), at(300, 2), at(200, 3)}})
			if answer != testRun {
				r.Rows = append(r.Rows, &row{Server: "A", Answer: answer, TLS: tls, Rounds: []turn{at(50, 2), at(10, 2), at(10, 2)}},
					&row{Server: "B", Answer: answer, TLS: tls, Rounds: []turn{at(10, 4), at(100, 4), at(20, 4)}})
			}
		}
	}
	if x := r.compare(claims[1], false); x.rate != 3 || x.low != 1 || x.cpu != 2 || !math.IsNaN(x.high) { // of 2, 3, 10; 0.5, 1, 1.5; 2 each
		t.Errorf("%+v", x)
	}
	text := r.page()
	for _, part := range []string{"- Gone v1 is left out: 403 Forbidden\n", "**3.00** (4.5: missed)", "| 1.00 (missed) | does not keep up (missed) |", "kept neither its date nor"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q:\n%s", part, text)
		}
	}
}

// TestOrigin: the page says when a run began and of which commit, or that this is not known.
func TestOrigin(t *testing.T) {
	began := time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC)
	for want, r := range map[string]*results{
		"kept neither":                               {},
		"2026-11-28 09:30; the binary":               {Began: began},
		"2026-11-28 09:30, with the service of comm": {Began: began, Commit: "abc"},
	} {
		if got := r.origin(); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
		read := new(results)
		if err := json.Unmarshal(r.encode(), read); err != nil || read.origin() != r.origin() {
			t.Errorf("written and read: %q, %v", read.origin(), err)
		}
	}
	if got := below(0.99); got != "0.990 (met)" {
		t.Error(got)
	}
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}
	if clean, changed := commitIn(settings[:1]), commitIn(settings); clean != "0123456789ab" || changed != "0123456789ab+changes" {
		t.Error(clean, changed)
	}
	if got := commitOf("results.json"); got != "" {
		t.Errorf("a file that is no binary is of commit %s", got)
	}
}
