package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A tracer tells which values only the shell knows.
type tracer struct {
	flow  *flow
	known map[string]bool // by name: whether its value is unknown; false while it is being looked at
}

// isText reports whether the subscripts of an array are texts.
func (t *tracer) isText(array string) bool {
	return array != "" && contains(t.flow.arrays, array) && !contains(t.flow.unset, array) && !t.flow.reference
}

func contains(list []string, text string) bool {
	for _, each := range list {
		if each == text {
			return true
		}
	}
	return false
}

// isUnknown reports whether parts of a word may come to a substitution. Bash evaluates a name that it finds in a value,
// so that the names in literal text count.
func (t *tracer) isUnknown(parts []syntax.WordPart) bool {
	for _, part := range parts {
		unknown := false
		switch part := part.(type) {
		case *syntax.Lit:
			unknown = t.isUnknownText(unescape(part.Value, false))
		case *syntax.SglQuoted:
			unknown = t.isUnknownText(single(part))
		case *syntax.DblQuoted:
			unknown = t.isUnknown(part.Parts)
		case *syntax.ParamExp:
			unknown = t.isUnknownParameter(part)
		case *syntax.CmdSubst:
			unknown = !t.isNumber(part)
		case *syntax.ArithmExp, *syntax.ProcSubst:
		default:
			unknown = true
		}
		if unknown {
			return true
		}
	}
	return false
}

// isUnknownText looks at the names in a text. A dollar in it may begin what another piece ends, and so may a parenthesis.
func (t *tracer) isUnknownText(text string) bool {
	if strings.ContainsAny(text, "$`(") {
		return true
	}
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r >= 0x80 || strings.IndexByte(letters, byte(r)) < 0 }) {
		if (name[0] < '0' || name[0] > '9') && t.isUnknownName(name) {
			return true
		}
	}
	return false
}

func (t *tracer) isUnknownParameter(p *syntax.ParamExp) bool {
	if p.Length {
		return false
	}
	if p.Param == nil || p.Excl {
		return true
	}
	if p.Exp != nil {
		if p.Exp.Op == syntax.OtherParamOps {
			return true
		}
		if p.Exp.Word != nil && t.isUnknown(p.Exp.Word.Parts) {
			return true
		}
	}
	if p.Repl != nil && p.Repl.With != nil && t.isUnknown(p.Repl.With.Parts) {
		return true
	}
	switch name := p.Param.Value; name {
	case "#", "?", "$", "!", "-":
		return false
	default:
		return t.isUnknownName(name)
	}
}

func (t *tracer) isUnknownName(name string) bool {
	if unknowns[name] || t.flow.reference {
		return true
	}
	if name == "0" {
		return true
	}
	if strings.Trim(name, "0123456789") == "" || name == "*" {
		name = "@"
	}
	if unknown, ok := t.known[name]; ok {
		return unknown
	}
	t.known[name] = false
	unknown := name == "@" && t.isUnknownArgument()
	for _, a := range t.flow.assigned {
		if unknown || a.name != name {
			continue
		}
		unknown = len(a.words) == 0
		for _, word := range a.words {
			unknown = unknown || t.isUnknown(word.Parts)
		}
	}
	t.known[name] = unknown
	return unknown
}

// isUnknownArgument looks at what the functions of the text are called with.
func (t *tracer) isUnknownArgument() bool {
	if t.flow.foreign || t.flow.alias && len(t.flow.functions) > 0 || contains(t.flow.functions, "command_not_found_handle") {
		return true
	}
	for _, call := range t.flow.calls {
		if !contains(t.flow.functions, call.name) {
			continue
		}
		for _, word := range call.words {
			if t.isUnknown(word.Parts) {
				return true
			}
		}
	}
	return false
}

// isNumber reports whether a substitution comes to a number: its last command is known to print nothing else.
func (t *tracer) isNumber(subst *syntax.CmdSubst) bool {
	if len(subst.Stmts) != 1 || t.flow.alias {
		return false
	}
	stmt := subst.Stmts[0]
	for {
		pipe, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		if pipe.Op != syntax.Pipe {
			return false
		}
		stmt = pipe.Y
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	name, options := call.Args[0].Lit(), ""
	if contains(t.flow.functions, name) {
		return false
	}
	operand := false
	for _, arg := range call.Args[1:] {
		lit := arg.Lit()
		if strings.HasPrefix(lit, "-") && !strings.HasPrefix(lit, "--") {
			options += lit
		}
		operand = operand || !strings.HasPrefix(lit, "-")
	}
	switch name {
	case "wc", "nproc":
		return !operand
	case "grep":
		return strings.Contains(options, "c") && !strings.ContainsAny(options, "rRH")
	case "id":
		return strings.ContainsAny(options, "ug") && !strings.Contains(options, "n")
	case "date":
		return len(call.Args) == 2 && strings.HasPrefix(call.Args[1].Lit(), "+%") && len(call.Args[1].Lit()) == 3
	}
	return false
}
