package compiler

import (
	"fmt"
	"iter"
	"strings"

	"bailiff/compiler/example"
	"bailiff/compiler/frame"
	"bailiff/grammar"
)

// outsized yields policies that exceed a bound each, and are too large for a golden file.
func outsized() iter.Seq[*grammar.Source] {
	long := strings.Repeat("x", frame.MaxTextBytes+1)
	texts := []string{
		"version: 2.0.0\n## custom\ndeny_string: " + long + "\n",
		"version: 2.0.0\n## custom\nallow_only.metadata.a: " + long + "\n",
		"version: 2.0.0\n## custom\ndeny_if.metadata." + strings.Repeat("x", frame.MaxPathBytes) + " equals x\n",
		"version: 2.0.0\n## tool_calls\nallowed: " + strings.Repeat("x", frame.MaxActionBytes+1) + "\n",
		"version: 2.0.0\n## custom\ndeny_if.metadata.a matches " + strings.Repeat("x", frame.MaxPattern+1) + "\n",
		manyRules(5000),
		deepRoots(15),
		heavyPatterns(200),
		example.Custom(`deny_if.metadata.note matches N?.{0,300}.{0,180}xN$`),
	}
	return func(yield func(*grammar.Source) bool) {
		for _, text := range texts {
			if !yield(grammar.NewSource("outsized", []byte(text))) {
				return
			}
		}
	}
}

// manyRules returns a policy of n custom rules, each about a field of its own.
func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("version: 2.0.0\n## custom\n")
	for i := range n {
		fmt.Fprintf(&b, "deny_if.metadata.a%d equals x\n", i)
	}
	return b.String()
}

// deepRoots returns a policy of n roots, each with two thousand directories above it.
func deepRoots(n int) string {
	roots := make([]string, n)
	for i := range roots {
		roots[i] = fmt.Sprintf("/%d", i) + strings.Repeat("/a", 2000)
	}
	return "version: 2.1.0\n## tool_calls\nallowed: bash\n## repository\nrequire_shim: true\nroots: " + strings.Join(roots, ", ") + "\n"
}

// heavyPatterns returns a policy of n patterns that keep much live each: of many steps, and of classes with many ranges.
func heavyPatterns(n int) string {
	var b strings.Builder
	b.WriteString("version: 2.0.0\n## custom\n")
	for i := range n {
		fmt.Fprintf(&b, "deny_if.metadata.a%d matches .{0,300}%sx%d$\n", i, strings.Repeat(`\pL\pN`, 8), i)
	}
	return b.String()
}
