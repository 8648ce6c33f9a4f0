package fspath

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
	"bailiff/vm/match"
)

// cleanTests are raw paths with their clean form.
var cleanTests = []struct {
	raw, clean string
	suspicious bool
}{
	{"/etc/passwd", "/etc/passwd", false},
	{"/ETC//./x/../Passwd/", "/etc/passwd", false},
	{"//etc/passwd", "/etc/passwd", false},
	{"/../../etc", "/etc", false},
	{"/", "/", false},
	{".", ".", false},
	{"a/..", ".", false},
	{"./a/./b/", "a/b", false},
	{`a\b\..\C`, "a/c", false},
	{"..a/...b", "..a/...b", false},
	{"/a%2e%2e/b", "/a%2e%2e/b", true},
	{"/a%20b", "/a%20b", false},
	{"/100%%", "/100%%", true},
	{"/100%", "/100%", false},
	{"", ".", true},
	{"..", "..", true},
	{"../x", "../x", true},
	{"a/../../x", "../x", true},
	{"../../x", "../../x", true},
	{"~", "~", false},
	{"~/.SSH/x", "~/.ssh/x", false},
	{"~/../x", "~/x", true},
	{"~/a/../x", "~/x", false},
	{"~root/x", "~root/x", true},
	{"./~root", "~root", true},
	{"a/../~/x", "~/x", false},
	{"/~root/x", "/~root/x", false},
	{"a/~b", "a/~b", false},
	{"$HOME/x", "$home/x", true},
	{"/x/${HOME}", "/x/${home}", true},
	{"/x/$(id)", "/x/$(id)", true},
	{"a$", "a$", true},
	{"x$.txt", "x$.txt", true},
	{"/a$. /b", "/a$/b", true},
	{"routes/$id.tsx", "routes/$id.tsx", true},
	{"$$", "$$", true},
	{"$\u200cHOME", "$home", true},
	{"$\u212a", "$k", true},
	{"/x/%APPDATA%/y", "/x/%appdata%/y", true},
	{"/x/50%/60%", "/x/50%/60%", false},
	{`C:\Windows\System32`, "/c:/windows/system32", false},
	{"c:/", "/c:", false},
	{"/C:/x", "/c:/x", false},
	{"C:", "/c:", false},
	{"C:x", "c:x", true},
	{"/c:x/y", "/c:x/y", true},
	{"a/../c:x", "c:x", true},
	{"c: /x", "c: /x", true},
	{"x/c:/y", "x/c/y", false},
	{"x/c:y", "x/c", false},
	{"/file:/x", "/file:/x", true},
	{"1:x", "1", false},
	{"file:name", "file", false},
	{"C:/../x", "/c:/x", true},
	{"/c:/../etc/passwd", "/c:/etc/passwd", true},
	{"file:///etc/passwd", "file:/etc/passwd", true},
	{`\\?\C:\x`, "/?/c/x", true},
	{`\\.\C:\x`, "/c:/x", true},
	{`\??\C:\x`, "/??/c/x", true},
	{`\\server\share\x`, "/server/share/x", false},
	{"/a/.env.", "/a/.env", false},
	{"/a/.env ", "/a/.env", false},
	{"/a/.env. . ", "/a/.env", false},
	{"/a/.env:x", "/a/.env", false},
	{"a:b", "a:b", true},
	{"notes 10:30.md", "notes 10", false},
	{"/a/.env::$DATA", "/a/.env", true},
	{"/a/.../b", "/a/.../b", true},
	{"/a/.. /b", "/a/.. /b", true},
	{"/a/ /b", "/a/ /b", true},
	{"/a/..:x/b", "/a/..:x/b", true},
	{"/a/:x", "/a/:x", true},
	{"/PROGRA~1/x", "/progra~1/x", true},
	{"/git~1", "/git~1", true},
	{"/a/ab12~1.txt", "/a/ab12~1.txt", true},
	{"/a/x.txt.~1~", "/a/x.txt.~1~", false},
	{"/a/longername~1", "/a/longername~1", false},
	{"/a~b~1", "/a~b~1", true},
	{"/a~1.b~1", "/a~1.b~1", true},
	{"/a~1.b.c", "/a~1.b.c", false},
	{"/\u00e9\u00e9\u00e9\u00e9~1", "/\u00e9\u00e9\u00e9\u00e9~1", true},
	{"/\u00df\u00df\u00df\u00df~1", "/ssssssss~1", true},
	{"/abcdef\u200c\u200c~1", "/abcdef~1", true},
	{"/abcdef~1.text", "/abcdef~1.text", false},
	{"/a\x00b", "/a\x00b", true},
	{"/a\nb", "/a\nb", true},
	{"/a\xff", "/a\ufffd", true},
	{"/.ſsh", "/.ssh", false},
	{"/.ßh", "/.ssh", false},
	{"/K\u212a", "/kk", false},
	{"/caf\u00c9", "/caf\u00e9", false},
	{"/cafE\u0301", "/caf\u00e9", false},
	{"/.g\u200cit", "/.git", false},
	{"/.\ufeffenv", "/.env", false},
	{"/a/.\u200c./etc", "/a/.\u200c./etc", true},
	{"/a/\u200c/etc", "/a/\u200c/etc", true},
	{"\u200c~/x", "~/x", false},
}

func TestClean(t *testing.T) {
	for _, test := range cleanTests {
		clean, suspicious := Clean(test.raw)
		if clean != test.clean || suspicious != test.suspicious {
			t.Errorf("Clean(%q) = %q, %v; want %q, %v", test.raw, clean, suspicious, test.clean, test.suspicious)
		}
	}
}

func TestExplain(t *testing.T) {
	for raw, want := range map[string]string{
		"":            whyEmpty,
		"a\nb":        whyBytes,
		"a\xff":       whyBytes,
		"//./x":       whyDevice,
		"//?/c:/x":    whyDevice,
		"/../??/x":    whyDevice,
		"$HOME/x":     whyVariable,
		"a/%TEMP%/x":  whyVariable,
		"../x":        whyUp,
		"a/../../$x":  whyVariable,
		"~/../x":      whyHomeUp,
		"c:/../x":     whyHomeUp,
		"~root/x":     whyUser,
		"c:x":         whyAnchor,
		"file:///x":   whyAnchor,
		"a/.../b":     whyNoName,
		"a/ /b":       whyNoName,
		"PROGRA~1/x":  whyShortName,
		"src/main.go": "",
		"/a$/b":       whyVariable,
	} {
		if got := Explain(raw); got != want {
			t.Errorf("Explain(%q) = %q, want %q", raw, got, want)
		}
	}
	for _, test := range cleanTests {
		if got := Explain(test.raw); (got != "") != test.suspicious {
			t.Errorf("Explain(%q) = %q, suspicious %v", test.raw, got, test.suspicious)
		}
	}
}

func TestParseEntry(t *testing.T) {
	for _, test := range []struct{ entry, patterns string }{
		{"/etc", "/etc"},
		{"/ETC//x/", "/etc/x"},
		{"/", "/ **/*"},
		{".env", "**/.env"},
		{"./.Git/config", "**/.git/config"},
		{"~/.ssh", "~/.ssh /root/.ssh /home/*/.ssh /users/*/.ssh /c:/users/*/.ssh"},
		{"~", "~ /root /home/* /users/* /c:/users/*"},
		{"C:/Windows", "/c:/windows /windows"},
		{`D:\`, "/d:"},
		{"/home/alice/.ssh", "/home/alice/.ssh ~/.ssh"},
		{"/home/*/x", "/home/*/x ~/x"},
		{"/home", "/home ~"},
		{"/root/x", "/root/x ~/x"},
		{`C:\Users\Bob\x`, "/c:/users/bob/x /users/bob/x ~/x"},
		{"a/*/b", "**/a/*/b"},
		{".env*", "**/.env*"},
		{"/srv/*.pem", "/srv/*.pem"},
		{"~/.ssh/id_*", "~/.ssh/id_* /root/.ssh/id_* /home/*/.ssh/id_* /users/*/.ssh/id_* /c:/users/*/.ssh/id_*"},
		{"/ho*/ann/x", "/ho*/ann/x ~/x"},
		{"/h*", "/h* ~"},
	} {
		patterns, err := ParseEntry(test.entry)
		if got := strings.Join(patterns, " "); err != nil || got != test.patterns {
			t.Errorf("ParseEntry(%q) = %q, %v; want %q", test.entry, got, err, test.patterns)
		}
	}
	for _, entry := range []string{"", ".", "./", "a/..", "..", "../x", "*", "*/*", "**/.env", "/x/a**", "~*/x", "~bob/x", "$HOME/x", "%TEMP%/x", "c:x", "PROGRA~1", "a\x00", "/a/..."} {
		if patterns, err := ParseEntry(entry); err == nil {
			t.Errorf("ParseEntry(%q) = %q, want an error", entry, patterns)
		}
	}
}

// blocked reports whether entry blocks raw, by a pattern or because raw is suspicious.
func blocked(t testing.TB, entry, raw string) bool {
	t.Helper()
	patterns, err := ParseEntry(entry)
	if err != nil {
		t.Fatal(err)
	}
	clean, suspicious := Clean(raw)
	return suspicious || slices.ContainsFunc(patterns, func(pattern string) bool { return match.CoversPath(pattern, clean) })
}

// blockedTests are entries, and paths that they block or leave alone.
var blockedTests = []struct {
	entry, raw string
	want       bool
}{
	{"/etc", "/etc", true},
	{"/etc", "/ETC/passwd", true},
	{"/etc", "/etcetera", false},
	{"/etc", "/x/../etc/passwd", true},
	{"/etc", "//etc//passwd", true},
	{"/etc", `\etc\passwd`, true},
	{"/etc", "etc/passwd", false},
	{"/etc", "/x/etc", false},
	{"/etc/passwd", "/etc", false},
	{"~/.ssh", "~/.ssh/id_ed25519", true},
	{"~/.ssh", "/root/.ssh", true},
	{"~/.ssh", "/home/alice/.SSH/config", true},
	{"~/.ssh", "/Users/bob/.ssh", true},
	{"~/.ssh", `C:\Users\bob\.ssh`, true},
	{"~/.ssh", `\Users\bob\.ssh`, true},
	{"~/.ssh", "/home/.ssh", false},
	{"~/.ssh", "/home/a/b/.ssh", false},
	{"~/.ssh", "~/.sshx", false},
	{"~/.ssh", "~alice/.ssh", true},
	{"~/.ssh", "$HOME/.ssh", true},
	{"~/.ssh", "~/../root/.ssh", true},
	{"/home/alice/.ssh", "~/.ssh/x", true},
	{"/home", "~/x", true},
	{"/var", "~/x", false},
	{".env", ".env", true},
	{".env", "/srv/app/.ENV", true},
	{".env", "/srv/.env/x", true},
	{".env", "~/.env", true},
	{".env", `D:\x\.env`, true},
	{".env", "/srv/.env.local", false},
	{".env", "/srv/x.env", false},
	{".env", "/srv/.env::$DATA", true},
	{".env", "/srv/.env ", true},
	{".git/config", "/r/.git/config", true},
	{".git/config", "/r/.git/x/config", false},
	{".git/config", "/r/.git", false},
	{"a/*/b", "/x/a/y/b/c", true},
	{"a/*/b", "/x/a/b", false},
	{"*/b", "/b", false},
	{"*/b", "/a/b", true},
	{".env*", "/srv/.env.local", true},
	{".env*", "/srv/.env", true},
	{".env*", ".ENV.local/x", true},
	{".env*", "/srv/x.env", false},
	{".env*", "/srv/.en/v", false},
	{"*.pem", "/srv/key.pem", true},
	{"*.pem", "/srv/key.pem.txt", false},
	{"/srv/id_*_key", "/srv/id_rsa_key/x", true},
	{"/srv/id_*_key", "/srv/id_rsa/_key", false},
	{"/srv/a*", "/srv/b/a1", false},
	{"~/.ssh/id_*", "/home/ann/.ssh/id_rsa", true},
	{"C:/Windows", "c:/windows/x", true},
	{"C:/Windows", "/windows/x", true},
	{"C:/Windows", `\\?\C:\Windows\x`, true},
	{"C:/Windows", "D:/windows/x", false},
	{"D:/", "d:/x", true},
	{"D:/", "/home/x", false},
	{"/", "/x", true},
	{"/", "C:/x", true},
	{"/", "~/x", true},
	{"/", "x/y", true},
	{"/", ".", true},
	{"/", "/", true},
	{"/windows", "C:/Windows", false},
	{"C:/", "/windows", false},
}

func TestBlocked(t *testing.T) {
	for _, test := range blockedTests {
		if got := blocked(t, test.entry, test.raw); got != test.want {
			t.Errorf("entry %q, path %q: blocked %v, want %v", test.entry, test.raw, got, test.want)
		}
	}
}

// TestFoldIsStable folds every rune of the planes that have cases alone and beside others: folding twice must be folding once, and runes that differ
// in case only must come out the same.
func TestFoldIsStable(t *testing.T) {
	for r := rune(0); r <= 0x1ffff; r++ {
		for _, text := range []string{string(r), "a" + string(r) + "\u0345\u0301"} {
			once := fold(text)
			if twice := fold(once); twice != once {
				t.Errorf("%U: folded %+q, folded again %+q", r, once, twice)
			}
		}
		if other := unicode.SimpleFold(r); fold(string(other)) != fold(string(r)) {
			t.Errorf("%U and %U differ in case only, but are folded to %+q and %+q", r, other, fold(string(r)), fold(string(other)))
		}
	}
}

// paths generates paths from pieces that matter to Clean.
func paths() gopter.Gen {
	pieces := []any{"a", "B", ".env", ".", "..", "/", "/", "/", `\`, "~", "c:", "C", ":", " ", "%", "$", "$.", "*", "a*", "*n*", "é", "E\u0301", "ß", "~1", "", "\u200d", "?"}
	return gen.SliceOfN(12, gen.OneConstOf(pieces...)).Map(func(parts []string) string { return strings.Join(parts, "") })
}

func TestProperties(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 2000))
	properties.Property("cleaning twice is cleaning once", prop.ForAll(func(raw string) bool { return stable(raw) }, paths()))
	properties.Property("case does not matter", prop.ForAll(func(raw string) bool {
		lower, s1 := Clean(strings.ToLower(raw))
		upper, s2 := Clean(strings.ToUpper(raw))
		return lower == upper && s1 == s2
	}, paths()))
	properties.Property("an entry blocks itself and what is below", prop.ForAll(func(raw, below string) bool {
		patterns, err := ParseEntry(raw)
		if err != nil {
			return true
		}
		clean, _ := Clean(raw)
		deeper, suspicious := Clean(raw + "/" + strings.ReplaceAll(below, "..", ""))
		return match.CoversPath(patterns[0], clean) && (suspicious || match.CoversPath(patterns[0], deeper))
	}, paths(), paths()))
	properties.Property("match agrees with segments", prop.ForAll(func(entry, raw string) bool {
		patterns, err := ParseEntry(entry)
		if err != nil {
			return true
		}
		clean, _ := Clean(raw)
		return match.CoversPath(patterns[0], clean) == matchSlow(patterns[0], clean)
	}, paths(), paths()))
	properties.TestingRun(t)
}

// TestPropertiesCanFail shows that the stability property notices a cleaner that forgets a step.
func TestPropertiesCanFail(t *testing.T) {
	forgetful := func(raw string) bool {
		once := strings.ReplaceAll(raw, "//", "/")
		return strings.ReplaceAll(once, "//", "/") == once
	}
	result := prop.ForAll(forgetful, paths()).Check(seed.Parameters(t, 2000))
	if result.Passed() {
		t.Error("a cleaner that leaves doubled slashes passed as stable")
	}
}

// stable reports whether cleaning a cleaned path changes nothing.
func stable(raw string) bool {
	clean, suspicious := Clean(raw)
	again, still := Clean(clean)
	return again == clean && (suspicious || !still)
}

// matchSlow is Match by comparing lists of segments.
func matchSlow(pattern, clean string) bool {
	have := strings.Split(strings.TrimSuffix(clean, "/"), "/")
	if anywhere, ok := strings.CutPrefix(pattern, "**/"); ok {
		for i := range have {
			if startsWith(have[i:], strings.Split(anywhere, "/")) {
				return true
			}
		}
		return false
	}
	return startsWith(have, strings.Split(strings.TrimSuffix(pattern, "/"), "/"))
}

func startsWith(have, want []string) bool {
	for i, segment := range want {
		if i >= len(have) || !matchSegmentSlow(segment, have[i]) {
			return false
		}
	}
	return true
}

// matchSegmentSlow is matchSegment by a regular expression.
func matchSegmentSlow(want, have string) bool {
	if want == "*" {
		return have != ""
	}
	pattern := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, ".*") + "$"
	return regexp.MustCompile(pattern).MatchString(have)
}

func TestAbove(t *testing.T) {
	for _, test := range []struct{ entry, want string }{
		{"/etc/ssl/private", "/etc/ssl /etc"},
		{"/etc", ""},
		{"/", ""},
		{".env", ""},
		{"a/b", ""},
		{"/srv/*.d/x", "/srv/*.d /srv"},
		{"~/.ssh", "/root /home/* /home /users/* /users /c:/users/* /c:/users /c:"},
		{"C:/Windows/System32", "/c:/windows /c: /windows"},
	} {
		patterns, err := ParseEntry(test.entry)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Above(patterns), " "); got != test.want {
			t.Errorf("Above(%q) = %q, want %q", test.entry, got, test.want)
		}
	}
	if got := strings.Join(Above([]string{"/a/b/c", "/a/b/d", "/a/e"}), " "); got != "/a/b /a" {
		t.Errorf("the directories above several entries: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, raw := range []string{"/a/../b", "~/x", `C:\x`, ".env. ", "a:b", "%A%", "é/ß", "//?/x", "$.x", "a$/b", "$\u200c.", "..:x", "~:", "c: ", "/\u200c./x"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !stable(raw) {
			once, _ := Clean(raw)
			twice, s := Clean(once)
			t.Fatalf("Clean(%q) = %q, then %q, %v", raw, once, twice, s)
		}
		if patterns, err := ParseEntry(raw); err == nil {
			clean, _ := Clean(raw)
			if !match.CoversPath(patterns[0], clean) {
				t.Fatalf("%q does not block itself: %q, %q", raw, patterns, clean)
			}
		}
	})
}

func BenchmarkClean(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Clean("/srv/app/src/main/handler.go")
	}
}

func TestJoin(t *testing.T) {
	for _, test := range []struct{ directory, raw, want string }{
		{"/work", "a/b", "/work/a/b"},
		{"/work/", "../etc", "/work/../etc"},
		{"/", "a", "/a"},
		{`C:\work`, "a", `C:\work/a`},
		{"/work", ".", "/work/."},
		{"/work", "ab:c", "/work/ab:c"},
		{"/work", "a:b", "a:b"},
		{"/work", "/etc", "/etc"},
		{"/work", `\etc`, `\etc`},
		{"/work", "~/x", "~/x"},
		{"/work", "\u200c~/x", "\u200c~/x"},
		{"/work", "c:x", "c:x"},
		{"/work", "C:/x", "C:/x"},
		{"/work", "file:", "file:"},
		{"/work", "", ""},
		{"/work", "\u200c", "/work/\u200c"},
		{"/w", "./~/x", "./~/x"},
		{"/w", `.\~/x`, `.\~/x`},
		{"/w", "a/../~/x", "a/../~/x"},
		{"/w", ".//c:x", ".//c:x"},
		{"/w", "../~/x", "/w/../~/x"},
	} {
		if got := Join(test.directory, test.raw); got != test.want {
			t.Errorf("Join(%q, %q) = %q, want %q", test.directory, test.raw, got, test.want)
		}
	}
}

func TestIsAbsolute(t *testing.T) {
	for raw, want := range map[string]bool{
		"/": true, "/work": true, `\work`: true, `C:\work`: true, "c:/": true, "C:": false, "c:x": false, "": false, "work": false, "~/x": false, "./x": false,
		"$HOME": false, "1:/x": false,
	} {
		if got := IsAbsolute(raw); got != want {
			t.Errorf("IsAbsolute(%q) = %v", raw, got)
		}
	}
}

func TestInGitFolder(t *testing.T) {
	for path, want := range map[string]bool{
		"/w/.git": true, "/w/.git/": true, "/w/.git/config": true, "/w/.GIT/x": true, "/w/.git.": true, "/w/.git. ./x": true, "/w/.git::$INDEX_ALLOCATION/x": true,
		"/w/git~1": true, "/w/GIT~12/config": true, "/w/.g\u200cit/config": true, "/w/.g\u0131t/x": false, "/.git": true,
		"/w/.gitignore": false, "/w/.github/x": false, "/w/git": false, "/w/git~": false, "/w/git~1x": false, "/w/a.git/x": false, "/w/x": false, "": false,
	} {
		if got := InGitFolder(path); got != want {
			t.Errorf("InGitFolder(%q) = %v", path, got)
		}
	}
}
