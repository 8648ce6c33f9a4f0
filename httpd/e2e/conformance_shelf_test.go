package e2e

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bailiff/vm/errcode"
)

// A shelf is the tests of the project, by package.TestName.
type shelf map[string]*proof

// A proof is what a test may show something with: its file, and its package's testdata.
type proof struct {
	file string
	data *strings.Builder
}

// mentions reports whether a code occurs in a proof: in full, as tables of tests shorten it, or by its name in Go.
func (p *proof) mentions(c errcode.Code) bool {
	short := strings.TrimPrefix(string(c), "SVC_")
	for _, prefix := range []string{"POLICY_VIOLATION_", "TRUSTED_SHIM_"} {
		short = strings.TrimPrefix(short, prefix)
	}
	spellings := regexp.MustCompile(`\b(` + string(c) + `|` + short + `|errcode\.` + constants()[c] + `)\b`)
	return spellings.MatchString(p.file) || p.data != nil && spellings.MatchString(p.data.String())
}

// constants are the names of the codes in Go.
func constants() map[errcode.Code]string {
	text, err := os.ReadFile(filepath.Join(root, "vm", "errcode", "errcode.go"))
	if err != nil {
		panic(err) // the project has been moved
	}
	names := map[errcode.Code]string{}
	for _, found := range regexp.MustCompile(`(?m)^\t(\w+) = \w+\((?:[0-9]+, "\w+", )?"(SVC_\w+)",$`).FindAllStringSubmatch(string(text), -1) {
		names[errcode.Code(found[2])] = found[1]
	}
	if len(names) != len(errcode.Table) {
		panic(fmt.Sprintf("%d names of %d codes were found; mend how this reads them", len(names), len(errcode.Table)))
	}
	return names
}

// shelve collects the tests below a folder. What fuzzers have found is no proof.
func shelve(t *testing.T, root string) shelf {
	t.Helper()
	tests, data := shelf{}, map[string]*strings.Builder{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || entry.Name() == "node_modules" || strings.HasSuffix(name, "/testdata/fuzz")):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case strings.HasSuffix(name, "_test.go"):
			return tests.add(root, name, data)
		}
		folder, _, found := strings.Cut(name, "/testdata/")
		if !found {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		dataOf(data, folder).Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// dataOf is the testdata of a folder, as far as it has been read.
func dataOf(all map[string]*strings.Builder, folder string) *strings.Builder {
	if all[folder] == nil {
		all[folder] = new(strings.Builder)
	}
	return all[folder]
}

// add adds the tests of a file. Those of the root are of the package bailiff.
func (s shelf) add(root, name string, data map[string]*strings.Builder) error {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := "bailiff"
	if end := strings.LastIndexByte(name, '/'); end >= 0 {
		folder = name[:end]
	}
	for _, declaration := range file.Decls {
		f, is := declaration.(*ast.FuncDecl)
		if is && f.Recv == nil && f.Name.Name != "TestMain" && regexp.MustCompile("^(Test|Fuzz)[A-Z0-9]").MatchString(f.Name.Name) {
			s[folder+"."+f.Name.Name] = &proof{string(text), dataOf(data, folder)}
		}
	}
	return nil
}

var (
	heading  = regexp.MustCompile(`^#{1,3} (.*)`)
	numbered = regexp.MustCompile(`^(\d+)\. `)
)

// paragraphsOf names the numbered paragraphs of a document, in their order: section.N is paragraph N of the section.
func paragraphsOf(text string) (names []string) {
	section := ""
	for line := range strings.Lines(text) {
		if found := heading.FindStringSubmatch(line); found != nil {
			section = slug(found[1])
		}
		if found := numbered.FindStringSubmatch(line); found != nil {
			names = append(names, section+"."+found[1])
		}
	}
	return names
}

// twice returns the names that occur more than once.
func twice(names []string) (repeated []string) {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			repeated = append(repeated, name)
		}
		seen[name] = true
	}
	return repeated
}

// slug is a heading as a name: its words in lower case, joined by hyphens.
func slug(heading string) string {
	words := strings.ReplaceAll(strings.ToLower(heading), "`", "")
	return strings.Trim(regexp.MustCompile("[^a-z0-9]+").ReplaceAllString(words, "-"), "-")
}
