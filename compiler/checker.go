package compiler

import (
	"slices"

	"bailiff/grammar"
	"bailiff/vm"
)

// checker turns a syntax tree into a typed policy and collects what is wrong with it.
type checker struct {
	file  *grammar.File
	parts Parts
	found grammar.Diagnostics

	grammar  grammar.Diagnostics // what the grammar found
	deferred []grammar.Code      // errors that are warnings here
	stop     func() bool         // whether there is no time left; nil: never
	late     bool                // it said so

	// partial says that the policy lacks something that was refused, here or by the grammar.
	partial bool

	// foreign are the parts of lists that are written in the form of another format: what they say is not known.
	foreign []grammar.Span

	// refused are the lines with errors, once all sections are read: what they may have said is not missing.
	refused []refusal
}

func newChecker(file *grammar.File, found grammar.Diagnostics, by way) *checker {
	return &checker{
		file: file, grammar: found, deferred: by.deferred, stop: by.limit.Stop, partial: found.HasErrors(),
	}
}

func (c *checker) add(d grammar.Diagnostic) { c.found = append(c.found, deferring(d, c.deferred)) }

// expired reports that there is no time left. Then nothing that was found means anything.
func (c *checker) expired() bool {
	c.late = c.late || c.stop != nil && c.stop()
	return c.late
}

// Shorten returns text for a message, so that its author does not control the length.
func Shorten(text string) string {
	const most = 64
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// A way is how a policy is compiled.
type way struct {
	deferred []grammar.Code // errors that are warnings
	limit    vm.Limit
}

// deferring returns a finding, as a warning where its code is among those that are deferred.
func deferring(d grammar.Diagnostic, deferred []grammar.Code) grammar.Diagnostic {
	if slices.Contains(deferred, d.Code) {
		d.Severity = grammar.Warning
	}
	return d
}

// A refusal is a line of the policy with an error. What seems to be missing may be there.
type refusal struct {
	code grammar.Code
	at   int    // where the line begins
	text string // in lower case
}
