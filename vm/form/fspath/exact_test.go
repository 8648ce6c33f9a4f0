package fspath

import (
	"slices"
	"strings"
	"testing"
)

func TestExact(t *testing.T) {
	for _, c := range []struct {
		directory, raw string
		want           string // the readings, or "" where there are none
	}{
		{"", "/work/a.go", "/work/a.go"},
		{"", "/Work//./a.go/", "/Work/a.go"},
		{"", "src/a.go", "./src/a.go"},
		{"", "./src/./a.go", "./src/a.go"},
		{"", ".", "."},
		{"", "/", "/"},
		{"", "~/x", "~/x"},
		{"", "~", "~"},
		{"/work", "src/a.go", "/work/src/a.go ./src/a.go"},
		{"/work/", "/work/src", "/work/src ./src"},
		{"/work", "/work", "/work ."},
		{"/work", "/workspace/a", "/workspace/a"},
		{"/work", "/WORK/a", "/WORK/a"},
		{"/work", "~/x", "~/x"},
		{"/", "etc/x", "/etc/x ./etc/x"},
		{"/work/../etc", "/etc/x", "/etc/x"},
		{"/work", "/work/~/x", "/work/~/x ./~/x"},
		{`C:\work`, `src\a.go`, "/c:/work/src/a.go ./src/a.go"},
		{"", `c:\Work\a.go`, "/c:/Work/a.go"},
		{"", "/C:/Work", "/c:/Work"},
		// What the text does not tell.
		{"", "", ""}, {"/work", "", ""},
		{"", "a/../b", ""}, {"/work", "../x", ""}, {"", "/work/../etc", ""}, {"/work/../etc", "a", ""},
		{"", "~bob/x", ""}, {"", "./~/x", ""}, {"/work", "./~bob", ""}, {"", "./c:/x", ""}, {"", "c:x", ""},
		{"", "$HOME/x", ""}, {"/work/$x", "a", ""}, {"", "%APPDATA%/x", ""},
		{"", `src\a.go`, ""}, {"/work", `a\..\..\etc`, ""}, {"", `/work\x`, ""}, {"", `\\server\share`, ""},
		{"", "a\x00b", ""}, {"", "a\nb", ""}, {"", "/work/PROGRA~1/x", ""}, {"", "/work/... /x", ""}, {"", "file:/etc", ""},
		{"", "/a/\u200c/b", ""},
	} {
		readings, ok := Exact(c.directory, c.raw)
		if got := strings.Join(readings, " "); got != c.want || ok != (c.want != "") {
			t.Errorf("%q from %q is %q, %t; want %q", c.raw, c.directory, got, ok, c.want)
		}
	}
}

func TestAllowedEntry(t *testing.T) {
	for text, want := range map[string]string{
		"/srv/App/": "/srv/App", "src": "./src", "./src/*.go": "./src/*.go", ".": ".", "/": "/", "~/notes": "~/notes", `C:\Work\*`: "/c:/Work/*",
		"": "", "../x": "", "a/../b": "", "~bob": "", "$HOME": "", "src/**": "", `src\a`: "", "c:x": "",
	} {
		got, err := AllowedEntry(text)
		if got != want && want != "" || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

// TestExactIsInside: what a relative entry covers lies below the directory, and what an absolute one covers below that: no
// reading has a segment that leads out.
func TestExactIsInside(t *testing.T) {
	pieces := []string{"/", "//", ".", "..", "a", "~", "c:", `\`, "$", "/work", "A", " ", "\u200b", "/./"}
	n := 0
	var walk func(text string, depth int)
	walk = func(text string, depth int) {
		for _, directory := range []string{"", "/work", "/work/a"} {
			readings, ok := Exact(directory, text)
			if !ok {
				continue
			}
			n++
			for _, reading := range readings {
				segments := strings.Split(reading, "/")
				if slices.Contains(segments[1:], ".") || slices.Contains(segments, "..") || strings.Contains(reading, `\`) || strings.Contains(reading, "//") {
					t.Fatalf("%q from %q reads %q", text, directory, reading)
				}
			}
			if directory != "" && strings.HasPrefix(readings[0], "/") && len(readings) > 1 && readings[0] != directory+strings.TrimPrefix(readings[1], ".") {
				t.Fatalf("%q from %q reads %q", text, directory, readings)
			}
		}
		if depth > 0 {
			for _, piece := range pieces {
				walk(text+piece, depth-1)
			}
		}
	}
	walk("", 4)
	if n < 1000 {
		t.Errorf("%d paths can be read", n)
	}
}
