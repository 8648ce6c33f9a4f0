package conform

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strings"

	"bailiff/grammar"
)

// once runs what Core has to see once: errors of requests, and deployments that have to be refused.
func (k *Kit) once(ctx context.Context) error {
	s, err := k.newSession(ctx)
	if errors.Is(err, ErrNoKeys) {
		return errors.New("there is no API key to ask with: give --admin, or --key-file with a fresh key, or test a hosted service, which registers keys")
	}
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context) (int, *finding, error){s.faults, s.deployments} {
		cases, found, err := part(ctx)
		k.count(Core, cases)
		if err != nil {
			return err
		}
		if found != nil {
			k.mutex.Lock()
			k.report.add(Core, k.config.Seed, found, "", script(k.config.URL, found.steps))
			k.mutex.Unlock()
			return nil
		}
	}
	k.keep(s)
	return nil
}

// onePolicy allows one tool.
const onePolicy = "version: 2.4.0\n## tool_calls\nallowed: deploy\n"

// goodBody is allowed by onePolicy.
const goodBody = `{"framework":"conform","agentId":"agent","txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","intent":{"action":"deploy"}}`

const schemaError = "SVC_VALIDATION_ERROR_SCHEMA"

// faults are requests that have to be refused, each in one way.
func (s *session) faults(ctx context.Context) (cases int, found *finding, err error) {
	if found, err := s.deployText(ctx, s.kit.unique(s.kit.config.Seed)+onePolicy, false); found != nil || err != nil {
		return 1, found, err
	}
	key := s.keys[agent]
	swap := func(old, to string) []byte { return []byte(strings.Replace(goodBody, old, to, 1)) }
	authorize := func(body []byte) step { return post("/v1/authorize", agent, key, body) }
	for _, one := range []struct {
		step   step
		status int
		code   string
	}{
		{authorize([]byte(goodBody)), 200, ""},
		{post("/v1/authorize", "", "", []byte(goodBody)), 401, "SVC_API_KEY_REQUIRED"},
		{post("/v1/authorize", stranger, "sk_svc_"+strings.Repeat("0", 64), []byte(goodBody)), 401, "SVC_API_KEY_INVALID"},
		{get("/v1/authorize", agent, key), 405, "SVC_METHOD_NOT_ALLOWED"},
		{get("/v1/authorise", agent, key), 404, "SVC_NOT_FOUND"},
		{get("/v1/holds/"+missingHold, agent, key), 404, "SVC_NOT_FOUND"},
		{authorize([]byte("{")), 400, schemaError},
		{authorize([]byte(goodBody + "{}")), 400, schemaError},
		{authorize(swap(`"agentId"`, `"agentid"`)), 400, schemaError},
		{authorize(swap(`"agentId":"agent"`, `"agentId":null`)), 400, schemaError},
		{authorize(swap(`{"action"`, `{"action":"bash","action"`)), 400, schemaError},
		{authorize(swap(`"agentId"`, `"framework":"x","agentId"`)), 400, schemaError},
		{authorize(swap(`"txCommit"`, `"userOpHash":"0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","txCommit"`)), 400, schemaError},
		{authorize(swap(`{"action"`, `{"unknown":1,"action"`)), 400, schemaError},
		{authorize(swap(`"agent"`, `"\ud800"`)), 400, schemaError},
		{authorize(swap(`{"action"`, `{"metadata":{"n":1e400},"action"`)), 400, schemaError},
		{authorize(swap(`"intent"`, `"chainId":5,"intent"`)), 400, "SVC_VALIDATION_ERROR_CHAIN_NOT_ALLOWED"},
		{authorize(swap(`"agent"`, `"`+strings.Repeat("a", 100_001)+`"`)), 413, "SVC_BODY_TOO_LARGE"},
		{post("/v1/authorize?explain=yes", agent, key, []byte(goodBody)), 400, schemaError},
	} {
		answer, found, err := s.request(ctx, one.step, one.status, one.code)
		if found != nil || err != nil {
			return cases + 1, found, err
		}
		cases++
		if wrong := refusal(one.step, answer); wrong.any() {
			return cases, s.found(wrong), nil
		}
	}
	return cases, nil, nil
}

// refusal holds what an error says beside its code.
func refusal(s step, r *reply) difference {
	m := parse(r.body)
	if r.status < 400 {
		return difference{}
	}
	status := map[int]string{401: "UNAUTHORIZED", 429: "RATE_LIMITED", 503: "UNAVAILABLE"}[r.status]
	switch {
	case strings.HasPrefix(s.path, "/v1/authorize") && r.status < 500 && r.status != 404 && r.status != 405:
		status = "DENIED"
	case status == "":
		status = "ERROR"
	}
	wrong := differ(sameMember(m, "policyHash", ""), sameMember(m, "matched_rule", ""), told(m))
	if r.status == 401 || r.status == 405 || r.status == 404 {
		return wrong // status is DENIED on authorize alone, and what of these is authorize is for its own tests
	}
	return differ(same("member status", status, m.text("status")), wrong)
}

// deployments are policies that have to be refused, and the policy in force after them.
func (s *session) deployments(ctx context.Context) (cases int, found *finding, err error) {
	k := s.kit
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		return 0, nil, err
	}
	first, second := k.unique(k.config.Seed)+onePolicy, k.unique(k.config.Seed)+onePolicy
	deploy := func(private ed25519.PrivateKey, public, text string, change func(string) string) step {
		signed, problem := sign(private, text)
		err = errors.Join(err, problem)
		return post("/v1/warranty/deploy", agent, s.keys[agent], map[string]string{"warranty_md": change(signed), "operator_public_key": public})
	}
	asIs := func(text string) string { return text }
	theirs := operatorText(other)
	for _, one := range []struct {
		step   step
		status int
		code   string
	}{
		{deploy(k.operator, k.public, first, asIs), 200, ""},
		{deploy(k.operator, k.public, second, asIs), 200, ""},
		{deploy(k.operator, k.public, first, asIs), 409, "SVC_WARRANTY_ROLLBACK"},
		{deploy(other, k.public, k.unique(1)+onePolicy, asIs), 400, "SVC_WARRANTY_SIGNATURE_INVALID"},
		{deploy(k.operator, k.public, k.unique(1)+onePolicy, func(t string) string { return strings.Replace(t, "deploy", "bash", 1) }), 400, "SVC_WARRANTY_SIGNATURE_INVALID"},
		{deploy(k.operator, k.public, k.unique(1)+onePolicy, func(t string) string { return t[:strings.Index(t, "## signature")] }), 400, "SVC_WARRANTY_SIGNATURE_INVALID"},
		{deploy(other, theirs, k.unique(1)+onePolicy, asIs), 403, "SVC_WARRANTY_OPERATOR_KEY_MISMATCH"},
		{deploy(k.operator, k.public, k.unique(1)+"version: 2.4.0\n## tool_calls\nallowed: *\n", asIs), 400, "SVC_WARRANTY_INVALID"},
		{deploy(k.operator, k.public, k.unique(1)+onePolicy+"## tool_calls\nallowed: bash\n", asIs), 400, "SVC_WARRANTY_INVALID"},
		{deploy(k.operator, k.public, second, asIs), 200, ""}, // in force still
	} {
		if err != nil {
			return cases, nil, err
		}
		if _, found, err := s.request(ctx, one.step, one.status, one.code); found != nil || err != nil {
			return cases + 1, found, err
		}
		cases++
	}
	answer, found, err := s.request(ctx, post("/v1/authorize/test-run", agent, s.keys[agent], []byte(goodBody)), 200, "")
	if found != nil || err != nil {
		return cases, found, err
	}
	if wrong := same("policyHash after refused deployments", grammar.PolicyHash([]byte(second)), parse(answer.body).text("policyHash")); wrong.any() {
		return cases, s.found(wrong), nil
	}
	return cases + 1, nil, nil
}
