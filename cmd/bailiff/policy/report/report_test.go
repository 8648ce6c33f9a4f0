package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"
	"bailiff/grammar"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

var table = []grammar.CodeInfo{
	{Code: "E9001", Title: "a", Explanation: "b", Wrong: "c\n", Right: "d\n"},
	{Code: "E9002", Title: "never", Explanation: "seen"},
	{Code: "W9001", Title: "e", Explanation: "f"},
}

func sample() []File {
	src := grammar.NewSource("dir/a policy: 1,2.md", []byte("größe 🙂: x\nsecond\n"))
	return []File{{src, grammar.Diagnostics{
		grammar.At("E9001", grammar.Span{Start: 8, End: 12}, "100%% wrong: a,b").WithHint("mend it").WithFix(grammar.Span{Start: 8, End: 12}, "ü"),
		grammar.At("W9001", grammar.Span{Start: 0, End: 20}, "over two lines \x1b[31m"),
		grammar.At("E9001", grammar.Span{Start: 0, End: 0}, "mended with bytes").WithFix(grammar.Span{}, "\xff"),
		grammar.At("N9001", grammar.Span{Start: 0, End: 0}, "a note of no rule"),
	}}, {grammar.NewSource("-", nil), nil}}
}

// TestGitHub holds the workflow commands to their form.
func TestGitHub(t *testing.T) {
	var b strings.Builder
	if err := GitHub(&b, sample()); err != nil {
		t.Fatal(err)
	}
	want := "::error file=dir/a policy%3A 1%2C2.md,line=1,col=7,endLine=1,endColumn=8,title=E9001::100%25 wrong: a,b%0Ahelp: mend it\n" +
		"::warning file=dir/a policy%3A 1%2C2.md,line=1,endLine=2,title=W9001::over two lines ␛[31m\n" +
		"::error file=dir/a policy%3A 1%2C2.md,line=1,col=1,endLine=1,endColumn=1,title=E9001::mended with bytes\n" +
		"::notice file=dir/a policy%3A 1%2C2.md,line=1,col=1,endLine=1,endColumn=1,title=N9001::a note of no rule\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// TestGitHubContains reads workflow commands back as a runner does: whatever a policy is called and holds, it is one
// command a finding, with the file and the message that it was made of.
func TestGitHubContains(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 500))
	tricky := gen.SliceOf(gen.OneConstOf("%", "\r", "\n", ":", ",", "::", "::error file=x::y", "%0A", "%25", "a", "é", "=", " ", "\u2028")).
		Map(func(parts []string) string { return strings.Join(parts, "") })
	properties.Property("a command comes back as it was meant", prop.ForAll(func(name, message string) string {
		src := grammar.NewSource(name, []byte("x\n"))
		d := grammar.At("E9001", grammar.Span{Start: 0, End: 1}, "%s", message)
		var b strings.Builder
		_ = GitHub(&b, []File{{src, grammar.Diagnostics{d}}})
		line, found := strings.CutSuffix(b.String(), "\n")
		if !found || strings.ContainsAny(line, "\r\n") {
			return fmt.Sprintf("%q is not one line", b.String())
		}
		file, data, err := readCommand(line)
		if err != nil || file != name || data != grammar.Visible(message) {
			return fmt.Sprintf("%q came back as %q, %q, %v", line, file, data, err)
		}
		return ""
	}, tricky, tricky))
	properties.TestingRun(t)
}

// readCommand splits a command as GitHub's runner does: at the first `::` behind the name, then at commas.
func readCommand(line string) (file, data string, err error) {
	head, data, found := strings.Cut(strings.TrimPrefix(line, "::"), "::")
	_, list, hasProperties := strings.Cut(head, " ")
	if !found || !hasProperties {
		return "", "", fmt.Errorf("no command")
	}
	properties := map[string]string{}
	for _, property := range strings.Split(list, ",") {
		name, value, ok := strings.Cut(property, "=")
		if _, twice := properties[name]; !ok || twice {
			return "", "", fmt.Errorf("property %q", property)
		}
		properties[name] = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(value)
	}
	if line, err := strconv.Atoi(properties["line"]); err != nil || line != 1 {
		return "", "", fmt.Errorf("line %q", properties["line"])
	}
	return properties["file"], strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%").Replace(data), nil
}

// TestSARIF holds the log to the schema of SARIF 2.1.0 and to what was found.
func TestSARIF(t *testing.T) {
	var b strings.Builder
	if err := SARIF(&b, sample(), table); err != nil {
		t.Fatal(err)
	}
	log, err := sarif.FromString(b.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Validate(); err != nil {
		t.Errorf("against the schema: %v", err)
	}
	run := log.Runs[0]
	rules := run.Tool.Driver.Rules
	if len(rules) != 2 || *rules[0].ID != "E9001" || *rules[1].ID != "W9001" || *rules[0].Help.Markdown != "b\n\nWrong:\n\n    c\n\nRight:\n\n    d\n" {
		t.Errorf("%d rules", len(rules))
	}
	if len(run.Artifacts) != 2 || *run.Artifacts[0].Location.URI != "dir/a%20policy:%201,2.md" || *run.Artifacts[1].Location.URI != "stdin" {
		t.Errorf("%s", b.String())
	}
	var got []string
	for _, r := range run.Results {
		at := r.Locations[0].PhysicalLocation.Region
		got = append(got, fmt.Sprintf("%s %d %s %d:%d-%d:%d %q %d", *r.RuleID, r.RuleIndex, r.Level, *at.StartLine, *at.StartColumn, *at.EndLine, *at.EndColumn, *r.Message.Text, len(r.Fixes)))
	}
	want := []string{
		`E9001 0 error 1:7-1:8 "100% wrong: a,b\nhelp: mend it" 1`,
		`W9001 1 warning 1:1-2:5 "over two lines ␛[31m" 0`,
		`E9001 0 error 1:1-1:1 "mended with bytes" 0`,
		`N9001 -1 note 1:1-1:1 "a note of no rule" 0`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	replacement := run.Results[0].Fixes[0].ArtifactChanges[0].Replacements[0]
	if *replacement.InsertedContent.Text != "ü" || *replacement.DeletedRegion.StartColumn != 7 || *replacement.DeletedRegion.EndColumn != 8 {
		t.Errorf("%+v", replacement)
	}
}

// TestSARIFCanary shows that the schema is looked at.
func TestSARIFCanary(t *testing.T) {
	var b strings.Builder
	if err := SARIF(&b, sample(), table); err != nil {
		t.Fatal(err)
	}
	var log map[string]any
	if err := json.Unmarshal([]byte(strings.Replace(b.String(), `"startLine": 1`, `"startLine": 0`, 1)), &log); err != nil {
		t.Fatal(err)
	}
	broken, _ := json.Marshal(log)
	if read, err := sarif.FromBytes(broken); err == nil && read.Validate() == nil {
		t.Error("a region at line 0 passed")
	}
}

// TestPage holds the page of a code to its form, and shows that what can't be seen is made visible.
func TestPage(t *testing.T) {
	want := "error E9001: a\n\nb\n\nWrong:\n\n    c␍\n\n    <U+200B>\n\nRight:\n\n    d\n"
	if got := Page(grammar.CodeInfo{Code: "E9001", Title: "a", Explanation: "b", Wrong: "c\r\n\n\u200b", Right: "d\n"}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	long := grammar.CodeInfo{Wrong: "a: " + strings.Repeat("é", 117) + "\nb: " + strings.Repeat("é", 110) + "0123456789\n", Right: "c\n"}
	if got := Markdown(long); !strings.Contains(got, "    a: "+strings.Repeat("é", 117)+"\n") ||
		!strings.Contains(got, "    b: "+strings.Repeat("é", 97)+"…"+strings.Repeat("é", 10)+"0123456789\n") {
		t.Errorf("%q", got)
	}
	if got := Page(table[1]); got != "error E9002: never\n\nseen\n" {
		t.Errorf("%q", got)
	}
}
