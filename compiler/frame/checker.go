package frame

import (
	"slices"

	"bailiff/grammar"
	"bailiff/vm"
)

// Checker turns a syntax tree into a typed policy and collects what is wrong with it.
type Checker struct {
	File  *grammar.File
	Parts Parts
	Found grammar.Diagnostics

	Grammar  grammar.Diagnostics // what the grammar found
	deferred []grammar.Code      // errors that are warnings here
	stop     func() bool         // whether there is no time left; nil: never
	late     bool                // it said so

	// Partial says that the policy lacks something that was refused, here or by the grammar.
	Partial bool

	// Foreign are the parts of lists that are written in the form of another format: what they say is not known.
	Foreign []grammar.Span

	// Refused are the lines with errors, once all sections are read: what they may have said is not missing.
	Refused []Refusal
}

// NewChecker returns a checker of a file about which the grammar has those findings.
func NewChecker(file *grammar.File, found grammar.Diagnostics, options Options) *Checker {
	return &Checker{
		File: file, Grammar: found, deferred: options.Deferred, stop: options.Limit.Stop, Partial: found.HasErrors(),
	}
}

// Add adds a finding, as a warning where its code is deferred.
func (c *Checker) Add(d grammar.Diagnostic) { c.Found = append(c.Found, Deferring(d, c.deferred)) }

// Expired reports that there is no time left. Then nothing that was found means anything.
func (c *Checker) Expired() bool {
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

// Options say how a policy is compiled.
type Options struct {
	Deferred []grammar.Code // errors that are warnings
	Limit    vm.Limit
}

// Deferring returns a finding, as a warning where its code is among those that are deferred.
func Deferring(d grammar.Diagnostic, deferred []grammar.Code) grammar.Diagnostic {
	if slices.Contains(deferred, d.Code) {
		d.Severity = grammar.Warning
	}
	return d
}

// A Refusal is a line of the policy with an error. What seems to be missing may be there.
type Refusal struct {
	code grammar.Code
	at   int    // where the line begins
	text string // in lower case
}
