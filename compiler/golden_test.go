package compiler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/vm"
)

// The golden files tell the whole pipeline: a policy, what it is with types, what the machine is given, and what
// it says of a table of intents.
//
//	policy [typed] [listing]   the policy; answers with its findings and, if asked, its types and its program
//	decide                     one intent a line: [shim] [chain] {…}; answers with each decision
//
// A decision is that of mode first; behind it, in brackets, what mode all adds.

// story is one golden file on its way: the policy that its decisions are about.
type story struct{ compiled *Compiled }

func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		var s story
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			return s.run(t, td)
		})
	})
}

func (s *story) run(t *testing.T, td *datadriven.TestData) string {
	switch td.Cmd {
	case "policy":
		return s.policy(td)
	case "decide":
		var b strings.Builder
		for line := range strings.Lines(td.Input) {
			b.WriteString(strings.TrimSpace(line) + "\n    " + s.decide(t, strings.TrimSpace(line)) + "\n")
		}
		return b.String()
	}
	t.Fatalf("%s: unknown command %q", td.Pos, td.Cmd)
	return ""
}

func (s *story) policy(td *datadriven.TestData) string {
	src := grammar.NewSource("policy", []byte(td.Input+"\n"))
	compiled, found := compileLinted(src)
	s.compiled = compiled
	var b strings.Builder
	_ = src.RenderAll(&b, found)
	if td.HasArg("typed") {
		b.WriteString(dump(compiled.Policy))
	}
	if compiled.Program != nil && td.HasArg("listing") {
		b.WriteString(listing(compiled))
	}
	if b.Len() == 0 {
		return "ok\n"
	}
	return b.String()
}

// listing returns the instructions of a program, without what depends on the machine's encoding.
func listing(c *Compiled) string {
	text := c.Program.Listing(strings.SplitAfter(string(c.Source.Text), "\n"))
	_, instructions, _ := strings.Cut(text, "of the request\n")
	return strings.TrimPrefix(strings.ReplaceAll(instructions, "SVC_POLICY_VIOLATION_", "…"), "\n")
}

// decide runs the program over one intent, in both modes.
func (s *story) decide(t *testing.T, line string) string {
	t.Helper()
	if s.compiled == nil || s.compiled.Program == nil {
		t.Fatalf("there is no program to judge %s", line)
	}
	in, from, err := readIntent(line)
	if err != nil {
		return "400 " + err.Error()
	}
	frame := bind(t, s.compiled.Program, in, from)
	var machine vm.Machine
	first := show(s.compiled.Program, machine.Run(s.compiled.Program, frame, vm.First))
	all := show(s.compiled.Program, machine.Run(s.compiled.Program, frame, vm.All))
	if all == first {
		return first
	}
	return first + "\n    [" + strings.ReplaceAll(all, "\n", "\n     ") + "]"
}

// envelope is what every request has around its intent.
const envelope = `{"framework":"f","agentId":"a","txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",%s"intent":%s}`

// readIntent reads a line of the table through the decoder of requests.
func readIntent(line string) (*intent.Intent, intent.Provenance, error) {
	from := intent.Agent
	if rest, ok := strings.CutPrefix(line, "shim "); ok {
		from, line = intent.Shim, rest
	}
	chain := ""
	if number, rest, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "{") {
		chain, line = `"chainId":`+number+`,`, rest
	}
	in, err := intent.NewDecoder(intent.Options{}).Decode(fmt.Appendf(nil, envelope, chain, line))
	return in, from, err
}

// bind fills the frame of a program as the service does: only what the program needs for this action.
func bind(t testing.TB, p *vm.Program, in *intent.Intent, from intent.Provenance) []vm.Value {
	t.Helper()
	binding, err := intent.NewBinding(p.Fields(), p.Tokens())
	if err != nil {
		t.Fatalf("the program asks for what no request has: %v", err)
	}
	frame := make([]vm.Value, len(p.Fields()))
	binding.Fill(in, from, p.Needs(in.ActionLower()), frame)
	return frame
}

// firstRule returns the verdict in a few words: allowed, pending and its rule, or denied with rule and code.
func firstRule(p *vm.Program, frame []vm.Value) string {
	var machine vm.Machine
	result := machine.Run(p, frame, vm.First)
	switch result.Status {
	case vm.Denied, vm.Rejected:
		rule := p.Rule(result.Violations[0].Rule)
		return result.Status.String() + " " + rule.Name + " " + shortCode(rule.Code)
	case vm.Pending:
		return "pending " + p.Rule(result.Holds[0]).Name
	}
	return "allowed"
}

func shortCode(code string) string {
	return strings.TrimPrefix(strings.TrimPrefix(code, "SVC_POLICY_VIOLATION_"), "SVC_")
}

// show returns all that a result says.
func show(p *vm.Program, r *vm.Result) string {
	parts := []string{r.Status.String() + " " + r.Class.String()}
	for _, v := range r.Violations {
		rule := p.Rule(v.Rule)
		where := ""
		if v.Element != vm.NoElement {
			where = fmt.Sprintf(" (%s, element %d)", p.Fields()[v.Slot], v.Element)
		}
		parts = append(parts, rule.Name+" "+shortCode(rule.Code)+where+": "+rule.Message)
	}
	for _, hold := range r.Holds {
		parts = append(parts, "hold "+p.Rule(hold).Name+": "+p.Rule(hold).Message)
	}
	for _, note := range r.Notes {
		parts = append(parts, "note "+p.Rule(note).Name+": "+p.Rule(note).Message)
	}
	for _, reservation := range r.Reservations {
		parts = append(parts, "reserve "+p.Counter(reservation.Counter).Name)
	}
	return strings.Join(parts, "\n      ")
}
