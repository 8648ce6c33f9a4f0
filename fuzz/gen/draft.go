package gen

import (
	"slices"
	"strings"
)

// Policy is the draft of a policy.
type Policy struct {
	Version  string // "2.1.0"
	Sections []Section
}

// Section is a section of a draft. The version line is before all sections.
type Section struct {
	Name    string
	Entries []Entry
}

// Entry is one entry: a key with its scope and words but without its colon, and a list, one scalar, or a block.
type Entry struct {
	Key    string
	Values []string // the items of a list, or the one value of a scalar
	Scalar bool
	Raw    bool    // the format takes no quotes here
	Block  []Entry // the indented lines below the key, each with a list
}

// Section returns the section of that name, or nil.
func (p *Policy) Section(name string) *Section {
	for i := range p.Sections {
		if p.Sections[i].Name == name {
			return &p.Sections[i]
		}
	}
	return nil
}

// Find returns the entry of that key, or nil.
func (s *Section) Find(key string) *Entry {
	if s == nil {
		return nil
	}
	for i := range s.Entries {
		if s.Entries[i].Key == key {
			return &s.Entries[i]
		}
	}
	return nil
}

// List returns the items of a key, or nil where the section or the key is not there.
func (p *Policy) List(section, key string) []string {
	if entry := p.Section(section).Find(key); entry != nil {
		return entry.Values
	}
	return nil
}

// Value returns the value of a scalar key, or "".
func (p *Policy) Value(section, key string) string {
	if entry := p.Section(section).Find(key); entry != nil && len(entry.Values) > 0 {
		return entry.Values[0]
	}
	return ""
}

// Clone returns a copy that shares nothing with p.
func (p *Policy) Clone() *Policy {
	c := &Policy{Version: p.Version, Sections: slices.Clone(p.Sections)}
	for i := range c.Sections {
		c.Sections[i].Entries = cloneEntries(c.Sections[i].Entries)
	}
	return c
}

func cloneEntries(entries []Entry) []Entry {
	copied := slices.Clone(entries)
	for i := range copied {
		copied[i].Values = slices.Clone(copied[i].Values)
		copied[i].Block = cloneEntries(copied[i].Block)
	}
	return copied
}

// Text writes the draft down.
func (p *Policy) Text() string { return p.write(nil) }

// NoisyText writes the draft down with comments, blank lines and white space wherever they may be.
func (p *Policy) NoisyText(r *Rand) string { return p.write(r) }

func (p *Policy) write(noise *Rand) string {
	var b strings.Builder
	b.WriteString(filler(noise) + "version: " + p.Version + space(noise) + "\n")
	for _, section := range p.Sections {
		b.WriteString("\n" + filler(noise) + "## " + section.Name + "\n")
		for i := range section.Entries {
			section.Entries[i].write(&b, "", noise)
		}
	}
	return b.String()
}

func (e *Entry) write(b *strings.Builder, indent string, noise *Rand) {
	b.WriteString(filler(noise) + indent + e.Key + ":")
	if e.Block != nil {
		b.WriteString("\n")
		for i := range e.Block {
			e.Block[i].write(b, "  ", noise)
		}
		return
	}
	for i, value := range e.Values {
		if i > 0 {
			b.WriteString(space(noise) + ",")
		}
		b.WriteString(" " + space(noise))
		b.WriteString(e.spell(value))
	}
	b.WriteString(space(noise) + "\n")
}

// spell puts a value between quotes where it would be read as something else without them.
func (e *Entry) spell(value string) string {
	special := strings.ContainsAny(value, ",#\"'") || strings.TrimSpace(value) != value || strings.Contains(value, "<!--")
	switch {
	case e.Raw || !special:
		return value
	case strings.Contains(value, `"`):
		return "'" + value + "'"
	}
	return `"` + value + `"`
}

func filler(noise *Rand) string {
	if noise == nil {
		return ""
	}
	return noise.Pick("", "", "", "\n", "# a comment\n", "<!-- another,\n## evm of two lines -->\n", " \t\n")
}

func space(noise *Rand) string {
	if noise == nil {
		return ""
	}
	return noise.Pick("", "", " ", "\t ")
}

// Smaller returns the drafts that lack one section, one entry or one item of p: the steps of shrinking.
func (p *Policy) Smaller() []*Policy {
	var all []*Policy
	drop := func(change func(*Policy)) {
		c := p.Clone()
		change(c)
		all = append(all, c)
	}
	for i := range p.Sections {
		drop(func(c *Policy) { c.Sections = slices.Delete(c.Sections, i, i+1) })
	}
	for i, section := range p.Sections {
		for j, entry := range section.Entries {
			drop(func(c *Policy) { c.Sections[i].Entries = slices.Delete(c.Sections[i].Entries, j, j+1) })
			for k := range entry.Values {
				if len(entry.Values) > 1 {
					drop(func(c *Policy) {
						values := &c.Sections[i].Entries[j].Values
						*values = slices.Delete(*values, k, k+1)
					})
				}
			}
			for k := range entry.Block {
				if len(entry.Block) > 1 {
					drop(func(c *Policy) {
						block := &c.Sections[i].Entries[j].Block
						*block = slices.Delete(*block, k, k+1)
					})
				}
			}
		}
	}
	return all
}
