package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
)

// blocks reports whether the needles of entry occur in a form of raw, and why raw can't be read if so.
func blocks(t testing.TB, entry, raw string) (bool, error) {
	t.Helper()
	needles, err := Entry(entry)
	if err != nil {
		t.Fatalf("Entry(%q): %v", entry, err)
	}
	forms, err := Read(raw)
	for _, form := range forms.All() {
		for _, needle := range needles {
			if strings.Contains(form, needle) {
				return true, err
			}
		}
	}
	return false, err
}

func TestSpellingsOfABlockedCommand(t *testing.T) {
	for _, raw := range []string{
		`rm -rf /`, `rm   -rf /`, "rm\t-rf /", "rm \\\n -rf /", "r\\\nm -rf /", `"rm" -rf /`, `'rm' -rf /`, `r\m -rf /`,
		`rm -r"f" /`, `r"m" -rf`, `r''m -rf /`, `$'rm' -rf /`, `$"rm" -rf /`, `$'\x72\155' -rf /`, `$'\u0072m' -rf /`,
		`$'rm\0junk' -rf /`, `rm "" -rf /`, `rm '' '' -rf /`, `rm $'-rf' /`, `"r"'m' "-r"f /`,
		`rm >/dev/null -rf /`, `>x rm 2>&1 -rf /`, `rm <<<x -rf /`,
		`echo $(rm -rf /)`, `echo $("rm" -rf /)`, "echo `r\\\\m -rf /`", `echo "$(r\m -rf /)"`, `x=1 rm -rf /`, `x=$(r\m -rf /)`,
		`{ "rm" -rf /; }`, `( r\m -rf / )`, `f() { r\m -rf /; }; f`, `function f { r\m -rf /; }`, `true && r\m -rf /`,
		`true | r\m -rf /`, `! r\m -rf /`, `time r\m -rf /`, `r\m -rf / &`, "# note\nr\\m -rf /",
		`if r\m -rf /; then :; fi`, `if :; then :; elif r\m -rf /; then :; else r\m -rf /; fi`, `while r\m -rf /; do :; done`,
		`for i in $(r\m -rf /); do :; done`, `for i in 1; do r\m -rf /; done`, `case x in x) r\m -rf /;; esac`,
		`case $(r\m -rf /) in *) ;; esac`, `select x in a; do r\m -rf /; done`, `cat <(r\m -rf /)`, `tee >(r\m -rf /)`,
		"cat <<EOF\n$(r\\m   -rf /)\nEOF", "sh <<'EOF'\nr\\m -rf /\nEOF", `echo ${x:-$(r\m -rf /)}`,
		`a=( $(r\m -rf /) )`, `[[ -n $(r\m -rf /) ]]`, `export X=$(r\m -rf /)`, `sh -c 'r\m "-rf" /'`,
		`eval "r\"m\" -rf /"`, `sudo r\m -rf /`, `rm $x -rf /`, `rm "$x" -r${x}f /`, `trap 'r\m   -rf /' EXIT`, `x=1 y=2 "rm" -rf`,
		`echo 'r\\m -rf'`, `echo 'rm  -rf'`, "echo \"rm\n-rf\"", "r\\m -rf / \\\n\\\n", "\u00a0; rm\u00a0-rf /",
	} {
		if found, err := blocks(t, "rm -rf", raw); !found || err != nil {
			t.Errorf("%q: found %v, error %v; want found", raw, found, err)
		}
	}
}

func TestCommandsThatAreNotBlocked(t *testing.T) {
	for _, raw := range []string{
		`rm -r f`, `rm -r; f`, `ls -la`, `rm - rf`, `echo rm; echo -rf`, `rm | sort -rf`,
		`[ -f x ]`, `[[ -f x ]]`, `echo {a,b} *.go ?`, `~/bin/tool x`, `git commit -m "$(cat msg)"`, `x=$y`, `./a.sh "$@"`,
	} {
		if found, err := blocks(t, "rm -rf", raw); found || err != nil {
			t.Errorf("%q: found %v, error %v; want neither", raw, found, err)
		}
	}
}

// TestWordsOfDeclarations: the words of export and its like lose their quoting as a shell takes it away.
func TestWordsOfDeclarations(t *testing.T) {
	forms, err := Read(`export A="b\\c" 'B'=x C+=$'\x41' D[1]='e  f' G H=("i")`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`export A=b\c B=x C+=A D[1]=e f G H=("i")`}
	if !slices.Equal(forms.Commands, want) {
		t.Errorf("%q, want %q", forms.Commands, want)
	}
}

func TestForms(t *testing.T) {
	forms, err := Read("  x=1 'r'm   -rf\t\"$HOME/a b\" && export  A='b c' > out")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"  x=1 'r'm   -rf\t\"$home/a b\" && export  a='b c' > out",
		" x=1 'r'm -rf \"$home/a b\" && export a='b c' > out",
		" x=1 rm -rf $home/a b && export a=b c > out",
		" x=1 rm -rf $home/a b&&export a=b c>out",
		"rm -rf $home/a b",
		"export a=b c",
	}
	if got := forms.All(); !slices.Equal(got, want) {
		t.Errorf("forms:\n%q\nwant\n%q", got, want)
	}
}

// A refusal is a command and the error that reading it gives, or nil.
type refusal struct {
	raw  string
	want error
}

func checkRefusals(t *testing.T, tests []refusal) {
	t.Helper()
	for _, test := range tests {
		if _, err := Read(test.raw); !errors.Is(err, test.want) {
			t.Errorf("%.60q: error %v, want %v", test.raw, err, test.want)
		}
	}
}

func TestLimits(t *testing.T) {
	deep := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	checkRefusals(t, []refusal{
		{strings.Repeat("a", maxText), nil},
		{strings.Repeat("a", maxText+1), errTooLong},
		{"r\x00m", errNUL},
		{"ls\r", errCR},
		{"echo 'a\r\nb'", errCR},
		{"", errEmpty},
		{" \n", errEmpty},
		{"# comment", errEmpty},
		{deep("( ", "x", " )", maxDepth), nil},
		{deep("( ", "x", " )", maxDepth+1), errTooDeep},
		{deep("( ')'; ", "x", " )", maxDepth+1), errTooDeep},
		{deep("{ ", "x", "; }", maxDepth+1), errTooDeep},
		{deep("if ", "x", "; then :; fi", maxDepth), nil},
		{deep("if ", "x", "; then :; fi", maxDepth+1), errTooDeep},
		{deep("echo $(", "x", ")", maxDepth), nil},
		{deep("echo $(", "x", ")", maxDepth+1), errTooDeep},
		{deep("echo ${a:-", "x", "}", maxDepth+1), errTooDeep},
		{"echo $((" + deep("(", "1", ")", maxDepth) + "))", errTooDeep},
		{"if a; then b; " + strings.Repeat("elif a; then if x; then y; fi; ", 100) + "fi", nil},
		{"a" + strings.Repeat("|a", 1000), nil},
		{strings.Repeat("(", 2*maxDepth+1), errTooDeep},
		{strings.Repeat("[]", maxBrackets+1), errTooDeep},
		{strings.Repeat("`", maxBrackets+1), errTooDeep},
	})
}

func TestUnreadable(t *testing.T) {
	checkRefusals(t, []refusal{
		{`echo "`, errSyntax},
		{`if`, errSyntax},
		{`echo $(`, errSyntax},
		{`)`, errSyntax},
		{"cat <<EOF\nnever closed $(", errSyntax},
		{`$cmd -rf`, errDynamic},
		{`"$cmd" -rf`, errDynamic},
		{`r${x}m -rf`, errDynamic},
		{`rm${IFS}-rf${IFS}/`, errDynamic},
		{`$(echo rm) -rf`, errDynamic},
		{"`echo rm` -rf", errDynamic},
		{`{rm,-rf,/}`, errDynamic},
		{`r{m,m} -rf`, errDynamic},
		{`$((1)) x`, errDynamic},
		{`<(x) y`, errDynamic},
		{`/bin/r? -rf /`, errDynamic},
		{`/bin/r* -rf /`, errDynamic},
		{`/bin/[r]m -rf /`, errDynamic},
		{`["r"]m -rf /`, errDynamic},
		{`@(rm) -rf /`, errDynamic},
		{`[[ x == @($(a)) ]]`, errGlob},
		{"echo @(`a`)", errGlob},
		{"[[ x == @(<(a)) ]]", errGlob},
		{`echo $($x)`, errDynamic},
		{`if $x; then :; fi`, errDynamic},
		{"cat <<EOF\n$($x)\nEOF", errDynamic},
		{`x=1 $y`, errDynamic},
		{`'$x' '*'`, nil},
		{`\$x \{a`, nil},
	})
}

// TestEveryExpansionIsRead puts a command that must be refused wherever bash runs substitutions.
func TestEveryExpansionIsRead(t *testing.T) {
	for _, raw := range []string{
		`echo @`, `echo "@"`, `echo "a${x:-"@"}"`, `echo ${x:-@}`, `echo ${x/@/b}`, `echo ${x/a/@}`, `echo ${x:@:1}`, `echo ${x[@]}`, `echo ${x#@}`,
		`echo $((@))`, `echo $((x[@]))`, `echo $[@]`, `((x = @))`, `for ((i=@;;)); do a; done`, `x=@`, `x[@]=1`, `x=(a @)`,
		`x=([@]=1)`, `export x=@`, `declare -A x=([a]=@)`, `local x=@`, `echo >@`, `cat <<<@`, `cat <<<"@"`, `[[ x == @ ]]`, `[[ x =~ @ ]]`,
		`[[ x =~ (@) ]]`, `[[ -n @ && y ]]`, `case @ in a) ;; esac`, `case a in @) ;; esac`, `case a in b|@) a ;; esac`, `for x in @; do a; done`,
		`select x in @; do a; done`, `while @; do a; done`, `until a; do @; done`, `time @`, `! @`, `a && @`, `a | @`,
		`a |& @`, `a & @`, `(@)`, `{ @; }`, `f() { @; }`, `f() (@)`, `a <(@)`, `a >(@)`, `a < <(@)`, "cat <<E\n@\nE", "cat <<E\n${x:-@}\nE", "cat <<-E\n\t@\n\tE",
		"a <<E; @\nE", "`@`", "echo `echo \\`x\\` @`", `echo $(<@)`, `readonly x=@`, `echo {a,@}`, `echo a@b`, `echo ~@`, `if a; then @; fi`, `if a; then b; else @; fi`,
		`[ @ ]`, `test -n @`, `printf %s @ > x`, `x=1 y=@ a`, `echo $'a'@`, `echo $"@"`, `echo "$(a "@")"`, `echo \\@`,
	} {
		raw = strings.ReplaceAll(raw, "@", "$($dynamic)")
		if forms, err := Read(raw); !errors.Is(err, errDynamic) {
			t.Errorf("%q: %q, %v", raw, forms.Commands, err)
		}
	}
}

func TestEntry(t *testing.T) {
	for _, test := range []struct {
		entry string
		want  []string
	}{
		{"rm -rf", []string{"rm -rf"}},
		{"rm  -rf", []string{"rm  -rf", "rm -rf"}},
		{"rm\t", []string{"rm\t", "rm "}},
		{"rm ", []string{"rm "}},
		{"RM -rf", []string{"rm -rf"}},
		{"| sh", []string{"| sh", "|sh"}},
		{"echo 'a  b'  ; ls", []string{"echo 'a  b'  ; ls", "echo 'a b' ; ls", "echo 'a b';ls", "echo a b ; ls", "echo a b;ls"}},
		{`"`, []string{`"`}},
	} {
		if got, err := Entry(test.entry); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("Entry(%q) = %q, %v; want %q", test.entry, got, err, test.want)
		}
	}
	for _, entry := range []string{"", " ", "\t\n", "a\x00b", strings.Repeat("a", maxText+1)} {
		if needles, err := Entry(entry); err == nil {
			t.Errorf("Entry(%.20q) = %q, want an error", entry, needles)
		}
	}
}

func TestDecodeANSI(t *testing.T) {
	for text, want := range map[string]string{
		`a\tb\\\'\"\?`: "a\tb\\'\"?", `\e\E\a\b\f\n\r\v`: "\x1b\x1b\a\b\f\n\r\v", `\101\x42\u43\U00000044`: "ABCD", `\cA`: "\x01", `\q\`: `\q\`,
		`a\0b`: "a", `a\x00b`: "a", `\x`: `\x`, `\u`: `\u`, `\8`: `\8`, `\400`: "", `\Uffffffff`: "\ufffd", `\c`: `\c`, `\c\\x`: "\x1cx", `\x{72}\x{6d`: "rm", `\x{0172}m`: "rm", `a\x{}b`: "a", `\u00e9`: "é",
	} {
		if got := decodeANSI(text); got != want {
			t.Errorf("decodeANSI(%q) = %q, want %q", text, got, want)
		}
	}
}

// hostile are units whose repetition costs the parser most.
var hostile = []string{"(", "( ", "$(", "((", "$[", "${a[", "a[((", "((a[", "if ", "\"$(", "<(", "a[$((", "`", "\\`", "if (", "()", "[]", "${a/", "<<a\n", "'", "! ", "time "}

// TestTimeIsBounded reads the longest texts there may be. What gets past the count of brackets costs the parser tens of
// milliseconds at worst; the bound leaves room for a busy machine.
func TestTimeIsBounded(t *testing.T) {
	for _, unit := range hostile {
		raw := strings.Repeat(unit, maxText/len(unit))
		start := time.Now()
		Read(raw)
		if took := time.Since(start); took > 500*time.Millisecond {
			t.Errorf("%d bytes of %q took %v", len(raw), unit, took)
		}
	}
}

// spellings are ways to write a plain word so that bash still reads that word.
var spellings = []func(word string) string{
	func(word string) string { return word },
	func(word string) string { return `"` + word + `"` },
	func(word string) string { return `'` + word + `'` },
	func(word string) string { return `$'` + word + `'` },
	func(word string) string { return `$"` + word + `"` },
	func(word string) string { return `\` + word },
	func(word string) string { return word[:1] + `""` + word[1:] },
	func(word string) string { return word[:1] + "\\\n" + word[1:] },
	func(word string) string { return fmt.Sprintf(`$'\x%02x'`, word[0]) + word[1:] },
	func(word string) string { return fmt.Sprintf(`$'\x{%x}'`, word[0]) + word[1:] },
	func(word string) string { return fmt.Sprintf(`$'\%03o\u%04x'`, word[0], word[1]) + word[2:] },
}

// surroundings are places where a command can be, at %s.
var surroundings = []string{
	"%s", "x=1 %s", "a; %s", "a | %s", "(%s)", "{ %s; }", "echo $(%s)", "echo \"`%s`\"", "f() { %s; }", "if %s; then a; fi", "cat <<E\n$(%s)\nE", "%s >a 2>&1", "a <(%s)",
}

// disguises generates commands that all mean "remove -rf tree", whatever their spelling.
func disguises() gopter.Gen {
	choices := gen.SliceOfN(3, gen.IntRange(0, len(spellings)-1))
	spaces := gen.OneConstOf(" ", "  ", "\t", " \\\n ")
	return gopter.CombineGens(choices, spaces, gen.OneConstOf(anys(surroundings)...)).Map(func(v []any) string {
		words := []string{"remove", "-rf", "tree"}
		for i, choice := range v[0].([]int) {
			words[i] = spellings[choice](words[i])
		}
		return fmt.Sprintf(v[2].(string), strings.Join(words, v[1].(string)))
	})
}

func anys(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// finds returns whether the words of the disguised command are among the forms.
func finds(forms func(string) []string) func(string) bool {
	return func(raw string) bool { return slices.Contains(forms(raw), "remove -rf tree") }
}

func TestProperties(t *testing.T) {
	commands := func(raw string) []string {
		forms, _ := Read(raw)
		return forms.Commands
	}
	inText := func(raw string) bool {
		forms, _ := Read(raw)
		return strings.Contains(forms.Unquoted, "remove -rf tree")
	}
	properties := gopter.NewProperties(seed.Parameters(t, 2000))
	properties.Property("no spelling hides a command's words", prop.ForAll(finds(commands), disguises()))
	properties.Property("no spelling hides the text", prop.ForAll(inText, disguises()))
	properties.TestingRun(t)
}

// TestPropertiesCanFail shows that the property notices forms that know two of the three kinds of quoting.
func TestPropertiesCanFail(t *testing.T) {
	simple := func(raw string) []string {
		return []string{Collapse(strings.NewReplacer(`"`, "", `\`, "").Replace(raw))}
	}
	if result := prop.ForAll(finds(simple), disguises()).Check(seed.Parameters(t, 2000)); result.Passed() {
		t.Error("removing two kinds of quotes only passed")
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range append(hostile, `rm -rf /`, `x=1 "r"m $'\x41' $(a <(b)) | c`, "cat <<EOF\n$(a)\nEOF", "if a; then b; elif c; then d; fi", `a[1]=(b)`,
		`sudo -u a env A="$b" nice -n 1 bash -oc x "$y"`, `xargs -I {} {} -`, `env -`, `command -v -- $x`, `eval a $b`) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		forms, err := Read(raw)
		if err != nil {
			if forms.Raw != "" || forms.Commands != nil {
				t.Fatalf("forms beside the error %v", err)
			}
			return
		}
		if again := Collapse(forms.Collapsed); again != forms.Collapsed {
			t.Fatalf("collapsing twice: %q, %q", forms.Collapsed, again)
		}
		if again := Collapse(stripQuotes(forms.Unquoted, true)); !strings.Contains(raw, "$") && again != forms.Unquoted {
			t.Fatalf("removing quotes twice: %q, %q", forms.Unquoted, again)
		}
		for _, form := range forms.All() {
			if len(form) > 4*len(raw)+16 {
				t.Fatalf("form of %d bytes from %d", len(form), len(raw))
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(`cd /srv/app && git commit -m "a message" | tee -a log.txt`); err != nil {
			b.Fatal(err)
		}
	}
}
