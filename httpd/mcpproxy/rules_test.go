package mcpproxy

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/runtime/response"
)

// ruled are rules without a service. A nil policy is one that cannot be had.
type ruled struct {
	policy *response.Rules
	asked  []string // for which policies calls were forwarded
}

func (r *ruled) Ready(_ context.Context, _ *Intent, d *Decision) error {
	if r.policy == nil {
		return fmt.Errorf("%w: the service is down", response.ErrUnavailable)
	}
	r.asked = append(r.asked, d.PolicyHash)
	return nil
}

func (r *ruled) Result(server, tool string, result json.RawMessage) (json.RawMessage, response.Findings, error) {
	if r.policy == nil {
		return nil, response.Findings{}, response.ErrUnavailable
	}
	return r.policy.Apply(server, tool, result, time.Unix(1_800_000_000, 0))
}

const secretText = "ghp_a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"

// covering are rules that cover files.read and the reading of resources.
func covering(edit func(*response.Rules)) *ruled {
	r := &response.Rules{Version: response.Version, HTTPTools: []string{"files.read", "files.resources.read"}, Ruleset: response.RulesetV1}
	edit(r)
	return &ruled{policy: r}
}

func blocking() *ruled {
	return covering(func(r *response.Rules) {
		r.Block, r.Redact = []response.Class{response.Secret}, []response.Class{response.PII}
	})
}

// TestRules applies response rules to every result and error that a judged request of a covered tool brings back, and to nothing else.
func TestRules(t *testing.T) {
	w := newWorld(t)
	rules := blocking()
	w.g.Rules = rules
	const secret, pii = secretText, "ann@example.com"
	for _, c := range []struct{ name, request, answer, want string }{
		{"redacted", call(1, "read", `{}`), `"result":{"text":"to ` + pii + `"}`, `{"jsonrpc":"2.0","id":1,"result":{"text":"to [redacted]"}}`},
		{"plain", call(1, "read", `{}`), `"result":{"text":"plain", "n":1.0}`, `{"jsonrpc":"2.0","id":1,"result":{"text":"plain", "n":1.0}}`},
		{"an error, redacted", call(1, "read", `{}`), `"error":{"code":1,"message":"` + pii + `"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"[redacted]"}}`},
		{"blocked", call(1, "read", `{}`), `"result":{"text":"` + secret + `"}`, "MCP_RESPONSE_REFUSED"},
		{"an error, blocked", call(1, "read", `{}`), `"error":{"code":1,"message":"` + secret + `"}`, "MCP_RESPONSE_REFUSED"},
		{"an error of the tool", call(1, "read", `{}`), `"result":{"isError":true,"content":[{"type":"text","text":"` + secret + `"}]}`, "MCP_RESPONSE_REFUSED"},
		{"another tool", call(1, "Write", `{}`), `"result":{"text":"` + secret + `"}`, "{"},
		{"a resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x"}}`, `"result":{"contents":[{"uri":"file:///x","text":"` + secret + `"}]}`, "MCP_RESPONSE_REFUSED"},
		{"a method that is not covered", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`, `"result":{"text":"` + secret + `"}`, "{"},
		{"a task of any tool", `{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"x"}}`, `"result":{"text":"` + secret + `"}`, "MCP_RESPONSE_REFUSED"},
		{"not judged", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"result":{"text":"` + secret + `"}`, "{"},
	} {
		v := w.client(c.request)
		if v.forward == nil {
			t.Fatalf("%s: not forwarded: %+v", c.name, v.refused)
		}
		answer := `{"jsonrpc":"2.0","id":1,` + c.answer + `}`
		if c.want == "{" {
			c.want = answer
		}
		got, _ := w.server(answer)
		if got != c.want && (strings.HasPrefix(c.want, "{") || !strings.Contains(got, c.want) || strings.Contains(got, secret)) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if len(rules.asked) != 10 || rules.asked[0] != "p" {
		t.Errorf("made ready for %q", rules.asked)
	}
}

// TestRulesMessages applies them to what the server says beside its results, which can be of any tool.
func TestRulesMessages(t *testing.T) {
	w := newWorld(t)
	w.g.Rules, w.g.AllowServerRequests = blocking(), true
	progress := `{"jsonrpc":"2.0", "method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":%q} }`
	for text, want := range map[string]string{"fine": fmt.Sprintf(progress, "fine"), "by ann@example.com": fmt.Sprintf(progress, "by [redacted]"), secretText: ""} {
		if got, _ := w.server(fmt.Sprintf(progress, text)); got != want {
			t.Errorf("progress with %q: %s", text, got)
		}
	}
	for _, m := range []string{"notifications/message", "notifications/tasks", "notifications/tasks/status", "notifications/cancelled"} {
		if got, _ := w.server(`{"jsonrpc":"2.0","method":"` + m + `","params":{"a":"` + secretText + `"}}`); got != "" {
			t.Errorf("%s: %s", m, got)
		}
	}
	for _, m := range []string{"sampling/createMessage", "elicitation/create"} {
		toClient, toServer := w.server(`{"jsonrpc":"2.0","id":7,"method":"` + m + `","params":{"message":"` + secretText + `"}}`)
		if toClient != "" || !strings.Contains(toServer, "MCP_RESPONSE_REFUSED") || strings.Contains(toServer, secretText) {
			t.Errorf("%s: %q, %q", m, toClient, toServer)
		}
		if toClient, _ := w.server(`{"jsonrpc":"2.0","id":7,"method":"` + m + `","params":{"message":"fine"}}`); !strings.Contains(toClient, "fine") {
			t.Errorf("%s: %q", m, toClient)
		}
	}
	if got, _ := w.server(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`); got == "" {
		t.Error("a notification without contents is dropped")
	}
}

// TestRulesUnavailable: without valid rules no call is made, and the result of one that was made before does not pass. What is not
// judged passes.
func TestRulesUnavailable(t *testing.T) {
	for _, open := range []bool{false, true} {
		w := newWorld(t)
		rules := blocking()
		w.g.Rules, w.g.FailOpen = rules, open
		if v := w.client(call(1, "read", `{}`)); v.forward == nil {
			t.Fatalf("%+v", v.refused)
		}
		rules.policy = nil
		for id, answer := range map[int]string{1: `{"jsonrpc":"2.0","id":1,"result":{"text":"plain"}}`} {
			if got, _ := w.server(answer); !strings.Contains(got, "MCP_RESPONSE_RULES_UNAVAILABLE") || !strings.Contains(got, `"isError":true`) || strings.Contains(got, "plain") {
				t.Errorf("the result of call %d: %s", id, got)
			}
		}
		v := w.client(call(2, "Write", `{}`))
		if v.forward != nil || !strings.Contains(string(v.answer), "MCP_RESPONSE_RULES_UNAVAILABLE") || !strings.Contains(string(v.answer), "not made") {
			t.Errorf("a call: %s, %s", v.forward, v.answer)
		}
		w.decides = func(*Intent) Decision { return Decision{Unreachable: true, Message: "down"} }
		if v := w.client(call(3, "Write", `{}`)); v.forward != nil {
			t.Errorf("open %t: forwarded without a decision and without rules", open)
		}
		if v := w.client(`{"jsonrpc":"2.0","id":4,"method":"ping"}`); v.forward == nil {
			t.Errorf("a ping is refused: %+v", v.refused)
		}
		if got, _ := w.server(`{"jsonrpc":"2.0","id":4,"result":{}}`); !strings.HasSuffix(got, `"result":{}}`) {
			t.Errorf("its answer: %s", got)
		}
		if got, _ := w.server(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"plain"}}`); got != "" {
			t.Errorf("a log message: %s", got)
		}
	}
}

// TestRulesLog: what is observed passes as it is, and is logged without its text.
func TestRulesLog(t *testing.T) {
	w := newWorld(t)
	var said []string
	w.g.Log = func(format string, arguments ...any) { said = append(said, fmt.Sprintf(format, arguments...)) }
	w.g.Rules = covering(func(r *response.Rules) {
		r.Observe, r.ObserveUntil, r.Redact = []response.Class{response.Secret}, 1_900_000_000, []response.Class{response.PII}
	})
	w.client(call(1, "read", `{}`))
	got, _ := w.server(`{"jsonrpc":"2.0","id":1,"result":{"a":"` + secretText + ` ` + secretText + `","b":"ann@example.com"}}`)
	all := strings.Join(said, "\n")
	if !strings.Contains(got, secretText) || strings.Contains(got, "ann@") {
		t.Errorf("%s", got)
	}
	if !strings.Contains(all, `"tools/call" of "read": the answer contains what looks like secret (observed, passed on), pii (redacted)`) || strings.Contains(all, "ghp_") || strings.Contains(all, "ann") {
		t.Errorf("logged: %s", all)
	}
}

// TestRulesHTTP has every form of an answer over HTTP inspected: a body, a stream of events, an error without an id, a body that is
// not a message, and what comes by another stream.
func TestRulesHTTP(t *testing.T) {
	w := newWorld(t)
	w.g.Rules = blocking()
	up, address := front(t, w)
	message := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + secretText + `"}]}}`
	say := func(status int, kind, body string) {
		up.answers = func(rw http.ResponseWriter, _ *http.Request, _ string) {
			rw.Header().Set("Content-Type", kind)
			rw.WriteHeader(status)
			fmt.Fprint(rw, body)
		}
	}
	for name, c := range map[string]struct {
		status     int
		kind, body string
	}{
		"a body":               {200, "application/json", message},
		"a stream":             {200, "text/event-stream", "data: " + message + "\n\n"},
		"lines of a stream":    {200, "text/event-stream", "event: message\ndata: " + message[:20] + "\ndata: " + message[20:] + "\n\n"},
		"progress in a stream": {200, "text/event-stream", `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"` + secretText + `"}}` + "\n\n"},
		"an error without id":  {400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"` + secretText + `"}}`},
		"a page":               {500, "text/plain", "it is " + secretText},
		"a page, no UTF-8":     {500, "text/plain", "\xff " + secretText},
	} {
		say(c.status, c.kind, c.body)
		if _, got := post(t, address, call(1, "read", `{}`)); strings.Contains(got, secretText) {
			t.Errorf("%s: %s", name, got)
		}
	}
	plain := `{"jsonrpc":"2.0","id":1, "result":{"n":1.0,"text":"p\u006cain"}}`
	for name, c := range map[string]struct {
		status     int
		kind, body string
	}{
		"a body":   {200, "application/json", plain},
		"a stream": {200, "text/event-stream", "id: 7\r\nevent: message\r\ndata: " + plain + "\r\n\r\n"},
		"a page":   {500, "text/plain", "it is broken"},
		"an error": {400, "application/json", `{"jsonrpc":"2.0","id":null, "error":{"code":1,"message":"x"}}`},
	} {
		say(c.status, c.kind, c.body)
		if _, got := post(t, address, call(1, "read", `{}`)); got != c.body {
			t.Errorf("%s became %q", name, got)
		}
	}
	say(200, "text/event-stream", `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"`+secretText+`"}}`+"\n\n")
	if _, got := do(t, "GET", address, "", "Accept", "text/event-stream", "Mcp-Session-Id", "s"); strings.Contains(got, secretText) {
		t.Errorf("a stream of its own: %s", got)
	}
}

// waiting are rules that cannot be had until a channel is closed.
type waiting struct {
	*ruled
	asked, until chan struct{}
}

func (r *waiting) Ready(context.Context, *Intent, *Decision) error {
	close(r.asked)
	<-r.until
	return nil
}

// came waits for what a channel brings, or its end.
func came[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(time.Minute):
		t.Fatal("it did not come")
	}
	return value
}

// TestRulesWait: while the rules for one call are fetched, other messages are read and forwarded.
func TestRulesWait(t *testing.T) {
	w := newWorld(t)
	rules := &waiting{blocking(), make(chan struct{}), make(chan struct{})}
	w.g.Rules = rules
	server, toServer := io.Pipe()
	p := newPipe(w.g, toServer, io.Discard)
	p.session = w.s
	lines := make(chan string, 9)
	go func() {
		scanner := bufio.NewScanner(server)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	in, client := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- p.pumpClient(t.Context(), in) }()
	say := func(text string) { fmt.Fprintln(client, text) }
	if _, r := w.s.showTools(jsontext.Value(w.tools), &underWay{}); r != nil {
		t.Fatal(r.text())
	}
	say(call(1, "read", `{}`))
	came(t, rules.asked)
	say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if got := came(t, lines); !strings.Contains(got, "ping") {
		t.Errorf("forwarded first: %s", got)
	}
	close(rules.until)
	if got := came(t, lines); !strings.Contains(got, "tools/call") {
		t.Errorf("forwarded second: %s", got)
	}
	client.Close()
	if err := came(t, ended); err != nil {
		t.Error(err)
	}
}

// documents generates JSON values with a place for a text, and tells the kind of the place.
func documents() gopter.Gen {
	frames := []any{
		`{"content":[{"type":"text","text":%s}]}`, `{"content":[],"structuredContent":{"rows":[[1,{"a":%s}]]}}`, `{"content":[{"type":"resource","resource":{"uri":"file:///x","text":%s}}]}`,
		`{"content":[{"type":"resource_link","uri":%s,"name":"n"}]}`, `{"isError":true,"content":[{"type":"text","text":%s}]}`, ` { "a" : 1.50 , "_meta" : { "b" : [ %s ] } } `,
		`{"content":[{"type":"resource","resource":{"uri":"file:///x","blob":%b}}]}`, `{"content":[{"type":"image","mimeType":"image/png","data":%b}]}`, `{"content":[{"type":"audio","data":%b,"mimeType":"a/b"}],"n":-0}`,
		`{"structuredContent":{%s:true},"content":[]}`,
	}
	return gen.OneConstOf(frames...)
}

// placed puts a text into a document.
func placed(frame, text string, escape bool) string {
	quoted := string(encode(text))
	if escape { // each character as its escape
		quoted = `"`
		for _, unit := range text {
			quoted += fmt.Sprintf(`\u%04x`, unit)
		}
		quoted += `"`
	}
	return strings.NewReplacer("%s", quoted, "%b", string(encode(base64.StdEncoding.EncodeToString([]byte(text))))).Replace(frame)
}

// has reports whether a text is in a JSON value: in a string, in a name, or in what a string is the base64 of.
func has(value any, text string) bool {
	switch v := value.(type) {
	case string:
		raw, _ := base64.StdEncoding.DecodeString(v)
		return strings.Contains(v, text) || strings.Contains(string(raw), text)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return has(item, text) })
	case map[string]any:
		for name, item := range v {
			if has(name, text) || has(item, text) {
				return true
			}
		}
	}
	return false
}

// TestRulesProperties: a secret in any place of a covered result never reaches the client, blocked or redacted, and a result without
// a finding arrives byte for byte.
func TestRulesProperties(t *testing.T) {
	secrets := gen.OneConstOf(secretText, "-----BEGIN PRIVATE KEY-----\nabcd\n-----END PRIVATE KEY-----", "AKIA"+"IOSFODNN7EXAMPLE", "password=hunter2hunter2")
	around := gen.RegexMatch(`^[a-z ,ä€]{0,40}$`)
	through := func(rules *ruled, result string) string {
		w := newWorld(t)
		w.g.Rules, w.g.Log = rules, func(string, ...any) {}
		w.client(call(1, "read", `{}`))
		shown, _ := w.server(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
		return shown
	}
	leaks := func(shown, secret string) bool {
		var value any
		return json.Unmarshal([]byte(shown), &value) != nil || has(value, secret)
	}
	properties := gopter.NewProperties(nil)
	properties.Property("a secret does not pass", prop.ForAll(func(frame, before, secret, after string, escape, redact bool) bool {
		text := before + " " + secret + " " + after
		rules := covering(func(r *response.Rules) {
			if r.Block = []response.Class{response.Secret}; redact {
				r.Block, r.Redact = nil, r.Block
			}
		})
		result := placed(frame, text, escape)
		if !json.Valid([]byte(result)) {
			t.Errorf("the document is not JSON: %s", result)
		}
		return !leaks(through(rules, result), secret)
	}, documents(), around, secrets, around, gen.Bool(), gen.Bool()))
	properties.Property("what has none arrives as it was", prop.ForAll(func(frame, text string, escape bool) bool {
		result := placed(frame, text, escape)
		rules := covering(func(r *response.Rules) {
			r.Block, r.Redact = []response.Class{response.Secret}, []response.Class{response.PII}
		})
		return through(rules, result) == `{"jsonrpc":"2.0","id":1,"result":`+result+`}`
	}, documents(), around, gen.Bool()))
	properties.Property("the check finds what passes", prop.ForAll(func(frame, before, secret string, escape bool) bool {
		result := placed(frame, before+secret, escape)
		return leaks(through(covering(func(*response.Rules) {}), result), secret)
	}, documents(), around, secrets, gen.Bool()))
	properties.TestingRun(t)
}

// TestRulesRefuse: an error of the rules that is neither of the two known ones withholds the result too.
func TestRulesRefuse(t *testing.T) {
	w := newWorld(t)
	w.g.Rules = failing{}
	w.client(call(1, "read", `{}`))
	if got, _ := w.server(`{"jsonrpc":"2.0","id":1,"result":{"text":"plain"}}`); strings.Contains(got, "plain") || !strings.Contains(got, string(codeRules)) {
		t.Errorf("%s", got)
	}
}

type failing struct{}

func (failing) Ready(context.Context, *Intent, *Decision) error { return nil }

func (failing) Result(_, _ string, result json.RawMessage) (json.RawMessage, response.Findings, error) {
	return result, response.Findings{}, errors.New("another one")
}
