package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// others are what an operator of two operands becomes: first the one whose border differs, where there is one. Each has a function
// of helpers.go.txt, which is named here.
var others = map[token.Token]struct {
	function string
	become   []token.Token
}{
	token.LSS: {"mutantLess", []token.Token{token.LEQ, token.GEQ}},
	token.LEQ: {"mutantLessEqual", []token.Token{token.LSS, token.GTR}},
	token.GTR: {"mutantGreater", []token.Token{token.GEQ, token.LEQ}},
	token.GEQ: {"mutantGreaterEqual", []token.Token{token.GTR, token.LSS}},

	token.ADD: {"mutantAdd", []token.Token{token.SUB}},
	token.SUB: {"mutantSub", []token.Token{token.ADD}},
	token.MUL: {"mutantMul", []token.Token{token.QUO}},
	token.QUO: {"mutantQuo", []token.Token{token.MUL}},
	token.REM: {"mutantRem", []token.Token{token.MUL}},

	token.AND:     {"mutantAnd", []token.Token{token.OR}},
	token.OR:      {"mutantOr", []token.Token{token.AND}},
	token.XOR:     {"mutantXor", []token.Token{token.AND}},
	token.AND_NOT: {"mutantAndNot", []token.Token{token.AND}},
	token.SHL:     {"mutantShl", []token.Token{token.SHR}},
	token.SHR:     {"mutantShr", []token.Token{token.SHL}},
}

// visit finds the mutants of a node and tells its children what they have to know. It reports whether they have mutants.
func (s *scope) visit(n ast.Node, stack []ast.Node) bool {
	if s.skip[n] {
		return false
	}
	switch n := n.(type) {
	case *ast.FuncType, *ast.ArrayType, *ast.MapType, *ast.StructType, *ast.InterfaceType, *ast.ChanType:
		return false
	case *ast.GenDecl:
		if n.Tok != token.VAR {
			return false
		}
	case ast.Stmt:
		s.statement(n, stack)
	case ast.Expr:
		return s.expression(n)
	}
	return true
}

// expression finds the mutants of an expression.
func (s *scope) expression(x ast.Expr) bool {
	t := s.result[x]
	if s.constant(x) {
		if t != nil && s.basic(x)&types.IsString != 0 && constant.StringVal(s.pkg.TypesInfo.Types[x].Value) != "" {
			s.returned(x, t)
		}
		s.number(x)
		return false
	}
	if t != nil {
		s.returned(x, t)
	}
	switch x := x.(type) {
	case *ast.BinaryExpr:
		s.binary(x)
	case *ast.UnaryExpr:
		s.unary(x)
	case *ast.CallExpr:
		s.call(x)
	case *ast.CompositeLit:
		switch s.typeOf(x).Underlying().(type) {
		case *types.Array, *types.Slice:
			for _, e := range x.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					s.skip[pair.Key] = true
				}
			}
		}
	}
	if s.condition[x] {
		s.negate(x)
	}
	return true
}

// number makes a constant one more, and a literal also one less, and a truth value the other.
func (s *scope) number(x ast.Expr) {
	value, text := s.pkg.TypesInfo.Types[x].Value, compact(s.source(x))
	switch info := s.basic(x); {
	case info&types.IsBoolean != 0 && s.plainBool(x):
		id := s.add(x.Pos(), text+" becomes "+map[string]string{"true": "false", "false": "true"}[value.ExactString()])
		s.wrap(x, "(", fmt.Sprintf(" != mutantOn(%d))", id))
	case info&types.IsInteger != 0:
		name := s.typeName(s.typeOf(x), x.Pos())
		if name == "" {
			return
		}
		if literal, ok := x.(*ast.BasicLit); ok && literal.Kind == token.INT {
			s.wrap(x, fmt.Sprintf("mutantNear[%s](%d, ", name, s.add(x.Pos(), text+" becomes one more", text+" becomes one less")), ")")
			return
		}
		s.wrap(x, fmt.Sprintf("mutantPlus[%s](%d, ", name, s.add(x.Pos(), text+" becomes one more")), ")")
	}
}

// mark has a condition negated as a whole, unless it has an operator with mutants of its own.
func (s *scope) mark(x ast.Expr) {
	x = ast.Unparen(x)
	switch x.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
	default:
		s.condition[x] = true
	}
}

func (s *scope) negate(x ast.Expr) {
	if s.plainBool(x) {
		s.wrap(x, "((", fmt.Sprintf(") != mutantOn(%d))", s.add(x.Pos(), compact(s.source(x))+" is negated")))
	}
}

func (s *scope) binary(x *ast.BinaryExpr) {
	switch x.Op {
	case token.LAND, token.LOR:
		if s.plainBool(x) && s.plainBool(x.X) && s.plainBool(x.Y) {
			other := map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}[x.Op]
			on := fmt.Sprintf(" != mutantOn(%d))", s.add(x.OpPos, fmt.Sprintf("%s after %s becomes %s", x.Op, tail(s.source(x.X)), other)))
			// By De Morgan: both operands and the whole are negated.
			s.wrap(x, "((", ")"+on)
			s.wrap(x.X, "((", ")"+on)
			s.wrap(x.Y, "((", ")"+on)
		}
		s.mark(x.X)
		s.mark(x.Y)
	case token.EQL, token.NEQ:
		if s.plainBool(x) && !s.keeps[x] {
			other := map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL}[x.Op]
			s.wrap(x, "((", fmt.Sprintf(") != mutantOn(%d))", s.add(x.OpPos, fmt.Sprintf("%s becomes %s", compact(s.source(x)), other))))
		}
	case token.SHL, token.SHR:
		if s.basic(x.X)&types.IsInteger == 0 || s.basic(x.Y)&types.IsInteger == 0 {
			return
		}
		name := s.typeName(s.typeOf(x.X), x.Pos())
		if name == "" {
			return
		}
		s.operate(x, others[x.Op].function, name)
	default:
		if s.basic(x.X)&types.IsNumeric == 0 && (s.basic(x.X)&types.IsString == 0 || x.Op == token.ADD) {
			return
		}
		s.operate(x, others[x.Op].function, "")
	}
}

// operate makes x a call of a function with both operands. The first is converted to a type where one is named.
func (s *scope) operate(x *ast.BinaryExpr, function, convert string) {
	become := others[x.Op].become
	if s.keeps[x] {
		become = become[:1]
	}
	var changes []string
	for _, op := range become {
		changes = append(changes, fmt.Sprintf("%s becomes %s", compact(s.source(x)), op))
	}
	id := s.add(x.OpPos, changes...)
	s.wrap(x, fmt.Sprintf("%s(%d, %d, ", function, id, len(become)), ")")
	if convert != "" {
		s.wrap(x.X, "("+convert+")(", ")")
	}
	s.replace(x.OpPos, x.Op.String(), ",")
}

func (s *scope) unary(x *ast.UnaryExpr) {
	switch {
	case x.Op == token.NOT && s.plainBool(x):
		s.wrap(x, "((", fmt.Sprintf(") != mutantOn(%d))", s.add(x.Pos(), compact(s.source(x))+" is negated")))
	case x.Op == token.SUB && s.basic(x)&types.IsNumeric != 0:
		s.wrap(x, fmt.Sprintf("mutantNegative(%d, ", s.add(x.Pos(), compact(s.source(x))+" loses its sign")), ")")
	}
}

// call skips what only says how much room something will need.
func (s *scope) call(x *ast.CallExpr) {
	name := ""
	switch f := ast.Unparen(x.Fun).(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	switch {
	case name == "Grow":
		s.skip[x.Args[len(x.Args)-1]] = true
	case name == "make" && len(x.Args) == 3:
		s.skip[x.Args[2]] = true
	case name == "make" && len(x.Args) == 2:
		if _, ok := s.typeOf(x).Underlying().(*types.Map); ok {
			s.skip[x.Args[1]] = true
		}
	}
}

// returned makes a result the zero value of its type, and a truth value the other.
func (s *scope) returned(x, t ast.Expr) {
	text := compact(s.source(x))
	if ident, ok := t.(*ast.Ident); ok && ident.Name == "bool" && s.plainBool(x) {
		s.mark(x)
		return
	}
	if literal, ok := x.(*ast.CompositeLit); ok && len(literal.Elts) == 0 {
		if _, isStruct := s.typeOf(x).Underlying().(*types.Struct); isStruct {
			return
		}
	}
	if s.pkg.TypesInfo.Types[x].IsNil() {
		return
	}
	s.wrap(x, fmt.Sprintf("mutantZero[%s](%d, ", s.source(t), s.add(x.Pos(), "returns zero for "+text)), ")")
}

// compact is a text in one line, short.
func compact(text string) string {
	const most = 60
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	return strings.ReplaceAll(text, "`", "'")
}

// tail is the end of a text in one line.
func tail(text string) string {
	const most = 30
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		text = "…" + string(r[len(r)-most+1:])
	}
	return strings.ReplaceAll(text, "`", "'")
}
