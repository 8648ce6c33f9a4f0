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
	leads := []string{"bash -c", "ksh -ec", "sh --", "/usr/bin/env", `"sudo"`, "sudo nohup", "command -p", "env -i A=b", "exec env -u A nice -n 5", "builtin eval", "ENV",
		"su -c", "su ann -c", "su - ann --command", "script -qc", "script f -c", "flock f -c", "find . -exec", "find . -ok", "jobs -x", "time -p --", "busybox sh -c", "xargs -0 timeout -k 1 5"}
	for name, r := range runners {
		if r.text != "" && r.reads {
			continue // options alone name the command of su and script
		}
		lead := "\\" + name // quoted, since the parser takes an unquoted time for the word of bash
		leads = append(leads, lead+strings.Repeat(" 1", r.operands))
	}
	var tests []refusal
	for _, name := range leads {
		for _, word := range []string{"$x", `"$x"`, "${x}", "$(a)", "`a`", `"$(a)"`, "{rm,-rf}", "r?", "r*", "[r]m", "<(a)", "r$x", "$((1))", "@(rm)"} {
			if name != "time -p --" {
				tests = append(tests, refusal{name + " " + word + " -rf", ErrDynamic})
			} else {
				tests = append(tests, refusal{name + " " + word + " -rf", ErrBare})
			}
		}
		tests = append(tests, refusal{name + " ls -l", nil})
		if name != "time -p --" {
			tests = append(tests, refusal{name + " 'ls' -l", nil}, refusal{name + ` "ls" -l`, nil}, refusal{name + " $'ls' -l", nil})
		}
	}
	checkRefusals(t, tests)
}

// TestTextsBehindRunners tells runners that take the text of a command from those that take words.
func TestTextsBehindRunners(t *testing.T) {
	for _, lead := range []string{"bash -c", "sudo sh -ec", "eval", "builtin eval", "su -c", "script -qc", "flock f -c", "watch", "ssh host", "parallel", "env -S", "trap", "zsh -c", "ksh -c"} {
		checkRefusals(t, []refusal{{lead + ` '$x' y`, ErrDynamic}, {lead + ` \$x y`, ErrDynamic}, {lead + ` "ls \"\$x\"" y`, nil}, {lead + ` "ls $x" y`, map[bool]error{true: ErrText, false: ErrDynamic}[lead == "trap"]}})
	}
	checkRefusals(t, []refusal{
		{`fish -c '$x'`, ErrDynamic}, {`fish -c 'ls "x"'`, ErrSyntax}, {`csh -c 'ls -l | wc'`, nil}, {`csh <<<'(ls)'`, ErrSyntax}, {`fish f.fish "$x"`, nil},
		{`sh -c 'ls &>f $x'`, ErrSyntax}, {`bash -c 'ls &>f $x'`, nil}, {`sh -c "bash -c 'ls &>f \$x'"`, nil}, {`sh -c 'cat <(ls)'`, ErrSyntax}, {`sh -c '[ -f x ] && ls'`, nil}, {`dash -c "eval 'ls &>f \$x'"`, ErrSyntax},
		{"sh <<'E'\nls &>f $x\nE", ErrSyntax}, {`sh -c "echo $'\\'' '; \$x #'"`, ErrDynamic}, {"zsh -c 'ls *.go'", nil},
	})
	for _, lead := range []string{"nice", "env", "timeout 1", "xargs", "setsid", "find . -exec"} {
		checkRefusals(t, []refusal{{lead + ` '$x' y`, nil}, {lead + ` \$x y`, nil}})
	}
}

// TestShellsThatRead tells shells that read their input from those that are given a command.
func TestShellsThatRead(t *testing.T) {
	for name, r := range runners {
		if r.shell {
			checkRefusals(t, []refusal{{name, ErrInput}, {"cat x |" + name, ErrInput}, {name + " < f", ErrInput}, {name + " -s x", ErrInput}, {name + " /dev/stdin", ErrInput},
				{name + " <<<ls", nil}, {name + " <<<$x", ErrText}, {name + " <<<'$x'", ErrDynamic}, {name + " 3<<<ls", ErrInput}, {name + " <<<ls <f", ErrInput}, {name + " --version", nil}, {name + " f.sh", nil}})
		}
	}
	checkRefusals(t, []refusal{
		{"sudo -s", ErrInput}, {"sudo -i -u ann", ErrInput}, {"sudo -s ls", nil}, {"sudo -v", nil}, {"su", ErrInput}, {"su ann", ErrInput}, {"ssh host", ErrInput}, {"ssh -N host", nil}, {"chroot /x", ErrInput},
		{"script f", ErrInput}, {"parallel", ErrInput}, {"doas -s", ErrInput}, {"echo x | xargs sh", ErrText}, {"xargs env", ErrText}, {"xargs sh -c", ErrText}, {"xargs -I% sh -c 'x %'", ErrText},
		{"find . -exec sh -c 'x {}' \\;", ErrText}, {"xargs", nil}, {"xargs ls", nil}, {`timeout "$x" 1 ls`, ErrDynamic}, {`ssh "$x" ls`, ErrDynamic}, {`ssh "u@$x" ls`, nil},
		{`ssh -o ProxyCommand='$x' host ls`, ErrDynamic}, {`find $x -name y`, ErrDynamic}, {`find "$x" y z \;`, ErrDynamic}, {`find "$x" -exec ls \;`, nil}, {`find src/*.go {a,b}`, nil},
	})
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
		{`env "$x=1" ls`, ErrName},
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
		{`eval '$x'`, ErrDynamic},
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
		{`find . -exec $x`, ErrDynamic},
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
	for _, raw := range []string{`env $x`, `sh -c $x`} {
		if _, err := Read(raw); errors.Is(err, ErrDynamic) {
			t.Errorf("%q is refused without the table", raw)
		}
	}
}

// TestRunnersAreDocumented holds the package comment to name every runner, and no word that is none.
func TestRunnersAreDocumented(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(source), "no option or operand after\n")
	list, _, _ = strings.Cut(list, "after find")
	named := strings.Fields(strings.NewReplacer(".", " ", "//", " ").Replace(list))
	for name := range runners {
		if !slices.Contains(named, name) {
			t.Errorf("doc.go does not name %s", name)
		}
	}
	for _, name := range named {
		if _, ok := runners[name]; !ok {
			t.Errorf("doc.go names %s, which is not in the table", name)
		}
	}
}
