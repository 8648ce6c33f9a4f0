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
			tests = append(tests, refusal{assignment + "; " + context, ErrIndirect})
		}
	}
	checkRefusals(t, tests)
}

// TestNames tells subscripts that are texts from those that are evaluated, and names that are known from others.
func TestNames(t *testing.T) {
	checkRefusals(t, []refusal{
		{`declare -A m; read k; m[$k]=1; echo "${m[$k]}"`, nil},
		{`read k; m[$k]=1`, ErrIndirect},
		{`f() { declare -A m; }; read k; m[$k]=1`, ErrIndirect},
		{`declare -A m; f() { local -A m; }; read k; m[$k]=1`, ErrIndirect},
		{`declare -A m & read k; m[$k]=1`, ErrIndirect},
		{`m=(); declare -A m; read k; m[$k]=1`, ErrIndirect},
		{`declare -A m; unset m; read k; m[$k]=1`, ErrIndirect},
		{`declare -A m; declare -n r=m; read k; m[$k]=1`, ErrIndirect},
		{`export "$x=1"`, ErrName}, {`declare $x`, ErrName}, {`export A="$x"`, nil}, {`read "$x"`, ErrName}, {`printf -v "$x" y`, ErrName}, {`read -p "$x" y`, nil}, {`read -p "$x" "$y"`, ErrName},
		{`command export "A=$x"`, nil}, {`builtin declare "$x"`, ErrName}, {`local -n r=$1`, ErrName}, {`env "BASH_FUNC_x%%=() { a; }" ls`, ErrName},
		{`BASH_ALIASES[x]=y`, ErrName}, {`BASH_CMDS=(y)`, ErrName}, {`read PS4`, ErrName}, {`for PS4 in x; do :; done`, ErrName}, {`: ${PS4:=x}`, ErrName}, {`declare -n r=PS4`, ErrName}, {`env SHELLOPTS=x ls`, ErrName},
		{`declare -a a='(ls)'`, ErrText}, {`declare a=(1 "$x")`, nil}, {`read y; declare -a a="$y"`, ErrIndirect}, {`read y; a=(1); local a="$y"`, ErrIndirect}, {`read y; declare a="$y"`, nil}, {`env "A=(x)" ls`, nil},
		{"echo ${A#$>>(a)}", ErrGlob}, {`echo "<(a)" 'b>(c)'`, nil}, {`trap -- '-a; $x' EXIT`, ErrDynamic}, {`xargs -dI env`, ErrText}, {`xargs -I% timeout % 5 a`, ErrDynamic}, {`xargs -I% find . -exec % \;`, ErrDynamic}, {`xargs -Ix -I% sh -c 'a %'`, ErrText},
		{`PS4='+ '`, nil}, {`PS4=$x`, ErrText}, {`PS4='\044(a)'`, ErrText}, {`PS4+=x`, ErrText}, {`PS4='$($x)'`, ErrDynamic}, {`PROMPT_COMMAND='$x'`, ErrDynamic}, {`BASH_ENV=/dev/stdin bash -c ls`, ErrInput},
		{`ENV='$x'`, nil}, {`ENV='$x' sh -c ls`, ErrDynamic}, {`ENV=$x sh -c ls`, ErrText}, {`PS1='\u$ '`, nil}, {`echo ${x@P}`, ErrText}, {`echo ${x@Q}`, nil},
	})
}

// TestEvaluatedTexts reads what the shell evaluates as it would.
func TestEvaluatedTexts(t *testing.T) {
	for _, raw := range []string{`eval @`, `bash -c @`, `trap @ EXIT`, `trap -- @ 0 1`, `alias x=@`, `env -S @`, `mapfile -C @ a`, `compgen -C @`, `complete -C @ x`, `bind -x '"a":'@`, `PS4=@`, `BASH_ENV=@ a`,
		`bash <<<@`, `. /dev/stdin <<<@`, `echo 'a[$('@')]'`, "echo 'a`'@'`'", `x=$'$('@')'`, `flock f -c @`, `find . -exec sh -c @ \;`, `ssh h @`, `watch @`} {
		for text, want := range map[string]error{`'$x y'`: ErrDynamic, `'ls "-l"'`: nil, `'ls; l$x'`: ErrDynamic, `'bash'`: ErrInput} {
			checkRefusals(t, []refusal{{strings.ReplaceAll(raw, "@", text), want}})
		}
	}
	checkRefusals(t, []refusal{
		{`trap "$x" EXIT`, ErrText}, {`trap '' INT`, nil}, {`trap - INT`, nil}, {`trap INT`, nil}, {`trap -p`, nil}, {`alias x="$y"`, ErrText}, {`alias if=x`, ErrText}, {`alias x='#'`, ErrText}, {`alias x='ls;'`, ErrText}, {`alias x='sudo '`, ErrText},
		{`alias x=A=1`, ErrText}, {`mapfile -C eval a`, ErrText}, {`. <(a)`, ErrInput}, {`. "$x"`, ErrInput}, {`. "$x/a.sh"`, nil}, {`. $x/a.sh`, ErrInput}, {`. "$x/stdin"`, ErrInput}, {`. /dev/fd/3 3<<<ls`, ErrInput}, {`source f`, nil},
		{"x '$(a)\nMVDAN_CC_SH_SYNTAX_EOF\n$($x)'", ErrSyntax},
		{`eval "# x"`, nil}, {`fc -s`, ErrRewrites}, {`fc -l`, nil}, {`fc -ls`, ErrRewrites}, {`fc -l -s`, ErrRewrites}, {`set -H`, ErrRewrites}, {`set -o histexpand`, ErrRewrites}, {`set -euo pipefail`, nil}, {`set -k`, ErrRewrites}, {`bash -kc ls`, ErrRewrites}, {`bash -o keyword -c ls`, ErrRewrites}, {`shopt -so keyword`, ErrRewrites}, {`set "$x"`, ErrText}, {`set -- $x`, nil}, {`set a $x`, nil}, {`hash -p "$x" y`, ErrText}, {`env -S 'ls\tx'`, ErrText},
		{"ls # \\\nx", ErrComment}, {"a=()# x", ErrComment}, {"a=()\\\n# x", ErrSyntax}, {"a\\\n# x", nil}, {"x=a[1]b\\\n #y", nil}, {"a \\\n# x", nil}, {"echo \"$\\\n(a)\"", ErrSyntax}, {"echo '$('\"$x\"')'", ErrDynamic}, {`ls >&-$x`, ErrSyntax}, {"(\\\n(a))", ErrSyntax}, {"a &\\\n\\\n& b", ErrSyntax}, {"a && \\\n b |\\\n c", nil}, {"a (\\\nb", ErrSyntax}, {`ls 2>&-`, nil}, {`alias x='ls; 2>&1'`, ErrText}, {"ls # x\\y\nx", nil}, {`let a=1&&b`, ErrBare}, {`let "a=1"`, ErrBare}, {`let a=1 b++`, nil}, {`coproc $x`, ErrBare}, {`coproc a >f`, ErrBare}, {`coproc a b`, nil},
		{`time -- $x`, ErrBare}, {`time -- ls -l`, nil}, {`time -- sh`, ErrInput}, {`time -- if a`, ErrBare}, {`time ls "$x"`, nil}, {"echo \"`a \\`$x\\``\"", ErrDynamic}, {"echo `a \\\"b\\\"`", nil},
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
		if _, err := Read(raw); errors.Is(err, ErrSyntax) {
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
