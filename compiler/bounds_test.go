package compiler

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bailiff/compiler/codes"
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
		"covering texts":    func(i int) string { return "deny_if.action contains " + strings.Repeat("ab", i%500+1) },
		"starts and ends": func(i int) string {
			return fmt.Sprintf("deny_if.action %s a%d", []string{"starts_with", "ends_with", "equals"}[i%3], i)
		},
		"long lists": func(i int) string { return "allow_only.action: " + strings.Repeat(fmt.Sprintf("y%d,", i), 1000) + "z" },
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

// TestLongLists compiles policies whose lists are as long as they may be, of items that are compared with each other.
func TestLongLists(t *testing.T) {
	list := func(item func(i int) string) string {
		items := make([]string, grammar.MaxItems)
		for i := range items {
			items[i] = item(i)
		}
		return strings.Join(items, ",")
	}
	starred := list(func(i int) string { return fmt.Sprintf("*t%d*", i) })
	for name, text := range map[string]string{
		"MCP patterns": "## mcp\nallowed_tools: " + list(func(i int) string { return fmt.Sprintf("s.a%d*", i) }) +
			"\nblocked_tools: " + list(func(i int) string { return fmt.Sprintf("s.b%d*", i) }) + "\nrequire_approval: " + starred,
		"MCP stars":  "## mcp\nallowed_servers: s\nblocked_tools: " + starred,
		"commands":   "## tool_calls\nallowed: bash\nbash.blocked_commands: " + list(func(i int) string { return fmt.Sprintf("rm %d", i) }),
		"nested":     "## tool_calls\nallowed: bash\nbash.blocked_commands: " + list(func(i int) string { return strings.Repeat("ab", i%5+1) + fmt.Sprint(i) }),
		"paths":      "## tool_calls\nallowed: file_write\nfile_write.blocked_paths: " + list(func(i int) string { return fmt.Sprintf("/a/b/%d", i) }),
		"domains":    "## tool_calls\nallowed: web_fetch\nweb_fetch.blocked_domains: " + list(func(i int) string { return fmt.Sprintf("a%d.x.io", i) }),
		"recipients": "## tool_calls\nallowed: email.send\nemail.blocked_recipients: " + list(func(i int) string { return fmt.Sprintf("*%d@x.io", i) }),
		"approvals": "## tool_calls\nallowed: " + list(func(i int) string { return fmt.Sprintf("a%d", i) }) +
			"\nrequire_approval: " + list(func(i int) string { return fmt.Sprintf("a%d*", i) }),
	} {
		const most = 2.0 // seconds; they take a tenth of it
		text = "version: 2.1.0\n" + text + "\n"
		if found := errorsOf(text); len(found) > 0 && !slices.ContainsFunc(codes.All(), func(info grammar.CodeInfo) bool { return info.Code == found[0] }) {
			t.Errorf("%s do not reach the compiler: %v", name, found)
		}
		if took := compileTime(t, text); took > most {
			t.Errorf("%s take %.1f s", name, took)
		} else {
			t.Logf("%s take %.2f s", name, took)
		}
	}
}

// compileTime returns the seconds of processor time that compiling a text takes; the machine may be busy.
func compileTime(t *testing.T, text string) float64 {
	before := processorTime(t)
	compiled, found := compileLinted(grammar.NewSource("large", []byte(text)))
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
