package compiler

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"bailiff/compiler/codes"
	"bailiff/compiler/example"
	"bailiff/grammar"
	"bailiff/vm"
)

// heapAfter returns the live bytes of the heap.
func heapAfter() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestMemory holds what a program is said to keep live against what the collector finds: not a tenth less, and not half
// as much again; twice as much for patterns on whole values, of which the regexp package may have a second form.
func TestMemory(t *testing.T) {
	repeat := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, strings.ReplaceAll(line, "#", "%[1]d")+"\n", i)
		}
		return "version: 2.1.0\n## custom\n" + b.String()
	}
	for name, text := range map[string]string{
		"Unicode classes": heavyPatterns(200),
		"whole patterns":  repeat(200, `allow_only.metadata.a# matches: "(x|.{0,120}\pL\pN){1,3}#"`),
		"simple patterns": repeat(300, `deny_if.metadata.a# matches (?i)\b(foo|bar#)\b`),
		"texts":           repeat(2000, "deny_string: secret number # of them all"),
		"actions":         repeat(1000, "deny_if.action equals secret#"),
		"beginnings":      repeat(1000, "deny_if.metadata.b# starts_with secret#"),
		"parts":           repeat(1000, "deny_if.action contains secret#"),
	} {
		src := grammar.NewSource("heavy", []byte(text))
		before := heapAfter()
		compiled, found := CompileInForce(src)
		program := compiled.Program
		if program == nil {
			t.Fatalf("%s: %v", name, found)
		}
		took := heapAfter() - before
		if said := int64(program.Memory()); said < took*9/10 || said > took*3/2 && (name != "whole patterns" || said > took*9/4) {
			t.Errorf("%s: a program keeps %d bytes live, and says %d", name, took, said)
		}
		runtime.KeepAlive(program)
	}
}

// TestHonestPolicies holds that policies which people write stay far from what a policy may weigh.
func TestHonestPolicies(t *testing.T) {
	text, err := os.ReadFile("../bench/testdata/sections.md")
	if err != nil {
		t.Fatal(err)
	}
	compiled, found := compileLinted(grammar.NewSource("sections.md", text))
	if compiled.Program == nil {
		t.Fatal(found)
	}
	memory, effort := compiled.Program.Memory(), EffortOf(compiled.Program)
	t.Logf("a policy of all sections: %d KiB, %v at most, %v for a request of 2 kB", memory>>10, effort.Of(maxRequest), effort.Of(2000))
	if memory > maxMemory/8 || effort.Of(maxRequest) > maxEffort*2/3 || effort.Of(2000) > 5*time.Millisecond {
		t.Errorf("a policy of all sections takes %d bytes and %v", memory, effort.Of(maxRequest))
	}
}

// TestTooHeavy holds that what is too heavy is refused where it is heaviest.
func TestTooHeavy(t *testing.T) {
	for _, test := range []struct {
		text, at string
		code     grammar.Code
	}{
		{"version: 2.0.0\n## custom\ndeny_if.metadata.a equals x\ndeny_if.metadata.b matches N?.{0,300}.{0,180}xN$\n", "deny_if.metadata.b", codes.Effort},
		{heavyPatterns(200), "deny_if.metadata.a", codes.Memory},
	} {
		compiled, found := compileText(test.text)
		if compiled.Program != nil || !hasCode(found, test.code) {
			t.Errorf("%v, want %s", found, test.code)
			continue
		}
		for _, d := range found {
			if d.Code == test.code && (!strings.HasPrefix(compiled.Source.Slice(d.Span), test.at) || !strings.Contains(d.Message, "line ") || d.Hint == "") {
				t.Errorf("%s is at %q: %s (%s)", d.Code, compiled.Source.Slice(d.Span), d.Message, d.Hint)
			}
		}
	}
	if _, found := compileText("version: 2.0.0\n## custom\ndeny_if.agentId matches N?.{0,300}.{0,180}xN$\n"); found.HasErrors() {
		t.Errorf("a pattern on one short text: %v", found)
	}
}

// TestStops holds that compiling ends soon after there is no time left, wherever it is then, and that nothing is found
// but that.
func TestStops(t *testing.T) {
	for name, text := range map[string]string{
		"patterns": heavyPatterns(800), "rules": manyRules(4000), "values": fill(grammar.MaxBytes, func(i int) string { return fmt.Sprintf("allow_only.action: y%d", i) }),
	} {
		calls := 0
		compiled, _ := CompileWithin(grammar.NewSource(name, []byte(text)), func() bool { calls++; return false })
		if calls < 100 {
			t.Errorf("%s: the time was asked for %d times", name, calls)
		}
		_ = compiled
		for _, last := range []int{1, calls / 3, calls / 2, calls * 9 / 10} {
			asked := 0
			compiled, found := CompileWithin(grammar.NewSource(name, []byte(text)), func() bool { asked++; return asked >= last })
			if compiled.Program != nil || len(found) != 1 || found[0].Code != codes.CompileTime {
				t.Errorf("%s, stopped at %d of %d: %v", name, last, calls, found)
			}
		}
	}
}

// TestStopsAnywhere holds the same of a policy that is short, for each time that the time is asked for.
func TestStopsAnywhere(t *testing.T) {
	text := example.Custom("deny_if.metadata.a matches x+y\ndeny_if.url matches A+b\nallow_only.metadata.b: x, y")
	calls := 0
	if compiled, found := CompileWithin(grammar.NewSource("short", []byte(text)), func() bool { calls++; return false }); compiled.Program == nil || calls < 5 {
		t.Fatalf("the time was asked for %d times: %v", calls, found)
	}
	for last := 1; last <= calls; last++ {
		asked := 0
		compiled, found := CompileWithin(grammar.NewSource("short", []byte(text)), func() bool { asked++; return asked >= last })
		if compiled.Program != nil || len(found) != 1 || found[0].Code != codes.CompileTime {
			t.Errorf("stopped at %d of %d: %v", last, calls, found)
		}
	}
}

// TestRemedies: the finding about a policy that the machine does not take is at its longest list, and says how to shorten that.
func TestRemedies(t *testing.T) {
	items := strings.Repeat("a.example, ", longList-1) + "b.example"
	for _, test := range []struct{ text, key, hint string }{
		{example.Tools("web_fetch.blocked_domains: " + items), "web_fetch.blocked_domains", "block a domain in place of its subdomains"},
		{example.Tools("file_write.blocked_paths: " + items), "file_write.blocked_paths", "block a folder instead"},
		{example.Tools("email.blocked_recipients: " + items), "email.blocked_recipients", "write `*@example.com`"},
		{example.Tools("bash.blocked_commands: " + items), "bash.blocked_commands", "shorten the list"},
		{example.MCP("blocked_tools: " + items), "blocked_tools", "write `server.*`"},
		{example.Tools("bash.blocked_commands: rm"), "2.", "use fewer rules"},
	} {
		file, found := grammar.Parse(grammar.NewSource("long", []byte(test.text)))
		if file.Version == nil {
			t.Fatal(found)
		}
		d := tooLarge(file.Version, file, errors.New("vm: too much"))
		if at := file.Source.Slice(d.Span); d.Code != codes.TooLarge || !strings.HasPrefix(at, test.key) || !strings.HasPrefix(d.Hint, test.hint) || !strings.HasSuffix(d.Message, ": too much") {
			t.Errorf("at %q: %s (%s)", at, d.Message, d.Hint)
		}
	}
}

// TestEffortSees plants a request as large as can be, and holds that the limit of patterns is near what they take: the
// slowest text takes no more than its effort, by far.
func TestEffortSees(t *testing.T) {
	compiled, found := CompileInForce(grammar.NewSource("slow", []byte(example.Custom(`deny_if.metadata.note matches N?.{0,300}.{0,180}xN$`))))
	if compiled.Program == nil {
		t.Fatal(found)
	}
	elements := make([]vm.Value, 24)
	for i := range elements {
		elements[i] = vm.Value{Kind: vm.String, Text: strings.Repeat("N", vm.MaxSubject)}
	}
	frame := make([]vm.Value, len(compiled.Program.Fields()))
	for i := range frame {
		frame[i] = vm.Value{Kind: vm.List, Elems: elements}
	}
	fastest := time.Hour
	for range 3 {
		var machine vm.Machine
		begin := processorTime(t)
		machine.Run(compiled.Program, frame, vm.All)
		fastest = min(fastest, processorTime(t)-begin)
	}
	if effort := EffortOf(compiled.Program).Of(maxRequest); effort < maxEffort*10 || fastest > effort*4 {
		t.Errorf("it takes %v, and %v at most", fastest, effort)
	}
}
