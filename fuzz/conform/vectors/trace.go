package vectors

import (
	"strings"
	"time"
	"unicode/utf8"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/oracle"
	"bailiff/grammar"
)

// A subject is a policy that tests are made for.
type subject struct {
	*differential.Subject
	text, hash string
	seed       int64
	profiles   bool
	draft      *gen.Policy
}

// newSubject reads a policy; ok is false where it does not compile, or is not UTF-8.
func newSubject(seed int64, draft *gen.Policy, text string) (s *subject, ok bool) {
	read, err := differential.NewSubject([]byte(text))
	if err != nil || !utf8.ValidString(text) {
		return nil, false
	}
	return &subject{read, text, grammar.PolicyHash([]byte(text)), seed, conform.Profiled(draft), draft}, true
}

// A tracer makes one trace.
type tracer struct {
	s       *subject
	history *differential.History
	now     time.Time
	said    time.Time // in the steps so far
	steps   []Step
	last    differential.Expected
	hold    *oracle.Hold // that was opened last
}

func trace(s *subject) *tracer {
	start, _ := time.Parse(time.RFC3339, Start)
	return &tracer{s: s, history: differential.NewHistory(), now: start, said: start}
}

// later moves the clock.
func (t *tracer) later(by time.Duration) { t.now = t.now.Add(by) }

// ask adds a request.
func (t *tracer) ask(body []byte, shim, testRun bool) *differential.Expected {
	t.last = t.history.Decide(t.s.Subject, differential.Request{Body: body, Shim: shim, TestRun: testRun, PolicyHash: t.s.hash, At: t.now})
	if t.last.Opened {
		t.hold = t.last.Hold
	}
	step := Step{Shim: shim, TestRun: testRun, Body: string(body), Expect: &Expect{Status: t.last.Status, Code: t.last.Code, Rule: t.last.Rule}}
	step.Expect.HTTP = map[string]int{oracle.Allowed: 200, oracle.Pending: 202, oracle.Denied: 403, oracle.Error: 400}[t.last.Status]
	switch {
	case t.last.Status == oracle.Error:
		step.Expect.Status, step.Expect.Rule = oracle.Denied, "" // as errors of authorize say
	case testRun:
		step.Expect.HTTP = 200
	case t.last.Status != oracle.Denied:
		step.Expect.Hash = t.last.IntentHash
	}
	t.add(step)
	return &t.last
}

// resolve has the operator decide the hold that was opened last.
func (t *tracer) resolve(state string) {
	t.hold.State = state
	t.add(Step{Resolve: state})
}

func (t *tracer) add(step Step) {
	if !t.now.Equal(t.said) {
		step.At, t.said = t.now.Format(time.RFC3339), t.now
	}
	t.steps = append(t.steps, step)
}

// test is the trace as a test.
func (t *tracer) test(comment string, flags ...string) *candidate {
	result := map[string]string{oracle.Allowed: "allowed", oracle.Pending: "pending", oracle.Denied: "denied", oracle.Error: "invalid"}[t.last.Status]
	return &candidate{s: t.s, test: Test{Comment: comment, Flags: flags, Trace: t.steps, Result: result}, last: t.last}
}

// A candidate is a test that may be taken.
type candidate struct {
	s    *subject
	test Test
	last differential.Expected
}

// features are the things that a test covers; rare ones are taken first.
func (c *candidate) features() (all []string) {
	if c.last.Code != "" {
		all = append(all, "code "+c.last.Code)
	}
	if c.last.Rule != "" {
		all = append(all, "rule "+general(c.last.Rule))
	}
	for _, flag := range c.test.Flags {
		all = append(all, "flag "+flag, "flag "+flag+" "+c.test.Result)
	}
	for _, key := range keysOf(c.s.draft) {
		all = append(all, "key "+key)
	}
	return append(all, "result "+c.test.Result)
}

// keysOf returns the keys of a policy without what its author chose, and the operators of its rules.
func keysOf(p *gen.Policy) (all []string) {
	for _, section := range p.Sections {
		for _, entry := range section.Entries {
			all = append(all, section.Name+"."+general(entry.Key))
		}
	}
	return all
}

// general returns a key or rule without what a policy's author chose: of custom rules it leaves the kind and the operator.
func general(key string) string {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(key, "custom."), ".")
	bare, _, scoped := strings.Cut(kind, "[")
	if bare == "deny_if" || bare == "allow_only" {
		_, operator, _ := strings.Cut(rest, " ")
		if scoped {
			bare += "[action=<pattern>]"
			_, after, _ := strings.Cut(key, "]")
			_, operator, _ = strings.Cut(after, " ")
		}
		return strings.TrimSpace(bare + ".<path> " + operator)
	}
	parts := strings.Split(key, ".")
	for i := range len(parts) - 1 {
		switch parts[i] {
		case "token", "daily_token":
			parts[i+1] = "<SYM>"
		case "cap":
			parts[i+1] = "<name>"
		case "method_rules":
			parts[i+1] = "<METHOD>"
		}
	}
	return strings.Join(parts, ".")
}
