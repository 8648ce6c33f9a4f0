package grammar

import (
	"slices"
	"strings"
)

// The structs below are the participle grammar and the syntax tree at once: the `parser` tags are the
// productions, over the tokens that lexer.go cuts, down to keys and values, which leaf.go reads. Spans, and fields
// without a tag, are filled in once the productions have matched. Every production is decided by one token of lookahead.

// File is the syntax tree of one policy. Everything that was written is kept: entries in order, comments in
// File.Comments, and blank lines in the source between the spans.
type File struct {
	// Source is the text that every span of the tree points into.
	Source *Source

	// Framed is the division of the text into signed body and signature block; the tree is of the body alone.
	Framed Framed

	// Version is the `version` line, or nil where there is no usable one (an error says so).
	Version *Version

	// Preamble holds the entries before the first section: the `version` line and, in a file with errors,
	// whatever else strayed there.
	Preamble []*Entry `parser:"( @@"`

	// Strays holds block lines that are before the first section. Each is an error.
	Strays []*BlockLine `parser:"| @@ )*"`

	// Sections holds the sections in file order. A section of unknown name is left out, unless its name is a
	// misspelt one; a repeated one is kept. Both are errors. A `signature` section is never here.
	Sections []*Section `parser:"@@*"`

	// Comments holds every comment in order. One that is between two entries has its span between theirs.
	Comments []Comment
}

// Section returns the first section of that name (in lower case), or nil.
func (f *File) Section(name string) *Section {
	for _, section := range f.Sections {
		if section.Name == name {
			return section
		}
	}
	return nil
}

// Version is a policy's format version, `version: X.Y.Z`.
type Version struct {
	Span                Span   // of the text "X.Y.Z"
	Text                string // as written
	Major, Minor, Patch int
}

// AtLeast reports whether v is major.minor or later. A nil Version is below every version.
func (v *Version) AtLeast(major, minor int) bool {
	return v != nil && (v.Major > major || v.Major == major && v.Minor >= minor)
}

// Comment is one `#` line or one `<!-- … -->`, over as many lines as it takes.
type Comment struct {
	Span Span   // from its first character to its last, without indentation and line end
	Text string // the same, as written
}

// Section is a `## name` heading and the text below it, up to the next heading.
type Section struct {
	// Name is the heading's name in lower case, one of SectionNames.
	Name string

	// Span reaches from the heading to the end of the last entry.
	Span Span

	// Heading is the name as written.
	Heading Segment `parser:"Heading @@ EOL"`

	// Entries holds the section's entries in order.
	Entries []*Entry `parser:"( @@"`

	// Strays holds block lines outside a block. Each is an error.
	Strays []*BlockLine `parser:"| @@ )*"`
}

// Entry is one `key: value` line, or a key that is alone with the block below it.
type Entry struct {
	// Span reaches from the key to the end of the value or of the block.
	Span Span

	Key *Key `parser:"@@ Colon"`

	// Value is nil where the key is alone on its line. An entry with neither Value nor Block has been
	// reported already.
	Value *Value `parser:"( @@ EOL"`

	// Block holds the indented lines below a key that is alone.
	Block []*BlockLine `parser:"| EOL @@* )"`
}

// Key is the text before an entry's colon: `seg.seg`, `seg[action=pattern].seg.seg word word`, or the
// `deny_if.path operator` that opens an entry without a colon. Keys are case-sensitive.
type Key struct {
	// Span reaches from the first segment to the last segment or word. In `deny_if.path: operator value` it
	// includes the colon and the operator.
	Span Span

	// Text is the source under Span, as written.
	Text string

	// Segments is the dotted name, up to the scope where there is one. It is never empty.
	Segments []Segment

	// Scope is the bracketed part, or nil.
	Scope *Scope

	// Path holds the dotted segments after the scope.
	Path []Segment

	// Words holds the modifiers that follow after a space: `attested`, or an operator.
	Words []Word
}

// Name returns the dotted name before any scope, for example "token.USDC.decimals".
func (k *Key) Name() string { return joinSegments(k.Segments) }

// String returns the key in its one canonical spelling, so that two keys are the same key exactly if
// their strings are equal.
func (k *Key) String() string {
	if k.Scope == nil && len(k.Words) == 0 {
		return k.Name()
	}
	var b strings.Builder
	b.WriteString(k.Name())
	if k.Scope != nil {
		b.WriteString("[action=" + k.Scope.Pattern.Text + "]")
	}
	if len(k.Path) > 0 {
		b.WriteString("." + joinSegments(k.Path))
	}
	for _, word := range k.Words {
		b.WriteString(" " + word.Text)
	}
	return b.String()
}

// Has reports whether a word is behind the key's name.
func (k *Key) Has(word string) bool {
	return slices.ContainsFunc(k.Words, func(w Word) bool { return w.Text == word })
}

func joinSegments(segments []Segment) string {
	texts := make([]string, len(segments))
	for i, segment := range segments {
		texts[i] = segment.Text
	}
	return strings.Join(texts, ".")
}

// Segment is one name between dots, or the key of a block line (whose quotes are in Span but not in Text).
type Segment struct {
	Text string
	Span Span
}

// Scope is `[action=pattern]`.
type Scope struct {
	Span    Span    // with the brackets
	Pattern Segment // the text after the equals sign
}

// Word is a modifier after a key's name, parted from it by a space.
type Word struct {
	Text string
	Span Span
}

// Value is the text after the colon. It has two readings, and its key's type says which one counts:
// the scalar (Text) or the list (Items, by way of List).
type Value struct {
	// Span and Raw are the value as written, without white space around it.
	Span Span
	Raw  string

	// Text is the scalar reading: Raw, or the text between the quotes where all of it is one quoted string. Of
	// the JSON string of `response.deny_string` that is the text with its escapes, and Raw the one to decode.
	Text   string
	Quoted bool

	// Items is the list reading: the text between the commas outside quotes. It holds at least one item,
	// and includes empty ones, which List reports.
	Items []Item
}

// List returns the list reading, and an error for each empty item.
func (v *Value) List() ([]Item, Diagnostics) {
	var found Diagnostics
	for _, item := range v.Items {
		if item.Text == "" {
			found = append(found, At(CodeEmptyItem, item.Span, "this list has an empty item").
				WithHint("remove the comma too many, or write the item that is missing"))
		}
	}
	return v.Items, found
}

// Item is one item of a list. Quotes are in Span and Raw but not in Text.
type Item struct {
	Text   string
	Raw    string // as written, for the keys whose items are not unquoted
	Span   Span   // of length zero for an empty item without quotes
	Quoted bool
}

// BlockLine is one indented `"8453": a, b` line of a block.
type BlockLine struct {
	Span  Span
	Key   Segment `parser:"Indent @@ Colon"`
	Value *Value  `parser:"@@? EOL"` // nil has been reported already
}
