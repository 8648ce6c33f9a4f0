package oracle_test

import (
	"encoding/json"
	"strings"
)

// commandLines makes lines about `bash`, of which every one is denied, or none.
func commandLines(denied bool, commands ...string) string {
	verdict := "ALLOWED"
	if denied {
		verdict = "DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands"
	}
	lines := "\n"
	for _, command := range commands {
		text, err := json.Marshal(command)
		if err != nil {
			panic(err)
		}
		lines += `{"action":"bash","command":` + string(text) + `} => ` + verdict + "\n"
	}
	return lines
}

const blockedTouch = `version: 2.0.0
## tool_calls
allowed: bash
bash.blocked_commands: touch w, "| sh", "a && b", "> /dev/sda", "'x' y"
`

var commandTables = []table{
	{"what bash reads in another way than a parser", blockedTouch, commandLines(true,
		"", " \t\n", "ls\r", "ls \r\n", "ls # \\\n$X w", "# a\\", "a=()# rm >f -rf /", "time -- $X", "time -- 'ls'", "time -p -- $X w", "time -- $X w | ls",
		"let a=1&&$X", "let 'a=1'", "let \"a\"", "let a=$X", "'let' a=$X", "builtin let 'a'", "coproc $X >f", "coproc { ls; }", "coproc ls 'a'",
		"TOUCH  W", "t'o'uch w", "echo '$'; to''uch w", `echo "$'"; to"uch" w`, "$'t\\\\ouch w'", "eval \"to\\\\\\\nuch w\"", "time -- touch w",
		"touch \\\nw",
	) + commandLines(false, "ls # a", "time ls", "time -- ls a", "let a=1", "coproc ls a", "ls; # a\nls", "(ls) && b", "echo a#b\\\n", "echo '$'")},
	{"white space around operators", blockedTouch, commandLines(true,
		"cat x |sh", "cat x|sh", "cat x | sh", "cat x |'sh'", "a&&b", "a&& b", "echo 'a &&b'", "x >/dev/sda", "x>/dev/sda", "echo 'x' y", "echo x y", "cat x |\nsh",
	) + commandLines(false, "cat x | sed", "a & b", "x > /dev/sdb")},
	{"texts that are commands of their own", blockedTouch, commandLines(true,
		"bash -c 't\"o\"uch w'", "sh -ec 'to\"\"uch w'", "bash -c \"$X\"", "bash -c \"ls $X\"", "eval 't\"o\"uch' w", "eval ls $X", "bash -c '$A$B w'",
		"trap '$A$B w' EXIT", "trap -- 't\"o\"uch w' 0", "trap \"$X\" EXIT", "alias x='t\"o\"uch w'", "alias x=$Y", "env -S 't\"o\"uch w'", "env -S$X", "env -S -- $X", "env -S nice $X", "env -S '-i nice' $X", "env --split-string='$X w'",
		"env --split-string 't\"o\"uch w'", "mapfile -C '$X w' a", "readarray -C't\"o\"uch w' a", "compgen -C '$X'", "complete -C '$X' a", "bind -x '\"a\": $X w'",
		"PS4='$X w' ls", "PS4='t\"o\"uch w'", "PROMPT_COMMAND=$X", "PROMPT_COMMAND=('$X w')", "export BASH_ENV='$X w'", "declare PS4=$X", "env BASH_ENV=$X ls", "ENV='$X w'; sh a.sh",
		"read PS4", "printf -v PROMPT_COMMAND a", "for PS4 in a; do b; done",
		"bash <<'E'\nt\"o\"uch w\nE", "bash <<E\n$X w\nE", "sh <<< 't\"o\"uch w'", "sh <<<$X", ". /dev/stdin <<< 't\"o\"uch w'", "source /dev/stdin <<E\n$A$B w\nE",
		"echo 'a[$($A$B w)]'", "A=to; B=uch; [[ 'a[$($A$B w)]' -eq 0 ]]", "test -v 'a[$(t\"o\"uch w)]'", "read 'a[`$X`]'", `echo a\[\$\($X\)]`, "echo \"a[\\$($X w)]\"", "compgen -W '$($X)'", "echo 'a[$('$X')]'",
		"cat <<'E'\n$($X)\nE", "echo '`'",
	) + commandLines(false, "bash -c 'ls -la'", "trap '' INT", "trap - INT", "trap 'ls' EXIT", "alias x='ls'", "alias", "env -S 'ls -l'", "PS4='+ ' ls", "ENV=$X ls",
		"bash <<'E'\nls\nE", "sh <<< 'ls'", ". ./x", "source a.sh", "echo 'a[$(ls)]'", "echo \"$(ls)\"", "echo '$((1+2))'", "echo '$x'", "eval ls", "complete -C ls a")},
	{"shells that read something else", blockedTouch, commandLines(true,
		"bash", "cat x | bash", "bash -s a", "bash -", "bash < x", "sh <<< ls < x", "bash /dev/stdin", "bash /dev/fd/3", "bash <(ls)", "source <(ls)", ". /dev/stdin", "source \"$X\"",
		"bash <<'E'\nhead -c 6\necho 'ls'\nE", "bash <<'E'\nghead -c 6\necho 'ls'\nE", "bash <<'E'\n/x/gdd bs=6\necho 'ls'\nE",
		"fish", "csh -f", "sudo bash", "sudo -s", "su", "su root", "chroot /x", "parallel", "busybox sh", "bash --rcfile x", "sh 3<<<ls <&3",
	) + commandLines(false, "bash <<'E'\ngit a\necho 'ls'\nE", "bash <<'E'\nghead -c 6\necho ls\nE", "bash x.sh", "bash --version", "sh -e ./x.sh a", "sudo bash x.sh")},
	{"runners", blockedTouch, commandLines(true,
		"timeout 5 $X", "timeout -k 3 -s KILL 5 $X", "setsid -f $X", "doas -u a $X", "su -c $X", "su - a -c 't\"o\"uch w'", "find . -exec $X {} ;", "find . -name a -okdir \"$X\" +", "find . -exec sh -c '$X w' ;",
		"busybox $X", "busybox sh -c '$X w'", "chroot / $X", "watch -n 1 $X", "watch 't\"o\"uch w'", "parallel $X ::: a", "parallel ::: 't\"o\"uch w'", "flock /tmp/l $X", "flock /tmp/l -c 't\"o\"uch w'", "flock -c $X /tmp/l",
		"script -c 't\"o\"uch w' f", "script -q", "ssh host $X", "ssh -p 22 host 't\"o\"uch w'", "fish -c '$X w'", "csh -c '$X w'", "exec -a a $X", "xargs sh -c '$X w'", "nice -n 1 timeout 5 env $X", "xargs -I{} {}",
		"xargs env", "xargs -n 1 nice timeout 5", "xargs xargs", "xargs sh -c", "xargs watch ls", "su -c",
	) + commandLines(false, "timeout 5 ls $X", "setsid ls", "find . -exec ls {} ;", "find . -name '*.go'", "chroot / ls", "watch -n 1 ls", "flock /tmp/l ls", "ssh host ls", "script -c ls f", "su -c ls", "xargs ls", "env", "nice", "xargs", "xargs env ls", "xargs sh -c 'ls'", "busybox ls")},
	{"form of a command that is read inside", strings.Replace(blockedTouch, "touch w,", "touch w, \"a  b\",", 1), commandLines(true, "bash -c 'a b; a  b'", "eval 'bash -c \"touch  w\"'")},
}

// placeTables are about hosts and paths as file systems, servers and git read them.
var placeTables = []table{
	{"blocked paths with a star, and below cwd", `version: 2.4.0
## tool_calls
allowed: file_write
file_write.blocked_paths: .env*, /etc/*.d/x, ~/.*/key
`, `
{"action":"file_write","path":"/w/.env"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/w/.ENV.local/a"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/w/a.env"} => ALLOWED
{"action":"file_write","path":"/etc/cron.d/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/etc/a/b.d/x"} => ALLOWED
{"action":"file_write","path":"/home/ann/.ssh/key"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/home/ann/ssh/key"} => ALLOWED
{"action":"file_write","path":"cron.d/x","cwd":"/etc"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"../etc/cron.d/x","cwd":"/w"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"../w/x","cwd":"/w"} => ALLOWED
{"action":"file_write","path":"../w/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/w/x","cwd":"/etc"} => ALLOWED
{"action":"file_write","path":"./c:x","cwd":"/etc"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"c:x","cwd":"/etc"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","paths":["/a","/b/.env"]} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","paths":["/a","/b"]} => ALLOWED
// The path of a URL is not where the tool writes.
{"action":"file_write","url":"https://a.example/b"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"a","cwd":"C:\\w"} => ALLOWED
`},
	{"IPv4 addresses inside of IPv6", `version: 2.0.0
## tool_calls
allowed: web_fetch, http
web_fetch.blocked_domains: 169.254.169.254
`, `
{"action":"web_fetch","url":"http://[::a9fe:a9fe]/"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
{"action":"web_fetch","url":"http://[64:ff9b::169.254.169.254]/"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
{"action":"web_fetch","url":"http://[2002:a9fe:a9fe::1]/"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
{"action":"web_fetch","url":"http://[::ffff:a9fe:a9fe]/"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
{"action":"web_fetch","url":"http://[2003:a9fe:a9fe::1]/"} => ALLOWED
{"action":"web_fetch","url":"http://[::1]/"} => ALLOWED
`},
	{"allowed hosts hold no embedded addresses", "version: 2.0.0\n## tool_calls\nallowed: web_fetch\nhttp.allowed_hosts: 10.0.0.1\n", `
{"action":"web_fetch","url":"http://[64:ff9b::a00:1]/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_hosts
`},
	{"queries are read in their normal form", "version: 2.1.0\n## tool_calls\nallowed: http\nhttp.method_rules.GET.require_query_matches: \"[^x]+\"\n", `
{"action":"http","method":"GET","url":"http://a.example/?y=%41"} => ALLOWED
{"action":"http","method":"GET","url":"http://a.example/?y=%78"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.method_rules.GET.require_query_matches
`},
	{"stars of MCP", "version: 2.0.0\n## mcp\nallowed_servers: a\nblocked_tools: *.drop\nrequire_approval: a.*.ask\n", `
{"action":"mcp.a.b.c.drop"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.blocked_tools
{"action":"mcp.a.b.c.ask"} => PENDING APPROVAL_REQUIRED mcp.require_approval
`},
	{"decomposed recipients", "version: 2.0.0\n## tool_calls\nallowed: email.send\nemail.blocked_recipients: r\u00e9ne@a.example\n", `
{"action":"email.send","to":"re\u0301ne@a.example"} => DENIED BLOCKED_RECIPIENT tool_calls.email.blocked_recipients
`},
	{"directories above blocked paths", `version: 2.1.0
## filesystem
require_shim: true
actions: file_write
blocked_paths: /w/secret/keys, ~/.ssh, .env
`, "\n" +
		files("file_write", "delete", "/w/secret>/w", "") + blockedAbove +
		files("file_write", "rename", "/w>/", "") + blockedAbove +
		files("file_write", "egress", "/home>/", "") + blockedAbove +
		files("file_write", "hard_link", "/W/Secret>/W", "") + blockedAbove +
		files("file_write", "chmod", "/home/ann>/home", "") + blockedAbove +
		files("file_write", "create", "/w/secret>/w", "") + " => ALLOWED\n" +
		files("file_write", "delete", "/w/other>/w", "") + " => ALLOWED\n" +
		files("file_write", "delete", "/w/secret/keys/a>/w/secret/keys", "") + blockedAbove +
		files("file_write", "delete", "/srv>/", "") + " => ALLOWED\n"},
	{"a whole work tree", `version: 2.1.0
## tool_calls
allowed: file_write
## repository
require_shim: true
protect_git_history: true
roots: /w/repo
`, "\n" +
		files("file_write", "delete", "/w/repo/a>/w/repo", "") + " => ALLOWED\n" +
		files("file_write", "delete", "/v/tree>/v", `{"git":{"worktree":"/v/tree"}}`) + " => DENIED FILE_BLOCKED_PATH repository.protect_git_history\n" +
		files("file_write", "delete", "/v/tree>/v", "") + " => ALLOWED\n" +
		files("file_write", "egress", "/v>/", `{"git":{"worktree":"/v/tree"}}`) + " => DENIED FILE_BLOCKED_PATH repository.protect_git_history\n" +
		files("file_write", "egress", "/w/repo>/w", "") + " => DENIED FILE_BLOCKED_PATH repository.protect_git_history\n" +
		files("file_write", "create", "/w/repo/.Git./x>/w/repo/.Git.", "") + " => DENIED FILE_BLOCKED_PATH repository.protect_git_history\n" +
		files("file_write", "create", "/w/repo/GIT~1/x>/w/repo/GIT~1", "") + " => DENIED FILE_BLOCKED_PATH repository.protect_git_history\n"},
	{"branches that operations move", `version: 2.1.0
## git
require_shim: true
actions: git
protected_refs: main
`, "\n" +
		effect("git", "git", `{`+gitGood+`,"operation":"commit"}`) + " => ALLOWED\n" +
		effect("git", "git", `{`+gitGood+`,"operation":"commit","branch":"main"}`) + protectedRef +
		effect("git", "git", `{`+gitGood+`,"operation":"commit","branch":"topic"}`) + " => ALLOWED\n" +
		effect("git", "git", `{`+gitGood+`,"operation":"reset_hard"}`) + protectedRef +
		effect("git", "git", `{`+gitGood+`,"operation":"reset_hard","branch":"refs/heads/main"}`) + protectedRef +
		effect("git", "git", `{`+gitGood+`,"operation":"reset_hard","branch":"topic"}`) + " => ALLOWED\n" +
		effect("git", "git", `{`+gitGood+`,"operation":"reset_hard","branch":"HEAD"}`) + " => DENIED GIT_METADATA_REQUIRED git.actions\n" +
		effect("git", "git", `{`+gitGood+`,"operation":"rewrite_history","ref_updates":[{"ref":"topic"}]}`) + protectedRef +
		effect("git", "git", `{`+gitGood+`,"operation":"push_fast_forward","ref_updates":[{"ref":"HEAD","fast_forward":true}]}`) + " => DENIED GIT_METADATA_REQUIRED git.actions\n" +
		effect("git", "git", `{`+gitGood+`,"operation":"change_protection"}`) + protectedRef +
		effect("git", "git", `{`+gitGood+`,"operation":"delete_repository"}`) + protectedRef +
		effect("git", "git", `{`+gitGood+`,"operation":"status","branch":"main"}`) + " => ALLOWED\n"},
	{"databases", `version: 2.1.0
## database
require_shim: true
actions: sql
protected_environments: production
require_read_only_for_select: true
max_schema_changes_per_task: 3
`, "\n" +
		effect("sql", "database", `{"operations":["select"],"statement_count":1,"environment":"production ","credential_capabilities":["select"]}`) + " => DENIED DATABASE_METADATA_REQUIRED database.protected_environments\n" +
		effect("sql", "database", `{"operations":["select"],"statement_count":9,"environment":"production","credential_capabilities":["SELECT","Read_Only"]}`) + ` => ALLOWED | database.max_schema_changes_per_task task "T" sum 0/3` + "\n" +
		effect("sql", "database", `{"operations":["create_table"],"statement_count":9,"environment":"dev"}`) + ` => ALLOWED | database.max_schema_changes_per_task task "T" sum 9/3` + "\n"},
	{"a repeated effect is one", `version: 2.1.0
## filesystem
require_shim: true
actions: file_write
max_destructive_effects_per_task: 5
`, "\n" + files("file_write", "delete delete", "/a>/ /b>/", "") + ` => ALLOWED | filesystem.max_destructive_effects_per_task task "T" sum 2/5` + "\n"},
}

const (
	blockedAbove = " => DENIED FILE_BLOCKED_PATH filesystem.blocked_paths\n"
	protectedRef = " => DENIED GIT_REF_NOT_ALLOWED git.protected_refs\n"
)
