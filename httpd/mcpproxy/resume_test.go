package mcpproxy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// held is a world whose policy holds every call, and the state that the first one is answered with.
func held(t *testing.T) (*world, string) {
	t.Helper()
	w := newWorld(t)
	w.decides = func(*Intent) Decision {
		return Decision{Status: statusPending, Code: "SVC_POLICY_HOLD_APPROVAL_REQUIRED", Rule: "mcp.require_approval", Message: "a person has to decide", HoldID: "h-1", PolicyHash: "p"}
	}
	v := w.client(modernCall(1, `{"p":"a"}`, ""))
	var answer struct {
		Result struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]struct {
				Method string
				Params struct{ Mode, Message string }
			}
		}
	}
	if err := json.Unmarshal(v.answer, &answer); err != nil || v.forward != nil {
		t.Fatalf("%v %s", err, v.answer)
	}
	question := answer.Result.InputRequests[holdInput]
	if answer.Result.ResultType != "input_required" || question.Method != "elicitation/create" || question.Params.Mode != "form" || !strings.Contains(question.Params.Message, "bailiff holds approve h-1") {
		t.Fatalf("%s", v.answer)
	}
	return w, answer.Result.RequestState
}

// retry makes the held call again with a state.
func retry(id int, arguments, state string) string {
	return modernCall(id, arguments, `"inputResponses":{"`+holdInput+`":{"action":"accept","content":{}}},"requestState":"`+state+`",`)
}

// TestHeldCall approves a hold between the call and its retry: what is forwarded is the first call.
func TestHeldCall(t *testing.T) {
	w, state := held(t)
	w.decides = allowed
	v := w.client(retry(1, `{"p":"a"}`, state))
	if first := modernCall(1, `{"p":"a"}`, ""); string(v.forward) != first {
		t.Fatalf("forwarded %s (%+v), not %s", v.forward, v.refused, first)
	}
	if a, b := w.asked[0], w.asked[1]; a.TxCommit != b.TxCommit {
		t.Error("the retry is another intent, so that it does not find its hold")
	}
	w.server(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	if v := w.client(retry(2, `{"p":"a"}`, state)); v.forward != nil || v.refused.code != string(codeState) {
		t.Errorf("the state was good twice: %s", v.forward)
	}
}

// TestStillHeld answers a retry that comes too early with a tool error, so that clients do not go round in circles.
func TestStillHeld(t *testing.T) {
	w, state := held(t)
	if v := w.client(retry(1, `{"p":"a"}`, state)); v.forward != nil || !strings.Contains(string(v.answer), `"isError":true`) || !strings.Contains(string(v.answer), "h-1") {
		t.Errorf("%s", v.answer)
	}
}

// TestStateIsBound changes everything that a state is bound to. Each is refused although the policy allows.
func TestStateIsBound(t *testing.T) {
	flip := func(s string, i int) string {
		c := byte('A')
		if s[i] == c {
			c = 'B'
		}
		return s[:i] + string(c) + s[i+1:]
	}
	for name, change := range map[string]func(w *world, state string) verdict{
		"other arguments": func(w *world, state string) verdict { return w.client(retry(1, `{"p":"b"}`, state)) },
		"another tool": func(w *world, state string) verdict {
			return w.client(strings.Replace(retry(1, `{"p":"a"}`, state), `"name":"read"`, `"name":"Write"`, 1))
		},
		"another member": func(w *world, state string) verdict {
			return w.client(strings.Replace(retry(1, `{"p":"a"}`, state), `"name":"read"`, `"name":"read","task":{}`, 1))
		},
		"another method": func(w *world, state string) verdict {
			return w.client(strings.Replace(retry(1, `{"p":"a"}`, state), `tools/call`, `prompts/get`, 1))
		},
		"another client": func(w *world, state string) verdict {
			w.s = w.g.newSession("other", w.s.tools)
			return w.client(retry(1, `{"p":"a"}`, state))
		},
		"another key": func(w *world, state string) verdict {
			w.g.Principal = "other"
			return w.client(retry(1, `{"p":"a"}`, state))
		},
		"a day later": func(w *world, state string) verdict {
			then := w.g.Now().Add(stateAge + 2*time.Second)
			w.g.Now = func() time.Time { return then }
			return w.client(retry(1, `{"p":"a"}`, state))
		},
		"a changed nonce": func(w *world, state string) verdict {
			return w.client(retry(1, `{"p":"a"}`, flip(state, len(statePrefix))))
		},
		"a changed time": func(w *world, state string) verdict {
			return w.client(retry(1, `{"p":"a"}`, flip(state, len(statePrefix)+26)))
		},
		"a changed seal": func(w *world, state string) verdict {
			return w.client(retry(1, `{"p":"a"}`, flip(state, len(state)-3)))
		},
		"nothing": func(w *world, state string) verdict { return w.client(retry(1, `{"p":"a"}`, state)) },
	} {
		w, state := held(t)
		w.decides = allowed
		if v := change(w, state); (v.forward != nil) != (name == "nothing") {
			t.Errorf("%s: forwarded %q: %+v", name, v.forward, v.refused)
		}
	}
}

// TestWhoCanBeAsked answers clients that can't show a form with a tool error that names the hold.
func TestWhoCanBeAsked(t *testing.T) {
	w, _ := held(t)
	for _, text := range []string{
		call(5, "read", `{"p":"a"}`),
		strings.Replace(modernCall(6, `{"p":"a"}`, ""), `"elicitation":{}`, `"elicitation":{"url":{}}`, 1),
		strings.Replace(modernCall(7, `{"p":"a"}`, ""), `"elicitation":{}`, `"sampling":{}`, 1),
		modernCall(8, `{"p":"a"}`, `"requestState":"the server's",`),
	} {
		v := w.client(text)
		if !strings.Contains(string(v.answer), `"isError":true`) || !strings.Contains(string(v.answer), "bailiff holds approve h-1") {
			t.Errorf("%s is answered %s", text, v.answer)
		}
	}
	v := w.client(strings.Replace(modernCall(9, `{}`, ""), `"elicitation":{}`, `"elicitation":{"form":{}}`, 1))
	if !strings.Contains(string(v.answer), "input_required") {
		t.Errorf("%s", v.answer)
	}
}

// TestStatesAreBounded refuses to hand out more states than are kept.
func TestStatesAreBounded(t *testing.T) {
	var r resumes
	now := time.Unix(1_800_000_000, 0)
	for range maxStates {
		if _, ok := r.issue(now, [32]byte{}); !ok {
			t.Fatal("refused too early")
		}
	}
	if _, ok := r.issue(now, [32]byte{}); ok {
		t.Error("there is no bound")
	}
	if _, ok := r.issue(now.Add(stateAge+time.Second), [32]byte{}); !ok {
		t.Error("states that have ended take places")
	}
}
