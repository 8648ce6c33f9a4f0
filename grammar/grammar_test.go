package grammar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"
	"testing/iotest"

	"bailiff/fuzz/kit/seed"

	"github.com/alecthomas/participle/v2/lexer"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// model is an entry as it is meant, before it is written.
type model struct {
	key, want string // as written, and in its canonical spelling
	items     []string
}

// TestGenerated writes random policies and reads them back: each entry comes back as it was meant, with
// comments and blank lines strewn between.
func TestGenerated(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 300))
	properties.Property("what is written is read", prop.ForAll(func(n int64) string {
		text, models := writePolicy(rand.New(rand.NewSource(n)))
		file, found := Parse(NewSource("generated", []byte(text)))
		if found.HasErrors() {
			return fmt.Sprintf("%s\n%s", text, file.Source.Render(found[0]))
		}
		if err := account(file); err != nil {
			return fmt.Sprintf("%s\n%v", text, err)
		}
		return compareModels(file, models)
	}, gen.Int64()))
	properties.TestingRun(t)
}

func compareModels(file *File, models []model) string {
	i := 0
	for _, section := range file.Sections {
		for _, entry := range section.Entries {
			var items []string
			for _, item := range entry.Value.Items {
				items = append(items, item.Text)
			}
			if got := entry.Key.String(); got != models[i].want || fmt.Sprint(items) != fmt.Sprint(models[i].items) {
				return fmt.Sprintf("%q %q, want %+v", got, items, models[i])
			}
			i++
		}
	}
	if i != len(models) {
		return fmt.Sprintf("%d entries, want %d", i, len(models))
	}
	return ""
}

func writePolicy(r *rand.Rand) (string, []model) {
	var b strings.Builder
	var models []model
	between := func() {
		for r.Intn(3) == 0 {
			b.WriteString([]string{"\n", "# note: a, b\n", "  # in\n", "<!-- a\n## evm\nb: c -->\n", " \t\n"}[r.Intn(5)])
		}
	}
	between()
	b.WriteString("version: 2.3.0\n")
	for _, name := range sectionNames[:r.Intn(len(sectionNames))] {
		between()
		b.WriteString("## " + name + "\n")
		for i := range r.Intn(5) {
			between()
			m := writeKey(r, i)
			var written []string
			for range 1 + r.Intn(3) {
				text, quoted := writeItem(r)
				m.items = append(m.items, text)
				written = append(written, quoted)
			}
			if m.key == "" { // a deny_if without a colon
				m.key = m.want
				written[0] = " " + written[0]
			}
			b.WriteString(m.key + strings.Repeat(" ", 1+r.Intn(2)) + strings.Join(written, []string{",", ", ", " ,"}[r.Intn(3)]) + "\n")
			models = append(models, m)
		}
	}
	between()
	return b.String(), models
}

func writeKey(r *rand.Rand, i int) model {
	path := fmt.Sprintf("metadata.k%d", i)
	switch r.Intn(5) {
	case 0:
		return model{want: "deny_if." + path + " equals"}
	case 1:
		return model{key: "deny_if." + path + " equals:", want: "deny_if." + path + " equals"}
	case 2:
		return model{key: "deny_if." + path + ":  equals", want: "deny_if." + path + " equals"}
	case 3:
		want := "allow_only[action=a:b.*]." + path + " attested contains"
		return model{key: strings.ReplaceAll(want, " ", "  ") + ":", want: want}
	}
	return model{key: path + ":", want: path}
}

// writeItem returns a random text and one way to write it as an item.
func writeItem(r *rand.Rand) (text, written string) {
	alphabet := []string{"a", "é", " ", ",", "#", "'", `"`, ":", "<!--", "-->", "\t", "[", "="}
	for text == "" {
		for range r.Intn(6) {
			text += alphabet[r.Intn(len(alphabet))]
		}
	}
	if strings.Contains(text, `"`) && strings.Contains(text, "'") {
		text = strings.ReplaceAll(text, `"`, "")
	}
	plain := strings.Trim(text, " \t") == text && !strings.ContainsAny(text, ",\t") &&
		!strings.ContainsAny(text[:1], `"'#:`) && !strings.Contains(text, " #") && !strings.Contains(text, "<!--")
	switch {
	case plain && r.Intn(4) > 0:
		return text, text
	case strings.Contains(text, `"`):
		return text, "'" + text + "'"
	}
	return text, `"` + text + `"`
}

// TestAccountCanary shows that the accounting of FuzzParse sees a line that the tree has lost.
func TestAccountCanary(t *testing.T) {
	text := []byte("version: 2.0.0\n## evm\na: b, c\nd: e\n")
	plant := map[string]func(*File){
		"an entry":  func(f *File) { f.Sections[0].Entries = f.Sections[0].Entries[:1] },
		"an item":   func(f *File) { v := f.Sections[0].Entries[0].Value; v.Items = v.Items[:1] },
		"a section": func(f *File) { f.Sections = nil },
		"a name":    func(f *File) { f.Sections[0].Entries[0].Key.Segments[0].Text = "x" },
	}
	for name, lose := range plant {
		file, _ := Parse(NewSource("canary", text))
		if err := account(file); err != nil {
			t.Fatal(err)
		}
		if lose(file); account(file) == nil {
			t.Errorf("%s was lost, and nobody noticed", name)
		}
	}
}

// failingLexer is a scanner that gives up.
type failingLexer struct{ error }

func (l failingLexer) Next() (lexer.Token, error) { return lexer.Token{}, l.error }

// TestProduceCanary shows that tokens in an order that the productions do not take are refused, and so is a text that is not cut.
func TestProduceCanary(t *testing.T) {
	for _, c := range []struct {
		tokens lexer.Lexer
		at     int
	}{
		{&scanner{tokens: []lexer.Token{token(tokenName, 3, "a"), token(tokenItem, 4, "b")}}, 4},
		{&scanner{tokens: []lexer.Token{token(tokenHeading, 3, "##"), token(tokenItem, 5, "b")}}, 5},
		{failingLexer{io.ErrUnexpectedEOF}, 0},
	} {
		file, err := produce(c.tokens)
		if err == nil {
			t.Errorf("accepted: %+v", file)
			continue
		}
		if d := unexpected(err); d.Code != CodeUnexpected || d.Span.Start != c.at || d.Severity != Error {
			t.Errorf("%+v, want it at %d", d, c.at)
		}
	}
}

// TestParser: the productions read a text that participle has cut by itself, and fail where it cannot be read.
func TestParser(t *testing.T) {
	file, err := parser().Parse("policy", strings.NewReader("version: 2.0.0\n## evm\na: b\n"))
	if err != nil || len(file.Preamble) != 1 || len(file.Sections) != 1 || len(file.Sections[0].Entries) != 1 {
		t.Errorf("%+v, %v", file, err)
	}
	if file, err := parser().Parse("policy", iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%+v, %v", file, err)
	}
}

// TestDefineTwice: a code has one definition.
func TestDefineTwice(t *testing.T) {
	var table CodeTable
	table.Define("E1", CodeInfo{})
	defer func() {
		if said := recover(); said != "code E1 is defined twice" || len(table.All()) != 1 {
			t.Errorf("%v, %+v", said, table.All())
		}
	}()
	table.Define("E1", CodeInfo{})
}

// TestMisspelt: one edit, case and hyphens make no other name, and a long one is compared with nothing.
func TestMisspelt(t *testing.T) {
	for _, c := range []struct {
		word, name string
		want       bool
	}{
		{"allowed_chain", "allowed_chains", true},
		{"Allowed-Chains", "allowed_chains", true},
		{"allowd_chain", "allowed_chains", false},
		{strings.Repeat("a", maxWord*4-1), strings.Repeat("a", maxWord*4-1), true},
		{strings.Repeat("a", maxWord*4), strings.Repeat("a", maxWord*4), false},
		{"a", strings.Repeat("a", maxWord*4), false},
	} {
		if got := Misspelt(c.word, c.name); got != c.want {
			t.Errorf("%.20s and %.20s: %v", c.word, c.name, got)
		}
	}
}

// TestBoundsComeFirst holds that nothing is parsed of a text that exceeds a bound, and all of one that
// does not.
func TestBoundsComeFirst(t *testing.T) {
	head := "version: 2.0.0\n## evm\n"
	for _, c := range []struct {
		name, text string
		code       Code
	}{
		{"bytes", head + strings.Repeat("# comment\n", 1<<20/10), CodeTooLarge},
		{"lines", head + strings.Repeat("#\n", MaxLines), CodeTooManyLines},
		{"line", head + "a: " + strings.Repeat("x", MaxLineBytes), CodeLineTooLong},
	} {
		file, found := Parse(NewSource(c.name, []byte(c.text)))
		if len(found) != 1 || found[0].Code != c.code || len(file.Sections)+len(file.Preamble)+len(file.Comments) != 0 {
			t.Errorf("%s: %v, %d sections", c.name, found, len(file.Sections))
		}
	}
	large := NewSource("large", []byte(head+strings.Repeat("# comment\n", 1<<20/10)))
	if body, found := Unsigned(large); body != nil || len(found) != 1 || found[0].Code != CodeTooLarge {
		t.Errorf("%d bytes to sign, %v", len(body), found)
	}
	within := head + "a: " + strings.Repeat("x", MaxLineBytes-3) + strings.Repeat("\n", MaxLines-2)
	if file, found := Parse(NewSource("within", []byte(within))); len(found) != 0 || len(file.Section("evm").Entries) != 1 {
		t.Errorf("within: %v", found)
	}
}

// TestSorted holds that no number of warnings hides an error, and that sorting again changes nothing.
func TestSorted(t *testing.T) {
	var ds Diagnostics
	for i := range 3 * MaxDiagnostics {
		ds = append(ds, At(CodeInvisible, Span{i, i + 1}, "warning"), At(CodeInvisible, Span{i, i + 1}, "warning"))
	}
	ds = append(ds, At(CodeNUL, Span{1000, 1001}, "error"))
	sorted := ds.Sorted()
	if len(sorted) != MaxDiagnostics+2 || !sorted.HasErrors() || sorted[MaxDiagnostics+1].Code != CodeMore {
		t.Errorf("%d left, %v", len(sorted), sorted[len(sorted)-2:])
	}
	if again := sorted.Sorted(); fmt.Sprint(again) != fmt.Sprint(sorted) {
		t.Errorf("%v became %v", sorted, again)
	}
	var none Diagnostics
	if none.HasErrors() || len(none.Sorted()) != 0 {
		t.Error("errors out of nothing")
	}
}

// TestRenderWindow holds that of a long line the part around the finding is shown, with the carets below it.
func TestRenderWindow(t *testing.T) {
	text := "a: " + strings.Repeat("é", 300) + "\tHERE" + strings.Repeat("ü", 300) + "\n"
	src := NewSource("long", []byte(text))
	at := strings.Index(text, "HERE")
	lines := strings.Split(src.Render(At(CodeNUL, Span{at, at + 4}, "found")), "\n")
	if lines[0] != "long:1:305: error E1005: found" {
		t.Error(lines[0])
	}
	runes, carets := []rune(lines[1]), []rune(lines[2])
	if len(runes) > windowColumns+20 || string(runes[len(carets)-4:len(carets)]) != "HERE" || !strings.HasSuffix(lines[2], "\t^^^^") {
		t.Errorf("%s\n%s", lines[1], lines[2])
	}
}

// TestRenderStyled holds that colour adds marks and changes nothing else, and that what a policy holds adds none.
func TestRenderStyled(t *testing.T) {
	src := NewSource("style", []byte("a: \x1b[31m^^\n"))
	for _, code := range []Code{CodeNUL, CodeInvisible, CodeMore} {
		d := At(code, Span{3, 10}, "found \x1b[0m").WithHint("help yourself")
		coloured := src.RenderStyled(d, Colour)
		for _, mark := range []string{Colour.Error, Colour.Warning, Colour.Note, Colour.Message, Colour.Help, Colour.Reset} {
			coloured = strings.ReplaceAll(coloured, mark, "")
		}
		if plain := src.Render(d); coloured != plain || strings.Contains(plain, "\x1b") {
			t.Errorf("%q is not %q", coloured, plain)
		}
	}
	if got := src.RenderStyled(At(CodeNUL, Span{3, 4}, "m"), Colour); !strings.Contains(got, "\x1b[1;31merror E1005\x1b[0m: \x1b[1mm") || !strings.Contains(got, "    \x1b[1;31m^\x1b[0m\n") {
		t.Errorf("%q", got)
	}
}

// TestRenderAllFails: what cannot be written is an error.
func TestRenderAllFails(t *testing.T) {
	in, out := io.Pipe()
	_ = in.CloseWithError(io.ErrShortWrite)
	if err := NewSource("closed", nil).RenderAll(out, Diagnostics{At(CodeNUL, Span{}, "found")}); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}

// TestMend holds which fixes are made: the first of those that overlap, and none that lies outside or changes nothing.
func TestMend(t *testing.T) {
	src := NewSource("mend", []byte("abcdef"))
	fix := func(start, end int, replacement string) Diagnostic {
		return At(CodeNUL, Span{}, "fix").WithFix(Span{start, end}, replacement)
	}
	for _, c := range []struct {
		fixes Diagnostics
		want  string
		made  int
	}{
		{nil, "abcdef", 0},
		{Diagnostics{fix(4, 6, "X"), At(CodeNUL, Span{}, "no fix"), fix(0, 1, "")}, "bcdX", 2},
		{Diagnostics{fix(0, 3, "X"), fix(2, 4, "Y"), fix(3, 4, "Z")}, "XZef", 2},
		{Diagnostics{fix(2, 2, "X"), fix(2, 2, "Y"), fix(2, 3, "Z")}, "abXZdef", 2},
		{Diagnostics{fix(0, 3, "abc"), fix(0, 1, "abc")}, "abcbcdef", 1},
		{Diagnostics{fix(-1, 1, "X"), fix(5, 7, "Y"), fix(3, 2, "Z")}, "abcdef", 0},
	} {
		got, made := src.Mend(c.fixes)
		if string(got) != c.want || len(made) != c.made {
			t.Errorf("%s, %d made, want %s, %d", got, len(made), c.want, c.made)
		}
	}
}

// TestVisible holds that what can't be seen is named.
func TestVisible(t *testing.T) {
	const text = "é\t\r\n\x00\uFEFF\xff\u00a0\x7f\u202e"
	if got, want := Visible(text), "é\t␍\n␀<U+FEFF><FF><U+00A0>␡<U+202E>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestJoinRefuses holds that Join makes nothing that Split would not give back.
func TestJoinRefuses(t *testing.T) {
	signature := make([]byte, 64)
	signed, err := Join([]byte("version: 2.0.0\n"), signature)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ body, signature []byte }{
		"short signature":  {[]byte("a\n"), signature[:63]},
		"no line feed":     {[]byte("a"), signature},
		"empty":            {nil, signature},
		"signed already":   {signed, signature},
		"heading in it":    {[]byte("<!--\n## signature\n-->\n"), signature},
		"resembles it":     {[]byte("## Signature\n"), signature},
		"too large signed": {bytes.Repeat([]byte("\n"), MaxBytes-50), signature},
	} {
		if joined, err := Join(c.body, c.signature); err == nil {
			t.Errorf("%s: %q", name, joined)
		}
	}
}

// BenchmarkParse reads a policy of 60 lines.
func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	text.WriteString("version: 2.1.0\n\n## custom\n")
	for i := range 57 {
		fmt.Fprintf(&text, "allow_only.metadata.field%d starts_with: one, two, three\n", i)
	}
	src := NewSource("bench", []byte(text.String()))
	b.SetBytes(int64(len(src.Text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, found := Parse(src); len(found) != 0 {
			b.Fatal(found)
		}
	}
}

// TestForeignLineEnds: what takes the place of lines ends as they do.
func TestForeignLineEnds(t *testing.T) {
	src := NewSource("policy", []byte("version: 2.1.0\r\n\r\n## evm\r\nallowed_chains:\r\n  # Two.\r\n  - 1\r\n  - 10\r\nmax_transaction_eth: 1\r\n"))
	_, found := Parse(src)
	mended, _ := src.Mend(found)
	if want := "version: 2.1.0\r\n\r\n## evm\r\n# Two.\r\nallowed_chains: 1, 10\r\nmax_transaction_eth: 1\r\n"; string(mended) != want {
		t.Errorf("%q", mended)
	}
}
