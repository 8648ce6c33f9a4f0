package gen

import (
	"slices"
	"strings"
)

// toolFields writes the subjects of tools: command, path, URL, recipients.
func (w *Writer) toolFields() {
	if w.r.Chance(25) {
		w.intent.text("cwd", w.r.Pick("/workspace/repo", "/work", "/home/bob", "/etc", "/"+strings.TrimLeft(w.path(), "~/")))
	}
	switch w.lower {
	case "bash":
		w.subject("command", w.command)
	case "file_write", "file_read":
		w.filePaths()
	case "http", "web_fetch":
		w.web()
	case "email.send":
		w.recipients()
	default:
		if w.r.Chance(15) {
			w.intent.text("command", w.command())
		}
		if w.r.Chance(15) {
			w.intent.text("path", w.path())
		}
	}
}

// allowedCommand returns a command of which a list allows all or, where it slips, not quite all.
func (w *Writer) allowedCommand(list []string) string {
	r := w.r
	one, other := One(r, list), One(r, list)
	text := one + r.Pick("", "", " -x", " $x", " 'a b'", " *.go") + r.Pick("", "", " && ", " | ", "; ", " || ", "\n", " & ")
	if strings.HasSuffix(text, " ") || strings.HasSuffix(text, "\n") {
		text += other + r.Pick("", " y")
	}
	if !w.probe() {
		return strings.Replace(
			r.Pick("%", "%", "(%)", "{ %; }", "! %", "if %; then "+other+"; fi", "while %; do "+other+"; done", "% 2>/dev/null", "% <f", "[[ -n $x ]] && %", "cat <<E\n$(%)\nE", "echo \"$(%)\"", "echo $(%)"), "%", text, 1)
	}
	if r.Chance(40) {
		return r.Pick("", "", "", "X=1 ", "PATH=/x; ") + one + r.Pick("", " >f", " >>/tmp/x", ">&f", " <>f", " &>f", " 2>f", " >|f", " </dev/tcp/h/1", " <$x", " {fd}>/dev/null", " >/dev/null", " 2>&1", " >&-")
	}
	return strings.Replace(r.Pick("X=1 %", "X=1; %", "for i in a; do %; done", "f() { %; }; f", "alias a=b; %", "time %", "echo $((1)) %",
		"eval %", "bash -c '%'", "env %", "sudo %", "xargs %", "find . -exec % {} +", "find . -name x; %", "printf -v x y; %", "test -v x; %", "[ -n \"$x\" ] && %", "[[ x -eq 1 ]] && %",
		"echo ${x:=y}; %", "echo ${x:-y}; %", "echo ${!x}; %", "echo ${x[1]}; %", "echo ${x[@]}; %", "echo '$(rm)'; %", "echo $(rm x); %", "echo ~/x; ~/%", "read x; %", "export x=1; %", "set -x; %", "rm x; %", "% x; rm x",
		"G%", "%x", "'%'", "\\%", "$x %", "((x)); %", "let x=1; %", "coproc %", "declare x; %", "cat <(%)", "echo `%`", ">f; %"), "%", text, 1)
}

// filePaths writes the path of a tool that takes several, or several: mostly a few, so that often one alone is blocked.
func (w *Writer) filePaths() {
	if !w.r.Chance(25) {
		w.subject("path", w.path)
		return
	}
	list := &Node{Name: "paths", List: true, Kids: []*Node{}}
	for range 1 + w.r.N(4) {
		list.Kids = append(list.Kids, &Node{Raw: Quote(w.path())})
	}
	w.intent.Kids = append(w.intent.Kids, list)
	if w.slip() && w.r.Chance(25) { // which is one too many
		w.intent.text("path", w.path())
	}
}

// addPath puts a path in front of others, or behind them, or in the place of all.
func (w *Writer) addPath(path string) {
	list, one := w.intent.member("paths"), &Node{Raw: Quote(path)}
	switch w.r.N(3) {
	case 0:
		list.Kids = append([]*Node{one}, list.Kids...)
	case 1:
		list.Kids = append(list.Kids, one)
	default:
		list.Kids = []*Node{one}
	}
}

func (w *Writer) subject(name string, value func() string) {
	if !w.slip() || w.r.Chance(70) {
		w.intent.text(name, value())
	}
}

// command returns a command that is mostly fine or, where it slips, one that holds a blocked command in some guise.
func (w *Writer) command() string {
	r := w.r
	if list := w.lore.policy.List("tool_calls", "bash.allowed_commands"); len(list) > 0 && r.Chance(90) {
		return w.allowedCommand(list)
	}
	if !w.probe() {
		return r.Pick("ls -la", "git status", `echo "hello world"`, "make test | tee log", "cat <<EOF\nx\nEOF", "go test ./...", "ls", "cast send "+anAddress(r))
	}
	blocked := One(r, commands)
	list := slices.Concat(w.lore.policy.List("tool_calls", "bash.blocked_commands"), w.lore.policy.List("tool_calls", "bash.require_approval"))
	if len(list) > 0 && r.Chance(85) {
		blocked = One(r, list)
	}
	switch r.N(20) {
	case 0:
		return blocked[:len(blocked)-1]
	case 1:
		return strings.ToUpper(blocked)
	case 2:
		return strings.ReplaceAll(blocked, " ", "  \t ") + " x"
	case 3:
		return "sh -c \"cd / && " + blocked + "\""
	case 4:
		return "echo $(" + blocked + " x)"
	case 5:
		return "(cd x; { " + blocked + " y; })"
	case 6:
		return blocked[:1] + "''" + blocked[1:]
	case 7:
		return blocked[:1] + "\\" + blocked[1:]
	case 8:
		return strings.ReplaceAll(blocked, " ", " \\\n")
	case 9:
		return `"` + strings.ReplaceAll(blocked, " ", `" '`) + `'`
	case 10:
		return r.Pick("'unclosed", "$x -rf", "`echo x`", "{rm,-rf}", "a$b c", "*/rm x", "sudo $cmd", "env X=1 $y", "if x", "a; ; b", "ls )")
	case 11:
		return strings.Repeat("(", 33) + "ls" + strings.Repeat(")", 33)
	case 12:
		return "ls " + strings.Repeat("a", 8200)
	case 13:
		return "X=1 " + blocked + " > out"
	case 14:
		return "$'" + blocked + "'"
	case 15:
		return ""
	case 16:
		return strings.NewReplacer(" && ", r.Pick("&&", " &&", "&& \t"), " > ", r.Pick(">", " >", "> "), "| ", r.Pick("ls|", "ls |\t")).Replace(blocked)
	}
	return r.Pick("", "cd / && ", "true || ") + blocked + r.Pick("", " x", " | cat")
}

// path returns a path that is mostly fine or, where it slips, one at, below or beside a blocked one.
func (w *Writer) path() string {
	r := w.r
	allowed := w.lore.policy.List("tool_calls", w.lower+".allowed_paths")
	if len(allowed) > 0 && r.Chance(70) {
		return w.allowedPath(One(r, allowed))
	}
	if !w.probe() {
		if r.Chance(15) {
			return r.Pick(One(r, pathTexts), "/wallets/"+anAddress(r)+"/x")
		}
		return r.Pick("src/main.go", "/workspace/repo/a.txt", "README.md", "./a/b", "/home/bob/notes", "a/../b")
	}
	blocked := One(r, paths)
	if list := w.lore.policy.List("tool_calls", w.lower+".blocked_paths"); len(list) > 0 && r.Chance(85) {
		blocked = One(r, list)
	}
	if i := strings.IndexByte(blocked, '*'); i >= 0 && r.Chance(90) {
		blocked = blocked[:i] + strings.ReplaceAll(blocked[i:], "*", r.Pick("", "x", ".local", "x/y"))
	}
	if blocked[0] == '~' && r.Chance(40) {
		return r.Pick("./", "a/../", ".//") + blocked
	}
	home := strings.TrimPrefix(blocked, "~")
	switch r.N(20) {
	case 0:
		return blocked + "x"
	case 1:
		return strings.ToUpper(blocked)
	case 2:
		return strings.ReplaceAll(blocked, "/", `\`)
	case 3:
		return "/x/.." + blocked
	case 4:
		return strings.ReplaceAll(blocked, "/", "//") + "/./y"
	case 5:
		return r.Pick("/root", "/home/alice", "/Users/Bob", "C:/Users/Ann", "c:/users/ann/docs") + home
	case 6:
		return r.Pick("../../etc/x", "$HOME/.ssh", "~bob/x", "%APPDATA%/x", "a$b", "", "..", "~", "c:x", "file:/etc", "PROGRA~1/x", "/etc\x01")
	case 7:
		return "deep/er/" + strings.TrimLeft(blocked, "~/")
	case 8:
		return blocked + r.Pick("::$DATA", ". ", "/", "/..", "/../x")
	case 9:
		return r.Pick("/tmp/nai\u0308ve", "/TMP/NAÏVE/x", "/etc\u200b/x", "/ETC/passwd", "/Windows/x", "c:\\windows\\x")
	}
	return blocked + r.Pick("", "/x", "/a/b")
}

// allowedPath returns a path that an entry of a list of allowed ones covers or, where it slips, nearly does.
func (w *Writer) allowedPath(entry string) string {
	r := w.r
	path := strings.ReplaceAll(entry, "*", r.Pick("x", "ann", "main"))
	if entry == "." {
		path = r.Pick(".", "main.go", "./x", "/workspace/repo/x")
	}
	path += r.Pick("", "", "/x", "/a/b.go")
	if !w.probe() {
		return path
	}
	switch r.N(10) {
	case 0:
		return strings.ToUpper(path)
	case 1:
		return path + "/../y"
	case 2:
		return strings.ReplaceAll(path, "/", `\`)
	case 3:
		return path + "x"
	case 4:
		return "/" + strings.TrimLeft(path, "~/")
	case 5:
		return strings.TrimLeft(path, "~/")
	case 6:
		return "/workspace/repo/" + strings.TrimLeft(path, "~/")
	case 7:
		return r.Pick("", "./", ".//", "~/", "./~/", "C:", "$HOME/", "../") + path
	case 8:
		return strings.ReplaceAll(path, "/", "//") + "/."
	}
	return r.Pick("/work/src", "c:/Work/x", `C:\Work\x`, "/C:/Work", "/tmp/nai\u0308ve", "/", "~", "..", "src")
}

// web writes url and method, and what may be beside them.
func (w *Writer) web() {
	r := w.r
	host, method := w.host(), w.method()
	query := w.query(method)
	url := r.Pick("https://", "http://", "HTTPS://") + host + r.Pick("", ":8443", "/v1/x", "/", ":443/v1/x", "/%7ea%2fb", "/address/"+anAddress(r)) + query
	if w.slip() {
		url = r.Pick("ftp://"+host, "https://user@"+host+"/", `https:\\`+host, "//"+host, "https://", "https://"+host+" x", url)
	}
	if !w.slip() || r.Chance(60) {
		w.intent.text("url", url)
	}
	if w.lower == "http" {
		if !w.slip() || r.Chance(85) {
			w.intent.text("method", method)
		}
	} else if r.N(60) == 0 {
		w.intent.text("method", "GET")
	}
	if r.N(25) == 0 {
		w.intent.text("host", r.Pick(host, "other.example"))
	}
}

// method returns a method that is mostly allowed, and often one that has a rule; where it slips, mostly a refused one.
func (w *Writer) method() string {
	from := w.lore.policy.List("tool_calls", "http.allowed_methods")
	if from == nil {
		from = methods
	}
	if w.probe() {
		if refused := slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return !w.refused(m) }); len(refused) > 0 {
			return One(w.r, refused)
		}
		return One(w.r, methods)
	}
	method := One(w.r, from)
	for range 6 {
		if !w.refused(method) && (w.hasRule(method) || w.r.Chance(40)) {
			break
		}
		method = One(w.r, from)
	}
	return method
}

// refused reports whether the policy refuses a method by name.
func (w *Writer) refused(method string) bool {
	p := w.lore.policy
	return p.Value("tool_calls", "http.method_rules."+method+".deny") == "true" ||
		slices.Contains(p.List("tool_calls", "http.blocked_methods"), method)
}

// hasRule reports whether the policy has a rule for queries of a method, or denies it.
func (w *Writer) hasRule(method string) bool {
	p := w.lore.policy
	return p.Value("tool_calls", "http.method_rules."+method+".require_query_matches")+p.Value("tool_calls", "http.method_rules."+method+".deny") != ""
}

// query returns a query, with its question mark, that mostly matches what the policy wants of the method.
func (w *Writer) query(method string) string {
	pattern := w.lore.policy.Value("tool_calls", "http.method_rules."+method+".require_query_matches")
	good := goodQueries[pattern]
	switch {
	case !w.probe() && good == "":
		return w.r.Pick("", "", "?q=abc")
	case !w.probe():
		return "?" + good
	}
	return w.r.Pick("", "?", "?"+good+"&x", "?x"+good, "?"+strings.ToUpper(good), "?page=1234", "#q=abc", "?"+strings.Repeat("q", 4100))
}

// host returns a host that is mostly allowed and not blocked or, where it slips, one near a list's entry.
func (w *Writer) host() string {
	r, p := w.r, w.lore.policy
	allowed := p.List("tool_calls", "http.allowed_hosts")
	if !w.probe() {
		if len(allowed) == 0 {
			return r.Pick("api.example.com", "good.test", "8.8.8.8", "www.example.org")
		}
		return strings.Replace(One(r, allowed), "*", r.Pick("www", "a.b"), 1)
	}
	list := p.List("tool_calls", "web_fetch.blocked_domains")
	if len(list) == 0 || len(allowed) > 0 && r.Chance(50) {
		list = append(append([]string(nil), allowed...), domains...)
	}
	host := strings.TrimPrefix(One(r, list), "*.")
	if strings.Contains(host, "::") {
		return r.Pick("["+host+"]", "[0:0:0:0:0:0:0:1]", "[::2]", "[::ffff:127.0.0.1]")
	}
	switch r.N(12) {
	case 0:
		return "evil" + host
	case 1:
		return "a." + host
	case 2:
		return strings.ToUpper(host)
	case 3:
		return host + "."
	case 4:
		return host + ".x.test"
	case 5:
		return r.Pick("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:7f00:1]", "2852039166", "xn--bcher-kva.example", "BÜCHER.example", "bu\u0308cher.example")
	case 6:
		return host + ".."
	case 7:
		return r.Pick("*."+host, "a_b."+host, "-a."+host, "xn--zzzzz."+host, "faß.example")
	}
	return host
}

// recipients writes the field to of an email.
func (w *Writer) recipients() {
	r := w.r
	if w.slip() && r.Chance(40) {
		if r.Chance(50) {
			w.intent.set("to", "[]")
		}
		return
	}
	if r.Chance(55) {
		w.intent.text("to", w.recipient())
		return
	}
	list := &Node{Name: "to", List: true, Kids: []*Node{}}
	for range 1 + r.N(3) {
		list.Kids = append(list.Kids, &Node{Raw: Quote(w.recipient())})
	}
	w.intent.Kids = append(w.intent.Kids, list)
}

// recipient returns a recipient that is mostly on the allowed list.
func (w *Writer) recipient() string {
	r, p := w.r, w.lore.policy
	from := p.List("tool_calls", "email.allowed_recipients")
	if exempt := p.List("tool_calls", "email.approval_exempt_recipients"); len(from) == 0 || len(exempt) > 0 && r.Chance(40) {
		from = exempt
	}
	if len(from) == 0 {
		from = []string{"carol@example.edu"}
	}
	if w.probe() {
		if blocked := p.List("tool_calls", "email.blocked_recipients"); len(blocked) > 0 {
			from = blocked
		}
		if r.Chance(35) {
			return r.Pick("not an address", "", "a@b@c", "ann@example.com, bob@example.com", "@example.com", "ann@", "ann@example.com.",
				`"a b"@example.com`, "ann@[127.0.0.1]", "ann(x)@example.com", "ann@sub.example.com", "xann@example.com", "ann@example.comx", "ann@ｅxample.com", "ann@example。com", "group: ann@example.com;")
		}
	}
	address := One(r, from)
	address = strings.ReplaceAll(address, "*", r.Pick("dan", "Sales", "a.b"))
	switch r.N(8) {
	case 0:
		return strings.ToUpper(address)
	case 1:
		return "Ann Example <" + address + ">"
	case 2:
		return "<" + address + ">"
	}
	return address
}
