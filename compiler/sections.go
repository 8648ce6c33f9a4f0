package compiler

import (
	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/profiles"
	"bailiff/compiler/sections"
	"bailiff/grammar"
)

// table is the table of sections, in the order in which the reference has them.
var table = []*frame.Section{
	sections.EVMSection, sections.ToolsSection, sections.CustomSection, sections.MCPSection,
	sections.SoftLimitsSection, sections.ExecutionLimitsSection,
	profiles.RepositorySection, profiles.FilesystemSection, profiles.GitSection, profiles.DatabaseSection, sections.DeploymentSection,
}

// schema is the table of keys, section by section.
var schema = func() (rows []*frame.Key) {
	for _, s := range table {
		rows = append(rows, s.Keys...)
	}
	return rows
}()

// countingSections are the sections that plan counters, in the order in which they do.
var countingSections = []*frame.Section{
	sections.ExecutionLimitsSection, sections.SoftLimitsSection,
}

// Sections returns the table of sections, in the order in which the reference has them.
func Sections() []frame.Section { return values(table) }

// Schema returns the table of keys, by section and in the order in which the reference has them.
func Schema() []frame.Key { return values(schema) }

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
	rows := s.RowsFor(key)
	return len(rows) > 0 && rows[0].Type.IsList() && (rows[0].TakesWords() || key.Scope == nil && len(key.Words) == 0)
}

// findSection returns the section of that name, or nil.
func findSection(name string) *frame.Section {
	for _, s := range table {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// ControlsOf returns the controls of a section of a policy, nil where it has none.
func (p *Policy) ControlsOf(section string) *frame.Controls {
	return controlsOf(findSection(section), p.parts)
}

// controlsOf returns the controls of the section of a policy, nil where it has none.
func controlsOf(s *frame.Section, parts frame.Parts) *frame.Controls {
	if section, ok := s.Typed(parts).(frame.Controlled); ok {
		return section.SectionControls()
	}
	return nil
}

// emitLimits returns the steps that plan counters.
func emitLimits(e *frame.Emitter) (steps []frame.Step) {
	for _, s := range countingSections {
		if section, ok := s.Typed(e.Parts).(frame.Counting); ok {
			steps = append(steps, section.Counters(e)...)
		}
	}
	return steps
}

// finishControls reports sections that say nothing but `require_shim: false`.
func finishControls(c *frame.Checker) {
	for _, section := range c.File.Sections {
		controls := controlsOf(findSection(section.Name), c.Parts)
		if controls == nil || c.Lost(section.Name, "") || len(section.Entries) != 1 || controls.Shim == nil || controls.Shim.On {
			continue
		}
		c.Add(grammar.At(codes.OnlyShimFalse, controls.Shim.Span, "section `%s` says nothing but `require_shim: false`, which does nothing", section.Name).
			WithHint("write `require_shim: true` if a shim is meant, or what else the section should say"))
		c.Partial = true
	}
}
