package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A listing is what a list of allowed commands has to cover of a command: "every simple command's words begin with an entry's
// words, after quote removal".
type listing struct {
	calls []listedCall
	ok    bool
}

// A listedCall is a simple command: its words up to the first that is not written out, and whether that is all of them.
type listedCall struct {
	words []string
	all   bool
	whole bool // it counts with all of its words alone
}

// Lists reports whether every simple command of a command begins with an entry of a list of allowed commands. "What
// `blocked_commands` refuses for its form is denied under `allowed_commands`."
func Lists(entries []string, command string) bool {
	found := listCommands(command)
	allowed := found.ok && len(found.calls) > 0
	for _, call := range found.calls {
		allowed = allowed && coversCall(entries, call)
	}
	return allowed
}

func coversCall(entries []string, call listedCall) bool {
	for _, entry := range entries {
		first := listCommands(entry).calls[0].words
		begins := len(first) <= len(call.words) && strings.Join(first, "\x00") == strings.Join(call.words[:min(len(first), len(call.words))], "\x00")
		if begins && (!call.whole || call.all && len(first) == len(call.words)) {
			return true
		}
	}
	return false
}

// listCommands reads a command for a list of allowed ones: everything that is read for blocked ones, of which each simple
// command counts.
func listCommands(command string) listing {
	r := &commandReading{source: map[*syntax.Word]string{}, listing: &listing{ok: true}}
	if !r.read(command, 0) {
		return listing{}
	}
	if _, readable := Forms(command); !readable {
		return listing{}
	}
	return *r.listing
}

// note takes down what a node says to a list of allowed commands. "Assignments before a command, function and alias
// definitions, … redirections that write anywhere but `/dev/null` or a descriptor … are denied", and so is what assigns or evaluates in
// another way (choices).
func (l *listing) note(command string, node syntax.Node) {
	switch node := node.(type) {
	case *syntax.Assign, *syntax.DeclClause, *syntax.FuncDecl, *syntax.ForClause, *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause,
		*syntax.CoprocClause, *syntax.TimeClause, *syntax.TestDecl:
		l.ok = false
	case *syntax.Stmt: // before what it evaluates
		if call, ok := node.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			l.call(command, call.Args)
		}
	case *syntax.Redirect:
		l.ok = l.ok && redirectAllowed(command, node)
	case *syntax.ParamExp:
		whole := false
		if word, isWord := node.Index.(*syntax.Word); isWord {
			whole = word.Lit() == "@" || word.Lit() == "*"
		}
		assigns := node.Exp != nil && strings.HasSuffix(node.Exp.Op.String(), "=")
		l.ok = l.ok && !assigns && !node.Excl && node.Slice == nil && (node.Index == nil || whole)
	case *syntax.UnaryTest:
		l.ok = l.ok && !slices.Contains([]string{"-v", "-R"}, node.Op.String())
	case *syntax.BinaryTest:
		l.ok = l.ok && !slices.Contains([]string{"-eq", "-ne", "-le", "-ge", "-lt", "-gt"}, node.Op.String())
	}
}

// evaluating are the commands that run, evaluate or assign what their words name: "runners, unless listed with the command that
// they run". Without case, and in any folder.
var evaluating = strings.Fields("eval trap source . mapfile readarray compgen complete bind fc set shopt hash jobs read getopts unset wait " +
	"let declare typeset local export readonly enable unalias alias")

func (l *listing) call(command string, words []*syntax.Word) {
	call := listedCall{all: true}
	var texts []string
	for _, word := range words {
		text := wordText(command, word.Parts)
		texts = append(texts, text)
		if !writtenOut(command, word) {
			call.all = false
		}
		if call.all {
			call.words = append(call.words, text)
		}
	}
	name := strings.ToLower(texts[0][strings.LastIndex(texts[0], "/")+1:])
	_, call.whole = runners[name]
	call.whole = call.whole || slices.Contains(evaluating, name)
	for i, text := range texts[1:] {
		switch name {
		case "find":
			call.whole = call.whole || slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, text)
		case "test", "[":
			call.whole = call.whole || text == "-v" || text == "-R"
		case "printf":
			call.whole = call.whole || i == 0 && (strings.HasPrefix(text, "-v") || !writtenOut(command, words[1]))
		}
	}
	l.ok = l.ok && strings.ToLower(texts[0]) != "alias"
	l.calls = append(l.calls, call)
}

// writtenOut reports whether a word is what it says: neither an expansion nor a home directory, and without control
// characters that no name has.
func writtenOut(command string, word *syntax.Word) bool {
	if expands(word.Parts) || len(word.Parts) == 0 {
		return false
	}
	if lit, isLit := word.Parts[0].(*syntax.Lit); isLit && strings.HasPrefix(lit.Value, "~") {
		return false
	}
	return !strings.ContainsAny(wordText(command, word.Parts), "\x00\x01\x02\x03")
}

// digits is a number, as descriptors have it.
var digits = regexp.MustCompile(`^[0-9]+$`)

// redirectAllowed: none "that write anywhere but `/dev/null` or a descriptor", nor one to a file or connection that only the shell
// knows.
func redirectAllowed(command string, redirect *syntax.Redirect) bool {
	if redirect.N != nil && !digits.MatchString(redirect.N.Value) {
		return false
	}
	operator := redirect.Op.String()
	if strings.HasPrefix(operator, "<<") {
		return true
	}
	if !writtenOut(command, redirect.Word) {
		return false
	}
	switch text := wordText(command, redirect.Word.Parts); operator {
	case "<":
		return !strings.Contains(text, "/dev/tcp/") && !strings.Contains(text, "/dev/udp/")
	case "<&", ">&":
		return text == "-" || digits.MatchString(strings.TrimSuffix(text, "-"))
	case ">", ">>", ">|", "&>", "&>>":
		return text == "/dev/null"
	}
	return false
}
