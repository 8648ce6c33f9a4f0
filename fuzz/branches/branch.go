package main

import (
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"strings"
)

// A branch is one way that a run may take at a statement.
type branch struct {
	file     string // below the root of the module
	function string
	line     int
	at       string // the statement's first line
	way      string
	number   int // among those of the same name
	count    int
}

// name names a branch without its line, so that its reason stays when lines move.
func (b *branch) name() string {
	name := fmt.Sprintf("%s: %s: `%s`: %s", b.file, b.function, b.at, b.way)
	if b.number > 1 {
		name += fmt.Sprintf(" #%d", b.number)
	}
	return name
}

// A walk finds the branches of a file.
type walk struct {
	files    *token.FileSet
	file     string
	blocks   []block
	function string
	names    map[string]int // how many branches have each
	branches []*branch
}

// functionOf finds the branches of a function. The cover tool counts the blocks into which a statement leads; the way that has no block gets
// the rest of the statement's own count: of an if without else whose condition does not hold, of a switch without default none of whose cases
// does. Of a loop it is the way in: each that ends was left.
func (w *walk) functionOf(f *ast.FuncDecl) {
	w.function = f.Name.Name
	if f.Recv != nil && len(f.Recv.List) == 1 {
		w.function = "(" + w.text(f.Recv.List[0].Type) + ")." + f.Name.Name
	}
	w.within(f)
}

// variablesOf finds the branches of function literals in the values of package variables.
func (w *walk) variablesOf(d *ast.GenDecl) {
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok {
			w.function = v.Names[0].Name
			w.within(v)
		}
	}
}

func (w *walk) within(declared ast.Node) {
	ast.Inspect(declared, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			w.ifOf(n)
		case *ast.ForStmt:
			if n.Cond != nil {
				w.add(n, "the loop runs", w.count(n.Body.Lbrace))
			}
		case *ast.RangeStmt:
			w.add(n, "the loop runs", w.count(n.Body.Lbrace))
		case *ast.SwitchStmt:
			w.clauses(n, n.Body)
		case *ast.TypeSwitchStmt:
			w.clauses(n, n.Body)
		case *ast.SelectStmt:
			for _, s := range n.Body.List {
				c := s.(*ast.CommClause)
				w.add(c, "this case", w.count(c.Colon+1))
			}
		}
		return true
	})
}

func (w *walk) ifOf(n *ast.IfStmt) {
	holds := w.count(n.Body.Lbrace)
	w.add(n, "it holds", holds)
	w.add(n, "it does not hold", w.count(n.Pos())-holds)
}

// clauses adds a branch for each clause of a switch, and for none of them where it has no default. A clause that is reached by
// fallthrough counts that as well.
func (w *walk) clauses(n ast.Stmt, body *ast.BlockStmt) {
	left, byDefault, falls := w.count(n.Pos()), false, false
	for _, s := range body.List {
		c := s.(*ast.CaseClause)
		count := w.count(c.Colon + 1)
		w.add(c, "this case", count)
		left -= count
		byDefault = byDefault || c.List == nil
		if len(c.Body) > 0 {
			b, ok := c.Body[len(c.Body)-1].(*ast.BranchStmt)
			falls = falls || ok && b.Tok == token.FALLTHROUGH
		}
	}
	if !byDefault && !falls {
		w.add(n, "no case", left)
	}
}

func (w *walk) add(n ast.Node, way string, count int) {
	b := &branch{file: w.file, function: w.function, line: w.files.Position(n.Pos()).Line, at: w.first(n), way: way, count: count}
	w.names[b.name()]++
	b.number = w.names[b.name()]
	w.branches = append(w.branches, b)
}

// count returns how often the code at a place ran: the count of the innermost block that has it.
func (w *walk) count(pos token.Pos) int {
	p := w.files.Position(pos)
	at := place{p.Line, p.Column}
	count := 0
	for _, b := range w.blocks { // the innermost one begins last
		if at.before(b.from) {
			break
		}
		if at.before(b.to) || at == b.to && b.from == b.to {
			count = b.count
		}
	}
	return count
}

// first returns the first line of a statement.
func (w *walk) first(n ast.Node) string {
	line, _, _ := strings.Cut(w.text(n), "\n")
	return line
}

func (w *walk) text(n ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, w.files, n); err != nil {
		panic(err) // a builder takes everything
	}
	return b.String()
}
