package frame

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

// Extends reports whether the version is Bailiff's own extension of the format, which other engines refuse.
func (v FormatVersion) Extends() bool { return v == V24 }

// The versions of the policy format.
var (
	V10 = FormatVersion{1, 0}
	V20 = FormatVersion{2, 0}
	V21 = FormatVersion{2, 1}
	V22 = FormatVersion{2, 2}
	V23 = FormatVersion{2, 3}
	V24 = FormatVersion{2, 4}
)

// Section is one row of the table of sections.
type Section struct {
	Name  string
	Since FormatVersion
	Doc   string

	Keys  []*Key
	Open  func(*Parts, grammar.Span) // puts the section into the policy
	Typed func(Parts) any            // what the policy has of the section, nil where it lacks it

	ApprovalKey, ShimKey *Key       // its rows of controls
	Classes              []vm.Class // the intents that they are about; nil for all
}

// NewSection returns the row of a section whose typed form is an S: its keys are in the order in which the reference has them.
func NewSection[S any](name string, since FormatVersion, doc string, keys ...*Key) *Section {
	s := &Section{Name: name, Since: since, Doc: doc, Keys: keys}
	s.Open = func(parts *Parts, span grammar.Span) {
		if Part[S](*parts) == nil {
			opened := new(S)
			any(opened).(interface{ opened(grammar.Span) }).opened(span)
			*parts = append(*parts, opened)
		}
	}
	s.Typed = func(parts Parts) any {
		if typed := Part[S](parts); typed != nil {
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
	// Controlled has controls.
	Controlled interface{ SectionControls() *Controls }

	// Enforcing says whether the section alone makes a policy of 1.x, or one from 2.0 on, that enforces something.
	Enforcing interface{ Enforces(from20 bool) bool }

	// Counting plans counters.
	Counting interface{ Counters(*Emitter) []Step }
)

// ForClass sets the class of intents that the controls of the section are about.
func (s *Section) ForClass(class vm.Class) *Section {
	s.Classes = []vm.Class{class}
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

	Read    func(*Checker, *Key, *grammar.Entry)
	PerTask *PerTask             // the counter of a limit on what a task does under a profile; nil without one
	control func(*Section) **Key // where the section keeps the row, if it is one of its controls

	Zero     string   // what to write in place of a limit of zero, where it is not to leave out what grants
	Commands bool     // whether the items are shell commands, which may have `;` and `|` in them
	Bare     bool     // whether values are taken as they are written, so that quotes would be part of them
	Names    []string // the dotted names of the key, without scope and words
}

// NewKey returns the row of a key whose value is of that type and fills a field of its section.
func NewKey[S, T any](value ValueType[T], field func(*S) **T, row Key) *Key {
	return NewKeyFunc(value.Name, func(c *Checker, row *Key, entry *grammar.Entry) {
		*field(Part[S](c.Parts)) = value.Read(c, row, entry)
	}, row)
}

// NewKeyFunc returns the row of a key that has a reader of its own.
func NewKeyFunc(name Type, read func(*Checker, *Key, *grammar.Entry), row Key) *Key {
	row.Type, row.Read = name, read
	before, _, _ := strings.Cut(row.Name, " ")
	row.Names = strings.Split(strings.Replace(before, "[action=<pattern>]", "", 1), ".")
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
		k.Rule = s.Name + "." + strings.Join(k.Names, ".")
	}
}

// AllCodes returns the error codes that the key can answer, the primary one first.
func (k *Key) AllCodes() []errcode.Code {
	if k.Code == "" {
		return nil
	}
	return append([]errcode.Code{k.Code}, k.Codes...)
}

// RowsFor returns the rows that an entry of the section falls under: the key itself, and the modifiers that it has.
// Without any the key is unknown.
func (s *Section) RowsFor(key *grammar.Key) []*Key {
	var rows []*Key
	segments := KeySegments(key)
	for _, row := range s.Keys {
		if row.appliesTo(key, segments) {
			rows = append(rows, row)
		}
	}
	return rows
}

// appliesTo reports whether key, with those names, is of the row's form or, for a modifier, has it.
func (k *Key) appliesTo(key *grammar.Key, segments []grammar.Segment) bool {
	if !MatchNames(k.Names, segments) {
		return false
	}
	hasAttested := key.Has(WordAttested)
	switch {
	case !k.Modifies:
		return true
	case strings.Contains(k.Name, "["):
		return key.Scope != nil
	case strings.HasSuffix(k.Name, " "+WordAttested):
		return hasAttested
	}
	return len(key.Words) > 1 || len(key.Words) == 1 && !hasAttested
}

// TakesScope reports whether a scope may be in the key.
func (k *Key) TakesScope() bool { return k.Names[0] == nameAllowOnly }

// TakesWords reports whether words may follow the name of the key.
func (k *Key) TakesWords() bool { return k.TakesScope() || strings.Contains(k.Name, " ") }

const nameAllowOnly = "allow_only"

// MatchNames reports whether a key with those segments has these names, of which <path> takes all that follow.
func MatchNames(names []string, segments []grammar.Segment) bool {
	for i, name := range names {
		switch {
		case i >= len(segments):
			return false
		case name == "<path>":
			return true
		case !IsPlaceholder(name) && name != segments[i].Text:
			return false
		}
	}
	return len(segments) == len(names)
}

// IsPlaceholder reports whether the author of a policy chooses this part of a key.
func IsPlaceholder(name string) bool { return strings.HasPrefix(name, "<") }

// KeySegments returns all names of a key, before and after its scope.
func KeySegments(key *grammar.Key) []grammar.Segment {
	if len(key.Path) == 0 {
		return key.Segments
	}
	return slices.Concat(key.Segments, key.Path)
}

// JoinSegments returns names with dots between them, as they are written.
func JoinSegments(segments []grammar.Segment) string {
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.Text
	}
	return strings.Join(texts, ".")
}

// RuleOf returns the key's matched_rule with a text in place of its placeholder.
func (k *Key) RuleOf(part string) string {
	before, rest, _ := strings.Cut(k.Rule, "<")
	_, after, _ := strings.Cut(rest, ">")
	return before + part + after
}

// PerTask is a limit of a profile on the sum of what a task does.
type PerTask struct {
	Limit   func(Parts) *Count
	Slot    string // what is summed
	Message string
}

// A ValueType reads the values of one type.
type ValueType[T any] struct {
	Name Type
	Read func(*Checker, *Key, *grammar.Entry) *T // nil after reporting; a list lacks the items that were reported
}
