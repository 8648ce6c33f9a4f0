package command

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRunners tells commands that name what runs from those that leave it to an expansion, behind every runner.
func TestRunners(t *testing.T) {
	leads := []string{"bash -c", "ksh -ec", "sh --", "/usr/bin/env", `"sudo"`, "sudo nohup", "command -p", "env -i A=b", "exec env -u A nice -n 5", "builtin eval"}
	for name := range runners {
		leads = append(leads, "\\"+name) // quoted, since the parser takes an unquoted time for the word of bash
	}
	var tests []refusal
	for _, name := range leads {
		for _, word := range []string{"$x", `"$x"`, "${x}", "$(a)", "`a`", `"$(a)"`, "{rm,-rf}", "r?", "r*", "[r]m", "<(a)", "r$x", "$((1))", "@(rm)"} {
			tests = append(tests, refusal{name + " " + word + " -rf", ErrDynamic})
		}
		for _, word := range []string{"ls", "'ls'", `"ls"`, "'$x'", `\$x`, "$'ls'"} {
			tests = append(tests, refusal{name + " " + word + " -l", nil})
		}
		tests = append(tests, refusal{name, nil})
	}
	checkRefusals(t, tests)
}

// TestRunnersOptions goes by what stands between a runner and the command that it runs.
func TestRunnersOptions(t *testing.T) {
	checkRefusals(t, []refusal{
		{`nice -n 5 $x`, ErrDynamic},
		{`nice -n5 $x`, ErrDynamic},
		{`nice --adjustment 5 $x`, ErrDynamic},
		{`nice --adj 5 $x`, ErrDynamic},
		{`nice --adjustment=5 $x`, ErrDynamic},
		{`nice -n $n ls`, ErrDynamic},
		{`nice -n$n ls`, ErrDynamic},
		{`nice -n 5 ls $x`, nil},
		{`nice -n`, nil},
		{`sudo -u root -E $x`, ErrDynamic},
		{`sudo -Eu root $x`, ErrDynamic},
		{`sudo -uroot ls $x`, nil},
		{`sudo -u root A=b -n $x`, ErrDynamic},
		{`sudo -- $x`, ErrDynamic},
		{`env - A=b $x`, ErrDynamic},
		{`env A=b -- ls $x`, nil},
		{`env -S "$x"`, ErrDynamic},
		{`env -S"$x"`, ErrDynamic},
		{`env --split-string="$x"`, ErrDynamic},
		{`env -S 'ls -l'`, nil},
		{`env A=$b ls`, ErrDynamic},
		{`env A=$(a) ls`, ErrDynamic},
		{`env A={b,c} ls`, ErrDynamic},
		{`env A="$b" B="${c}" C="$(d)" D="$((1))" 'E=f' ls "$x"`, nil},
		{`env A="$b" $x`, ErrDynamic},
		{`env A="$@"`, ErrDynamic},
		{`env A="${@}"`, ErrDynamic},
		{`env A="${a[@]}"`, ErrDynamic},
		{`env A="${!a}"`, ErrDynamic},
		{`env A="${a:-$@}"`, ErrDynamic},
		{`env "$x=1" ls`, nil},
		{`env $x=1 ls`, ErrDynamic},
		{`env "$(echo a=b)" ls`, ErrDynamic},
		{`env @(A=b) ls`, ErrDynamic},
		{`xargs -I {} rm {}`, nil},
		{`xargs -I{} -P 4 rm {}`, nil},
		{`xargs -I {} {} -rf`, ErrDynamic},
		{`xargs -0 rm "$x"`, nil},
		{`xargs -n 1 $x`, ErrDynamic},
		{`xargs -0P4 $x`, ErrDynamic},
		{`xargs -n {1,2} ls`, ErrDynamic},
	})
}

// TestShellsAndBuiltins does the same for what reads its arguments in ways of its own.
func TestShellsAndBuiltins(t *testing.T) {
	checkRefusals(t, []refusal{
		{`exec -a name $x`, ErrDynamic},
		{`exec -cl ls`, nil},
		{`exec > "$log"`, nil},
		{`command -v $x`, nil},
		{`command -pV "$x"`, nil},
		{`command -$x v`, ErrDynamic},
		{`eval ls $x`, ErrDynamic},
		{`eval -- ls "$x"`, ErrDynamic},
		{`eval '$x'`, nil},
		{`sh -c 'ls "$1"' _ "$x"`, nil},
		{`sh -ec "ls $x"`, ErrDynamic},
		{`sh "$script"`, ErrDynamic},
		{`bash -x -c "$x"`, ErrDynamic},
		{`bash -c -x "$x"`, ErrDynamic},
		{`bash -o pipefail -c "$x"`, ErrDynamic},
		{`bash -oc pipefail "$x"`, ErrDynamic},
		{`bash -euo pipefail -c 'ls' "$x"`, nil},
		{`bash +O extglob +x -c "$x"`, ErrDynamic},
		{`bash --rcfile f --posix -c "$x"`, ErrDynamic},
		{`bash -o "$x" -c ls`, ErrDynamic},
		{`sudo env A=b nice -n 1 xargs -n 1 bash -c "$x"`, ErrDynamic},
		{`sudo env A=b nice -n 1 xargs -n 1 bash -c ls "$x"`, nil},
		{`time -p env $x`, ErrDynamic},
		{`command time -f %e $x`, ErrDynamic},
		{`if env $x; then a; fi`, ErrDynamic},
		{"cat <<E\n$(env $x)\nE", ErrDynamic},
		{`echo env $x`, nil},
		{`find . -exec $x`, nil},
		{`environment $x`, nil},
		{`env/ $x`, nil},
	})
}

// TestSpellingsBehindRunners holds the spellings that a list with rm -rf and sudo in it must not let pass.
func TestSpellingsBehindRunners(t *testing.T) {
	for _, raw := range []string{
		`command $x -rf`, `exec $x`, `env $x`, `eval "$x"`, `sh -c $x`, `nohup $x`, `xargs $x`, `s\udo $x`, `env s"ud"o ls`, `nice r\m  -rf /`,
	} {
		removes, err := blocks(t, "rm -rf", raw)
		elevates, _ := blocks(t, "sudo", raw)
		if !removes && !elevates && err == nil {
			t.Errorf("%q passes", raw)
		}
	}
}

// TestReasons shows how refusals read in a sentence.
func TestReasons(t *testing.T) {
	for raw, want := range map[string]string{
		`env $x`:                     `its command word is an expansion, or follows one: write out $x`,
		`nice -n "$n" ls`:            `its command word is an expansion, or follows one: write out "$n"`,
		"echo @(`a`)":                "an extended glob in it holds an expansion: write out @(`a`)",
		`echo "`:                     "the command does not parse as bash: 1:6: reached EOF without closing quote `\"`",
		"a\x00":                      "the command holds a NUL, which no shell takes",
		strings.Repeat("a", 1<<14):   "the command is longer than 8 KiB; put it into a script, or split it",
		strings.Repeat("(", 1<<8):    "the command nests deeper than 32 levels, or holds more than 2048 brackets; put it into a script",
		"$" + strings.Repeat("a", 9): "its command word is an expansion, or follows one: write out $aaaaaaaaa",
	} {
		if _, err := Read(raw); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", raw, err, want)
		}
	}
}

// TestRunnersCanary takes the table of runners away and expects the test's spellings to pass, so that it is the table
// that stops them.
func TestRunnersCanary(t *testing.T) {
	known := runners
	defer func() { runners = known }()
	runners = nil
	for _, raw := range []string{`env $x`, `eval "$x"`, `sh -c $x`} {
		if _, err := Read(raw); errors.Is(err, ErrDynamic) {
			t.Errorf("%q is refused without the table", raw)
		}
	}
}

// TestRunnersAreDocumented holds the package comment to name every runner.
func TestRunnersAreDocumented(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(source), "no option after\n")
	list, _, _ = strings.Cut(list, "They nest")
	for name := range runners {
		if !slices.Contains(strings.Fields(strings.ReplaceAll(list, ".", " ")), name) {
			t.Errorf("doc.go does not name %s", name)
		}
	}
}
