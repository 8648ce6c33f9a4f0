package bailiff_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Plain English is counted: figures of speech that make a sentence hard to read at once, per 10,000 words of comments and of
// documents. CONTRIBUTING.md says what to write instead.

// A figure is a way of speaking that is counted.
type figure struct {
	name    string
	pattern *regexp.Regexp
	most    int // of these per 10,000 words
}

var figures = []figure{
	{"stands", regexp.MustCompile(`(?i)\bstands?\b`), 1},
	{"what is, has, was", regexp.MustCompile(`(?i)\bwhat (is|has|was|are|were)\b`), 2},
	{"nobody, whoever", regexp.MustCompile(`(?i)\b(nobody|whoever)\b`), 0},
	{"is no X", regexp.MustCompile(`(?i)\b(is|are|was|were) no [a-z]`), 5},
}

// plainNo is plain: there is no such file.
var plainNo = regexp.MustCompile(`(?i)\bthere (is|are|was|were) no\b`)

// tolerated are the counts of folders and documents that are above the limits, in the order of figures. They may only fall.
var tolerated = map[string][]int{
	"bench":               {4, 24, 0, 7},
	"cmd":                 {0, 93, 0, 0},
	"compiler":            {0, 62, 0, 18},
	"CHANGELOG.md":        {2, 6, 0, 0},
	"docs/choices.md":     {5, 15, 3, 0},
	"docs/conformance.md": {2, 16, 0, 0},
	"fuzz":                {28, 86, 15, 17},
	"grammar":             {2, 14, 0, 13},
	"httpd":               {0, 127, 0, 0},
	"runtime":             {0, 214, 0, 44},
	"tests in the root":   {0, 2, 0, 0},
	"vm":                  {0, 56, 0, 23},
}

// prose returns the words that the project says, by where it says them: the comments and the messages of each folder at the top, and each
// document outside of code blocks.
func prose(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]*strings.Builder{}
	say := func(where, text string) {
		if texts[where] == nil {
			texts[where] = new(strings.Builder)
		}
		texts[where].WriteString(text + "\n")
	}
	for _, s := range sources(t, ".") {
		top, _, inFolder := strings.Cut(s.path, "/")
		if !inFolder {
			top = "tests in the root"
		}
		for _, group := range s.file.Comments {
			say(top, group.Text())
		}
		for _, message := range messages(s) {
			say("messages of "+top, message)
		}
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "bench/RESULTS.md") {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for line := range strings.Lines(string(content)) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if !fenced && !strings.HasPrefix(line, "    ") {
				say(page, line)
			}
		}
	}
	whole := map[string]string{}
	for where, text := range texts {
		whole[where] = text.String()
	}
	return whole
}

// spoken are the folders whose texts users read. The others test and measure.
var spoken = []string{"cmd", "compiler", "grammar", "httpd", "runtime", "vm"}

// messages returns the string literals of a production file.
func messages(s source) (all []string) {
	top, _, _ := strings.Cut(s.path, "/")
	if !slices.Contains(spoken, top) || strings.HasSuffix(s.path, "_test.go") {
		return nil
	}
	ast.Inspect(s.file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			all = append(all, literal.Value)
		}
		return true
	})
	return all
}

// countFigures returns how often a text has each of figures, and how many words it has.
func countFigures(text string) (counts []int, words int) {
	for _, f := range figures {
		counts = append(counts, len(f.pattern.FindAllString(plainNo.ReplaceAllString(text, ""), -1)))
	}
	return counts, len(strings.Fields(text))
}

func TestPlainEnglish(t *testing.T) {
	texts := prose(t)
	for _, where := range slices.Sorted(maps.Keys(texts)) {
		counts, words := countFigures(texts[where])
		for i, f := range figures {
			most := f.most * max(words, 5000) / 10_000
			own := 0
			if all := tolerated[where]; all != nil {
				own = all[i]
			}
			switch {
			case counts[i] > max(most, own):
				t.Errorf("%s: %q occurs %d times in %d words; at most %d are allowed", where, f.name, counts[i], words, max(most, own))
			case own > most && counts[i] < own*9/10:
				t.Errorf("%s: %q occurs %d times: lower its count of %d in language_test.go", where, f.name, counts[i], own)
			}
		}
	}
}

func TestFiguresAreFound(t *testing.T) {
	counts, words := countFigures("What is allowed stands here, and nobody is no match; standard what")
	if !slices.Equal(counts, []int{1, 1, 1, 1}) || words != 12 {
		t.Errorf("%v in %d words", counts, words)
	}
	const text = "package planted\n\n// nobody\nconst a = \"it is no file\"\n"
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got := messages(source{path: "vm/planted.go", file: file}); !slices.Equal(got, []string{`"it is no file"`}) {
		t.Errorf("planted messages: %q", got)
	}
	if got := messages(source{path: "vm/planted_test.go", file: file}); len(got) != 0 {
		t.Errorf("messages of a test: %q", got)
	}
}
