package conform

import (
	"context"
	"strings"
	"time"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/oracle"
)

// An asked is an answer that was as expected.
type asked struct {
	want   decided
	answer members
	token  string  // of an ALLOWED of authorize
	claims members // of the token; nil without one
	at     time.Time
	body   []byte
	shim   bool
}

// An allowance is an ALLOWED that can be asked for again.
type allowance struct {
	want   decided
	claims members
	until  time.Time
}

// Attestations, and so allowances, last 60 seconds. Near their end it is not known which side a request is on.
const (
	lifetime      = 60 * time.Second
	lifetimeLeast = lifetime - 3*time.Second
	lifetimeMost  = lifetime + 3*time.Second
)

// ask sends one request, and holds the answer to the oracle.
func (s *session) ask(ctx context.Context, body []byte, fromShim, testRun bool, seen map[string]int) (*asked, *finding, error) {
	who := whose(fromShim)
	answer, err := s.decision(ctx, body, fromShim, testRun)
	if err != nil {
		return nil, nil, err
	}
	now := answer.sent
	want, known := s.expect(body, fromShim, testRun, now)
	seen[strings.TrimSpace(want.Status+" "+want.Code)]++
	if wrong := want.check(answer); wrong.any() {
		wrong.want += " (" + want.String() + ")"
		return nil, s.found(wrong), nil
	}
	a := &asked{want: want, answer: parse(answer.body), at: now, body: body, shim: fromShim}
	a.token = a.answer.text("intent_attestation")
	if want.Opened {
		want.Hold.ID = a.answer.text("holdId")
		a.want.Hold = want.Hold
	}
	if a.token == "" {
		return a, nil, nil
	}
	wrong, claims := s.kit.checkClaims(a)
	if !wrong.any() {
		wrong = known.repeated(claims)
	}
	if wrong.any() {
		return nil, s.found(wrong), nil
	}
	a.claims = claims
	if want.nonce != "" && !want.repeats {
		s.allowed[allowanceKey(who, body)] = allowance{want, claims, now.Add(lifetimeLeast)}
	}
	return a, nil, nil
}

// decision sends one request for a decision.
func (s *session) decision(ctx context.Context, body []byte, fromShim, testRun bool) (*reply, error) {
	who, path := whose(fromShim), "/v1/authorize"
	if testRun {
		path += "/test-run"
	}
	step := post(path, who, s.keys[who], body)
	s.story = append(s.story, step)
	answer, err := s.kit.wire.send(ctx, step)
	switch {
	case err != nil:
		return nil, err
	case answer.sent.IsZero():
		return nil, errUndated
	case answer.crossed(answer.sent):
		return nil, notRun(hourBorder)
	}
	s.last = answer.sent
	s.heard(who+" "+path, body, answer)
	return answer, nil
}

func allowanceKey(who string, body []byte) string { return who + "\x00" + string(body) }

// expect says what a request has to be answered: as before, where it can be asked for again, else by the oracle.
func (s *session) expect(body []byte, fromShim, testRun bool, now time.Time) (decided, *allowance) {
	if before, ok := s.allowed[allowanceKey(whose(fromShim), body)]; ok && !testRun && now.Before(before.until) {
		want := before.want
		want.repeats = true
		return want, &before
	}
	want := decided{testRun: testRun, policyHash: s.hash}
	want.Expected = s.history.Decide(s.subject, differential.Request{Body: body, Shim: fromShim, TestRun: testRun, PolicyHash: s.hash, At: now})
	if want.Status != oracle.Error {
		want.nonce = parse(body).text("request_nonce")
	}
	return want, nil
}

// repeated holds that an answer has the claims of the first one.
func (a *allowance) repeated(claims members) difference {
	if a == nil {
		return difference{}
	}
	for _, name := range []string{"jti", "iat", "exp"} {
		if wrong := same("claim "+name+" of a repeated answer", a.claims[name], claims[name]); wrong.any() {
			return wrong
		}
	}
	return difference{}
}
