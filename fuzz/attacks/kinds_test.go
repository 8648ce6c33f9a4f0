package attacks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/fuzz/kit/rawhttp"
	"bailiff/runtime/decision"
	"bailiff/runtime/hook"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/runtime/webhook"
	"bailiff/vm/errcode"
)

// A level takes an attack to its answer.
type level func(a *attack) (string, error)

// A kind starts what a group of it attacks: in the library and over HTTP, or what the library has no part of.
type kind struct {
	both func(t *testing.T, g *group) (inside, outside level)
	http func(t *testing.T, g *group) (outside level)
}

// kinds are those whose answers are not one decision.
var kinds = map[string]kind{
	"http": {http: overHTTP}, "framing": {http: framed}, "mcp": {http: proxied},
	"policy": {both: deployed}, "token": {both: presented}, "webhook": {both: registered}, "resolution": {both: resolved}, "hook": {both: hooked}, "race": {both: raced},
}

// TestKinds runs every case whose answer is not one decision, in the library, where it has a part of its own, and over HTTP.
func TestKinds(t *testing.T) {
	for _, c := range read(t) {
		for i := range c.Groups {
			if g := &c.Groups[i]; g.Kind != "" {
				t.Run(c.Name+"/"+g.Name, func(t *testing.T) { runKind(t, c, g) })
			}
		}
	}
}

func runKind(t *testing.T, c *class, g *group) {
	kind, known := kinds[g.Kind]
	if !known {
		t.Fatalf("there is no kind %q", g.Kind)
	}
	var inside, outside level
	if kind.both != nil {
		inside, outside = kind.both(t, g)
	} else {
		outside = kind.http(t, g)
	}
	for _, a := range c.cases(t, g) {
		over, err := outside(&a)
		if err != nil {
			t.Errorf("%s, %.200q over HTTP: %v", a.id, a.value, err)
			continue
		}
		within := over
		if inside != nil {
			if within, err = inside(&a); err != nil {
				t.Errorf("%s, %.200q: %v", a.id, a.value, err)
				continue
			}
		}
		judge(t, &a, within, over)
	}
}

// started starts a service for a test.
func started(t *testing.T, policy string) *wire {
	t.Helper()
	w, err := newWire(policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

// keyOf makes an API key and returns it in both forms.
func (w *wire) keyOf(scopes ...string) (*ledger.Key, string, error) {
	text, err := w.newKey(false, scopes...)
	if err != nil {
		return nil, "", err
	}
	key, fault := w.decider.Authenticate([]byte(text), 0)
	if fault != nil {
		return nil, "", fault
	}
	return key, text, nil
}

// overHTTP sends a body to the route that the group has in place of an intent, with the headers of its top. $KEY is an API key.
func overHTTP(t *testing.T, g *group) level {
	w := started(t, g.Policy)
	_, key, err := w.keyOf()
	if err != nil {
		t.Fatal(err)
	}
	return func(a *attack) (string, error) {
		var headers []string
		for each := range strings.Lines(g.Top) {
			name, value, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(each, "$KEY", key)), ": ")
			headers = append(headers, name, strings.ReplaceAll(value, "§", a.value))
		}
		got, err := w.post(g.Intent, "", place(g.Body, a.value), headers...)
		if err != nil {
			return "", err
		}
		return got.short(), nil
	}
}

// short returns the status and the code of an answer, of JSON-RPC too.
func (a *answered) short() string {
	var rpc struct {
		Error struct {
			Code    int
			Message string
			Data    struct{ Reason string }
		}
	}
	if json.Unmarshal([]byte(a.text), &rpc) == nil && rpc.Error.Code != 0 {
		return spell(fmt.Sprint(a.HTTP), fmt.Sprint(rpc.Error.Code), short(rpc.Error.Message)+" "+rpc.Error.Data.Reason)
	}
	return spell(fmt.Sprint(a.HTTP), a.Code, "")
}

// pause is how long a server that says nothing more is waited for.
const pause = 150 * time.Millisecond

// framed sends bytes as they are: the statuses of all answers, and whether the connection was closed.
func framed(t *testing.T, g *group) level {
	w := started(t, g.Policy)
	_, key, err := w.keyOf()
	if err != nil {
		t.Fatal(err)
	}
	return func(a *attack) (string, error) {
		body := string(request(g.Intent, "", ""))
		raw := strings.NewReplacer("$KEY", key, "$BODY", body, "$LENGTH", fmt.Sprint(len(body))).Replace(a.value)
		return rawhttp.Statuses(t, w.address, raw, pause), nil
	}
}

// deployed deploys a policy that the operator has signed, unless the text has a signature block itself, in which $SIG is the
// signature of all before it. The answer has all codes of findings, of which the expected ones are kept.
func deployed(t *testing.T, _ *group) (inside, outside level) {
	w := started(t, "")
	return func(a *attack) (string, error) {
			key, _, err := w.keyOf("authorize", "warranty:deploy")
			if err != nil {
				return "", err
			}
			view, fault := w.decider.Deploy(context.Background(), key, deployment(a.value))
			if fault != nil {
				return findings(a, "REFUSED "+short(string(fault.Code)), string(fault.Diagnostics)), nil
			}
			warnings, err := json.Marshal(view.Warnings)
			return findings(a, "DEPLOYED", string(warnings)), err
		}, func(a *attack) (string, error) {
			_, key, err := w.keyOf("authorize", "warranty:deploy")
			if err != nil {
				return "", err
			}
			got, err := w.post("/v1/warranty/deploy", key, deployment(a.value))
			if err != nil {
				return "", err
			}
			status := "REFUSED " + short(got.Code)
			if got.HTTP == http.StatusOK {
				status = "DEPLOYED"
			}
			return findings(a, status, got.text), nil
		}
}

// findings returns the answer with the expected findings that a report has.
func findings(a *attack, answer, report string) string {
	for _, code := range strings.Fields(a.expect) {
		if strings.Contains(report, `"code":"`+code+`"`) {
			answer += " " + code
		}
	}
	return answer
}

// presented presents an attestation that was changed in the way that the value names.
func presented(t *testing.T, g *group) (inside, outside level) {
	w := started(t, g.Policy)
	_, key, err := w.keyOf()
	if err != nil {
		t.Fatal(err)
	}
	_, answer, err := w.authorize(key, request(g.Intent, g.Top, ""))
	if err != nil || answer.Attestation == "" {
		t.Fatalf("the attestation is missing: %v", err)
	}
	signs, err := signer()
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := signs.Verifier(issuer)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(a *attack) (string, error) {
		change := changes[a.value]
		if change == nil {
			return "", fmt.Errorf("there is no change %q", a.value)
		}
		return change(answer.Attestation)
	}
	return func(a *attack) (string, error) {
			token, err := changed(a)
			if err != nil {
				return "", err
			}
			if _, err := verifier.Verify(token, now); err != nil {
				return "401", nil
			}
			return "200", nil
		}, func(a *attack) (string, error) {
			token, err := changed(a)
			if err != nil {
				return "", err
			}
			got, err := w.post("/rpc/8453", "", []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x01"]}`), "Svc-Receipt", token)
			if err != nil {
				return "", err
			}
			if *w.sent != 0 {
				return "", fmt.Errorf("a write was sent on")
			}
			return fmt.Sprint(got.HTTP), nil // an attestation that verifies does not fit this transaction
		}
}

// registered registers a webhook with an address.
func registered(t *testing.T, g *group) (inside, outside level) {
	w := started(t, g.Policy)
	return func(a *attack) (string, error) {
			if err := webhook.CheckURL(context.Background(), offline(), a.value, false); err != nil {
				return "REFUSED", nil
			}
			return "REGISTERED", nil
		}, func(a *attack) (string, error) {
			_, key, err := w.keyOf("authorize", "webhooks:write") // of its own, since a key has 20 webhooks at most
			if err != nil {
				return "", err
			}
			got, err := w.post("/v1/webhooks", key, place(`{"url":"§","events":["intent.denied"]}`, a.value))
			if err != nil {
				return "", err
			}
			if got.HTTP == http.StatusCreated {
				return "REGISTERED", nil
			}
			if got.Code != "SVC_WEBHOOK_URL_REFUSED" && got.Code != "SVC_VALIDATION_ERROR_SCHEMA" {
				return "", fmt.Errorf("another refusal: %s", got.text)
			}
			return "REFUSED", nil
		}
}

// hooked asks about an event of Claude Code.
func hooked(t *testing.T, g *group) (inside, outside level) {
	w := started(t, g.Policy)
	l, err := newLibrary(g.Policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	_, key, err := w.keyOf()
	if err != nil {
		t.Fatal(err)
	}
	return func(a *attack) (string, error) {
			event, err := hook.Read(hook.ClaudeCode, place(g.Body, a.value))
			if err != nil {
				return "DENY", nil
			}
			request, err := event.Request(hook.Config{AgentID: "agent", Framework: "agent-hooks", Random: "0011"})
			if err != nil {
				return "DENY", nil
			}
			if answer, _ := decide(l.shared, request.Body, false); answer != "ALLOWED" {
				return "DENY", nil
			}
			return "ALLOW", nil
		}, func(a *attack) (string, error) {
			got, err := w.post("/v1/hooks/claude-code", key, place(g.Body, a.value))
			switch {
			case err != nil:
				return "", err
			case got.HTTP != http.StatusOK:
				return "", fmt.Errorf("a hook is answered %d: %s", got.HTTP, got.text)
			case strings.TrimSpace(got.text) == "{}":
				return "ALLOW", nil
			case strings.Contains(got.text, `"permissionDecision":"deny"`):
				return "DENY", nil
			}
			return "", fmt.Errorf("a hook is answered %s", got.text)
		}
}

// racers is how many requests a race has.
const racers = 24

// raced sends intents at the same time, which a bar divides, and counts the answers.
func raced(t *testing.T, g *group) (inside, outside level) {
	w := started(t, g.Policy)
	return func(a *attack) (string, error) {
			key, _, err := w.keyOf()
			if err != nil {
				return "", err
			}
			return race(a, func(body []byte) (string, error) {
				var answer decision.Answer
				fault := w.decider.Decide(context.Background(), key, body, decision.Call{}, &answer)
				if fault != nil {
					return spell("ERROR", string(fault.Code), ""), nil
				}
				return spell(answer.Status, string(answer.Code), answer.Rule), nil
			})
		}, func(a *attack) (string, error) {
			_, key, err := w.keyOf()
			if err != nil {
				return "", err
			}
			return race(a, func(body []byte) (string, error) {
				answer, _, err := w.authorize(key, body)
				return answer, err
			})
		}
}

func race(a *attack, ask func(body []byte) (string, error)) (string, error) {
	intents := strings.Split(a.value, " | ")
	var (
		group  sync.WaitGroup
		lock   sync.Mutex
		counts = map[string]int{}
		failed error
	)
	begin := make(chan struct{})
	for i := range racers {
		top, intent, found := strings.Cut(intents[i%len(intents)], " ; ")
		if !found {
			top, intent = "", top
		}
		body := request(intent, top, "")
		group.Go(func() {
			<-begin
			answer, err := ask(body)
			lock.Lock()
			defer lock.Unlock()
			counts[answer]++
			if err != nil {
				failed = err
			}
		})
	}
	close(begin)
	group.Wait()
	var said []string
	for _, answer := range slices.Sorted(maps.Keys(counts)) {
		said = append(said, fmt.Sprint(counts[answer], " ", answer))
	}
	return strings.Join(said, ", "), failed
}

// faultText is the answer to what a library's call came to, as HTTP gives it.
func faultText(fault *service.Failure) string {
	if fault == nil {
		return "200"
	}
	return spell(fmt.Sprint(cmp.Or(fault.HTTP, errcode.Lookup(fault.Code).HTTP)), string(fault.Code), "")
}
