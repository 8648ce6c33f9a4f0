package bailiff_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	_ "github.com/cockroachdb/datadriven" // registers -rewrite

	"bailiff/compiler"
	"bailiff/compiler/frame"
	"bailiff/fuzz/kit/page"
	"bailiff/runtime/ledger/state"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

const specification = "docs/specification.md"

// TestSpecification holds the appendix of docs/specification.md to the tables in the code, and requires that the paragraphs
// before it name every route, field of requests, section of policies and variable of clients.
func TestSpecification(t *testing.T) {
	n := readNames(t)
	page.Hold(t, specification, "names", "go test . -run TestSpecification -rewrite", n.page())
	content, err := os.ReadFile(specification)
	if err != nil {
		t.Fatal(err)
	}
	prose, _, found := strings.Cut(string(content), "\n## Names\n")
	if !found {
		t.Fatal(specification + " has no section Names")
	}
	for _, name := range missing(prose, n.required()) {
		t.Errorf("%s does not say what %s is; add it to a numbered paragraph", specification, name)
	}
}

// TestSpecificationCatches plants a row in each table that is read from source, and a name that no paragraph has.
func TestSpecificationCatches(t *testing.T) {
	s := planted(t, `package x
const base = "/v1/planted"
var routes = []route{
	{path: base + "/{id}", method: "PUT", summary: "Plant."},
	document("/planted.json", "id", "Planted document.", "Schema", nil),
}
var adminRoutes = []struct{}{{"GET", "/planted/", "/plan", nil}}
type Settings struct {
	Planted map[uint64]string `+"`env:\"SVC_PLANTED_<chainId>\" default:\"/v1/planted\" help:\"planted setting\"`"+`
	Other string `+"`env:\"SVC_OTHER\"`"+`
}

// Planted layout:
//
//	a = b
`)
	if got := fenced(s.comment("Planted layout")); got != "Planted layout:\n\n```text\na = b\n```\n\n" {
		t.Errorf("the layout is %q", got)
	}
	n := names{
		routes: s.routes(), admin: s.adminRoutes(), settings: s.settings(),
		kinds: []state.Description{{Number: 99, Event: "planted.event", About: "of no key", Fields: "a b"}, {Number: 100, Event: "planted.event"}},
	}
	text := n.page()
	for _, row := range []string{
		"| `PUT /v1/planted/{id}` | Plant. |", "| `GET /planted.json` | Planted document. |", "`GET /planted/{id}/plan`",
		"| `SVC_PLANTED_<chainId>` | `/v1/planted` | planted setting |", "| `SVC_OTHER` | – |", "| 99 | `planted.event` | a b | of no key |", "| 100 | `planted.event` | – | – |", "|---|\n| `planted.event` |\n\n",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("%s is not in the page:\n%s", row, text)
		}
	}
	if got := missing("`PUT /v1/planted` and `## evm`", []string{"`PUT /v1/planted/{id}`", "`## evm`"}); len(got) != 1 {
		t.Errorf("missing are %q, want the route alone", got)
	}
}

// firstYounger is the number of the first form of records that the page about upgrades names.
const firstYounger = 25

// TestUpgradingNamesRecords: somebody who goes back to an older release finds each kind of record that it may not know, by its number and its name.
func TestUpgradingNamesRecords(t *testing.T) {
	content, err := os.ReadFile("docs/upgrading.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range unnamedRecords(string(content), state.Descriptions()) {
		t.Error(fault)
	}
	planted := []state.Description{{Number: 24, Event: "old.event"}, {Number: 45, Event: "webhook.changed"}, {Number: 45, Event: "key.created"}, {Number: 99, Event: "planted.event"}}
	if got := unnamedRecords(string(content), planted); len(got) != 2 {
		t.Errorf("planted: found %q, want 2", got)
	}
}

// unnamedRecords returns the younger forms of records that no row of a page's table has by number and name.
func unnamedRecords(page string, all []state.Description) (faults []string) {
	for _, form := range all {
		named := false
		for line := range strings.Lines(page) {
			cells := strings.Split(line, "|")
			named = named || len(cells) == 5 && strings.Contains(cells[2], "`"+form.Event+"`") &&
				slices.Contains(strings.Split(strings.TrimSpace(cells[1]), ", "), strconv.Itoa(int(form.Number)))
		}
		if form.Number >= firstYounger && !named {
			faults = append(faults, fmt.Sprintf("docs/upgrading.md has no row for the records %d, `%s`; add what writes them", form.Number, form.Event))
		}
	}
	return faults
}

// TestSpecificationLinks follows the links of the specification and of its table of tests: each leads to a page, and to a heading
// of that page.
func TestSpecificationLinks(t *testing.T) {
	for _, name := range []string{specification, "docs/conformance.md", "docs/decisions.md"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range deadLinks(name, string(content)) {
			t.Error(fault)
		}
	}
	if got := deadLinks(specification, "## A b\n[a](#a-b) [c](#c) [d](no.md) [e](verify.md#nothing) [f](verify.md)"); len(got) != 3 {
		t.Errorf("planted dead links: found %q, want 3", got)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// deadLinks returns the links of a page that lead nowhere.
func deadLinks(name, text string) (faults []string) {
	for _, found := range link.FindAllStringSubmatch(text, -1) {
		page := text
		if found[1] != "" {
			content, err := os.ReadFile(filepath.Join(filepath.Dir(name), found[1]))
			if err != nil {
				faults = append(faults, fmt.Sprintf("%s links to %s: %v", name, found[1], err))
				continue
			}
			page = string(content)
		}
		if found[2] != "" && !slices.Contains(anchors(page), found[2]) {
			faults = append(faults, fmt.Sprintf("%s links to %q of %q, which has no such heading", name, found[2], found[1]))
		}
	}
	return faults
}

// anchors are the headings of a page as links name them.
func anchors(text string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, found[1]))
	}
	return all
}

// missing returns the names that a text does not have.
func missing(text string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(text, name) })
}

// A row is one row of a table in the code, by its first cells.
type row []string

// names are the names that the service has towards its users and its disk.
type names struct {
	routes, admin, settings, clients []row

	kinds []state.Description // of records

	keys    []frame.Key
	codes   []errcode.Info
	layouts []string // of what is on disk
}

func readNames(t *testing.T) names {
	t.Helper()
	api, command := parsePackage(t, "httpd"), parsePackage(t, "cmd/bailiff/settings")
	records := parsePackage(t, "runtime/ledger/state")
	n := names{
		routes: api.routes(), admin: api.adminRoutes(), settings: command.settings(), clients: command.texts("clientVariables"), kinds: state.Descriptions(),
		keys: compiler.Schema(), codes: errcode.Table[:],
	}
	groups := parsePackage(t, "runtime/ledger/commit")
	for _, layout := range []string{groups.comment("A group of version 2 "), records.comment("Encoding of a record:")} {
		if layout == "" {
			t.Error("a comment on a layout was not found; mend how this test reads it")
		}
		n.layouts = append(n.layouts, layout)
	}
	for table, rows := range map[string][]row{
		"routes": n.routes, "adminRoutes": n.admin, "Settings": n.settings, "clientVariables": n.clients,
	} {
		if len(rows) < 5 {
			t.Errorf("the table %s was found with %d rows; mend how this test reads it", table, len(rows))
		}
	}
	return n
}

// required are the names that the paragraphs must have.
func (n *names) required() (all []string) {
	for _, r := range n.routes {
		all = append(all, "`"+r[0]+"`")
	}
	for _, f := range slot.Fields() {
		all = append(all, "`"+f.Name+"`")
	}
	for _, s := range n.clients {
		all = append(all, "`"+s[0]+"`")
	}
	for _, s := range compiler.Sections() {
		all = append(all, "`## "+s.Name+"`")
	}
	return all
}

// page is the appendix.
func (n *names) page() string {
	var b strings.Builder
	table := func(title, head string, rows []row) {
		columns := strings.Count(head, "|") - 1
		fmt.Fprintf(&b, "### %s\n\n%s\n%s|\n", title, head, strings.Repeat("|---", columns))
		for _, r := range rows {
			for i := range columns {
				fmt.Fprintf(&b, "| %s ", cell(r, i))
			}
			b.WriteString("|\n")
		}
		b.WriteString("\n")
	}
	table("Routes of the API", "| Route | Purpose |", quoted(n.routes))
	table("Routes of the admin socket", "| Route |", quoted(n.admin))
	table("Settings", "| Setting | Default | Meaning |", quoted(n.settings))
	table("Codes", "| HTTP | `error_code` |", n.byStatus())
	table("Sections and keys of policies", "| Section | Since | Keys |", n.bySection())
	table("Kinds of records", "| Number | Event | Fields | |", n.records())
	table("Kinds of events", "| `event` |", quoted(n.events()))
	b.WriteString("### Layout of groups and records\n\n")
	for _, layout := range n.layouts {
		b.WriteString(fenced(layout))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fenced is the text of a comment as Markdown has it: what it indents is a block of its own.
func fenced(comment string) string {
	var b strings.Builder
	inside, blank := false, ""
	for line := range strings.Lines(comment) {
		if strings.TrimSpace(line) == "" {
			blank = "\n"
			continue
		}
		switch indented := strings.HasPrefix(line, "\t"); {
		case indented && !inside:
			b.WriteString(blank + "```text\n")
		case !indented && inside:
			b.WriteString("```\n" + blank)
		default:
			b.WriteString(blank)
		}
		inside, blank = strings.HasPrefix(line, "\t"), ""
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	if inside {
		b.WriteString("```\n")
	}
	return b.String() + "\n"
}

// cell is a cell of a row as Markdown has it.
func cell(r row, i int) string {
	if i >= len(r) || r[i] == "" {
		return "–"
	}
	return strings.ReplaceAll(r[i], "|", `\|`)
}

// quoted sets the first cell of each row, and the second of a row of three, between backquotes.
func quoted(rows []row) []row {
	all := make([]row, len(rows))
	for i, r := range rows {
		all[i] = slices.Clone(r)
		all[i][0] = "`" + r[0] + "`"
		if len(r) == 3 && r[1] != "" {
			all[i][1] = "`" + r[1] + "`"
		}
	}
	return all
}

// records are the kinds of records, by number.
func (n *names) records() (rows []row) {
	for _, kind := range n.kinds {
		rows = append(rows, row{strconv.Itoa(int(kind.Number)), "`" + kind.Event + "`", kind.Fields, kind.About})
	}
	return rows
}

// events are the names of events, each once.
func (n *names) events() (rows []row) {
	for _, kind := range n.kinds {
		if !slices.ContainsFunc(rows, func(r row) bool { return r[0] == kind.Event }) {
			rows = append(rows, row{kind.Event})
		}
	}
	return rows
}

func (n *names) byStatus() (rows []row) {
	var statuses []int
	of := map[int][]string{}
	for _, info := range n.codes {
		if of[info.HTTP] == nil {
			statuses = append(statuses, info.HTTP)
		}
		of[info.HTTP] = append(of[info.HTTP], "`"+string(info.Code)+"`")
	}
	slices.Sort(statuses)
	for _, status := range statuses {
		rows = append(rows, row{strconv.Itoa(status), strings.Join(of[status], ", ")})
	}
	return rows
}

// bySection lists the keys of each section; a key that is younger than its section has its own first version behind it.
func (n *names) bySection() (rows []row) {
	for _, section := range compiler.Sections() {
		var keys []string
		for _, key := range n.keys {
			if key.Section != section.Name {
				continue
			}
			text := "`" + key.Name + "`"
			if key.Since != section.Since {
				text += " (" + key.Since.String() + ")"
			}
			keys = append(keys, text)
		}
		rows = append(rows, row{"`" + section.Name + "`", section.Since.String(), strings.Join(keys, ", ")})
	}
	return rows
}

// A tree is the syntax of one package, with the values of its constants of type string.
type tree struct {
	files  []*ast.File
	values map[string]string
}

// parsePackage parses the production files of a folder.
func parsePackage(t *testing.T, dir string) tree {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return planted(t, texts...)
}

// planted parses texts as the files of one package.
func planted(t *testing.T, texts ...string) tree {
	t.Helper()
	s := tree{values: map[string]string{}}
	for _, text := range texts {
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, file)
	}
	for range 3 { // a constant may be made from one that is further below
		s.each(token.CONST, func(name string, spec *ast.ValueSpec, value ast.Expr) {
			if text, known := s.text(value); known {
				s.values[name] = text
			}
		})
	}
	return s
}

// each visits the values at the top level of the package.
func (s *tree) each(kind token.Token, visit func(name string, spec *ast.ValueSpec, value ast.Expr)) {
	for _, file := range s.files {
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok || general.Tok != kind {
				continue
			}
			for _, spec := range general.Specs {
				value := spec.(*ast.ValueSpec)
				for i, name := range value.Names {
					if i < len(value.Values) {
						visit(name.Name, value, value.Values[i])
					}
				}
			}
		}
	}
}

// text is the value of an expression of constants and texts.
func (s *tree) text(e ast.Expr) (text string, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.Ident:
		text, known = s.values[e.Name]
		return text, known
	case *ast.BinaryExpr:
		left, ok := s.text(e.X)
		right, also := s.text(e.Y)
		return left + right, ok && also
	}
	return "", false
}

// comment is the comment that starts with a text.
func (s *tree) comment(start string) string {
	for _, file := range s.files {
		for _, group := range file.Comments {
			if text := group.Text(); strings.HasPrefix(text, start) {
				return text
			}
		}
	}
	return ""
}

// table returns the elements of the variable with that name.
func (s *tree) table(name string) (elements []ast.Expr) {
	s.each(token.VAR, func(found string, _ *ast.ValueSpec, value ast.Expr) {
		if literal, ok := value.(*ast.CompositeLit); ok && found == name {
			elements = literal.Elts
		}
	})
	return elements
}

// cells are the first count texts of a list of expressions, "" for one that is no constant text.
func (s *tree) cells(expressions []ast.Expr, count int) row {
	all := make(row, count)
	for i := range min(count, len(expressions)) {
		all[i], _ = s.text(expressions[i])
	}
	return all
}

func (s *tree) routes() (rows []row) {
	for _, element := range s.table("routes") {
		switch e := element.(type) {
		case *ast.CallExpr: // document(path, id, summary, …)
			c := s.cells(e.Args, 3)
			rows = append(rows, row{"GET " + c[0], c[2]})
		case *ast.CompositeLit:
			of := map[string]string{}
			for _, member := range e.Elts {
				pair := member.(*ast.KeyValueExpr)
				of[pair.Key.(*ast.Ident).Name], _ = s.text(pair.Value)
			}
			rows = append(rows, row{of["method"] + " " + of["path"], of["summary"]})
		}
	}
	return rows
}

func (s *tree) adminRoutes() (rows []row) {
	for _, element := range s.table("adminRoutes") {
		c := s.cells(element.(*ast.CompositeLit).Elts, 3)
		path := c[1]
		if strings.HasSuffix(path, "/") {
			path += "{id}"
		}
		rows = append(rows, row{c[0] + " " + path + c[2]})
	}
	return rows
}

// settings are the fields of the structure Settings, by their tags.
func (s *tree) settings() (rows []row) {
	for _, file := range s.files {
		ast.Inspect(file, func(node ast.Node) bool {
			named, ok := node.(*ast.TypeSpec)
			if !ok || named.Name.Name != "Settings" {
				return true
			}
			for _, field := range named.Type.(*ast.StructType).Fields.List {
				text, _ := strconv.Unquote(field.Tag.Value)
				tag := reflect.StructTag(text)
				rows = append(rows, row{tag.Get("env"), tag.Get("default"), tag.Get("help")})
			}
			return false
		})
	}
	return rows
}

// texts are the texts of a list.
func (s *tree) texts(name string) (rows []row) {
	for _, element := range s.table(name) {
		rows = append(rows, s.cells([]ast.Expr{element}, 1))
	}
	return rows
}

// TestDecisionsAreThere follows the comments that cite docs/decisions.md by section and entry.
func TestDecisionsAreThere(t *testing.T) {
	content, err := os.ReadFile("docs/decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	cited := 0
	for _, s := range sources(t, ".") {
		if s.path == "specification_test.go" {
			continue // which plants citations
		}
		cited += len(citation.FindAllString(s.text, -1))
		for _, fault := range wrongCitations(string(content), s.text) {
			t.Errorf("%s: %s", s.path, fault)
		}
	}
	if cited < 50 {
		t.Errorf("found %d citations; mend how this test reads them", cited)
	}
	const planted = `(decisions, section 1) (decisions, section 1, "Here") (decisions, section 1, "There") (decisions, section 9)`
	if got := wrongCitations("## 1. Names\n- **Here.** x\n## 2. Others\n- **There.** y\n", planted); len(got) != 2 {
		t.Errorf("of planted citations %q were found wrong, want two", got)
	}
}

// A citation names a section, and perhaps an entry; one whose entry's title is broken by the end of a line counts for its section.
var citation = regexp.MustCompile("decisions, sections? (\\d+)(?:, \"([^\"\n]*)\")?")

// wrongCitations returns the citations in text of which the page has no section, or no entry in that section.
func wrongCitations(page, text string) (faults []string) {
	plain := func(text string) string { return strings.ToLower(strings.ReplaceAll(text, "`", "")) }
	for _, found := range citation.FindAllStringSubmatch(text, -1) {
		_, section, there := strings.Cut("\n"+page, "\n## "+found[1]+". ")
		section, _, _ = strings.Cut(section, "\n## ")
		if !there || !strings.Contains(plain(section), "**"+plain(found[2])) {
			faults = append(faults, "docs/decisions.md does not have "+found[0])
		}
	}
	return faults
}
