package vm

import (
	"errors"
	"fmt"
	"slices"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// A When says in which case a test jumps. Two may be joined: Unless|Every.
type When uint8

// The cases. A list satisfies a test if any of its elements does, or with Every if all do.
const (
	If     When = 0
	Unless When = bitUnless
	Every  When = bitAll
)

// A Const names a constant of a [Builder].
type Const uint16

// A Label names a place in the code of a [Builder], known or still to come.
type Label int

// A Case is one case of a switch: the texts that equal Text or, for a Prefix, that start with it.
type Case struct {
	Text   string
	Prefix bool
	To     Label
}

// A Builder puts a program together, instruction by instruction. Slots, constants, rules and counters are
// named by the values that its methods return; equal ones are the same one. What is wrong is collected and
// returned by [Builder.Program], so that an emitter need not look after each step.
type Builder struct {
	program Program
	fields  map[string]int // where what is interned is
	rules   map[Rule]int
	counts  map[string]int // counters by name
	sets    map[string]int // constants by encoding
	scratch []byte
	labels  []int // the place of each label, or unplaced
	patches []patch
	span    Span
	debug   bool
	listed  int // the list that denials and holds are about, or noList
	tested  int // the test of an amount that the next instruction is about where it answers, or noTest
	errs    []error
}

// unplaced is the place of a label that is nowhere yet.
const unplaced = -1

// A patch is an operand that waits for the place of a label.
type patch struct {
	label     Label
	pc        int32
	table, at int32 // the case that waits, or table -1: operand D
}

// NewBuilder returns a builder for a policy of that version of the policy format.
func NewBuilder(policy string) *Builder {
	return &Builder{
		program: Program{
			policy: policy, constants: make([]constant, 0, usualSets), rules: make([]Rule, 0, usualRules),
			code: make([]Instruction, 0, usualCode), debug: make([]Span, 0, usualCode),
		},
		listed: noList, tested: noTest, fields: map[string]int{}, rules: make(map[Rule]int, usualRules), counts: map[string]int{}, sets: make(map[string]int, usualSets),
		labels: make([]int, 0, usualCode), patches: make([]patch, 0, usualCode),
	}
}

// What a program of some fifty lines of policy has of each. Room for it spares most of the growing.
const (
	usualCode  = 256
	usualRules = 64
	usualSets  = 48
)

// Within bounds what [Builder.Program] makes.
func (b *Builder) Within(limit Limit) { b.program.limit = limit }

// failf collects an error.
func (b *Builder) failf(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf("vm: "+format, args...))
}

// intern returns the index of what key means: the known one, or next, which is then to be appended.
func intern[K comparable](b *Builder, index map[K]int, key K, next int) (at int, known bool) {
	if at, known = index[key]; known {
		return at, true
	}
	if next > maxEntries {
		b.failf("a table of the program grows beyond %d rows", maxEntries)
		return 0, true
	}
	index[key] = next
	return next, false
}

// Field returns the slot with that name.
func (b *Builder) Field(name string) uint16 {
	i, known := intern(b, b.fields, name, len(b.program.fields))
	if !known {
		b.program.fields = append(b.program.fields, name)
	}
	return uint16(i)
}

// Rule returns the index of a rule.
func (b *Builder) Rule(r Rule) uint16 {
	i, known := intern(b, b.rules, r, len(b.program.rules))
	if !known {
		b.program.rules = append(b.program.rules, r)
	}
	return uint16(i)
}

// Counter returns the index of a counter. Two different ones must not share a name. A subgroup without a name is none.
func (b *Builder) Counter(c Counter) uint16 {
	if c.SubgroupName == "" {
		c.Subgroup = NoSlot
	}
	i, known := intern(b, b.counts, c.Name, len(b.program.counters))
	if !known {
		b.program.counters = append(b.program.counters, c)
	} else if b.program.counters[i] != c {
		b.failf("two different counters are called %q", c.Name)
	}
	return uint16(i)
}

// constant returns the index of a constant.
func (b *Builder) constant(c constant) Const {
	b.scratch = appendConstant(b.scratch[:0], &c)
	if i, known := b.sets[string(b.scratch)]; known { // without a copy of the encoding
		return Const(i)
	}
	i, known := intern(b, b.sets, string(b.scratch), len(b.program.constants))
	if !known {
		b.program.constants = append(b.program.constants, c)
	}
	return Const(i)
}

// Texts returns the set of texts for `in`, `starts`, `ends`, `contains` and `scan`. The addresses of folded entries are put
// into lower case; an entry that is there already is left out.
func (b *Builder) Texts(entries ...match.Entry) Const {
	kept := distinct{entries: make([]match.Entry, 0, len(entries))}
	for _, e := range entries {
		if e.Fold {
			e.Text = match.LowerAddresses(e.Text)
		}
		at := kept.add(e.Text)
		kept.entries[at].Fold = kept.entries[at].Fold || e.Fold
	}
	return b.constant(constant{kind: textsConstant, entries: kept.entries})
}

// A distinct is a list of entries, each of which is there once.
type distinct struct {
	entries []match.Entry
	index   map[string]int // where they are; nil while they are few
}

// add returns the place of an entry with that text, which is put at the end if there is none.
func (d *distinct) add(text string) int {
	at, known := d.index[text]
	if d.index == nil {
		at = slices.IndexFunc(d.entries, func(e match.Entry) bool { return e.Text == text })
		known = at >= 0
	}
	if known {
		return at
	}
	at = len(d.entries)
	d.entries = append(d.entries, match.Entry{Text: text})
	switch {
	case d.index != nil:
		d.index[text] = at
	case at == match.FewEntries:
		d.index = make(map[string]int, cap(d.entries))
		for i := range d.entries {
			d.index[d.entries[i].Text] = i
		}
	}
	return at
}

// Hosts returns the set of hosts for `host`: `example.com` covers itself and what is below, `.example.com`
// only what is below. A host that is there already is left out.
func (b *Builder) Hosts(hosts ...string) Const {
	return b.strings(constant{kind: hostsConstant}, hosts)
}

// Paths returns the set of path patterns for `path`. One that is there already is left out.
func (b *Builder) Paths(patterns ...string) Const {
	return b.strings(constant{kind: pathsConstant}, patterns)
}

// strings returns c, a set, with those entries.
func (b *Builder) strings(c constant, texts []string) Const {
	kept := distinct{entries: make([]match.Entry, 0, len(texts))}
	for _, text := range texts {
		kept.add(text)
	}
	c.entries = kept.entries
	return b.constant(c)
}

// Globs returns the set of patterns for `glob`, in which `*` means what style says and all else itself. A
// pattern that is there already is left out.
func (b *Builder) Globs(style match.GlobStyle, patterns ...string) Const {
	return b.strings(constant{kind: globsConstant, style: style}, patterns)
}

// Pattern returns the RE2 expression for `match`; with whole, all of the text has to match it.
func (b *Builder) Pattern(text string, whole bool) Const {
	return b.constant(constant{kind: patternConstant, text: text, whole: whole})
}

// Amount returns the amount of a unit, in base units of 10^-decimals, for `gt` and `ge`.
func (b *Builder) Amount(a amount.Amount, decimals uint8, unit string) Const {
	return b.constant(constant{kind: amountConstant, amount: a, decimals: decimals, text: unit})
}

// SetSpan says which part of the policy the instructions that follow are made from.
func (b *Builder) SetSpan(s Span) { b.span, b.debug = s, true }

// NewLabel returns a label that is nowhere yet.
func (b *Builder) NewLabel() Label {
	b.labels = append(b.labels, unplaced)
	return Label(len(b.labels) - 1)
}

// Place puts a label before the next instruction.
func (b *Builder) Place(l Label) {
	if l < 0 || int(l) >= len(b.labels) || b.labels[l] != unplaced {
		b.failf("label %d is placed twice, or is none of this builder", l)
		return
	}
	b.labels[l] = len(b.program.code)
}

// Here returns a label that is before the next instruction.
func (b *Builder) Here() Label {
	l := b.NewLabel()
	b.Place(l)
	return l
}

// emit appends an instruction.
func (b *Builder) emit(in Instruction) {
	b.program.code = append(b.program.code, in)
	b.program.debug = append(b.program.debug, b.span)
	b.tested = noTest
}

// answer appends a denial, a hold or a note, and notes which test of an amount it is about.
func (b *Builder) answer(in Instruction) {
	if b.tested != noTest {
		b.program.tests = append(b.program.tests, AmountTest{PC: uint16(b.tested), Answer: uint16(len(b.program.code))})
	}
	b.emit(in)
}

// test appends a test of an amount. Where an answer follows, it is about that.
func (b *Builder) test(in Instruction, to Label) {
	at := len(b.program.code)
	b.emitTo(in, to)
	b.tested = at
}

// emitTo appends an instruction that goes on at a label.
func (b *Builder) emitTo(in Instruction, to Label) {
	b.patch(to)
	b.emit(in)
}

// patch has the next instruction go on at a label.
func (b *Builder) patch(to Label) {
	b.patches = append(b.patches, patch{label: to, pc: int32(len(b.program.code)), table: -1})
}

// End ends the run.
func (b *Builder) End() { b.emit(Instruction{Op: OpEnd}) }

// Jump goes on at a label.
func (b *Builder) Jump(to Label) { b.emitTo(Instruction{Op: OpJump}, to) }

// Class records the class of the intent.
func (b *Builder) Class(c Class) { b.emit(Instruction{Op: OpClass, A: uint8(c)}) }

// A Blame is what a violation names beside its rule.
type Blame struct {
	Slot uint16
	// Element blames the element of the slot's list that decided the last test of a list, if that was a test of this slot, and
	// otherwise the whole value.
	Element bool
}

// Deny records a violation of a rule. In mode All the run continues at resume.
func (b *Builder) Deny(rule uint16, blame Blame, resume Label) {
	in := Instruction{Op: OpDeny, B: blame.Slot, C: rule}
	if blame.Element {
		in.A = bitElement
	}
	b.list()
	b.patch(resume)
	b.answer(in)
}

// Reject ends the run: the request is not valid under this policy, and a slot is to blame.
func (b *Builder) Reject(rule, slot uint16) { b.emit(Instruction{Op: OpReject, B: slot, C: rule}) }

// list notes which list the next instruction is about.
func (b *Builder) list() {
	if b.listed != noList {
		b.program.listed = append(b.program.listed, wordsAt{uint16(len(b.program.code)), uint16(b.listed)})
	}
}

// Hold records that a rule asks for a human decision.
func (b *Builder) Hold(rule uint16) {
	b.list()
	b.answer(Instruction{Op: OpHold, C: rule})
}

// Note records a rule that the message should mention.
func (b *Builder) Note(rule uint16) { b.answer(Instruction{Op: OpNote, C: rule}) }

// Reserve plans to advance a counter.
func (b *Builder) Reserve(counter uint16) { b.emit(Instruction{Op: OpReserve, C: counter}) }

// Switch goes on where the cases say for the slot's text, else at otherwise. Their order does not matter.
func (b *Builder) Switch(slot uint16, otherwise Label, cases ...Case) {
	t := match.Table{Cases: make([]match.Case, 0, len(cases))}
	for i, c := range cases {
		t.Cases = append(t.Cases, match.Case{Text: c.Text, Prefix: c.Prefix})
		b.patches = append(b.patches, patch{label: c.To, pc: int32(len(b.program.code)), table: int32(len(b.program.tables)), at: int32(i)})
	}
	b.emitTo(Instruction{Op: OpSwitch, B: slot, C: uint16(len(b.program.tables))}, otherwise)
	b.program.tables = append(b.program.tables, t)
}

// Kind jumps by the kind of a slot: one of those in mask, or missing where the mask says so.
func (b *Builder) Kind(when When, slot uint16, mask KindMask, to Label) {
	b.emitTo(Instruction{Op: OpKind, A: uint8(when), B: slot, C: uint16(mask)}, to)
}

// Test jumps by the outcome of a test of texts: `in`, `starts`, `ends`, `contains`, `host`, `path`, `match` or
// `glob`. What can't be judged does not jump, so that the denial belongs behind it.
func (b *Builder) Test(op Op, when When, slot uint16, c Const, to Label) {
	if !op.known() || specs[op].a != aQuantified {
		b.failf("instruction %d: %q is not a test of texts", len(b.program.code), op)
	}
	b.emitTo(Instruction{Op: op, A: uint8(when), B: slot, C: uint16(c)}, to)
}

// Scan looks for the entries of a set in a slot, for the hits that follow, and jumps where none was found.
func (b *Builder) Scan(slot uint16, set Const, to Label) {
	b.emitTo(Instruction{Op: OpScan, B: slot, C: uint16(set)}, to)
}

// Hit jumps by whether the last scan, of that set, found an entry.
func (b *Builder) Hit(when When, set Const, e match.Entry, to Label) {
	if e.Fold {
		e.Text = match.LowerAddresses(e.Text)
	}
	if int(set) < len(b.program.constants) {
		for i, have := range b.program.constants[set].entries {
			if have.Text == e.Text {
				b.emitTo(Instruction{Op: OpHit, A: uint8(when), C: uint16(i)}, to)
				return
			}
		}
	}
	b.failf("instruction %d: the set of the scan does not hold %q", len(b.program.code), e.Text)
}

// Load reads a slot as an amount with that many decimals into register 0 or 1, and jumps if it is one. The
// denial belongs behind it.
func (b *Builder) Load(register int, slot uint16, decimals uint8, to Label) {
	b.test(Instruction{Op: OpAmount, A: b.register(register), B: slot, C: uint16(decimals)}, to)
}

// Compare jumps by whether a register is greater than a constant (OpGreater), or as great or greater (OpAtLeast).
func (b *Builder) Compare(op Op, when When, register int, c Const, to Label) {
	if op != OpGreater && op != OpAtLeast {
		b.failf("instruction %d: %q is not a comparison", len(b.program.code), op)
	}
	b.test(Instruction{Op: op, A: uint8(when) | b.register(register), C: uint16(c)}, to)
}

// register returns the bit of a register.
func (b *Builder) register(register int) uint8 {
	if register != 0 && register != 1 {
		b.failf("instruction %d: there are registers 0 and 1, and no %d", len(b.program.code), register)
		return 0
	}
	return uint8(register) * bitRegister
}

// Program returns the program, verified: with its tables in the order in which the code uses them, and
// without what it does not use. The builder is used up.
func (b *Builder) Program() (*Program, error) {
	for _, p := range b.patches {
		b.resolve(p)
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	made := b.program // a pointer into the builder would keep all of it
	p := &made
	if !b.debug {
		p.debug, p.lists, p.listed, p.tests = nil, nil, nil, nil
	}
	for i := range p.tables {
		slices.SortFunc(p.tables[i].Cases, match.Case.Order)
	}
	if err := p.renumber(); err != nil {
		return nil, err
	}
	p.constants, p.rules = slices.Clone(p.constants), slices.Clone(p.rules)
	p.code, p.debug = slices.Clone(p.code), slices.Clone(p.debug)
	if err := p.load(); err != nil {
		return nil, err
	}
	return p, nil
}

// resolve writes the place of a label where a patch waits for it.
func (b *Builder) resolve(p patch) {
	if p.label < 0 || int(p.label) >= len(b.labels) || b.labels[p.label] == unplaced {
		b.failf("instruction %d: label %d was never placed", p.pc, p.label)
		return
	}
	place := b.labels[p.label]
	if place <= int(p.pc) || place >= MaxInstructions {
		b.failf("instruction %d: label %d is at %d; jumps go forward, to at most %d", p.pc, p.label, place, MaxInstructions-1)
		return
	}
	if p.table < 0 {
		b.program.code[p.pc].D = uint16(place)
		return
	}
	b.program.tables[p.table].Cases[p.at].Target = uint16(place)
}

// noList is what a denial is about that is about no list.
const noList = -1

// noTest is what an answer is about that is about no amount.
const noTest = -1

// Words makes the denials and holds that follow be about a list, or, with nil, about none.
func (b *Builder) Words(list *WordList) {
	if b.listed = noList; list == nil {
		return
	}
	if len(b.program.lists) == maxRules {
		b.failf("the policy has more than %d lists", maxRules)
		return
	}
	b.listed = len(b.program.lists)
	b.program.lists = append(b.program.lists, *list)
}

// Token adds a token of the policy. Two must not share a symbol, or a contract on one chain.
func (b *Builder) Token(t Token) { b.program.tokens = append(b.program.tokens, t) }
