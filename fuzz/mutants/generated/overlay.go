package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

//go:embed helpers.go.txt
var helpers string

// loaded are the packages of a folder of the project by patterns, with their types.
func loaded(root string, patterns []string) ([]*packages.Package, error) {
	all, err := packages.Load(&packages.Config{
		Dir: root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
			packages.NeedImports | packages.NeedExportFile,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		for _, fault := range p.Errors {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, fault)
		}
	}
	return all, nil
}

// generate finds the mutants of packages.
func generate(root string, patterns []string) (*finder, []*packages.Package, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, nil, err
	}
	all, err := loaded(root, patterns)
	if err != nil {
		return nil, nil, err
	}
	f := &finder{root: root, edits: map[string][]edit{}, seen: map[string]int{}}
	for _, p := range all {
		if err := f.find(p); err != nil {
			return nil, nil, err
		}
	}
	return f, all, nil
}

// overlay writes the packages with all mutants into a folder, and the file there by which go builds these instead.
func (f *finder) overlay(all []*packages.Package, dir string) (string, error) {
	replaced := map[string]string{}
	put := func(path, text string) error {
		copied := filepath.Join(dir, fmt.Sprintf("%d_%s", len(replaced), filepath.Base(path)))
		replaced[path] = copied
		return os.WriteFile(copied, []byte(text), 0o600)
	}
	for _, p := range all {
		for _, path := range p.CompiledGoFiles {
			text, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			if err := put(path, rewritten(string(text), f.edits[path])); err != nil {
				return "", err
			}
		}
		if err := put(filepath.Join(filepath.Dir(p.CompiledGoFiles[0]), "mutant_helpers.go"), strings.Replace(helpers, "PACKAGE", p.Name, 1)); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(struct{ Replace map[string]string }{replaced})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}

// rewritten is a text after edits. At one place, those that close something come first, the inner ones before the outer ones; then
// those that open something, the outer ones before the inner ones.
func rewritten(text string, edits []edit) string {
	type numbered struct {
		edit
		n int
	}
	order := make([]numbered, len(edits))
	for i, e := range edits {
		order[i] = numbered{e, i}
	}
	slices.SortFunc(order, func(a, b numbered) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.closes != b.closes:
			return map[bool]int{true: -1, false: 1}[a.closes]
		case a.closes:
			return b.n - a.n
		}
		return a.n - b.n
	})
	var b strings.Builder
	at := 0
	for _, e := range order {
		b.WriteString(text[at:e.at])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String()
}
