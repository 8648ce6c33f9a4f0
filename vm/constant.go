package vm

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bailiff/vm/amount"
	"bailiff/vm/match"
	"bailiff/vm/wire"
)

// constantKind says what a constant is. The numbers are part of the encoding.
type constantKind uint8

const (
	textsConstant constantKind = 1 + iota
	hostsConstant
	pathsConstant
	patternConstant
	amountConstant
	globsConstant
	constantKindCount
)

// A constantSpec is one row of the table of constants: all that the machine knows of a kind, but for matching.
type constantSpec struct {
	name     string // in assembler text
	validate func(c *constant) error
	append   func(b []byte, c *constant) []byte // the encoding after the kind
	read     func(r *reader, c *constant)
	assembly func(c *constant) string // the line after the name
	assemble func(a *assembler, c *constant)
	words    func(c *constant) string // for a listing
}

// constantSpecs is the table of constants.
var constantSpecs = [constantKindCount]constantSpec{
	textsConstant: setSpec("texts"),
	hostsConstant: setSpec("hosts"),
	pathsConstant: setSpec("paths"),
	patternConstant: {
		name:     "pattern",
		validate: (*constant).validatePattern,
		append:   func(b []byte, c *constant) []byte { return wire.AppendFlagged(b, c.text, c.whole) },
		read:     func(r *reader, c *constant) { c.text, c.whole = r.Flagged() },
		assembly: (*constant).patternAssembly,
		assemble: func(a *assembler, c *constant) { c.whole = a.peek("whole"); c.text = a.quoted() },
		words:    (*constant).patternWords,
	},
	amountConstant: {
		name:     "amount",
		validate: (*constant).validateAmount,
		append: func(b []byte, c *constant) []byte {
			return wire.AppendText(wire.AppendAmount(append(b, c.decimals), c.amount), c.text)
		},
		read:     func(r *reader, c *constant) { c.decimals, c.amount, c.text = r.Byte(), r.Amount(), r.Text() },
		assembly: func(c *constant) string { return fmt.Sprintf(" %s decimals %d %q", c.amount, c.decimals, c.text) },
		assemble: (*assembler).scaled,
		words:    func(c *constant) string { return strings.TrimRight(c.amount.Format(c.decimals)+" "+c.text, " ") },
	},
	globsConstant: {
		name:     "globs",
		validate: (*constant).validateGlobs,
		append:   func(b []byte, c *constant) []byte { return appendSet(append(b, byte(c.style)), c) },
		read:     func(r *reader, c *constant) { c.style = match.GlobStyle(r.Byte()); r.set(c) },
		assembly: func(c *constant) string { return " " + c.style.String() + c.setAssembly() },
		assemble: (*assembler).globs,
		words:    func(c *constant) string { return c.style.String() + " " + c.setWords() },
	},
}

// setSpec is the row of a set whose entries entryChecks accepts.
func setSpec(name string) constantSpec {
	return constantSpec{name: name, validate: (*constant).validateSet, append: appendSet, read: (*reader).set,
		assembly: (*constant).setAssembly, assemble: (*assembler).set, words: (*constant).setWords}
}

// entryChecks accept the entries of sets; other constants have none.
var entryChecks = [constantKindCount]func(*match.Entry) error{
	textsConstant: match.ValidateText, hostsConstant: match.ValidateHost, pathsConstant: match.ValidatePath, globsConstant: match.ValidateGlob,
}

// literal returns the entry for a policy's text, folded where the text contains an address literal.
func literal(text string) match.Entry {
	return match.Entry{Text: text, Fold: len(match.Addresses(text)) > 0}
}

// A constant is what a test holds a text or a register against. Which fields it has depends on its kind.
type constant struct {
	kind     constantKind
	entries  []match.Entry // texts, hosts, paths, globs
	text     string        // pattern; amount: its unit
	whole    bool          // pattern: all of the text has to match
	amount   amount.Amount
	decimals uint8           // amount
	style    match.GlobStyle // globs

	// What follows is built when the program is loaded, as far as the operations that use the constant need it.
	set     match.Set
	pattern *match.Pattern
	prog    *syntax.Prog // of a pattern, from validating it to building it
}

// isSet reports whether the constant has entries.
func (c *constant) isSet() bool { return entryChecks[c.kind] != nil }

// validate reports what is wrong with a constant by itself.
func (c *constant) validate() error { return constantSpecs[c.kind].validate(c) }

// validateText bounds every text of a program.
func validateText(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("a text of %d bytes: at most %d", len(text), maxText)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%.40q is not valid UTF-8", text)
	}
	return nil
}

// validateSet sees to it that a set has one encoding only and that its entries can match.
func (c *constant) validateSet() error {
	if len(c.entries) == 0 || len(c.entries) > maxEntries {
		return fmt.Errorf("a set has %d entries: at least 1 and at most %d", len(c.entries), maxEntries)
	}
	seen := make(map[string]bool, len(c.entries))
	for i := range c.entries {
		e := &c.entries[i]
		err := validateText(e.Text)
		switch {
		case err != nil:
		case e.Text == "":
			err = fmt.Errorf("it is empty")
		case seen[e.Text]:
			err = fmt.Errorf("%q is in the set twice", e.Text)
		default:
			err = entryChecks[c.kind](e)
		}
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		seen[e.Text] = true
	}
	return nil
}

func (c *constant) validateGlobs() error {
	if c.style == 0 || c.style >= match.GlobStyleCount {
		return fmt.Errorf("%d is not a style of patterns", c.style)
	}
	return c.validateSet()
}

func (c *constant) validateAmount() error {
	if c.decimals > amount.MaxDecimals {
		return fmt.Errorf("%d decimals: at most %d", c.decimals, amount.MaxDecimals)
	}
	if c.text == "" {
		return errors.New("the amount has no unit")
	}
	return validateText(c.text)
}

// validatePattern bounds a pattern as text and as compiled: RE2 is linear in the text, but each byte may cost
// a step for every instruction.
func (c *constant) validatePattern() error {
	if len(c.text) > MaxPattern {
		return fmt.Errorf("a pattern of %d bytes: at most %d", len(c.text), MaxPattern)
	}
	if err := validateText(c.text); err != nil {
		return err
	}
	prog, err := match.CompilePattern(c.text)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", c.text, err)
	}
	if steps := len(prog.Inst); steps > MaxPatternSteps {
		return fmt.Errorf("pattern %q compiles to %d steps: at most %d; use smaller repetitions", c.text, steps, MaxPatternSteps)
	}
	c.prog = prog
	return nil
}

// folds reports whether an entry ignores case somewhere.
func (c *constant) folds() bool {
	return slices.ContainsFunc(c.entries, func(e match.Entry) bool { return e.Fold })
}

// appendConstant appends the encoding of a constant.
func appendConstant(b []byte, c *constant) []byte {
	return constantSpecs[c.kind].append(append(b, byte(c.kind)), c)
}

func appendSet(b []byte, c *constant) []byte {
	b = wire.AppendCount(b, len(c.entries))
	for _, e := range c.entries {
		b = wire.AppendFlagged(b, e.Text, e.Fold)
	}
	return b
}

func (r *reader) constant() (c constant) {
	if c.kind = constantKind(r.Byte()); c.kind == 0 || c.kind >= constantKindCount {
		r.Failf("%d is not a kind of constant", c.kind)
		return c
	}
	constantSpecs[c.kind].read(r, &c)
	return c
}

func (r *reader) set(c *constant) {
	c.entries = wire.Rows(r, 1, func(r *reader) (e match.Entry) {
		e.Text, e.Fold = r.Flagged()
		return e
	})
}

// constantNamed returns the kind that the assembler calls by a name, or 0.
func constantNamed(name string) constantKind {
	for kind := textsConstant; kind < constantKindCount; kind++ {
		if constantSpecs[kind].name == name {
			return kind
		}
	}
	return 0
}

// constant reads the line of a constant behind the name of its kind.
func (a *assembler) constant(kind constantKind) constant {
	c := constant{kind: kind}
	constantSpecs[kind].assemble(a, &c)
	return c
}

func (a *assembler) set(c *constant) {
	for a.err == nil && len(a.words) > 0 {
		fold := a.peek("fold")
		c.entries = append(c.entries, match.Entry{Text: a.quoted(), Fold: fold})
	}
}

func (a *assembler) globs(c *constant) {
	style := a.bare()
	c.style = match.GlobStyle(max(0, slices.Index(match.GlobStyleNames[:], style)))
	if c.style == 0 {
		a.failf("%q: mailbox, dotted, segmented or unbounded is wanted", style)
	}
	a.set(c)
}

func (a *assembler) scaled(c *constant) {
	c.amount = a.amount()
	a.expect("decimals")
	c.decimals, c.text = uint8(a.number()), a.quoted()
}

// assembly returns a constant's line.
func (c *constant) assembly() string {
	row := &constantSpecs[c.kind]
	return row.name + row.assembly(c)
}

func (c *constant) setAssembly() (line string) {
	for _, e := range c.entries {
		if e.Fold {
			line += " fold"
		}
		line += " " + strconv.Quote(e.Text)
	}
	return line
}

func (c *constant) patternAssembly() string {
	if c.whole {
		return " whole " + strconv.Quote(c.text)
	}
	return " " + strconv.Quote(c.text)
}

// words spells a constant out, as far as a line has room for it.
func (c *constant) words() string { return constantSpecs[c.kind].words(c) }

func (c *constant) setWords() string {
	var words []string
	for i, e := range c.entries {
		if i == shownEntries {
			words = append(words, fmt.Sprintf("and %d more", len(c.entries)-i))
			break
		}
		words = append(words, fmt.Sprintf("%q", e.Text))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

func (c *constant) patternWords() string {
	if c.whole {
		return "/" + c.text + "/ whole"
	}
	return "/" + c.text + "/"
}

// memory returns the bytes of a constant beside its struct.
func (c *constant) memory() int {
	bytes := match.SliceBytes(c.entries) + len(c.text)
	for i := range c.entries {
		bytes += len(c.entries[i].Text) + match.Allocated
	}
	return bytes + c.set.Memory() + c.pattern.Memory()
}
