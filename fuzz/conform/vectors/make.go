package vectors

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bailiff/compiler"
	"bailiff/fuzz/conform"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/oracle"
	"bailiff/grammar"
	"bailiff/vm/form/evmaddr"
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
	return append(all, lawsOf(b, s)...)
}

// single is one request alone. It is nil where JSON has no text for its bytes.
func single(s *subject, body []byte, shim bool, law string) *candidate {
	if !quotable(body) {
		return nil
	}
	t := trace(s)
	e := t.ask(body, shim, false)
	flag, comment := "Rule", e.Rule
	switch {
	case law != "":
		flag, comment = law, strings.TrimSpace(lawful[law]+" "+e.Rule)
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

// quotable reports whether JSON has a text for a body: one that is UTF-8.
func quotable(body []byte) bool { return !strings.ContainsRune(string(body), utf8.RuneError) }

// held are the ways in which a hold ends.
func held(s *subject, c *gen.Case) []*candidate {
	approved := trace(s)
	approved.ask(c.Bytes(), c.Shim, false)
	approved.ask(c.Bytes(), c.Shim, true)
	approved.resolve(oracle.Allowed)
	approved.ask(c.Bytes(), c.Shim, false)
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
	all := []*candidate{
		approved.test("an approved hold satisfies every rule that holds", "Hold", "Trace"),
		refused.test("a denied hold denies its intent", "Hold", "Trace"),
		expired.test("a denied hold denies its intent until it expires", "Hold", "Trace", "Time"),
	}
	body, spent := withoutNonce(c.Body).Append(nil), trace(s) // with a nonce, the last request would repeat the one before
	if spent.ask(body, c.Shim, false).Status == oracle.Pending {
		spent.resolve(oracle.Allowed)
		spent.ask(body, c.Shim, false)
		spent.ask(body, c.Shim, false)
		all = append(all, spent.test("an approval is spent once", "Hold", "Trace"))
	}
	return all
}

// usedUp asks until a limit refuses, and again in its next window.
func usedUp(s *subject, c *gen.Case) (all []*candidate) {
	body := withoutNonce(c.Body).Append(nil)
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
func withoutNonce(sent *gen.Node) *gen.Node {
	body := sent.Clone()
	var kids []*gen.Node
	for _, kid := range body.Kids {
		if kid.Name != "request_nonce" {
			kids = append(kids, kid)
		}
	}
	body.Kids = kids
	return body
}

// lawful are the laws of fuzz/laws that tests show, by the name of each, with what a test of it has.
var lawful = map[string]string{
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
	"HigherLimits":    "a limit that is higher by one.",
	"DeniedParts":     "a part of an address that deny_string denies, in any case.",

	"TestRunSaysTheSame": "a test-run, and then the same authorize.",
	"ClaimsOfSpellings":  "a request, and then in another spelling, with the same hash and hold.",
	"UsageParts":         "reports of usage, of which the highest parts count.",
}

// lawsOf are tests of each law on the policy and requests of a batch.
func lawsOf(b *gen.Batch, s *subject) (all []*candidate) {
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
		plain := withoutNonce(c.Body)
		t := trace(s)
		t.ask(plain.Append(nil), c.Shim, true)
		t.ask(plain.Append(nil), c.Shim, false)
		add(t.test(lawful["TestRunSaysTheSame"], "TestRunSaysTheSame", "Trace"))
		if other, changed := speller.Respell(r, speller.Normal(plain)); len(changed) > 0 {
			add(respelled(s, plain.Append(nil), other.Append(nil), c.Shim))
		}
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

// respelled is a request and then another spelling of it, which finds the hold of the first, or has its hash. It is nil where one is
// refused.
func respelled(s *subject, body, other []byte, shim bool) *candidate {
	t := trace(s)
	if !quotable(body) || !quotable(other) {
		return nil
	}
	first := t.ask(body, shim, false).Status
	second := t.ask(other, shim, false).Status
	if first != second || first != oracle.Allowed && first != oracle.Pending {
		return nil
	}
	if first == oracle.Pending {
		t.resolve(oracle.Allowed)
		if t.ask(other, shim, false).Status != oracle.Allowed {
			return nil // by a limit, which is counted at the approval
		}
	}
	return t.test(lawful["ClaimsOfSpellings"], "ClaimsOfSpellings", "Trace")
}

// deniedParts are transfers to an address of which a policy denies a part, each in several cases.
func deniedParts() (all []*candidate) {
	for seed := range int64(enough) {
		r := gen.NewRand(seed)
		address := strings.TrimPrefix(strings.ToLower(gen.AnyAddress(r)), "0x")
		start := r.N(12)
		part := address[start : start+8+r.N(12)]
		for _, part := range []string{part, strings.ToUpper(part)} {
			s, ok := newSubject(seed, &gen.Policy{}, "version: 2.4.0\n## custom\ndeny_string: \""+part+"\"\n## evm\nallowed_actions: wallet.transfer\nallowed_chains: 1\nmax_transaction_eth: 1\n")
			for _, spelled := range []string{address, strings.ToUpper(address), evmaddr.Checksum("0x" + address)[2:]} {
				if ok {
					body := strings.Replace(string(gen.Transfer("0x"+address).Append(nil)), address, spelled, 1)
					all = append(all, single(s, []byte(body), false, "DeniedParts"))
				}
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
			all = append(all, t.test(lawful["HigherLimits"], "HigherLimits", "Trace"))
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
			all = append(all, t.test(lawful["UsageParts"], "UsageParts", "Trace"))
		}
	}
	return all
}
