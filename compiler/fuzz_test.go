package compiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/vm"
)

// FuzzCompile compiles any text. It must neither panic nor take long, a program is there exactly if there is no
// error, and compiling again gives the same.
func FuzzCompile(f *testing.F) {
	f.Add(readExample(f))
	for _, folder := range []string{"golden", "diagnostics"} {
		files, err := filepath.Glob("testdata/" + folder + "/*")
		if err != nil || len(files) == 0 {
			f.Fatal("there are no golden files to start from")
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			for block := range strings.SplitSeq(string(text), "\npolicy") {
				if _, policy, ok := strings.Cut(block, "\nversion"); ok {
					policy, _, _ = strings.Cut(policy, "\n----")
					f.Add([]byte("version" + policy + "\n"))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		start := time.Now()
		src := grammar.NewSource("fuzz", text)
		compiled, found := Compile(src)
		if took := time.Since(start); took > 2*time.Second {
			t.Fatalf("compiling %d bytes took %s", len(text), took)
		}
		if (compiled.Program == nil) != found.HasErrors() {
			t.Fatalf("program %v with findings %v", compiled.Program != nil, found)
		}
		for _, d := range found {
			if d.Span.Start < 0 || d.Span.End < d.Span.Start || d.Span.End > len(text) || d.Message == "" {
				t.Fatalf("%+v lies outside of %d bytes", d, len(text))
			}
		}
		if compiled.Program != nil {
			checkProgram(t, src, compiled.Program)
		}
	})
}

// checkProgram makes sure that a program runs on an empty request, knows its lines, and comes out again the same.
func checkProgram(t *testing.T, src *grammar.Source, p *vm.Program) {
	var machine vm.Machine
	if result := machine.Run(p, nil, vm.All); result.Status > vm.Allowed {
		t.Fatalf("status %d", result.Status)
	}
	for pc := range p.Len() {
		span := p.Span(uint16(pc))
		if int(span.Line) != src.Position(int(span.Start)).Line {
			t.Fatalf("instruction %d is of line %d, and its span of line %d", pc, span.Line, src.Position(int(span.Start)).Line)
		}
	}
	again, _ := Compile(src)
	if again.Program.Hash() != p.Hash() {
		t.Fatal("compiling again gives another program")
	}
}

// BenchmarkCompile parses and compiles the example policy with as many rules again.
func BenchmarkCompile(b *testing.B) {
	text := string(readExample(b))
	more := "deny_if.metadata.environment starts_with prod\nallow_only.metadata.team: a, b, c\ndeny_string: AKIA\n" +
		"allow_only[action=contract.call].metadata.ticket matches: \"OPS-[0-9]{1,6}\"\ndeny_if.metadata.branch equals main\n"
	for i := range 20 {
		more += "deny_if.metadata.field" + string(rune('a'+i)) + " contains secret\n"
	}
	text = strings.Replace(text, "## custom\n", "## custom\n"+more, 1)
	if lines := strings.Count(text, "\n"); lines < 58 {
		b.Fatalf("%d lines are too few", lines)
	}
	src := grammar.NewSource("bench", []byte(text))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if compiled, found := Compile(src); compiled.Program == nil {
			b.Fatal(found)
		}
	}
}
