package grammar

import "slices"

// CodeInfo is one row of a table of codes: what the reference says about a kind of diagnostic.
type CodeInfo struct {
	Code        Code
	Title       string // one line
	Explanation string // why it is an error, and what to do
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

var codes = []CodeInfo{
	{CodeTooLarge, "the file is too large",
		"A policy has at most 256 KiB. The bound is checked before anything else looks at the text. Split what is governed over several keys, or shorten the lists."},
	{CodeTooManyLines, "the file has too many lines",
		"A policy has at most 10,000 lines, so that reading one takes a bounded time. Put long lists on one line, parted by commas."},
	{CodeLineTooLong, "a line is too long",
		"A line has at most 64 KiB, so that nobody has to review one that no screen shows. Spread the list over several rules."},
	{CodeByteOrderMark, "a byte-order mark",
		"The text is UTF-8 and needs no byte-order mark (U+FEFF). It is invisible, and programs differ in whether they skip it, so it is refused wherever it stands. Save the file as UTF-8 without one."},
	{CodeNUL, "a NUL byte",
		"A NUL ends the text for some programs and not for others. Remove it."},
	{CodeInvalidUTF8, "invalid UTF-8",
		"The bytes are not valid UTF-8, and replacing them would change what is signed. Save the file as UTF-8."},
	{CodeBareCR, "a carriage return without a line feed",
		"Some programs show a lone carriage return as a new line and some do not, so a rule could look like a comment. End lines with LF, or with CR LF."},
	{CodeNoVersion, "the version line is missing",
		"The first line that is neither blank nor a comment is `version: X.Y.Z`. It selects the policy format."},
	{CodeSecondVersion, "a second version line",
		"The version is said once, so that it cannot be read two ways. Remove the second line."},
	{CodeBadVersion, "a malformed version",
		"A version is three numbers with dots between, such as 2.1.0: no quotes, no leading zeros, no pre-release."},
	{CodeOtherVersion, "an unsupported version",
		"The supported formats are 1.x and 2.0 to 2.3. A later one may mean things that this engine would not enforce."},
	{CodeLateVersion, "the version line is not the first",
		"Only blank lines and comments may stand before `version: X.Y.Z`, since it says how to read the rest."},
	{CodeOpenComment, "an unclosed comment",
		"A `<!--` has no `-->`, so that everything after it would be a comment. Close it at the end of a line."},
	{CodeAfterComment, "text after a comment",
		"A comment ends at the end of a line. What follows `-->` might be taken for a rule or for none. Put it on a line of its own."},
	{CodeStrayComment, "a comment that does not start its line",
		"`<!--` starts a comment only where it stands first on its line. Elsewhere, in a comment too, programs differ about it. Move the comment to its own line, or quote the value that is meant to hold these characters."},
	{CodeInlineComment, "a comment after a value",
		"There are no comments at the end of a line: a `#` after white space, or at the start of an item, would be part of the value. Quote the value if it belongs to it, or move the comment to its own line."},
	{CodeCommentEnd, "an ambiguous end of a comment",
		"`<!-->`, `<!--->` and `--!>` end a comment for some programs and not for others. Close the comment with a plain `-->`."},
	{CodeBadHeading, "a malformed heading",
		"A section heading is `## name`: two signs at the start of the line, one space, the name, and nothing after it. Any other line that starts with `##` is refused, lest it be taken for a heading or for a comment."},
	{CodeIndentedHead, "an indented heading",
		"A section heading stands at the start of its line. Remove the white space before it."},
	{CodeUnknownSection, "an unknown section",
		"No section has this name. A rule that stands in an unknown section would be enforced by nobody."},
	{CodeSecondSection, "a repeated section",
		"Each section stands once in a file, so that all its rules are seen together. Move the entries to the first one."},
	{CodeNotAnEntry, "a line that is no entry",
		"Every line is blank, a comment, a section heading or an entry `key: value`."},
	{CodeSpaceColon, "a space before the colon",
		"The colon follows its key at once. Remove the space."},
	{CodeIndentedEntry, "an indented entry",
		"Entries start at the start of their line; only the lines of a block, such as `\"8453\": a, b`, are indented. Remove the white space before it."},
	{CodeBadKey, "a malformed key",
		"A key is made of names with single dots between. A name has letters, digits and the signs _ - @ $ / +. After the last name, words such as an operator may follow, each after a space."},
	{CodeBadScope, "a malformed scope",
		"A scope is written `[action=pattern]`, straight after the name it belongs to, without spaces. The pattern is not empty and has no brackets."},
	{CodeSecondKey, "a repeated key",
		"Only token addresses, deny_if, deny_string and allow_only rules add up. Any other key says one thing, once."},
	{CodeNoSection, "an entry outside a section",
		"Only the version line stands before the first section. Move the entry below the heading it belongs to."},
	{CodeNoValue, "a key without a value",
		"A key needs a value on its line, or an indented block below it."},
	{CodeBadDenyIf, "an incomplete deny_if",
		"The form is `deny_if.path operator value`. The operator may also be followed by a colon, or the colon may follow the path: the first colon directly after path or operator decides, and all later ones belong to the value."},
	{CodeTooManySegs, "a key of too many names",
		"A key has at most 32 names and words, more than any request nests."},
	{CodeTooManyItems, "a list of too many items",
		"A list has at most 4,096 items a line, so that reading one takes a bounded time."},
	{CodeOpenQuote, "an unclosed quote",
		"An item that begins with a quote ends with the same quote, on the same line; there are no escapes. Where the quote is part of the text, put the whole value between quotes of the other kind."},
	{CodeAfterQuote, "text after a closing quote",
		"Quotes take in a whole item: after the closing one comes a comma or the end of the line. Where the quotes are part of the text, put the whole value between quotes of the other kind."},
	{CodeEmptyItem, "an empty item",
		"A list has no empty items, between quotes or not: one would match nothing, or everything."},
	{CodeStrayBlockLine, "a numeric line outside a block",
		"A line such as `\"8453\": a, b` belongs, indented, below a key that stands alone on its line (`chain_actions:`)."},
	{CodeBadBlockLine, "a malformed block line",
		"A line of a block is indented and has a number, quoted or not, a colon, and its values."},
	{CodeSecondSigHead, "a second signature heading",
		"The line `## signature` divides what is signed from the signature, so exactly one may stand in the file, comments included."},
	{CodeOtherSigHead, "a signature heading in another spelling",
		"The heading is exactly `## signature` on a line of its own. Any other spelling, inside a comment too, might be taken for it by another program, which would then check other bytes."},
	{CodeNoSignature, "the signature line is missing",
		"Straight after `## signature` stands one line `svc-sig: ` with the signature. Sign the policy again."},
	{CodeBadSignature, "a malformed signature",
		"The signature is 64 bytes in unpadded base64url: 86 characters, the last one canonical. Sign the policy again."},
	{CodeAfterSignature, "text after the signature",
		"What follows the signature is not signed, so only blank lines may. Move it above `## signature` and sign the policy again."},
	{CodeUnexpected, "text that the grammar does not take",
		"The parser and the grammar disagree about this text, which is a defect of this program. The policy is refused."},
	{CodeCRLF, "Windows line ends",
		"Lines end in CR LF. That is accepted, and signed as it is; but a tool that changes the line ends breaks the signature. Prefer LF."},
	{CodeInvisible, "invisible characters",
		"Control, formatting and direction characters cannot be seen, and can make a rule look like another. Remove them unless a rule is about them."},
	{CodeMore, "more findings",
		"Only the first 100 errors and the first 100 warnings of a file are reported."},
}
