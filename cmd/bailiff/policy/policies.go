package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/compiler"
	"bailiff/compiler/frame"
	"bailiff/grammar"
)

// policySearch finds the policies that a command line names: files, folders and patterns.
type policySearch struct {
	found   []string // in the order in which they were named, each once
	skipped []string // Markdown files of folders that are not policies
}

// add collects the policies that one argument names. A folder means the policies in and below it; "-" is standard input. An argument
// that names no policy at all is a usage error: a gate that finds nothing must not pass.
func (s *policySearch) add(name string) error {
	if name == "-" {
		s.found = append(s.found, name)
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return s.addFolder(name)
	case err != nil && strings.ContainsAny(name, "*?["):
		return s.addPattern(name)
	}
	s.addFile(name) // reading it says what is wrong with it
	return nil
}

func (s *policySearch) addFile(name string) {
	if !slices.ContainsFunc(s.found, func(other string) bool { return filepath.Clean(other) == filepath.Clean(name) }) {
		s.found = append(s.found, name)
	}
}

func (s *policySearch) addFolder(root string) error {
	policies := 0
	err := walkFiles(root, func(name string) error {
		if !strings.EqualFold(filepath.Ext(name), ".md") {
			return nil
		}
		text, err := cli.ReadFile(name, grammar.MaxBytes)
		switch {
		case err != nil:
			return err
		case isPolicy(text):
			policies++
			s.addFile(name)
		default:
			s.skipped = append(s.skipped, name)
		}
		return nil
	})
	if err == nil && policies == 0 {
		return cli.Usage("there is no policy in %s: a policy is a .md file with a version line or the heading of a section; name the file to check another", root)
	}
	return err
}

func (s *policySearch) addPattern(pattern string) error {
	names, err := glob(pattern)
	if err != nil {
		return cli.Usage("the pattern %s cannot be read: %v", pattern, err)
	}
	if len(names) == 0 {
		return cli.Usage("no file matches %s; give a file, a folder, or a pattern such as policies/*.md or 'policies/**/*.md'", pattern)
	}
	for _, name := range names {
		s.addFile(name)
	}
	return nil
}

// mostSkipped is how many of the skipped files a message names.
const mostSkipped = 3

// skippedLine says which Markdown files were not taken for policies, "" where all were.
func (s *policySearch) skippedLine() string {
	if len(s.skipped) == 0 {
		return ""
	}
	names := strings.Join(s.skipped[:min(len(s.skipped), mostSkipped)], ", ")
	if more := len(s.skipped) - mostSkipped; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("bailiff: not checked, since no version line and no section says that it is a policy: %s", names)
}

// walkFiles calls visit for each file in and below a folder, by name; hidden files and folders are left out.
func walkFiles(root string, visit func(name string) error) error {
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		return visit(name)
	})
	if coded := (*cli.Exit)(nil); errors.As(err, &coded) {
		return err
	}
	return cli.Unreadable(err)
}

// glob returns the files that a pattern matches, in order: of filepath.Match, and ** for any number of folders.
func glob(pattern string) ([]string, error) {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(pattern)), "/")
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return nil, errors.New("its brackets do not close")
		}
	}
	fixed := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, "*?[") })
	root := filepath.FromSlash(strings.Join(parts[:fixed], "/"))
	if strings.HasPrefix(pattern, "/") && root == "" {
		root = "/"
	}
	root = cmp.Or(root, ".")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	err := walkFiles(root, func(name string) error {
		below, err := filepath.Rel(root, name)
		if err == nil && matchParts(parts[fixed:], strings.Split(filepath.ToSlash(below), "/")) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// matchParts matches the parts of a path against those of a pattern.
func matchParts(pattern, name []string) bool {
	switch {
	case len(pattern) == 0:
		return len(name) == 0
	case pattern[0] == "**":
		return matchParts(pattern[1:], name) || len(name) > 0 && matchParts(pattern, name[1:])
	case len(name) == 0:
		return false
	}
	matched, err := path.Match(pattern[0], name[0])
	return err == nil && matched && matchParts(pattern[1:], name[1:])
}

// isPolicy reports whether a Markdown file is meant as a policy: it has a version line or the heading of a section. What is
// in a code fence is an example, unless the file begins with the fence.
func isPolicy(text []byte) bool {
	fenced, begun := false, false
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = begun && !fenced
			begun = true
			continue
		}
		if !fenced && (versionLine.MatchString(line) || isSectionHeading(line)) {
			return true
		}
		begun = begun || line != ""
	}
	return false
}

// versionLine is a line that says a version, be it in YAML or TOML.
var versionLine = regexp.MustCompile(`^(?i:"?version"?) *[:=]`)

// isSectionHeading reports whether a line is the heading of a section: exactly, or in other letters and words where the
// name of the section is no everyday word.
func isSectionHeading(line string) bool {
	title := strings.TrimLeft(line, "#")
	if title == line {
		return false
	}
	name := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(title)))
	return slices.ContainsFunc(compiler.Sections(), func(section frame.Section) bool {
		return line == "## "+section.Name || strings.Contains(name, "_") && name == section.Name
	})
}
