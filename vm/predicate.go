package vm

import "bailiff/vm/match"

// setTests are the operations that hold a text against a set, and how they do.
var setTests = [opCount]match.By{
	OpIn: match.Whole, OpStarts: match.Start, OpEnds: match.End, OpContains: match.Inside, OpHost: match.Host, OpPath: match.Path,
	OpGlob: match.Glob, OpScan: match.Each,
}

// A predicate reports whether a text satisfies a test by a constant.
type predicate func(c *constant, text string) bool

// predicates are the tests of texts.
var predicates = [opCount]predicate{
	OpIn:       func(c *constant, text string) bool { return c.set.In(text) },
	OpStarts:   func(c *constant, text string) bool { return c.set.Starts(text) },
	OpEnds:     func(c *constant, text string) bool { return c.set.Ends(text) },
	OpContains: func(c *constant, text string) bool { return c.set.Contains(text) },
	OpHost:     func(c *constant, text string) bool { return c.set.Host(text) },
	OpPath:     func(c *constant, text string) bool { return c.set.Path(text) },
	OpGlob:     func(c *constant, text string) bool { return c.set.Glob(text) },
	OpMatch:    func(c *constant, text string) bool { return c.pattern.Match(text) },
}

// build makes what operation op needs of the constant, and returns the memory that its automata take.
func (c *constant) build(op Op) (memory int, err error) {
	if by := setTests[op]; by != 0 {
		c.set.Load(c.entries, c.style)
		return c.set.Prepare(by)
	}
	if op != OpMatch || c.pattern != nil {
		return 0, nil
	}
	prog := c.prog
	if c.prog = nil; prog == nil {
		if prog, err = match.CompilePattern(c.text); err != nil {
			return 0, err
		}
	}
	c.pattern, err = match.NewPattern(prog, c.text, c.whole)
	return 0, err
}

// An answer is the outcome of a test.
type answer uint8

const (
	no answer = iota
	yes
	unjudged // the test can't say; the program goes on at the strict side
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// judge tests one text.
func (c *constant) judge(op Op, text string) answer {
	if op == OpMatch && len(text) > MaxSubject {
		return unjudged
	}
	return answerOf(predicates[op](c, text))
}
