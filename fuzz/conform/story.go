package conform

import (
	"context"
	"errors"
	"slices"
	"time"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/oracle"
)

// casesOfStory is how many requests a policy is deployed for. Deploying and compiling cost some fifty decisions.
const casesOfStory = 60

// A story is a policy and the requests under it. It follows from its seed until it is shrunk.
type story struct {
	level  Level
	seed   int64
	policy *gen.Policy
	plays  []play
	denies bool // the last requests are asked again under a policy with one more denial
}

// A play is one generated request, and how it is sent.
type play struct {
	c         *gen.Case
	testRun   bool // is asked before
	authorize bool
	again     bool // the same bytes are sent again where the answer can be repeated
	resolve   resolution
	probe     bool // a hold that is opened is read, and resolved in ways that have to be refused
	verify    bool // both signatures of an attestation
	law       *law // that a pair of requests is held to before; nil: none
	seed      int64
}

type resolution uint8

const (
	leave resolution = iota
	approve
	refuse
)

// newStory makes the story of a seed.
func newStory(level Level, seed int64) *story {
	b := gen.NewBatch(seed, casesOfStory)
	r := gen.NewRand(^seed)
	if level == Holds {
		return holdsStory(seed, r)
	}
	s := &story{level: level, seed: seed, policy: b.Policy, denies: level == Core && r.Chance(10)}
	for _, c := range b.Cases {
		p := play{c: c, testRun: r.Chance(40), authorize: r.Chance(80), again: r.Chance(30)}
		p.authorize = p.authorize || !p.testRun
		p.law, p.seed = drawLaw(r), r.Int63()
		if level == Attestation {
			p.authorize, p.testRun, p.verify = true, false, true
		}
		s.plays = append(s.plays, p)
	}
	return s
}

// Bounds of the search for a policy that holds something, and of the requests for it.
const maxSearch, maxPending, maxOthers = 40, 12, 6

// holdsStory makes a story in which some intents are held: each is asked for three times at least, and decided between.
func holdsStory(seed int64, r *gen.Rand) *story {
	s := &story{level: Holds, seed: seed}
	for try := range int64(maxSearch) {
		b := gen.NewBatch(seed^try<<32, casesOfStory)
		s.policy = Deployable(b.Policy)
		subject, err := differential.NewSubject([]byte(s.policy.Text()))
		if err != nil {
			continue
		}
		var pending, others []play
		for _, c := range b.Cases {
			p := play{c: c, authorize: true, testRun: r.Chance(40), probe: r.Chance(50), resolve: approve + resolution(r.N(3)/2)}
			e := differential.NewHistory().Decide(subject, differential.Request{Body: c.Bytes(), Shim: c.Shim, At: time.Unix(0, 0)})
			switch {
			case e.Verdict.Status == oracle.Pending && len(pending) < maxPending:
				pending = append(pending, p)
			case len(others) < maxOthers:
				others = append(others, p)
			}
		}
		if len(pending) > 0 {
			s.plays = slices.Concat(pending, others, pending, pending)
			return s
		}
	}
	return s // of nothing that is held
}

// play runs a story, up to the first answer that differs. cases counts the requests that were held to the oracle.
func (s *session) play(ctx context.Context, st *story) (cases int, found *finding, err error) {
	found, err = s.deploy(ctx, st.seed, st.policy)
	var reason notRun
	switch {
	case errors.As(err, &reason):
		s.skip(st.level, string(reason), len(st.plays))
		return 0, nil, nil
	case found != nil || err != nil:
		return 0, found, err
	}
	s.speller, s.text = gen.NewSpeller(st.policy), st.policy.Text()
	seen := map[string]int{}
	defer s.saw(seen)
	skipped, asked := 0, []*gen.Case(nil)
	for i := range st.plays {
		p := &st.plays[i]
		if !s.has(p.c) {
			skipped++
			continue
		}
		asked = append(asked, p.c)
		found, err := s.act(ctx, p, seen)
		if found != nil || err != nil {
			return cases, found, err
		}
		cases++
	}
	if skipped > 0 {
		s.skip(st.level, noShimKey, skipped)
	}
	if st.denies {
		found, err = s.deniesMore(ctx, st.policy, st.seed, asked, seen)
	}
	return cases, found, err
}

// act does what a play says.
func (s *session) act(ctx context.Context, p *play, seen map[string]int) (*finding, error) {
	body := p.c.Bytes()
	if p.law != nil {
		if found, err := s.tryLaw(ctx, p.law, p.c, p.seed, seen); found != nil || err != nil {
			return found, err
		}
	}
	var simulated *asked
	var found *finding
	var err error
	if p.testRun {
		if simulated, found, err = s.ask(ctx, body, p.c.Shim, true, seen); found != nil || err != nil {
			return found, err
		}
	}
	if !p.authorize {
		return nil, nil
	}
	a, found, err := s.ask(ctx, body, p.c.Shim, false, seen)
	if found != nil || err != nil {
		return found, err
	}
	if simulated != nil {
		if found := s.simulates(simulated, a); found != nil {
			return found, nil
		}
	}
	if p.verify && a.token != "" {
		wrong, err := s.kit.verifyToken(ctx, a)
		if err != nil {
			return nil, err
		}
		if wrong.any() {
			return s.found(wrong), nil
		}
	}
	if p.again && a.token != "" && a.want.nonce != "" {
		if _, found, err := s.ask(ctx, body, p.c.Shim, false, seen); found != nil || err != nil {
			return found, err
		}
	}
	if a.want.Opened && (p.resolve != leave || p.probe) {
		return s.decideHold(ctx, p, a)
	}
	return nil, nil
}

// smaller returns the stories that are one step smaller: fewer requests, less of the policy, less of a request.
func (st *story) smaller() (all []*story) {
	with := func(policy *gen.Policy, plays []play) {
		all = append(all, &story{st.level, st.seed, policy, plays, st.denies})
	}
	if st.denies { // what the law found may be found without it
		simulated := slices.Clone(st.plays)
		for i := range simulated {
			simulated[i] = play{c: simulated[i].c, testRun: true}
		}
		all = append(all, &story{st.level, st.seed, st.policy, simulated, false}, &story{st.level, st.seed, st.policy, st.plays, false})
	}
	if n := len(st.plays); n > 2 { // the last one differs
		with(st.policy, st.plays[n-1:])
		with(st.policy, st.plays[n/2:])
	}
	for i := range len(st.plays) - 1 {
		with(st.policy, slices.Delete(slices.Clone(st.plays), i, i+1))
	}
	for _, policy := range st.policy.Smaller() {
		with(policy, st.plays)
	}
	for i, p := range st.plays {
		plainer := func(change func(*play)) {
			plays := slices.Clone(st.plays)
			change(&plays[i])
			with(st.policy, plays)
		}
		if p.law != nil {
			plainer(func(p *play) { p.law = nil })
			plainer(func(p *play) { p.testRun, p.authorize = false, false })
		}
		if p.testRun && p.authorize {
			plainer(func(p *play) { p.testRun = false })
			plainer(func(p *play) { p.authorize = false })
		}
		for _, body := range p.c.Body.Smaller() {
			plainer(func(p *play) { p.c = &gen.Case{Body: body, Shim: p.c.Shim} })
		}
	}
	return all
}
