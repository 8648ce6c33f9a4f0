package httpd

import (
	"encoding/json"
	"testing"

	"bailiff/runtime/accounts"
)

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
