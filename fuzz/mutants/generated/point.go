package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A mutant is one fault of a program: what one place of its text becomes.
type mutant struct {
	ID       int
	file     string // from the root of the project, with slashes
	function string
	line     string // the text of the line, without the space around it
	change   string
	same     int // how many mutants before it have the same file, function, line and change
	number   int // of the line, for people who look for it
}

// name names the mutant by its text, so that it is the same after changes elsewhere in the file.
func (m *mutant) name() string {
	name := fmt.Sprintf("%s: %s: `%s`: %s", m.file, m.function, m.line, m.change)
	if m.same > 0 {
		name += " #" + strconv.Itoa(m.same+1)
	}
	return name
}

// An edit puts text in place of a part of a file, which may be empty.
type edit struct {
	at, end int
	text    string
	closes  bool
}

// digest tells the mutants of one text of the packages from those of another.
func (f *finder) digest() string {
	sum := sha256.New()
	for _, m := range f.mutants {
		fmt.Fprintln(sum, m.name())
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// A finder collects the mutants of packages, and the edits by which each can be chosen when the program runs.
type finder struct {
	root    string
	mutants []*mutant
	edits   map[string][]edit // by the absolute name of the file
	seen    map[string]int    // how many mutants there are of a name
}

// A scope is the file and the function in which a finder is.
type scope struct {
	*finder
	pkg      *packages.Package
	path     string // of the file
	text     string
	imports  map[string]string // the names of packages in this file, by path
	function string
	// What their parents say of nodes.
	condition map[ast.Node]bool     // is negated as a whole
	result    map[ast.Node]ast.Expr // is returned as this type
	skip      map[ast.Node]bool     // has no mutants
	keeps     map[ast.Node]bool     // is compared by its border alone
}

// find adds the mutants of a package.
func (f *finder) find(pkg *packages.Package) error {
	for i, file := range pkg.Syntax {
		path := pkg.CompiledGoFiles[i]
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s := &scope{
			finder: f, pkg: pkg, path: path, text: string(text), imports: map[string]string{},
			condition: map[ast.Node]bool{}, result: map[ast.Node]ast.Expr{}, skip: map[ast.Node]bool{}, keeps: map[ast.Node]bool{},
		}
		for _, spec := range file.Imports {
			if name := pkg.TypesInfo.PkgNameOf(spec); name != nil {
				s.imports[name.Imported().Path()] = name.Name()
			}
		}
		for _, decl := range file.Decls {
			s.function = declared(decl)
			if s.function != "" {
				ast.PreorderStack(decl, nil, s.visit)
			}
		}
	}
	return nil
}

// declared names a declaration that has mutants.
func declared(decl ast.Decl) string {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			return decl.Name.Name
		}
		return "(" + types.ExprString(decl.Recv.List[0].Type) + ")." + decl.Name.Name
	case *ast.GenDecl:
		if decl.Tok == token.VAR {
			return "var " + decl.Specs[0].(*ast.ValueSpec).Names[0].Name
		}
	}
	return ""
}

// add adds the mutants of one place by what it becomes in each, and returns the number of the first.
func (s *scope) add(at token.Pos, changes ...string) int {
	first := len(s.mutants)
	place := s.pkg.Fset.Position(at)
	line := s.text[:s.offset(at)]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	rest, _, _ := strings.Cut(s.text[s.offset(at):], "\n")
	file, err := filepath.Rel(s.root, s.path)
	if err != nil {
		file = s.path
	}
	for i, change := range changes {
		m := &mutant{ID: first + i, file: filepath.ToSlash(file), function: s.function, line: strings.ReplaceAll(strings.TrimSpace(line+rest), "`", "'"), change: change, number: place.Line}
		name := m.name()
		m.same = s.seen[name]
		s.seen[name]++
		s.mutants = append(s.mutants, m)
	}
	return first
}

func (s *scope) offset(at token.Pos) int { return s.pkg.Fset.Position(at).Offset }

// source is the text of a node.
func (s *scope) source(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

// wrap puts text before and after a node.
func (s *scope) wrap(n ast.Node, before, after string) {
	s.edits[s.path] = append(s.edits[s.path],
		edit{at: s.offset(n.Pos()), end: s.offset(n.Pos()), text: before},
		edit{at: s.offset(n.End()), end: s.offset(n.End()), text: after, closes: true})
}

// replace puts text in place of a token.
func (s *scope) replace(at token.Pos, old, text string) {
	s.edits[s.path] = append(s.edits[s.path], edit{at: s.offset(at), end: s.offset(at) + len(old), text: text})
}

// typeOf is the type of an expression.
func (s *scope) typeOf(x ast.Expr) types.Type { return s.pkg.TypesInfo.TypeOf(x) }

// constant reports whether an expression is one that the compiler evaluates.
func (s *scope) constant(x ast.Expr) bool { return s.pkg.TypesInfo.Types[x].Value != nil }

// basic is what kind of basic type an expression has, or 0.
func (s *scope) basic(x ast.Expr) types.BasicInfo {
	if t := s.typeOf(x); t != nil {
		if _, parameter := t.(*types.TypeParam); parameter {
			return 0
		}
		if b, ok := t.Underlying().(*types.Basic); ok {
			return b.Info()
		}
	}
	return 0
}

// plainBool reports whether an expression is of the type bool itself.
func (s *scope) plainBool(x ast.Expr) bool {
	b, ok := s.typeOf(x).(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// typeName is the name that a type has at a place of the file, or "" where it has none: a variable may have taken it.
func (s *scope) typeName(t types.Type, at token.Pos) string {
	if named, ok := t.(*types.Named); ok && named.Obj().Pkg() == s.pkg.Types {
		if _, seen := s.pkg.Types.Scope().Innermost(at).LookupParent(named.Obj().Name(), at); seen != named.Obj() {
			return ""
		}
	}
	known := true
	name := types.TypeString(t, func(p *types.Package) string {
		if p == s.pkg.Types {
			return ""
		}
		name, ok := s.imports[p.Path()]
		known = known && ok
		return name
	})
	if !known || strings.Contains(name, "untyped") {
		return ""
	}
	return name
}
