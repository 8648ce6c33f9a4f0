package policy

import (
	"slices"

	"bailiff/compiler/codes"
	"bailiff/grammar"
)

// whichFixes tells of a finding of a policy whether its fix is made.
type whichFixes func(*grammar.Source, grammar.Diagnostic) bool

// isSafe lets those pass that check --fix makes.
func isSafe(src *grammar.Source, d grammar.Diagnostic) bool {
	switch {
	case d.Fix == nil || d.Severity != grammar.Error || fixKind(d.Code) != grammar.FixSafe:
		return false
	case d.Code == grammar.CodeByteOrderMark:
		return d.Fix.Span.Start == 0 // elsewhere it may be part of a value
	case d.Code == codes.UnknownKey || d.Code == grammar.CodeUnknownSection:
		return grammar.Misspelt(src.Slice(d.Fix.Span), d.Fix.Replacement) // another name is a guess: another limit, or a block for a grant
	}
	return true
}

// isFix lets every fix pass.
func isFix(*grammar.Source, grammar.Diagnostic) bool { return true }

// fixKind returns how findings of a code are mended.
func fixKind(code grammar.Code) grammar.FixKind {
	for _, table := range [][]grammar.CodeInfo{grammar.Codes(), codes.All()} {
		if i := slices.IndexFunc(table, func(info grammar.CodeInfo) bool { return info.Code == code }); i >= 0 {
			return table[i].Fix
		}
	}
	return grammar.NoFix
}

// aboutFixes says how a finding of a code can be mended by command; empty where it can't.
func aboutFixes(info *grammar.CodeInfo) string {
	switch {
	case info.Code == grammar.CodeByteOrderMark:
		return " `check --fix` removes one at the start of the file, and `check --fix-unsafe` every one."
	case info.Code == codes.UnknownKey || info.Code == grammar.CodeUnknownSection:
		return " `check --fix` corrects a name with one wrong letter, and `check --fix-unsafe` a name that differs more."
	case info.Fix == grammar.FixSafe:
		return " `check --fix` corrects it where the intention is clear."
	case info.Fix == grammar.FixGuess:
		return " `check --fix-unsafe` corrects it where it can guess the intention. `check --fix` only shows the correction, because it may change decisions."
	}
	return ""
}
