package compiler

import (
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/fuzz/kit/seed"
	"bailiff/grammar"
	"bailiff/vm"
)

// TestFixes applies the fix of the only finding about a line, and wants a certain line to come of it.
func TestFixes(t *testing.T) {
	for _, test := range []struct{ section, line, want string }{
		{"custom", "deny_if.metadata.a == x", "deny_if.metadata.a equals x"},
		{"custom", "deny_if.metadata.a==x", "deny_if.metadata.a equals x"},
		{"custom", "deny_if.metadata.a:  !=  x", "deny_if.metadata.a:  not_equals x"},
		{"custom", "allow_only.metadata.a ==: x", "allow_only.metadata.a equals: x"},
		{"custom", "deny_if.metadata.a equals “a b”", `deny_if.metadata.a equals "a b"`},
		{"custom", "allow_only.metadata.a: b, ‘c, d’", `allow_only.metadata.a: b, "c, d"`},
		{"custom", "allow_only.metadata.a: b, ‘c\"d, e’", `allow_only.metadata.a: b, 'c"d, e'`},
		{"custom", "deny_if.metadata.a equals ‘'it\"s’", ""},
		{"custom", "deny_if.metadata.a equals 1.50", "deny_if.metadata.a equals 1.5"},
		{"custom", "deny_if.metadata.a equals 1e400", ""},
		{"custom", "deny_if.metadata.a equals a*", ""},
		{"custom", "deny_if.metadata.a equals a, b", ""},
		{"tool_calls", "allowed: WebFetch", "allowed: web_fetch"},
		{"tool_calls", "allow: bash", "allowed: bash"},
		{"tool_calls", "web_fetch.blocked_domains: 10.0.0.0/8", ""},
		{"tool_calls", "web_fetch.blocked_domains: 10.0.0.1/32", "web_fetch.blocked_domains: 10.0.0.1"},
		{"evm", "allowed_actions: wallet.transfr", "allowed_actions: wallet.transfer"},
		{"evm", "consensus_require_hold: YES", "consensus_require_hold: true"},
		{"evm", "consensus_require_hold: maybe", ""},
	} {
		text := "version: 2.0.0\n## " + test.section + "\n" + test.line + "\n"
		_, found := compileText(text)
		got, findings := "", 0
		for _, d := range found {
			if strings.Count(text[:d.Span.Start], "\n") == 2 && !slices.Contains([]grammar.Code{codes.ListUnused, codes.HoldUseless, codes.OpenCalls}, d.Code) {
				findings++
				if d.Fix != nil {
					got = text[:d.Fix.Span.Start] + d.Fix.Replacement + text[d.Fix.Span.End:]
					got = strings.Split(got, "\n")[2]
				}
			}
		}
		if got != test.want || findings != 1 {
			t.Errorf("%s: %d findings, mended %q, want %q", test.line, findings, got, test.want)
		}
	}
}

// TestShortestNumber holds the form in which the compiler expects numbers to the decoder of requests.
func TestShortestNumber(t *testing.T) {
	texts := []string{"0", "-0", "0.0", "1.0", "1e0", "1E+2", "100000000000000000000e-10", "0.000001", "0.0000001", "1.5e-7", "12e-11", "-1.5e-300", "5e-324",
		"9007199254740991", "-9007199254740991", "9007199254740992", "1e21", "1e400", "0.1", "4503599627370495.5"}
	r := rand.New(rand.NewSource(seed.Value(t)))
	for range 2000 {
		value := (r.Float64() - 0.5) * float64(int64(1)<<r.Intn(53))
		texts = append(texts, strconv.FormatFloat(value, "feE"[r.Intn(3)], -1, 64), strconv.FormatFloat(value*1e-9, 'e', r.Intn(6), 64))
	}
	judged := 0
	for _, text := range texts {
		want := ""
		if in, from, err := readIntent(`{"action":"a","metadata":{"n":` + text + `}}`); err == nil {
			v, err := in.Value("metadata.n", from)
			if err != nil || v.Kind != vm.Number {
				t.Fatalf("%s is read as %v (%v)", text, v, err)
			}
			want = v.Text
			judged++
		}
		if got := frame.ShortestNumber(text); got != want {
			t.Errorf("the compiler expects %s as %q, the decoder gives %q", text, got, want)
		}
	}
	if judged < 1000 {
		t.Errorf("only %d numbers can stand in a request", judged)
	}
}

// TestRefusalsShowTheAction makes sure that a denial for want of a section shows the action, whatever was looked at
// before.
func TestRefusalsShowTheAction(t *testing.T) {
	const evm = "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\n"
	const tools = "version: 2.0.0\n## tool_calls\nallowed: bash\n"
	for _, test := range []struct{ policy, line string }{
		{evm, `{"action":"deploy"}`},
		{evm, `1 {"action":"deploy"}`},
		{evm, `{"action":"mcp.a.b"}`},
		{evm, `1 {"action":"mcp.a.b"}`},
		{tools, `1 {"action":"wallet.transfer"}`},
		{tools, `{"action":"mcp.a.b"}`},
		{tools, `{"action":"deploy"}`},
	} {
		compiled, _ := compileLinted(grammar.NewSource("policy", []byte(test.policy)))
		in, from, err := readIntent(test.line)
		if err != nil {
			t.Fatal(err)
		}
		var machine vm.Machine
		result := machine.Run(compiled.Program, bind(t, compiled.Program, in, from), vm.First)
		if len(result.Violations) != 1 || compiled.Program.Fields()[result.Violations[0].Slot] != frame.SlotAction {
			t.Errorf("%s: %s does not show the action", test.line, show(compiled.Program, result))
		}
	}
}
