package grammar

// What many of the examples below have in common. Where one shows `…` there is more of the same than a page holds.
const (
	exampleVersion   = "version: 2.1.0\n\n"
	exampleTools     = exampleVersion + "## tool_calls\n"
	exampleSignature = "svc-sig: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
)

// The codes of this package. Codes are never used again for anything else.
var (
	CodeTooLarge = define("E1001", CodeInfo{Title: "the file is too large",
		Explanation: "A policy has at most 256 KiB. The bound is checked before anything else looks at the text. Divide the actions among several API keys, or shorten the lists.",
		Wrong:       exampleTools + "bash.blocked_commands: rm -rf, …\n",
		Right:       exampleTools + "allowed: bash\nbash.blocked_commands: rm -rf\n"})

	CodeTooManyLines = define("E1002", CodeInfo{Title: "the file has too many lines",
		Explanation: "A policy has at most 10,000 lines, so that reading one takes a bounded time. Put long lists on one line, separated by commas.",
		Wrong:       exampleTools + "allowed: bash\n…\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeLineTooLong = define("E1003", CodeInfo{Title: "a line is too long",
		Explanation: "A line has at most 64 KiB, because a longer one cannot be reviewed on a screen. Spread the list over several rules.",
		Wrong:       exampleTools + "allowed: bash\nbash.blocked_commands: …\n",
		Right:       exampleTools + "allowed: bash\nbash.blocked_commands: rm -rf\n"})

	CodeByteOrderMark = define("E1004", CodeInfo{Title: "a byte-order mark", Fix: FixSafe,
		Explanation: "The text is UTF-8 and needs no byte-order mark (U+FEFF). It is invisible, and programs differ in whether they skip it, so it is refused everywhere. Save the file as UTF-8 without one.",
		Wrong:       "\uFEFF" + exampleTools + "allowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeNUL = define("E1005", CodeInfo{Title: "a NUL byte", Fix: FixGuess,
		Explanation: "A NUL ends the text for some programs and not for others. Remove it.",
		Wrong:       exampleTools + "allowed: bash" + "\x00\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeInvalidUTF8 = define("E1006", CodeInfo{Title: "invalid UTF-8",
		Explanation: "The bytes are not valid UTF-8, and replacing them would change the signed text. Save the file as UTF-8.",
		Wrong:       exampleVersion + "## custom\ndeny_string: caf" + "\xe9\n",
		Right:       exampleVersion + "## custom\ndeny_string: café\n"})

	CodeBareCR = define("E1007", CodeInfo{Title: "a carriage return without a line feed", Fix: FixGuess,
		Explanation: "Some programs show a lone carriage return as a new line and some do not, so a rule could look like a comment. End lines with LF, or with CR LF.",
		Wrong:       exampleVersion + "## tool_calls\n# Only this:" + "\rallowed: bash\n",
		Right:       exampleVersion + "## tool_calls\n# Only this:\nallowed: bash\n"})

	CodeNoVersion = define("E1010", CodeInfo{Title: "the version line is missing", Fix: FixSafe,
		Explanation: "The first line that is neither blank nor a comment is `version: X.Y.Z`. It selects the policy format.",
		Wrong:       "## tool_calls\nallowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeSecondVersion = define("E1011", CodeInfo{Title: "a second version line",
		Explanation: "The version is given once, so that it cannot be read two ways. Remove the second line.",
		Wrong:       "version: 2.1.0\nversion: 2.0.0\n\n## tool_calls\nallowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeBadVersion = define("E1012", CodeInfo{Title: "a malformed version", Fix: FixSafe,
		Explanation: "A version is three numbers with dots between, such as 2.1.0: no quotes, no leading zeros, no pre-release.",
		Wrong:       "version: 2.1\n\n## tool_calls\nallowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeOtherVersion = define("E1013", CodeInfo{Title: "an unsupported version",
		Explanation: "The supported formats are 1.x and 2.0 to 2.4. A later one may mean things that this engine would not enforce.",
		Wrong:       "version: 3.0.0\n\n## tool_calls\nallowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeLateVersion = define("E1014", CodeInfo{Title: "the version line is not the first",
		Explanation: "Only blank lines and comments may come before `version: X.Y.Z`, since it says how to read the rest.",
		Wrong:       "## tool_calls\nversion: 2.1.0\nallowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeOpenComment = define("E1020", CodeInfo{Title: "an unclosed comment",
		Explanation: "A `<!--` has no `-->`, so that everything after it would be a comment. Close it at the end of a line.",
		Wrong:       exampleVersion + "<!-- What the agent may use.\n## tool_calls\nallowed: bash\n",
		Right:       exampleVersion + "<!-- What the agent may use. -->\n## tool_calls\nallowed: bash\n"})

	CodeAfterComment = define("E1021", CodeInfo{Title: "text after a comment",
		Explanation: "A comment ends at the end of a line. Programs could differ on whether the text after `-->` is a rule. Put it on a line of its own.",
		Wrong:       exampleVersion + "## tool_calls\n<!-- shells --> allowed: bash\n",
		Right:       exampleVersion + "## tool_calls\n<!-- shells -->\nallowed: bash\n"})

	CodeStrayComment = define("E1022", CodeInfo{Title: "a comment that does not start its line",
		Explanation: "`<!--` starts a comment only at the beginning of its line. Elsewhere, in a comment too, programs differ about it. Move the comment to its own line, or quote the value that is meant to hold these characters.",
		Wrong:       exampleTools + "allowed: bash <!-- shells -->\n",
		Right:       exampleVersion + "## tool_calls\n<!-- shells -->\nallowed: bash\n"})

	CodeInlineComment = define("E1023", CodeInfo{Title: "a comment after a value", Fix: FixGuess,
		Explanation: "There are no comments at the end of a line: a `#` after white space, or at the start of an item, would be part of the value. Quote the value if it belongs to it, or move the comment to its own line.",
		Wrong:       exampleTools + "allowed: bash # shells\n",
		Right:       exampleTools + "# shells\nallowed: bash\n"})

	CodeCommentEnd = define("E1024", CodeInfo{Title: "an ambiguous end of a comment",
		Explanation: "`<!-->`, `<!--->` and `--!>` end a comment for some programs and not for others. Close the comment with a plain `-->`.",
		Wrong:       exampleVersion + "<!-- Shells. --!>\nOnly those. -->\n## tool_calls\nallowed: bash\n",
		Right:       exampleVersion + "<!-- Shells.\nOnly those. -->\n## tool_calls\nallowed: bash\n"})

	CodeBadHeading = define("E1030", CodeInfo{Title: "a malformed heading", Fix: FixSafe,
		Explanation: "A section heading is `## name`: two signs at the start of the line, one space, the name, and nothing after it. Any other line that starts with `##` is refused, because it could be taken for a heading or for a comment.",
		Wrong:       exampleVersion + "##tool_calls\nallowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeIndentedHead = define("E1031", CodeInfo{Title: "an indented heading", Fix: FixSafe,
		Explanation: "A section heading begins at the start of its line. Remove the white space before it.",
		Wrong:       exampleVersion + "  ## tool_calls\nallowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeUnknownSection = define("E1032", CodeInfo{Title: "an unknown section", Fix: FixSafe,
		Explanation: "No section has this name. A rule in an unknown section would never be enforced.",
		Wrong:       exampleVersion + "## tools\nallowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeSecondSection = define("E1033", CodeInfo{Title: "a repeated section",
		Explanation: "Each section may occur once in a file, so that all its rules are seen together. Move the entries to the first one.",
		Wrong:       exampleTools + "allowed: bash\n\n## tool_calls\nbash.blocked_commands: rm -rf\n",
		Right:       exampleTools + "allowed: bash\nbash.blocked_commands: rm -rf\n"})

	CodeSectionLetters = define("E1034", CodeInfo{Title: "a section in letters of another alphabet", Fix: FixGuess,
		Explanation: "Only the case of ASCII letters is ignored in names of sections. A letter of another alphabet is a different letter, even if its upper or lower case is in ASCII.",
		Wrong:       exampleTools + "allowed: bash\n\n## soft_l\u0130mits\ndaily_tool_calls: 5\n",
		Right:       exampleTools + "allowed: bash\n\n## soft_limits\ndaily_tool_calls: 5\n"})

	CodeNotAnEntry = define("E1040", CodeInfo{Title: "a line that is not an entry", Fix: FixSafe,
		Explanation: "Every line is blank, a comment, a section heading or an entry `key: value`.",
		Wrong:       exampleTools + "allow bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeSpaceColon = define("E1041", CodeInfo{Title: "a space before the colon", Fix: FixSafe,
		Explanation: "The colon follows its key at once. Remove the space.",
		Wrong:       exampleTools + "allowed : bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeIndentedEntry = define("E1042", CodeInfo{Title: "an indented entry", Fix: FixSafe,
		Explanation: "Entries start at the start of their line; only the lines of a block, such as `\"8453\": a, b`, are indented. Remove the white space before it.",
		Wrong:       exampleTools + "  allowed: bash\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeBadKey = define("E1043", CodeInfo{Title: "a malformed key", Fix: FixSafe,
		Explanation: "A key is made of names with single dots between. A name has letters, digits and the signs _ - @ $ / +. After the last name, words such as an operator may follow, each after a space.",
		Wrong:       exampleTools + "allowed: bash\nbash..blocked_commands: rm -rf\n",
		Right:       exampleTools + "allowed: bash\nbash.blocked_commands: rm -rf\n"})

	CodeBadScope = define("E1044", CodeInfo{Title: "a malformed scope", Fix: FixGuess,
		Explanation: "A scope is written `[action=pattern]`, straight after the name it belongs to, without spaces. The pattern is not empty and has no brackets.",
		Wrong:       exampleVersion + "## custom\nallow_only[bash].metadata.team: ops\n",
		Right:       exampleVersion + "## custom\nallow_only[action=bash].metadata.team: ops\n"})

	CodeSecondKey = define("E1045", CodeInfo{Title: "a repeated key",
		Explanation: "Only token addresses, deny_if, deny_string and allow_only rules add up. Any other key may appear only once.",
		Wrong:       exampleTools + "allowed: bash\nallowed: web_fetch\n",
		Right:       exampleTools + "allowed: bash, web_fetch\n"})

	CodeNoSection = define("E1046", CodeInfo{Title: "an entry outside a section",
		Explanation: "Only the version line may come before the first section. Move the entry below the heading it belongs to.",
		Wrong:       "version: 2.1.0\nallowed: bash\n\n## tool_calls\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeNoValue = define("E1047", CodeInfo{Title: "a key without a value",
		Explanation: "A key needs a value on its line, or an indented block below it.",
		Wrong:       exampleTools + "allowed:\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeBadDenyIf = define("E1048", CodeInfo{Title: "an incomplete deny_if",
		Explanation: "The form is `deny_if.path operator value`. The operator may also be followed by a colon, or the colon may follow the path: the first colon directly after path or operator decides, and all later ones belong to the value.",
		Wrong:       exampleVersion + "## custom\ndeny_if.metadata.environment: production\n",
		Right:       exampleVersion + "## custom\ndeny_if.metadata.environment equals production\n"})

	CodeTooManySegs = define("E1049", CodeInfo{Title: "a key of too many names",
		Explanation: "A key has at most 32 names and words, more than any request nests.",
		Wrong:       exampleVersion + "## custom\ndeny_if.metadata.a.b.c.… equals 1\n",
		Right:       exampleVersion + "## custom\ndeny_if.metadata.a.b.c equals 1\n"})

	CodeTooManyItems = define("E1050", CodeInfo{Title: "a list of too many items",
		Explanation: "A list has at most 4,096 items a line, so that reading one takes a bounded time.",
		Wrong:       exampleVersion + "## custom\nallow_only.metadata.team: ops, …\n",
		Right:       exampleVersion + "## custom\nallow_only.metadata.team starts_with: ops-\n"})

	CodeOpenQuote = define("E1051", CodeInfo{Title: "an unclosed quote",
		Explanation: "An item that begins with a quote ends with the same quote, on the same line; there are no escapes, but in the JSON string of `response.deny_string`. Where the quote is part of the text, put the whole value between quotes of the other kind.",
		Wrong:       exampleTools + "allowed: bash\nbash.blocked_commands: \"rm -rf\n",
		Right:       exampleTools + "allowed: bash\nbash.blocked_commands: \"rm -rf\"\n"})

	CodeAfterQuote = define("E1052", CodeInfo{Title: "text after a closing quote",
		Explanation: "Quotes take in a whole item: after the closing one comes a comma or the end of the line. Where the quotes are part of the text, put the whole value between quotes of the other kind.",
		Wrong:       exampleTools + "allowed: bash\nbash.blocked_commands: \"rm\" -rf\n",
		Right:       exampleTools + "allowed: bash\nbash.blocked_commands: '\"rm\" -rf'\n"})

	CodeEmptyItem = define("E1053", CodeInfo{Title: "an empty item",
		Explanation: "A list has no empty items, between quotes or not: one would match nothing, or everything.",
		Wrong:       exampleTools + "allowed: bash,, web_fetch\n",
		Right:       exampleTools + "allowed: bash, web_fetch\n"})

	CodeStrayBlockLine = define("E1054", CodeInfo{Title: "a numeric line outside a block", Fix: FixSafe,
		Explanation: "A line such as `\"8453\": a, b` belongs, indented, below a key that is alone on its line (`chain_actions:`).",
		Wrong:       "version: 2.1.0\n\n## evm\nallowed_chains: 8453\n  \"8453\": wallet.transfer\nmax_transaction_eth: 0.5\n",
		Right:       "version: 2.1.0\n\n## evm\nallowed_chains: 8453\nchain_actions:\n  \"8453\": wallet.transfer\nmax_transaction_eth: 0.5\n"})

	CodeBadBlockLine = define("E1055", CodeInfo{Title: "a malformed block line",
		Explanation: "A line of a block is indented and has a number, quoted or not, a colon, and its values.",
		Wrong:       "version: 2.1.0\n\n## evm\nallowed_chains: 8453\nchain_actions:\n  \"base\": wallet.transfer\nmax_transaction_eth: 0.5\n",
		Right:       "version: 2.1.0\n\n## evm\nallowed_chains: 8453\nchain_actions:\n  \"8453\": wallet.transfer\nmax_transaction_eth: 0.5\n"})

	CodeLookalike = define("E1056", CodeInfo{Title: "a character that is taken for another", Fix: FixGuess,
		Explanation: "Full-width commas do not divide a list, dashes are not hyphens, and spaces of other kinds, line separators and characters that can't be seen are part of the text. Word processors and chats put them in place of plain ones, and the rule then is about a text that no request has. Where one is meant, put the text between quotes.",
		Wrong:       exampleTools + "allowed: bash\nbash.blocked_commands: rm \u2013rf\n",
		Right:       exampleTools + "allowed: bash\nbash.blocked_commands: rm -rf\n"})

	CodeForeignForm = define("E1057", CodeInfo{Title: "lines in the form of another format", Fix: FixSafe,
		Explanation: "A policy is lines: headings `## name`, entries `key: value` at the start of their line with their whole key, lists on the line of their key with commas between, comments that begin with `#`. The nesting and lists of YAML, JSON, XML, blocks of HCL, sections and equals signs of INI and TOML, values that a backslash continues, and the tables, bullets, code fences, rulers and front matter of Markdown are not read. The lines that are in such a form are one finding, which says what a policy has in their place.",
		Wrong:       exampleTools + "allowed:\n  - bash\n  - http\n",
		Right:       exampleTools + "allowed: bash, http\n"})

	CodeSecondSigHead = define("E1060", CodeInfo{Title: "a second signature heading",
		Explanation: "The line `## signature` separates the signed text from the signature, so a file may contain exactly one, comments included.",
		Wrong:       exampleTools + "allowed: bash\n## signature\n## signature\n" + exampleSignature,
		Right:       exampleTools + "allowed: bash\n## signature\n" + exampleSignature})

	CodeOtherSigHead = define("E1061", CodeInfo{Title: "a signature heading in another spelling",
		Explanation: "The heading is exactly `## signature` on a line of its own. Any other spelling, inside a comment too, might be taken for it by another program, which would then check other bytes.",
		Wrong:       exampleTools + "allowed: bash\n## Signature\n" + exampleSignature,
		Right:       exampleTools + "allowed: bash\n## signature\n" + exampleSignature})

	CodeNoSignature = define("E1062", CodeInfo{Title: "the signature line is missing",
		Explanation: "The line directly after `## signature` is `svc-sig: ` and the signature. Sign the policy again.",
		Wrong:       exampleTools + "allowed: bash\n## signature\n",
		Right:       exampleTools + "allowed: bash\n## signature\n" + exampleSignature})

	CodeBadSignature = define("E1063", CodeInfo{Title: "a malformed signature",
		Explanation: "The signature is 64 bytes in unpadded base64url: 86 characters, the last one canonical. Sign the policy again.",
		Wrong:       exampleTools + "allowed: bash\n## signature\nsvc-sig: to be signed\n",
		Right:       exampleTools + "allowed: bash\n## signature\n" + exampleSignature})

	CodeAfterSignature = define("E1064", CodeInfo{Title: "text after the signature",
		Explanation: "What follows the signature is not signed, so only blank lines may. Move it above `## signature` and sign the policy again.",
		Wrong:       exampleTools + "allowed: bash\n## signature\n" + exampleSignature + "\n## custom\ndeny_string: BEGIN PRIVATE KEY\n",
		Right:       exampleTools + "allowed: bash\n\n## custom\ndeny_string: BEGIN PRIVATE KEY\n## signature\n" + exampleSignature})

	CodeUnexpected = define("E1099", CodeInfo{Title: "text that the grammar does not take",
		Explanation: "The parser and the grammar disagree about this text, which is a defect of this program. The policy is refused."})

	CodeCRLF = define("W1001", CodeInfo{Title: "Windows line ends",
		Explanation: "Lines end in CR LF. That is accepted, and signed as it is; but a tool that changes the line ends breaks the signature. Prefer LF.",
		Wrong:       "version: 2.1.0\r\n\r\n## tool_calls\r\nallowed: bash\r\n",
		Right:       exampleTools + "allowed: bash\n"})

	CodeInvisible = define("W1002", CodeInfo{Title: "invisible characters",
		Explanation: "Control, formatting and direction characters cannot be seen, and can make a rule look like another. In an entry they are an error unless they are between quotes. Remove them unless a rule is about them.",
		Wrong:       exampleVersion + "## custom\ndeny_if.metadata.team equals \"op" + "\u200bs\"\n",
		Right:       exampleVersion + "## custom\ndeny_if.metadata.team equals ops\n"})

	CodeMore = define("N1000", CodeInfo{Title: "more findings",
		Explanation: "Only the first 100 errors and the first 100 warnings of a file are reported.",
		Wrong:       exampleTools + "allow : bash\n…\n",
		Right:       exampleTools + "allowed: bash\n"})
)
