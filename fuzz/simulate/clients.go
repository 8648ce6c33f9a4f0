package simulate

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bailiff/fuzz/evm"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// act has a client or the operator ask for something.
func (s *authorityScene) act(w *world) {
	w.steps++
	if !s.ready {
		w.start("the service begins again", func(l *life) {
			if s.decider != nil && !s.ready {
				s.settleIn(l)
			}
		})
		return
	}
	a := s.agents[w.rand.IntN(len(s.agents))]
	choice, arg := w.rand.IntN(44), w.rand.Int()
	switch {
	case a.wallet && choice < 16:
		s.ask(w, a, arg, true)
	case choice < 14:
		s.ask(w, a, arg, false)
	case choice < 20:
		s.askHeld(w, a)
	case choice < 28:
		s.resolve(w, arg)
	case choice < 30:
		s.redeploy(w, a, arg)
	case choice < 33:
		s.halt(w, a, arg)
	case choice < 39:
		s.submit(w, arg)
	case choice == 39:
		s.revoke(w, a)
	case choice == 40:
		s.rehook(w, a, arg)
	default:
		s.look(w, a, arg)
	}
}

// intent returns the body of a request about a tool. Those of a nonce are the same request.
func intent(action string, nonce int) []byte {
	about := map[string]any{"action": action, "task_id": "t"}
	if action == "bash" {
		about["command"] = "ls"
	}
	pairs := []any{"agentId", "agent", "framework", "custom", "chainId", 1, "txCommit", strings.Repeat("ab", 32), "intent", about}
	if nonce > 0 {
		pairs = append(pairs, "request_nonce", fmt.Sprintf("nonce-%016d", nonce))
	}
	return object(pairs...)
}

// decide asks for a decision, as httpd does, and keeps the attestation.
func (s *authorityScene) decide(w *world, l *life, a *agent, body []byte, plan *evm.Plan, call decision.Call) (said string) {
	key, fault := s.key(a)
	if fault != nil {
		return said + string(fault.Code)
	}
	_, _ = l.Read(call.ID[:])
	call.ID = call.ID.UUIDv4()
	var answer decision.Answer
	if fault := s.decider.Decide(context.Background(), key, body, call, &answer); fault != nil {
		return string(fault.Code)
	}
	if l.over {
		return ""
	}
	if answer.Code == errcode.LimitStore { // the denial of a limit that could not be recorded
		return string(errcode.StoreUnavailable)
	}
	if lsn := w.checked.Unkept(call.ID); lsn != 0 && !call.TestRun {
		w.problems = fmt.Errorf("a decision is answered %s, and its record %d is not on the disk", answer.Status, lsn)
	}
	if answer.Status == ledger.Pending.String() && answer.HoldID != "" {
		s.holds = append(s.holds, heldBy{answer.HoldID, a})
	}
	if answer.Attestation != nil {
		s.attested(w, &answer, plan, call)
	}
	w.note("%s is told %s %s %s", a.id, answer.Status, answer.Code, answer.Rule)
	return answer.Status
}

// attested looks at an attestation: none has the id of another one, but of a request that was asked for again.
func (s *authorityScene) attested(w *world, answer *decision.Answer, plan *evm.Plan, call decision.Call) {
	text := append([]byte(nil), answer.Attestation...)
	id, err := tokenID(text)
	switch {
	case err != nil:
		w.problems = err
	case call.TestRun:
		w.problems = fmt.Errorf("a test-run has the attestation %s", id)
	case s.issued[id] != answer.Replayed:
		w.problems = fmt.Errorf("attestation %s: issued before %t, and the answer says replayed %t", id, s.issued[id], answer.Replayed)
	}
	s.issued[id] = true
	if plan != nil {
		s.tokens = append(s.tokens, &token{text, id, plan})
	}
}

// ask asks for a decision about a tool, or about a transaction of a wallet.
func (s *authorityScene) ask(w *world, a *agent, arg int, wallet bool) {
	s.made++
	var plan *evm.Plan
	body := intent("bash", 0)
	if wallet {
		plan = s.writes[arg%len(s.writes)]
		body = plan.Body()
	}
	call := decision.Call{TestRun: arg>>8%8 == 0}
	w.note("%s asks, test-run %t", a.id, call.TestRun)
	w.start("a decision is asked for", func(l *life) {
		if wallet || call.TestRun {
			w.note("%s is answered %s", a.id, s.decide(w, l, a, body, plan, call))
			return
		}
		s.answers.during(w, l, a.id, operation{kind: authorize, at: s.timeOf(w, l, a)}, func() string { return s.decide(w, l, a, body, nil, call) })
	})
}

// askHeld asks for what a person has to approve.
func (s *authorityScene) askHeld(w *world, a *agent) {
	if a.wallet {
		return
	}
	w.note("%s asks for approval", a.id)
	w.start("an approval is asked for", func(l *life) {
		s.answers.during(w, l, a.id, operation{kind: authorizeHeld, at: s.timeOf(w, l, a)}, func() string {
			return s.decide(w, l, a, intent("deploy.app", 0), nil, decision.Call{})
		})
	})
}

// resolve has the operator decide a hold, or an agent wait for that.
func (s *authorityScene) resolve(w *world, arg int) {
	if len(s.holds) == 0 {
		return
	}
	of := s.holds[len(s.holds)-1-arg%min(len(s.holds), 3)]
	id, a := of.id, of.agent
	if arg>>20%8 == 0 { // or of another key, which has no such hold
		a = s.agents[arg>>4%len(s.agents)]
	}
	if arg>>8%4 == 0 {
		w.note("%s waits for hold %s", a.id, id)
		w.start("a hold is waited for", func(*life) {
			key, fault := s.key(a)
			if fault == nil {
				_, fault = s.decider.WaitHold(context.Background(), key, id, time.Duration(arg>>12%20)*time.Second)
			}
			w.note("%s has waited: %s", a.id, codeOf(fault))
		})
		return
	}
	word := []string{"ALLOWED", "DENIED"}[arg>>8%3/2]
	w.note("the operator says %s for hold %s of %s", word, id, a.id)
	w.start("a hold is resolved", func(l *life) {
		key, fault := s.key(a)
		if fault != nil {
			return
		}
		hold, fault := s.decider.Hold(context.Background(), key, id)
		if fault != nil {
			return
		}
		at := l.now()
		body := object("decision", word, "resolved_at", at.Unix(), "operator_signature", s.signature(attest.ResolutionText(id, hold.IntentHash, hold.PolicyHash, word, at.Unix())))
		s.answers.during(w, l, a.id, operation{kind: resolve, at: s.timeOf(w, l, a), allow: word == "ALLOWED", policy: s.policyOf(hold.PolicyHash), hold: id}, func() string {
			_, fault := s.decider.ResolveHold(context.Background(), key, id, body)
			return codeOf(fault)
		})
	})
}

func codeOf(fault *service.Failure) string {
	if fault == nil {
		return ""
	}
	return string(fault.Code)
}

// redeploy has the operator deploy another policy.
func (s *authorityScene) redeploy(w *world, a *agent, arg int) {
	policy := arg % agentPolicies
	if a.wallet {
		policy = agentPolicies
	}
	w.note("policy %d is deployed to %s", policy, a.id)
	w.start("a policy is deployed", func(l *life) {
		s.answers.during(w, l, a.id, operation{kind: deploy, at: s.timeOf(w, l, a), policy: policy}, func() string { return codeOf(s.deploy(a, policy)) })
	})
}

// halt has the operator freeze or thaw the service, or suspend or resume a key.
func (s *authorityScene) halt(w *world, a *agent, arg int) {
	action := []string{accounts.Freeze, accounts.Thaw, accounts.Thaw, accounts.Thaw, accounts.Suspend, accounts.Resume, accounts.Resume, accounts.Resume}[arg%8]
	request := accounts.HaltRequest{Action: action}
	if action == accounts.Suspend || action == accounts.Resume {
		request.KeyID = a.id
	}
	w.note("the operator says %s, of %s", action, a.id)
	w.start("the operator halts", func(l *life) {
		now := l.now()
		if action == accounts.Thaw || action == accounts.Resume {
			view, err := s.decider.HaltOf(context.Background(), request.KeyID)
			if err != nil {
				return
			}
			request.Serial, request.SignedAt = view.Serial+1, now.Unix()
			request.Signature = s.signature(attest.HaltText(issuer, action, request.KeyID, "", request.SignedAt, request.Serial))
		}
		about := request.KeyID
		s.answers.during(w, l, about, operation{kind: halt, at: now.UnixNano(), stop: action == accounts.Freeze || action == accounts.Suspend}, func() string {
			if _, err := s.decider.Admin().Halt(context.Background(), request); err != nil {
				return failed(err)
			}
			return ""
		})
	})
}

// submit has a wallet send a write, perhaps with an attestation that was used before.
func (s *authorityScene) submit(w *world, arg int) {
	if len(s.tokens) == 0 {
		return
	}
	t := s.tokens[len(s.tokens)-1-arg%min(len(s.tokens), 3)]
	w.note("a write is sent with attestation %s", t.id)
	w.start("a write is sent", func(l *life) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x%x"]}`, t.plan.Raw)
		request, refused := s.gateway.Parse(gateway.RPC, fmt.Sprint(evm.ChainID), []byte(body))
		if refused != nil {
			w.problems = fmt.Errorf("a write is refused before it is looked at: %s", refused.Message)
			return
		}
		response := s.gateway.Serve(context.Background(), request, gateway.Credential{Authorization: [][]byte{append([]byte("Bearer "), t.text...)}})
		defer response.Release()
		if !l.over {
			w.reached[fmt.Sprintf("write answered %d", response.HTTP)]++
			w.note("attestation %s: %d %s", t.id, response.HTTP, response.Code)
		}
	})
}

// revoke revokes a key, and its owner gets another one.
func (s *authorityScene) revoke(w *world, a *agent) {
	if a.wallet || w.rand.IntN(2) == 0 {
		return
	}
	w.note("%s is revoked", a.id)
	w.start("a key is revoked", func(l *life) {
		s.answers.during(w, l, a.id, operation{kind: revoke, at: s.timeOf(w, l, a)}, func() string {
			if _, err := s.decider.Admin().RevokeKey(context.Background(), a.id); err != nil {
				return failed(err)
			}
			return ""
		})
		if another, err := s.newAgent(false); err == nil && !l.over {
			s.agents = append(s.agents, another)
			w.note("%s comes instead", another.id)
			s.answers.during(w, l, another.id, operation{kind: deploy, at: s.timeOf(w, l, another)}, func() string { return codeOf(s.deploy(another, 0)) })
		}
	})
}

// timeOf returns the time of the next step of an agent's key.
func (s *authorityScene) timeOf(w *world, l *life, a *agent) int64 {
	id, _ := ledger.ParseID(a.id)
	return max(l.now().UnixNano(), w.checked.Now(id))
}

// failed is what an operator's command that failed is noted as: its outcome may be unknown.
func failed(err error) string {
	if unavailable(err) {
		return string(errcode.StoreUnavailable)
	}
	return "refused"
}

// rehook registers a webhook, or removes or enables one.
func (s *authorityScene) rehook(w *world, a *agent, arg int) {
	w.note("a webhook of %s changes", a.id)
	w.start("a webhook changes", func(*life) {
		key, fault := s.key(a)
		if fault != nil {
			return
		}
		hooks, fault := s.decider.Webhooks(context.Background(), key)
		switch {
		case fault != nil:
		case len(hooks) == 0 || arg%3 == 0:
			fault = s.hook(a, arg>>2%len(s.receivers))
		case arg%3 == 1:
			fault = s.decider.EnableWebhook(context.Background(), key, hooks[arg>>2%len(hooks)].ID)
		default:
			fault = s.decider.RemoveWebhook(context.Background(), key, hooks[arg>>2%len(hooks)].ID)
		}
		w.note("the webhook of %s has changed: %s", a.id, codeOf(fault))
	})
}

// look reads what a key may read.
func (s *authorityScene) look(w *world, a *agent, arg int) {
	w.note("%s looks", a.id)
	w.start("a key looks", func(*life) {
		key, fault := s.key(a)
		if fault != nil {
			return
		}
		if arg%2 == 0 {
			_, fault = s.decider.KeyReport(context.Background(), key)
		} else {
			_, fault = s.decider.HoldsOf(context.Background(), key)
		}
		w.note("%s has looked: %s", a.id, codeOf(fault))
	})
}

// fault has a host be away, answer badly, or break connections.
func (s *authorityScene) fault(w *world) {
	hosts := []*host{s.node}
	for _, r := range s.receivers {
		hosts = append(hosts, r.host)
	}
	h, r := hosts[w.rand.IntN(len(hosts))], s.receivers[w.rand.IntN(len(s.receivers))]
	switch w.rand.IntN(4) {
	case 0:
		h.parted = !h.parted
		w.note("%s is parted: %t", h.name, h.parted)
	case 1:
		h.fails = 1 + w.rand.IntN(3)
		w.note("%s will break %d connections", h.name, h.fails)
	default:
		r.mood = []int{0, 0, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGone}[w.rand.IntN(5)]
		w.note("%s answers %d", r.host.name, r.mood)
	}
}

func (s *authorityScene) mend() {
	s.node.parted, s.node.fails = false, 0
	for _, r := range s.receivers {
		r.mood, r.host.parted, r.host.fails = 0, false, 0
	}
}
