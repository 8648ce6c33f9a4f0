package vm

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"bailiff/vm/amount"
	"bailiff/vm/match"
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

var constantNames = [constantKindCount]string{
	textsConstant: "texts", hostsConstant: "hosts", pathsConstant: "paths", patternConstant: "pattern", amountConstant: "amount",
	globsConstant: "globs",
}

// An Entry is one text of a set.
type Entry struct {
	Text string
	// Fold lets the address literals in Text (`0x` and exactly 40 hex digits) match without regard to case. All
	// else matches exactly, always.
	Fold bool
}

// literal returns the entry for a policy's text, folded where the text holds an address literal.
func literal(text string) Entry {
	return Entry{Text: text, Fold: len(addressLiterals(text)) > 0}
}

// A constant is what a test holds a text or a register against. Which fields it has depends on its kind.
type constant struct {
	kind     constantKind
	entries  []Entry // texts, hosts, paths, globs
	text     string  // pattern
	whole    bool    // pattern: all of the text has to match
	amount   amount.Amount
	decimals uint8     // amount
	style    GlobStyle // globs

	// What follows is built when the program is loaded, as far as the operations that use the constant need it.
	set           []entry        // for globs those without a star only
	lengths       uint64         // by lengthBit: those of the set
	firsts        []uint64       // the heads of the set
	folded        bool           // an entry ignores case somewhere, so that a text may have another head
	globs         []glob         // the others
	equals        *lookup        // in, glob
	heads         *lookup        // starts
	tails         *lookup        // ends, host
	search        *searcher      // contains, scan
	paths         *pathSet       // path
	prog          *syntax.Prog   // of a pattern, from validating it to building it
	dfa           *match.DFA     // match
	re            *regexp.Regexp // match, where the pattern is too large for a dfa
	steps         int            // of the compiled pattern
	patternMemory int            // bytes of dfa or re
}

// isSet reports whether the constant has entries.
func (c *constant) isSet() bool { return c.kind <= pathsConstant || c.kind == globsConstant }

// validate reports what is wrong with a constant by itself.
func (c *constant) validate() error {
	switch c.kind {
	case patternConstant:
		return c.validatePattern()
	case amountConstant:
		if c.decimals > amount.MaxDecimals {
			return fmt.Errorf("%d decimals: at most %d", c.decimals, amount.MaxDecimals)
		}
		return nil
	case globsConstant:
		if c.style == 0 || c.style >= globStyleCount {
			return fmt.Errorf("%d is no style of patterns", c.style)
		}
	}
	return c.validateEntries()
}

// validateEntries sees to it that a set has one encoding only and that its entries can match.
func (c *constant) validateEntries() error {
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
			err = fmt.Errorf("%q stands in the set twice", e.Text)
		case c.kind == hostsConstant:
			err = validateHost(e)
		case c.kind == pathsConstant:
			err = validatePath(e)
		case c.kind == globsConstant:
			err = validateGlob(e)
		default:
			err = validateFold(e)
		}
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		seen[e.Text] = true
	}
	return nil
}

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

// validateFold sees to it that folding means something and that its spelling is the one.
func validateFold(e *Entry) error {
	if e.Fold && len(addressLiterals(e.Text)) == 0 {
		return fmt.Errorf("%q is to be folded and holds no address", e.Text)
	}
	if e.Fold && lowerAddresses(e.Text) != e.Text {
		return fmt.Errorf("%q is to be folded and its address is not in lower case", e.Text)
	}
	return nil
}

// validateHost accepts names as they are after normalisation, with an optional dot in front.
func validateHost(e *Entry) error {
	name := strings.TrimPrefix(e.Text, ".")
	if e.Fold || name == "" || name[0] == '.' || name[len(name)-1] == '.' || hasUpper(name) {
		return fmt.Errorf("%q is not a host name in lower case, or one behind a dot", e.Text)
	}
	return nil
}

// validatePath accepts patterns whose segments are not empty: a/b, /a/*/b, **/a, and / for every absolute path.
func validatePath(e *Entry) error {
	rest := strings.TrimPrefix(e.Text, floating)
	if rest == e.Text {
		rest = strings.TrimPrefix(rest, "/")
	}
	bad := e.Fold || rest == "" && e.Text != "/"
	if rest != "" {
		for segment := range strings.SplitSeq(rest, "/") {
			bad = bad || segment == "" || segment == "**"
		}
	}
	if bad {
		return fmt.Errorf("%q is not a path pattern such as /etc, /home/*/x or **/.env", e.Text)
	}
	return nil
}

func hasUpper(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) >= 0
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
	prog, err := patternProg(c.text)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", c.text, err)
	}
	if steps := len(prog.Inst); steps > MaxPatternSteps {
		return fmt.Errorf("pattern %q compiles to %d steps: at most %d; use smaller repetitions", c.text, steps, MaxPatternSteps)
	}
	c.prog = prog
	return nil
}

// patternProg returns the compiled pattern.
func patternProg(pattern string) (*syntax.Prog, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return syntax.Compile(tree.Simplify())
}

// folds reports whether an entry ignores case somewhere.
func (c *constant) folds() bool {
	return slices.ContainsFunc(c.entries, func(e Entry) bool { return e.Fold })
}

// build makes what operation op needs of the constant, and returns the memory that it takes.
func (c *constant) build(op Op) (memory int, err error) {
	if c.isSet() && c.set == nil {
		plain := c.entries
		if c.kind == globsConstant {
			c.globs, plain = newGlobs(c.style, c.entries)
		}
		c.set = newEntries(plain)
		for i := range c.set {
			e := &c.set[i]
			c.lengths |= lengthBit(e.text)
			c.firsts = append(c.firsts, e.head)
			c.folded = c.folded || e.folded != nil
		}
	}
	switch op {
	case OpIn, OpStarts, OpEnds, OpHost, OpGlob:
		if l := c.lookup(op); len(c.set) > fewEntries && *l == nil {
			*l = newLookup(c.set, op)
		}
	case OpPath:
		if c.paths == nil {
			c.paths = newPathSet(c.set)
		}
	case OpContains, OpScan:
		if c.search == nil {
			c.search, memory, err = newSearcher(c.set)
		}
	case OpMatch:
		if c.re == nil {
			err = c.buildPattern()
		}
	}
	return memory, err
}

// lookup returns where the table of an operation is kept. A set is one of hosts or of texts, so that two
// operations share a place.
func (c *constant) lookup(op Op) **lookup {
	switch op {
	case OpIn, OpGlob:
		return &c.equals
	case OpStarts:
		return &c.heads
	}
	return &c.tails
}

// buildPattern compiles a pattern. It is known to be one by itself, so that wrapping can't change its meaning.
func (c *constant) buildPattern() error {
	prog, err := c.prog, error(nil)
	if c.prog = nil; prog == nil {
		prog, err = patternProg(c.text)
	}
	if err != nil {
		return err
	}
	if c.steps, c.dfa = len(prog.Inst), match.NewDFA(prog, c.whole); c.dfa != nil {
		c.patternMemory = c.dfa.Memory()
		return nil
	}
	c.patternMemory = regexpMemory(prog, c.text, c.whole || prog.StartCond()&syntax.EmptyBeginText != 0)
	c.re, err = regexp.Compile(wholePattern(c.text, c.whole))
	return err
}

// wholePattern returns the pattern that matches where text does and, with whole, matches all of a text.
func wholePattern(text string, whole bool) string {
	if whole {
		return `\A(?:` + text + `)\z`
	}
	return text
}

// match reports whether the pattern matches.
func (c *constant) match(text string) bool {
	if c.dfa != nil {
		return c.dfa.Match(text)
	}
	return c.re.MatchString(text)
}

// An answer is the outcome of a test.
type answer uint8

const (
	no answer = iota
	yes
	unjudged // the test can't say; the program goes on at the strict side
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// contains reports whether an entry is in text.
func (c *constant) contains(text string) bool { return c.search.contains(text) }

// covers reports whether a pattern covers the cleaned path.
func (c *constant) covers(path string) bool { return c.paths.covers(path) }

// A predicate reports whether a text satisfies a test by a constant.
type predicate func(c *constant, text string) bool

// predicates are the tests of texts.
var predicates = [opCount]predicate{
	OpIn: (*constant).in, OpStarts: (*constant).starts, OpEnds: (*constant).ends, OpContains: (*constant).contains,
	OpHost: (*constant).host, OpPath: (*constant).covers, OpGlob: (*constant).glob, OpMatch: (*constant).match,
}

// judge tests one text.
func (c *constant) judge(op Op, text string) answer {
	if op == OpMatch && len(text) > MaxSubject {
		return unjudged
	}
	return answerOf(predicates[op](c, text))
}
