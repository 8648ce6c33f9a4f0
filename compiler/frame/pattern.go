package frame

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/form"
)

// MaxPattern is the longest pattern, in characters (decisions, section 2, "Matching").
const MaxPattern = 256

// Pattern reports a pattern that is too long or does not compile, as it is or for values of the forms.
func (c *Checker) Pattern(text string, span grammar.Span, forms ...form.Form) bool {
	if n := utf8.RuneCountInString(text); n > MaxPattern {
		c.Add(grammar.At(codes.PatternLong, span, "a pattern has at most %d characters, and this one %d", MaxPattern, n))
		return false
	}
	if c.Expired() {
		return false
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		c.Add(grammar.At(codes.PatternSyntax, span, "this pattern does not compile: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: ")).
			WithHint("patterns are RE2, without back references and look-around"))
		return false
	}
	for _, as := range forms {
		if machine := MachinePattern([]string{text}, as); machine != text && !c.Bounded(machine, span) {
			return false
		}
	}
	return c.boundedTree(text, tree, span)
}

// Bounded reports a pattern that the machine refuses because of its size.
func (c *Checker) Bounded(machine string, span grammar.Span) bool {
	tree, _ := syntax.Parse(machine, syntax.Perl)
	return c.boundedTree(machine, tree, span)
}

// boundedTree is bounded for a pattern that has been parsed; its tree is nil where it is too large for one.
func (c *Checker) boundedTree(machine string, tree *syntax.Regexp, span grammar.Span) bool {
	steps := 0
	if tree != nil && repeated(tree) <= mostRepeated {
		if program, err := syntax.Compile(tree.Simplify()); err == nil {
			steps = len(program.Inst)
		}
	}
	switch {
	case len(machine) > vm.MaxPattern:
		c.Add(grammar.At(codes.PatternLong, span, "as the machine takes it the pattern has %d bytes, and at most %d are allowed", len(machine), vm.MaxPattern).
			WithHint("shorten it, or use `equals` or `starts_with` for fixed texts"))
	case steps == 0 || steps > vm.MaxPatternSteps:
		c.Add(grammar.At(codes.PatternCostly, span, "written out, the pattern has more than %d steps", vm.MaxPatternSteps).
			WithHint("lower its counted repetitions"))
	default:
		return true
	}
	return false
}

// mostRepeated is more than any pattern that the machine takes has when it is written out: writing out what has more is work
// in vain.
const mostRepeated = 4 * vm.MaxPatternSteps

// repeated returns about how many steps a pattern has when its counted repetitions are written out.
func repeated(tree *syntax.Regexp) int {
	steps := max(1, len(tree.Rune))
	if tree.Op == syntax.OpCharClass {
		steps = 1
	}
	for _, sub := range tree.Sub {
		steps += repeated(sub)
	}
	if tree.Op == syntax.OpRepeat {
		steps *= max(1, tree.Min, tree.Max)
	}
	return min(steps, mostRepeated+1)
}

// MachinePattern returns the one pattern that matches the values of a form that any of the texts matches. All texts
// compile.
func MachinePattern(texts []string, as form.Form) string {
	if len(texts) == 1 {
		return as.Pattern(texts[0])
	}
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = "(?:" + as.Pattern(text) + ")"
	}
	return strings.Join(parts, "|")
}

// Cut reports a list in which a comma divides an unquoted pattern inside its brackets.
func (c *Checker) Cut(value *grammar.Value) bool {
	if len(value.Items) < 2 {
		return false
	}
	for _, item := range value.Items {
		if !item.Quoted && EndsInside(item.Text) {
			c.Add(grammar.At(codes.PatternCut, item.Span, "the comma rule cuts this pattern inside its brackets").
				WithHint("put the whole pattern between quotes"))
			return true
		}
	}
	return false
}

// EndsInside reports whether a piece of a pattern ends inside a bracket that it opens. What follows a backslash,
// and brackets inside a class, do not count.
func EndsInside(text string) bool {
	var open []byte // the closing brackets that are due
	for i := 0; i < len(text); i++ {
		ch := text[i]
		due := byte(0)
		if len(open) > 0 {
			due = open[len(open)-1]
		}
		switch closing := strings.IndexByte("[({", ch); {
		case ch == '\\':
			i++
		case len(open) > 0 && ch == due:
			open = open[:len(open)-1]
		case closing >= 0 && due != ']':
			open = append(open, "])}"[closing])
		}
	}
	return len(open) > 0
}
