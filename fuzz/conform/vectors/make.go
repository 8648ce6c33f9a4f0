package vectors

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bailiff/compiler"
	"bailiff/fuzz/conform"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/oracle"
	"bailiff/grammar"
)

// Bounds of the tests of one seed.
const (
	casesOfSeed = 40
	mostRepeats = 5 // of an intent, until a limit refuses it
	lawfulCases = 4 // to which each law is applied
)

// candidates returns the tests of a seed.
func candidates(seed int64) (all []*candidate) {
	b := gen.NewBatch(seed, casesOfSeed)
	draft := conform.Deployable(b.Policy)
	s, ok := newSubject(seed, draft, draft.Text())
	if !ok {
		return nil
	}
	for _, c := range b.Cases {
		one := single(s, c.Bytes(), c.Shim, "")
		if one == nil {
			continue
		}
		all = append(all, one)
		switch {
		case one.last.Status == oracle.Pending:
			all = append(all, held(s, c)...)
		case one.last.Status == oracle.Allowed && len(one.last.Verdict.Reservations) > 0:
			all = append(all, usedUp(s, c)...)
		}
	}
	return append(all, lawful(b, s)...)
}

// single is one request alone. It is nil where JSON has no text for its bytes, or where its answer depends on the nonce.
func single(s *subject, body []byte, shim bool, law string) *candidate {
	if !json.Valid([]byte(quote(string(body)))) || strings.ContainsRune(string(body), '\uFFFD') {
		return nil
	}
	t := trace(s)
	e := t.ask(body, shim, false)
	flag, comment := "Rule", e.Rule
	switch {
	case law != "":
		flag, comment = law, strings.TrimSpace(laws[law]+" "+e.Rule)
	case e.Invalid != nil:
		flag, comment = "Malformed", e.Invalid.Error()
	case e.Status == oracle.Error:
		flag, comment = "Malformed", "valid only under another policy"
	case e.Status == oracle.Allowed:
		flag, comment = "Granted", "no rule denies or holds it"
	case e.Status == oracle.Pending:
		flag = "Hold"
	}
	return t.test(comment, flag)
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// held are the ways in which a hold ends.
func held(s *subject, c *gen.Case) []*candidate {
	approved := trace(s)
	approved.ask(c.Bytes(), c.Shim, false)
	approved.ask(c.Bytes(), c.Shim, true)
	approved.resolve(oracle.Allowed)
	approved.ask(c.Bytes(), c.Shim, false)
	spent := trace(s)
	spent.ask(c.Bytes(), c.Shim, false)
	spent.resolve(oracle.Allowed)
	spent.ask(c.Bytes(), c.Shim, false)
	spent.ask(c.Bytes(), c.Shim, false)
	refused := trace(s)
	refused.ask(c.Bytes(), c.Shim, false)
	refused.resolve(oracle.Denied)
	refused.ask(c.Bytes(), c.Shim, false)
	expired := trace(s)
	expired.ask(c.Bytes(), c.Shim, false)
	expired.resolve(oracle.Denied)
	expired.later(24*time.Hour - time.Second)
	expired.ask(c.Bytes(), c.Shim, false)
	expired.later(time.Second)
	expired.ask(c.Bytes(), c.Shim, false)
	return []*candidate{
		approved.test("an approved hold satisfies every rule that holds", "Hold", "Trace"),
		spent.test("an approval is spent once", "Hold", "Trace"),
		refused.test("a denied hold denies its intent", "Hold", "Trace"),
		expired.test("a denied hold denies its intent until it expires", "Hold", "Trace", "Time"),
	}
}

// usedUp asks until a limit refuses, and again in its next window.
func usedUp(s *subject, c *gen.Case) (all []*candidate) {
	body := withoutNonce(c)
	t := trace(s)
	for range mostRepeats {
		e := t.ask(body, c.Shim, false)
		if e.Status != oracle.Denied {
			continue
		}
		all = append(all, t.test("a limit is used up", "Limit", "Trace"))
		for _, by := range []struct {
			time time.Duration
			what string
		}{{time.Hour, "an hour"}, {24 * time.Hour, "a day"}} {
			next := trace(s)
			for range t.steps[:len(t.steps)-1] {
				next.ask(body, c.Shim, false)
			}
			next.later(by.time)
			next.ask(body, c.Shim, false)
			all = append(all, next.test("a limit "+by.what+" later", "Limit", "Trace", "Time"))
		}
		return all
	}
	return nil
}

// withoutNonce is a body that is decided anew each time.
func withoutNonce(c *gen.Case) []byte {
	body := c.Body.Clone()
	var kids []*gen.Node
	for _, kid := range body.Kids {
		if kid.Name != "request_nonce" {
			kids = append(kids, kid)
		}
	}
	body.Kids = kids
	return body.Append(nil)
}

// laws are the properties that any two requests or policies keep, with what the second one of a pair is.
var laws = map[string]string{
	"Respelling":      "a request in another spelling of its values.",
	"RequestSpelling": "a request with other white space, order of members and escapes.",
	"PolicySpelling":  "a policy with comments and white space.",
	"LineOrder":       "a policy in another order of lines.",
	"Formatting":      "a policy in canonical layout.",
	"MoreDenials":     "a policy with a further denial.",
	"RuleSpelling":    "rules in another spelling of their values.",
	"Lists":           "a request with lists around its objects.",
	"SeveralPaths":    "a request that names several paths.",
	"IntegerAmounts":  "an amount in base units.",
	"TestRun":         "a test-run, and then the same authorize.",
	"UsageParts":      "reports of usage, of which the highest parts count.",
	"HigherLimits":    "a limit that is higher by one.",
}

// lawful are tests of each law on the policy and requests of a batch.
func lawful(b *gen.Batch, s *subject) (all []*candidate) {
	r := gen.NewRand(^b.Seed)
	speller, writer := gen.NewSpeller(s.draft), gen.NewWriter(s.draft)
	add := func(one *candidate) {
		if one != nil {
			all = append(all, one)
		}
	}
	for _, c := range b.Cases[:lawfulCases] {
		normal := speller.Normal(c.Body)
		if body, changed := speller.Respell(r, normal); len(changed) > 0 {
			add(single(s, body.Append(nil), c.Shim, "Respelling"))
		}
		add(single(s, c.Body.NoisyAppend(nil, r), c.Shim, "RequestSpelling"))
		if body, changed := gen.WrapObjects(r, c.Body); changed {
			add(single(s, body.Append(nil), c.Shim, "Lists"))
		}
		if several, _, _ := writer.Files(r, c.Body); several != nil {
			add(single(s, several.Append(nil), c.Shim, "SeveralPaths"))
		}
		if _, marked, _, ok := speller.IntegerAmount(c.Body); ok {
			add(single(s, marked.Append(nil), c.Shim, "IntegerAmounts"))
		}
		t := trace(s)
		t.ask(withoutNonce(c), c.Shim, true)
		t.ask(withoutNonce(c), c.Shim, false)
		add(t.test(laws["TestRun"], "TestRun", "Trace"))
	}
	for law, text := range changedPolicies(r, s) {
		changed, ok := newSubject(b.Seed, s.draft, text)
		for _, c := range b.Cases[:lawfulCases/2] {
			if ok {
				add(single(changed, c.Bytes(), c.Shim, law))
			}
		}
	}
	return all
}

// changedPolicies are a policy's other spellings, each by its law, in an order of their own.
func changedPolicies(r *gen.Rand, s *subject) func(func(law, text string) bool) {
	shuffled := s.draft.Clone()
	gen.Shuffle(r, shuffled.Sections)
	for i := range shuffled.Sections {
		gen.Shuffle(r, shuffled.Sections[i].Entries)
	}
	more := s.draft.Clone()
	if more.Section("custom") == nil {
		more.Sections = append(more.Sections, gen.Section{Name: "custom"})
	}
	custom := more.Section("custom")
	custom.Entries = append(custom.Entries, gen.DenyRule(r))
	noisy := s.draft.NoisyText(r)
	rules, _ := gen.RespellRules(r, s.draft)
	formatted, _ := compiler.Format(grammar.NewSource("policy", []byte(noisy)))
	return func(yield func(law, text string) bool) {
		for _, one := range [][2]string{
			{"PolicySpelling", noisy}, {"LineOrder", shuffled.Text()}, {"Formatting", string(formatted)}, {"MoreDenials", more.Text()}, {"RuleSpelling", rules.Text()},
		} {
			if !yield(one[0], one[1]) {
				return
			}
		}
	}
}

// unjudged are entries that are for the shim, and change no decision; package gen writes none of them.
var unjudged = map[string]string{"filesystem": "protected_class_catalog: default-v1\nprotected_file_classes: secret\n", "database": "statement_timeout_ms: 1000\nlock_timeout_ms: 1000\n"}

// sendsSecret is a shim's account of a secret file that leaves the machine.
const sendsSecret = `{"execution":{"race_safe_path_resolution":true},"filesystem":{"effects":["egress"],"targets":[{"absolute":"/a/b","resolved_parent":"/a","classification":"secret"}]}}`

// written are the tests that are not drawn: of limits and usage, whose numbers have to meet.
func written() (all []*candidate) {
	const call = `{"framework":"custom","agentId":"a","txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","intent":{"action":%s}}`
	for limit := 1; limit <= mostRepeats; limit++ {
		s, ok := newSubject(int64(limit), &gen.Policy{}, fmt.Sprintf("version: 2.4.0\n## tool_calls\nallowed: deploy\n## soft_limits\ndaily_tool_calls: %d\n", limit))
		if !ok {
			continue
		}
		for _, more := range []int{0, 1} {
			t := trace(s)
			for range limit + more {
				t.ask(fmt.Appendf(nil, call, `"deploy"`), false, false)
			}
			all = append(all, t.test(laws["HigherLimits"], "HigherLimits", "Trace"))
		}
	}
	for _, section := range slices.Sorted(maps.Keys(unjudged)) {
		entries := unjudged[section]
		draft := &gen.Policy{Sections: []gen.Section{{Name: section}}}
		s, ok := newSubject(0, draft, "version: 2.4.0\n## "+section+"\nactions: deploy\nrequire_shim: true\n"+entries)
		for _, action := range []string{`"deploy"`, `"deploy","metadata":` + sendsSecret} {
			for _, shim := range []bool{false, true} {
				if ok {
					all = append(all, single(s, fmt.Appendf(nil, call, action), shim, ""))
				}
			}
		}
	}
	s, ok := newSubject(0, &gen.Policy{}, "version: 2.4.0\n## execution_limits\nmax_model_tokens_per_task: 10\nmax_model_spend_usd_per_task: 1\n")
	if !ok {
		return all
	}
	reports := []string{
		`{"input_tokens":6,"output_tokens":1,"estimated_spend_usd":"0.5"}`, `{"input_tokens":1,"output_tokens":5,"estimated_spend_usd":"0"}`,
		`{"input_tokens":1,"output_tokens":1,"total_tokens":9,"estimated_spend_usd":"1"}`, `{"total_tokens":10,"estimated_spend_usd":"1.0000001"}`, `{"total_tokens":11}`,
	}
	for i := range reports {
		for j := range reports {
			t := trace(s)
			for _, k := range []int{i, j, 2} {
				t.ask(fmt.Appendf(nil, call, `"model.inference","task_id":"t","metadata":{"model_usage":`+reports[k]+`}`), false, false)
			}
			all = append(all, t.test(laws["UsageParts"], "UsageParts", "Trace"))
		}
	}
	return all
}
