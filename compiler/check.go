package compiler

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/profiles"
	"bailiff/compiler/sections"
	"bailiff/grammar"
)

// checkSections reads all sections, then checks what concerns several entries.
func checkSections(c *frame.Checker) {
	for _, section := range c.File.Sections {
		checkSection(c, section)
	}
	if c.Expired() {
		return
	}
	c.Refused = append(c.Refusals(c.Grammar), c.Refusals(c.Found)...)
	for _, finish := range []func(){
		func() { sections.FinishEVM(c) }, func() { sections.FinishTools(c) }, func() { sections.FinishCustom(c) }, func() { sections.FinishMCP(c) }, func() { sections.FinishResponse(c) }, func() { sections.FinishDailyTokens(c) }, func() { sections.FinishCaps(c) },
		func() { profiles.Finish(c) }, func() { finishControls(c) }, func() { finishPolicy(c) },
	} {
		if c.Expired() {
			return
		}
		finish()
	}
}

// checkSection reads the entries of one section.
func checkSection(c *frame.Checker, section *grammar.Section) {
	row := findSection(section.Name) // a test holds the table to the sections that the grammar knows
	if version := c.File.Version; version != nil && !version.AtLeast(row.Since.Major, row.Since.Minor) {
		c.Add(grammar.At(codes.SectionVersion, section.Heading.Span, "section `%s` needs version %s, and this policy has %s", section.Name, row.Since, version.Text).
			WithHint("write `version: %s.0` to have it", row.Since))
		c.Partial = true
		return
	}
	if len(section.Entries) == 0 && !c.Partial {
		c.Add(grammar.At(codes.EmptySection, section.Heading.Span, "section `%s` is empty", section.Name).
			WithHint("add its entries, or remove the heading"))
	}
	row.Open(&c.Parts, section.Heading.Span)
	for i := 0; i < len(section.Entries) && !c.Expired(); i++ {
		if n := capitals(row, section.Entries[i:]); n > 0 {
			capitalKeys(c, section.Entries[i:i+n])
			i += n - 1
			continue
		}
		checkEntry(c, row, section.Entries[i])
	}
}

// checkEntry checks one entry against the schema and hands it to the reader of its key.
func checkEntry(c *frame.Checker, section *frame.Section, entry *grammar.Entry) {
	rows := section.RowsFor(entry.Key)
	if len(rows) == 0 {
		unknownKey(c, section, entry)
		return
	}
	ok := checkKeyForm(c, rows[0], entry.Key)
	for _, row := range rows {
		ok = ok && available(c, row, entry.Key)
	}
	if !ok || !checkValueForm(c, rows[0], entry) {
		c.Partial = true
		return
	}
	readEntry(c, rows[0], entry)
}

// readEntry hands an entry to the reader of its key.
func readEntry(c *frame.Checker, row *frame.Key, entry *grammar.Entry) {
	before := len(c.Found)
	if !c.ForeignValue(row, entry) {
		c.Partial = true
		return
	}
	read := len(c.Found)
	defer func() { c.Partial = c.Partial || c.Found[before:].HasErrors() }()
	if row.Bare {
		profiles.Unquoted(c, row, entry.Value)
	}
	row.Read(c, row, entry)
	if row.Type != frame.TypeActions && !entry.Key.Has(frame.Matches.String()) {
		c.ForeignList(row, entry.Value, read)
	}
}

func unsupported(row *frame.Key, key *grammar.Key) grammar.Diagnostic {
	return grammar.At(codes.KeyUnsupported, key.Span, "key `%s` is not supported yet by this version of bailiff", frame.Shorten(row.Name)).
		WithHint("it would not be enforced; a cap starts again by `cap.<name>.window`: `day`, `hour` or `task`, in UTC")
}

func unknownKey(c *frame.Checker, section *frame.Section, entry *grammar.Entry) {
	key := entry.Key
	d := grammar.At(codes.UnknownKey, key.Span, "section `%s` has no key `%s`", section.Name, frame.Shorten(key.Name()))
	if len(c.Found) > 2*grammar.MaxDiagnostics { // more than are shown: what was meant is not looked for
		c.Add(d)
		c.Partial = true
		return
	}
	elsewhere, longer, other := sectionsWith(key), keysEndingIn(section, key), calledOtherwise(section, key)
	if other == "allowed" && strings.Contains(c.File.Source.Slice(entry.Span), ".") {
		other = "" // MCP tools, which another section grants
	}
	switch near := closestKey(section, key); {
	case key.Name() == "svc-sig":
		d = d.WithHint("it belongs below `## signature`, at the end; signing the policy writes both")
	case tokenShorthand(section, key) != "":
		meant := tokenShorthand(section, key)
		value := strings.TrimLeft(c.File.Source.Slice(grammar.Span{Start: key.Span.End, End: entry.Span.End}), ":")
		d = d.WithHint("write `%s:%s`; a token needs `%s.decimals`, too", meant, frame.Shorten(value), key.Name()).WithFix(key.Span, meant)
	case other != "":
		d = d.WithHint("did you mean `%s`?", other).WithFix(key.Span, other)
	case len(longer) == 1:
		d = d.WithHint("did you mean `%s`?", longer[0]).WithFix(key.Segments[0].Span.To(key.Segments[len(key.Segments)-1].Span), longer[0])
	case len(longer) > 1:
		d = d.WithHint("did you mean %s?", frame.Alternatives(longer))
	case len(elsewhere) > 0:
		d = d.WithHint("it belongs below `## %s`: write `%s` there", elsewhere[0], frame.Shorten(c.File.Source.Slice(entry.Span)))
	case near != "" && key.Scope == nil:
		d = d.WithHint("did you mean `%s`?", near).
			WithFix(key.Segments[0].Span.To(key.Segments[len(key.Segments)-1].Span), near)
	case near != "":
		d = d.WithHint("did you mean `%s`?", near)
	default:
		d = d.WithHint("the keys are %s", strings.Join(keyNames(section), ", "))
	}
	c.Add(d)
	c.Partial = true
}

// keyNames returns the keys of a section as the reference writes them.
func keyNames(section *frame.Section) []string {
	var names []string
	for _, row := range section.Keys {
		if !row.Modifies && !row.Reserved {
			names = append(names, "`"+row.Name+"`")
		}
	}
	return names
}

// checkKeyForm reports a scope or words in a key that takes none.
func checkKeyForm(c *frame.Checker, row *frame.Key, key *grammar.Key) bool {
	switch {
	case key.Scope != nil && (!row.TakesScope() || len(key.Segments) > 1):
		c.Add(grammar.At(codes.KeyForm, key.Scope.Span, "key `%s` takes no scope here", frame.Shorten(row.Name)).
			WithHint("write the scope directly after `allow_only`, as in `allow_only[action=bash].metadata.team`"))
	case len(key.Words) > 0 && !row.TakesWords():
		c.Add(grammar.At(codes.KeyForm, key.Words[0].Span, "key `%s` takes no word after its name", frame.Shorten(row.Name)).
			WithHint("the colon follows the key at once"))
	default:
		return true
	}
	return false
}

// available reports a key, or a form of one, that this version of bailiff or the policy's version does not have.
func available(c *frame.Checker, row *frame.Key, key *grammar.Key) bool {
	version := c.File.Version
	switch {
	case row.Reserved:
		c.Add(unsupported(row, key))
	case version != nil && !version.AtLeast(row.Since.Major, row.Since.Minor):
		c.Add(grammar.At(codes.KeyVersion, key.Span, "`%s` needs version %s, and this policy has %s", frame.Shorten(row.Name), row.Since, version.Text).
			WithHint("write `version: %s.0` to have it", row.Since))
	default:
		return true
	}
	return false
}

// checkValueForm reports a block in place of a value, and the reverse.
func checkValueForm(c *frame.Checker, row *frame.Key, entry *grammar.Entry) bool {
	isBlock := row.Type == frame.TypeChainMap
	switch {
	case isBlock && entry.Value != nil:
		c.Add(grammar.At(codes.ValueForm, entry.Value.Span, "`%s` must be alone on its line", row.Name).
			WithHint("write the chains below it, indented: `  \"8453\": wallet.transfer`"))
	case !isBlock && len(entry.Block) > 0:
		c.Add(grammar.At(codes.ValueForm, entry.Span, "`%s` has its value on its own line, not a block below it", frame.Shorten(entry.Key.Text)))
	case !isBlock && entry.Value == nil || isBlock && len(entry.Block) == 0:
		return false // the grammar has reported that there is no value
	default:
		return true
	}
	return false
}

// finishPolicy checks that the policy enforces something (decisions, section 2, "Text layer").
func finishPolicy(c *frame.Checker) {
	if c.Partial || c.File.Version == nil || policyOf(*c.File.Version, c.Parts).Enforces() {
		return
	}
	c.Add(enforcesNothing(c))
	c.Partial = true // then there is nothing else to say about what it passes
}

// enforcesNothing reports a policy that lacks what one must have, by what it has.
func enforcesNothing(c *frame.Checker) grammar.Diagnostic {
	const remedy = "add `## tool_calls`, `## evm` or `## custom` rules"
	p, span := policyOf(*c.File.Version, c.Parts), c.File.Version.Span
	old := !c.File.Version.AtLeast(2, 0)
	switch {
	case p.MCP != nil:
		return grammar.At(codes.EnforcesNothing, span, "this policy grants nothing: `blocked_tools` only narrows a grant").
			WithHint("add `allowed_servers` or `allowed_tools` to `## mcp`, or %s", strings.TrimPrefix(remedy, "add "))
	case old && p.ExecutionLimits.Limits():
		return grammar.At(codes.EnforcesNothing, span, "a limit on tool calls alone is not a policy of version %s", p.Version.Text).
			WithHint(remedy + ", or raise the version to 2.0.0, where a limit is enough")
	case old && p.SoftLimits.Limits():
		return grammar.At(codes.EnforcesNothing, span, "this policy enforces nothing: under version %s soft limits only inform", p.Version.Text).
			WithHint(remedy + ", or raise the version to 2.0.0, where a limit is enough")
	}
	return grammar.At(codes.EnforcesNothing, span, "this policy enforces nothing").WithHint(remedy)
}

// Enforces reports whether the policy has what a policy of its version must have at least.
func (p *Policy) Enforces() bool {
	from20 := p.Version.AtLeast(2, 0)
	return from20 && (p.Profiles.Declared() || p.asks()) || slices.ContainsFunc(table, func(s *frame.Section) bool {
		section, ok := s.Typed(p.parts).(frame.Enforcing)
		return ok && section.Enforces(from20)
	})
}
