package httpd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"bailiff/runtime/accounts"
)

// TestUnboundBuild asks a build that is not bound to a commit for its commit: there is none to tell, and the answer is not kept.
func TestUnboundBuild(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Commit = ""
	w.serve(config)
	response, body := w.send(w.request("GET /v1/service-metadata"))
	if response.StatusCode != 503 || !strings.Contains(body, `"error_code":"SVC_SERVICE_METADATA_UNAVAILABLE"`) || strings.Contains(body, "serviceCommit") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	if kept := response.Header.Values("Cache-Control"); len(kept) != 1 || kept[0] != "no-store" {
		t.Errorf("Cache-Control %q", kept)
	}
}

// TestVersionOfTheAPI reads the document: it is of version 2.0.0, and what decides or keeps something is below /v1.
func TestVersionOfTheAPI(t *testing.T) {
	document := newChecker(t).document
	if document.Info.Version != "2.0.0" {
		t.Errorf("version %s", document.Info.Version)
	}
	others := []string{"/.well-known/jwks.json", "/.well-known/svc-pqc-keys.json", "/.well-known/svc-conformance.json", "/healthz", "/readyz", "/openapi.json", "/rpc/{chainId}", "/bundler/{chainId}",
		"/access/v1/evaluation", "/access/v1/evaluations", "/.well-known/authzen-configuration"} // named by AuthZEN
	for path := range document.Paths.Map() {
		if !strings.HasPrefix(path, "/v1/") && !slices.Contains(others, path) {
			t.Errorf("%s is not below /v1", path)
		}
	}
}

// scopes says for every route what its key needs: a scope, a plan, or no key at all (specification, accounts.3).
var scopes = map[string]string{
	"POST /v1/authorize": "authorize", "POST /v1/authorize/test-run": "authorize", "POST /v1/hooks/claude-code": "authorize",
	"POST /access/v1/evaluation": "authorize", "POST /access/v1/evaluations": "authorize", "GET /.well-known/authzen-configuration": "",
	"GET /v1/holds/{holdId}": "authorize", "GET /v1/response-policy": "authorize", "GET /v1/limits": "authorize", "POST /v1/holds/{holdId}/resolution": "authorize",
	"GET /v1/mcp/pins": "authorize", "POST /v1/mcp/pins": "authorize",
	"GET /v1/events": "authorize", "GET /v1/events/checkpoint": "authorize", "POST /v1/warranty/deploy": "warranty:deploy",
	"GET /v1/webhooks": "webhooks:write", "DELETE /v1/webhooks/{id}": "webhooks:write", "POST /v1/webhooks/{id}/enable": "webhooks:write", "POST /v1/webhooks": "a plan",
	"POST /v1/operator/halt": "", "POST /v1/operator/rotation": "", "POST /v1/keys/register": "", "POST /rpc/{chainId}": "", "POST /bundler/{chainId}": "", "GET /healthz": "", "GET /readyz": "", "GET /openapi.json": "",
	"GET /.well-known/jwks.json": "", "GET /.well-known/svc-pqc-keys.json": "", "GET /v1/pqc-keys": "", "GET /v1/capabilities": "",
	"GET /.well-known/svc-conformance.json": "", "GET /v1/svc-conformance": "", "GET /v1/service-metadata": "",
}

// refusals are what a route refuses credentials with, by what it needs; $NAME means a key.
func refusals(needs string) map[string]string {
	const scope, plan = "403 SVC_API_KEY_SCOPE_INSUFFICIENT", "403 SVC_TIER_INSUFFICIENT"
	refused := map[string]string{"": "401 SVC_API_KEY_REQUIRED", "Bearer sk_svc_nobody": "401 SVC_API_KEY_INVALID", "Bearer $all": "", "Bearer $authorizer": scope, "Bearer $deployer": scope}
	switch needs {
	case "":
		return map[string]string{"": "", "Bearer sk_svc_nobody": "", "Bearer $deployer": ""}
	case "authorize":
		refused["Bearer $authorizer"] = ""
	case "warranty:deploy":
		refused["Bearer $deployer"] = ""
	case "a plan":
		refused["Bearer $authorizer"], refused["Bearer $deployer"] = plan, plan
	}
	return refused
}

// TestEveryRouteAsksForItsKey asks every route without a key, with an unknown one, with keys of one scope each, and
// with one of all.
func TestEveryRouteAsksForItsKey(t *testing.T) {
	w := newWorld(t)
	w.serve(w.config(w.authority("", false)))
	w.createKey("authorizer", accounts.NewKey{Plan: "developer", Scopes: []string{"authorize"}})
	w.createKey("deployer", accounts.NewKey{Plan: "developer", Scopes: []string{"warranty:deploy"}})
	w.createKey("all", accounts.NewKey{Plan: "growth", FullGrant: true})
	for _, route := range routes {
		needs, known := scopes[route.method+" "+route.path]
		if !known {
			t.Errorf("nothing is said of the key of %s %s", route.method, route.path)
		}
		head := route.method + " " + strings.NewReplacer("{holdId}", "x", "{id}", "x", "{chainId}", "1").Replace(route.path)
		for credential, want := range refusals(needs) {
			response, body := w.send(w.request(head + "\nAuthorization: " + credential + "\n\n{}"))
			if credential == "" {
				response, body = w.send(w.request(head + "\n\n{}"))
			}
			status, code, _ := strings.Cut(want, " ")
			if route.always { // in the words of its answer
				status, body = "200", strings.NewReplacer("(", `"error_code":"`, ")", `"`).Replace(body)
			}
			if code, _, found := strings.Cut(strings.TrimPrefix(body, `"`), ": "); found && evaluates([]byte(route.path)) { // in a message alone
				body = `"error_code":"` + code + `"`
			}
			refused := strings.Contains(body, `"error_code":"SVC_API_KEY_`) || strings.Contains(body, `"error_code":"SVC_TIER_`)
			if refused != (want != "") || refused && (fmt.Sprint(response.StatusCode) != status || !strings.Contains(body, `"`+code+`"`)) {
				t.Errorf("%s with %q: %d %s, and not %q", head, credential, response.StatusCode, body, want)
			}
		}
	}
}

// limitedPolicy needs a counter for every command.
const limitedPolicy = "version: 2.0.0\n\n## tool_calls\nallowed: bash\n\n## execution_limits\nmax_tool_calls_per_hour: 5\n"

// TestCountersFail has the store fail under a limit: that is denied, by no rule, and is the only decision there is then.
func TestCountersFail(t *testing.T) {
	w := newWorld(t)
	w.serve(w.config(w.authority(limitedPolicy, false)))
	w.createKey("agent", accounts.NewKey{})
	w.ledger.Close()
	response, body := w.send(w.request("POST /v1/authorize\nAuthorization: Bearer $agent\n\n" + bashIntent))
	if response.StatusCode != 403 || !strings.Contains(body, `"status":"DENIED"`) || !strings.Contains(body, `"error_code":"SVC_LIMIT_STORE_UNAVAILABLE"`) ||
		strings.Contains(body, "matched_rule") || !strings.Contains(body, `"intent_attestation":null`) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

// TestInternalError has randomness end: nothing is decided, and nothing is told but that.
func TestInternalError(t *testing.T) {
	w := newWorld(t)
	decider := w.authority(limitedPolicy, false)
	decider.Random = iotest.ErrReader(errors.New("planted"))
	w.serve(w.config(decider))
	w.createKey("agent", accounts.NewKey{})
	response, body := w.send(w.request("POST /v1/authorize\nAuthorization: Bearer $agent\n\n" + bashIntent))
	if response.StatusCode != 500 || !strings.Contains(body, `"error_code":"SVC_INTERNAL_ERROR"`) || !strings.Contains(body, `"status":"ERROR"`) || strings.Contains(body, "planted") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

// descriptorFields are the members that the conformance descriptor has in the reference.
var descriptorFields = []string{
	"spec_version", "policy_schema_versions_supported", "conformance_level", "extended_capabilities", "implementation_name", "implementer",
	"contact", "jwks_uri", "pqc_keys_uri", "attestation_algorithms", "self_asserted", "asserted_at",
}

// TestConformanceDescriptor: who asserts what, when and against what, on both routes, and of builds with and without a commit.
func TestConformanceDescriptor(t *testing.T) {
	if text, err := os.ReadFile("../../shared/facts/policy-format.md"); err == nil {
		_, line, _ := strings.Cut(string(text), "The conformance descriptor: ")
		line, _, _ = strings.Cut(line, "\n")
		var facts []string
		for _, quoted := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(line, -1) {
			facts = append(facts, quoted[1])
		}
		if !slices.Equal(facts, descriptorFields) {
			t.Errorf("the reference has %q", facts)
		}
	}
	w := newWorld(t)
	for _, commit := range []string{testCommit, ""} {
		config := w.config(w.authority("", false))
		config.Commit = commit
		if commit == "" {
			config.CommitTime = time.Time{}
		}
		w.serve(config)
		for _, path := range []string{"/v1/svc-conformance", "/.well-known/svc-conformance.json"} {
			_, body := w.send(w.request("GET " + path))
			var d map[string]any
			if err := json.Unmarshal([]byte(body), &d); err != nil {
				t.Fatal(err)
			}
			for _, field := range append(descriptorFields, "evaluated_against", "classes") {
				if _, there := d[field]; !there {
					t.Errorf("%s lacks %s", path, field)
				}
			}
			at, err := time.Parse(time.RFC3339, fmt.Sprint(d["asserted_at"]))
			if bound := err == nil && at.Equal(config.CommitTime); err != nil || at.IsZero() || bound != (commit != "") {
				t.Errorf("%s of the commit %q: asserted at %v, %v", path, commit, d["asserted_at"], err)
			}
			if named := strings.Contains(fmt.Sprint(d["evaluated_against"]), testCommit); named != (commit != "") {
				t.Errorf("evaluated against %v", d["evaluated_against"])
			}
			if d["spec_version"] != "2.0.0" || d["self_asserted"] != true || d["contact"] != config.Contact || d["conformance_level"] != "core" {
				t.Errorf("%s: %s", path, body)
			}
		}
	}
}
