package vm

import (
	"fmt"
	"strings"
	"testing"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// TestRowsComplete holds that every operation has a whole row: what a reader, the verifier and the bound on
// the cost need.
func TestRowsComplete(t *testing.T) {
	for op := Op(1); op < opCount; op++ {
		if err := specs[op].complete(); err != nil {
			t.Errorf("operation %d: %v", op, err)
		}
		if opNames[op.String()] != op {
			t.Errorf("operation %d: another one is called %q too", op, op)
		}
		if !strings.Contains(reference(), "## "+op.String()+"\n") {
			t.Errorf("the reference lacks %q", op)
		}
	}
}

func (s *spec) complete() error {
	reads := s.missing != noOutcome && s.invalid != noOutcome && s.object != noOutcome && s.empty != noOutcome
	switch {
	case s.name == "" || s.doc == "" || s.flow == 0 || s.fixed == 0:
		return fmt.Errorf("%q lacks name, doc, flow or cost", s.name)
	case reads != (s.b == bSlot || s.c == cCounter):
		return fmt.Errorf("%q reads a slot or says what a slot without text gives, not both", s.name)
	case (s.d == dTarget) != (s.flow == flowTest || s.flow == flowJump || s.flow == flowSwitch || s.flow == flowDeny):
		return fmt.Errorf("%q jumps or has a target, not both", s.name)
	}
	return nil
}

// TestRowsIncomplete is the canary of TestRowsComplete.
func TestRowsIncomplete(t *testing.T) {
	for name, spoil := range map[string]func(*spec){
		"no doc":     func(s *spec) { s.doc = "" },
		"no cost":    func(s *spec) { s.fixed = 0 },
		"no flow":    func(s *spec) { s.flow = 0 },
		"no outcome": func(s *spec) { s.empty = noOutcome },
		"no target":  func(s *spec) { s.d = noD },
	} {
		row := specs[OpIn]
		if spoil(&row); row.complete() == nil {
			t.Errorf("%s: the row passes as complete", name)
		}
	}
}

// TestRowsTrue holds each row against the machine: what slots without text really give.
func TestRowsTrue(t *testing.T) {
	tried := 0
	for op := Op(1); op < opCount; op++ {
		tried += tryRow(op, &specs[op], t.Errorf)
	}
	if tried < 100 {
		t.Errorf("only %d outcomes were tried", tried)
	}
}

// TestRowsFalse is the canary of TestRowsTrue: whichever outcome of whichever row is changed, it is noticed.
func TestRowsFalse(t *testing.T) {
	for op := Op(1); op < opCount; op++ {
		if specs[op].missing == noOutcome {
			continue
		}
		for i := range 4 {
			row := specs[op]
			cell := []*outcome{&row.missing, &row.invalid, &row.object, &row.empty}[i]
			*cell = map[outcome]outcome{isFalse: isNext, isNext: isFalse, isNothing: isNext, isDefault: isNext,
				isMasked: isFalse, isZero: isViolated, isViolated: isZero}[*cell]
			if op == OpAmount && *cell == isFalse {
				*cell = isDefault // without a turned jump, false is the next instruction
			}
			if op == OpScan && *cell == isFalse {
				*cell = isNothing
			}
			noticed := false
			tryRow(op, &row, func(string, ...any) { noticed = true })
			if !noticed {
				t.Errorf("%s: outcome %d was changed and nobody noticed", op, i)
			}
		}
	}
}

// tryRow runs an operation over slots without text, with all modifiers, and reports where the row says
// otherwise. It returns how many outcomes it tried.
func tryRow(op Op, row *spec, report func(format string, args ...any)) (tried int) {
	if row.missing == noOutcome {
		return 0
	}
	for _, test := range []struct {
		name  string
		want  outcome
		value Value
	}{
		{"missing", row.missing, Value{}}, {"null", row.missing, Value{Kind: Null}},
		{"invalid", row.invalid, Value{Kind: Invalid, Text: "x"}}, {"object", row.object, Value{Kind: Object}},
		{"empty list", row.empty, Value{Kind: List}},
	} {
		for a := uint8(0); a <= modifiers[row.a]; a++ {
			if a&^modifiers[row.a] != 0 {
				continue
			}
			tried++
			for _, mask := range []uint16{uint16(test.value.Kind) | 1, ^(uint16(test.value.Kind) | 1) & 0xff} {
				if got, want := outcomeOf(op, a, mask, test.value), test.want.means(a, mask&uint16(test.value.Kind|1) != 0); got != want {
					report("%s with modifiers %d: %s gives %q, and its row says %q", op, a, test.name, got, want)
				}
			}
		}
	}
	return tried
}

// means spells out where an outcome leads: "next", "D", "zero" or "violated".
func (o outcome) means(a uint8, masked bool) string {
	unless := a&bitUnless != 0
	switch o {
	case isFalse:
		masked = false
		fallthrough
	case isMasked:
		if masked != unless {
			return "D"
		}
		return "next"
	case isDefault, isNothing:
		return "D"
	case isZero:
		return "zero"
	case isViolated:
		return "violated"
	}
	return "next"
}

// outcomeOf runs one operation over one value.
func outcomeOf(op Op, a uint8, mask uint16, v Value) string {
	p := &Program{fields: []string{"x"}, rules: []Rule{{Name: "next"}},
		code: []Instruction{{Op: op, A: a, D: 2}, {Op: OpReject}, {Op: OpEnd}}}
	if specs[op].c == cKinds {
		p.code[0].C = mask
	}
	if s, ok := specs[op].c.space(); ok && s == constantSpace {
		p.constants = []constant{{kind: wanted[specs[op].c], entries: []match.Entry{{Text: "x"}}, text: "x", style: match.Mailbox}}
		if p.constants[0].kind == patternConstant {
			p.constants[0].entries = nil
		}
	}
	switch op {
	case OpSwitch:
		p.tables = []match.Table{{Cases: []match.Case{{Text: "x", Target: 1}}}}
	case OpReserve:
		p.counters = []Counter{{Name: "c", Unit: "x", Op: Sum, Window: Day, Group: NoSlot, Subgroup: NoSlot, Limit: amount.FromUint64(1)}}
		p.code = []Instruction{{Op: op}, {Op: OpEnd}}
	}
	if err := p.load(); err != nil {
		return err.Error()
	}
	r := new(Machine).Run(p, []Value{v}, First)
	switch {
	case r.Status == Denied:
		return "violated"
	case len(r.Reservations) > 0:
		return map[bool]string{true: "zero", false: "more"}[r.Reservations[0].Amount.IsZero()]
	case r.Status == Rejected:
		return "next"
	}
	return "D"
}

// TestHandlers holds that every operation can run, and every test of texts also on lists.
func TestHandlers(t *testing.T) {
	for op := Op(1); op < opCount; op++ {
		if handlers[op] == nil || specs[op].a == aQuantified && predicates[op] == nil {
			t.Errorf("%s has no handler", op)
		}
	}
}
