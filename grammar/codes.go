package grammar

import (
	"slices"
	"strings"
)

// CodeInfo is the definition of a code: all that the project says of a kind of diagnostic, but for the messages of its
// findings.
type CodeInfo struct {
	Code        Code
	Title       string // one line
	Explanation string // why it is an error, and what to do

	// Wrong is the text of a small policy that has this finding, and Right the same one mended. Both are empty
	// where no policy can show it. Where one has `…` there is more of the same than a page holds.
	Wrong, Right string

	Fix FixKind

	// AnyLine says that the line where it is found need not be of a key that exists.
	AnyLine bool
}

// FixKind says whether a command mends findings of a code.
type FixKind uint8

// The kinds of fixes.
const (
	NoFix    FixKind = iota
	FixSafe          // changes how a line, a heading or a key is written: no value, operator, path or scope
	FixGuess         // guesses at what the author meant: the policy may allow or deny something else
)

// Severity returns the severity of every diagnostic of that code.
func (i CodeInfo) Severity() Severity { return i.Code.Severity() }

// CodeTable has the definitions of a package's codes.
type CodeTable struct{ rows []CodeInfo }

// Define adds the definition of a code, which no other one of the table has, and returns the code. Codes are never used again for
// anything else.
func (t *CodeTable) Define(code Code, info CodeInfo) Code {
	if slices.ContainsFunc(t.rows, func(have CodeInfo) bool { return have.Code == code }) {
		panic("code " + string(code) + " is defined twice")
	}
	info.Code = code
	t.rows = append(t.rows, info)
	return code
}

// All returns the definitions: those of errors, of warnings and of notes, each by number.
func (t *CodeTable) All() []CodeInfo { return InOrder(t.rows) }

// InOrder returns definitions in the order of [CodeTable.All].
func InOrder(rows []CodeInfo) []CodeInfo {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b CodeInfo) int {
		if a.Severity() != b.Severity() {
			return int(a.Severity()) - int(b.Severity())
		}
		return strings.Compare(string(a.Code), string(b.Code))
	})
	return rows
}

// codes are the definitions of this package.
var codes CodeTable

func define(code Code, info CodeInfo) Code { return codes.Define(code, info) }

// Codes returns the definitions of this package's codes, in order.
func Codes() []CodeInfo { return codes.All() }
