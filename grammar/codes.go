package grammar

import "slices"

// CodeInfo is one row of a table of codes: what the reference says about a kind of diagnostic.
type CodeInfo struct {
	Code        Code
	Title       string // one line
	Explanation string // why it is an error, and what to do

	// Wrong is the text of a small policy that has this finding, and Right the same one mended. Both are empty
	// where no policy can show it. Where one has `…` there is more of the same than a page holds.
	Wrong, Right string
}

// Severity returns the severity of every diagnostic of that code.
func (i CodeInfo) Severity() Severity { return i.Code.Severity() }

// The codes of this package. Codes are never used again for anything else.
const (
	CodeTooLarge       Code = "E1001"
	CodeTooManyLines   Code = "E1002"
	CodeLineTooLong    Code = "E1003"
	CodeByteOrderMark  Code = "E1004"
	CodeNUL            Code = "E1005"
	CodeInvalidUTF8    Code = "E1006"
	CodeBareCR         Code = "E1007"
	CodeNoVersion      Code = "E1010"
	CodeSecondVersion  Code = "E1011"
	CodeBadVersion     Code = "E1012"
	CodeOtherVersion   Code = "E1013"
	CodeLateVersion    Code = "E1014"
	CodeOpenComment    Code = "E1020"
	CodeAfterComment   Code = "E1021"
	CodeStrayComment   Code = "E1022"
	CodeInlineComment  Code = "E1023"
	CodeCommentEnd     Code = "E1024"
	CodeBadHeading     Code = "E1030"
	CodeIndentedHead   Code = "E1031"
	CodeUnknownSection Code = "E1032"
	CodeSecondSection  Code = "E1033"
	CodeSectionLetters Code = "E1034"
	CodeNotAnEntry     Code = "E1040"
	CodeSpaceColon     Code = "E1041"
	CodeIndentedEntry  Code = "E1042"
	CodeBadKey         Code = "E1043"
	CodeBadScope       Code = "E1044"
	CodeSecondKey      Code = "E1045"
	CodeNoSection      Code = "E1046"
	CodeNoValue        Code = "E1047"
	CodeBadDenyIf      Code = "E1048"
	CodeTooManySegs    Code = "E1049"
	CodeTooManyItems   Code = "E1050"
	CodeOpenQuote      Code = "E1051"
	CodeAfterQuote     Code = "E1052"
	CodeEmptyItem      Code = "E1053"
	CodeStrayBlockLine Code = "E1054"
	CodeBadBlockLine   Code = "E1055"
	CodeLookalike      Code = "E1056"
	CodeForeignForm    Code = "E1057"
	CodeSecondSigHead  Code = "E1060"
	CodeOtherSigHead   Code = "E1061"
	CodeNoSignature    Code = "E1062"
	CodeBadSignature   Code = "E1063"
	CodeAfterSignature Code = "E1064"
	CodeUnexpected     Code = "E1099"
	CodeCRLF           Code = "W1001"
	CodeInvisible      Code = "W1002"
	CodeMore           Code = "N1000"
)

// Codes returns the table of this package's codes, in order.
func Codes() []CodeInfo { return slices.Clone(codes) }
