package reviewed_test

import (
	"testing"

	"bailiff/fuzz/kit/reviewed"
)

// TestRead: each entry of a list has a reason, and is there once.
func TestRead(t *testing.T) {
	got, err := reviewed.Read("list.txt", "# about\na: f: `x`: 1\na: f: `y`: 2\n\tthe same\n\tprogram\n\nb: f: `x`: 1\n\tanother\n")
	if err != nil || len(got) != 3 || got["a: f: `x`: 1"] != "the same program" || got["b: f: `x`: 1"] != "another" {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"a\n", "\tbecause\n", "a\n\tbecause\na\n\tbecause\n", "a\n\tbecause\nb\n"} {
		if got, err := reviewed.Read("list.txt", text); err == nil {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}
