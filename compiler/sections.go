package compiler

import (
	"bailiff/compiler/codes"
	"bailiff/grammar"
)

// sections is the table of sections, in the order in which the reference has them.
var sections = []*Section{
	evm, tools, custom, mcp, softLimits, executionLimits,
	repository, filesystem, git, database, deployment,
}

// schema is the table of keys, section by section.
var schema = func() (rows []*Key) {
	for _, s := range sections {
		rows = append(rows, s.keys...)
	}
	return rows
}()

// countingSections are the sections that plan counters, in the order in which they do.
var countingSections = []*Section{
	executionLimits, softLimits,
}

// Sections returns the table of sections, in the order in which the reference has them.
func Sections() []Section { return values(sections) }

// Schema returns the table of keys, by section and in the order in which the reference has them.
func Schema() []Key { return values(schema) }

func values[T any](rows []*T) []T {
	all := make([]T, len(rows))
	for i, row := range rows {
		all[i] = *row
	}
	return all
}

// Format returns a policy in its canonical layout, as [grammar.Format] has it.
func Format(src *grammar.Source) ([]byte, grammar.Diagnostics) { return grammar.Format(src, isList) }

// isList reports whether the value of a key is a list.
func isList(section string, key *grammar.Key) bool {
	s := findSection(section)
	if s == nil {
		return false
	}
	rows := s.rowsFor(key)
	return len(rows) > 0 && rows[0].Type.isList() && (rows[0].takesWords() || key.Scope == nil && len(key.Words) == 0)
}

// findSection returns the section of that name, or nil.
func findSection(name string) *Section {
	for _, s := range sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// ControlsOf returns the controls of a section of a policy, nil where it has none.
func (p *Policy) ControlsOf(section string) *Controls { return findSection(section).controls(p.parts) }

// controls returns the controls of the section of a policy, nil where it has none.
func (s *Section) controls(parts Parts) *Controls {
	if section, ok := s.typed(parts).(controlled); ok {
		return section.controls()
	}
	return nil
}

// limits returns the steps that plan counters.
func (e *emitter) limits() (steps []step) {
	for _, s := range countingSections {
		if section, ok := s.typed(e.parts).(counting); ok {
			steps = append(steps, section.counters(e)...)
		}
	}
	return steps
}

// finishControls reports sections that say nothing but `require_shim: false`.
func (c *checker) finishControls() {
	for _, section := range c.file.Sections {
		controls := findSection(section.Name).controls(c.parts)
		if controls == nil || c.lost(section.Name, "") || len(section.Entries) != 1 || controls.Shim == nil || controls.Shim.On {
			continue
		}
		c.add(grammar.At(codes.OnlyShimFalse, controls.Shim.Span, "section `%s` says nothing but `require_shim: false`, which does nothing", section.Name).
			WithHint("write `require_shim: true` if a shim is meant, or what else the section should say"))
		c.partial = true
	}
}
