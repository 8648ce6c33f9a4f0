package httpd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/accounts"
	"bailiff/runtime/authzen"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ratelimit"
)

type accessCase struct {
	subject, properties, action, soft, resource, status string
	want, other                                         bool
}

// fixture is the certification's scenario: an access request, its decision, and the one that the page's policy makes of it, where
// that is another. Subjects and resources have the properties that the scenario sends.
var fixture = []accessCase{
	{"alice", "", "read", "", "record-1", "", true, false},
	{"alice", "", "write", "", "record-1", "", true, false},
	{"bob", "", "read", "", "record-1", "", true, false},
	{"bob", "", "write", "", "record-1", "", false, false},
	{"alice", "", "read", "", "record-1", "active", true, false},
	{"alice", "", "write", "", "record-1", "active", true, false},
	{"alice", "", "write", "", "record-2", "archived", false, false},
	{"alice", "", "write", "", "record-1", "archived", false, false},
	{"bob", "admin", "write", "", "record-2", "archived", true, true}, // denied: no rule takes a denial back
	{"alice", "", "delete", "true", "record-1", "", true, false},
	{"alice", "", "delete", "false", "record-1", "", false, false},
}

// TestFixture asks what the certification asks, one by one and at once, under the policy of docs/authzen.md. The context changes
// nothing.
func TestFixture(t *testing.T) {
	page, err := os.ReadFile("../docs/authzen.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```warranty\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/authzen.md has no policy")
	}
	w := newWorld(t)
	w.serve(w.config(w.authority(string(block[1]), false)))
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	var all []string
	for _, c := range fixture {
		one := c.request("")
		all = append(all, one)
		for _, about := range []string{"", `{"time":"2026-01-01T00:00:00Z","soft":true,"role":"admin"}`} {
			_, body := w.send(w.request("POST /access/v1/evaluation\nAuthorization: Bearer $agent\n\n" + c.request(about)))
			var answer struct{ Decision bool }
			if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Decision != (c.want != c.other) {
				t.Errorf("%s: %s %v", c.request(about), body, err)
			}
		}
	}
	_, body := w.send(w.request("POST /access/v1/evaluations\nAuthorization: Bearer $agent\n\n" + `{"evaluations":[` + strings.Join(all, ",") + `]}`))
	var answer struct{ Evaluations []struct{ Decision bool } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Evaluations) != len(fixture) {
		t.Fatalf("%s %v", body, err)
	}
	for i, c := range fixture {
		if answer.Evaluations[i].Decision != (c.want != c.other) {
			t.Errorf("at once, %s: %v", all[i], answer.Evaluations[i].Decision)
		}
	}
}

// request is the access request of a row.
func (c *accessCase) request(context string) string {
	properties := func(name, value string) string {
		if value == "" {
			return ""
		}
		return fmt.Sprintf(`,"properties":{%q:%s}`, name, value)
	}
	quoted := func(text string) string {
		if text == "" {
			return ""
		}
		return `"` + text + `"`
	}
	if context != "" {
		context = `,"context":` + context
	}
	return fmt.Sprintf(`{"subject":{"type":"user","id":%q%s},"action":{"name":%q%s},"resource":{"type":"record","id":%q%s}%s}`,
		c.subject, properties("role", quoted(c.properties)), c.action, properties("soft", c.soft), c.resource, properties("status", quoted(c.status)), context)
}

// TestEvaluationsAreBounded: a hundred are answered, each counts against the key's limit, and so does what can't be decided; one
// more is refused, and counts for nothing. The id that the client sent is sent back, and recorded with each.
func TestEvaluationsAreBounded(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("version: 2.0.0\n\n## tool_calls\nallowed: read\n", false))
	config.AuthZENAuthorizes = true // the record of a test-run may come later than its answer
	config.Limits.Key = ratelimit.Window{Limit: 150, Per: time.Minute}
	w.serve(config)
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	send := func(n int, one string) (status int, id string, decisions []bool, left string) {
		response, body := w.send(w.request("POST /access/v1/evaluations\nX-Request-ID: id-7\nAuthorization: Bearer $agent\n\n" +
			`{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"evaluations":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`))
		var answer struct{ Evaluations []struct{ Decision bool } }
		_ = json.Unmarshal([]byte(body), &answer) // of a refusal it is a text
		for _, evaluation := range answer.Evaluations {
			decisions = append(decisions, evaluation.Decision)
		}
		return response.StatusCode, response.Header.Get("X-Request-Id"), decisions, response.Header.Get("RateLimit")
	}
	const good, bad = `{"resource":{"type":"record","id":"1"}}`, `{"resource":{"type":"record"}}`
	if status, id, decisions, left := send(authzen.MaxEvaluations+1, good); status != 400 || id != "id-7" || len(decisions) > 0 || left != "" {
		t.Errorf("%d, %q, %v, %q", status, id, decisions, left)
	}
	if status, id, decisions, left := send(authzen.MaxEvaluations, good); status != 200 || id != "id-7" || len(decisions) != 100 || slices.Contains(decisions, false) || left != `"key";r=50;t=60` {
		t.Errorf("%d, %q, %v, %q", status, id, decisions, left)
	}
	if status, _, decisions, left := send(40, bad); status != 200 || len(decisions) != 40 || slices.Contains(decisions, true) || left != `"key";r=10;t=60` {
		t.Errorf("%d, %v, %q", status, decisions, left)
	}
	if _, _, decisions, _ := send(20, good); slices.Index(decisions, false) != 10 || slices.Contains(decisions[10:], true) {
		t.Errorf("beyond the limit: %v", decisions)
	}
	if n := w.recorded("id-7"); n != 110 {
		t.Errorf("%d decisions are recorded with the id, want 110", n)
	}
}

// recorded counts the events of $agent with a request id.
func (w *world) recorded(id string) (n int) {
	w.t.Helper()
	key, err := ledger.ParseID(w.said["agent.id"])
	if err != nil {
		w.t.Fatal(err)
	}
	events, err := w.ledger.Events(context.Background(), ledger.EventQuery{Key: key, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range events.Events {
		if events.Events[i].Event.RequestID == id {
			n++
		}
	}
	return n
}

// TestAddressUnknown: clients hold the address in the document to the one that they asked, so that there is none without it.
func TestAddressUnknown(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.PublicURL = ""
	w.serve(config)
	if response, body := w.send(w.request("GET " + authzenConfigPath)); response.StatusCode != 404 || !strings.Contains(body, "SVC_PUBLIC_URL") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

// TestEvaluationsAuthorize: where the operator says so, evaluations have the effects of authorize: attestations, holds, and counts
// of the policy's limits.
func TestEvaluationsAuthorize(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("version: 2.0.0\n\n## tool_calls\nallowed: bash, read, deploy\nrequire_approval: deploy\n\n## execution_limits\nmax_tool_calls_per_hour: 2\n", false))
	config.AuthZENAuthorizes = true
	w.serve(config)
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	type evaluated struct {
		Decision bool
		Context  struct {
			Status      string
			Attestation *string `json:"intent_attestation"`
			Code        string  `json:"error_code"`
			HoldID      string
		}
	}
	var answer struct{ Evaluations []evaluated }
	_, body := w.send(w.request("POST /access/v1/evaluations\nAuthorization: Bearer $agent\n\n" + `{"subject":{"type":"agent","id":"a"},"action":{"name":"read"},"evaluations":[
		{"resource":{"type":"record","id":"1"}},{"action":{"name":"deploy"},"resource":{"type":"app","id":"shop"}},{"resource":{"type":"record","id":"2"}},{"resource":{"type":"record","id":"3"}}]}`))
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Evaluations) != 4 {
		t.Fatalf("%s %v", body, err)
	}
	first, held, second, last := answer.Evaluations[0], answer.Evaluations[1], answer.Evaluations[2], answer.Evaluations[3]
	if !first.Decision || !second.Decision || first.Context.Attestation == nil || second.Context.Attestation == nil || *first.Context.Attestation == *second.Context.Attestation {
		t.Errorf("%+v %+v", first, second)
	}
	if held.Decision || held.Context.Status != "PENDING" || held.Context.HoldID == "" {
		t.Errorf("%+v", held)
	}
	if last.Decision || last.Context.Code != "SVC_LOOP_LIMIT_EXCEEDED" {
		t.Errorf("%+v", last)
	}
}

// TestEvaluationsFail: where a store fails, or does not answer in time, the decision is false and says why, of one evaluation and of each
// of several.
func TestEvaluationsFail(t *testing.T) {
	const policy = "version: 2.0.0\n\n## tool_calls\nallowed: read\n"
	w := newWorld(t)
	config := w.config(w.authority(policy, false))
	config.Limits.Key = ratelimit.Window{Limit: 100, Per: time.Minute}
	w.serve(config)
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	const one = `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"1"}}`
	ask := func(path, body string) string {
		response, answer := w.send(w.request("POST " + path + "\nAuthorization: Bearer $agent\n\n" + body))
		if response.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, response.StatusCode, answer)
		}
		return answer
	}
	expect := func(code string) {
		t.Helper()
		both := []string{ask("/access/v1/evaluation", one), ask("/access/v1/evaluations", `{"evaluations":[`+one+`,`+one+`]}`)}
		for i, answer := range both {
			want := `{"decision":false,"context":{"error":{"status":503,"error_code":"` + code + `"`
			if code == "" {
				want = `{"decision":true,`
			}
			if n := strings.Count(answer, want); n != i+1 {
				t.Errorf("%d times %s in %s", n, want, answer)
			}
		}
	}
	expect("")
	config.Stores = Stores{brokenStore{}, brokenStore{}, brokenStore{}}
	w.serve(config)
	expect("SVC_RATE_LIMIT_STORE_UNAVAILABLE")
	w.serveLate(policy, nil)
	expect("")
	w.serveLate(policy, errLate)
	expect("SVC_STORE_UNAVAILABLE")
}
