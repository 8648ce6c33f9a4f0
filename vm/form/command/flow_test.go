package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEvaluatedValues tells values that the text writes out from those that only the shell knows.
func TestEvaluatedValues(t *testing.T) {
	contexts := []string{`((n))`, `echo $((n + 1))`, `[[ n -gt 3 ]]`, `[[ $n -gt 3 ]]`, `echo ${a[n]}`, `echo ${a:n}`, `a[n]=1`, `a=([n]=1)`, `let n`, `let m=n+1`, `for ((i=n; i<3; i++)); do a; done`,
		`echo ${!n}`, `test -v "$n"`, `[ $n -gt 3 ]`, `declare -i m=$n`, `m=n; ((m))`, `unset "$n"`, `RANDOM=$n`, `f() { echo $(($1)); }; f "$n"`, `bash -c 'echo $(($1))' _ "$n"`, `echo >&$n`, `set -- $n; ((x = $1))`,
		`eval '((n))'`, `n=$n; ((n))`, `o=${p:-$n}; ((o))`, `[[ -v $n ]]`}
	var tests []refusal
	for _, context := range contexts {
		for _, assignment := range []string{`n=3`, `n="4"`, `n=$((1+2))`, `n=$#`, `n=${#a}`, `n=$(wc -l < f)`, `n=$(ls | wc -l)`, `n=$(id -u)`, `n=$(grep -c x f)`, `n=$m`, `n=1; n+=2`, `true`, `export n=3`, `((n = 3))`} {
			tests = append(tests, refusal{assignment + "; " + context, nil})
		}
		for _, assignment := range []string{`n='a[$'`, `n=$(a)`, "n=`a`", `read n`, `read -r a n <f`, `mapfile n`, `printf -v n x`, `for n in $(a); do :; done`, `export n=$(a)`, `n=1 n+='$'`, `m=$(a) n=$m`, `: ${n:=$(a)}`,
			`n=$_`, `env n="$(a)" sh -c ls`, `wc() { a; }; n=$(wc -l)`, `n=(1 $(a))`, `n[2]=$(a)`, `getopts a: n`, `select n in $(a); do :; done`, `eval 'n=$(a)'`} {
			tests = append(tests, refusal{assignment + "; " + context, errIndirect})
		}
	}
	checkRefusals(t, tests)
}

// TestNames tells subscripts that are texts from those that are evaluated, and names that are known from others.
func TestNames(t *testing.T) {
	checkRefusals(t, []refusal{
		{`declare -A m; read k; m[$k]=1; echo "${m[$k]}"`, nil},
		{`read k; m[$k]=1`, errIndirect},
		{`f() { declare -A m; }; read k; m[$k]=1`, errIndirect},
		{`declare -A m; f() { local -A m; }; read k; m[$k]=1`, errIndirect},
		{`declare -A m & read k; m[$k]=1`, errIndirect},
		{`m=(); declare -A m; read k; m[$k]=1`, errIndirect},
		{`declare -A m; unset m; read k; m[$k]=1`, errIndirect},
		{`declare -A m; declare -n r=m; read k; m[$k]=1`, errIndirect},
		{`export "$x=1"`, errName}, {`declare $x`, errName}, {`export A="$x"`, nil}, {`read "$x"`, errName}, {`printf -v "$x" y`, errName}, {`read -p "$x" y`, nil}, {`read -p "$x" "$y"`, errName},
		{`command export "A=$x"`, nil}, {`builtin declare "$x"`, errName}, {`local -n r=$1`, errName}, {`env "BASH_FUNC_x%%=() { a; }" ls`, errName},
		{`BASH_ALIASES[x]=y`, errName}, {`BASH_CMDS=(y)`, errName}, {`read PS4`, errName}, {`for PS4 in x; do :; done`, errName}, {`: ${PS4:=x}`, errName}, {`declare -n r=PS4`, errName}, {`env SHELLOPTS=x ls`, errName},
		{`declare -a a='(ls)'`, errText}, {`declare a=(1 "$x")`, nil}, {`read y; declare -a a="$y"`, errIndirect}, {`read y; a=(1); local a="$y"`, errIndirect}, {`read y; declare a="$y"`, nil}, {`env "A=(x)" ls`, nil},
		{"echo ${A#$>>(a)}", errGlob}, {`echo "<(a)" 'b>(c)'`, nil}, {`trap -- '-a; $x' EXIT`, errDynamic}, {`xargs -dI env`, errText}, {`xargs -I% timeout % 5 a`, errDynamic}, {`xargs -ti% timeout % 5 a`, errDynamic}, {`xargs -i sh -c 'a {}'`, errText}, {`xargs -I% find . -exec % \;`, errDynamic}, {`xargs -Ix -I% sh -c 'a %'`, errText},
		{`PS4='+ '`, nil}, {`PS4=$x`, errText}, {`PS4='\044(a)'`, errText}, {`PS4+=x`, errText}, {`PS4='$($x)'`, errDynamic}, {`PROMPT_COMMAND='$x'`, errDynamic}, {`BASH_ENV=/dev/stdin bash -c ls`, errInput},
		{`ENV='$x'`, nil}, {`ENV='$x' sh -c ls`, errDynamic}, {`ENV=$x sh -c ls`, errText}, {`PS1='\u$ '`, nil}, {`echo ${x@P}`, errText}, {`echo ${x@Q}`, nil},
		{`builtin declare -n r=PS4`, errName}, {`builtin declare -$x y`, errName}, {`BASH_CMDS=`, errName}, {`y=${!x}; ((y))`, errIndirect}, {`bind -x "\"a\":${!x}"`, errText}, {`command declare -n r=x`, nil}, {`command declare -n r=$(<f)`, errName}, {`builtin local -n r="$x"`, errName}, {`env declare -n "r=a$x"`, errName}, {`read OPTIND`, errIndirect}, {`a=([1]=)`, nil}, {`: ${x:=}`, nil},
		{`for x; do ((x)); done`, errIndirect}, {`for x; do ((y)); done`, nil}, {`x=@(a); ((x))`, errIndirect}, {`y=${x@Q}; ((y))`, errIndirect},
		{`x=1; y=${x/a/$(z)}; ((y))`, errIndirect}, {`x=1; y=${x/a/b}; ((y))`, nil}, {`y=$0; ((y))`, errIndirect},
	})
}

// TestEvaluatedTexts reads what the shell evaluates as it would.
func TestEvaluatedTexts(t *testing.T) {
	for _, raw := range []string{`eval @`, `bash -c @`, `trap @ EXIT`, `trap -- @ 0 1`, `alias x=@`, `env -S @`, `mapfile -C @ a`, `compgen -C @`, `complete -C @ x`, `bind -x '"a":'@`, `PS4=@`, `BASH_ENV=@ a`,
		`bash <<<@`, `. /dev/stdin <<<@`, `echo 'a[$('@')]'`, "echo 'a`'@'`'", `x=$'$('@')'`, `flock f -c @`, `find . -exec sh -c @ \;`, `ssh h @`, `watch @`} {
		for text, want := range map[string]error{`'$x y'`: errDynamic, `'ls "-l"'`: nil, `'ls; l$x'`: errDynamic, `'bash'`: errInput} {
			checkRefusals(t, []refusal{{strings.ReplaceAll(raw, "@", text), want}})
		}
	}
	checkRefusals(t, []refusal{
		{`trap "$x" EXIT`, errText}, {`trap '' INT`, nil}, {`trap - INT`, nil}, {`trap INT`, nil}, {`trap -p`, nil}, {`alias x="$y"`, errText}, {`alias if=x`, errText}, {`alias x='#'`, errText}, {`alias x='ls;'`, errText}, {`alias x='sudo '`, errText},
		{`alias x=A=1`, errText}, {`mapfile -C eval a`, errText}, {`. <(a)`, errInput}, {`. "$x"`, errInput}, {`. "$x/a.sh"`, nil}, {`. $x/a.sh`, errInput}, {`. "$x/stdin"`, errInput}, {`. /dev/fd/3 3<<<ls`, errInput}, {`source f`, nil}, {`. -- "$x"`, errInput}, {`. -- f`, nil},
		{"x '$(a)\nMVDAN_CC_SH_SYNTAX_EOF\n$($x)'", errSyntax},
		{`eval "# x"`, nil}, {`fc -s`, errRewrites}, {`fc -l`, nil}, {`fc -ls`, errRewrites}, {`fc -l -s`, errRewrites}, {`fc -l s`, nil}, {`fc l`, errRewrites}, {`set -H`, errRewrites}, {`set -o histexpand`, errRewrites}, {`set -euo pipefail`, nil}, {`set -k`, errRewrites}, {`bash -kc ls`, errRewrites}, {`bash -o keyword -c ls`, errRewrites}, {`shopt -so keyword`, errRewrites}, {`set "$x"`, errText}, {`set -- $x`, nil}, {`set a $x`, nil}, {`hash -p "$x" y`, errText}, {`env -S 'ls\tx'`, errText},
		{"ls # \\\nx", errComment}, {"a=()# x", errComment}, {"a=()\\\n# x", errSyntax}, {"a\\\n# x", nil}, {"x=a[1]b\\\n #y", nil}, {"a \\\n# x", nil}, {"echo \"$\\\n(a)\"", errSyntax}, {"echo '$('\"$x\"')'", errDynamic}, {`ls >&-$x`, errSyntax}, {"(\\\n(a))", errSyntax}, {"a &\\\n\\\n& b", errSyntax}, {"a && \\\n b |\\\n c", nil}, {"a (\\\nb", errSyntax}, {`ls 2>&-`, nil}, {`alias x='ls; 2>&1'`, errText}, {"ls # x\\y\nx", nil}, {`let a=1&&b`, errBare}, {`let "a=1"`, errBare}, {`let a=1 b++`, nil}, {`coproc $x`, errBare}, {`coproc a >f`, errBare}, {`coproc a b`, nil},
		{`time -- $x`, errBare}, {`time -- ls -l`, nil}, {`time -- sh`, errInput}, {`time -- if a`, errBare}, {`time ls "$x"`, nil}, {"echo \"`a \\`$x\\``\"", errDynamic}, {"echo `a \\\"b\\\"`", nil},
	})
}

// TestNestedTextsAreBounded reads texts within texts, as many as there may be.
func TestNestedTextsAreBounded(t *testing.T) {
	for _, raw := range []string{strings.Repeat("eval ", 1600) + "ls", strings.Repeat("bash <<'E'\n", 300) + strings.Repeat("E\n", 300), strings.Repeat("sudo ", 1600) + "ls",
		strings.Repeat(`$'\'`, 2000), strings.Repeat("'$(", 1000) + strings.Repeat(")'", 1000), strings.Repeat("a=$a;", 1000) + "((a))", strings.Repeat("((a", 10) + strings.Repeat(")", 20), "a=1;" + strings.Repeat("((a));", 1200),
		strings.Repeat("declare -A a;", 600), strings.Repeat("eval a;", 1000), strings.Repeat("'`a`' ", 1000), strings.Repeat(" x$", 2700), strings.Repeat("a0=$a1;", 1100) + "((a0))",
		strings.Repeat("sh -c 'x '; ", 680), strings.Repeat("'$(a)' ", 1100), strings.Repeat("x '`a`\\`'; ", 680), strings.Repeat("`\\`", 1000), strings.Repeat("f() { a; };", 700) + strings.Repeat("f $x;", 50) + "((1$1))",
		strings.Repeat("trap 'eval a' 0;", 500), "eval '" + strings.Repeat("$(a)", 500) + "'", "x '$(" + strings.Repeat("a;", 3000) + ")'", strings.Repeat(`\\`, 4000) + "$(", "'" + strings.Repeat(`\`, 6000) + "$(a)'", strings.Repeat("xargs -I% ", 800),
		strings.Repeat("find . -exec ", 600), strings.Repeat("$'\\x24' ", 1000), strings.Repeat("env A=1 ", 1000) + "ls", strings.Repeat("m[n]=1;", 1100), chain(700)} {
		start := time.Now()
		if _, err := Read(raw); errors.Is(err, errSyntax) {
			t.Logf("%.20q: %v", raw, err)
		}
		if took := time.Since(start); took > 500*time.Millisecond {
			t.Errorf("%d bytes of %.20q took %v", len(raw), raw, took)
		}
	}
}

// chain returns assignments each of which takes the value of the next, and an evaluation of the first.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d=$a%d;", i, i+1)
	}
	return b.String()[:strings.LastIndexByte(b.String()[:min(b.Len(), 8000)], ';')] + ";((a0))"
}
