package conform

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/grammar"
	"bailiff/runtime/attest"
)

// A session is a pair of API keys, and what the service has to remember of them.
type session struct {
	kit     *Kit
	keys    map[string]string // by who; an agent's always, a shim's where there is one
	history *differential.History
	units   int       // that used the keys
	trial   bool      // of shrinking: it counts for nothing
	last    time.Time // when a decision was asked for last
	answers hash.Hash // of a unit of a block; nil: no digest is made

	// Of the policy in force:
	subject *differential.Subject
	hash    string
	speller *gen.Speller
	text    string               // as it was generated
	allowed map[string]allowance // that can be asked for again, by key, nonce and body
	story   []step               // since the deployment
}

// unitsOfKeys is how many units use a pair of keys, where there are others: a key has a bounded number of open holds.
const unitsOfKeys = 100

// newSession takes a pair of keys. Without a shim's key it is an agent's alone.
func (k *Kit) newSession(ctx context.Context) (*session, error) {
	s := &session{kit: k, keys: map[string]string{}, history: differential.NewHistory()}
	for _, who := range []string{agent, shim} {
		secret, err := k.config.Keys(ctx, who == shim)
		switch {
		case errors.Is(err, ErrNoKeys) && who == shim:
			continue
		case err != nil:
			return nil, err
		}
		s.keys[who] = secret
		if k.config.Given {
			if err := k.unused(ctx, who, secret); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// unused refuses a key that was asked before: what the service remembers of it is not known.
func (k *Kit) unused(ctx context.Context, who, secret string) error {
	named := fmt.Sprintf("the %s's API key %.12s…", who, secret)
	for path := "/v1/events"; path != ""; {
		answer, err := k.wire.send(ctx, get(path, who, secret))
		if err != nil {
			return err
		}
		m := parse(answer.body)
		if answer.status != http.StatusOK {
			return fmt.Errorf("%s can't be used (%d %s): %s", named, answer.status, m.text("error_code"), m.text("message"))
		}
		events, _ := m["events"].([]any)
		if slices.ContainsFunc(events, func(e any) bool { return members(asObject(e)).text("event") == "decision" }) {
			return fmt.Errorf("%s was used before, so that its counters are not known; give a fresh one", named)
		}
		path = ""
		if next := fmt.Sprint(m["next"]); m["more"] == true {
			path = "/v1/events?after=" + url.QueryEscape(next)
		}
	}
	return nil
}

// has reports whether the session has the key of a case.
func (s *session) has(c *gen.Case) bool { return s.keys[whose(c.Shim)] != "" }

func whose(fromShim bool) string {
	if fromShim {
		return shim
	}
	return agent
}

// Reasons for which a unit or a case is not run.
const (
	noShimKey    = "there is no key of a trusted shim"
	noActivation = "the policy has a resource profile, and there is no trusted shim to consent to it"
	notAPolicy   = "the generated policy does not compile"
	hourBorder   = "the clock passed the border of an hour"
	noTimeForIt  = "the service has no time to compile the policy (SVC_WARRANTY_COMPILE_TIME)"
	nextWindow   = "it needs the next hour or day, in which the limit begins again"
	afterHold    = "it needs another day, after the end of a hold"
)

// A notRun is the error of what can't be run, with the reason.
type notRun string

func (n notRun) Error() string { return string(n) }

// profiles are the sections that need a trusted shim's consent.
var profiles = []string{"repository", "filesystem", "git", "database"}

// Deployable returns a draft that may be deployed: its profiles require a shim, and it binds to any key.
func Deployable(draft *gen.Policy) *gen.Policy {
	p := draft.Clone()
	p.Sections = slices.DeleteFunc(p.Sections, func(s gen.Section) bool { return s.Name == "deployment" })
	for i := range p.Sections {
		s := &p.Sections[i]
		if !slices.Contains(profiles, s.Name) {
			continue
		}
		s.Entries = slices.DeleteFunc(s.Entries, func(e gen.Entry) bool { return e.Key == "require_shim" })
		s.Entries = append(s.Entries, gen.Entry{Key: "require_shim", Values: []string{"true"}, Scalar: true})
	}
	return p
}

// Profiled reports whether a draft has a resource profile.
func Profiled(p *gen.Policy) bool {
	return slices.ContainsFunc(p.Sections, func(s gen.Section) bool { return slices.Contains(profiles, s.Name) })
}

// deploy puts a policy in force for both keys. The error is a notRun where it can't be, or what kept it from being sent.
func (s *session) deploy(ctx context.Context, unit int64, draft *gen.Policy) (*finding, error) {
	s.story, s.allowed, s.subject = nil, map[string]allowance{}, nil
	if Profiled(draft) && (s.kit.config.Shim == nil || s.keys[shim] == "") {
		return nil, notRun(noActivation)
	}
	return s.deployText(ctx, s.kit.unique(unit)+Deployable(draft).Text(), Profiled(draft))
}

// unique is a comment that no other policy has.
func (k *Kit) unique(unit int64) string {
	return "# conform " + strconv.FormatInt(unit, 10) + " " + k.run + " " + strconv.FormatUint(k.deployed.Add(1), 10) + "\n"
}

// deployText is deploy for a text.
func (s *session) deployText(ctx context.Context, text string, withProfile bool) (*finding, error) {
	s.story, s.allowed, s.subject = nil, map[string]allowance{}, nil
	subject, err := differential.NewSubject([]byte(text))
	switch {
	case errors.Is(err, differential.ErrInvalid):
		return nil, notRun(notAPolicy)
	case err != nil:
		return nil, err
	}
	hash := grammar.PolicyHash([]byte(text))
	for _, who := range []string{agent, shim} {
		if s.keys[who] == "" {
			continue
		}
		answer, err := s.deployAs(ctx, who, text, hash, withProfile)
		if err != nil {
			return nil, err
		}
		m := parse(answer.body)
		if err := s.kit.refused(answer.status, m, withProfile); err != nil {
			return nil, err
		}
		wrong := differ(same("HTTP status of a deployment", http.StatusOK, answer.status), same("policyHash of a deployment", hash, m.text("policyHash")))
		if wrong.any() {
			wrong.got += "; " + shorten(string(answer.body))
			return s.found(wrong), nil
		}
	}
	s.subject, s.hash = subject, hash
	return nil, nil
}

// deployAs deploys a policy with one of the keys, and again where the service had no time to compile it.
func (s *session) deployAs(ctx context.Context, who, text, hash string, withProfile bool) (*reply, error) {
	for range compileTries {
		request, err := s.kit.deployment(ctx, text, hash, withProfile)
		if err != nil {
			return nil, err
		}
		step := post("/v1/warranty/deploy", who, s.keys[who], request)
		answer, err := s.kit.wire.send(ctx, step)
		if err != nil {
			return nil, err
		}
		if answer.status != http.StatusBadRequest || parse(answer.body).text("error_code") != noTime {
			s.story = append(s.story, step)
			s.heard("deploy "+who, nil, answer)
			return answer, nil
		}
		s.kit.wire.meet(answer)
		select {
		case <-time.After(compilePause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, notRun(noTimeForIt)
}

// A service refuses a policy that takes too long to compile (specification, policy-text.11). Where its machine has other work, that can
// happen to any.
const (
	noTime       = "SVC_WARRANTY_COMPILE_TIME"
	compileTries = 5
	compilePause = time.Second
)

// unknownKit are the codes by which a service refuses every deployment of a kit that it does not know, and what to do.
var unknownKit = map[string]string{
	"SVC_WARRANTY_OPERATOR_KEY_MISMATCH": "give --operator-key the file of the private key of the service's operator, whose public key the service has as SVC_OPERATOR_PUBLIC_KEY",
	"SVC_TRUSTED_SHIM_UNTRUSTED":         "give --shim-key the file shim.key that bailiff conform shim has made, and the service shims.json beside it as SVC_TRUSTED_SHIMS; without --shim-key, policies with resource profiles are left out",
	"SVC_API_KEY_SCOPE_INSUFFICIENT":     "make the API keys with the scopes authorize and warranty:deploy",
}

// refused is the error of a service that does not take policies of this kit: it was started with other keys. Once it has taken one, a
// refusal is an answer like any other.
func (k *Kit) refused(status int, m members, withProfile bool) error {
	accepted := &k.accepted[0]
	if withProfile {
		accepted = &k.accepted[1]
	}
	what, known := unknownKit[m.text("error_code")]
	switch {
	case status == http.StatusOK:
		accepted.Store(true)
	case known && !accepted.Load():
		return fmt.Errorf("the service takes no policy from this kit (%d %s): %s", status, m.text("error_code"), what)
	}
	return nil
}

// deployment is the body of a deployment, signed.
func (k *Kit) deployment(ctx context.Context, text, hash string, withProfile bool) (map[string]string, error) {
	signed, err := sign(k.operator, text)
	if err != nil {
		return nil, err
	}
	request := map[string]string{"warranty_md": signed, "operator_public_key": k.public}
	if withProfile {
		now, err := k.wire.clear(ctx)
		if err != nil {
			return nil, err
		}
		request["trusted_shim_attestation"] = k.config.Shim.activate(k.audience, hash, k.public, now)
	}
	return request, nil
}

// sign returns a policy with its signature block.
func sign(private ed25519.PrivateKey, text string) (string, error) {
	signed, err := grammar.Join([]byte(text), attest.SignPolicy(private, []byte(text)))
	return string(signed), err
}

// A finding is an answer that differs from the expectation, with the story of its session.
type finding struct {
	difference
	steps []step
}

// found returns a finding at the last step of the story.
func (s *session) found(d difference) *finding { return &finding{d, slices.Clone(s.story)} }

// kind tells findings apart that are likely to have different causes.
func (f *finding) kind() string { return fmt.Sprintf("%s: %.40s", f.what, f.want) }

// operatorText is the public key of a private one, as deployments have it.
func operatorText(private ed25519.PrivateKey) string {
	return attest.FormatOperatorKey(private.Public().(ed25519.PublicKey))
}

// skip notes what could not be run.
func (s *session) skip(level Level, reason string, n int) {
	if !s.trial {
		s.kit.skip(level, reason, n)
	}
}

// leaveOut counts a case that is generated and not run: a request that has to be answered otherwise at a later time than it is now.
func (s *session) leaveOut(level Level, reason string, body []byte, fromShim bool, now, later time.Time) {
	at := func(t time.Time) differential.Expected {
		return s.history.Decide(s.subject, differential.Request{Body: body, Shim: fromShim, TestRun: true, PolicyHash: s.hash, At: t})
	}
	if is, will := at(now), at(later); is.Status != will.Status || is.Hold != will.Hold {
		s.skip(level, reason, 1)
	}
}

// saw counts answers by status and code.
func (s *session) saw(seen map[string]int) {
	if s.trial {
		return
	}
	s.kit.mutex.Lock()
	defer s.kit.mutex.Unlock()
	for what, n := range seen {
		s.kit.report.Answers[what] += n
	}
}
