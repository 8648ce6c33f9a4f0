package decision

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"bailiff/compiler"
	"bailiff/fuzz/kit/page"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
	"bailiff/vm/errcode"
)

// An example is what one rule answers by one code.
type example struct {
	rule    string // the row of the compiler's table
	code    errcode.Code
	message string
	details Details
}

// gallery collects examples from policies and intents.
type gallery struct {
	t        *testing.T
	source   string
	sim      *Simulation
	now      time.Time
	examples map[string]example // by rule and code
	problems []string
	checked  map[string]int // how often each part of details was held to what it says
}

func (g *gallery) bad(format string, args ...any) {
	g.problems = append(g.problems, fmt.Sprintf(format, args...))
}

// policy begins with another policy; one that does not compile is passed over.
func (g *gallery) policy(text string) {
	if g.sim != nil {
		_ = g.sim.Close()
		g.sim = nil
	}
	g.source = text
	compiled, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(text)))
	if err != nil {
		return
	}
	if g.sim, err = NewSimulation(compiled, intent.Options{}, func() time.Time { return g.now }); err != nil {
		g.t.Fatal(err)
	}
}

// decide sends one intent: `[shim] [chain] {…}`. It is asked for three times, as a test-run, with an explanation and for
// good, which all have to say the same.
func (g *gallery) decide(line string) {
	if g.sim == nil {
		return
	}
	rest, shim := strings.CutPrefix(strings.TrimSpace(line), "shim ")
	chain, object, named := strings.Cut(rest, " ")
	if strings.HasPrefix(rest, "{") || !named {
		chain, object = "", rest
	} else {
		chain = `"chainId":` + chain + `,`
	}
	body := []byte(`{"framework":"f","agentId":"a","txCommit":"` + strings.Repeat("ab", 32) + `",` + chain + `"intent":` + object + `}`)
	plain, fault := g.sim.Decide(body, shim, Call{TestRun: true})
	if fault != nil {
		return
	}
	explained, _ := g.sim.Decide(body, shim, Call{TestRun: true, Explain: true})
	real, _ := g.sim.Decide(body, shim, Call{Explain: true})
	for _, other := range []*Answer{explained, real} {
		if !bytes.Equal(plain.Message, other.Message) || fmt.Sprint(plain.Details) != fmt.Sprint(other.Details) || plain.Status != other.Status {
			g.bad("%s\nis answered %s %s %+v\nand %s %s %+v", body, plain.Status, plain.Message, plain.Details, other.Status, other.Message, other.Details)
		}
	}
	if plain.Code != "" {
		g.add(plain.Rule, plain.Code, string(plain.Message), plain.Details)
	}
	for _, findings := range [][]Finding{real.Explanation.Violations, real.Explanation.Holds} {
		for _, f := range findings {
			g.add(f.Rule, f.Code, f.Message+fmt.Sprintf(" (%s, line %d)", f.Rule, f.Line), f.Details)
		}
	}
}

// add keeps the shortest example of a rule and code that says most, and holds its details to the policy.
func (g *gallery) add(rule string, c errcode.Code, message string, d Details) {
	g.check(rule, c, message, &d)
	row := rowOf(rule)
	id := row + " " + string(c)
	have, known := g.examples[id]
	more := cmp.Or(cmp.Compare(weight(&d), weight(&have.details)), cmp.Compare(len(have.message), len(message)), cmp.Compare(have.message, message))
	if !known || more > 0 {
		g.examples[id] = example{row, c, message, d}
	}
}

// weight is how many parts of details say something.
func weight(d *Details) (n int) {
	for _, says := range []bool{d.Value != "", d.Limit != "", len(d.Allowed) > 0, d.Entry != ""} {
		if says {
			n++
		}
	}
	return n
}

// check holds details to what they say: an amount is above its limit, a value is not among the allowed ones, entries are
// the policy's words, and the line is the rule's.
func (g *gallery) check(rule string, c errcode.Code, message string, d *Details) {
	bad := func(format string, args ...any) {
		g.bad("%s %s: %q, details %+v: %s", rule, c, message, *d, fmt.Sprintf(format, args...))
	}
	lines := strings.Split(g.source, "\n")
	if d.Line < 1 || d.Line > len(lines) {
		bad("there is no such line")
		return
	}
	if !strings.Contains(message, fmt.Sprintf("(%s, line %d)", rule, d.Line)) && c != errcode.HoldDenied {
		bad("the message does not say where the rule is")
	}
	_, key, _ := strings.Cut(rule, ".")
	hasKey := func(line string) bool { return strings.HasPrefix(line, key+":") || strings.HasPrefix(line, key+" ") }
	if slices.ContainsFunc(lines, hasKey) {
		g.checked["line"]++
		if !hasKey(lines[d.Line-1]) && !strings.HasPrefix(lines[d.Line-1], "  ") && !elsewhere[rule] {
			bad("line %d is %q", d.Line, lines[d.Line-1])
		}
	}
	if d.Limit != "" {
		g.checked["limit"]++
		value, ok := new(big.Rat).SetString(d.Value)
		limit, ok2 := new(big.Rat).SetString(d.Limit)
		held := errcode.Lookup(c).Class == errcode.Hold
		if !ok || !ok2 || value.Cmp(limit) < 0 || !held && value.Cmp(limit) == 0 {
			bad("the value is not above the limit")
		}
	}
	if len(d.Allowed) > 0 {
		g.checked["allowed"]++
		if d.Count < len(d.Allowed) || slices.Contains(d.Allowed, d.Value) {
			bad("the value is on the list, or its count is wrong")
		}
	}
	for _, word := range append(slices.Clone(d.Allowed), d.Entry) {
		for _, operator := range []string{"contains ", "starts_with ", "ends_with ", "matches "} {
			word = strings.TrimPrefix(word, operator)
		}
		if !strings.Contains(g.source, strings.TrimSuffix(word, "…")) {
			bad("%q is not in the words of the policy", word)
		}
	}
	if d.Entry != "" {
		g.checked["entry"]++
	}
}

// elsewhere are the rules that also deny for another line than that of their key.
var elsewhere = map[string]bool{
	"evm.allowed_actions": true, "tool_calls.allowed": true, "evm.account_calls": true, "git.allowed_operations": true, "git.actions": true,
	"filesystem.actions": true, "database.actions": true, "repository.roots": true, "evm.max_fee_eth": true,
}

var placeholder = regexp.MustCompile(`<[^>]+>`)

// rowOf returns the rule of the compiler's table that a rule is an instance of.
func rowOf(rule string) string {
	for _, row := range compiler.Schema() {
		pattern := "^" + placeholder.ReplaceAllString(strings.ReplaceAll(row.Rule, ".", `\.`), ".+") + "$"
		if row.Rule != "" && regexp.MustCompile(pattern).MatchString(rule) {
			return row.Rule
		}
	}
	return rule
}

// goldenGallery decides every intent of the compiler's golden files, and those of testdata/answers.
func goldenGallery(t *testing.T) *gallery {
	g := &gallery{t: t, now: time.Date(2026, 11, 21, 12, 30, 0, 0, time.UTC), examples: map[string]example{}, checked: map[string]int{}}
	files, _ := filepath.Glob("../../compiler/testdata/golden/*")
	for _, file := range append(files, "answers.txt") {
		datadriven.RunTest(t, file, func(_ *testing.T, td *datadriven.TestData) string {
			switch td.Cmd {
			case "policy":
				g.policy(td.Input + "\n")
			case "decide":
				for line := range strings.Lines(td.Input) {
					g.decide(line)
				}
			}
			return td.Expected
		})
	}
	if g.sim != nil {
		_ = g.sim.Close()
	}
	return g
}

// unanswered are the codes that rules only give where a store fails or an operator has decided.
var unanswered = []errcode.Code{errcode.HoldDenied}

// TestAnswers: every rule of the format has an example of each of its codes, whose message and details say where it is and
// what it is about, and docs/answers.md shows them.
func TestAnswers(t *testing.T) {
	g := goldenGallery(t)
	for _, problem := range g.problems[:min(len(g.problems), 20)] {
		t.Error(problem)
	}
	for _, row := range compiler.Schema() {
		for _, c := range row.AllCodes() {
			if _, known := g.examples[row.Rule+" "+string(c)]; !known && !slices.Contains(unanswered, c) {
				t.Errorf("no example answers %s with %s", row.Rule, c)
			}
		}
	}
	for part, least := range map[string]int{"line": 500, "limit": 50, "allowed": 100, "entry": 100} {
		if g.checked[part] < least {
			t.Errorf("%d details have shown their %s", g.checked[part], part)
		}
	}
	page.Whole(t, "../../docs/answers.md", "go test ./runtime/decision -run TestAnswers -rewrite", answersPage(g))
}

func answersPage(g *gallery) string {
	var page strings.Builder
	page.WriteString("# Answers\n\nFind the rule that `matched_rule` names to see what its denials look like: the message and, in parentheses, " +
		"what `details` says beside the line. The examples are real decisions; the page is generated (see CONTRIBUTING.md).\n")
	examples := make([]example, 0, len(g.examples))
	for _, e := range g.examples {
		examples = append(examples, e)
	}
	slices.SortFunc(examples, func(a, b example) int { return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.code, b.code)) })
	rule := ""
	for _, e := range examples {
		if e.rule != rule {
			rule = e.rule
			fmt.Fprintf(&page, "\n## `%s`\n\n", rule)
		}
		fmt.Fprintf(&page, "- `%s`: %s\n", e.code, e.message)
		var parts []string
		for _, part := range []struct{ name, text string }{
			{"value", e.details.Value}, {"limit", e.details.Limit}, {"allowed", strings.Join(e.details.Allowed, ", ")}, {"entry", e.details.Entry},
		} {
			if part.text != "" {
				parts = append(parts, fmt.Sprintf("%s `%s`", part.name, strings.ReplaceAll(part.text, "`", "'")))
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(&page, "  (%s)\n", strings.Join(parts, ", "))
		}
	}
	return page.String()
}

// TestHints: what was probably meant is in the message, and nothing where nothing is near.
func TestHints(t *testing.T) {
	s := newStory(t, "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 0.5\n"+
		"token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\n## tool_calls\nallowed: bash, deploy.app\n")
	for _, c := range []struct{ intent, want, without string }{
		{`{"action":"transfer"}`, "no such EVM action; did you mean wallet.transfer?", ""},
		{`{"action":"transfer","amount":"0.1"}`, `"transfer" is not an EVM action; did you mean wallet.transfer?`, "leave it out"},
		{`{"action":"walletTransfer"}`, "did you mean wallet.transfer?", ""},
		{`{"action":"contract_call","amount":"0"}`, "did you mean contract.call?", ""},
		{`{"action":"eth_send","amount":"0.1"}`, `"eth_send" is not an EVM action; leave it out, or send one of wallet.transfer, contract.call`, "did you mean"},
		{`{"action":"bsh"}`, "did you mean bash?", "EVM"},
		{`{"action":"read_calendar"}`, "allowed: bash, deploy.app", "did you mean"},
		{`{"action":"token.approve","amount":"1","token":"USDC"}`, "allowed: wallet.transfer", "did you mean"},
		{`{"action":"wallet.transfer","amount":"600000000000000000"}`, `that looks like wei: for 0.6 ETH send "0.6", or amount_unit "base"`, ""},
		{`{"action":"wallet.transfer","amount":"300000000","token":"USDC"}`, `that looks like base units: for 300 USDC send "300"`, ""},
		{`{"action":"wallet.transfer","amount":"251","token":"USDC"}`, "251 USDC is above the limit of 250 USDC (evm.token.USDC.max_transaction, line 7)", "looks like"},
		{`{"action":"wallet.transfer","amount":"600000000000000000","amount_unit":"base"}`, "0.6 ETH is above the limit of 0.5 ETH (evm.max_transaction_eth, line 5)", "looks like"},
		{`{"action":"wallet.transfer","amount":"1,5"}`, `"1,5" is not a number; write an amount such as 0.1`, ""},
		{`{"action":"wallet.transfer","amount":"0.5000001","token":"USDC"}`, `"0.5000001" has 7 fraction digits; at most 6 are allowed`, ""},
	} {
		answer, fault := s.Decide(requestOf(c.intent), false, Call{TestRun: true})
		var message string
		if fault != nil {
			message = fault.Message
		} else {
			message = string(answer.Message)
		}
		if !strings.Contains(message, c.want) || c.without != "" && strings.Contains(message, c.without) {
			t.Errorf("%s is answered %q; want %q, without %q", c.intent, message, c.want, c.without)
		}
	}
	_, fault := s.Decide(requestOf(`{"action":"bash","targetAddress":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913","amount":"1","calldata":"0x"}`), false, Call{})
	if fault == nil || len(fault.Faults) != 3 || fault.Faults[1].Field != "amount" || fault.Faults[2].Field != "calldata" {
		t.Errorf("three fields that a tool intent may not have are answered with %+v", fault)
	}
}

// TestDetailsBounded: of a long list the first ten entries and their number are shown, of long texts the beginning.
func TestDetailsBounded(t *testing.T) {
	entries := make([]string, 300)
	for i := range entries {
		entries[i] = fmt.Sprintf("desk-%d-%s", i, strings.Repeat("é", 100))
	}
	s := newStory(t, "version: 2.0.0\n## custom\nallow_only.metadata.desk: "+strings.Join(entries, ", ")+"\n")
	answer, fault := s.Decide(requestOf(`{"action":"x","metadata":{"desk":"`+strings.Repeat("ü", 3000)+`"}}`), false, Call{TestRun: true})
	if fault != nil {
		t.Fatal(fault)
	}
	d := answer.Details
	if len(d.Allowed) != 10 || d.Count != 300 || len(d.Value) > 256 || !strings.HasPrefix(d.Value, "üü") || len(answer.Message) > 1500 {
		t.Errorf("%d of %d entries, %d bytes of the value, a message of %d", len(d.Allowed), d.Count, len(d.Value), len(answer.Message))
	}
	for _, text := range d.Allowed {
		if len(text) > 64 || !strings.HasPrefix(text, "desk-") || !strings.HasSuffix(text, "é…") {
			t.Errorf("an entry is shown as %q", text)
		}
	}
	if !strings.Contains(string(answer.Message), " and 290 more (custom.allow_only.metadata.desk, line 3)") {
		t.Errorf("the message is %q", answer.Message)
	}
}

// TestDetailsAfterDeployment: the line and the words are those of the policy that decided, after a deployment, and after its
// program was loaded from the ledger.
func TestDetailsAfterDeployment(t *testing.T) {
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	for _, c := range []struct {
		policy string
		line   int
		list   string
	}{
		{"version: 2.0.0\n## tool_calls\nallowed: Bash, git\n", 3, "[Bash git]"},
		{"version: 2.0.0\n\n# more\n\n## tool_calls\nallowed: make\n", 6, "[make]"},
	} {
		view := h.mustDeploy(secret, by, c.policy)
		for _, reload := range []bool{false, true} {
			if reload {
				h.DropUnused(h.Clock().Add(2 * policies.KeptUnused))
			}
			answer, fault := h.ask(h.key(secret), `{"action":"curl"}`)
			if fault != nil {
				t.Fatal(fault)
			}
			if d := answer.Details; d.Line != c.line || fmt.Sprint(d.Allowed) != c.list || answer.PolicyHash != view.PolicyHash {
				t.Errorf("under %q the details are %+v", c.policy, d)
			}
		}
	}
}
