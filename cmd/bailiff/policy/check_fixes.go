package policy

import (
	"slices"

	"bailiff/compiler"
	"bailiff/grammar"
)

// safeFixes are the findings whose fixes check --fix makes: errors, so that a policy that is in force is never changed,
// whose fix puts right how a line, a heading or a key is written. No value, operator, path or scope changes with them:
// what those allow or deny is for the author to say.
var safeFixes = []grammar.Code{
	grammar.CodeByteOrderMark, // at the start of the file: see isSafe
	grammar.CodeNoVersion, grammar.CodeBadVersion,
	grammar.CodeBadHeading, grammar.CodeIndentedHead, grammar.CodeUnknownSection,
	grammar.CodeForeignForm, grammar.CodeNotAnEntry, grammar.CodeSpaceColon, grammar.CodeIndentedEntry, grammar.CodeBadKey, grammar.CodeStrayBlockLine,
	compiler.CodeUnknownKey, compiler.CodeSymbolCase,
}

// otherFixes are those that --fix-unsafe makes as well. Each takes a guess at what the author meant: a policy that they
// are made in may allow or deny something else.
var otherFixes = []grammar.Code{
	grammar.CodeLookalike, grammar.CodeSectionLetters, grammar.CodeNUL, grammar.CodeBareCR, grammar.CodeInlineComment, grammar.CodeBadScope,
	compiler.CodeWord, compiler.CodeBoolean, compiler.CodeBooleanLetters, compiler.CodeDecimal, compiler.CodeChainID,
	compiler.CodeBlockedDomain, compiler.CodeAllowedHost,
	compiler.CodePathField, compiler.CodeOperator,
	compiler.CodeJSONString, compiler.CodeTime,
	compiler.CodeQuotedInProfile, compiler.CodeRoot,
	compiler.CodeCurlyQuotes, compiler.CodeNumberForm, compiler.CodeNearAction, compiler.CodeNeverMatches,
	compiler.CodeActionPrefix, compiler.CodeListBrackets, compiler.CodeShimNotRequired, compiler.CodeNotDivided,
	compiler.CodeClientName, compiler.CodeFlagOrder, compiler.CodeInteger, compiler.CodeListQuoted, compiler.CodeListMarks, compiler.CodeListSeparator, compiler.CodeCommandWords, compiler.CodeSlashComment,
}

// whichFixes tells of a finding of a policy whether its fix is made.
type whichFixes func(*grammar.Source, grammar.Diagnostic) bool

// isSafe lets those pass that check --fix makes.
func isSafe(src *grammar.Source, d grammar.Diagnostic) bool {
	switch {
	case d.Fix == nil || d.Severity != grammar.Error || !slices.Contains(safeFixes, d.Code):
		return false
	case d.Code == grammar.CodeByteOrderMark:
		return d.Fix.Span.Start == 0 // elsewhere it may be part of a value
	case d.Code == compiler.CodeUnknownKey || d.Code == grammar.CodeUnknownSection:
		return grammar.Misspelt(src.Slice(d.Fix.Span), d.Fix.Replacement) // another name is a guess: another limit, or a block for a grant
	}
	return true
}

// isFix lets every fix pass.
func isFix(*grammar.Source, grammar.Diagnostic) bool { return true }

// aboutFixes says how a finding of a code can be mended by command; empty where it can't.
func aboutFixes(code grammar.Code) string {
	switch {
	case code == grammar.CodeByteOrderMark:
		return " `check --fix` removes one at the start of the file, and `check --fix-unsafe` every one."
	case code == compiler.CodeUnknownKey || code == grammar.CodeUnknownSection:
		return " `check --fix` mends a name with one wrong letter, and `check --fix-unsafe` what is farther from any."
	case slices.Contains(safeFixes, code):
		return " `check --fix` mends it, where what was meant can be told."
	case slices.Contains(otherFixes, code):
		return " `check --fix-unsafe` mends it, where what was meant can be guessed; `check --fix` only says how, since that may change what is allowed."
	}
	return ""
}
