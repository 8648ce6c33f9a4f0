package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Why a command that can be read is on no list of allowed ones, whatever the list has.
var (
	errForm     = errors.New("where commands are allowed by a list, it may have no assignments, definitions, arithmetic, `for`, `time` and `coproc`")
	errRedirect = errors.New("where commands are allowed by a list, it may write to /dev/null and descriptors only, and read files that are written out")
	errEvaluate = errors.New("where commands are allowed by a list, it may not evaluate or assign in an expansion or a test")
)

// The marks in what [Listed] returns. No word of it has them.
const (
	wordEnd   = "\x00"
	wholeMark = "\x01" // in front of a command that must be listed with all its words
	wholeEnd  = "\x02" // behind it
	unlisted  = "\x03" // in front of what no entry covers
	lastMark  = unlisted
)

// Listed returns the simple commands of a text, those included that are in texts which the shell evaluates and in
// substitutions, in the form in which a list of allowed commands is held against them: an entry of [ListedEntry] covers a
// command if it is the beginning of it. The errors are those of [Read], and what a list can't allow: forms that change what
// the words of other commands mean, and redirections that write.
//
// A command's words are compared after quote removal, up to the first that the shell expands. A runner, and a builtin that
// evaluates its words or assigns to variables, is covered by an entry with all of its words alone.
func Listed(raw string) (calls []string, err error) {
	r := reader{left: maxInner, lists: true}
	if r.script(raw); r.err == nil && r.empty {
		r.err = errEmpty
	}
	if r.err == nil {
		r.finish()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.listed, nil
}

// ShowListed returns one of the commands of [Listed] for messages.
func ShowListed(call string) string {
	return strings.TrimSpace(strings.NewReplacer(wordEnd, " ", wholeMark, "", wholeEnd, "", unlisted, "").Replace(call))
}

// ListedEntry returns the beginning of commands that an entry of a list of allowed commands means.
func ListedEntry(text string) (beginning string, err error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("an allowed command is empty: write its first words, such as `git status`")
	}
	calls, err := Listed(text)
	if err != nil {
		return "", fmt.Errorf("an allowed command is the first words of one command: %w", err)
	}
	if !isOneCommand(text) || strings.HasPrefix(calls[0], unlisted) {
		return "", fmt.Errorf("%q is not the first words of one command, written out: list each command by itself", text)
	}
	return calls[0], nil
}

// isOneCommand reports whether a text that can be read is a simple command, and nothing but words that are written out.
func isOneCommand(text string) bool {
	file, err := parse(text, syntax.LangBash)
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return false
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	w := walker{raw: text}
	return ok && !stmt.Background && !stmt.Negated && len(stmt.Redirs) == 0 && len(stmt.Comments) == 0 &&
		!slices.ContainsFunc(call.Args, func(word *syntax.Word) bool { return !w.isWritten(word) })
}

// list notes a simple command.
func (w *walker) list(words []*syntax.Word) {
	var b strings.Builder
	plain := 0
	for plain < len(words) && w.isWritten(words[plain]) {
		b.WriteString(w.text(words[plain].Parts, false))
		b.WriteString(wordEnd)
		plain++
	}
	all := plain == len(words)
	switch {
	case plain == 0 || !all && w.needsAll(words):
		w.listed = append(w.listed, unlisted+b.String())
	case w.needsAll(words):
		w.listed = append(w.listed, wholeMark+b.String()+wholeEnd)
	default:
		w.listed = append(w.listed, b.String())
	}
}

// isWritten reports whether a word means itself: no expansion, no home directory, and none of the marks.
func (w *walker) isWritten(word *syntax.Word) bool {
	if len(word.Parts) == 0 {
		return false
	}
	if lit, ok := word.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "~") {
		return false
	}
	return isPlain(word.Parts, false) && strings.IndexFunc(w.text(word.Parts, false), func(r rune) bool { return r <= rune(lastMark[0]) }) < 0
}

// assigners are the builtins, beside those in evaluators, that change what the words of other commands mean.
var assigners = map[string]bool{"enable": true, "unalias": true}

// needsAll reports whether a command runs, evaluates or assigns what its words name, so that its first words say little.
func (w *walker) needsAll(words []*syntax.Word) bool {
	name := w.text(words[0].Parts, false)
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	has := func(options ...string) bool {
		for _, word := range words[1:] {
			for _, option := range options {
				if text := w.text(word.Parts, false); text == option {
					return true
				}
			}
		}
		return false
	}
	switch name {
	case "find":
		return has("-exec", "-execdir", "-ok", "-okdir")
	case "test", "[":
		return has("-v", "-R")
	case "printf":
		return len(words) > 1 && (!w.isWritten(words[1]) || strings.HasPrefix(w.text(words[1].Parts, false), "-v"))
	}
	_, evaluates := evaluators[name]
	return IsRunner(name) || evaluates || assigners[name]
}

// listable refuses what a list of allowed commands can't allow.
func (w *walker) listable(node syntax.Node) {
	switch node := node.(type) {
	case *syntax.ForClause, *syntax.DeclClause, *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause, *syntax.FuncDecl,
		*syntax.CoprocClause, *syntax.TimeClause, *syntax.TestDecl, *syntax.Assign:
		w.refuse(errForm, node)
	case *syntax.CallExpr:
		if len(node.Args) > 0 && strings.EqualFold(w.text(node.Args[0].Parts, false), "alias") {
			w.refuse(errForm, node)
		}
	case *syntax.Redirect:
		if !w.harmless(node) {
			w.refuse(errRedirect, node)
		}
	case *syntax.ParamExp:
		assigns := node.Exp != nil && (node.Exp.Op == syntax.AssignUnset || node.Exp.Op == syntax.AssignUnsetOrNull)
		if assigns || node.Excl || node.Slice != nil || node.Index != nil && !isWhole(node.Index) {
			w.refuse(errEvaluate, node)
		}
	case *syntax.UnaryTest:
		if node.Op == syntax.TsVarSet || node.Op == syntax.TsRefVar {
			w.refuse(errEvaluate, node)
		}
	case *syntax.BinaryTest:
		switch node.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			w.refuse(errEvaluate, node)
		}
	}
}

// harmless reports whether a redirection writes nowhere but to /dev/null or a descriptor, and reads no more than a file that
// is written out. Bash opens connections by names below /dev/tcp and /dev/udp.
func (w *walker) harmless(node *syntax.Redirect) bool {
	if node.N != nil && strings.Trim(node.N.Value, "0123456789") != "" {
		return false
	}
	switch node.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return true
	}
	if !w.isWritten(node.Word) {
		return false
	}
	switch text := w.text(node.Word.Parts, false); node.Op {
	case syntax.RdrIn:
		return !strings.Contains(text, "/dev/tcp/") && !strings.Contains(text, "/dev/udp/")
	case syntax.DplIn, syntax.DplOut:
		digits := strings.TrimSuffix(text, "-")
		return text != "" && strings.Trim(digits, "0123456789") == ""
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		return text == "/dev/null"
	}
	return false
}
