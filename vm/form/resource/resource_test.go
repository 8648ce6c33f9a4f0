package resource

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// A column is one predicate of a vocabulary, and the names for which docs/judging.md says that it holds.
type column struct {
	title string
	holds func(string) bool
	names string
}

// vocabularies restates the tables by columns, as the documents do.
var vocabularies = []struct {
	title   string
	names   func() []string
	is      func(string) bool
	columns []column
}{
	{"effects", Effects, IsEffect, []column{
		{"read", Reads, "read copy execute egress"},
		{"write", Writes, "create overwrite append truncate delete rename copy hard_link symlink chmod chown xattr"},
		{"writes bytes", WritesBytes, "create overwrite append copy"},
		{"deletes bytes", DeletesBytes, "truncate delete"},
		{"destroys", Destroys, "overwrite truncate delete rename"},
		{"takes along", TakesAlong, "delete rename copy hard_link chmod chown xattr egress"},
	}},
	{"git operations", GitOperations, IsGitOperation, []column{
		{"needs refs", NeedsRefs, "push_fast_forward create_branch create_tag rewrite_history delete_ref force_push mirror_push"},
		{"uses remote", UsesRemote, "fetch pull_ff_only push_fast_forward force_push mirror_push prune_remote change_remote"},
		{"rewrites history", RewritesHistory, "reset_hard rewrite_history delete_ref force_push mirror_push prune_remote"},
		{"must fast-forward", MustFastForward, "pull_ff_only push_fast_forward"},
		{"at provider", AtProvider, "change_protection change_credentials delete_repository"},
		{"moves branch", MovesBranch, "commit reset_hard rewrite_history"},
		{"needs branch", NeedsBranch, "reset_hard rewrite_history"},
		{"unprotects", Unprotects, "change_protection delete_repository"},
	}},
	{"database operations", DatabaseOperations, IsDatabaseOperation, []column{
		{"changes schema", ChangesSchema, "create_table drop_table add_column drop_column alter_column_type add_constraint " +
			"drop_constraint create_index drop_index create_schema drop_schema create_database alter_database drop_database " +
			"create_routine replace_routine change_trigger change_row_security create_extension"},
		{"indirect effects", IndirectEffects, "create_routine replace_routine change_trigger"},
	}},
}

// TestVocabularies holds the tables to the columns, each name to be itself, and what is no name to have no traits.
func TestVocabularies(t *testing.T) {
	for _, v := range vocabularies {
		names := v.names()
		for i, name := range names {
			if name == "" || name != strings.ToLower(name) || slices.Contains(names[:i], name) || !v.is(name) {
				t.Errorf("%s: unfit name %q", v.title, name)
			}
		}
		for _, c := range v.columns {
			if got := strings.Join(slices.DeleteFunc(v.names(), func(n string) bool { return !c.holds(n) }), " "); got != c.names {
				t.Errorf("%s, %s:\n got %s\nwant %s", v.title, c.title, got, c.names)
			}
			for _, other := range []string{"", "READ", "read ", "push", "delete_refs", "create_", "*"} {
				if c.holds(other) || v.is(other) {
					t.Errorf("%s: %q is a name", v.title, other)
				}
			}
		}
		if names[0] = "x"; v.names()[0] == "x" {
			t.Errorf("%s: the table can be changed from outside", v.title)
		}
	}
}

// TestSchemaChanges holds the column to the rule that documents state for it, by the beginnings of names.
func TestSchemaChanges(t *testing.T) {
	for _, name := range DatabaseOperations() {
		verb, _, _ := strings.Cut(name, "_")
		want := verb != name && slices.Contains([]string{"create", "drop", "alter", "add"}, verb) ||
			slices.Contains([]string{"replace_routine", "change_trigger", "change_row_security"}, name)
		if ChangesSchema(name) != want {
			t.Errorf("%s: changes the schema: %v", name, !want)
		}
	}
}

// TestDocumented holds the tables of the package comment, and the lists of docs/judging.md, to the tables.
func TestDocumented(t *testing.T) {
	comment, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vocabularies {
		if table := drawn(v.title, v.names(), v.columns); !strings.Contains(string(comment), table) {
			t.Errorf("doc.go does not show this table:\n%s", table)
		}
	}
	judging, err := os.ReadFile("../../../docs/judging.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(judging)), " ")
	for _, sentence := range []string{
		"Effects are `" + strings.Join(Effects(), " ") + "`.",
		"any but " + ticked(OrdinaryClasses()),
		"any but " + ticked(ReadCapabilities()),
		ticked(strings.Fields("reset_hard rewrite_history delete_ref force_push mirror_push prune_remote")),
	} {
		if !strings.Contains(text, sentence) {
			t.Errorf("docs/judging.md does not say: %s", sentence)
		}
	}
}

func ticked(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// drawn returns a vocabulary as the package comment shows it.
func drawn(title string, names []string, columns []column) string {
	width := len(title)
	for _, name := range names {
		width = max(width, len(name))
	}
	rows := []string{fmt.Sprintf("%-*s", width, title)}
	for _, name := range names {
		rows = append(rows, fmt.Sprintf("%-*s", width, name))
	}
	for _, c := range columns {
		rows[0] += "  " + c.title
		for i, name := range names {
			mark := "-"
			if c.holds(name) {
				mark = "x"
			}
			rows[i+1] += fmt.Sprintf("  %-*s", len(c.title), mark)
		}
	}
	for i := range rows {
		rows[i] = "//\t" + strings.TrimRight(rows[i], " ")
	}
	return strings.Join(rows, "\n") + "\n"
}

// TestLists holds the short lists to what policies can name.
func TestLists(t *testing.T) {
	for want, names := range map[string][]string{"generic github gitlab bitbucket": GitProviders(), "https ssh": RemoteSchemes()} {
		if strings.Join(names, " ") != want {
			t.Errorf("%v, want %s", names, want)
		}
	}
}

// paths are texts with the reason why they are not canonical.
var paths = []struct{ text, why string }{
	{"/a", ""}, {"/work/repo", ""}, {"/a/.b", ""}, {"/a/...", ""}, {"/a/b..", ""}, {"/A b/ü", ""}, {"/c:/x", ""}, {"/a%2f", ""},
	{"/~/$x", ""}, {"/a/ ", ""}, {"/\u00a0", ""}, {"/\u200b", ""},
	{"", "does not start with /"}, {"a", "does not start with /"}, {"./a", "does not start with /"}, {`\a`, "does not start with /"},
	{".", "does not start with /"}, {"~/a", "does not start with /"}, {"C:/a", "does not start with /"},
	{"/", "has an empty segment or ends in /"}, {"//", "has an empty segment or ends in /"}, {"/a/", "has an empty segment or ends in /"},
	{"//a", "has an empty segment or ends in /"}, {"/a//b", "has an empty segment or ends in /"}, {"/ü//b", "has an empty segment or ends in /"},
	{"/.", "has a segment of dots alone"}, {"/..", "has a segment of dots alone"}, {"/a/./b", "has a segment of dots alone"},
	{"/a/..", "has a segment of dots alone"}, {"/../a", "has a segment of dots alone"}, {"/ü/..", "has a segment of dots alone"},
	{`/a\b`, "holds a backslash"}, {`/\`, "holds a backslash"}, {"/a\x00", "holds a control character"}, {"/a\nb", "holds a control character"},
	{"/\x7f", "holds a control character"}, {"/\u0085", "holds a control character"}, {"/\xff", "is not valid UTF-8"},
}

func TestCanonicalPath(t *testing.T) {
	for _, p := range paths {
		if why := WhyNotCanonical(p.text); why != p.why || CanonicalPath(p.text) != (why == "") {
			t.Errorf("%q: %q, want %q", p.text, why, p.why)
		}
		if CanonicalRoot(p.text) != (p.why == "" || p.text == "/") {
			t.Errorf("%q as a root: %v", p.text, CanonicalRoot(p.text))
		}
	}
}

// naive reads the definition word by word.
func naive(text string) bool {
	if !strings.HasPrefix(text, "/") || strings.HasSuffix(text, "/") || strings.Contains(text, `\`) || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return false
		}
	}
	for _, segment := range strings.Split(text, "/")[1:] {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// disagreement returns a text of which is and the naive reading differ, or "".
func disagreement(is func(string) bool, text string) string {
	if is(text) != naive(text) {
		return fmt.Sprintf("%q is canonical: %v", text, is(text))
	}
	return ""
}

// FuzzCanonicalPath holds the one pass to the naive reading.
func FuzzCanonicalPath(f *testing.F) {
	for _, p := range paths {
		f.Add(p.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if problem := disagreement(CanonicalPath, text); problem != "" {
			t.Fatal(problem)
		}
		if CanonicalRoot(text) != (naive(text) || text == "/") {
			t.Fatalf("%q as a root: %v", text, CanonicalRoot(text))
		}
	})
}

// TestNaiveCanary plants two readers with a fault each and expects the seeds to tell them from the naive one.
func TestNaiveCanary(t *testing.T) {
	for name, planted := range map[string]func(string) bool{
		"no look at C1 controls": func(text string) bool { return CanonicalPath(strings.ReplaceAll(text, "\u0085", "x")) },
		"a slash at the end":     func(text string) bool { return CanonicalPath(strings.TrimSuffix(text, "/")) },
	} {
		if !slices.ContainsFunc(paths, func(p struct{ text, why string }) bool { return disagreement(planted, p.text) != "" }) {
			t.Errorf("nobody noticed: %s", name)
		}
	}
}

func TestAllocations(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		if !CanonicalPath("/work/repo/src/main.go") || !Writes("create") || !NeedsRefs("force_push") || !ChangesSchema("add_column") {
			t.Error("wrong")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
