package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bailiff/fuzz/gen"
	"bailiff/fuzz/kit/claims"
	"bailiff/fuzz/oracle"
)

// A law relates the answers to two requests, whatever the oracle thinks of them. The laws are those of package laws, as far as they can
// be seen from outside.
type law struct {
	name  string
	holds string // the expectation
	// pair makes the requests of a generated one: in the second, another spelling. Nil is none.
	pair func(r *gen.Rand, speller *gen.Speller, body *gen.Node) (first, second *gen.Node)
	// noisy writes the second one with white space, escapes, and members in another order.
	noisy bool
	// lasting pairs are asked for by authorize, and both count; others by test-run.
	lasting bool
	// binds reports whether the law says anything about a request that was answered so; nil: about each.
	binds func(s *session, was said) bool
	// keeps reports whether the second answer is as the law has it.
	keeps func(was, is said) bool
}

// said is what an answer says, as far as laws are about it.
type said struct {
	http               int
	status, code, rule string
	claims             string // of an ALLOWED of authorize, without those that each attestation has of its own
	hold               string
}

func (a said) String() string {
	return strings.Join(strings.Fields(fmt.Sprint(a.http, " ", a.status, " ", a.code, " ", a.rule, " ", a.claims, " ", a.hold)), " ")
}

// saidBy reads an answer.
func saidBy(http int, m members) said {
	return said{http: http, status: m.text("status"), code: m.text("error_code"), rule: m.text("matched_rule"), hold: m.text("holdId")}
}

// leniency orders answers: a body that is refused is as strict as a denial.
func (a said) leniency() int {
	return map[string]int{oracle.Pending: 1, oracle.Allowed: 2}[a.status]
}

// refused reports whether the body was, in which case codes depend on the order of its members.
func (a said) refused() bool { return a.http >= 400 && a.http != 403 }

// laws are those of two requests under one policy. The law of test-runs and that of denials are about other pairs.
var laws = []*law{
	{
		name: "spelling", holds: "the same with white space, escapes and another order of members", noisy: true,
		pair:  func(_ *gen.Rand, _ *gen.Speller, body *gen.Node) (*gen.Node, *gen.Node) { return body, body },
		keeps: func(was, is said) bool { return was == is || was.refused() && is.refused() },
	},
	{
		name: "form", holds: "nothing more lenient in another spelling of its values", pair: respelled,
		keeps: func(was, is said) bool { return is.leniency() <= was.leniency() },
	},
	{
		name: "lists", holds: "DENIED with a list around an object",
		pair: func(r *gen.Rand, _ *gen.Speller, body *gen.Node) (*gen.Node, *gen.Node) {
			wrapped, changed := gen.WrapObjects(r, body)
			if !changed {
				return nil, nil
			}
			return body, wrapped
		},
		binds: func(s *session, was said) bool {
			path, ok := strings.CutPrefix(was.rule, "custom.deny_if.") // under not_equals an element without the path equals nothing
			return ok && (strings.HasPrefix(path, "metadata.") || strings.HasPrefix(path, "arguments.")) && !strings.Contains(s.text, "deny_if."+path+" not_equals")
		},
		keeps: func(_, is said) bool { return is.leniency() == 0 },
	},
	{
		name: "claims", holds: "the same claims and the same hold in another spelling of its values", pair: respelled, lasting: true,
		keeps: func(was, is said) bool {
			return was.status != is.status || was.claims == is.claims && was.hold == is.hold
		},
	},
}

// sameInTestRun and oneMoreDenial are the names of the other laws.
const sameInTestRun, oneMoreDenial = "test-run", "denials"

// respelled is a request in normal spelling and in another one.
func respelled(r *gen.Rand, speller *gen.Speller, body *gen.Node) (normal, other *gen.Node) {
	normal = speller.Normal(body)
	other, changed := speller.Respell(r, normal)
	if len(changed) == 0 {
		return nil, nil
	}
	return normal, other
}

// drawLaw draws a law for a request; often none.
func drawLaw(r *gen.Rand) *law {
	if n := r.N(100); n < 16 {
		return laws[[]int{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3}[n]]
	}
	return nil
}

// tryLaw sends the pair of requests that a law makes of a generated one. The first is held to the oracle, and so is the second where it counts.
func (s *session) tryLaw(ctx context.Context, l *law, c *gen.Case, seed int64, seen map[string]int) (*finding, error) {
	r := gen.NewRand(seed)
	first, second := l.pair(r, s.speller, c.Body)
	if first == nil {
		return nil, nil
	}
	var noise *gen.Rand
	if l.noisy {
		noise = r
	}
	a, found, err := s.ask(ctx, first.Append(nil), c.Shim, !l.lasting, seen)
	if found != nil || err != nil {
		return found, err
	}
	was, at := a.said(), a.at
	if l.binds != nil && !l.binds(s, was) {
		return nil, nil
	}
	is, found, err := s.second(ctx, l, second.NoisyAppend(nil, noise), c.Shim, seen)
	if err == nil {
		err = s.since(at)
	}
	if found != nil || err != nil {
		return found, err
	}
	return s.obeys(l.name, l.holds, l.keeps, was, is), nil
}

// second asks for the second of a pair. What does not count is not held to the oracle, whose opinion is not asked for.
func (s *session) second(ctx context.Context, l *law, body []byte, fromShim bool, seen map[string]int) (said, *finding, error) {
	if !l.lasting {
		answer, err := s.decision(ctx, body, fromShim, true)
		if err != nil {
			return said{}, nil, err
		}
		return saidBy(answer.status, parse(answer.body)), nil, nil
	}
	a, found, err := s.ask(ctx, body, fromShim, false, seen)
	if found != nil || err != nil {
		return said{}, found, err
	}
	return a.said(), nil, nil
}

// since is an error where the last request came after the border of an hour, at which limits begin again: no law relates it to those before.
func (s *session) since(at time.Time) error {
	if s.last.Truncate(time.Hour) != at.Truncate(time.Hour) {
		return notRun(hourBorder)
	}
	return nil
}

// said is what an answer says that was as the oracle expected it.
func (a *asked) said() said {
	answer := saidBy(a.want.status(), a.answer)
	if a.claims != nil {
		answer.claims = claims.Lasting(a.claims)
	}
	return answer
}

// obeys counts a pair of a law, and returns a finding where the law does not hold.
func (s *session) obeys(name, holds string, keeps func(was, is said) bool, was, is said) *finding {
	if !s.trial {
		s.kit.mutex.Lock()
		s.kit.report.Laws[name]++
		s.kit.mutex.Unlock()
	}
	if keeps(was, is) {
		return nil
	}
	return s.found(difference{"law of " + name, holds + ", where the first answer is " + was.String(), is.String()})
}

// simulates holds that a test-run has said what authorize says.
func (s *session) simulates(simulated, a *asked) *finding {
	if a.answer["replayed"] == true || s.since(simulated.at) != nil { // the answer of an earlier request, or of another hour
		return nil
	}
	was, is := simulated.said(), a.said()
	return s.obeys(sameInTestRun, "what the test-run before has said", func(was, is said) bool {
		return was.status == is.status && was.code == is.code && was.rule == is.rule
	}, was, is)
}

// lastAsked is how many requests are asked again under a policy with one more denial.
const lastAsked = 8

// deniesMore holds that a policy with one more denial lets nothing pass that was denied, and changes no answer but to a denial.
func (s *session) deniesMore(ctx context.Context, policy *gen.Policy, seed int64, asked []*gen.Case, seen map[string]int) (*finding, error) {
	var was []said
	var at time.Time
	asked = asked[max(0, len(asked)-lastAsked):]
	for _, c := range asked {
		a, found, err := s.ask(ctx, c.Bytes(), c.Shim, true, seen)
		if found != nil || err != nil {
			return found, err
		}
		was = append(was, a.said())
		if at.IsZero() {
			at = a.at
		}
	}
	before := s.story
	found, err := s.deploy(ctx, seed, stricter(policy, seed))
	s.story = slices.Concat(before, s.story)
	if reason := notRun(""); errors.As(err, &reason) && reason == notAPolicy { // its version may have no such rule
		return nil, nil
	}
	if found != nil || err != nil {
		return found, err
	}
	for i, c := range asked {
		answer, err := s.decision(ctx, c.Bytes(), c.Shim, true)
		if err == nil {
			err = s.since(at)
		}
		if err != nil {
			return nil, err
		}
		if found := s.obeys(oneMoreDenial, deniesAtMost, strictly, was[i], saidBy(answer.status, parse(answer.body))); found != nil {
			return found, nil
		}
	}
	return nil, nil
}

const deniesAtMost = "the same, or DENIED, under a policy with one more denial"

// strictly accepts equal answers, and a denial after anything but a refused body.
func strictly(was, is said) bool {
	return was == is || is.status == oracle.Denied && was.refused() == is.refused()
}

// stricter is a policy with one more rule that denies.
func stricter(p *gen.Policy, seed int64) *gen.Policy {
	after := p.Clone()
	custom := after.Section("custom")
	if custom == nil {
		after.Sections = append(after.Sections, gen.Section{Name: "custom"})
		custom = &after.Sections[len(after.Sections)-1]
	}
	custom.Entries = append(custom.Entries, gen.DenyRule(gen.NewRand(seed)))
	return after
}
