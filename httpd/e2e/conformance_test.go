package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bailiff/runtime/code"
)

// root is the project's folder.
const root = "../.."

// A row of docs/conformance.md: a line of the specification, what it asks for, and what shows it.
type row struct{ line, asks, shown string }

// A shelf is what the tests of the project are: their names, as package.TestName, each with the text of its file and of
// its package's testdata.
type shelf map[string]*strings.Builder

// TestConformance holds docs/conformance.md to the specification, to the table of codes and to the tests: every line and
// every code has a row, and every row names tests that exist, or says why none can.
func TestConformance(t *testing.T) {
	rows := readRows(t, filepath.Join(root, "docs", "conformance.md"))
	var lines []string
	text, err := os.ReadFile(filepath.Join(root, "..", "shared", "spec", "intent-authorization-service.md"))
	switch {
	case err == nil:
		lines = specification(string(text))
	case errors.Is(err, fs.ErrNotExist):
		t.Log("the specification is not beside the project: its lines are not counted")
	default:
		t.Fatal(err)
	}
	for _, fault := range faults(rows, lines, shelve(t, root)) {
		t.Error(fault)
	}
}

// faults says what is wrong with the rows. Where lines is empty, those of the specification are not counted.
func faults(rows []row, lines []string, tests shelf) (faults []string) {
	seen := map[string]row{}
	for _, r := range rows {
		if _, twice := seen[r.line]; twice {
			faults = append(faults, fmt.Sprintf("row %q stands twice", r.line))
		}
		if !strings.HasPrefix(r.line, "code.") && len(lines) > 0 && !slices.Contains(lines, r.line) {
			faults = append(faults, fmt.Sprintf("row %q is no line of the specification", r.line))
		}
		seen[r.line] = r
		faults = append(faults, rowFaults(r, tests)...)
	}
	for _, line := range lines {
		if _, there := seen[line]; !there {
			faults = append(faults, fmt.Sprintf("the specification's line %q has no row", line))
		}
	}
	return append(faults, codeFaults(seen, tests)...)
}

// unshown are the reasons for which a row may have no test: the part is not built, or there is nothing to show.
var unshown = regexp.MustCompile("^(not built|not applicable): .{10,}$")

func rowFaults(r row, tests shelf) (faults []string) {
	if r.asks == "" {
		faults = append(faults, fmt.Sprintf("row %q does not say what the line asks for", r.line))
	}
	if unshown.MatchString(r.shown) {
		return faults
	}
	for _, name := range r.tests() {
		if tests[name] == nil {
			faults = append(faults, fmt.Sprintf("row %q: %s is no test of this project", r.line, name))
		}
	}
	return faults
}

// tests are the tests that a row names; what is no name in backquotes is left as it is, and so is found to be no test.
func (r *row) tests() (names []string) {
	for name := range strings.SplitSeq(r.shown, ", ") {
		if bare := strings.Trim(name, "`"); name == "`"+bare+"`" {
			name = bare
		}
		names = append(names, name)
	}
	return names
}

// codeFaults finds codes without a row, rows of codes that are not in the table or say something else than the table, and
// rows that name only tests in which the code does not occur.
func codeFaults(rows map[string]row, tests shelf) (faults []string) {
	wanted := map[string]bool{}
	for _, info := range code.Table {
		line, asks := "code."+string(info.Code), fmt.Sprintf("%d: %s", info.HTTP, info.Meaning)
		wanted[line] = true
		r, there := rows[line]
		if !there || r.asks != asks {
			faults = append(faults, fmt.Sprintf("the code needs the row: | `%s` | %s | … |", line, asks))
		}
		if there && !slices.ContainsFunc(r.tests(), func(name string) bool { return tests[name] != nil && mentions(tests[name].String(), info.Code) }) {
			faults = append(faults, fmt.Sprintf("row %q: no test that it names has the code", line))
		}
	}
	for line := range rows {
		if strings.HasPrefix(line, "code.") && !wanted[line] {
			faults = append(faults, fmt.Sprintf("row %q is no code of the table", line))
		}
	}
	return faults
}

// mentions reports whether a code occurs: in full, or as tables of tests shorten it.
func mentions(text string, c code.Code) bool {
	short := strings.TrimPrefix(string(c), "SVC_")
	for _, prefix := range []string{"POLICY_VIOLATION_", "TRUSTED_SHIM_"} {
		short = strings.TrimPrefix(short, prefix)
	}
	return regexp.MustCompile(`\b(` + string(c) + `|` + short + `)\b`).MatchString(text)
}

// constants are the names of the codes in Go, so that tests may use those.
var constants = regexp.MustCompile(`(?m)^\t(\w+) +Code = "(SVC_\w+)"$`)

// readRows reads the tables of a Markdown file with three columns.
func readRows(t *testing.T, file string) (rows []row) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		if len(cells) != 3 {
			t.Errorf("%s: %d columns in %s", file, len(cells), line)
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, row{strings.Trim(cells[0], "`"), cells[1], cells[2]})
	}
	return rows
}

// shelve collects the tests below a folder.
func shelve(t *testing.T, root string) shelf {
	t.Helper()
	tests, texts := shelf{}, map[string]*bytes.Buffer{}
	source, err := os.ReadFile(filepath.Join(root, "runtime", "code", "code.go"))
	if err != nil {
		t.Fatal(err)
	}
	var spelt []string
	for _, match := range constants.FindAllStringSubmatch(string(source), -1) {
		spelt = append(spelt, "code."+match[1]+",", match[2]+",", "code."+match[1]+"}", match[2]+"}", "code."+match[1]+")", match[2]+")", "code."+match[1]+" ", match[2]+" ")
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && slices.Contains([]string{".git", "node_modules", "fuzz"}, entry.Name()) && strings.Contains(path, "testdata") {
				return filepath.SkipDir
			}
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		folder, _, data := strings.Cut(name, "/testdata/")
		if !data && !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if data {
			if texts[folder] == nil {
				texts[folder] = new(bytes.Buffer)
			}
			texts[folder].Write(text)
			return nil
		}
		return tests.add(name, strings.NewReplacer(spelt...).Replace(string(text)))
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range tests {
		if data := texts[name[:strings.LastIndexByte(name, '.')]]; data != nil {
			text.Write(data.Bytes())
		}
	}
	return tests
}

// add adds the tests of a file.
func (s shelf) add(name, text string) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, declaration := range file.Decls {
		f, is := declaration.(*ast.FuncDecl)
		if is && f.Recv == nil && regexp.MustCompile("^(Test|Fuzz)[A-Z0-9]").MatchString(f.Name.Name) && f.Name.Name != "TestMain" {
			own := new(strings.Builder)
			own.WriteString(text)
			s[filepath.ToSlash(filepath.Dir(name))+"."+f.Name.Name] = own
		}
	}
	return nil
}
