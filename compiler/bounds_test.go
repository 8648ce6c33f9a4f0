package compiler

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"bailiff/grammar"
)

// TestTimeIsLinear compiles policies that fill a quarter of what a policy may hold, and all of it, with one kind of
// line. Four times the text may take four times the time, with room for noise, and not sixteen times.
func TestTimeIsLinear(t *testing.T) {
	for name, line := range map[string]func(i int) string{
		"patterns":          func(i int) string { return fmt.Sprintf("deny_if.action matches (a{1,9}|b)c%d", i) },
		"texts":             func(i int) string { return fmt.Sprintf("deny_string: a%dxxxxxxxxxxxxxxxx", i) },
		"fields":            func(i int) string { return fmt.Sprintf("deny_if.metadata.x%d equals y", i%4000) },
		"values one a line": func(i int) string { return fmt.Sprintf("allow_only.action: y%d", i) },
		"unknown keys":      func(i int) string { return fmt.Sprintf("foo.bar%d.x.y.z: y", i) },
		"long lists":        func(i int) string { return "allow_only.action: " + strings.Repeat(fmt.Sprintf("y%d,", i), 1000) + "z" },
	} {
		const attempts, most = 5, 9
		ratio := most + 1.0
		for n := 0; n < attempts && ratio > most; n++ {
			ratio = compileTime(t, fill(grammar.MaxBytes, line)) / compileTime(t, fill(grammar.MaxBytes/4, line))
		}
		if ratio > most {
			t.Errorf("%s: four times the text takes %.1f times the time", name, ratio)
		}
	}
}

// compileTime returns the seconds of processor time that compiling a text takes; the machine may be busy.
func compileTime(t *testing.T, text string) float64 {
	before := processorTime(t)
	compiled, found := Compile(grammar.NewSource("large", []byte(text)))
	took := processorTime(t) - before
	if (compiled.Program == nil) != found.HasErrors() {
		t.Error("a program and errors, or neither")
	}
	return took.Seconds()
}

func processorTime(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano())
}

// fill returns a policy of custom rules that has nearly size bytes, or as many lines as a policy of that size.
func fill(size int, line func(i int) string) string {
	var b strings.Builder
	b.WriteString("version: 2.0.0\n## custom\n")
	for i := range (grammar.MaxLines - 2) * size / grammar.MaxBytes {
		text := line(i) + "\n"
		if b.Len()+len(text) > size {
			break
		}
		b.WriteString(text)
	}
	return b.String()
}
