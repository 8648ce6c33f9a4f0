package planted

import (
	"strings"
	"testing"
)

func TestStrong(t *testing.T) {
	for _, c := range []struct {
		n       int
		refused bool
		want    bool
	}{{1, false, false}, {2, false, true}, {3, false, true}, {4, false, false}, {5, false, false}, {3, true, false}} {
		if got := Between(c.n, 2, 4, c.refused); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	for _, c := range []struct {
		a, b, want uint32
		fails      bool
	}{
		{100, 7, 0x2cc, false}, {12345, 17, 0x32681, false}, {9, 4, 0x21, false}, {6, 3, 0x1c, false}, {0x55, 0x33, 0x11d5, false},
		{1 << 20, 1, 0x200008, false}, {1<<20 + 1, 3, 0, true}, {5, 0, 0, true},
	} {
		if got, err := Mix(c.a, c.b); got != c.want || (err != nil) != c.fails {
			t.Errorf("%+v: %#x, %v", c, got, err)
		}
	}
	for n, want := range []int{-9, -8, -7, -6, -6} {
		var said []string
		steps, last := Steps(n, func(s string) { said = append(said, s) })
		if steps != want || len(said) != want+9 || strings.Join(said, "") != strings.Repeat("step", want+9) || (last == "step") != (n > 0) {
			t.Errorf("%d: %d %q %q", n, steps, last, said)
		}
	}
	t.Run("kinds", func(t *testing.T) {
		if Shadow(6) || !Shadow(7) || Shadow(8) {
			t.Error("a kind is wrong")
		}
	})
	if Up(4) != 10 || Up(0) != 0 {
		t.Error("a sum is wrong")
	}
	for c, want := range map[byte]string{'A': "before", '`': "before", 'a': "", 'b': "", 'z': "last", 'y': "", '{': ""} {
		if got, at := First(c); got != want || (at != nil) != (c == 'z') {
			t.Errorf("%c: %s", c, got)
		}
	}
}

// TestWeak runs the same and looks at nothing.
func TestWeak(t *testing.T) {
	Between(3, 2, 4, false)
	Mix(100, 7)
	Steps(3, func(string) {})
	Up(4)
	Shadow(7)
	First('z')
	t.Log("done")
}
