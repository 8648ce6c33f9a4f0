package grammar

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestGolden runs the files in testdata. Their commands are
//
//	parse [tree] [escaped] [no-newline]   diagnostics as rendered, after the tree if asked for
//	lists                                 diagnostics of the list reading of all values
//	fixed                                 the text with all fixes applied, and what is then left to say
//	json                                  diagnostics as they go over the wire
//	format [quoted]                       the text in canonical layout, or why there is none; quoted shows what
//	                                      can't be seen; it says so where nothing changed
//	split [escaped] [no-newline]          the framing
//	unsigned [no-newline]                 what there is to sign
//	repeat n=… [before=…]                 codes of the input, an escaped string, n times; within a second
//	closest                               a word, and the candidate it was meant to be
//
// "escaped" takes Go's escapes in the input.
func TestGolden(t *testing.T) {
	for _, name := range []string{"bounds", "entries", "foreign", "format", "keys", "lookalikes", "signature", "text"} {
		path := filepath.Join("testdata", name)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			text := goldenText(t, d)
			src := NewSource("warranty.md", []byte(text))
			switch d.Cmd {
			case "parse":
				return goldenParse(src, d.HasArg("tree"))
			case "lists":
				return goldenLists(src)
			case "fixed":
				_, found := Parse(src)
				fixed, _ := src.Mend(found)
				return string(fixed) + "====\n" + goldenParse(NewSource("warranty.md", fixed), false)
			case "json":
				_, found := Parse(src)
				encoded, err := json.MarshalIndent(src.Reports(found), "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				return string(encoded)
			case "format":
				return goldenFormat(src, d.HasArg("quoted"))
			case "split":
				return goldenSplit(src)
			case "unsigned":
				body, found := Unsigned(src)
				return fmt.Sprintf("%q\n", body) + rendered(src, found)
			case "repeat":
				return goldenRepeat(t, d)
			case "closest":
				words := strings.Fields(d.Input)
				return fmt.Sprintf("%q", Closest(words[0], words[1:]))
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	}
}

func goldenText(t *testing.T, d *datadriven.TestData) string {
	text := d.Input
	if d.HasArg("escaped") {
		text = unescape(t, strings.ReplaceAll(text, "\n", `\n`))
	}
	if !d.HasArg("no-newline") {
		text += "\n"
	}
	return text
}

func unescape(t *testing.T, text string) string {
	unescaped, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return unescaped
}

func goldenParse(src *Source, tree bool) string {
	file, found := Parse(src)
	var b strings.Builder
	if tree {
		b.WriteString(dumpFile(file, true))
	}
	_ = src.RenderAll(&b, found)
	for _, d := range found {
		if d.Fix != nil {
			fmt.Fprintf(&b, "fix %s at %d-%d: %q\n", d.Code, d.Fix.Span.Start, d.Fix.Span.End, d.Fix.Replacement)
		}
	}
	if b.Len() == 0 {
		return "ok"
	}
	return b.String()
}

func goldenLists(src *Source) string {
	file, found := Parse(src)
	for _, section := range file.Sections {
		for _, entry := range section.Entries {
			_, more := entry.Value.List()
			found = append(found, more...)
		}
	}
	return rendered(src, found.Sorted())
}

func rendered(src *Source, found Diagnostics) string {
	var b strings.Builder
	_ = src.RenderAll(&b, found)
	return b.String()
}

func goldenSplit(src *Source) string {
	framed, found := Split(src)
	return fmt.Sprintf("signed=%t body=%d block=%d signature=%d hash=%s\n",
		framed.Signed, len(framed.Body), len(framed.Block), len(framed.Signature), PolicyHash(framed.Body)) + rendered(src, found)
}

func goldenFormat(src *Source, quoted bool) string {
	formatted, found := Format(src, testLists)
	switch {
	case formatted == nil:
		return rendered(src, found)
	case string(formatted) == string(src.Text):
		return "unchanged"
	case quoted:
		return strings.ReplaceAll(strconv.Quote(string(formatted)), `\n`, "\\n\n")
	}
	return string(formatted)
}

// hang is a time that only a parser takes that is worse than linear: the longest of these texts takes half a second on a
// machine that does nothing else.
const hang = 20 * time.Second

func goldenRepeat(t *testing.T, d *datadriven.TestData) string {
	var n int
	var before string
	d.ScanArgs(t, "n", &n)
	d.MaybeScanArgs(t, "before", &before)
	text := unescape(t, before) + strings.Repeat(unescape(t, d.Input), n)
	start := time.Now()
	file, found := Parse(NewSource("warranty.md", []byte(text)))
	if took := time.Since(start); took > hang {
		t.Errorf("%d × %q took %v", n, d.Input, took)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d bytes, %d sections, %d in the preamble\n", len(text), len(file.Sections), len(file.Preamble))
	counts := map[Code]int{}
	for _, d := range found {
		counts[d.Code]++
	}
	for _, d := range found {
		if counts[d.Code] > 0 {
			fmt.Fprintf(&b, "%d × %s %s\n", counts[d.Code], d.Code, d.Message)
			counts[d.Code] = 0
		}
	}
	return b.String()
}

// TestCodes holds the table of codes to its promises, and each code to being shown by a golden file.
func TestCodes(t *testing.T) {
	var golden strings.Builder
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // folders hold fuzz corpora
			golden.Write(text)
		}
	}
	previous := map[byte]Code{}
	last := CodeInfo{}
	for _, info := range Codes() {
		letter := info.Code[0]
		if info.Code <= previous[letter] {
			t.Errorf("%s stands after %s", info.Code, previous[letter])
		}
		previous[letter], last = info.Code, info
		if info.Title == "" || info.Explanation == "" || len(info.Code) != 5 {
			t.Errorf("%s: incomplete row", info.Code)
		}
		if info.Code != CodeUnexpected && !strings.Contains(golden.String(), string(info.Code)) {
			t.Errorf("%s: no golden file shows it", info.Code)
		}
	}
	if last.Severity() != Note || previous['E'] != CodeUnexpected {
		t.Errorf("severities do not follow the letters")
	}
}
