package falsify

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Named are faults that attacks have used.
func Named() []Mutant {
	return []Mutant{
		{Name: "lost-update", What: "two requests at the border of a limit are both allowed", answer: (*exchange).loseUpdate},
		{Name: "second-decision", What: "a request that is sent again is decided again, under another id", ask: (*exchange).renonce, answer: (*exchange).restoreNonce},
		{Name: "borrowed-signature", What: "an attestation has the signature of another one", every: 2, answer: (*exchange).borrowSignature},
		{Name: "case-blind", What: "a denial is missed where the action is in upper case", answer: (*exchange).missUpperCase},
		{Name: "two-readings", What: "a body with a member that occurs twice is decided", answer: (*exchange).passDuplicates},
		{Name: "unsigned-policy", What: "a policy is deployed whose signature does not verify", answer: refused("SVC_WARRANTY_SIGNATURE_INVALID", deployedAnswer)},
		{Name: "rollback", What: "a policy that was replaced is deployed again", answer: refused("SVC_WARRANTY_ROLLBACK", deployedAnswer)},
		{Name: "anyone-approves", What: "a resolution is accepted that another key has signed", answer: refused("SVC_HOLD_SIGNATURE_INVALID", approvedAnswer)},
		{Name: "telling-404", What: "a hold of another key is told from one that does not exist", answer: (*exchange).tellForeign},
		{Name: "counting-test-run", What: "a test-run advances counters", ask: (*exchange).countTestRun},
	}
}

func (x *exchange) loseUpdate() bool {
	limit := map[string]bool{"SVC_AGGREGATE_LIMIT_EXCEEDED": true, "SVC_LOOP_LIMIT_EXCEEDED": true}[x.text("error_code")]
	return x.decides() && limit && x.passAs(x.earlier())
}

// originalNonce is the header in which the proxy keeps the nonce that a client has sent.
const originalNonce = "X-Original-Nonce"

// renonce gives each request a nonce of its own.
func (x *exchange) renonce() {
	var body map[string]json.RawMessage
	if x.path != "/v1/authorize" || json.Unmarshal(x.sent, &body) != nil || len(body["request_nonce"]) == 0 {
		return
	}
	old := string(body["request_nonce"])
	mine, err := json.Marshal(x.p.next())
	if err == nil && strings.Count(string(x.sent), old) == 1 {
		x.header.Set(originalNonce, old)
		x.sent = []byte(strings.Replace(string(x.sent), old, string(mine), 1))
	}
}

// restoreNonce echoes what the client has sent.
func (x *exchange) restoreNonce() bool {
	var old string
	if json.Unmarshal([]byte(x.header.Get(originalNonce)), &old) != nil || x.text("request_nonce") == "" {
		return false
	}
	x.m["request_nonce"] = old
	return true
}

func (x *exchange) borrowSignature() bool {
	other := x.earlier()
	if x.token() == "" || other == nil {
		return false
	}
	mine, theirs := x.token(), other.token()
	x.m["intent_attestation"] = mine[:strings.LastIndexByte(mine, '.')] + theirs[strings.LastIndexByte(theirs, '.'):]
	return true
}

// missUpperCase turns a denial into an ALLOWED where the action has a letter in upper case.
func (x *exchange) missUpperCase() bool {
	var body struct{ Intent struct{ Action string } }
	if !x.testRuns() || x.text("status") != "DENIED" || json.Unmarshal(x.sent, &body) != nil || strings.ToLower(body.Intent.Action) == body.Intent.Action {
		return false
	}
	return x.pass()
}

// pass turns a denial of a test-run into an ALLOWED.
func (x *exchange) pass() bool {
	x.m["status"] = "ALLOWED"
	for _, name := range []string{"error_code", "matched_rule", "details"} {
		delete(x.m, name)
	}
	return true
}

// passDuplicates answers a 400 for a repeated member by an ALLOWED.
func (x *exchange) passDuplicates() bool {
	twice := strings.Count(string(x.sent), `"action"`) > 1 || strings.Count(string(x.sent), `"framework"`) > 1
	return x.path == "/v1/authorize" && x.status == http.StatusBadRequest && twice && x.passAs(x.earlier())
}

// refused answers otherwise where the service refuses with a code.
func refused(code string, with func(*exchange) map[string]any) func(*exchange) bool {
	return func(x *exchange) bool {
		return x.text("error_code") == code && x.answerWith(http.StatusOK, with(x))
	}
}

func deployedAnswer(*exchange) map[string]any {
	return map[string]any{"policyHash": strings.Repeat("0", 64), "policyVersion": "2.4.0", "deployedAt": 0, "warnings": []string{}}
}

func approvedAnswer(*exchange) map[string]any { return map[string]any{"status": "ALLOWED"} }

// tellForeign says more of a hold that exists.
func (x *exchange) tellForeign() bool {
	none := strings.Contains(x.path, "/00000000-")
	if !strings.HasPrefix(x.path, "/v1/holds/") || x.status != http.StatusNotFound || none {
		return false
	}
	x.m["message"] = "the hold is another key's"
	return true
}

// countTestRun has a test-run decided as well.
func (x *exchange) countTestRun() {
	if x.path != "/v1/authorize/test-run" {
		return
	}
	also := *x
	also.path = "/v1/authorize"
	_ = also.send() // its answer is dropped
}
