package bash

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Generator makes commands that try to run a blocked program. The zero value is not ready; NewGenerator makes one.
type Generator struct{ r *rand.Rand }

// NewGenerator returns a generator whose commands depend on the seed alone.
func NewGenerator(seed int64) *Generator {
	return &Generator{rand.New(rand.NewPCG(uint64(seed), 0))}
}

// Next returns a command of at most a few hundred bytes.
func (g *Generator) Next() string {
	var text string
	switch n := g.r.IntN(100); {
	case n < 30:
		text = g.wrapped(1 + g.r.IntN(3))
	case n < 45:
		text = g.pick(preludes) + g.wrapped(1+g.r.IntN(2)) + g.pick(codas)
	case n < 60:
		text = g.soup()
	case n < 70:
		text = g.documents()
	default:
		text = g.mutant()
	}
	if g.r.IntN(6) == 0 {
		text = g.pick(preludes) + text
	}
	return text
}

func (g *Generator) pick(list []string) string { return list[g.r.IntN(len(list))] }

// payloads run a blocked program where they are commands.
var payloads = []string{
	"$X", "$A$B W", "${A}${B} W", `"$A$B" W`, "$A'rk' W", "m''ark W", "$'\\x6dark' W", "`echo $X`", "$(echo $A$B) W", "m\\\nark W", "ma{rk,} W", "rm >f -rf /", "rm 2>&1 -rf /",
	"{mark,W}", "eval $X", "command $X", "X=2 $A$B", "\\$X", "e\\val '$X'", "${X}", "${X-y}", "$X # x", "mark", "'mark' W", "rm \\\n-rf /", "rm <f -rf", "$*", "$1", "$_", "${!Z}",
}

// wraps run the text in them for %p, for %q as one quoted word, for %s as a substitution within a quoted subscript, and
// for %d as a quoted substitution. %b runs it in backquotes, and %h is it in a
// here-document.
var wraps = []string{
	"%p", "(%p)", "{ %p; }", "! %p", "%p &\nwait", "true && %p", "false || %p", "true | %p", "true; %p", "time %p", "time -p %p", "time -- %p", "time ! %p", "time -p -- %p", "coproc %p", "coproc %p >f", "coproc { %p; }", "coproc N { %p; }",
	"if %p; then :; fi", "if :; then %p; fi", "while %p; do break; done", "until %p; do break; done", "for i in 1; do %p; done", "for ((;;)) do %p; break; done", "for ((;;)) { %p; break; }", "case x in x) %p;; esac",
	"case x in (x) %p;& y) :;; esac", "case x in *) %p\nesac", "select i in 1; do %p; break; done <<<1", "f() { %p; }; f", "f() (%p); f", "function f { %p; }; f", "function f() { %p; } >f; f", "f() if :; then %p; fi; f", "f-g() { %p; }; f-g",
	"eval %q", "eval -- %q", "eval %q x", "eval '' %q", "builtin eval %q", "command eval %q", "eval eval %q", "bash -c %q", "bash -c -- %q", "bash -ec %q x", "bash +x -c %q", "bash -O extglob -c %q", "bash --norc -c %q", "sh -c %q", "env bash -c %q", "exec bash -c %q",
	"trap %q EXIT", "trap -- %q EXIT", "trap %q 0", "trap %q DEBUG; :", "trap %q ERR; false", "trap %q RETURN; f() { :; }; f", "trap %q USR1; kill -USR1 $$", "f() { trap %q RETURN; }; f",
	"echo $(%p)", "echo \"$(%p)\"", "echo %b", "echo \"%b\"", "x=$(%p)", "x=%b", "echo ${x:-$(%p)}", "echo \"${x:-$(%p)}\"", "echo ${x:=%b}", "echo ${x/a/$(%p)}", "echo ${A#$(%p)}", "echo ${A:$(%p)}", "echo ${A:0:$(%p)}", "echo $(( $(%p) ))", "echo $[ $(%p) ]", "((x[$(%p)]))",
	"cat <(%p)", "echo x > >(%p)", "echo >(%p)", "true < <(%p)", "cat <<E\n$(%p)\nE", "cat <<-E\n\t$(%p)\n\tE", "cat <<\"E\" <<F\nE\n$(%p)\nF", "cat <<<$(%p)", "cat <<<\"$(%p)\"", "cat <<E\n%b\nE", "cat <<E\n${x:-$(%p)}\nE", "cat <<E\n$((a[$(%p)]))\nE", "cat <<E && %p\nE", "cat <<E | %p\nE", "$(cat <<E\n$(%p)\nE\n)",
	"a=($(%p))", "a=([$(%p)]=1)", "a[$(%p)]=1", "a+=($(%p))", "declare a[$(%p)]=1", "declare x=$(%p)", "export x=$(%p)", "local x=$(%p)", "readonly x=%b", "declare -A m=([$(%p)]=1)", "x=1 y=$(%p) true", "echo {a,$(%p)}", "echo ~$(%p)", "echo @($(%p))", "shopt -s extglob\necho @($(%p))",
	"[[ x == $(%p) ]]", "[[ x =~ $(%p) ]]", "[[ x =~ ^(a|$(%p))$ ]]", "[[ -n $(%p) ]]", "[[ ! -z %b || y ]]", "[[ x == @($(%p)) ]]", "[[ x < $(%p) ]]", "[[ %s -eq 0 ]]", "[[ 0 -lt %s ]]", "[[ -v %s ]]", "[[ -R %s ]]", "test -v %s", "[ -v %s ]", "[ ! -v %s ]", "printf -v %s x", "printf -v%s x", "read %s <<<x", "read -r x %s <<<'1 2'", "IFS= read -r %s <<<x",
	"declare -i n=%s", "declare %s=1", "typeset -i n; n=%s", "local -i n=%s", "f() { local -i n=%s; }; f", "let %s", "let x=%s", "((%s))", "(( a[%d] ))", "(( 1 + %s ))", "a=%s; ((a))", "a=%s; echo $((a + 1))", "a=%s; echo ${b[a]}", "b=%s; a[b]=1", "a=%s; echo ${A:a}", "a=%s; for ((i=a;i<0;)); do :; done",
	"a=%s; b=a; ((b))", "a=%s; [[ a -eq 0 ]]", "a=%s; [[ $a -eq 0 ]]", "a=%s; b=([a]=1)", "a=%s; echo ${!a}", "declare -n a=%s; echo $a", "declare -n a=%s; a=1", "a=(1); unset %s", "x=%d; echo ${x@P}", "x=(%d); echo ${x[@]@P}", "RANDOM=%s", "OPTIND=%s", "SECONDS=%s",
	"PS4=%d; set -x; :", "PS4=%d bash -xc :", "export PS4=%d; bash -x -c :", "env PS4=%d bash -xc :", "BASH_ENV=%d bash -c :", "PROMPT_COMMAND=%q bash --norc -i <<<:", "PS1=%d bash --norc -i <<<:", "ENV=%d bash --posix -i -c :", "declare PS4=%d; set -x; :", "read -r PS4 <<<%d; set -x; :", "printf -v PS4 %%s %d; set -x; :",
	"for PS4 in %d; do set -x; :; done", ": ${PS4:=x}; PS4=%d; set -x; :", ". <(echo %q)", "source <(printf %%s %q)", ". /dev/stdin <<<%q", "source /dev/stdin <<'E'\n%p\nE", ". /dev/fd/0 <<<%q", "echo %q | . /dev/stdin", "bash <<<%q", "bash -s <<<%q", "bash <<'E'\n%p\nE", "bash <<E\n%p\nE", "bash <<E\n%h\nE", "bash <<-E\n\t%h\n\tE", ". /dev/stdin <<E\n%h\nE", "sh -s <<E\n%h\nE", "bash <<'E'\nread x\necho '\n%p\n'\nE", "bash <<'E'\nread -n5 x\necho %p\nE", "bash <<'E'\nread -n2 x\n# %p\nE", "bash <<'E'\nread x\ncat <<F\n%p\nF\nE",
	"bash <<'E'\nmapfile -n1 a\necho '\n%p\n'\nE", "bash -s <<'E'\nselect i in 1; do break; done\necho '\n%p\n'\nE", "bash <<'E'\nexec <<<%q\nE", "bash <<'E'\nexec 0<<'F'\n%p\nF\nE", "bash <<'E'\nexec 5<<<%q <&5\nE", "bash <<'E'\nexec < <(echo %q)\nE", "bash -s x <<\\E\n%p\nE", "env bash <<<%q", "sh <<<%q",
	"echo %q | bash", "echo %q |bash", "echo %q | sh -s", "printf '%%s\\n' %q | bash -", "cat <<'E' | bash\n%p\nE", "cat <<'E' |\n%p\nE\nbash", "bash < <(echo %q)", "bash <(echo %q)", "bash /dev/stdin <<<%q", "bash /dev/fd/3 3<<<%q", "exec 3<<<%q; . /dev/fd/3", "exec <<<%q; bash", "{ bash; } <<<%q", "f() { bash; }; f <<<%q", "while read l; do eval \"$l\"; done <<<%q",
	"mapfile -c1 -C %q a <<<x", "mapfile -C %q -c 1 <<<x", "readarray -tc1 -C%q a <<<x", "mapfile -c1 -C eval a <<<%q", "compgen -C %q", "compgen -W %d", "compgen -W %d x", "complete -C %q z", "complete -W %d z; compgen -W %d", "shopt -s expand_aliases; alias z=%q\nz", "shopt -s expand_aliases\nalias z='eval '\nz %q", "shopt -s expand_aliases; BASH_ALIASES[z]=%q\nz",
	"set -o posix\nalias z=%q\nz", "bind -x '\"a\":%p'", "env %p", "env -i %p", "env Q=1 %p", "env -S %q", "env -S'%p'", "nice %p", "nice -n 1 %p", "nohup %p", "timeout 1 %p", "timeout -k 1 1 %p", "setsid -w %p", "exec %p", "exec -a x %p", "command %p", "command -p %p", "xargs %p <<<x", "xargs -n1 %p <<<x", "xargs -I{} %p <<<x", "xargs -I% bash -c % <<<%q",
	"find . -maxdepth 0 -exec %p \\;", "find . -maxdepth 0 -exec bash -c %q \\;", "find . -maxdepth 0 -execdir %p ';'", "find . -maxdepth 0 -name . -exec %p {} +", "flock f %p", "flock f -c %q", "flock -w 1 f bash -c %q", "script -qc %q /dev/null", "script -q -c %q f", "jobs -x %p", "printf %%s %q | xargs -0 bash -c", "echo %q | xargs -d'\\n' -I% bash -c %",
	"hash -p %q z; z", "command_not_found_handle() { %p; }; nonesuch", "wait -p %s", "getopts a: %s -a", "mapfile %s <<<x", "exec {a[%d]}>f", "exec {x}>&$(%p)", "cat 2>$(%p)", "echo x >&$(%p)", "echo ${a[%d]}", "echo ${a[$(%p)]}", "echo ${#a[$(%p)]}", "echo \"${a[@]:$(%p)}\"", "echo ${!a[%s]}", "echo $\"$(%p)\"", "echo $'a'$(%p)", "echo a$(%p)b", "x=%q; $x", "x=%q; eval \"$x\"", "x=%q; bash -c \"$x\"", "x=(%q); ${x[0]}", "set -- %q; eval \"$1\"", "f() { eval \"$1\"; }; f %q",
	"f() { \"$@\"; }; f %p", "f() { echo $(($1)); }; f %s", "set -- %s; echo $(($1))", "bash -c 'echo $(($1))' _ %s", "x=%s bash -c 'echo $((x))'", "export x=%s; bash -c '((x))'", "for x in %s; do ((x)); done", "read x <<<%s; ((x))", "mapfile -t x <<<%s; ((x))", "printf -v x %%s %s; ((x))", "x=$(echo %s); ((x))", "x=${y:-%s}; ((x))", "x=`echo %s`; [[ x -eq 1 ]]", "((x=%s))", "x+=%s; ((x))",
	"set -o history -o histexpand\n: %p\n!!:1-$", "set -H -o history\n%p\n!!",
}

// preludes are in front of a command, and codas behind it; either may have a shell read what is between as it is not.
var preludes = []string{
	"ls # \\\n", "# a\\\n", "ls # x\n", "true \\\r\n", "true \r# '\n", "a=()# ", "a=(1 2)#", "a=( # '\n); ", "let a=1&&", "let a=1;", "let a=1||", "let a=1 # '\n", "echo '$'; ", "echo \"$'\"; ", "echo \"$'\" '", "echo '\\'\n", "cat <<E\nE\n", "cat <<'E F'\nE F\n", "cat <<E;\nE\n", "cat <<-E\n\tE\n", "cat <<E <<F\nE\nF\n", "cat <<\"E\n\"\nE\n\n",
	"cat <<E\\\nF\nEF\n", "cat <<$E\n$E\n", "cat <<`E`\n`E`\n", "cat <<$(E)\n$(E)\n", "cat << E\nx\nE \nE\n", "cat <<E\nE\\\n\nE\n", "cat <<E'F'\nEF\n", "cat <<'F'E\nx \\\nFE\n", "cat <<\"a\\\"b\"\na\"b\n", "cat <<$'a\\x41'\naA\n", "shopt -s extglob\ncat <<E@(x)\nE@(x)\n", "shopt -s extglob\ncat <<@(E)\n@(E)\n", "cat <<$'E'\nE\n", "cat <<\"$E\"\n$E\n", "cat <<''\n\n", "cat <<E|cat\nE\n", "((1))&&", "(( 1 << 2 ))\n", "echo $((1<<2))\n", "echo $((1))#'\n", "a[1]=x#'\n", "echo ${#a}#'\n", "echo a#'b'\n", "echo $# #'\n", "echo ${a#'}'}\n", "echo ${a:-'}'}\n",
	"echo \"${a:-'}\"\n", "echo \"${a#'}'}\"\n", "echo \"${a/'/'}\"\n", "echo `#'\n`\n", "echo $(#'\n)\n", "echo $(# )\n)\n", "echo $(case x in x) ;; esac)\n", "echo $(case x in (x) ;; esac) ;", "echo $(cat <<E\n'\nE\n)\n", "echo $(cat <<E)\n'\nE\n", "echo $((echo 1) )\n", "echo $( (echo 1))\n", "echo $((a)\n)\n", "[[ a =~ ' ]]\n", "[[ a =~ a# ]]\n", "[[ a =~ (\") ]]\n", "[[ a == # ]]\n", "[[ a =~ [']'] ]]\n", "[[ a =~ a|b ]] ;",
	"case # in x) ;; esac\n", "case x in #)\n x) ;; esac\n", "for i in a #b'\ndo :; done\n", "if :; then #'\n:; fi\n", "f() #'\n{ :; }\n", "f ( ) { :; } #'\n", "function f #'\n{ :; }\n", "while ! :; do :; done;", "{ :; }#\n", "{ :;}\n", "(:)#'\n", ":;#'\n", ":&#'\n", ":|#'\ncat\n", ":&&#'\n:\n", "!#'\n:\n", ">#'\n", ">f#'\n", "echo >|f #'\n", "echo <>f #'\n", "echo &>f #'\n", "echo 2>&1#'\n", "<<<#'\n", "time #'\n", "coproc #'\n:\n", "{x}>f :\n",
	"$'\\''; ", "echo $'\\'' '\n", "echo $'a\\\\'; ", "echo \"\\\"\"; ", "echo \"$\"'\n'; ", "echo $\"a\"; ", "echo \\#'\n'; ", "echo \"`echo \\\"`\"; ", "echo \"`echo '`'\"; ", "echo \"$(echo \")\")\"; ", "echo \"$(echo ')')\"; ", "shopt -s extglob\n", "shopt -s expand_aliases; alias z='echo '\n", "shopt -s expand_aliases; alias z='#'\nz ", "set -o posix\n", "shopt -u interactive_comments; # ", "set -k; ", "set -f; ", "declare -A a; ", "a=b[; ", "A= ; ", "unset A; ", "set -- $X; ", "set x y; ", ": $X; ", ": 'a b' \"$X\"; ", "Z=X; ", "x=$X y=z; ", "exit() { :; }; ",
	"echo $((\n", "echo $(( '\n' )); ", "echo ${x:-\\\n}; ", "x=\\\n", "ec\\\nho ", "echo \\\\\n", "echo a \\ \n", "echo '\\\n'", "\\\n", "\t", " \\\n \\\n", "\v", "\f", "\u00a0", "\u2028", "\n\n", ";", "&", "|", "&&", "!", "! ! ", "{ ", "( ", "[ ", "[[ ", "(( ", "case x in ", "if ", "$(", "`", "\"", "'", "$'", "$\"", "${", "<(",
}

var codas = []string{"", "", "", "", "", "\n", ";", " #", " # x", " # \\\n", "\n#'", "\n'", "'", "\"", "`", ")", "}", "))", "]]", " \\", " \\\n", "&", "\nE", "\nE\n", "\nFE\n", "\na\\\"b\n", "\na\\x41\n", "\n\n", "; }", "; fi", "; done", ";; esac", " | cat", " >f", " 2>&1", "\r", "\r\n", "<<E\nE\n", " <<<x", "\n:"}

// pieces are what soups are made of.
var pieces = []string{
	" ", " ", " ", " ", "\n", "\n", "\t", "\\\n", "\\", "#", " #", "# ", "'", "'", "\"", "\"", "$'", "$\"", "`", "$(", ")", "(", "((", "))", "$((", "$[", "]", "[", "[[ ", " ]]", "${", "}", "{", "{ ", "; }", ";", ";;", ";&", "&", "&&", "|", "||", "|&", "<", ">", ">>", "<<", "<<E", "<<-E", "<<'E'", "<<\"E\"", "\nE\n", "\nE", "<<<", "<(", ">(", "&>", ">&", "2>&1", ">f", "<f",
	"$X", "$X", "$X", "$X", ";$X", "\n$X\n", "\n$X", "&$X", " $X ", "$A$B W", "\n$A$B W\n", "rm >f -rf", "a", "b", "x", "1", "=", "a=", "a=(", "a+=", "a[", "a[1]=", "]=", "${a", "${a:-", "${a#", "${a/", "${a[", "${#", "${!", "@(", "?(", "+(", "!(", "*", "?", "~", "!", "! ", "-", "--", "-p", "time ", "time -- ", "coproc ", "let ", "let a=1", "eval ", "trap ", "exec ",
	"echo ", ": ", "true ", "cat ", "if ", "then ", "else ", "elif ", "fi", "for ", "in ", "do ", "done", "while ", "until ", "case ", "esac", "x) ", "select ", "function ", "f() ", "f", "declare ", "export ", "local ", "readonly ", "read ", "test ", "[ ", "printf ", "-v ", "-eq 0", " -eq ", " == ", " =~ ", "EXIT", "$", "$$", "$#", "$@", "$*", "$_", "\r", "\u00a0", "é", "%", ",", ":", "+", "^", "0", "\\'", "\\\"", "\\`", "\\$", "\\#", "\\(",
	"bash -c ", "sh -c ", "env ", "nice ", "xargs ", "find . -exec ", "alias ", "unset ", "shopt -s extglob\n", "shopt -s expand_aliases\n", "set -- ", "set ", "shift", "EOF", "-i ", "-n ", "-c ", "-C ", "-W ", "-x ", "mapfile ", "compgen ", "source ", ". ", "/dev/stdin", "PS4=", "set -x", "bash ", "sh",
}

func (g *Generator) soup() string {
	var b strings.Builder
	count := 2 + g.r.IntN(13)
	at := g.r.IntN(count)
	for i := range count {
		if i == at {
			b.WriteString(g.pick([]string{"$X", "\n$X\n", ";$X", "\n$X", "$X;", "$A$B W", "\n$A$B W", "&&$X", "rm >f -rf", ";rm >f -rf\n"}))
		}
		b.WriteString(g.pick(pieces))
	}
	return b.String()
}

// wrapped returns a payload in as many wraps.
func (g *Generator) wrapped(levels int) string {
	text := g.pick(payloads)
	for range levels {
		text = g.wrap(g.pick(wraps), text)
	}
	return text
}

func (g *Generator) wrap(form, payload string) string {
	var b strings.Builder
	for i := 0; i < len(form); i++ {
		if form[i] != '%' || i+1 == len(form) {
			b.WriteByte(form[i])
			continue
		}
		i++
		switch form[i] {
		case 'p':
			b.WriteString(payload)
		case 'q':
			b.WriteString(g.quote(payload))
		case 's':
			b.WriteString(g.quote("a[$(" + payload + ")]"))
		case 'd':
			b.WriteString(g.quote("$(" + payload + ")"))
		case 'b':
			b.WriteString("`" + escaped.Replace(payload) + "`")
		case 'h':
			b.WriteString(escaped.Replace(payload))
		case '%':
			b.WriteByte('%')
		default:
			b.WriteString(form[i-1 : i+1])
		}
	}
	return b.String()
}

// escaped escapes what a here-document and backquotes read.
var escaped = strings.NewReplacer("\\", "\\\\", "`", "\\`", "$", "\\$")

// quote writes text as one word, in one of the ways of bash or in several.
func (g *Generator) quote(text string) string {
	if len(text) > 1 && g.r.IntN(4) == 0 {
		at := 1 + g.r.IntN(len(text)-1)
		return g.quote(text[:at]) + g.quote(text[at:])
	}
	switch g.r.IntN(5) {
	case 0:
		return `"` + strings.NewReplacer("\\", "\\\\", "`", "\\`", "$", "\\$", `"`, `\"`).Replace(text) + `"`
	case 1:
		return "$'" + g.ansi(text) + "'"
	case 2:
		var b strings.Builder
		for _, r := range text {
			switch {
			case r == '\n':
				b.WriteString("'\n'")
			case r < 0x80 && (g.r.IntN(8) == 0 || strings.ContainsRune(" \t\\'\"`$&|;()<>*?[]{}!#~=%", r)):
				b.WriteByte('\\')
				b.WriteRune(r)
			default:
				b.WriteRune(r)
			}
		}
		return b.String()
	case 3:
		return `"` + strings.NewReplacer("\\", "\\\\", "`", "\\`", "$", "$", `"`, `\"`).Replace(text) + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func (g *Generator) ansi(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case g.r.IntN(6) == 0 && c < 0x80:
			b.WriteString(fmt.Sprintf(g.pick([]string{`\x%02x`, `\%03o`, `\u%04x`, `\U%08x`, `\x{%x}`}), c))
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// mutant changes a seed or a wrapped command in a few places.
func (g *Generator) mutant() string {
	text := g.pick(Seeds)
	switch g.r.IntN(4) {
	case 0:
		text = g.wrapped(1 + g.r.IntN(2))
	case 1:
		text = g.pick(Ordinary)
		at := g.r.IntN(len(text) + 1)
		text = text[:at] + g.pick([]string{"$X", ";$X", "\n$X\n", "$(%s)", "'$X'"}) + text[at:]
	}
	for range 1 + g.r.IntN(3) {
		at := g.r.IntN(len(text) + 1)
		switch g.r.IntN(5) {
		case 0, 1, 2:
			text = text[:at] + g.pick(pieces) + text[at:]
		case 3:
			end := min(len(text), at+1+g.r.IntN(3))
			text = text[:at] + text[end:]
		case 4:
			end := min(len(text), at+1+g.r.IntN(8))
			to := g.r.IntN(len(text) + 1)
			text = text[:to] + text[at:end] + text[to:]
		}
	}
	return text
}
