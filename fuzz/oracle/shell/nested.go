package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A commandReading is the reading of one command and of every text in it that is "read as commands of their own".
type commandReading struct {
	forms  []string
	script bool           // a shell takes what is read from its standard input
	sharer bool           // and a command in it can take a part of that
	fed    bool           // the runner at hand is given more words by `xargs` or `parallel`
	shell  bool           // a shell is started somewhere
	envs   []*syntax.Word // values given to ENV, which count "where the text also starts a shell"
	source map[*syntax.Word]string

	listing *listing // where the command is read for a list of allowed ones
}

// Forms returns the texts in which blocked commands are sought, and false for a command that cannot be judged
// (decisions, section 2, "Matching", `bash.blocked_commands`).
func Forms(command string) (forms []string, ok bool) {
	r := &commandReading{source: map[*syntax.Word]string{}}
	if !r.read(command, 0) {
		return nil, false
	}
	for at := 0; r.shell && at < len(r.envs); at++ {
		if !r.literalText(r.source[r.envs[at]], []*syntax.Word{r.envs[at]}, 1) {
			return nil, false
		}
	}
	return r.forms, true
}

// read reads one text and reports whether it can be judged. An empty text inside a command runs nothing.
func (r *commandReading) read(command string, depth int) bool {
	if len(command) > maxCommand || strings.ContainsAny(command, "\x00\r") || !bracketsNest(command) || depth > maxNesting {
		return false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	if err != nil || nesting(file) > maxNesting || endsInBackslash.MatchString(command) || depth == 0 && len(file.Stmts) == 0 {
		return false // "\"Empty\" is a text without any command, one of comments alone included" (choices)
	}
	r.forms = append(r.forms, textForms(command)...)
	return r.nodes(command, file, depth)
}

// endsInBackslash: "A text that ends in a single backslash does not parse" (choices), with nothing to escape.
var endsInBackslash = regexp.MustCompile(`(^|[^\\])(\\\\)*\\$`)

// nodes reads what lies in a syntax tree.
func (r *commandReading) nodes(command string, root syntax.Node, depth int) bool {
	ok := true
	var found []*syntax.Redirect // here-documents
	syntax.Walk(root, func(node syntax.Node) bool {
		if r.listing != nil && node != nil {
			r.listing.note(command, node)
		}
		switch node := node.(type) {
		case *syntax.Comment:
			ok = ok && commentEnds(command, node)
		case *syntax.Stmt:
			ok = ok && r.statement(command, node, depth)
		case *syntax.DeclClause: // `export`, `declare` and the like, which are simple commands too
			r.forms = append(r.forms, Collapsed(declarationWords(command, node)))
		case *syntax.LetClause, *syntax.CoprocClause:
			ok = ok && bareWords.MatchString(between(command, node.Pos().Offset(), node.End().Offset()))
		case *syntax.Assign:
			ok = ok && r.assignment(command, node, depth)
		case *syntax.ForClause:
			r.sharer = r.sharer || node.Select
			iter, words := node.Loop.(*syntax.WordIter)
			ok = ok && !(words && slices.Contains(readNames, iter.Name.Value))
		case *syntax.CmdSubst:
			ok = ok && !documentIn(node, node.Backquotes, node.Right)
		case *syntax.ProcSubst:
			ok = ok && !documentIn(node, false, node.Rparen)
		case *syntax.Redirect:
			if strings.HasPrefix(node.Op.String(), "<<") && node.Op != syntax.WordHdoc {
				found = append(found, node)
			}
		case *syntax.Word:
			ok = ok && r.quotedCode(node, depth)
		case *syntax.ExtGlob: // "an extended glob that holds an expansion" (choices)
			for _, expansion := range []string{"$", "`", "<(", ">("} {
				ok = ok && !strings.Contains(node.Pattern.Value, expansion)
			}
		}
		return ok
	})
	return ok && documentsEnd(command, found)
}

// commentEnds reports whether a comment ends where the parser says: not one "whose line ends in a backslash", and not one
// that is glued to what stands in front of it, which bash may read as a word.
func commentEnds(command string, comment *syntax.Comment) bool {
	at := int(comment.Hash.Offset())
	if at >= len(command) {
		return false
	}
	line, _, _ := strings.Cut(command[at:], "\n")
	return !strings.HasSuffix(line, `\`) && (at == 0 || strings.IndexByte(" \t\n;&|(", command[at-1]) >= 0)
}

// bareWords is "bare words (no quotes, no expansions)".
var bareWords = regexp.MustCompile(`^[-\w./:=+,%@^~!]+([ \t]+[-\w./:=+,%@^~!]+)*$`)

// statement reads a simple command, with the redirections that go with it.
func (r *commandReading) statement(command string, stmt *syntax.Stmt, depth int) bool {
	if cmd, ok := stmt.Cmd.(*syntax.CallExpr); ok {
		if len(cmd.Args) == 0 {
			return true
		}
		words := callWords(command, cmd)
		r.forms = append(r.forms, Collapsed(words))
		if strings.ContainsAny(words, "$`") {
			r.forms = append(r.forms, Collapsed(emptiedWords(command, cmd)))
		}
		for _, word := range cmd.Args {
			r.sharer = r.sharer || shares(strings.ToLower(path.Base(wordText(command, word.Parts))))
		}
		if cmd.Args[0].Lit() != "--" {
			return r.run(command, cmd.Args, stmt.Redirs, depth)
		}
		// No command is called so: it stands behind `time`, which bash takes it with.
		source := between(command, cmd.Pos().Offset(), cmd.End().Offset())
		return bareWords.MatchString(source) && r.run(command, cmd.Args[1:], stmt.Redirs, depth)
	}
	return true
}

// readNames are the variables whose value bash runs, or reads as the name of what it runs.
var readNames = []string{"PS4", "PROMPT_COMMAND", "BASH_ENV"}

// valueOfName finds "the value given to `PS4`, `PROMPT_COMMAND`, `BASH_ENV`, and to `ENV`".
var valueOfName = regexp.MustCompile(`^(PS4|PROMPT_COMMAND|BASH_ENV|ENV)(\[[^]]*\])?\+?=`)

func (r *commandReading) assignment(command string, assign *syntax.Assign, depth int) bool {
	if assign.Name == nil || !slices.Contains(append(readNames, "ENV"), assign.Name.Value) {
		return true
	}
	var words []*syntax.Word
	if assign.Value != nil {
		words = append(words, assign.Value)
	}
	if assign.Array != nil {
		for _, element := range assign.Array.Elems {
			if element.Value != nil {
				words = append(words, element.Value)
			}
		}
	}
	for _, word := range words {
		if assign.Name.Value == "ENV" {
			r.envs, r.source[word] = append(r.envs, word), command
		} else if !r.literalText(command, []*syntax.Word{word}, depth) {
			return false
		}
	}
	return true
}

// assignedWord reads a word such as `PS4=…` that a command takes.
func (r *commandReading) assignedWord(command string, word *syntax.Word, depth int) bool {
	text := wordText(command, word.Parts)
	found := valueOfName.FindString(text)
	if found == "" || strings.HasPrefix(found, "ENV") && !r.shell {
		return true
	}
	return !expands(word.Parts) && r.read(text[len(found):], depth+1)
}

// literalText reads the words as one command: "Such a text that is not literal is denied."
func (r *commandReading) literalText(command string, words []*syntax.Word, depth int) bool {
	var texts []string
	for _, word := range words {
		if expands(word.Parts) {
			return false
		}
		texts = append(texts, wordText(command, word.Parts))
	}
	return r.read(strings.Join(texts, " "), depth+1)
}

// expanded marks an expansion in a quoted text.
const expanded = "\x01"

// quotedCode reads "what stands in `$(…)` or backquotes inside quoted text" of a word, a here-document included.
func (r *commandReading) quotedCode(word *syntax.Word, depth int) bool {
	text := strings.NewReplacer(`\$(`, `$(`, "\\`", "`").Replace(quotedText(word.Parts, false))
	if !strings.Contains(text, "$(") && !strings.Contains(text, "`") {
		return true
	}
	if depth >= maxNesting {
		return false
	}
	document, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(text))
	if err != nil || strings.Contains(text, "\r") {
		return false
	}
	ok := true
	syntax.Walk(document, func(node syntax.Node) bool {
		if sub, found := node.(*syntax.CmdSubst); found {
			inner := between(text, sub.Left.Offset(), sub.Right.Offset())
			inner = strings.TrimPrefix(strings.TrimPrefix(inner, "$("), "`")
			ok = ok && !strings.Contains(inner, expanded) && r.read(inner, depth+1)
			return false
		}
		return ok
	})
	return ok
}

// quotedText is a word without its quoting, with a mark for each of its expansions.
func quotedText(parts []syntax.WordPart, double bool) string {
	text := ""
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text += unescaped(part.Value, double)
		case *syntax.SglQuoted:
			text += singleQuoted(part)
		case *syntax.DblQuoted:
			text += quotedText(part.Parts, true)
		default:
			text += expanded
		}
	}
	return text
}

// inputs reads the here-documents and here-strings of a shell, `source` or `.`, and reports whether there is one, and
// nothing else that the command reads. Each is a text that has to be literal.
func (r *commandReading) inputs(command string, redirs []*syntax.Redirect, depth int, read func(text string, depth int) bool) (given, ok bool) {
	for _, redirect := range redirs {
		switch redirect.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if redirect.Hdoc != nil {
				body := ""
				for _, part := range redirect.Hdoc.Parts {
					lit, literal := part.(*syntax.Lit)
					if !literal {
						return false, false
					}
					body += documentText(lit.Value)
				}
				if delimiter := between(command, redirect.Word.Pos().Offset(), redirect.Word.End().Offset()); strings.ContainsAny(delimiter, `'"\`) {
					body = redirect.Hdoc.Lit()
				}
				if !read(body, depth+1) {
					return false, false
				}
			}
			given = true
		case syntax.WordHdoc:
			if expands(redirect.Word.Parts) || !read(wordText(command, redirect.Word.Parts), depth+1) {
				return false, false
			}
			given = true
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			return false, true
		}
	}
	return given, true
}

// sharers "can take a part of its input" (choices).
var sharers = strings.Fields(`read mapfile readarray dd head tail sed awk mawk nawk grep egrep fgrep sudo openssl gpg python python2 python3
	perl ruby node php lua tclsh bc dc ed ex vi vim line od xxd hexdump hd cmp split csplit cpio tar`)

// shares reports whether a program is among them, under its name or with the g that GNU's programs have on some systems.
func shares(program string) bool {
	return slices.Contains(sharers, program) || program != "" && program[0] == 'g' && slices.Contains(sharers, program[1:])
}

// shared is "letters, digits, white space and `_ . / : = @ % + , - ; & |`".
var shared = regexp.MustCompile(`^[a-zA-Z0-9\s_./:=@%+,;&|-]*$`)

// sharedScript reads a script that "a shell takes from its standard input".
func (r *commandReading) sharedScript(text string, depth int) bool {
	script, sharer := r.script, r.sharer
	r.script, r.sharer = true, false
	ok := r.read(text, depth)
	_, rest, _ := strings.Cut(text, "\n")
	rest = strings.TrimSpace(rest)
	if r.sharer && rest != "" {
		ok = ok && r.listing == nil && shared.MatchString(rest)
	}
	r.script, r.sharer = script, sharer
	return ok
}

// exchanged reads the redirections of an `exec` without a command in such a script.
func (r *commandReading) exchanged(command string, redirs []*syntax.Redirect, depth int) bool {
	for _, redirect := range redirs {
		of := ""
		if redirect.N != nil {
			of = redirect.N.Value
		}
		operand, plain := wordText(command, redirect.Word.Parts), !expands(redirect.Word.Parts)
		passes := false
		switch redirect.Op.String() {
		case "<<", "<<-", "<<<":
			given, ok := r.inputs(command, []*syntax.Redirect{redirect}, depth, r.sharedScript)
			passes = given && ok && (of == "" || of == "0")
		case "<":
			passes = plain && (operand == "/dev/null" || len(of) > 0 && strings.IndexFunc(of, func(c rune) bool { return c < '1' || c > '9' }) < 0 && !standardInput.MatchString(operand) && strings.Trim(path.Base(operand), "0123456789") != "")
		case ">&":
			passes = plain && of != "0" && slices.Contains([]string{"1", "2", "-"}, operand)
		case ">", ">>", ">|", "&>", "&>>":
			passes = of != "0"
		}
		if !passes {
			return false
		}
	}
	return true
}

// documentText removes the backslashes of a here-document: as between double quotes, but those before a double quote stay,
// which "shall not be treated specially within a here-document" (POSIX Shell Command Language, 2.7.4).
func documentText(literal string) string {
	text := ""
	for {
		at := strings.IndexByte(literal, '\\')
		if at < 0 || at+1 == len(literal) {
			return text + literal
		}
		escape := literal[at : at+2]
		if escape != `\"` {
			escape = unescaped(escape, true)
		}
		text, literal = text+literal[:at]+escape, literal[at+2:]
	}
}
