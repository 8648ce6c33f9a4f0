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
			{"compiler/testdata/golden/planted", "", `policy
version: 2.4.0
## tool_calls
allowed: bash
## execution_limits
max_tool_calls_per_day: 1
----

decide
{"action":"bash"}
{"action":"bash"}
----
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
		// TestRevision asks for the hash of what the generator's first policy compiles to then.
		tests: []string{"test ./compiler/... ./fuzz/oracle ./fuzz/gen -skip ^TestRevision$", "test . -skip ^TestPackagesAreSmall$", "test ./fuzz/differential -run TestDifferential -pairs 200000"},
	},
	{
		name: "a section", production: 4, documents: 1, fuzz: 2,
		edits: []edit{
			{"grammar/sections.go", "var sectionNames = []string{", "\t\"planted\",\n"},
			{"compiler/sections.go", "sections.SoftLimitsSection, sections.ExecutionLimitsSection,", "\tsections.PlantedSection,\n"},
			{"compiler/emit.go", "steps = append(steps, frame.Step{Of: func(class vm.Class) { emitSection(e, class) }", `	if planted := frame.Part[sections.Planted](e.Parts); planted != nil {
		steps = append(steps, frame.Step{Shared: func() { planted.Judge(e) }})
	}
`},
			{"compiler/sections/planted.go", "", `package sections

import (
	"bailiff/compiler/frame"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/slot/derived"
)

// Planted is the section planted.
type Planted struct {
	frame.Heading
	Blocked *frame.List
}

var keyPlanted = frame.NewKey(exactActions, func(s *Planted) **frame.List { return &s.Blocked }, frame.Key{Name: "blocked_actions",
	Code:    errcode.ToolCallNotAllowed,
	Doc:     "The actions that are denied, whatever allows them; exact.",
	Example: "blocked_actions: bash, contract.call"})

// PlantedSection is the row of the section.
var PlantedSection = frame.NewSection[Planted]("planted", frame.V24, "A section that is planted.",
	keyPlanted)

// Enforces implements frame.Enforcing.
func (p *Planted) Enforces(bool) bool { return p.Blocked != nil }

// Judge denies the actions of the list.
func (p *Planted) Judge(e *frame.Emitter) {
	if p.Blocked == nil {
		return
	}
	next := e.NewLabel()
	e.Blocking(p.Blocked)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.Lowered(p.Blocked), next)
	e.DenyBy(keyPlanted.Rule, keyPlanted.Code, "the action is on planted.blocked_actions", e.Value(frame.SlotAction), next)
	e.Place(next)
}
`},
			{"compiler/testdata/golden/planted", "", `policy
version: 2.4.0
## tool_calls
allowed: bash, deploy
## planted
blocked_actions: deploy
----

decide
{"action":"deploy"}
----
`},
			{"docs/specification.md", "4. `## deployment` (2.4) has `keys`, a list of key ids or `*`,", "   `## planted` has `blocked_actions`, which are denied.\n"},
			{"fuzz/gen/policy.go", "{1, 0, 3, (*builder).addExecutionLimits},", "\t{2, 4, 3, func(b *builder) { b.section(\"planted\").list(\"blocked_actions\", b.r.Some(3, toolActions...)) }},\n"},
			{"fuzz/oracle/oracle.go", "evm, tools, mcp, custom, soft, execution *section", "\tplanted *section\n"},
			{"fuzz/oracle/oracle.go", `"database": &p.database,`, "\t\t\"planted\": &p.planted,\n"},
			{"fuzz/oracle/oracle.go", "j.ownSection()", `	if j.p.planted.actionCovered("blocked_actions", j.action) {
		j.deny("planted.blocked_actions", errcode.ToolCallNotAllowed)
	}
`},
		},
		// The generator draws other policies then, so that the hashes in TestRevision and TestSameSeedSameBytes are others.
		tests: []string{"test ./grammar ./compiler/... ./fuzz/oracle ./fuzz/gen -skip ^TestRevision$|^TestSameSeedSameBytes$", "test . -skip ^TestPackagesAreSmall$", "test ./fuzz/differential -run TestDifferential -pairs 200000"},
	},
	{
		name: "an event of the ledger", production: 8, documents: 1,
		edits: []edit{
			{"runtime/ledger/kind.go", "PinsChanged       Kind = 32", "\tKeyPlanted        Kind = 46\n"},
			{"runtime/ledger/kind.go", `PinsChanged:       {event: "mcp.pins"},`, "\tKeyPlanted:        {event: \"key.planted\"},\n"},
			{"runtime/ledger/ledger.go", "RevokeKey(ctx context.Context, id ID, at int64) (Key, error)", `
	// PlantKey records that so many seeds of a key are planted.
	PlantKey(ctx context.Context, id ID, seeds uint64, at int64) (Key, error)
`},
			{"runtime/ledger/event.go", "Pins   []PinView", "\n\t// Of KeyPlanted.\n\tSeeds uint64\n"},
			{"runtime/ledger/commit/service.go", "return l.stepKey(ctx, id, func(r *state.Record) error { return l.state.RevokeKey(id, at, r) })", `}

// PlantKey implements ledger.Ledger.
func (l *Ledger) PlantKey(ctx context.Context, id ledger.ID, seeds uint64, at int64) (ledger.Key, error) {
	return l.stepKey(ctx, id, func(r *state.Record) error { return l.state.PlantKey(id, seeds, at, r) })
`},
			{"runtime/ledger/state/kinds.go", "var kinds = [256]kind{", `	ledger.KeyPlanted: {
		forms: []form{{number: 46, about: "planted", fields: []*field{seeds}}},
		live:  true, apply: (*State).applyPlanted, show: func(r *Record, e *ledger.LoggedEvent) { e.Seeds = r.Seeds },
	},
`},
			{"runtime/ledger/state/record.go", "*pins.Effect    // of PinsChanged", "\tSeeds uint64 // of KeyPlanted\n"},
			{"runtime/ledger/state/planted.go", "", `package state

import (
	"encoding/binary"
	"fmt"

	"bailiff/runtime/ledger"
)

// seeds is how many were planted.
var seeds = &field{"seeds", maxVarint, func(r *Record, b []byte) []byte {
	return binary.AppendUvarint(b, r.Seeds)
}, func(r *Record, d *decoder) { r.Seeds = d.Uvarint() }}

// PlantKey fills in the record that seeds of a key are planted, or returns why there is none.
func (s *State) PlantKey(id ledger.ID, n uint64, at int64, r *Record) error {
	r.reset()
	k := s.keys[id]
	if k == nil {
		return fmt.Errorf("%w: key %s", ledger.ErrNotFound, id)
	}
	r.Kind, r.Key, r.Now, r.Seeds = ledger.KeyPlanted, id, max(k.now, at), n
	return nil
}

func (s *State) applyPlanted(*keyState, uint64, *Record) error { return nil }
`},
			{"runtime/ledger/state/record_test.go", "epoch:      func(g source, r *Record)", "\tseeds: func(g source, r *Record) { r.Seeds = g.Uint64N(300) },\n"},
			{"docs/upgrading.md", "| 45 | `webhook.changed`, with a format |", "| 46 | `key.planted` | a key is planted |\n"},
			{"runtime/eventjson/eventjson.go", "Pins   []Pin  `json:\"pins,omitempty\"`", "\n\tSeeds uint64 `json:\"seeds,omitempty\"`\n"},
			{"runtime/eventjson/eventjson.go", `view.HoldStatus = "EXPIRED"`, "\tcase ledger.KeyPlanted:\n\t\tview.Seeds = e.Seeds\n"},
		},
		tests: []string{ // beside those that ask for lines of goldens and for a history that has the event
			"test ./runtime/ledger/... ./runtime/eventjson ./runtime/decision -skip ^(TestGoldenRecords|TestSnapshot)$", "test . -skip ^TestPackagesAreSmall$",
		},
	},
	{
		name: "an error code", production: 1, documents: 1,
		edits: []edit{
			{"vm/errcode/errcode.go", "// The codes of this build.\nvar (", `	Planted = failure(409, "ERROR", "SVC_PLANTED",
		"a planted code",
		"Nothing can be done: the code is planted.", Never)

`},
			{"docs/conformance.md", "| `code.SVC_GATEWAY_BUSY` |", "| `code.SVC_PLANTED` | 409: the code is planted | `httpd.TestGolden` |\n"},
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
