package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// TestSelfHosted: registration is closed, the boot policy governs, and a key may have a policy of its own.
func TestSelfHosted(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	service := s.start()
	service.send("POST", "/v1/keys/register", "", `{"email":"agent@example.com"}`).wants(t, "registration", "403 SVC_REGISTRATION_CLOSED")
	plain, own := s.apiKey(), s.apiKey("--scope", "authorize", "--scope", "warranty:deploy")
	boot := service.decides(t, "under the boot policy", plain, listing, "ALLOWED").PolicyHash
	service.send("POST", "/v1/warranty/deploy", plain, newOperator(t).deployment(taskPolicy)).wants(t, "without the scope", "403 SVC_API_KEY_SCOPE_INSUFFICIENT")
	service.send("POST", "/v1/warranty/deploy", own, newOperator(t).deployment(taskPolicy)).wants(t, "a stranger's policy", "403 SVC_WARRANTY_OPERATOR_KEY_MISMATCH")
	s.write("own.md", taskPolicy)
	s.must("sign", "--key", s.path("operator.key"), s.path("own.md"))
	hash := strings.TrimSpace(s.must("deploy", "--url", service.base, "--api-key", own, "--key", s.path("operator.key"), s.path("own.md")))
	if got := service.decides(t, "under its own policy", own, tool("bash", `"command":"rm -rf /","task_id":"t"`), "ALLOWED"); got.PolicyHash != hash || hash == boot {
		t.Errorf("policyHash %s, deployed %s", got.PolicyHash, hash)
	}
	if got := service.decides(t, "the others", plain, removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND"); got.PolicyHash != boot {
		t.Errorf("policyHash %s, at first %s", got.PolicyHash, boot)
	}
	hold := service.decides(t, "a mail", plain, mailing, pendingMail)
	s.must("holds", "approve", "--yes", "--url", service.base, "--api-key", plain, "--key", s.path("operator.key"), hold.HoldID)
	service.decides(t, "approved", plain, mailing, "ALLOWED")
}

// TestObserve approves what the policy denies and says so; holds, validation, keys and test-runs stay as they are.
func TestObserve(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy, "SVC_MODE=OBSERVE")
	service := s.start()
	key := s.apiKey()
	got := service.ask("/v1/authorize", key, removing)
	if got.HTTP != 200 || got.Status != "ALLOWED" || got.Code != "SVC_POLICY_VIOLATION_BLOCKED_COMMAND" || got.Rule != "tool_calls.bash.blocked_commands" || got.Attestation == "" {
		t.Errorf("observed: %d %s", got.HTTP, got.Raw)
	}
	if claims := s.must("attest", "verify", "--jwks", s.document(service, "/.well-known/jwks.json"), "--pqc-keys", s.document(service, "/v1/pqc-keys"), got.Attestation); !strings.Contains(claims, `"OBSERVE"`) {
		t.Errorf("the claims do not say OBSERVE: %s", claims)
	}
	if got := service.ask("/v1/authorize/test-run", key, removing); got.Status != "DENIED" || !strings.Contains(string(got.Raw), `"observe_mode_active":true`) {
		t.Errorf("test-run: %s", got.Raw)
	}
	service.decides(t, "a hold", key, mailing, pendingMail)
	service.send("POST", "/v1/authorize", key, "{}").wants(t, "what is invalid", "400 SVC_VALIDATION_ERROR_SCHEMA")
	service.send("POST", "/v1/authorize", "sk_svc_x", removing).wants(t, "a bad key", "401 SVC_API_KEY_INVALID")
	if !strings.Contains(service.log.String(), "OBSERVE mode: what the policy denies is approved; nothing is enforced") {
		t.Errorf("the log does not warn of OBSERVE:\n%s", service.log)
	}
}

// document keeps a document of the service in a file.
func (s *site) document(r *running, path string) (file string) {
	s.t.Helper()
	_, _, text := r.get(path)
	name := strings.ReplaceAll(path, "/", "_")
	s.write(name, text)
	return s.path(name)
}

// TestDocuments looks at what is easily overlooked in the documents.
func TestDocuments(t *testing.T) {
	t.Parallel()
	service := newSite(t, mailPolicy, "SVC_PUBLIC_URL=https://api.example.com").start()
	status, header, body := service.get("/v1/service-metadata")
	if header.Get("Cache-Control") != "no-store" {
		t.Errorf("service-metadata: Cache-Control %q", header.Get("Cache-Control"))
	}
	bound := regexp.MustCompile(`^\{"serviceCommit":"[0-9a-f]{40}"\}$`).MatchString(strings.TrimSpace(body))
	if !(status == 200 && bound) && !(status == 503 && strings.Contains(body, "SVC_SERVICE_METADATA_UNAVAILABLE")) {
		t.Errorf("service-metadata: %d %s", status, body)
	}
	for path, want := range map[string]string{
		"/.well-known/svc-conformance.json": `"pqc_keys_uri":"https://api.example.com/.well-known/svc-pqc-keys.json"`,
		"/v1/svc-conformance":               `"pqc_keys_uri":"https://api.example.com/v1/pqc-keys"`,
		"/healthz":                          `{"status":"ok"}`,
		"/v1/capabilities":                  `"supported_policy_versions":["1.x"`,
		"/openapi.json":                     `"openapi":"3.1`,
	} {
		if status, _, body := service.get(path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d, no %s in %.200s", path, status, want, body)
		}
	}
}

// TestTestRunsAreKept stops the service right after a test-run: its record is there.
func TestTestRunsAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	service := s.start()
	key := s.apiKey()
	for range 3 {
		service.send("POST", "/v1/authorize/test-run", key, removing).wants(t, "test-run", "200 SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
	}
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	if kept := s.must("events", "--decision", "TEST_RUN", "--json"); strings.Count(kept, `"decision":"TEST_RUN"`) != 3 {
		t.Errorf("kept: %s", kept)
	}
	if said, code := s.verify(s.path("data")); code != 0 {
		t.Errorf("exit %d, %s", code, said)
	}
}

// TestUnknownFramework is accepted, and warned of once.
func TestUnknownFramework(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	service := s.start()
	key := s.apiKey()
	for range 2 {
		service.decides(t, "a known framework", key, listing, "ALLOWED")
		service.decides(t, "an unknown framework", key, strings.Replace(listing, `"custom"`, `"never-heard-of"`, 1), "ALLOWED")
	}
	if err := service.stop(); err != nil { // the log has been read then
		t.Fatal(err)
	}
	log := service.log.String()
	if strings.Count(log, "unknown framework") != 1 || !regexp.MustCompile(`level=WARN msg="unknown framework" framework=never-heard-of`).MatchString(log) {
		t.Errorf("the log:\n%s", log)
	}
}

// TestStartupErrors are the specification's, word for word, and end the process with a failure.
func TestStartupErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	policy := s.path("warranty.md")
	signed := s.secret("warranty.md") + "\n"
	unsigned, block, _ := strings.Cut(signed, "## signature")
	const modified = ": the signature does not verify against the operator public key: the file was modified, signed with another key, or its signature block was edited; sign it with: bailiff sign --key operator.key "
	for _, row := range []struct {
		name, policy, setting, want string
	}{
		{"no operator key", signed, "SVC_OPERATOR_PUBLIC_KEY=", "[Svc] SVC_OPERATOR_PUBLIC_KEY is not set."},
		{"no signature", unsigned, "", "[Svc] " + policy + ": the policy has no `## signature` block; sign it with: bailiff sign --key operator.key " + policy},
		{"an edited policy", strings.Replace(signed, "rm -rf", "rm -rF", 1), "", "[Svc] " + policy + modified + policy},
		{"a space more", strings.Replace(signed, "allowed: bash", "allowed:  bash", 1), "", "[Svc] " + policy + modified + policy},
		{"another key", signed, "SVC_OPERATOR_PUBLIC_KEY=" + newOperator(t).public(), "[Svc] " + policy + modified + policy},
		{"an edited signature", unsigned + "## signature" + strings.ToUpper(block[:20]) + block[20:], "", "[Svc] " + policy},
	} {
		s.write("warranty.md", row.policy)
		one := &site{t: t, dir: s.dir, env: append(append([]string{}, s.env...), row.setting)}
		out, problem, code := one.run("serve")
		first, _, _ := strings.Cut(problem, "\n")
		if code != 1 || out != "" || first != row.want && row.name != "an edited signature" || !strings.HasPrefix(first, row.want) {
			t.Errorf("%s: exit %d\n%s\nand not\n%s", row.name, code, problem, row.want)
		}
	}
}
