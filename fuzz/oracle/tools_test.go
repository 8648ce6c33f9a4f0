package oracle_test

import "strings"

var toolTables = []table{
	{"grants", "version: 2.0.0\n## tool_calls\nallowed: bash, deploy\n", `
{"action":"bash"} => ALLOWED
{"action":"deploy"} => ALLOWED
{"action":"Deploy"} => ALLOWED
{"action":"web_fetch"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.allowed
`},
	{"no grants needed", "version: 2.0.0\n## custom\ndeny_string: drop table\n", `
{"action":"anything"} => ALLOWED
{"action":"mcp.a.b"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.allowed_tools
`},
	{"commands", `version: 2.0.0
## tool_calls
allowed: bash
bash.blocked_commands: rm -rf, curl, "sudo ", "dd  if=", "a b", 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48
`, `
{"action":"bash"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"ls -la"} => ALLOWED
{"action":"bash","command":""} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"rm -rf /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"rm \t -rf /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"RM -rf /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"'r'm \"-r\"f /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"r\\m -r\\f /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"$'\\x72m' $'\\055rf' /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"$'r\\155' -rf /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"rm \\\n-rf /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"r\\\nm \\\n-rf /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"ls;\\\n[ a ]; export A=1"} => ALLOWED
{"action":"bash","command":"ex{port A"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"declare 'sud'o' '=1"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"rm >/dev/null -rf /"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"ls; (true && cu\"r\"l x)"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"echo \"$(c''url x)\""} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"# it's\nc''url x"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"sudo"} => ALLOWED
{"action":"bash","command":"env ls"} => ALLOWED
{"action":"bash","command":"env $X"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"nice -n $X ls"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"/usr/bin/env A=\"$B\" nohup \"$X\""} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"command -v $X"} => ALLOWED
{"action":"bash","command":"bash -c $X"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"eval ls $X"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"ls @($(id))"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"dd \t if=x"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"d''d if=x"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"echo 'r\\\\m -rf'"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"echo 'a  b'"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"$'cu\\0x' ls; c$'url\\0x'"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"echo '` + strings.Repeat("(", 64) + `'"} => ALLOWED
{"action":"bash","command":"echo '` + strings.Repeat("(", 65) + `'"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"echo '` + strings.Repeat("[]", 2048) + `'"} => ALLOWED
{"action":"bash","command":"echo '` + strings.Repeat("[]", 2049) + `'"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"if a; then b; ` + strings.Repeat("elif a; then b; ", 40) + `fi"} => ALLOWED
{"action":"bash","command":"sudo\nid"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"send 0xA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"$X a"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"\"$X\" a"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"l\u0060echo s\u0060 a"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"{ls,-la}"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"/bin/l? a"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"/bin/l[s] a"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"<(ls)"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"[ -f x ] && ls *.go $X {a,b}"} => ALLOWED
{"action":"bash","command":"A=$X ls"} => ALLOWED
{"action":"bash","command":"rm {-rf,/}"} => ALLOWED
{"action":"bash","command":"ls 'x"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"ls\u0000"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"` + strings.Repeat("( ", 32) + "ls" + strings.Repeat(" )", 32) + `"} => ALLOWED
{"action":"bash","command":"` + strings.Repeat("( ", 33) + "ls" + strings.Repeat(" )", 33) + `"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
{"action":"bash","command":"` + "ls " + strings.Repeat("a", 8189) + `"} => ALLOWED
{"action":"bash","command":"` + "ls " + strings.Repeat("a", 8190) + `"} => DENIED BLOCKED_COMMAND tool_calls.bash.blocked_commands
`},
	{"paths", `version: 2.0.0
## tool_calls
allowed: file_write
file_write.blocked_paths: /etc, ~/.ssh, .env, C:/Windows, /home/alice/keys, config/prod, /Straße
`, `
{"action":"file_write"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":""} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"src/main.go"} => ALLOWED
{"action":"file_write","path":"/etc"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/etcetera/x"} => ALLOWED
{"action":"file_write","path":"/ETC/passwd"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"\\etc\\passwd"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/tmp/../etc//./passwd"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/../etc/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/%65tc/x"} => ALLOWED
{"action":"file_write","path":"a/../../x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"a/../x"} => ALLOWED
{"action":"file_write","path":"~bob/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"~/x"} => ALLOWED
{"action":"file_write","path":"~/.ssh/id"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/root/.ssh/id"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/home/bob/.ssh"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/home/bob/x/.ssh"} => ALLOWED
{"action":"file_write","path":"c:\\users\\bob\\.SSH\\id"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/Users/bob/.ssh"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"~/../x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/srv/app/.env"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":".Env/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":".env.local"} => ALLOWED
{"action":"file_write","path":".env. "} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":".env:stream"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"a/Config/prod/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"a/config/x/prod"} => ALLOWED
{"action":"file_write","path":"$HOME/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"a/%TEMP%/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"a%/b%"} => ALLOWED
{"action":"file_write","path":"100%%"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"a$"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"c:"} => ALLOWED
{"action":"file_write","path":"/c:/Windows"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/c:x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"c:/../x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"x/file:/y"} => ALLOWED
{"action":"file_write","path":"x/../file:/y"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"file:name"} => ALLOWED
{"action":"file_write","path":"x/:y"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"./~/.ssh"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/.e\u200cnv"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/??/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/a~b~1"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/windows/system32"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"c:/Windows"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"d:/Windows"} => ALLOWED
{"action":"file_write","path":"c:windows"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"file:///tmp"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"//?/c:/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/PROGRA~1/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/a/.../b"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/a/ /b"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/a\u0007"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"~/keys/k"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
{"action":"file_write","path":"/STRASSE/x"} => DENIED BLOCKED_PATH tool_calls.file_write.blocked_paths
`},
	{"typed http", `version: 2.1.0
## tool_calls
allowed: http, web_fetch
http.blocked_methods: DELETE
http.allowed_methods: GET, POST, PUT, DELETE
http.allowed_hosts: api.example.com, *.sub.example.com, bücher.example, 127.0.0.1, "[::1]"
http.method_rules.PUT.deny: true
http.method_rules.POST.require_query_matches: (a|b)=[0-9]+
web_fetch.blocked_domains: evil.sub.example.com
`, `
{"action":"http","method":"GET","url":"https://api.example.com"} => ALLOWED
{"action":"http","method":"GET","url":"HTTPS://API.Example.Com.:8443/x?y#z"} => ALLOWED
{"action":"http","method":"GET","url":"https://xapi.example.com/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_hosts
{"action":"http","method":"GET","url":"https://x.api.example.com/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_hosts
{"action":"http","method":"GET","url":"https://sub.example.com/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_hosts
{"action":"http","method":"GET","url":"https://a.b.sub.example.com/"} => ALLOWED
{"action":"http","method":"GET","url":"https://x.evil.sub.example.com/"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
{"action":"http","method":"GET","url":"https://xn--bcher-kva.example/"} => ALLOWED
{"action":"http","method":"GET","url":"https://BÜCHER.example/"} => ALLOWED
{"action":"http","method":"GET","url":"http://2130706433/"} => ALLOWED
{"action":"http","method":"GET","url":"http://0x7f.1/"} => ALLOWED
{"action":"http","method":"GET","url":"http://0177.0.0.01/"} => ALLOWED
{"action":"http","method":"GET","url":"http://[::ffff:7f00:1]/"} => ALLOWED
{"action":"http","method":"GET","url":"http://[0:0:0:0:0:0:0:1]:80/"} => ALLOWED
{"action":"http","method":"GET","url":"http://127.0.0.0x1/"} => ALLOWED
{"action":"http","method":"GET","url":"http://127.0.0.1example/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_hosts
{"action":"http","method":"GET","url":"http://a.sub.example.com.0x7fg/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_hosts
{"action":"http","method":"GET","url":"http://-a--._b.sub.example.com/"} => ALLOWED
{"action":"http","method":"GET","url":"http://127.0.0.2/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_hosts
{"action":"http","method":"HEAD","url":"https://api.example.com/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_methods
{"action":"http","method":"DELETE","url":"https://api.example.com/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.blocked_methods
{"action":"http","method":"PUT","url":"https://api.example.com/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.method_rules.PUT.deny
{"action":"http","method":"POST","url":"https://api.example.com/?a=1"} => ALLOWED
{"action":"http","method":"POST","url":"https://api.example.com/?a=1&c"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.method_rules.POST.require_query_matches
{"action":"http","method":"POST","url":"https://api.example.com/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.method_rules.POST.require_query_matches
{"action":"web_fetch","url":"https://api.example.com/"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_methods
`},
	{"web_fetch", `version: 2.0.0
## tool_calls
allowed: web_fetch
http.allowed_hosts: *.example.com, 10.0.0.1
web_fetch.blocked_domains: bad.example.com, *.worse.example.com, 10.0.0.1
`, `
{"action":"web_fetch"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.http.allowed_hosts
{"action":"web_fetch","url":"https://good.example.com/"} => ALLOWED
{"action":"web_fetch","url":"https://bad.example.com/"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
{"action":"web_fetch","url":"https://x.BAD.example.com"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
{"action":"web_fetch","url":"https://notbad.example.com"} => ALLOWED
{"action":"web_fetch","url":"https://worse.example.com"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
{"action":"web_fetch","url":"https://012.0.0.1"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
`},
	{"a missing url of blocked domains", "version: 1.0.0\n## tool_calls\nallowed: web_fetch\nweb_fetch.blocked_domains: a.example\n", `
{"action":"web_fetch"} => DENIED BLOCKED_DOMAIN tool_calls.web_fetch.blocked_domains
`},
	{"email", `version: 2.0.0
## tool_calls
allowed: email.send, other
email.blocked_recipients: ceo@example.com
email.allowed_recipients: *@example.com, *@*.example.org
email.require_approval: True
require_approval: oth*
`, `
{"action":"email.send","to":"ann@example.com"} => PENDING APPROVAL_REQUIRED tool_calls.email.require_approval
{"action":"other"} => PENDING APPROVAL_REQUIRED tool_calls.require_approval
{"action":"email.send"} => DENIED RECIPIENT_NOT_ALLOWED tool_calls.email.allowed_recipients
{"action":"email.send","to":[]} => DENIED RECIPIENT_NOT_ALLOWED tool_calls.email.allowed_recipients
{"action":"email.send","to":""} => DENIED BLOCKED_RECIPIENT tool_calls.email.blocked_recipients
{"action":"email.send","to":["ann@example.com","CEO@Example.com"]} => DENIED BLOCKED_RECIPIENT tool_calls.email.blocked_recipients
{"action":"email.send","to":"Ann <ann@mail.example.org>"} => PENDING APPROVAL_REQUIRED tool_calls.email.require_approval
{"action":"email.send","to":["ann@example.com","ann@evil.com"]} => DENIED RECIPIENT_NOT_ALLOWED tool_calls.email.allowed_recipients
{"action":"email.send","to":"ann@example.org"} => DENIED RECIPIENT_NOT_ALLOWED tool_calls.email.allowed_recipients
{"action":"email.send","to":"ceo@ｅxample。com"} => DENIED BLOCKED_RECIPIENT tool_calls.email.blocked_recipients
{"action":"email.send","to":"\"x@evil.com\"@example.com"} => DENIED BLOCKED_RECIPIENT tool_calls.email.blocked_recipients
{"action":"email.send","to":"ann@example.com <bob@evil.com>"} => DENIED BLOCKED_RECIPIENT tool_calls.email.blocked_recipients
{"action":"email.send","to":"ann@example.com, bob@evil.com"} => DENIED BLOCKED_RECIPIENT tool_calls.email.blocked_recipients
`},
	{"email, one list", "version: 1.0.0\n## tool_calls\nallowed: email.send\nemail.blocked_recipients: *@evil.com\n", `
{"action":"email.send"} => DENIED RECIPIENT_NOT_ALLOWED tool_calls.email.blocked_recipients
{"action":"email.send","to":"a@evil.com"} => DENIED BLOCKED_RECIPIENT tool_calls.email.blocked_recipients
{"action":"email.send","to":"a@x.evil.com"} => ALLOWED
`},
	{"mcp", `version: 2.0.0
## mcp
allowed_servers: GitHub, files
allowed_tools: github.create_*, read_*, files.a.*.c
blocked_tools: *secret*, github.create_repo
require_approval: create_pr
`, `
{"action":"mcp.github.create_issue"} => ALLOWED
{"action":"MCP.GitHub.Create_Issue"} => ALLOWED
{"action":"mcp.gitlab.create_issue"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.allowed_servers
{"action":"mcp.files.create_issue"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.allowed_tools
{"action":"mcp.files.read_me"} => ALLOWED
{"action":"mcp.files.a.b.c"} => ALLOWED
{"action":"mcp.files.a.b.b.c"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.allowed_tools
{"action":"mcp.github.create_repo"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.blocked_tools
{"action":"mcp.files.read_secrets"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.blocked_tools
{"action":"mcp.github.create_pr"} => PENDING APPROVAL_REQUIRED mcp.require_approval
{"action":"bash"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.allowed
`},
	{"mcp, servers only", "version: 2.0.0\n## mcp\nallowed_servers: a\nrequire_shim: true\n", `
shim {"action":"mcp.a.anything.at.all"} => ALLOWED
{"action":"mcp.a.b"} => DENIED PROVENANCE_REQUIRED mcp.require_shim
`},
	{"mcp, blocked only", "version: 2.0.0\n## custom\ndeny_string: x\n## mcp\nblocked_tools: b\n", `
{"action":"mcp.a.a"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.allowed_tools
{"action":"mcp.a.b"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.blocked_tools
`},
}
