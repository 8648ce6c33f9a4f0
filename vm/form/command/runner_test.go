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
				tests = append(tests, refusal{name + " " + word + " -rf", errDynamic})
			} else {
				tests = append(tests, refusal{name + " " + word + " -rf", errBare})
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
		checkRefusals(t, []refusal{{lead + ` '$x' y`, errDynamic}, {lead + ` \$x y`, errDynamic}, {lead + ` "ls \"\$x\"" y`, nil}, {lead + ` "ls $x" y`, map[bool]error{true: errText, false: errDynamic}[lead == "trap"]}})
	}
	checkRefusals(t, []refusal{
		{`fish -c '$x'`, errDynamic}, {`fish -c 'ls "x"'`, errSyntax}, {`csh -c 'ls -l | wc'`, nil}, {`csh <<<'(ls)'`, errSyntax}, {`fish f.fish "$x"`, nil},
		{`sh -c 'ls &>f $x'`, errSyntax}, {`bash -c 'ls &>f $x'`, nil}, {`sh -c "bash -c 'ls &>f \$x'"`, nil}, {`sh -c 'cat <(ls)'`, errSyntax}, {`sh -c '[ -f x ] && ls'`, nil}, {`dash -c "eval 'ls &>f \$x'"`, errSyntax},
		{"sh <<'E'\nls &>f $x\nE", errSyntax}, {`sh -c "echo $'\\'' '; \$x #'"`, errDynamic}, {"zsh -c 'ls *.go'", nil},
	})
	for _, lead := range []string{"nice", "env", "timeout 1", "xargs", "setsid", "find . -exec"} {
		checkRefusals(t, []refusal{{lead + ` '$x' y`, nil}, {lead + ` \$x y`, nil}})
	}
}

// TestShellsThatRead tells shells that read their input from those that are given a command.
func TestShellsThatRead(t *testing.T) {
	for name, r := range runners {
		if r.shell {
			checkRefusals(t, []refusal{{name, errInput}, {"cat x |" + name, errInput}, {name + " < f", errInput}, {name + " -s x", errInput}, {name + " /dev/stdin", errInput},
				{name + " <<<ls", nil}, {name + " <<<$x", errText}, {name + " <<<'$x'", errDynamic}, {name + " 3<<<ls", errInput}, {name + " <<<ls <f", errInput}, {name + " --version", nil}, {name + " f.sh", nil}})
		}
	}
	checkRefusals(t, []refusal{
		{"sudo -s", errInput}, {"sudo -i -u ann", errInput}, {"sudo -s ls", nil}, {"sudo -v", nil}, {"su", errInput}, {"su ann", errInput}, {"ssh host", errInput}, {"ssh -N host", nil}, {"chroot /x", errInput},
		{"script f", errInput}, {"parallel", errInput}, {"doas -s", errInput}, {"echo x | xargs sh", errText}, {"xargs env", errText}, {"xargs sh -c", errText}, {"xargs -I% sh -c 'x %'", errText},
		{"find . -exec sh -c 'x {}' \\;", errText}, {"xargs", nil}, {"xargs ls", nil}, {`timeout "$x" 1 ls`, errDynamic}, {`ssh "$x" ls`, errDynamic}, {`ssh "u@$x" ls`, nil},
		{`ssh -o ProxyCommand='$x' host ls`, errDynamic}, {`find $x -name y`, errDynamic}, {`find "$x" y z \;`, errDynamic}, {`find "$x" -exec ls \;`, nil}, {`find src/*.go {a,b}`, nil},
		{`find ./"$x" -exec ls \; y`, nil}, {`find ./"$x" y \;`, nil}, {`xargs --replace sh -c {}`, errDynamic}, {`xargs --replace=% sh -c %`, errText}, {`xargs --replace=% rm {}`, nil},
		{`xargs watch ls`, errText}, {`xargs -I% watch ls %`, errText}, {`watch ""`, errText}, {`parallel ls ::: $x`, nil}, {`parallel ls $x`, errDynamic},
	})
}

// TestRunnersOptions goes by the text between a runner and the command that it runs.
func TestRunnersOptions(t *testing.T) {
	checkRefusals(t, []refusal{
		{`nice -n 5 $x`, errDynamic},
		{`nice -n5 $x`, errDynamic},
		{`nice --adjustment 5 $x`, errDynamic},
		{`nice --adj 5 $x`, errDynamic},
		{`nice --adjustment=5 $x`, errDynamic},
		{`nice -n $n ls`, errDynamic},
		{`nice -n$n ls`, errDynamic},
		{`nice -n 5 ls $x`, nil},
		{`nice -n`, nil},
		{`sudo -u root -E $x`, errDynamic},
		{`sudo -Eu root $x`, errDynamic},
		{`sudo -uroot ls $x`, nil},
		{`sudo -u root A=b -n $x`, errDynamic},
		{`sudo -- $x`, errDynamic},
		{`env - A=b $x`, errDynamic},
		{`env A=b -- ls $x`, nil},
		{`env -S "$x"`, errDynamic},
		{`env -S"$x"`, errDynamic},
		{`env --split-string="$x"`, errDynamic},
		{`env -S 'ls -l'`, nil},
		{`env A=$b ls`, errDynamic},
		{`env A=$(a) ls`, errDynamic},
		{`env A={b,c} ls`, errDynamic},
		{`env A="$b" B="${c}" C="$(d)" D="$((1))" 'E=f' ls "$x"`, nil},
		{`env A="$b" $x`, errDynamic},
		{`env A="$@"`, errDynamic},
		{`env A="${@}"`, errDynamic},
		{`env A="${a[@]}"`, errDynamic},
		{`env A="${!a}"`, errDynamic},
		{`env A="${a:-$@}"`, errDynamic},
		{`env "$x=1" ls`, errName},
		{`env $x=1 ls`, errDynamic},
		{`env "$(echo a=b)" ls`, errDynamic},
		{`env @(A=b) ls`, errDynamic},
		{`xargs -I {} rm {}`, nil},
		{`xargs -I{} -P 4 rm {}`, nil},
		{`xargs -I {} {} -rf`, errDynamic},
		{`xargs -0 rm "$x"`, nil},
		{`xargs -n 1 $x`, errDynamic},
		{`xargs -0P4 $x`, errDynamic},
		{`xargs -n {1,2} ls`, errDynamic},
	})
}

// TestShellsAndBuiltins does the same for what reads its arguments in ways of its own.
func TestShellsAndBuiltins(t *testing.T) {
	checkRefusals(t, []refusal{
		{`exec -a name $x`, errDynamic},
		{`exec -cl ls`, nil},
		{`exec > "$log"`, nil},
		{`command -v $x`, nil},
		{`command -pV "$x"`, nil},
		{`command -$x v`, errDynamic},
		{`eval ls $x`, errDynamic},
		{`eval -- ls "$x"`, errDynamic},
		{`eval '$x'`, errDynamic},
		{`sh -c 'ls "$1"' _ "$x"`, nil},
		{`sh -ec "ls $x"`, errDynamic},
		{`sh "$script"`, errDynamic},
		{`bash -x -c "$x"`, errDynamic},
		{`bash -c -x "$x"`, errDynamic},
		{`bash -o pipefail -c "$x"`, errDynamic},
		{`bash -oc pipefail "$x"`, errDynamic},
		{`bash -euo pipefail -c 'ls' "$x"`, nil},
		{`bash +O extglob +x -c "$x"`, errDynamic},
		{`bash --rcfile f --posix -c "$x"`, errDynamic},
		{`bash -o "$x" -c ls`, errDynamic},
		{`sudo env A=b nice -n 1 xargs -n 1 bash -c "$x"`, errDynamic},
		{`sudo env A=b nice -n 1 xargs -n 1 bash -c ls "$x"`, nil},
		{`time -p env $x`, errDynamic},
		{`command time -f %e $x`, errDynamic},
		{`if env $x; then a; fi`, errDynamic},
		{"cat <<E\n$(env $x)\nE", errDynamic},
		{`echo env $x`, nil},
		{`find . -exec $x`, errDynamic},
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
		if _, err := Read(raw); errors.Is(err, errDynamic) {
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
