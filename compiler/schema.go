package compiler

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm/errcode"
)

// Type is the type of a key's value.
type Type string

// The types of values. Documents show them as they are.
const (
	TypeDecimal   Type = "decimal"
	TypeInteger   Type = "integer"
	TypeBoolean   Type = "boolean"
	TypeText      Type = "text"
	TypeCondition Type = "operator and text"
	TypeActions   Type = "list of actions"
	TypeChains    Type = "list of chain ids"
	TypeChainMap  Type = "block of chain ids with lists of actions"
	TypeAddresses Type = "list of addresses"
	TypeTexts     Type = "list of texts"
	TypeHosts     Type = "list of hosts"
	TypePaths     Type = "list of paths"

	TypePatterns   Type = "list of action patterns"
	TypeWord       Type = "word"
	TypeWords      Type = "list of words"
	TypeNames      Type = "list of names"
	TypeRecipients Type = "list of recipients"
	TypeRegexp     Type = "RE2 pattern"
	TypeField      Type = "path of a field"
	TypePattern    Type = "action pattern"
	TypeTools      Type = "list of tool patterns"
	TypeJSON       Type = "JSON string"
	TypeTime       Type = "time (RFC 3339, UTC)"
	TypeName       Type = "name"
	TypeKeyIDs     Type = "list of key ids, or *"
	TypeMethods    Type = "list of selectors and signatures"
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
}

// Key is one row of the table of keys. It drives checking, completion and the reference.
type Key struct {
	Section string

	// Name is the key as it is written, with a placeholder for each part that the policy's author chooses:
	// "token.<SYM>.decimals", "allow_only[action=<pattern>].<path>". <path> stands for one or more names.
	Name string

	Type  Type
	Since FormatVersion

	// Blocks marks a list that denies or holds what it names: an item that is not what its author meant lets something
	// through.
	Blocks bool

	// Reserved marks a key that the format sets aside. It is refused: nobody enforces it.
	Reserved bool

	// Values are the words that the value, or each item of it, has to be. Empty where it is free.
	Values []string

	// Modifies marks a form of the key that is in another row: its scope, or a word after its name.
	Modifies bool

	// Rule is the matched_rule of a denial by this key, and Code its error code; Codes are those that it can answer
	// beside. They are empty for keys that only say more about another.
	Rule  string
	Code  errcode.Code
	Codes []errcode.Code

	Default string // what holds without the key, for the reference; empty where nothing does
	Doc     string // one sentence for the reference
	Example string // one line, or the lines of a block

	parts []string // what names returns
}

// AllCodes returns the error codes that the key can answer, the primary one first.
func (k *Key) AllCodes() []errcode.Code {
	if k.Code == "" {
		return nil
	}
	return append([]errcode.Code{k.Code}, k.Codes...)
}

// Sections returns the table of sections, in the order in which the reference has them.
func Sections() []Section { return slices.Clone(sections) }

// Schema returns the table of keys, by section and in the order in which the reference has them.
func Schema() []Key { return slices.Clone(schema) }

var sections = []Section{
	{Name: "evm", Since: v10, Doc: "EVM transactions: chains, actions, native and token amounts."},
	{Name: "tool_calls", Since: v10, Doc: "Tools: which are allowed, and what they may not touch."},
	{Name: "custom", Since: v10, Doc: "Rules about any field of a request."},
	{Name: "mcp", Since: v20, Doc: "MCP servers and tools."},
	{Name: "soft_limits", Since: v10, Doc: "Caps by day, hour or task."},
	{Name: "execution_limits", Since: v10, Doc: "Ceilings on tool calls and model use."},
	{Name: "repository", Since: v21, Doc: "A resource profile: the repository that tools work in."},
	{Name: "filesystem", Since: v21, Doc: "A resource profile: effects on files."},
	{Name: "git", Since: v21, Doc: "A resource profile: operations on git."},
	{Name: "database", Since: v21, Doc: "A resource profile: operations on databases."},
	{Name: "deployment", Since: v24, Doc: "Which API keys the policy is for, and which texts it replaces. It judges no intent."},
}

// schema is the one table of keys, section by section.
var schema = withParts(slices.Concat(evmKeys, toolKeys, customKeys, mcpKeys, softLimitKeys, executionLimitKeys, profileKeys, deploymentKeys))

// withParts works out the parts of the keys' names.
func withParts(keys []Key) []Key {
	for i := range keys {
		keys[i].parts = keys[i].names()
	}
	return keys
}

// bySection are the rows of each section.
var bySection = func() map[string][]*Key {
	rows := map[string][]*Key{}
	for i := range schema {
		rows[schema[i].Section] = append(rows[schema[i].Section], &schema[i])
	}
	return rows
}()

// rowsFor returns the rows that an entry of a section falls under: the key itself, and the modifiers that it has.
// Without any the key is unknown.
func rowsFor(section string, key *grammar.Key) []*Key {
	var rows []*Key
	segments := keySegments(key)
	for _, row := range bySection[section] {
		if row.appliesTo(key, segments) {
			rows = append(rows, row)
		}
	}
	return rows
}

// appliesTo reports whether key, with those names, is of the row's form or, for a modifier, has it.
func (k *Key) appliesTo(key *grammar.Key, segments []grammar.Segment) bool {
	if !matchNames(k.names(), segments) {
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

// wordAttested is the one word of a key that is no operator.
const wordAttested = "attested"

// names returns the dotted names of the row, without scope and words.
func (k *Key) names() []string {
	if k.parts != nil {
		return k.parts
	}
	name, _, _ := strings.Cut(k.Name, " ")
	return strings.Split(strings.Replace(name, "[action=<pattern>]", "", 1), ".")
}

// takesScope and takesWords say what may stand in the key besides names.
func (k *Key) takesScope() bool { return k.names()[0] == nameAllowOnly }
func (k *Key) takesWords() bool { return k.takesScope() || strings.Contains(k.Name, " ") }

const nameAllowOnly = "allow_only"

// matchNames reports whether a key with those segments has these names, of which <path> stands for all that follow.
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

// closestKey returns the key of the section that an unknown key was probably meant to be: one that is spelled nearly so,
// or the only one that it is the beginning of; else "".
func closestKey(section string, key *grammar.Key) string {
	var common, candidates []string // common are the keys that other engines have as well, which are meant rather
	segments := keySegments(key)
	for _, row := range bySection[section] {
		if row.Modifies || row.Reserved {
			continue
		}
		candidates = append(candidates, row.spelledLike(segments))
		if !row.Since.extends() {
			common = append(common, row.spelledLike(segments))
		}
	}
	written := joinSegments(segments)
	for _, names := range [][]string{common, candidates} {
		if longer := onlyContinuation(written, names); longer != "" {
			return longer
		}
	}
	return grammar.Closest(written, slices.DeleteFunc(candidates, func(name string) bool { return !sameWords(written, name) }))
}

// keysEndingIn returns the keys of the section that end in an unknown one, of which its author left out the start.
func keysEndingIn(section string, key *grammar.Key) []string {
	const least = 5 // fewer letters are the end of anything
	if key.Scope != nil || len(key.Words) > 0 || len(key.Name()) < least {
		return nil
	}
	var names []string
	for _, row := range bySection[section] {
		open := row.Modifies || row.Reserved || strings.Contains(row.Name, "<")
		if !open && (strings.HasSuffix(row.Name, "."+key.Name()) || strings.HasSuffix(row.Name, "_"+key.Name())) {
			names = append(names, row.Name)
		}
	}
	return names
}

// onlyContinuation returns the one candidate, without placeholders, that goes on where start ends, or "".
func onlyContinuation(start string, candidates []string) string {
	const least = 3 // fewer letters are the beginning of anything
	only := ""
	for _, candidate := range candidates {
		if len(start) < least || !strings.HasPrefix(candidate, start) || strings.Contains(candidate, "<") {
			continue
		}
		if only != "" {
			return ""
		}
		only = candidate
	}
	return only
}

// spelledLike returns the row's names with the parts of a key in place of its placeholders.
func (k *Key) spelledLike(segments []grammar.Segment) string {
	var names []string
	for i, name := range k.names() {
		switch {
		case name == "<path>" && i < len(segments):
			names = append(names, joinSegments(segments[i:]))
		case isPlaceholder(name) && i < len(segments):
			names = append(names, segments[i].Text)
		default:
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

func joinSegments(segments []grammar.Segment) string {
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.Text
	}
	return strings.Join(texts, ".")
}

// sectionsWith returns the sections that have a key of exactly that form.
func sectionsWith(key *grammar.Key) []string {
	var names []string
	segments := keySegments(key)
	for i := range schema {
		if row := &schema[i]; !row.Reserved && !row.Modifies && matchNames(row.names(), segments) {
			names = append(names, row.Section)
		}
	}
	return names
}

// mustFind returns the row of a key by section and name. It is for the variables of the emitter, which name rows of
// the table: a name that is not in it is a defect that shows when the program starts.
func mustFind(section, name string) *Key {
	for i := range schema {
		if schema[i].Section == section && schema[i].Name == name {
			return &schema[i]
		}
	}
	panic("compiler: the schema has no key " + name + " in section " + section)
}

// ruleOf returns the key's matched_rule with what stands for its placeholder.
func (k *Key) ruleOf(part string) string {
	before, rest, found := strings.Cut(k.Rule, "<")
	if !found {
		return k.Rule
	}
	_, after, _ := strings.Cut(rest, ">")
	return before + part + after
}
