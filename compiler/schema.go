package compiler

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
)

// FormatVersion is a version of the policy format, without the patch level.
type FormatVersion struct{ Major, Minor int }

// String returns the version as "2.1".
func (v FormatVersion) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// extends reports whether the version is Bailiff's own extension of the format, which other engines refuse.
func (v FormatVersion) extends() bool { return v == v24 }

var (
	v10 = FormatVersion{1, 0}
	v20 = FormatVersion{2, 0}
	v21 = FormatVersion{2, 1}
	v22 = FormatVersion{2, 2}
	v23 = FormatVersion{2, 3}
	v24 = FormatVersion{2, 4}
)

// Section is one row of the table of sections.
type Section struct {
	Name  string
	Since FormatVersion
	Doc   string

	keys  []*Key
	open  func(*Parts, grammar.Span) // puts the section into the policy
	typed func(Parts) any            // what the policy has of the section, nil where it lacks it

	approval, shim *Key       // its rows of controls
	classes        []vm.Class // the intents that they are about; nil for all
}

// section returns the row of a section whose typed form is an S: its keys are in the order in which the reference has them.
func section[S any](name string, since FormatVersion, doc string, keys ...*Key) *Section {
	s := &Section{Name: name, Since: since, Doc: doc, keys: keys}
	s.open = func(parts *Parts, span grammar.Span) {
		if part[S](*parts) == nil {
			opened := new(S)
			any(opened).(interface{ opened(grammar.Span) }).opened(span)
			*parts = append(*parts, opened)
		}
	}
	s.typed = func(parts Parts) any {
		if typed := part[S](parts); typed != nil {
			return typed
		}
		return nil
	}
	for _, row := range keys {
		row.in(s)
	}
	return s
}

// What the typed policy of a section can do beside holding what the text says.
type (
	// controlled has controls.
	controlled interface{ controls() *Controls }

	// enforcing says whether the section alone makes a policy of 1.x, or one from 2.0 on, that enforces something.
	enforcing interface{ enforces(from20 bool) bool }

	// counting plans counters.
	counting interface{ counters(*emitter) []step }
)

// of names the class of intents that the controls of the section are about.
func (s *Section) of(class vm.Class) *Section {
	s.classes = []vm.Class{class}
	return s
}

// Heading is what every section has.
type Heading struct {
	Span grammar.Span // of the heading
}

func (h *Heading) opened(span grammar.Span) { h.Span = span }

// Key is one row of the table of keys. It drives reading, completion and the reference.
type Key struct {
	Section string

	// Name is the key as it is written, with a placeholder for each part that the policy's author chooses:
	// "token.<SYM>.decimals", "allow_only[action=<pattern>].<path>". <path> means one or more names.
	Name string

	Type  Type
	Since FormatVersion // that of the section where the row names none

	// Blocks marks a list that denies or holds what it names: an item that is not what its author meant lets something
	// through.
	Blocks bool

	// Reserved marks a key that the format sets aside. It is refused, because it would never be enforced.
	Reserved bool

	// Values are the words that the value, or each item of it, has to be. Empty where it is free.
	Values []string

	// Modifies marks a form of the key that is in another row: its scope, or a word after its name.
	Modifies bool

	// Rule is the matched_rule of a denial by this key, and Code its error code; Codes are those that it can answer
	// beside. They are empty for keys that only say more about another. A row names its rule only where that is not the
	// section and the key.
	Rule  string
	Code  errcode.Code
	Codes []errcode.Code

	// Unit is the unit of a limit, for messages and explanations: "ETH", "tool calls".
	Unit string

	Default string // what holds without the key, for the reference; empty where nothing does
	Doc     string // one sentence for the reference
	Example string // one line, or the lines of a block

	read    func(*checker, *Key, *grammar.Entry)
	perTask *perTask             // the counter of a limit on what a task does under a profile; nil without one
	control func(*Section) **Key // where the section keeps the row, if it is one of its controls

	zero     string   // what to write in place of a limit of zero, where it is not to leave out what grants
	commands bool     // whether the items are shell commands, in which `;` and `|` may stand
	bare     bool     // whether values are taken as they are written, so that quotes would be part of them
	names    []string // the dotted names of the key, without scope and words
}

// key returns the row of a key whose value is of that type and fills a field of its section.
func key[S, T any](value valueType[T], field func(*S) **T, row Key) *Key {
	return keyRead(value.name, func(c *checker, row *Key, entry *grammar.Entry) {
		*field(part[S](c.parts)) = value.read(c, row, entry)
	}, row)
}

// keyRead returns the row of a key that has a reader of its own.
func keyRead(name Type, read func(*checker, *Key, *grammar.Entry), row Key) *Key {
	row.Type, row.read = name, read
	before, _, _ := strings.Cut(row.Name, " ")
	row.names = strings.Split(strings.Replace(before, "[action=<pattern>]", "", 1), ".")
	return &row
}

// in puts the row into its section.
func (k *Key) in(s *Section) {
	k.Section = s.Name
	if k.Since == (FormatVersion{}) {
		k.Since = s.Since
	}
	if k.control != nil {
		*k.control(s) = k
	}
	if k.Rule == "" && k.Code != "" {
		k.Rule = s.Name + "." + strings.Join(k.names, ".")
	}
}

// AllCodes returns the error codes that the key can answer, the primary one first.
func (k *Key) AllCodes() []errcode.Code {
	if k.Code == "" {
		return nil
	}
	return append([]errcode.Code{k.Code}, k.Codes...)
}

// rowsFor returns the rows that an entry of the section falls under: the key itself, and the modifiers that it has.
// Without any the key is unknown.
func (s *Section) rowsFor(key *grammar.Key) []*Key {
	var rows []*Key
	segments := keySegments(key)
	for _, row := range s.keys {
		if row.appliesTo(key, segments) {
			rows = append(rows, row)
		}
	}
	return rows
}

// appliesTo reports whether key, with those names, is of the row's form or, for a modifier, has it.
func (k *Key) appliesTo(key *grammar.Key, segments []grammar.Segment) bool {
	if !matchNames(k.names, segments) {
		return false
	}
	hasAttested := key.Has(wordAttested)
	switch {
	case !k.Modifies:
		return true
	case strings.Contains(k.Name, "["):
		return key.Scope != nil
	case strings.HasSuffix(k.Name, " "+wordAttested):
		return hasAttested
	}
	return len(key.Words) > 1 || len(key.Words) == 1 && !hasAttested
}

// takesScope and takesWords say what may be in the key besides names.
func (k *Key) takesScope() bool { return k.names[0] == nameAllowOnly }

func (k *Key) takesWords() bool { return k.takesScope() || strings.Contains(k.Name, " ") }

const nameAllowOnly = "allow_only"

// matchNames reports whether a key with those segments has these names, of which <path> takes all that follow.
func matchNames(names []string, segments []grammar.Segment) bool {
	for i, name := range names {
		switch {
		case i >= len(segments):
			return false
		case name == "<path>":
			return true
		case !isPlaceholder(name) && name != segments[i].Text:
			return false
		}
	}
	return len(segments) == len(names)
}

func isPlaceholder(name string) bool { return strings.HasPrefix(name, "<") }

// keySegments returns all names of a key, before and after its scope.
func keySegments(key *grammar.Key) []grammar.Segment {
	if len(key.Path) == 0 {
		return key.Segments
	}
	return slices.Concat(key.Segments, key.Path)
}

func joinSegments(segments []grammar.Segment) string {
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.Text
	}
	return strings.Join(texts, ".")
}

// ruleOf returns the key's matched_rule with a text in place of its placeholder.
func (k *Key) ruleOf(part string) string {
	before, rest, found := strings.Cut(k.Rule, "<")
	if !found {
		return k.Rule
	}
	_, after, _ := strings.Cut(rest, ">")
	return before + part + after
}

// perTask is a limit of a profile on the sum of what a task does.
type perTask struct {
	limit   func(Parts) *Count
	slot    string // what is summed
	message string
}

// A valueType reads the values of one type.
type valueType[T any] struct {
	name Type
	read func(*checker, *Key, *grammar.Entry) *T // nil after reporting; a list lacks the items that were reported
}
