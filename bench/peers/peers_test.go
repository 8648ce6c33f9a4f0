package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/vm"
)

// answer asks an engine about one request.
func answer(t *testing.T, e engine, r request) bool {
	t.Helper()
	judge, err := e.compile()
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	ask, err := judge(r)
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	yes, err := ask()
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	return yes
}

// TestSameAnswers holds that all engines answer alike, and that each rule denies in each of them.
func TestSameAnswers(t *testing.T) {
	for _, r := range requests {
		for _, e := range engines {
			if got, want := answer(t, e, r), r.rule == ""; got != want {
				t.Errorf("%s: rule %q: allowed is %v", e.name, r.rule, got)
			}
		}
	}
}

// TestExactness shows which engines see a wei above five ether.
func TestExactness(t *testing.T) {
	for _, e := range engines {
		if got := answer(t, e, oneWei); got == e.exact {
			t.Errorf("%s: 5.000000000000000001 against 5 is allowed: %v", e.name, got)
		}
	}
}

// TestSixtyFourBits shows what lies beyond the integers of expr and cel-go: ten ether can't be asked about.
func TestSixtyFourBits(t *testing.T) {
	f := &Fields{NativeText: "10", AmountText: "1"}
	if _, err := exprEnv(f); err == nil {
		t.Error("expr takes ten ether in base units")
	}
	if _, err := celInput(f); err == nil {
		t.Error("cel-go takes ten ether in base units")
	}
	f.NativeText = "9.2"
	if _, err := exprEnv(f); err != nil {
		t.Error(err)
	}
}

// TestRules holds that Bailiff's policy denies each request by the rule that is meant, and so that all ten are there.
func TestRules(t *testing.T) {
	program, err := compilePolicy("policy/ten.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		frame, err := frameOf(program, r.body)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		if found := new(vm.Machine).Run(program, frame, vm.First).Violations; len(found) > 0 {
			name = program.Rule(found[0].Rule).Name
		}
		if name != r.matched {
			t.Errorf("rule %q: denied by %q, not by %q", r.rule, name, r.matched)
		}
	}
}

// TestKinds holds the answers of the policy in sections, and that they allocate nothing.
func TestKinds(t *testing.T) {
	questions, err := kindQuestions()
	if err != nil {
		t.Fatal(err)
	}
	for i, ask := range questions {
		if got, err := ask(); err != nil || got != (kinds[i].env == "staging") {
			t.Errorf("%s: allowed is %v, %v", kinds[i].name, got, err)
		}
		if n := testing.AllocsPerRun(20, func() { _, _ = ask() }); n != 0 {
			t.Errorf("%s: %v allocations", kinds[i].name, n)
		}
	}
}

// TestInsert replaces the text between the marks and nothing else, and refuses a file without them.
func TestInsert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.md")
	for _, c := range []struct{ before, after string }{
		{"a\n<!-- peers -->\nold\n<!-- /peers -->\nb\n", "a\n<!-- peers -->\nnew\n<!-- /peers -->\nb\n"},
		{"a\n<!-- /peers -->\n<!-- peers -->\n", ""},
		{"a\n", ""},
	} {
		if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		err := insert(path, "new\n")
		got, _ := os.ReadFile(path)
		if (err != nil) != (c.after == "") || err == nil && string(got) != c.after {
			t.Errorf("%q became %q, %v", c.before, got, err)
		}
	}
}

// TestTables holds how figures become rows and ratios.
func TestTables(t *testing.T) {
	rows := make([]row, 0, len(engines))
	for i, e := range engines {
		f := figure{rounds: []float64{float64(100 * (i + 1)), float64(200 * (i + 1))}}
		rows = append(rows, row{e.name, f, f, f})
	}
	text := tables(rows, nil)
	for _, want := range []string{"| Casbin | 1800 | 1800 | 0 | 1.8 | 9.0 | 2.2 |", "| OPA, prepared query | 2000 | 2000 | 0 | 2.0 | 10 | 2.5 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the tables lack %s:\n%s", want, text)
		}
	}
}

// BenchmarkEngines measures each engine by itself; the command measures them side by side.
func BenchmarkEngines(b *testing.B) {
	c, err := contestants(1)
	if err != nil {
		b.Fatal(err)
	}
	for i, body := range c.bodies {
		b.Run(c.names[i]+"/"+[...]string{"allowed", "denied", "compile"}[i%3], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := body(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
