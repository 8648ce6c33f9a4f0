package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/vm"
)

// A policy of two hundred lines that has every section, and intents of every kind under it.
const (
	allSections    = "testdata/sections.md"
	sectionIntents = "testdata/sections.json"
)

// A sectionCase is one intent under the policy of all sections.
type sectionCase struct {
	Name, Want, Rule string
	Intent           map[string]any
	body             []byte
}

// sectionCases are the intents, all from a shim and all with what every intent needs under that policy.
func sectionCases(tb testing.TB) (cases []sectionCase) {
	tb.Helper()
	if err := json.Unmarshal(read(tb, sectionIntents), &cases); err != nil {
		tb.Fatal(err)
	}
	for i := range cases {
		in := cases[i].Intent
		in["task_id"] = "task_0192f0c4"
		in["metadata"].(map[string]any)["model_usage"] = map[string]any{
			"provider": "x", "model": "large-1", "total_tokens": 1500, "estimated_spend_usd": "0.0123",
		}
		top := map[string]any{
			"framework": "agent-hooks", "agentId": "shop-3", "intent": in,
			"txCommit": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		}
		if in["amount"] != nil {
			top["chainId"] = 8453
		}
		cases[i].body, _ = json.Marshal(top) // it was JSON before
	}
	return cases
}

// sections is the compiled policy, and how it takes its fields from an intent.
func sections(tb testing.TB) (*vm.Program, *intent.Binding) {
	tb.Helper()
	result, found := compiler.Compile(grammar.NewSource(allSections, read(tb, allSections)))
	if result.Program == nil || found.HasErrors() {
		tb.Fatalf("the policy of all sections does not compile: %v", found)
	}
	binding, err := intent.NewBinding(result.Program.Fields(), result.Program.Tokens())
	if err != nil {
		tb.Fatal(err)
	}
	return result.Program, binding
}

// sectionBodies decode, fill and judge each intent, and beside them derive what that takes.
func sectionBodies(tb testing.TB) (bodies []body) {
	for _, c := range sectionCases(tb) {
		bodies = append(bodies,
			body{"run/" + c.Name, func(tb testing.TB) func() error { return c.run(tb, vm.First) }},
			body{"run-all/" + c.Name, func(tb testing.TB) func() error { return c.run(tb, vm.All) }},
			body{"fill/" + c.Name, c.fill},
			body{"decode/" + c.Name, func(testing.TB) func() error {
				decoder := intent.NewDecoder(intent.Options{})
				return func() error {
					_, err := decoder.Decode(c.body)
					return err
				}
			}})
	}
	return append(bodies, body{"by-hand/native-transfer", transferByHand})
}

// run judges the intent from its frame.
func (c *sectionCase) run(tb testing.TB, mode vm.Mode) func() error {
	program, binding := sections(tb)
	in := decoded(tb, string(c.body))
	frame, machine := make([]vm.Value, len(program.Fields())), new(vm.Machine)
	binding.Fill(in, intent.Shim, program.Needs(in.ActionLower()), frame)
	return func() error { return c.check(program, machine.Run(program, frame, mode)) }
}

// check says what is wrong with an answer.
func (c *sectionCase) check(program *vm.Program, got *vm.Result) error {
	if got.Status.String() != c.Want {
		return fmt.Errorf("%s: the machine says %v by %s, not %s", c.Name, got.Status, ruleOf(program, got), c.Want)
	}
	if len(got.Violations) > 0 && program.Rule(got.Violations[0].Rule).Name != c.Rule {
		return fmt.Errorf("%s: denied by %s, not by %s", c.Name, ruleOf(program, got), c.Rule)
	}
	return nil
}

func ruleOf(program *vm.Program, got *vm.Result) string {
	if len(got.Violations) == 0 {
		return "no rule"
	}
	return program.Rule(got.Violations[0].Rule).Name
}

// fill takes the frame from a decoded intent. What a decoder has derived it keeps, so that the intent is decoded anew
// each time; the figure of decode/ has to be taken off.
func (c *sectionCase) fill(tb testing.TB) func() error {
	program, binding := sections(tb)
	decoder, frame := intent.NewDecoder(intent.Options{}), make([]vm.Value, len(program.Fields()))
	return func() error {
		in, err := decoder.Decode(c.body)
		if err == nil {
			binding.Fill(in, intent.Shim, program.Needs(in.ActionLower()), frame)
		}
		return err
	}
}

// BenchmarkSections is every kind of intent under the policy of all sections. The target of run/: under 500 ns, and no
// allocations. fill/ includes decode/.
func BenchmarkSections(b *testing.B) { run(b, sectionBodies(b)) }

func TestSectionsAreTwoHundredLines(t *testing.T) {
	text := read(t, allSections)
	if lines := bytes.Count(text, []byte("\n")); lines != 200 {
		t.Errorf("%s has %d lines", allSections, lines)
	}
	for _, section := range compiler.Sections() {
		if !bytes.Contains(text, []byte("\n## "+section.Name+"\n")) {
			t.Errorf("%s lacks section %s", allSections, section.Name)
		}
	}
}

// TestSectionsAllocateNothing holds that judging allocates nothing, whatever the intent.
func TestSectionsAllocateNothing(t *testing.T) {
	for _, c := range sectionCases(t) {
		step := c.run(t, vm.First)
		if got := testing.AllocsPerRun(100, func() { _ = step() }); got != 0 {
			t.Errorf("%s: %v allocations", c.Name, got)
		}
	}
}
