package authzen_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"bailiff/runtime/authzen"
)

// TestBody: action, agent, resource and properties are where the policy finds them, and nothing else is.
func TestBody(t *testing.T) {
	request, err := authzen.ReadEvaluation([]byte(`{"subject":{"type":"user","id":"alice","properties":{"role":"admin"},"extra":1},"action":{"name":"web_fetch"},
		"resource":{"type":"url","id":"https://example.com/a"},"context":{"time":"now"},"more":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := request.Evaluations[0].Body()
	if err != nil {
		t.Fatal(err)
	}
	const intent = `{"action":"web_fetch","metadata":{"authzen":{"action":{"name":"web_fetch"},"resource":{"id":"https://example.com/a","type":"url"},` +
		`"subject":{"id":"alice","properties":{"role":"admin"},"type":"user"}}},"url":"https://example.com/a"}`
	sum := sha256.Sum256([]byte(intent))
	want := `{"framework":"authzen","agentId":"alice","txCommit":"` + hex.EncodeToString(sum[:]) + `","intent":` + intent + `}`
	if string(body) != want {
		t.Errorf("%s\nwant %s", body, want)
	}
}

func TestFields(t *testing.T) {
	for kind, field := range map[string]string{"url": "url", "path": "path", "command": "command", "address": "targetAddress"} {
		request, err := authzen.ReadEvaluation([]byte(`{"subject":{"type":"user","id":"a"},"action":{"name":"x"},"resource":{"type":"` + kind + `","id":"it"}}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := request.Evaluations[0].Body()
		var read struct{ Intent map[string]any }
		if err != nil || json.Unmarshal(body, &read) != nil || read.Intent[field] != "it" || len(read.Intent) != 3 {
			t.Errorf("%s: %s %v", kind, body, err)
		}
	}
}

// TestDefaults: members beside the list hold for the evaluations that lack their own.
func TestDefaults(t *testing.T) {
	request, err := authzen.ReadEvaluations([]byte(`{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},
		"evaluations":[{"resource":{"type":"record","id":"1"}},{"action":{"name":"write"},"resource":{"type":"record","id":"2"}}],"options":{"evaluations_semantic":"deny_on_first_deny"}}`))
	if err != nil || request.Single || len(request.Evaluations) != 2 {
		t.Fatalf("%+v %v", request, err)
	}
	one, two := &request.Evaluations[0], &request.Evaluations[1]
	if one.Subject.ID != "alice" || one.Action.Name != "read" || two.Action.Name != "write" || two.Subject.ID != "alice" || two.Resource.ID != "2" {
		t.Errorf("%+v %+v", one, two)
	}
	for _, c := range []struct {
		semantic       authzen.Semantic
		onDeny, onPass bool
	}{{authzen.ExecuteAll, false, false}, {authzen.DenyOnFirstDeny, true, false}, {authzen.PermitOnFirstPermit, false, true}} {
		if c.semantic.Ends(false) != c.onDeny || c.semantic.Ends(true) != c.onPass {
			t.Error(c)
		}
	}
	if single, err := authzen.ReadEvaluations([]byte(`{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"1"}}`)); err != nil || !single.Single {
		t.Error(single, err)
	}
}

func TestWrong(t *testing.T) {
	const rest = `"action":{"name":"read"},"resource":{"type":"record","id":"1"}`
	for body, want := range map[string]string{
		``: "not valid JSON", `[]`: "object", `"x"`: "object", `{"subject":{"type":"user","id":7},` + rest + `}`: "subject/id: is not of the type",
		`{"subject":{"type":"user","id":"a"},"subject":{"type":"user","id":"b"},` + rest + `}`: "twice",
		"{\"subject\":{\"type\":\"user\",\"id\":\"\xff\"}," + rest + `}`:                       "not valid JSON",
		`{` + rest + `}`: "subject: needs", `{"subject":{"type":"","id":"a"},` + rest + `}`: "subject: needs",
		`{"subject":{"type":"user","id":"a"},"resource":{"type":"record","id":"1"}}`: "action: needs", `{"subject":{"type":"user","id":"a"},"action":{"name":"read"}}`: "resource: needs",
		`{"subject":{"type":"user","id":"a","properties":[]},` + rest + `}`:            "subject.properties: is not an object",
		`{"evaluations":[` + strings.Repeat(`{},`, authzen.MaxEvaluations) + `{}]}`:    "there are 101",
		`{"evaluations":[{}],"options":{"evaluations_semantic":"some"}}`:               "write execute_all",
		`{"subject":{"type":"user","id":"a","properties":{"x":1,"x":2}},` + rest + `}`: "twice",
		`{"subject":{"type":"user","id":"a"},"context":"x",` + rest + `}`:              "context: is not of the type",
		`{"evaluations":[{"context":[]}]}`:                                             "evaluations/0/context: is not of the type",
		`{"evaluations":{}}`:                                                           "evaluations: is not of the type",
	} {
		request, err := authzen.ReadEvaluations([]byte(body))
		if err == nil {
			_, err = request.Evaluations[0].Body()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", body, err, want)
		}
	}
}
