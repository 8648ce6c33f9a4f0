package bailiff_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The rules of the house that a compiler does not hold (ARCHITECTURE.md says why): who may import what,
// how large a file and a function may grow, what may be at the top, and that packages say what they are for.

const (
	maxFileLines     = 600
	maxFunctionLines = 60
)

// topLevel is everything that may be in the root of the project.
var topLevel = map[string]bool{
	"grammar": true, "compiler": true, "vm": true, "runtime": true, "httpd": true, "fuzz": true, "bench": true,
	"cmd": true, "docs": true, "go.mod": true, "go.sum": true, "Makefile": true, "README.md": true,
	"ARCHITECTURE.md": true, "CHANGELOG.md": true, "CONTRIBUTING.md": true, "LICENSE": true, ".ci": true, ".golangci.yml": true,
	".gitignore": true, "tidy_test.go": true, "imports_test.go": true, "specification_test.go": true, "citations_test.go": true, "proofs_test.go": true,
	"language_test.go": true, "house_test.go": true, "docs_test.go": true, "pictures_test.go": true,
}

// generated is what a build or a run leaves in the root; .gitignore names the same.
var generated = map[string]bool{".git": true, "bin": true, "dist": true, ".cache": true, "config": true, "data": true}

type source struct {
	path string // slash-separated, from the root
	dir  string
	test bool
	text string
	fset *token.FileSet
	file *ast.File
}

func sources(t *testing.T, root string) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (generated[entry.Name()] || entry.Name() == "node_modules" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		all = append(all, source{name, filepath.ToSlash(filepath.Dir(name)), strings.HasSuffix(name, "_test.go"), string(text), fset, file})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func under(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}

// checkSizes returns the file and the functions of s that are too long.
func checkSizes(s source) (faults []string) {
	if lines := strings.Count(s.text, "\n"); lines > maxFileLines {
		faults = append(faults, s.path+" has "+strconv.Itoa(lines)+" lines, more than "+strconv.Itoa(maxFileLines))
	}
	for _, decl := range s.file.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		length := s.fset.Position(function.End()).Line - s.fset.Position(function.Pos()).Line + 1
		if length > maxFunctionLines && !dispatch(function) {
			faults = append(faults, s.path+": "+function.Name.Name+" has "+strconv.Itoa(length)+" lines, more than "+strconv.Itoa(maxFunctionLines))
		}
	}
	return faults
}

// dispatch reports whether a function says of itself that it is one flat switch, as the machine's loop is:
// splitting such a switch would cost a call per instruction.
func dispatch(function *ast.FuncDecl) bool {
	return function.Doc != nil && strings.Contains(function.Doc.Text(), "one flat switch")
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t, ".") {
		for _, fault := range checkSizes(s) {
			t.Error(fault)
		}
	}
}

func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	for _, dir := range undocumented(sources(t, ".")) {
		t.Errorf("%s has no package comment", dir)
	}
}

// undocumented returns the folders of packages without a package comment.
func undocumented(all []source) (dirs []string) {
	documented := map[string]bool{}
	for _, s := range all {
		if !s.test {
			documented[s.dir] = documented[s.dir] || s.file.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !belongs(entry.Name()) {
			t.Errorf("%s does not belong in the root of the project", entry.Name())
		}
	}
}

// belongs reports whether a name may be in the root.
func belongs(name string) bool { return topLevel[name] || generated[name] }

// TestClockInOnePlace holds time to one source: everything else gets it as a parameter.
func TestClockInOnePlace(t *testing.T) {
	for _, s := range sources(t, ".") {
		if readsClock(s) {
			t.Errorf("%s calls time.Now; only %s may", s.path, clockHome)
		}
	}
}

// clockHome is the one file that reads the clock.
const clockHome = "runtime/clock/clock.go"

// readsClock reports whether production code outside clockHome reads the clock.
func readsClock(s source) bool {
	exempt := s.test || s.path == clockHome || under(s.dir, "bench") || under(s.dir, "fuzz")
	return !exempt && strings.Contains(s.text, "time.Now()")
}

// simulated are the folders whose packages reach the machine only by a [system.Calls], so that a simulator can be in its
// place.
var simulated = []string{
	"runtime/ledger", "runtime/accounts", "runtime/policies", "runtime/decision", "runtime/holds", "runtime/service", "runtime/events", "runtime/shims",
	"runtime/webhook", "runtime/gateway",
}

// notYetSimulated is how many places of a folder still reach the machine by themselves. These numbers may only fall.
var notYetSimulated = map[string]int{
	belowSimulator:          5,
	"runtime/ledger/memory": 1, // the id of a log that is not kept
	"runtime/decision":      1, // the ledger of a dry run
}

// belowSimulator is the log that a simulator replaces: its timers are its own.
const belowSimulator = "runtime/ledger/pebble"

// machineImports and machineNames are what simulated packages do not use: a package, and names of others.
var (
	machineImports = []string{"os", "os/exec", "crypto/rand", "math/rand", "math/rand/v2"}
	machineNames   = []string{
		"time.Now", "time.Since", "time.Until", "net.Dial", "net.DialTimeout", "net.Dialer", "net.Listen", "net.ListenConfig", "net.DefaultResolver",
		"net.LookupHost", "net.LookupIP", "net.LookupAddr",
	}
	// timerNames start timers, which come in by [system.Timers].
	timerNames = []string{"time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick", "time.Sleep", "context.WithTimeout", "context.WithDeadline"}
)

// givenGo are the names of structs whose field Go starts a task.
var givenGo = []string{"Calls", "calls", "options"}

// reaches returns the places of production code in which a simulated package reaches the machine by itself.
func reaches(s source) (places []string) {
	if s.test || !slices.ContainsFunc(simulated, func(folder string) bool { return under(s.dir, folder) }) {
		return nil
	}
	found := func(at token.Pos, what string) {
		places = append(places, s.path+":"+strconv.Itoa(s.fset.Position(at).Line)+": "+what)
	}
	for _, spec := range s.file.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); slices.Contains(machineImports, path) {
			found(spec.Pos(), "imports "+path)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found(n.Pos(), "starts a goroutine")
		case *ast.CallExpr:
			// The method of a sync.WaitGroup or an errgroup.Group.
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Go" && !slices.Contains(givenGo, nameOf(method.X)) {
				found(n.Pos(), "starts a goroutine")
			}
		case *ast.SelectorExpr:
			name := nameOf(n.X) + "." + n.Sel.Name
			if slices.Contains(machineNames, name) || !under(s.dir, belowSimulator) && slices.Contains(timerNames, name) {
				found(n.Pos(), "uses "+name)
			}
		}
		return true
	})
	return places
}

// nameOf is the last name of an expression such as a.b.c.
func nameOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// TestMachineInOnePlace holds that packages with state or secrets get clock, randomness, files, connections and goroutines from
// a [system.Calls].
func TestMachineInOnePlace(t *testing.T) {
	byFolder := map[string][]string{}
	for _, s := range sources(t, ".") {
		byFolder[s.dir] = append(byFolder[s.dir], reaches(s)...)
	}
	for folder, places := range byFolder {
		if most := notYetSimulated[folder]; len(places) > most {
			t.Errorf("%s reaches the machine in %d places, and %d are known; use system.Calls:\n%s", folder, len(places), most, strings.Join(places, "\n"))
		}
	}
}

// TestTidyCatches is the canary of the rules above: planted faults must be found.
func TestTidyCatches(t *testing.T) {
	plant := func(path, text string) source {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		return source{path, filepath.ToSlash(filepath.Dir(path)), false, text, fset, file}
	}
	for _, s := range []source{
		plant("vm/x.go", "package vm\nimport _ \"bailiff/grammar\"\n"),
		plant("compiler/x.go", "package compiler\nimport _ \"github.com/alecthomas/participle/v2\"\n"),
		plant("runtime/intent/x.go", "package intent\nimport _ \"bailiff/httpd\"\n"),
		plant("cmd/bailiff/x.go", "package main\nimport _ \"github.com/prometheus/client_golang/prometheus\"\n"),
		plant("runtime/webhook/x.go", "package webhook\nimport _ \"bailiff/runtime/decision\"\n"),
	} {
		if len(checkImports(s)) == 0 {
			t.Errorf("%s: the planted import was not found", s.path)
		}
	}
	long := plant("vm/x.go", "package vm\nfunc f() {\n"+strings.Repeat("\n", maxFileLines)+"}\n")
	if len(checkSizes(long)) != 2 {
		t.Error("the planted long file and function were not found")
	}
	if !readsClock(plant("vm/x.go", "package vm\nvar now = time.Now()\n")) {
		t.Error("the planted reading of the clock was not found")
	}
	for text, want := range map[string]int{
		"import \"os\"\nvar _ = os.Args": 1, "import \"time\"\nvar _ = time.Now": 1, "import \"net\"\nvar _ net.Dialer": 1, "import _ \"crypto/rand\"": 1,
		"import \"time\"\nvar _ = time.After": 1, "import \"context\"\nvar _ = context.WithTimeout": 1,
		"func f() { go f() }": 1, "func f(all *sync.WaitGroup) { all.Go(nil) }": 1,
		"func f(c Config) { c.Calls.Go(nil) }": 0, "import \"net\"\nvar _ net.Conn": 0,
	} {
		if got := reaches(plant("runtime/webhook/x.go", "package webhook\n"+text+"\n")); len(got) != want {
			t.Errorf("%q reaches the machine in %q, want %d places", text, got, want)
		}
	}
	if got := reaches(plant("runtime/otlp/x.go", "package otlp\nfunc f() { go f() }\n")); len(got) != 0 {
		t.Errorf("a package that is not simulated: %q", got)
	}
	if len(undocumented([]source{plant("vm/x.go", "package vm\n")})) != 1 {
		t.Error("the planted package without a comment was not found")
	}
	for page, want := range map[string]string{
		"| `vm/match` | texts | `vm` |": "| `vm/match` | texts | – |", "| `vm` | it | – |": "| `vm` | it | `vm/amount`, `vm/match`, `vm/wire`;",
	} {
		if got, _ := withImports("\n" + page); !strings.HasPrefix(got, "\n"+want) {
			t.Errorf("a planted column came out as %q", got)
		}
	}
	if _, faults := withImports("\n| `notes` | what is not there | – |"); !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, "has notes") }) || len(faults) != len(mayImport)+1 {
		t.Errorf("of a planted table: %q", faults)
	}
	if belongs("notes.txt") {
		t.Error("a planted file in the root was not found")
	}
}

// TestRunner runs .ci/test on modules of one package each: what passes, what fails always, what fails by its seed, what
// fails once, and what does not compile.
func TestRunner(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	script, err := filepath.Abs(filepath.Join(".ci", "test"))
	if err != nil {
		t.Fatal(err)
	}
	const once = `if _, err := os.Stat("been"); err != nil { os.WriteFile("been", nil, 0o600); t.Fatal("the machine is busy") }`
	for _, c := range []struct {
		name, body  string
		passes      bool
		says, never string
	}{
		{"good", `os.Getpid()`, true, "ok  \t", "once more"},
		{"bad", `os.Getpid(); t.Fatal("a fault")`, false, "once more, alone: planted", "unstable"},
		{"seeded", `t.Fatal("seed " + os.Getenv("BAILIFF_SEED"))`, false, "seed 42", "unstable"},
		{"unstable", once, true, "unstable, failed once and passed alone: planted", ""},
		{"uncompiled", `undefined()`, false, "[build failed]", "once more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod":          "module planted\n\ngo 1.26\n",
				"planted_test.go": fmt.Sprintf("package planted\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestPlanted(t *testing.T) {\n\t%s\n}\n", c.body),
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			command := exec.Command("bash", script)
			command.Dir, command.Env = dir, append(os.Environ(), "BAILIFF_SEED=42", "GOWORK=off")
			output, err := command.CombinedOutput()
			if (err == nil) != c.passes {
				t.Errorf("it ended with %v", err)
			}
			if text := string(output); !strings.Contains(text, c.says) || c.never != "" && strings.Contains(text, c.never) {
				t.Errorf("it printed, want %q and not %q:\n%s", c.says, c.never, text)
			}
		})
	}
}
