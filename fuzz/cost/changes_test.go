package cost

// changes are one of each kind: a policy key of a kind that exists, a section, an event of the ledger, an error code, and a field of
// requests.
var changes = []change{
	{
		name: "a policy key", production: 1, documents: 1, fuzz: 2,
		edits: []edit{
			{"compiler/sections/limits.go", "CallsPerHour  *frame.Count", "\tCallsPerDay   *frame.Count\n"},
			{"compiler/sections/limits.go", `Example: "max_tool_calls_per_hour: 1000"})`, `
	keyPerDay = frame.NewKey(frame.Counts, func(s *ExecutionLimits) **frame.Count { return &s.CallsPerDay }, frame.Key{Name: "max_tool_calls_per_day", Unit: "tool calls", Since: frame.V24,
		Code:    errcode.LoopLimitExceeded,
		Doc:     "How many tool and MCP calls the key may make in one day (UTC).",
		Example: "max_tool_calls_per_day: 9000"})
`},
			{"compiler/sections/limits.go", "var ExecutionLimitsSection = frame.NewSection[ExecutionLimits](", "\tkeyPerDay,\n"},
			{"compiler/sections/limits.go", "func (l *ExecutionLimits) Limits() bool {", "\tif l != nil && l.CallsPerDay != nil {\n\t\treturn true\n\t}\n"},
			{"compiler/sections/limits.go", "func (l *ExecutionLimits) Counters(", `	if l.CallsPerDay != nil {
		steps = append(steps, frame.Only(func() {
			e.At(l.CallsPerDay.Span)
			e.ReserveBy(frame.CounterOf(keyPerDay, vm.Day, amount.FromUint64(l.CallsPerDay.N)), keyPerDay.Code, "the tool calls of this day reach the limit")
		}, vm.Tool, vm.MCP))
	}
`},
			{"docs/specification.md", "2. `## execution_limits`: `max_tool_calls_per_task` and `max_tool_calls_per_hour` count", "   `max_tool_calls_per_day` does so by the day.\n"},
			{"fuzz/gen/policy_limits.go", `b.maybeCount(s, "max_tool_calls_per_hour")`, `	if b.from(2, 4) {
		b.maybeCount(s, "max_tool_calls_per_day")
	}
`},
			{"fuzz/oracle/limits.go", "func (j *judgement) toolCallLimits() {", `	const perDay = "execution_limits.max_tool_calls_per_day"
	if limit := j.p.execution.number("max_tool_calls_per_day", 0); limit != nil {
		j.reserve(Reservation{perDay, day, "", count, big.NewInt(1), limit, string(errcode.LoopLimitExceeded), perDay})
	}
`},
		},
		tests: []string{"test ./compiler/... ./fuzz/oracle ./fuzz/gen", "test . -skip ^TestPackagesAreSmall$", "test ./fuzz/differential -run TestDifferential -pairs 200000"},
	},
	{
		name: "a section", production: 4, fuzz: 4,
		edits: []edit{
			{"grammar/sections.go", "var sectionNames = []string{", "\t\"planted\",\n"},
			{"compiler/policy.go", "ExecutionLimits *sections.ExecutionLimits", "\tPlanted         *sections.Planted\n"},
			{"compiler/policy.go", "ExecutionLimits: frame.Part[sections.ExecutionLimits](parts),", "\t\tPlanted:         frame.Part[sections.Planted](parts),\n"},
			{"compiler/sections.go", "sections.SoftLimitsSection, sections.ExecutionLimitsSection,", "\tsections.PlantedSection,\n"},
			{"compiler/sections.go", "var countingSections = []*frame.Section{", "\tsections.PlantedSection,\n"},
			{"compiler/sections/planted.go", "", `package sections

import (
	"bailiff/compiler/frame"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// Planted is the section planted.
type Planted struct {
	frame.Heading
	CallsPerDay *frame.Count
}

var keyPlanted = frame.NewKey(frame.Counts, func(s *Planted) **frame.Count { return &s.CallsPerDay }, frame.Key{Name: "max_calls_per_day", Unit: "tool calls",
	Code:    errcode.LoopLimitExceeded,
	Doc:     "How many tool and MCP calls the key may make in one day (UTC).",
	Example: "max_calls_per_day: 1000"})

// PlantedSection is the row of the section.
var PlantedSection = frame.NewSection[Planted]("planted", frame.V24, "A section that is planted.",
	keyPlanted)

// Enforces implements frame.Enforcing.
func (p *Planted) Enforces(bool) bool { return p.CallsPerDay != nil }

// Counters implements frame.Counting.
func (p *Planted) Counters(e *frame.Emitter) []frame.Step {
	if p.CallsPerDay == nil {
		return nil
	}
	return []frame.Step{frame.Only(func() {
		e.At(p.CallsPerDay.Span)
		e.ReserveBy(frame.CounterOf(keyPlanted, vm.Day, amount.FromUint64(p.CallsPerDay.N)), keyPlanted.Code, "the tool calls of this day reach the limit")
	}, vm.Tool, vm.MCP)}
}
`},
			{"fuzz/gen/policy.go", "{1, 0, 3, (*builder).addExecutionLimits},", "\t{2, 4, 3, func(b *builder) { b.section(\"planted\").scalar(\"max_calls_per_day\", b.count()) }},\n"},
			{"fuzz/oracle/oracle.go", "evm, tools, mcp, custom, soft, execution *section", "\tplanted *section\n"},
			{"fuzz/oracle/oracle.go", `"database": &p.database,`, "\t\t\"planted\": &p.planted,\n"},
			{"fuzz/oracle/limits.go", "func (j *judgement) toolCallLimits() {", `	const perDay = "planted.max_calls_per_day"
	if limit := j.p.planted.number("max_calls_per_day", 0); limit != nil {
		j.reserve(Reservation{perDay, day, "", count, big.NewInt(1), limit, string(errcode.LoopLimitExceeded), perDay})
	}
`},
		},
		tests: []string{"test ./grammar ./compiler/... ./fuzz/oracle ./fuzz/gen", "test . -skip ^TestPackagesAreSmall$", "test ./fuzz/differential -run TestDifferential -pairs 200000"},
	},
	{
		name: "an event of the ledger", production: 5,
		edits: []edit{
			{"runtime/ledger/kind.go", "PinsChanged       Kind = 32", "\tKeyPlanted        Kind = 46\n"},
			{"runtime/ledger/kind.go", `PinsChanged:       {event: "mcp.pins"},`, "\tKeyPlanted:        {event: \"key.planted\"},\n"},
			{"runtime/ledger/ledger.go", "RevokeKey(ctx context.Context, id ID, at int64) (Key, error)", `
	// PlantKey records that a key is planted.
	PlantKey(ctx context.Context, id ID, at int64) (Key, error)
`},
			{"runtime/ledger/commit/service.go", "return l.stepKey(ctx, id, func(r *state.Record) error { return l.state.RevokeKey(id, at, r) })", `}

// PlantKey implements ledger.Ledger.
func (l *Ledger) PlantKey(ctx context.Context, id ledger.ID, at int64) (ledger.Key, error) {
	return l.stepKey(ctx, id, func(r *state.Record) error { return l.state.PlantKey(id, at, r) })
`},
			{"runtime/ledger/state/kinds.go", "var kinds = [256]kind{", `	ledger.KeyPlanted: {
		forms: []form{{number: 46, about: "planted"}},
		live:  true, apply: (*State).applyPlanted,
	},
`},
			{"runtime/ledger/state/planted.go", "", `package state

import (
	"fmt"

	"bailiff/runtime/ledger"
)

// PlantKey fills in the record that a key is planted, or returns why there is none.
func (s *State) PlantKey(id ledger.ID, at int64, r *Record) error {
	r.reset()
	k := s.keys[id]
	if k == nil {
		return fmt.Errorf("%w: key %s", ledger.ErrNotFound, id)
	}
	r.Kind, r.Key, r.Now = ledger.KeyPlanted, id, max(k.now, at)
	return nil
}

func (s *State) applyPlanted(*keyState, uint64, *Record) error { return nil }
`},
		},
		tests: []string{ // beside those that ask for lines of goldens and for a history that has the event
			"test ./runtime/ledger/... ./runtime/eventjson ./runtime/decision -skip ^(TestGoldenRecords|TestSnapshot)$", "test . -skip ^TestPackagesAreSmall$",
		},
	},
	{
		name: "an error code", production: 1,
		edits: []edit{
			{"vm/errcode/errcode.go", "// The codes of this build.\nvar (", `	Planted = failure(409, "ERROR", "SVC_PLANTED",
		"a planted code",
		"Nothing can be done: the code is planted.", Never)

`},
		},
		tests: []string{"test ./vm/errcode ./cmd/bailiff/policy ./httpd ."}, // TestConformance asks for a test that is answered with it
	},
	{
		name: "a field of requests", production: 1, documents: 1,
		edits: []edit{
			{"vm/slot/field.go", "\tCalldata\n\tMaxFee", "\tPriority\n"},
			{"docs/specification.md", "| `maxFee` | intent | string |", "   | `priority` | intent | string | any text |\n"},
			{"vm/slot/field.go", `MaxFee:        {Name: "maxFee"`, "\tPriority: {Name: \"priority\", Place: Inside, Type: Text, Bound: \"any text\"},\n"},
		},
		tests: []string{"test ./vm/slot ./runtime/intent ./httpd ."},
	},
}
