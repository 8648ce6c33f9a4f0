package compiler

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
)

// check reads all sections, then checks what concerns several entries.
func (c *checker) check() {
	for _, section := range c.file.Sections {
		c.section(section)
	}
	if c.expired() {
		return
	}
	c.refused = append(c.refusals(c.grammar), c.refusals(c.found)...)
	for _, finish := range []func(){
		c.finishEVM, c.finishTools, c.finishCustom, c.finishMCP, c.finishResponse, c.finishDailyTokens, c.finishCaps,
		c.finishProfiles, c.finishControls, c.finishPolicy,
	} {
		if c.expired() {
			return
		}
		finish()
	}
}

// section reads the entries of one section.
func (c *checker) section(section *grammar.Section) {
	row := findSection(section.Name) // a test holds the table to the sections that the grammar knows
	if version := c.file.Version; version != nil && !version.AtLeast(row.Since.Major, row.Since.Minor) {
		c.add(grammar.At(codes.SectionVersion, section.Heading.Span, "section `%s` needs version %s, and this policy has %s", section.Name, row.Since, version.Text).
			WithHint("write `version: %s.0` to have it", row.Since))
		c.partial = true
		return
	}
	if len(section.Entries) == 0 && !c.partial {
		c.add(grammar.At(codes.EmptySection, section.Heading.Span, "section `%s` is empty", section.Name).
			WithHint("add its entries, or remove the heading"))
	}
	row.open(&c.parts, section.Heading.Span)
	for i := 0; i < len(section.Entries) && !c.expired(); i++ {
		if n := capitals(row, section.Entries[i:]); n > 0 {
			c.capitalKeys(section.Entries[i : i+n])
			i += n - 1
			continue
		}
		c.entry(row, section.Entries[i])
	}
}

// entry checks one entry against the schema and hands it to the reader of its key.
func (c *checker) entry(section *Section, entry *grammar.Entry) {
	rows := section.rowsFor(entry.Key)
	if len(rows) == 0 {
		c.unknownKey(section, entry)
		return
	}
	ok := c.checkKeyForm(rows[0], entry.Key)
	for _, row := range rows {
		ok = ok && c.available(row, entry.Key)
	}
	if !ok || !c.checkValueForm(rows[0], entry) {
		c.partial = true
		return
	}
	c.read(rows[0], entry)
}

// read hands an entry to the reader of its key.
func (c *checker) read(row *Key, entry *grammar.Entry) {
	before := len(c.found)
	if !c.foreignValue(row, entry) {
		c.partial = true
		return
	}
	read := len(c.found)
	defer func() { c.partial = c.partial || c.found[before:].HasErrors() }()
	if row.bare {
		c.unquoted(row, entry.Value)
	}
	row.read(c, row, entry)
	if row.Type != TypeActions && !entry.Key.Has(Matches.String()) {
		c.foreignList(row, entry.Value, read)
	}
}

func unsupported(row *Key, key *grammar.Key) grammar.Diagnostic {
	return grammar.At(codes.KeyUnsupported, key.Span, "key `%s` is not supported yet by this version of bailiff", Shorten(row.Name)).
		WithHint("it would not be enforced; a cap starts again by `cap.<name>.window`: `day`, `hour` or `task`, in UTC")
}

func (c *checker) unknownKey(section *Section, entry *grammar.Entry) {
	key := entry.Key
	d := grammar.At(codes.UnknownKey, key.Span, "section `%s` has no key `%s`", section.Name, Shorten(key.Name()))
	if len(c.found) > 2*grammar.MaxDiagnostics { // more than are shown: what was meant is not looked for
		c.add(d)
		c.partial = true
		return
	}
	elsewhere, longer, other := sectionsWith(key), keysEndingIn(section, key), calledOtherwise(section, key)
	if other == "allowed" && strings.Contains(c.file.Source.Slice(entry.Span), ".") {
		other = "" // MCP tools, which another section grants
	}
	switch near := closestKey(section, key); {
	case key.Name() == "svc-sig":
		d = d.WithHint("it belongs below `## signature`, at the end; signing the policy writes both")
	case tokenShorthand(section, key) != "":
		meant := tokenShorthand(section, key)
		value := strings.TrimLeft(c.file.Source.Slice(grammar.Span{Start: key.Span.End, End: entry.Span.End}), ":")
		d = d.WithHint("write `%s:%s`; a token needs `%s.decimals`, too", meant, Shorten(value), key.Name()).WithFix(key.Span, meant)
	case other != "":
		d = d.WithHint("did you mean `%s`?", other).WithFix(key.Span, other)
	case len(longer) == 1:
		d = d.WithHint("did you mean `%s`?", longer[0]).WithFix(key.Segments[0].Span.To(key.Segments[len(key.Segments)-1].Span), longer[0])
	case len(longer) > 1:
		d = d.WithHint("did you mean %s?", alternatives(longer))
	case len(elsewhere) > 0:
		d = d.WithHint("it belongs below `## %s`: write `%s` there", elsewhere[0], Shorten(c.file.Source.Slice(entry.Span)))
	case near != "" && key.Scope == nil:
		d = d.WithHint("did you mean `%s`?", near).
			WithFix(key.Segments[0].Span.To(key.Segments[len(key.Segments)-1].Span), near)
	case near != "":
		d = d.WithHint("did you mean `%s`?", near)
	default:
		d = d.WithHint("the keys are %s", strings.Join(keyNames(section), ", "))
	}
	c.add(d)
	c.partial = true
}

// keyNames returns the keys of a section as the reference writes them.
func keyNames(section *Section) []string {
	var names []string
	for _, row := range section.keys {
		if !row.Modifies && !row.Reserved {
			names = append(names, "`"+row.Name+"`")
		}
	}
	return names
}

// checkKeyForm reports a scope or words in a key that takes none.
func (c *checker) checkKeyForm(row *Key, key *grammar.Key) bool {
	switch {
	case key.Scope != nil && (!row.takesScope() || len(key.Segments) > 1):
		c.add(grammar.At(codes.KeyForm, key.Scope.Span, "key `%s` takes no scope here", Shorten(row.Name)).
			WithHint("a scope stands straight after `allow_only`, as in `allow_only[action=bash].metadata.team`"))
	case len(key.Words) > 0 && !row.takesWords():
		c.add(grammar.At(codes.KeyForm, key.Words[0].Span, "key `%s` takes no word after its name", Shorten(row.Name)).
			WithHint("the colon follows the key at once"))
	default:
		return true
	}
	return false
}

// available reports a key, or a form of one, that this version of bailiff or the policy's version does not have.
func (c *checker) available(row *Key, key *grammar.Key) bool {
	version := c.file.Version
	switch {
	case row.Reserved:
		c.add(unsupported(row, key))
	case version != nil && !version.AtLeast(row.Since.Major, row.Since.Minor):
		c.add(grammar.At(codes.KeyVersion, key.Span, "`%s` needs version %s, and this policy has %s", Shorten(row.Name), row.Since, version.Text).
			WithHint("write `version: %s.0` to have it", row.Since))
	default:
		return true
	}
	return false
}

// checkValueForm reports a block in place of a value, and the reverse.
func (c *checker) checkValueForm(row *Key, entry *grammar.Entry) bool {
	isBlock := row.Type == TypeChainMap
	switch {
	case isBlock && entry.Value != nil:
		c.add(grammar.At(codes.ValueForm, entry.Value.Span, "`%s` stands alone on its line", row.Name).
			WithHint("write the chains below it, indented: `  \"8453\": wallet.transfer`"))
	case !isBlock && len(entry.Block) > 0:
		c.add(grammar.At(codes.ValueForm, entry.Span, "`%s` has its value on its own line, not a block below it", Shorten(entry.Key.Text)))
	case !isBlock && entry.Value == nil || isBlock && len(entry.Block) == 0:
		return false // the grammar has reported that there is no value
	default:
		return true
	}
	return false
}

// finishPolicy checks that the policy enforces something (decisions, section 2, "Text layer").
func (c *checker) finishPolicy() {
	if c.partial || c.file.Version == nil || policyOf(*c.file.Version, c.parts).enforces() {
		return
	}
	c.add(c.enforcesNothing())
	c.partial = true // then there is nothing else to say about what it passes
}

// enforcesNothing reports a policy that lacks what one must have, by what it has.
func (c *checker) enforcesNothing() grammar.Diagnostic {
	const remedy = "add `## tool_calls`, `## evm` or `## custom` rules"
	p, span := policyOf(*c.file.Version, c.parts), c.file.Version.Span
	old := !c.file.Version.AtLeast(2, 0)
	switch {
	case p.MCP != nil:
		return grammar.At(codes.EnforcesNothing, span, "this policy grants nothing: `blocked_tools` only narrows what is granted").
			WithHint("add `allowed_servers` or `allowed_tools` to `## mcp`, or %s", strings.TrimPrefix(remedy, "add "))
	case old && p.ExecutionLimits.limits():
		return grammar.At(codes.EnforcesNothing, span, "a limit on tool calls alone is not a policy of version %s", p.Version.Text).
			WithHint(remedy + ", or raise the version to 2.0.0, where a limit is enough")
	case old && p.SoftLimits.limits():
		return grammar.At(codes.EnforcesNothing, span, "this policy enforces nothing: under version %s soft limits only inform", p.Version.Text).
			WithHint(remedy + ", or raise the version to 2.0.0, where a limit is enough")
	}
	return grammar.At(codes.EnforcesNothing, span, "this policy enforces nothing").WithHint(remedy)
}

// enforces reports whether the policy has what a policy of its version must have at least.
func (p *Policy) enforces() bool {
	from20 := p.Version.AtLeast(2, 0)
	return from20 && (p.Profiles.Declared() || p.controls()) || slices.ContainsFunc(sections, func(s *Section) bool {
		section, ok := s.typed(p.parts).(enforcing)
		return ok && section.enforces(from20)
	})
}
