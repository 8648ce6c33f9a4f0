package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// statement finds the mutants of a statement.
func (s *scope) statement(n ast.Stmt, stack []ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		s.mark(n.Cond)
	case *ast.ForStmt:
		s.loop(n)
	case *ast.RangeStmt:
		s.replace(n.Body.Lbrace, "{", fmt.Sprintf("{ if mutantOn(%d) { break };", s.add(n.Pos(), "the loop never runs")))
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, clause := range n.Body.List {
				for _, x := range clause.(*ast.CaseClause).List {
					s.mark(x)
				}
			}
		}
	case *ast.ReturnStmt:
		s.returning(n, stack)
	case *ast.IncDecStmt:
		s.step(n)
	case *ast.AssignStmt:
		s.assignment(n, inList(n, stack))
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !panics(call) && inList(n, stack) {
			s.remove(n)
		}
	}
}

// panics reports whether a call ends its function, so that leaving it out may not compile.
func panics(call *ast.CallExpr) bool {
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "panic"
}

// inList reports whether a statement is one of a list, and not the beginning of another or what a select waits for.
func inList(n ast.Stmt, stack []ast.Node) bool {
	switch parent := stack[len(stack)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.LabeledStmt:
		return true
	case *ast.CommClause:
		return parent.Comm != n
	}
	return false
}

func (s *scope) remove(n ast.Stmt) {
	s.wrap(n, fmt.Sprintf("if !mutantOn(%d) { ", s.add(n.Pos(), compact(s.source(n))+" is left out")), " }")
}

// loop has a loop with a condition never run.
func (s *scope) loop(n *ast.ForStmt) {
	if n.Cond == nil || !s.plainBool(n.Cond) {
		return
	}
	if x, ok := ast.Unparen(n.Cond).(*ast.BinaryExpr); ok {
		s.keeps[x] = true
	}
	s.wrap(n.Cond, "((", fmt.Sprintf(") && !mutantOn(%d))", s.add(n.Pos(), "the loop never runs")))
}

// returning tells the results of a function their types.
func (s *scope) returning(n *ast.ReturnStmt, stack []ast.Node) {
	for i := len(stack) - 1; i >= 0; i-- {
		var of *ast.FuncType
		switch f := stack[i].(type) {
		case *ast.FuncLit:
			of = f.Type
		case *ast.FuncDecl:
			of = f.Type
		default:
			continue
		}
		var results []ast.Expr
		if of.Results != nil {
			for _, field := range of.Results.List {
				for range max(len(field.Names), 1) {
					results = append(results, field.Type)
				}
			}
		}
		if len(results) == len(n.Results) {
			for k, x := range n.Results {
				s.result[x] = results[k]
			}
		}
		return
	}
}

// step makes ++ of -- and the other way round.
func (s *scope) step(n *ast.IncDecStmt) {
	if calls(n.X) || s.basic(n.X)&types.IsNumeric == 0 {
		return
	}
	other, by := token.DEC, "+="
	if n.Tok == token.DEC {
		other, by = token.INC, "-="
	}
	x := s.source(n.X)
	s.replace(n.TokPos, n.Tok.String(), fmt.Sprintf("%s mutantOne(%d, %s)", by, s.add(n.Pos(), fmt.Sprintf("%s becomes %s", compact(s.source(n)), other)), x))
}

// assignment leaves an assignment out, or has it take another operator.
func (s *scope) assignment(n *ast.AssignStmt, listed bool) {
	if n.Tok == token.DEFINE || blank(n.Lhs) {
		return
	}
	if listed {
		s.remove(n)
	}
	if n.Tok == token.ASSIGN || calls(n.Lhs[0]) {
		return
	}
	op := n.Tok - token.ADD_ASSIGN + token.ADD
	if s.basic(n.Lhs[0])&types.IsNumeric == 0 || s.basic(n.Rhs[0])&types.IsNumeric == 0 {
		return
	}
	other := others[op]
	id := s.add(n.Pos(), fmt.Sprintf("%s becomes %s=", compact(s.source(n)), other.become[0]))
	s.replace(n.TokPos, n.Tok.String(), "=")
	s.wrap(n.Rhs[0], fmt.Sprintf("%s(%d, 1, %s, ", other.function, id, s.source(n.Lhs[0])), ")")
}

func blank(all []ast.Expr) bool {
	for _, x := range all {
		if ident, ok := x.(*ast.Ident); !ok || ident.Name != "_" {
			return false
		}
	}
	return true
}

// calls reports whether an expression calls something, and is not to be evaluated twice.
func calls(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		_, call := n.(*ast.CallExpr)
		found = found || call
		return !found
	})
	return found
}
