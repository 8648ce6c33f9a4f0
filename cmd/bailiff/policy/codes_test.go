package policy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/policy/report"
	"bailiff/compiler"
	"bailiff/compiler/codes"
	"bailiff/compiler/lint"
	"bailiff/fuzz/kit/page"
	"bailiff/grammar"
	"bailiff/vm/errcode"

	_ "github.com/cockroachdb/datadriven" // for its flag -rewrite
)

// diagnosticsPage is the reference of all codes, as docs/diagnostics.md has it.
func diagnosticsPage() string {
	var b strings.Builder
	b.WriteString("# Diagnostics\n\nEverything that `bailiff check` can say about a policy, one section a code. Codes that begin with E are errors: the\n" +
		"policy is refused. W are warnings, N notes. `bailiff explain-code CODE` prints the same. Where an example has `…` there\n" +
		"is more of the same than a page holds. The page is made from the tables in `grammar`, `compiler` and `cmd/bailiff`;\n" +
		"`make golden` makes it anew.\n\n" +
		"`check --fix` changes nothing in a policy that compiles. In one that is refused it puts right how lines, headings and keys\n" +
		"are written, forms of other formats (YAML, JSON, TOML, Markdown) included, and never what a value, an operator, a path or a\n" +
		"scope says: what those allow is for the author to say. All other fixes it prints; `check --fix-unsafe` makes them as well, and what it changed is to be read before it is signed.\n")
	for _, info := range codeTable() {
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s", info.Code, info.Title, report.Markdown(info))
	}
	return b.String()
}

// errorsPage is the reference of the error codes of answers, as docs/error-codes.md has it.
func errorsPage() string {
	var b strings.Builder
	b.WriteString("# Error codes\n\nEvery `error_code` that an answer can carry: what it means, what to do, and whether a client may send the same request\n" +
		"again. `bailiff explain-code CODE` prints the same. The page is made from the table in `vm/errcode`; `make golden` makes\n" +
		"it anew.\n")
	for _, info := range errcode.Table {
		_, rest, _ := strings.Cut(answerPage(info), "\n")
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n%s", info.Code, upperFirst(info.Meaning), rest)
	}
	return b.String()
}

// TestDiagnosticsPages holds the pages of codes in docs to the tables; with -rewrite it writes the pages.
func TestDiagnosticsPages(t *testing.T) {
	for name, want := range map[string]string{"diagnostics.md": diagnosticsPage(), "error-codes.md": errorsPage()} {
		page.Whole(t, filepath.Join("../../../docs", name), "go test ./cmd/bailiff/policy -run TestDiagnosticsPage -rewrite", want)
	}
}

// withoutExample are the codes that no policy shows, or none that fits on a page.
var withoutExample = []grammar.Code{grammar.CodeUnexpected, codes.TooLarge, codes.Memory, codes.CompileTime}

// fillings are what the `…` of an example means where it matters.
var fillings = map[grammar.Code]string{
	grammar.CodeTooLarge:     strings.Repeat("x", grammar.MaxBytes),
	grammar.CodeTooManyLines: strings.Repeat("# more\n", grammar.MaxLines),
	grammar.CodeLineTooLong:  strings.Repeat("x", grammar.MaxLineBytes),
	grammar.CodeTooManySegs:  strings.Repeat("d.", grammar.MaxSegments) + "d",
	grammar.CodeTooManyItems: strings.Repeat("ops, ", grammar.MaxItems) + "ops",
	grammar.CodeMore:         strings.Repeat("allow : bash\n", grammar.MaxDiagnostics),
}

// TestExamples compiles the examples of every code: the wrong one has the finding, and the right one has neither it nor
// any error.
func TestExamples(t *testing.T) {
	for _, info := range codeTable() {
		if slices.Contains(withoutExample, info.Code) {
			if info.Wrong != "" || info.Right != "" {
				t.Errorf("%s has an example, and is listed as one that can't", info.Code)
			}
			continue
		}
		if err := checkExample(info); err != nil {
			t.Errorf("%s: %v", info.Code, err)
		}
	}
}

func checkExample(info grammar.CodeInfo) error {
	if info.Wrong == "" || info.Right == "" {
		return fmt.Errorf("no example")
	}
	wrong := strings.Replace(info.Wrong, "…", fillings[info.Code], 1)
	if _, found := lint.Compile(grammar.NewSource("wrong", []byte(wrong))); !has(found, info.Code) {
		return fmt.Errorf("the wrong example does not show it, but %v", found)
	}
	src := grammar.NewSource("right", []byte(info.Right))
	_, found := lint.Compile(src)
	if has(found, info.Code) || found.HasErrors() {
		return fmt.Errorf("the right example has errors: %s", src.Render(found[0]))
	}
	return nil
}

func has(found grammar.Diagnostics, code grammar.Code) bool {
	return slices.ContainsFunc(found, func(d grammar.Diagnostic) bool { return d.Code == code })
}

// TestFixesEnd makes all fixes of every wrong example: they come to an end, and where one was for the finding that the
// example is about, that is gone.
func TestFixesEnd(t *testing.T) {
	mended := 0
	for _, info := range codeTable() {
		made := false
		src := grammar.NewSource("wrong", []byte(strings.Replace(info.Wrong, "…", fillings[info.Code], 1)))
		after, done := mendAll(src, isFix, func(_ *grammar.Source, d grammar.Diagnostic) { made = made || d.Code == info.Code })
		if !done {
			t.Errorf("%s: fixes go on for ever; %s", info.Code, after.Text)
		}
		if _, found := lint.Compile(after); made && has(found, info.Code) {
			t.Errorf("%s: the fixes do not mend\n%s", info.Code, after.Text)
		}
		if made {
			mended++
		}
	}
	if mended < 10 {
		t.Errorf("only %d examples were mended", mended)
	}
}

// TestFixesAreKnown: every finding with a fix says which option makes it, and every one of those has a fix somewhere.
func TestFixesAreKnown(t *testing.T) {
	seen := map[grammar.Code]bool{}
	for src := range policiesOfTests(t) {
		_, found := lint.Compile(src)
		for _, d := range found {
			if d.Fix == nil {
				continue
			}
			seen[d.Code] = true
			if kind := fixKind(d.Code); kind == grammar.NoFix || kind == grammar.FixSafe && d.Severity != grammar.Error {
				t.Errorf("%s has a fix, and its definition does not say of which kind: %s", d.Code, src.Render(d))
			}
		}
	}
	for _, info := range codeTable() {
		if info.Fix != grammar.NoFix && !seen[info.Code] {
			t.Errorf("%s is defined with a fix, and has none in any test", info.Code)
		}
	}
}

// TestSafeFixes: --fix leaves every policy alone that compiles, and of the others every value.
func TestSafeFixes(t *testing.T) {
	mended := 0
	for src := range policiesOfTests(t) {
		_, found := lint.Compile(src)
		after, done := mendAll(src, isSafe, func(src *grammar.Source, d grammar.Diagnostic) {
			mended++
			if strings.ContainsAny(src.Slice(d.Fix.Span), ",\"'") && d.Code != grammar.CodeBadVersion && d.Code != grammar.CodeForeignForm && !sameButForm(src.Slice(d.Fix.Span), d.Fix.Replacement) {
				t.Errorf("%s changes a value: %s", d.Code, src.Render(d))
			}
		})
		if !done {
			t.Errorf("fixes go on for ever:\n%s", after.Text)
		}
		if !found.HasErrors() && !bytes.Equal(after.Text, src.Text) {
			t.Errorf("a policy that compiles was changed:\n%s\ninto\n%s", src.Text, after.Text)
		}
	}
	if mended < 20 {
		t.Errorf("only %d fixes were made", mended)
	}
}

// sameButForm reports whether two texts are the same but for case, white space and signs of headings.
func sameButForm(a, b string) bool {
	plain := strings.NewReplacer(" ", "", "\t", "", "#", "").Replace
	return strings.EqualFold(plain(a), plain(b))
}

// TestForeignFixes applies all fixes to policies with habits of other formats, and to a grant with a trailing comment. The
// result must contain the lines that were meant, no empty key, and no grant that the author did not write.
func TestForeignFixes(t *testing.T) {
	expected, err := os.ReadFile("../../../compiler/testdata/habits/expected")
	if err != nil {
		t.Fatal(err)
	}
	mended := 0
	for part := range strings.SplitSeq(string(expected), "== ") {
		name, rest, found := strings.Cut(part, "\n")
		if !found {
			continue
		}
		text, err := os.ReadFile("../../../compiler/testdata/habits/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		after, done := mendAll(grammar.NewSource(name, text), isFix, func(*grammar.Source, grammar.Diagnostic) {})
		lines := strings.Split(strings.ReplaceAll(string(after.Text), "\r", ""), "\n")
		for line := range strings.Lines(rest) {
			remedy, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "remedy: ")
			switch {
			case !is:
			case slices.Contains(lines, remedy):
				mended++
			case !slices.Contains(authors, remedy):
				t.Errorf("%s: %q is not what became of it:\n%s", name, remedy, after.Text)
			}
		}
		if _, left := lint.Compile(after); !done || has(left, grammar.CodeNoValue) && !bytes.Equal(text, after.Text) {
			t.Errorf("%s: the fixes go on, or leave a key without a value:\n%s", name, after.Text)
		}
	}
	if mended < 55 {
		t.Errorf("only %d lines were mended", mended)
	}
	src := grammar.NewSource("policy", []byte("version: 2.1.0\n\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer // only transfers\nmax_transaction_eth: 1\n"))
	after, _ := mendAll(src, isFix, func(*grammar.Source, grammar.Diagnostic) {})
	if want := strings.Replace(string(src.Text), "allowed_actions: wallet.transfer // only transfers", "# only transfers\nallowed_actions: wallet.transfer", 1); string(after.Text) != want {
		t.Errorf("%s", after.Text)
	}
}

// authors are the remedies that no fix makes, since they take more than the text: what a comment was, which section a line
// belongs to, which version or amount was meant.
var authors = []string{
	"# The support agent answers mails and reads our own documentation, nothing else.", "version: 2.0.0", "## soft_limits",
	"max_transaction_eth: 0.5", "deny_string: BEGIN OPENSSH PRIVATE KEY", "deny_string: AKIAIOSFODNN", "deny_string: ghp_",
}

// TestGuessedNames: a key or a section that is another name, and not one with a wrong letter, is not put in place of what
// is there: it may be another limit, or block what was to be granted.
func TestGuessedNames(t *testing.T) {
	for text, fixed := range map[string]bool{
		"## tool_calls\nallowd: bash\n":                                             true,
		"## Tool-Call\nallowed: bash\n":                                             true,
		"## tool_calls\nallowed: bash\nBash.blocked-commands: rm\n":                 true,
		"## tool_calls\nallowed: bash\nbash: ls\n":                                  false, // a list of what is blocked
		"## tool_calls\nallowed: bash, web_fetch\nweb_fetch.blocked_commands: rm\n": false, // bash's
		"## execution_limits\nmax_model_calls_per_task: 5\n":                        false, // dollars
		"## execution_limits\nmax_model_spend_eth_per_task: 5\n":                    false, // tokens
		"## db\nread_only: true\n":                                                  false,
	} {
		src := grammar.NewSource("policy", []byte("version: 2.3.0\n\n"+text))
		after, _ := mendAll(src, isSafe, func(*grammar.Source, grammar.Diagnostic) {})
		if made := !bytes.Equal(after.Text, src.Text); made != fixed {
			t.Errorf("%s became\n%s", src.Text, after.Text)
		}
		if after, _ = mendAll(src, isFix, func(*grammar.Source, grammar.Diagnostic) {}); bytes.Equal(after.Text, src.Text) {
			t.Errorf("no fix of\n%s", src.Text)
		}
	}
}

// policiesOfTests yields the examples of all codes, and the policies of the compiler's and the grammar's golden files.
func policiesOfTests(t *testing.T) func(yield func(*grammar.Source) bool) {
	t.Helper()
	texts := []string{
		"Version: 2.1.0\n\n## tool_calls\nallowed: bash\n",
		"version: 2.1.0\n\n## custom\ndenyif.metadata.team equals x\n",
		"version: 2.1.0\n\n## evm\nallowed_chains: 8453\nmax_transaction_eth: 1\nchain_actions:\n8453: wallet.transfer\n",
	}
	for _, info := range codeTable() {
		texts = append(texts, strings.Replace(info.Wrong, "…", fillings[info.Code], 1), info.Right)
	}
	golden, err := filepath.Glob("../../../*/testdata/*/*")
	if err != nil || len(golden) == 0 {
		t.Fatal(golden, err)
	}
	for _, name := range golden {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a folder
		}
		for _, part := range strings.Split("\n"+string(text), "\n----\n") {
			if _, policy, isPolicy := strings.Cut(part, "\nversion:"); isPolicy {
				texts = append(texts, "version:"+policy+"\n")
			}
		}
	}
	return func(yield func(*grammar.Source) bool) {
		for _, text := range texts {
			if !yield(grammar.NewSource("policy", []byte(text))) {
				return
			}
		}
	}
}

// TestExamplesCanary shows that the check of examples sees those that show something else, or are wrong themselves.
func TestExamplesCanary(t *testing.T) {
	const good = "version: 2.1.0\n\n## tool_calls\nallowed: bash\n"
	const bad = "version: 2.1.0\n\n## tool_calls\nallowed : bash\n"
	for _, info := range []grammar.CodeInfo{
		{Code: grammar.CodeSpaceColon},
		{Code: grammar.CodeSpaceColon, Wrong: good, Right: good},
		{Code: grammar.CodeSpaceColon, Wrong: bad, Right: bad},
		{Code: grammar.CodeNUL, Wrong: bad, Right: good},
		{Code: grammar.CodeSpaceColon, Wrong: bad, Right: "version: 2.1.0\n"},
	} {
		if checkExample(info) == nil {
			t.Errorf("%+v passed", info)
		}
	}
	if err := checkExample(grammar.CodeInfo{Code: grammar.CodeSpaceColon, Wrong: bad, Right: good}); err != nil {
		t.Error(err)
	}
}

// TestRightExamplesAreCanonical holds the examples that teach the text layer to the layout that fmt gives.
func TestRightExamplesAreCanonical(t *testing.T) {
	for _, info := range grammar.Codes() {
		formatted, _ := compiler.Format(grammar.NewSource("right", []byte(info.Right)))
		if info.Right != "" && !bytes.Equal(formatted, []byte(info.Right)) {
			t.Errorf("%s: the right example is not laid out as fmt would", info.Code)
		}
	}
}
