package cli

import (
	"os"
	"strings"
	"testing"

	"bailiff/grammar"
)

// TestStyleFor holds colour to terminals, and to what the environment and the flag say about it.
func TestStyleFor(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	defer terminal.Close()
	plain, colour := grammar.Style{}, grammar.Colour
	for _, c := range []struct {
		choice, noColor, term string
		want                  grammar.Style
	}{
		{"auto", "", "xterm", colour},
		{"auto", "1", "xterm", plain},
		{"auto", "", "dumb", plain},
		{"always", "1", "dumb", colour},
		{"never", "", "xterm", plain},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if StyleFor(c.choice, terminal) != c.want {
			t.Errorf("%+v", c)
		}
	}
	t.Setenv("TERM", "xterm")
	if StyleFor("auto", new(strings.Builder)) != plain {
		t.Error("colour for what is no terminal")
	}
}
