//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alecthomas/kong"

	"bailiff/cmd/bailiff/cli"
)

// service answers as the service does, and counts by route and answer.
type service struct {
	*httptest.Server
	asked, refuse atomic.Int64 // after how many it refuses; 0 for never
}

func serve(t *testing.T) *service {
	t.Helper()
	s := new(service)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // of a test
		n := s.asked.Add(1)
		switch refuse := s.refuse.Load(); {
		case r.Header.Get("Authorization") != "Bearer sk_svc_x":
			w.WriteHeader(401)
			fmt.Fprint(w, `{"status":"DENIED","error_code":"SVC_API_KEY_INVALID"}`)
		case refuse > 0 && n > refuse:
			w.WriteHeader(429)
			fmt.Fprint(w, `{"status":"DENIED","error_code":"SVC_RATE_LIMITED"}`)
		case r.URL.Path == "/v1/authorize/test-run":
			fmt.Fprint(w, `{"status":"ALLOWED","test_run":true}`)
		case r.URL.Path == "/v1/hooks/claude-code":
			fmt.Fprint(w, `{}`)
		case bytes.Contains(body, []byte("9.125")):
			w.WriteHeader(403)
			fmt.Fprint(w, `{"status":"DENIED","policyHash":"x"}`)
		case bytes.Contains(body, []byte("hold me")):
			w.WriteHeader(202)
			fmt.Fprint(w, `{"status":"PENDING","policyHash":"x"}`)
		default:
			fmt.Fprint(w, `{"status":"ALLOWED","policyHash":"x"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// run runs the command line.
func run(arguments ...string) (out string, err error) {
	var line Commands
	parser, err := kong.New(&line, kong.Name("bailiff"))
	if err != nil {
		return "", err
	}
	parsed, err := parser.Parse(append([]string{"bench"}, arguments...))
	if err != nil {
		return "", err
	}
	var text, other bytes.Buffer
	err = parsed.Run(cli.Streams{In: strings.NewReader(""), Out: &text, Err: &other})
	return text.String() + other.String(), err
}

// TestRun mixes all kinds, and prints them in each format; two such runs are compared.
func TestRun(t *testing.T) {
	s, dir := serve(t), t.TempDir()
	held := filepath.Join(dir, "held.json")
	if err := os.WriteFile(held, []byte(`{"intent":"hold me"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--url", s.URL, "--api-key", "sk_svc_x", "--rate", "500", "--duration", "400ms", "--connections", "3", "--mix", "allowed=4,denied=3,pending=1,test-run=1,hook=1", "--request", "pending=" + held}
	text, err := run(flags...)
	if err != nil || !strings.Contains(text, "500 requests/s due") || !strings.Contains(text, "200 requests over 3 connections") {
		t.Errorf("%v %s", err, text)
	}
	if n := s.asked.Load(); n != 200+5+3 { // each kind once, and one on each connection that is driven
		t.Errorf("%d requests, want 208", n)
	}
	one, err := run(append(flags, "--format", "json")...)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal([]byte(one), &r); err != nil || r.Requests != 200 || len(r.Kinds) != 6 {
		t.Fatalf("%v %.500s", err, one)
	}
	for i, want := range []measured{{Kind: "allowed", Answers: 80}, {Kind: "denied", Answers: 60}, {Kind: "hook", Answers: 20}, {Kind: "pending", Answers: 20}, {Kind: "test-run", Answers: 20}, {Kind: "all", Answers: 200}} {
		if m := r.Kinds[i]; m.Kind != want.Kind || m.Answers != want.Answers || m.P50 == 0 || m.P50 > m.P99 || m.P99 > m.Max || len(m.Others) > 0 {
			t.Errorf("%+v, want %+v", m, want)
		}
	}
	picture, err := run(append(flags, "--format", "svg")...)
	if err != nil || strings.Count(picture, "<polyline") != 6 || xml.Unmarshal([]byte(picture), new(struct{})) != nil {
		t.Errorf("%v %.500s", err, picture)
	}
	compareTwo(t, dir, one)
}

// compareTwo compares a run with itself, with one of another rate, and with one whose figures are not those of its histogram.
func compareTwo(t *testing.T, dir, one string) {
	t.Helper()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := write("a.json", one)
	if out, err := run("compare", a, a, "--most", "1.0"); err != nil || strings.Count(out, "1.00\n") != 30 {
		t.Errorf("%v %s", err, out)
	}
	faster := write("b.json", strings.Replace(one, `"p99": `, `"p99": 9`, 1))
	if out, err := run("compare", a, faster, "--most", "1.0"); err != nil || strings.Count(out, "1.00\n") != 30 {
		t.Errorf("figures that its histogram does not have are believed: %v %s", err, out)
	}
	if _, err := run("compare", a, a, "--most", "0.5"); err == nil || !strings.Contains(err.Error(), "above --most") {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"{}": "is not a report", "x": "is not a report", strings.Replace(one, `"rate": 500`, `"rate": 400`, 1): "another load",
		strings.Replace(one, `"histogram": "H`, `"histogram": "x`, 1): "can't be read",
	} {
		if _, err := run("compare", a, write("c.json", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, not %q", text, err, want)
		}
	}
}

// TestOthers: an answer of another kind is counted apart from the latencies, shown, and fails the command.
func TestOthers(t *testing.T) {
	s := serve(t)
	s.refuse.Store(1 + 2 + 30) // asked once, once on each connection, and then these
	out, err := run("--url", s.URL, "--api-key", "sk_svc_x", "--rate", "500", "--duration", "200ms", "--connections", "2", "--format", "json")
	var exit *cli.Exit
	if !errors.As(err, &exit) || exit.Code != cli.ExitFailed || !strings.Contains(err.Error(), "70 of 100") || !strings.Contains(err.Error(), "SVC_RATE_LIMITED") {
		t.Error(err)
	}
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Kinds[0].Answers != 30 || r.Kinds[0].Others["429"] != 70 {
		t.Errorf("%v %s", err, out)
	}
}

// TestRefused: what can't be run is said before anything is sent, and another machine is not loaded by mistake.
func TestRefused(t *testing.T) {
	s := serve(t)
	for _, c := range []struct{ flags, want string }{
		{"--url http://192.0.2.1:8787", "is not a loopback address"}, {"--url http://service.example", "is not a loopback address"}, {"--url http://0.0.0.0:1", "is not a loopback address"},
		{"--url https://127.0.0.1", "write http://"}, {"--url http://user@127.0.0.1", "write http://"}, {"--url unix:/x", "write http://"}, {"--url http://127.0.0.1/x", "write http://"},
		{"--rate 0", "--rate is 0"}, {"--rate NaN", "--rate is NaN"}, {"--duration 0s", "--duration is 0s"}, {"--rate 1e6 --duration 1h", "at most"}, {"--connections 0", "--connections is 0"}, {"--patience 0s", "--patience is 0s"},
		{"--mix other=1", "kinds are allowed, denied, hook, pending, test-run"}, {"--mix allowed=-1", "the share of allowed is -1"}, {"--mix allowed=0", "no kind with a share"}, {"--mix pending=1", "--request pending=FILE"},
		{"--request denied=x", "which --mix does not have"},
	} {
		flags := strings.Fields(c.flags)
		if !strings.Contains(c.flags, "--url") {
			flags = append(flags, "--url", s.URL)
		}
		if _, err := run(append(flags, "--api-key", "sk_svc_x")...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.flags, err, c.want)
		}
	}
	if n := s.asked.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if _, err := run("--url", s.URL, "--api-key", "sk_svc_y"); err == nil || !strings.Contains(err.Error(), "SVC_API_KEY_INVALID") {
		t.Error(err)
	}
}

// TestPick: shares are spread evenly, and the same way in each run.
func TestPick(t *testing.T) {
	kinds := []*kind{{name: "a", share: 3}, {name: "b", share: 1}}
	for range 2 {
		order := ""
		for n := range 8 {
			order += kinds[pick(kinds, n)].name
		}
		if strings.Count(order[:4], "b") != 1 || strings.Count(order[4:], "b") != 1 {
			t.Error(order)
		}
	}
}
