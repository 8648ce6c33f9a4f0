package compiler

import (
	"math"
	"strings"

	"bailiff/grammar"
)

// checker turns a syntax tree into a typed policy and collects what is wrong with it.
type checker struct {
	file   *grammar.File
	policy *Policy
	found  grammar.Diagnostics

	grammar grammar.Diagnostics // what the grammar found

	// partial says that the policy lacks something that was refused, here or by the grammar. Then nothing is linted.
	partial bool

	// refused are the lines with errors, once all sections are read: what they may have said is not missing.
	refused []refusal

	tokens  map[string]*Token              // by symbol in lower case
	amounts map[*Token]tokenAmounts        // the lines that need the token's decimals
	caps    map[string]*Cap                // by name
	pinned  map[string]*Token              // by address
	allowed map[string]*Allowance          // by path and scope
	listed  map[*Allowance]map[string]bool // the values of rules of several lines
}

func newChecker(file *grammar.File, found grammar.Diagnostics) *checker {
	policy := new(Policy)
	if file.Version != nil {
		policy.Version = *file.Version
	}
	return &checker{
		file: file, policy: policy, grammar: found, partial: found.HasErrors(),
		tokens: map[string]*Token{}, amounts: map[*Token]tokenAmounts{}, pinned: map[string]*Token{}, allowed: map[string]*Allowance{},
		listed: map[*Allowance]map[string]bool{}, caps: map[string]*Cap{},
	}
}

func (c *checker) add(d grammar.Diagnostic) { c.found = append(c.found, d) }

// check reads all sections, then checks what concerns several entries.
func (c *checker) check() {
	for _, section := range c.file.Sections {
		c.section(section)
	}
	c.refused = append(c.refusals(c.grammar), c.refusals(c.found)...)
	c.finishEVM()
	c.finishTools()
	c.finishCustom()
	c.finishMCP()
	c.finishResponse()
	c.finishCaps()
	c.finishProfiles()
	c.finishControls()
	c.finishPolicy()
	c.lint()
}

// section reads the entries of one section.
func (c *checker) section(section *grammar.Section) {
	if row, version := findSection(section.Name), c.file.Version; version != nil && !version.AtLeast(row.Since.Major, row.Since.Minor) {
		c.add(grammar.At(CodeSectionVersion, section.Heading.Span, "section `%s` needs version %s, and this policy has %s", section.Name, row.Since, version.Text).
			WithHint("write `version: %s.0`, or do without", row.Since))
		c.partial = true
		return
	}
	if len(section.Entries) == 0 && !c.partial {
		c.add(grammar.At(CodeEmptySection, section.Heading.Span, "section `%s` is empty", section.Name).
			WithHint("add its entries, or remove the heading"))
	}
	c.open(section)
	for _, entry := range section.Entries {
		c.entry(section.Name, entry)
	}
}

// findSection returns the row of a section that the grammar knows; a test holds the two tables together.
func findSection(name string) *Section {
	for i := range sections {
		if sections[i].Name == name {
			return &sections[i]
		}
	}
	return &Section{Name: name, Since: FormatVersion{math.MaxInt, 0}}
}

// open puts the section into the policy.
func (c *checker) open(section *grammar.Section) {
	p, span := c.policy, section.Heading.Span
	switch section.Name {
	case "evm":
		if p.EVM == nil {
			p.EVM = &EVM{Span: span}
		}
	case "tool_calls":
		if p.ToolCalls == nil {
			p.ToolCalls = &ToolCalls{Span: span}
		}
	case "custom":
		if p.Custom == nil {
			p.Custom = &Custom{Span: span}
		}
	case "mcp":
		if p.MCP == nil {
			p.MCP = &MCP{Span: span}
		}
	case "soft_limits":
		if p.SoftLimits == nil {
			p.SoftLimits = &SoftLimits{Span: span}
		}
	case "execution_limits":
		if p.ExecutionLimits == nil {
			p.ExecutionLimits = &ExecutionLimits{Span: span}
		}
	case "repository", "filesystem", "git", "database":
		c.openProfile(section)
	}
}

// entry checks one entry against the schema and hands it to the reader of its key.
func (c *checker) entry(section string, entry *grammar.Entry) {
	rows := rowsFor(section, entry.Key)
	if len(rows) == 0 {
		c.unknownKey(section, entry.Key)
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

// read hands an entry to the reader of its key. A key of the schema that nobody reads is refused, lest it be ignored.
func (c *checker) read(row *Key, entry *grammar.Entry) {
	before := len(c.found)
	var known bool
	switch controls := c.controls(row.Section); {
	case controls != nil && row.Name == nameApproval && row.Section != "mcp":
		controls.Approval, known = c.patterns(entry), true
	case controls != nil && row.Name == nameShim:
		controls.Shim, known = c.boolean(entry), true
	default:
		known = c.readSection(row, entry)
	}
	if !known {
		c.add(unsupported(row, entry.Key))
	}
	c.partial = c.partial || c.found[before:].HasErrors()
}

// readSection hands an entry to the reader of its section, and reports whether that knows the key.
func (c *checker) readSection(row *Key, entry *grammar.Entry) (known bool) {
	switch row.Section {
	case "evm":
		known = c.readEVM(row, entry)
	case "tool_calls":
		known = c.readTools(row, entry)
	case "custom":
		known = c.readCustom(row, entry)
	case "mcp":
		known = c.readMCP(row, entry)
	case "soft_limits":
		known = c.readSoftLimits(row, entry)
	case "execution_limits":
		known = c.readLimits(row, entry)
	case "repository", "filesystem", "git", "database":
		known = c.readProfile(row, entry)
	}
	return known
}

// controls returns the controls of a section that has them.
func (c *checker) controls(section string) *Controls {
	p := c.policy
	switch {
	case section == "evm" && p.EVM != nil:
		return &p.EVM.Controls
	case section == "tool_calls" && p.ToolCalls != nil:
		return &p.ToolCalls.Controls
	case section == "custom" && p.Custom != nil:
		return &p.Custom.Controls
	case section == "mcp" && p.MCP != nil:
		return &p.MCP.Controls
	case section == "soft_limits" && p.SoftLimits != nil:
		return &p.SoftLimits.Controls
	case section == "execution_limits" && p.ExecutionLimits != nil:
		return &p.ExecutionLimits.Controls
	}
	return nil
}

// finishControls reports sections that say nothing but `require_shim: false`.
func (c *checker) finishControls() {
	for _, section := range c.file.Sections {
		controls := c.controls(section.Name)
		if controls == nil || c.lost(section.Name, "") || len(section.Entries) != 1 || controls.Shim == nil || controls.Shim.On {
			continue
		}
		c.add(grammar.At(CodeOnlyShimFalse, controls.Shim.Span, "section `%s` says nothing but `require_shim: false`, which does nothing", section.Name).
			WithHint("remove the section, or write `require_shim: true` if a shim is meant"))
		c.partial = true
	}
}

func unsupported(row *Key, key *grammar.Key) grammar.Diagnostic {
	return grammar.At(CodeKeyUnsupported, key.Span, "key `%s` is not supported yet by this version of bailiff", shorten(row.Name)).
		WithHint("remove the line; it would not be enforced")
}

func (c *checker) unknownKey(section string, key *grammar.Key) {
	d := grammar.At(CodeUnknownKey, key.Span, "section `%s` has no key `%s`", section, shorten(key.Name()))
	elsewhere, longer := sectionsWith(key), keysEndingIn(section, key)
	switch near := closestKey(section, key); {
	case key.Name() == "svc-sig":
		d = d.WithHint("it belongs below `## signature`, at the end; signing the policy writes both")
	case len(longer) == 1:
		d = d.WithHint("did you mean `%s`?", longer[0]).WithFix(key.Segments[0].Span.To(key.Segments[len(key.Segments)-1].Span), longer[0])
	case len(longer) > 1:
		d = d.WithHint("did you mean %s?", alternatives(longer))
	case len(elsewhere) > 0:
		d = d.WithHint("`%s` belongs below `## %s`", key.Name(), elsewhere[0])
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
func keyNames(section string) []string {
	var names []string
	for i := range schema {
		if row := &schema[i]; row.Section == section && !row.Modifies && !row.Reserved {
			names = append(names, "`"+row.Name+"`")
		}
	}
	return names
}

// checkKeyForm reports a scope or words in a key that takes none.
func (c *checker) checkKeyForm(row *Key, key *grammar.Key) bool {
	switch {
	case key.Scope != nil && (!row.takesScope() || len(key.Segments) > 1):
		c.add(grammar.At(CodeKeyForm, key.Scope.Span, "key `%s` takes no scope here", shorten(row.Name)).
			WithHint("a scope stands straight after `allow_only`, as in `allow_only[action=bash].metadata.team`"))
	case len(key.Words) > 0 && !row.takesWords():
		c.add(grammar.At(CodeKeyForm, key.Words[0].Span, "key `%s` takes no word after its name", shorten(row.Name)).
			WithHint("remove it; the colon follows the key at once"))
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
		c.add(grammar.At(CodeKeyVersion, key.Span, "`%s` needs version %s, and this policy has %s", shorten(row.Name), row.Since, version.Text).
			WithHint("write `version: %s.0`, or do without", row.Since))
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
		c.add(grammar.At(CodeValueForm, entry.Value.Span, "`%s` stands alone on its line", row.Name).
			WithHint("write the chains below it, indented: `  \"8453\": wallet.transfer`"))
	case !isBlock && len(entry.Block) > 0:
		c.add(grammar.At(CodeValueForm, entry.Span, "`%s` has its value on its own line, not a block below it", shorten(entry.Key.Text)))
	case !isBlock && entry.Value == nil || isBlock && len(entry.Block) == 0:
		return false // the grammar has reported that there is no value
	default:
		return true
	}
	return false
}

// finishPolicy checks that the policy enforces something (decisions, section 2, "Text layer").
func (c *checker) finishPolicy() {
	if c.partial || c.file.Version == nil || c.policy.enforces() {
		return
	}
	hint := "add `## tool_calls`, `## evm` or `## custom` rules"
	if c.policy.MCP != nil {
		hint = "blocking alone grants nothing: add `allowed_servers` or `allowed_tools` to `## mcp`, or " + strings.TrimPrefix(hint, "add ")
	}
	if !c.file.Version.AtLeast(2, 0) && (c.policy.SoftLimits.limits() || c.policy.ExecutionLimits.limits()) {
		hint += ", or raise the version to 2.0.0, where a limit is enough"
	}
	c.add(grammar.At(CodeEnforcesNothing, c.file.Version.Span, "this policy enforces nothing").WithHint("%s", hint))
	c.partial = true // then there is nothing else to say about what it passes
}

// enforces reports whether the policy has what a policy of its version must have at least.
func (p *Policy) enforces() bool {
	if p.EVM != nil || p.ToolCalls != nil && p.ToolCalls.Allowed != nil || p.Custom.judges() || p.ExecutionLimits.budgets() {
		return true
	}
	return p.Version.AtLeast(2, 0) &&
		(p.MCP.grants() || p.Profiles.declared() || p.SoftLimits.limits() || p.ExecutionLimits.limits())
}

// shorten returns text for a message, without control over its length to whoever wrote it.
func shorten(text string) string {
	const most = 64
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
