package compiler

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/address"
)

// maxPattern is the longest pattern, in characters (decisions, section 2, "Matching").
const maxPattern = 256

// pattern reports a pattern that is too long or does not compile.
func (c *checker) pattern(text string, span grammar.Span) bool {
	if n := utf8.RuneCountInString(text); n > maxPattern {
		c.add(grammar.At(CodePatternLong, span, "a pattern has at most %d characters, and this one %d", maxPattern, n))
		return false
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		c.add(grammar.At(CodePatternSyntax, span, "this pattern does not compile: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: ")).
			WithHint("patterns are RE2, without back references and look-around"))
		return false
	}
	if machine := machinePattern([]string{text}); machine != text {
		return c.bounded(machine, span)
	}
	return c.boundedTree(text, tree, span)
}

// bounded reports a pattern that the machine refuses because of its size.
func (c *checker) bounded(machine string, span grammar.Span) bool {
	tree, _ := syntax.Parse(machine, syntax.Perl)
	return c.boundedTree(machine, tree, span)
}

// boundedTree is bounded for a pattern that has been parsed; its tree is nil where it is too large for one.
func (c *checker) boundedTree(machine string, tree *syntax.Regexp, span grammar.Span) bool {
	steps := 0
	if tree != nil {
		if program, err := syntax.Compile(tree.Simplify()); err == nil {
			steps = len(program.Inst)
		}
	}
	switch {
	case len(machine) > vm.MaxPattern:
		c.add(grammar.At(CodePatternLong, span, "as the machine takes it the pattern has %d bytes, and at most %d are allowed", len(machine), vm.MaxPattern).
			WithHint("shorten it, or use `equals` or `starts_with` for fixed texts"))
	case steps == 0 || steps > vm.MaxPatternSteps:
		c.add(grammar.At(CodePatternCostly, span, "written out, the pattern has more than %d steps", vm.MaxPatternSteps).
			WithHint("lower its counted repetitions"))
	default:
		return true
	}
	return false
}

// machinePattern returns the one pattern that matches what any of the texts matches, with address literals in
// any case. All texts compile.
func machinePattern(texts []string) string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = foldPattern(text)
		if len(texts) > 1 {
			parts[i] = "(?:" + parts[i] + ")"
		}
	}
	return strings.Join(parts, "|")
}

// foldPattern makes the address literals of a pattern match without regard to case. It works on the parsed
// pattern, so that digits inside a class or a repetition are left alone.
func foldPattern(text string) string {
	for range address.Literals(text) {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return text
		}
		return foldTree(tree).String()
	}
	return text
}

func foldTree(tree *syntax.Regexp) *syntax.Regexp {
	if tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase == 0 {
		return foldLiteral(tree)
	}
	for i, sub := range tree.Sub {
		tree.Sub[i] = foldTree(sub)
	}
	return tree
}

// foldLiteral divides a literal into its addresses, which fold, and the rest, which does not.
func foldLiteral(literal *syntax.Regexp) *syntax.Regexp {
	text := string(literal.Rune)
	whole := &syntax.Regexp{Op: syntax.OpConcat, Flags: literal.Flags}
	part := func(text string, flags syntax.Flags) {
		if text != "" {
			whole.Sub = append(whole.Sub, &syntax.Regexp{Op: syntax.OpLiteral, Flags: flags, Rune: []rune(text)})
		}
	}
	done := 0
	for at := range address.Literals(text) {
		part(text[done:at.Start], literal.Flags)
		part(strings.ToLower(text[at.Start:at.End]), literal.Flags|syntax.FoldCase)
		done = at.End
	}
	part(text[done:], literal.Flags)
	if done == 0 {
		return literal
	}
	return whole
}

// cut reports a list in which a comma divides an unquoted pattern inside its brackets.
func (c *checker) cut(value *grammar.Value) bool {
	if len(value.Items) < 2 {
		return false
	}
	for _, item := range value.Items {
		if !item.Quoted && endsInside(item.Text) {
			c.add(grammar.At(CodePatternCut, item.Span, "the comma rule cuts this pattern inside its brackets").
				WithHint("put the whole pattern between quotes"))
			return true
		}
	}
	return false
}

// endsInside reports whether a piece of a pattern ends inside a bracket that it opens. What follows a backslash,
// and brackets inside a class, do not count.
func endsInside(text string) bool {
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
