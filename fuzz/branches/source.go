package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// sources returns the files of a part that are built here, tests left out, as paths below the root.
func sources(root, part string) (files []string, err error) {
	folder, below := strings.CutSuffix(part, "/...")
	folder = filepath.Join(root, folder)
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || path != folder && !below):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		built, err := build.Default.MatchFile(filepath.Dir(path), entry.Name())
		if err != nil || !built {
			return err
		}
		file, err := filepath.Rel(root, path)
		files = append(files, filepath.ToSlash(file))
		return err
	})
	return files, err
}

// branchesOf returns the branches of a file. Where several of a function have the same name, all but the first are numbered.
func branchesOf(root, file string, ran []block) ([]*branch, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	w := &walk{files: set, file: file, blocks: ran, names: map[string]int{}}
	for _, declared := range tree.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			w.functionOf(d)
		case *ast.GenDecl:
			w.variablesOf(d)
		}
	}
	return w.branches, nil
}
