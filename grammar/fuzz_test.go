package grammar

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/participle/v2/lexer"
)

// addSeeds gives a fuzz target the inputs of the golden files.
func addSeeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	input := regexp.MustCompile(`(?s)(?:parse|split|fixed|format)[^\n]*\n(.*?)\n----\n`)
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a folder with a fuzz corpus
		}
		for _, match := range input.FindAllSubmatch(text, -1) {
			f.Add(match[1])
			f.Add(append(match[1], '\n'))
			count++
		}
	}
	if count < 30 {
		f.Fatalf("only %d seeds in %v", count, files)
	}
}

// FuzzParse holds Parse to its promises on any bytes: no panic, work bounded by the text, sound positions,
// and in a tree without errors every character accounted for.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		src := NewSource("fuzz", text)
		file, found := Parse(src)
		for i, d := range found {
			if d.Span.Start < 0 || d.Span.End < d.Span.Start || d.Span.End > len(text) {
				t.Fatalf("%s %s at %v of %d bytes", d.Code, d.Message, d.Span, len(text))
			}
			if d.Code == CodeUnexpected || d.Severity != d.Code.Severity() || i > 3*MaxDiagnostics {
				t.Fatalf("%d: %s %s", i, d.Code, d.Message)
			}
			if rendered := src.Render(d); strings.ContainsAny(rendered, "\x00\x1b\r\u202e") {
				t.Fatalf("rendered with control characters: %q", rendered)
			}
		}
		if !slices.Equal(found, found.Sorted()) {
			t.Fatal("not sorted")
		}
		if tokens, err := lexer.ConsumeAll(&scanner{text: string(text)}); err != nil || len(tokens) > 2*len(text)+2 {
			t.Fatalf("%d tokens for %d bytes, %v", len(tokens), len(text), err)
		}
		if found.HasErrors() {
			return
		}
		if err := account(file); err != nil {
			t.Fatal(err)
		}
		checkLineEnds(t, file)
	})
}

// account returns an error for the text in a body but neither in its tree nor in its comments.
func account(file *File) error {
	if file.Version == nil || len(file.Preamble) != 1 {
		return fmt.Errorf("version %v, preamble %d", file.Version, len(file.Preamble))
	}
	covered := map[int]int{} // where a line's text starts and ends
	entries := slices.Clone(file.Preamble)
	for _, section := range file.Sections {
		covered[section.Span.Start] = section.Heading.Span.End
		entries = append(entries, section.Entries...)
	}
	for _, entry := range entries {
		if err := accountEntry(entry, covered); err != nil {
			return err
		}
	}
	text := string(file.Framed.Body)
	for start := 0; start < len(text); {
		line, next := cutLine([]byte(text), start)
		trimmed := strings.Trim(string(line), " \t")
		at := start + strings.Index(string(line), trimmed)
		inComment := slices.ContainsFunc(file.Comments, func(c Comment) bool {
			return c.Span.Start <= at && at+len(trimmed) <= c.Span.End
		})
		if trimmed != "" && !inComment && covered[at] != at+len(trimmed) {
			return fmt.Errorf("not in the tree: %q at %d", trimmed, at)
		}
		start = next
	}
	return nil
}

func accountEntry(entry *Entry, covered map[int]int) error {
	bare := func(text string) string { return strings.NewReplacer(" ", "", "\t", "", ":", "").Replace(text) }
	if bare(entry.Key.Text) != bare(entry.Key.String()) {
		return fmt.Errorf("key %q is %q in the tree", entry.Key.Text, entry.Key)
	}
	if entry.Value != nil {
		covered[entry.Key.Span.Start] = entry.Value.Span.End
		return accountValue(entry.Value)
	}
	covered[entry.Key.Span.Start] = entry.Key.Span.End + len(":")
	for _, line := range entry.Block {
		covered[line.Key.Span.Start] = line.Value.Span.End
		if err := accountValue(line.Value); err != nil {
			return err
		}
	}
	return nil
}

func accountValue(v *Value) error {
	var b strings.Builder
	at := v.Span.Start
	for i, item := range v.Items {
		gap := v.Raw[at-v.Span.Start : item.Span.Start-v.Span.Start]
		if (i == 0) != (gap == "") || i > 0 && strings.Trim(gap, " \t") != "," {
			return fmt.Errorf("%q between the items of %q", gap, v.Raw)
		}
		quotes := 0
		if item.Quoted {
			quotes = 2
		}
		if item.Span.End-item.Span.Start != len(item.Text)+quotes {
			return fmt.Errorf("item %q of %q", item.Text, v.Raw)
		}
		b.WriteString(gap + v.Raw[item.Span.Start-v.Span.Start:item.Span.End-v.Span.Start])
		at = item.Span.End
	}
	if b.String() != v.Raw {
		return fmt.Errorf("%q is made of %q", v.Raw, b.String())
	}
	return nil
}

// checkLineEnds holds that CR LF instead of LF changes nothing but spans.
func checkLineEnds(t *testing.T, file *File) {
	body := file.Framed.Body
	if bytes.Contains(body, []byte("\r")) || 2*len(body) > MaxBytes {
		return
	}
	windows, found := Parse(NewSource("fuzz", bytes.ReplaceAll(body, newline, []byte("\r\n"))))
	if found.HasErrors() {
		if found[0].Code == CodeLineTooLong {
			return
		}
		t.Fatalf("with CR LF: %v", found)
	}
	if a, b := dumpFile(file, false), dumpFile(windows, false); a != b {
		t.Fatalf("%s\nwith CR LF:\n%s", a, b)
	}
}

// FuzzSplit holds that body and block make up the text, that Split takes what Join makes and gives the same
// back, and that the heading is found exactly where a naive reading finds it.
func FuzzSplit(f *testing.F) {
	addSeeds(f)
	signature := bytes.Repeat([]byte{0xa5}, ed25519.SignatureSize)
	f.Fuzz(func(t *testing.T, text []byte) {
		framed, found := Split(NewSource("fuzz", text))
		if whole := slices.Concat(framed.Body, framed.Block); !bytes.Equal(whole, text) {
			t.Fatalf("%q became %q", text, whole)
		}
		if found.HasErrors() {
			if framed.Signature != nil {
				t.Fatal("a signature beside an error")
			}
			return
		}
		headings := 0
		for _, line := range strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") {
			if line == "## signature" {
				headings++
			}
		}
		if framed.Signed != (headings == 1) || framed.Signed != (framed.Signature != nil) || headings > 1 {
			t.Fatalf("%d headings, %+v", headings, framed)
		}
		if framed.Signed && bytes.HasSuffix(framed.Body, newline) {
			joinAndSplit(t, framed.Body, framed.Signature, framed.Block)
		} else if !framed.Signed && bytes.HasSuffix(text, newline) && len(text) < MaxBytes-200 {
			joinAndSplit(t, text, signature, nil)
		}
	})
}

func joinAndSplit(t *testing.T, body, signature, block []byte) {
	joined, err := Join(body, signature)
	if err != nil {
		if len(body)+128 > MaxBytes {
			return
		}
		t.Fatalf("%q: %v", body, err)
	}
	framed, found := Split(NewSource("fuzz", joined))
	if found.HasErrors() || !bytes.Equal(framed.Body, body) || !bytes.Equal(framed.Signature, signature) {
		t.Fatalf("%q came back as %+v, %v", body, framed, found)
	}
	canonical := bytes.TrimRight(bytes.ReplaceAll(block, []byte("\r\n"), newline), " \t\n")
	if block != nil && !bytes.Equal(canonical, bytes.TrimRight(framed.Block, "\n")) {
		t.Fatalf("block %q came back as %q", block, framed.Block)
	}
}
