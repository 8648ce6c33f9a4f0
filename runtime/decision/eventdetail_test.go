package decision

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bailiff/grammar"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/events"
	"bailiff/runtime/mask"
	"bailiff/runtime/policies"
	"bailiff/runtime/subject"
)

const subjectPolicy = `version: 2.0.0

## evm
allowed_chains: 1
allowed_actions: wallet.transfer
max_transaction_eth: 0.5
token.USDC.decimals: 6
token.USDC.max_transaction: 100

## tool_calls
allowed: bash, web_fetch, file_write, email.send, mcp.files.read
bash.blocked_commands: sudo
require_approval: email.send

## soft_limits
cap.writes.max_count: 1
cap.writes.window: day
cap.writes.action: file_write
`

// recordOf returns the events of what is decided about intents, and the page as the API has it.
func recordOf(t *testing.T, detail EventDetail, intents ...string) (recorded []eventjson.Event, page string) {
	t.Helper()
	h := newHouse(t, rand.Reader)
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(subjectPolicy)))
	if err != nil {
		t.Fatal(err)
	}
	h.EventDetail = detail
	h.InForce.Store(policy)
	for _, intent := range intents {
		if _, fault := h.decide(intent, false); fault != nil {
			t.Fatalf("%s: %v", intent, fault)
		}
	}
	view, fault := h.Events(context.Background(), h.key, events.Query{})
	if fault != nil {
		t.Fatal(fault)
	}
	raw, err := json.Marshal(view.Events[1:]) // without the key's creation
	if err != nil {
		t.Fatal(err)
	}
	return view.Events[1:], string(raw)
}

// TestSubjects is what events say that decisions of all kinds were about.
func TestSubjects(t *testing.T) {
	for intent, want := range map[string]string{
		`{"action":"wallet.transfer","amount":"0.10","targetAddress":"0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913"}`:                             `{"amount":"0.1","unit":"ETH","target":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}`,
		`{"action":"wallet.transfer","amount":"2500000","amount_unit":"base","token":"USDC","to":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}`: `{"amount":"2.5","unit":"usdc","token":"usdc","recipient":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}`,
		`{"action":"wallet.transfer","amount":"7","amount_unit":"base","token":"Dai"}`:                                                          `{"amount":"7","unit":"base","token":"dai"}`,
		`{"action":"bash","command":" git push  origin main"}`:                                                                                  `{"command":"git push  origin main"}`,
		`{"action":"bash","command":"curl -H 'Authorization: Bearer abc.def' https://x/"}`:                                                      `{"command":"curl -H 'Authorization: Bearer [masked]' https://x/"}`,
		`{"action":"web_fetch","url":"https://API.example.com:8443/v1/a%20b?key=secret"}`:                                                       `{"host":"api.example.com","path":"/v1/a%20b"}`,
		`{"action":"file_write","paths":["/srv/../srv/a","/srv/b","/srv/c"]}`:                                                                   `{"path":"/srv/a","furtherPaths":2}`,
		`{"action":"file_write","cwd":"/srv","path":"a"}`:                                                                                       `{"path":"/srv/a"}`,
		`{"action":"email.send","to":["Ann <ann@Example.com>","bob@example.com"]}`:                                                              `{"recipient":"ann@example.com","furtherRecipients":1}`,
		`{"action":"mcp.files.read","task_id":"t-1"}`:                                                                                           `{"tool":"files.read","taskId":"t-1"}`,
		`{"action":"other","metadata":{"secret":"x"}}`:                                                                                          ``,
	} {
		events, page := recordOf(t, FullDetail, intent)
		got := ""
		if events[0].Subject != nil {
			raw, err := json.Marshal(events[0].Subject)
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if got != want || strings.Contains(page, "pass@") || strings.Contains(page, "key=secret") {
			t.Errorf("%s is about\n%s, want\n%s", intent, got, want)
		}
	}
}

// secretIntents each have one value that no record may have unless it is full; together they are allowed, denied by a rule, by a
// list and by a limit, and held.
var secretIntents = []string{
	`{"action":"bash","command":"echo canary-value"}`,
	`{"action":"bash","command":"sudo canary-value"}`,
	`{"action":"wallet.transfer","amount":"7.7654321"}`,
	`{"action":"wallet.transfer","amount":"abc-canary-value"}`,
	`{"action":"file_write","path":"/srv/canary-value"}`,
	`{"action":"file_write","path":"/srv/canary-value"}`,
	`{"action":"email.send","to":"canary-value@example.com"}`,
	`{"action":"web_fetch","task_id":"t-1","url":"https://canary-value.example.com/canary-value"}`,
}

// TestEventDetail: with digest and none no value of a request is in its event, whatever came of it, and equal values have
// equal digests.
func TestEventDetail(t *testing.T) {
	has := func(page string) bool {
		return strings.Contains(page, "canary-value") || strings.Contains(page, "7.7654321")
	}
	full, page := recordOf(t, FullDetail, secretIntents...)
	if !has(page) {
		t.Error("nothing is in the events that the others could lack")
	}
	decided := map[string]bool{}
	for _, e := range full {
		decided[e.Decision+" "+e.Code] = true
	}
	if len(decided) < 6 {
		t.Errorf("the intents come to %v only", decided)
	}
	digests, page := recordOf(t, DigestDetail, secretIntents...)
	if has(page) || !strings.Contains(page, digestPrefix) {
		t.Errorf("with digests the events are %s", page)
	}
	written := digests[4].Subject.Texts[subject.Path]
	if written == "" || written != digests[5].Subject.Texts[subject.Path] || written == digests[0].Subject.Texts[subject.Command] {
		t.Errorf("the digests of one path are %s and %s", written, digests[5].Subject.Texts[subject.Path])
	}
	again, _ := recordOf(t, DigestDetail, secretIntents[4])
	if again[0].Subject.Texts[subject.Path] == written {
		t.Error("another service has the same digests: they are not keyed")
	}
	nothing, page := recordOf(t, NoDetail, secretIntents...)
	if has(page) || strings.Contains(page, digestPrefix) {
		t.Errorf("without values the events are %s", page)
	}
	if last := nothing[len(nothing)-1].Subject; last == nil || last.Texts != [subject.Fields]string{subject.Task: "t-1"} {
		t.Errorf("without values the subject is %v, and not its task alone", last)
	}
	for i, e := range nothing {
		if i < len(nothing)-1 && e.Subject != nil || e.Value != "" || e.Decision != full[i].Decision || e.Rule != full[i].Rule || (e.Details == nil) != (full[i].Details == nil) {
			t.Errorf("without values: %+v, with them %+v", e, full[i])
		}
	}
}

// TestMaskedEvents: what looks like a credential is in no event, wherever the request had it, and the intent's hash is that of
// the request.
func TestMaskedEvents(t *testing.T) {
	for _, kind := range mask.Table() {
		value, err := json.Marshal(kind.Example)
		if err != nil {
			t.Fatal(err)
		}
		secret := hiddenIn(kind.Example)
		for _, intent := range []string{
			`{"action":"bash","command":` + string(value) + `}`,
			`{"action":"bash","command":"sudo ` + strings.Trim(string(value), `"`) + `"}`,
			`{"action":"email.send","to":` + string(value) + `}`,
			`{"action":"wallet.transfer","amount":` + string(value) + `}`,
			`{"action":"wallet.transfer","token":` + string(value) + `}`,
		} {
			if _, page := recordOf(t, FullDetail, intent); strings.Contains(strings.ToLower(page), strings.ToLower(secret)) {
				t.Errorf("%s: %s is in %s", intent, secret, page)
			}
		}
	}
}

// hiddenIn returns the longest part of a text that masking takes away.
func hiddenIn(text string) string {
	before, after, _ := strings.Cut(mask.Text(text), mask.Hidden)
	after, _, _ = strings.Cut(after, mask.Hidden)
	return text[len(before) : len(text)-len(after)]
}

func TestEventDetailByName(t *testing.T) {
	var d EventDetail
	for i, name := range detailNames {
		if err := d.UnmarshalText([]byte(name)); err != nil || int(d) != i || d.String() != name {
			t.Errorf("%s is %v, %v", name, d, err)
		}
	}
	if err := d.UnmarshalText([]byte("most")); err == nil || !slices.Contains(strings.Fields(err.Error()), "digest") {
		t.Errorf("an unknown detail: %v", err)
	}
}
