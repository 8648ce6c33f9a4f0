package command

import (
	"slices"
	"strings"
	"testing"
)

// covered reports whether entries cover all simple commands of a text.
func coveredBy(t *testing.T, text string, entries ...string) bool {
	t.Helper()
	var list []string
	for _, entry := range entries {
		beginning, err := ListedEntry(entry)
		if err != nil {
			t.Fatalf("%q: %v", entry, err)
		}
		list = append(list, beginning)
	}
	calls, err := Listed(text)
	if err != nil {
		return false
	}
	return len(calls) > 0 && !slices.ContainsFunc(calls, func(call string) bool {
		return !slices.ContainsFunc(list, func(entry string) bool { return strings.HasPrefix(call, entry) })
	})
}

var allowList = []string{"ls", "git status", "git log", "echo", "cat", "[", "test", "printf", "find", "true", "sudo apt-get update", "git commit",
	"bash -c 'ls -l'", "xargs -n1 ls", "./run.sh", "grep"}

// TestListed: all that a shell runs has to be listed.
func TestListed(t *testing.T) {
	for _, text := range []string{
		"ls", "ls -la /tmp", "'l's", `l\s`, "git status", "git  status --short", "git 'log' $x", "ls | cat", "ls && git status || true", "(ls; cat x)", "{ ls; }",
		"! ls", "ls &", "echo $(ls)", "echo `ls`", "cat <(ls)", "if ls; then cat x; else true; fi", "while true; do ls; done", "case $x in a) ls;; esac",
		"[[ -f x ]] && ls", "[ -n \"$x\" ]", "ls >/dev/null 2>&1", "ls 2>/dev/null", "ls &>/dev/null", "cat <file", "cat <<E\nhello $(ls)\nE", "cat <<'E'\n`rm`\nE",
		"cat <<<x", "sudo apt-get update", "bash -c 'ls -l'", "xargs -n1 ls", "./run.sh a", "git commit -m \"$(cat <<'E'\nfix `x`\nE\n)\"", "find . -name '*.go'",
		"printf '%s' \"$x\"", "echo {a,b}", "echo ~/x", "echo ${x:-y}", "ls 2>&-", "ls >&2", "ls 3<file", "true",
	} {
		if !coveredBy(t, text, allowList...) {
			_, err := Listed(text)
			t.Errorf("%q is denied: %v", text, err)
		}
	}
	for _, text := range []string{
		"", "rm", "ls; rm x", "ls | rm", "ls && rm", "echo $(rm)", "echo `rm`", "echo \"$(rm)\"", "cat <(rm)", "ls >(rm)", "LS", "/bin/ls", "ls.sh", "git", "git push", "git $x", "git -C x status",
		"git stat{us,x}", "~/run.sh", "l?", "$x", "X=1 ls", "X=1", "PATH=/evil ls", "PATH=/evil; ls", "export PATH=/evil; ls", "ls() { rm; }", "function ls { rm; }; ls", "alias ls=rm",
		"shopt -s expand_aliases\nalias ls=rm\nls", "for PATH in /evil; do ls; done", "for i in a; do ls; done", "time ls", "coproc ls", "((PATH=1))", "echo $((PATH=1))", "let x=1",
		"ls >x", "ls >>x", "ls &>x", "ls >|x", "ls <>x", "ls >&x", "ls >$x", "ls {fd}>/dev/null", "cat </dev/tcp/h/1", "cat <$x", ">x", "sudo ls", "sudo apt-get update -y", "sudo",
		"env ls", "nice ls", "command ls", "builtin echo x", "exec ls", "bash -c ls", "bash -c 'ls -l; rm'", "bash x.sh", "eval ls", "xargs ls", "xargs -n1 ls x", "find . -exec ls {} \\;", "find . -execdir rm {} +",
		"printf -v PATH /evil; ls", "printf $x PATH /evil; ls", "test -v 'a[$(rm)]'", "[ -v x ]", "[[ -v x ]]", "[[ x -eq 1 ]]", "echo ${x:=y}", "echo ${PATH:=/evil}", "echo ${!x}", "echo ${a[x]}", "echo ${x:y}",
		"read PATH", "mapfile PATH <x", "unset PATH", "declare x=1", "readonly x", "local x=1", "set -x", "shopt -s x", "hash -p /evil ls; ls", "enable -f x ls", "trap rm EXIT", ". ./x", "source ./x", "echo '$(rm)'",
		"ls\x00", "ls 'x", "./run.sh; ./other.sh", "run.sh", "echo x | bash", "ls $'\\x00rm'\nrm", "git\u00a0status",
	} {
		if coveredBy(t, text, allowList...) {
			t.Errorf("%q is allowed", text)
		}
	}
}

func TestListedEntry(t *testing.T) {
	for _, text := range []string{"", " ", "ls | cat", "ls; rm", "ls &", "$x", "ls $x", "X=1 ls", "ls >x", "ls >/dev/null", "(ls)", "ls\nrm", "alias x=y", "~/x", "ls *", "echo `ls`", "bash", "ls # x", "for"} {
		if beginning, err := ListedEntry(text); err == nil {
			t.Errorf("%q is an entry: %q", text, beginning)
		}
	}
	for _, text := range []string{"ls", "git status", "'my tool' x", "bash -c 'ls -l | cat'", "[", "./x.sh"} {
		if _, err := ListedEntry(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
