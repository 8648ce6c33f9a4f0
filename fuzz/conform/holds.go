package conform

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"bailiff/fuzz/oracle"
	"bailiff/runtime/attest"
)

// decideHold resolves a hold that was opened as the operator does. With a probe it is read first, and resolved in ways that
// have to be refused.
func (s *session) decideHold(ctx context.Context, p *play, a *asked) (*finding, error) {
	s.leaveOut(Holds, afterHold, a.body, a.shim, a.at, a.want.Hold.Expires)
	if p.probe {
		if found, err := s.probeHold(ctx, a, oracle.Pending); found != nil || err != nil {
			return found, err
		}
		if found, err := s.badResolutions(ctx, a); found != nil || err != nil {
			return found, err
		}
	}
	if p.resolve == leave {
		return nil, nil
	}
	state := map[resolution]string{approve: oracle.Allowed, refuse: oracle.Denied}[p.resolve]
	if found, err := s.resolve(ctx, a, state, s.kit.operator, 0, 200, ""); found != nil || err != nil {
		return found, err
	}
	a.want.Hold.State = state
	if !p.probe {
		return nil, nil
	}
	if found, err := s.probeHold(ctx, a, state); found != nil || err != nil {
		return found, err
	}
	return s.resolve(ctx, a, oracle.Allowed, s.kit.operator, 0, 409, "SVC_HOLD_RESOLVED")
}

// probeHold reads a hold.
func (s *session) probeHold(ctx context.Context, a *asked, state string) (*finding, error) {
	who := whose(a.shim)
	answer, found, err := s.request(ctx, get("/v1/holds/"+a.want.Hold.ID, who, s.keys[who]), 200, "")
	if found != nil || err != nil {
		return found, err
	}
	m, request := parse(answer.body), parse(a.body)
	wrong := differ(
		same("holdId of a hold", a.want.Hold.ID, m.text("holdId")), same("status of a hold", state, m.text("status")),
		same("intentHash of a hold", a.want.IntentHash, m.text("intentHash")), same("policyHash of a hold", s.hash, m.text("policyHash")),
		same("policyRule of a hold", a.want.Rule, m.text("policyRule")), same("agentId of a hold", strings.ToLower(request.text("agentId")), strings.ToLower(m.text("agentId"))),
		same("lifetime of a hold in seconds", int64(oracle.HoldLifetime/time.Second), m.number("expiresAt")-m.number("createdAt")),
		same("expiresAt of a hold", a.answer.number("expiresAt"), m.number("expiresAt")), same("resolvedAt of a pending hold", state == oracle.Pending, m["resolvedAt"] == nil),
	)
	if wrong.any() {
		return s.found(wrong), nil
	}
	return nil, nil
}

// badResolutions sends resolutions that have to be refused, and asks for the hold with a key that it does not belong to.
func (s *session) badResolutions(ctx context.Context, a *asked) (*finding, error) {
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	for _, bad := range []struct {
		key    ed25519.PrivateKey
		shift  time.Duration
		status int
		code   string
	}{
		{other, 0, 403, "SVC_HOLD_SIGNATURE_INVALID"},
		{s.kit.operator, -10 * time.Minute, 400, "SVC_VALIDATION_ERROR_SCHEMA"},
		{s.kit.operator, 10 * time.Minute, 400, "SVC_VALIDATION_ERROR_SCHEMA"},
	} {
		if found, err := s.resolve(ctx, a, oracle.Allowed, bad.key, bad.shift, bad.status, bad.code); found != nil || err != nil {
			return found, err
		}
	}
	foreign := whose(!a.shim)
	if s.keys[foreign] == "" {
		return nil, nil
	}
	theirs, found, err := s.request(ctx, get("/v1/holds/"+a.want.Hold.ID, foreign, s.keys[foreign]), 404, "SVC_NOT_FOUND")
	if found != nil || err != nil {
		return found, err
	}
	none, found, err := s.request(ctx, get("/v1/holds/"+missingHold, foreign, s.keys[foreign]), 404, "SVC_NOT_FOUND")
	if found != nil || err != nil {
		return found, err
	}
	if wrong := same("answer to another key's hold", strings.ReplaceAll(string(none.body), missingHold, "ID"), strings.ReplaceAll(string(theirs.body), a.want.Hold.ID, "ID")); wrong.any() {
		return s.found(wrong), nil
	}
	return nil, nil
}

// resolve sends a resolution that is signed with a key, at a time shifted from now.
func (s *session) resolve(ctx context.Context, a *asked, state string, key ed25519.PrivateKey, shift time.Duration, status int, code string) (*finding, error) {
	now, err := s.kit.wire.clear(ctx)
	if err != nil {
		return nil, err
	}
	who, at, id := whose(a.shim), now.Add(shift).Unix(), a.want.Hold.ID
	signature := ed25519.Sign(key, attest.ResolutionText(id, a.want.IntentHash, s.hash, state, at))
	step := post("/v1/holds/"+id+"/resolution", who, s.keys[who], map[string]any{
		"decision": state, "resolved_at": at, "operator_signature": base64.RawURLEncoding.EncodeToString(signature),
	})
	answer, found, err := s.request(ctx, step, status, code)
	if found != nil || err != nil || status != 200 {
		return found, err
	}
	if wrong := same("status of a resolved hold", state, parse(answer.body).text("status")); wrong.any() {
		return s.found(wrong), nil
	}
	return nil, nil
}

// request sends a step, and holds its status and code.
func (s *session) request(ctx context.Context, step step, status int, code string) (*reply, *finding, error) {
	s.story = append(s.story, step)
	answer, err := s.kit.wire.send(ctx, step)
	if err != nil {
		return nil, nil, err
	}
	where := fmt.Sprintf(" of %s %s", step.method, strings.ReplaceAll(step.path, pathID(step.path), "{id}"))
	s.heard(step.who+where, nil, answer)
	wrong := differ(same("HTTP status"+where, status, answer.status), same("error_code"+where, code, parse(answer.body).text("error_code")))
	if wrong.any() {
		wrong.got += "; " + shorten(string(answer.body))
		return nil, s.found(wrong), nil
	}
	return answer, nil, nil
}
