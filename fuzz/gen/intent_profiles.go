package gen

import (
	"strconv"
	"strings"
)

// governed reports whether a profile's list covers the action.
func (w *Writer) governed(section string, keys ...string) bool {
	for _, key := range keys {
		for _, pattern := range w.lore.policy.List(section, key) {
			if covers(pattern, w.lower) {
				return true
			}
		}
	}
	return false
}

// evidence writes what a shim says of the effects of an intent that profiles govern.
func (w *Writer) evidence() {
	p := w.lore.policy
	files := w.governed("filesystem", "actions") || w.governed("git", "filesystem_actions") ||
		p.Section("repository") != nil && (w.lower == "bash" || w.lower == "file_write")
	git := w.governed("git", "actions", "filesystem_actions")
	database := w.governed("database", "actions")
	if !files && !git && !database {
		if w.r.N(50) == 0 {
			w.execution()
		}
		return
	}
	if w.slip() {
		w.shim = w.r.Chance(50)
	}
	// There is so much evidence that with the usual number of slips most requests would fail before any rule reads it.
	defer func(slips int) { w.slips = slips }(w.slips)
	if w.slips > 0 {
		w.slips = max(w.slips/6, 1)
	}
	if !w.slip() {
		w.execution()
	}
	if files && !w.slip() {
		w.files()
	}
	if git && !w.slip() {
		w.git()
	}
	if database && !w.slip() {
		w.database()
	}
}

func (w *Writer) execution() {
	const at = "metadata.execution."
	w.intent.text(at+"adapter", "shim-1")
	w.member(at+"writable_roots", w.r.Pick(`["/workspace/repo"]`, `["/workspace","/srv/Data"]`, `["/"]`), `[]`, `["x"]`, `"/"`, `["/a/../b"]`)
	w.member(at+"readable_roots", w.r.Pick(`["/workspace"]`, `["/"]`), `["/a/"]`, `null`, `[1]`)
	w.member(at+"race_safe_path_resolution", "true", "false", `"true"`, "1", "null")
}

// rawList writes a JSON list of texts.
func rawList(values []string) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = Quote(value)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

func (w *Writer) files() {
	r := w.r
	const at = "metadata.filesystem."
	allowed := w.lore.policy.List("filesystem", "allowed_effects")
	if allowed == nil || w.probe() {
		allowed = effects
	}
	some := r.Some(3, allowed...)
	if w.slip() {
		some = append(some, "egress")
	}
	w.member(at+"effects", rawList(some), `[]`, `["Read"]`, `"read"`, `["read","wipe"]`, "null", `[1]`, `["read","read"]`)
	if w.slip() {
		w.member(at+"targets", "[]", "{}", "null", `["/x"]`, `[{}]`, `[{"absolute":1}]`)
		return
	}
	filesystem := w.intent.member("metadata").member("filesystem")
	if filesystem == nil || filesystem.Kids == nil {
		return
	}
	targets := &Node{Name: "targets", List: true, Kids: []*Node{}}
	for range 1 + r.N(2) + r.N(8)/7*4 {
		targets.Kids = append(targets.Kids, w.targetNode())
	}
	filesystem.Kids = append(filesystem.Kids, targets)
}

// targetNode returns one target: mostly a canonical path inside of a root.
func (w *Writer) targetNode() *Node {
	r, node := w.r, object("")
	folder := w.folder()
	name := r.Pick("a.go", "b", ".env", "x.txt", "README")
	path := strings.TrimSuffix(folder, "/") + "/" + name
	if w.probe() && r.Chance(40) {
		path = r.Pick("/etc/x", "/srv/Data/a", "/workspace/repo/a", "/home/ann/.ssh/id", folder+"-evil/x", strings.ToUpper(path))
	}
	switch {
	case w.probe() && r.Chance(40):
		path = w.root() // a root itself must not change, nor what it is in
		if above := path[:strings.LastIndexByte(path, '/')]; above != "" && w.r.Chance(50) {
			path = above
		}
	case w.probe() && r.Chance(30):
		path = folder + r.Pick("/.git", "/.Git/config", "/.GIT/HEAD", "/.gitignore", "/sub/.gIT/x")
	case w.slip():
		path = r.Pick(folder, folder+"-evil/x", folder+"/../x", folder+"//x", "x", folder+"/.git/HEAD", folder+"/.GIT", "/etc/passwd", strings.ToUpper(path),
			path+"/", folder+`\x`, path+"\x01", "/", "/home/ann/.ssh/id", "")
	}
	parent := path[:max(strings.LastIndexByte(path, '/'), 0)]
	if parent == "" {
		parent = "/"
	}
	if w.slip() {
		parent = r.Pick("/", "/etc", "/workspace/repository-evil", "x", "/a/", w.folder())
	}
	leaf := func(name, good string, bad ...string) {
		if !w.slip() {
			node.set(name, good)
		} else if r.Chance(60) {
			node.set(name, One(r, bad))
		}
	}
	leaf("absolute", Quote(path), "1", "null", `"relative"`)
	leaf("resolved_parent", Quote(parent), "1", `"x"`, "null")
	leaf("bytes", r.Pick("0", "1", "10", "999", "9007199254740991"), `"1"`, "1.5", "-1", "null", "{}")
	class := r.Pick("none", "source", "public", "normal")
	if w.probe() {
		class = One(r, classes)
	}
	leaf("classification", Quote(class), Quote(One(r, classes)), `"Secret"`, "1", `""`)
	if r.Chance(20) {
		node.text("supplied", "./"+name)
	}
	return node
}

// root returns a root that the policy names, or that the shim does.
func (w *Writer) root() string {
	var from []string
	for _, key := range [][2]string{{"repository", "roots"}, {"filesystem", "write_roots"}, {"filesystem", "read_roots"}} {
		from = append(from, w.lore.policy.List(key[0], key[1])...)
	}
	if len(from) == 0 {
		return "/workspace/repo"
	}
	if root := One(w.r, from); root != "." && root != "/" {
		return root
	}
	return "/workspace/repo"
}

// folder returns a folder inside of a root.
func (w *Writer) folder() string {
	root := w.root()
	if root == "/workspace/repo" {
		return root
	}
	return root + w.r.Pick("", "/sub", "/sub/deep")
}

func (w *Writer) git() {
	r, p := w.r, w.lore.policy
	const at = "metadata.git."
	from := p.List("git", "allowed_operations")
	if from == nil || w.probe() {
		from = gitOperations
	}
	operation := One(r, from)
	if blocked := p.List("git", "blocked_operations"); len(blocked) > 0 && w.probe() {
		operation = One(r, blocked)
	}
	w.member(at+"operation", Quote(operation), `"Push"`, "1", "null")
	w.member(at+"repository_id", `"r-1"`, `""`, "1")
	w.member(at+"worktree", Quote(w.folder()), `"x"`, `"/etc"`, "1")
	provider := One(r, providers)
	for _, list := range []string{"git", "repository"} {
		key := map[string]string{"git": "providers", "repository": "git_providers"}[list]
		if listed := p.List(list, key); len(listed) > 0 && !w.probe() {
			provider = One(r, listed)
		}
	}
	w.member(at+"provider", Quote(provider), `"GitHub"`, "null", `"svn"`)
	scheme := "https"
	if schemes := p.List("git", "allowed_remote_schemes"); len(schemes) > 0 && !w.probe() {
		scheme = One(r, schemes)
	}
	w.member(at+"remote_scheme", Quote(scheme), `"ssh"`, `"http"`, "null")
	if r.Chance(85) {
		w.refUpdates(at+"ref_updates", operation)
	}
}

func (w *Writer) refUpdates(path, operation string) {
	r := w.r
	if w.slip() {
		w.intent.set(path, r.Pick("[]", "{}", "null", `[1]`, `[{}]`, `[{"ref":1}]`))
		return
	}
	var updates []string
	for range 1 + r.N(2) {
		ref := r.Pick("refs/heads/topic", "feature-1", "refs/tags/x1")
		if w.probe() {
			ref = strings.Replace(One(r, refs), "*", r.Pick("", "1.0", "el"), 1)
			ref = r.Pick("", "refs/", "heads/", "refs/heads/", "refs/tags/") + strings.TrimPrefix(ref, r.Pick("", "refs/", "refs/heads/"))
		}
		forward := "true"
		if w.slip() || strings.Contains(operation, "force") || strings.Contains(operation, "fast_forward") && w.probe() {
			forward = r.Pick("false", "null", `"true"`, "true")
		}
		updates = append(updates, `{"ref":`+Quote(ref)+`,"fast_forward":`+forward+`}`)
	}
	w.intent.set(path, "["+strings.Join(updates, ",")+"]")
}

func (w *Writer) database() {
	r, p := w.r, w.lore.policy
	const at = "metadata.database."
	from := p.List("database", "allowed_operations")
	if from == nil || w.probe() {
		from = databaseOperations
	}
	if r.Chance(25) {
		from = []string{"select"}
	}
	w.intent.text(at+"engine", "postgres")
	operations := r.Some(3, from...)
	if r.Chance(20) {
		operations = append(operations, "select")
	}
	w.member(at+"operations", rawList(operations), "[]", `"select"`, `["SELECT"]`, `["explode"]`, "null", `[1]`)
	w.member(at+"statement_count", strconv.Itoa(1+r.N(3)), "0", "-1", "1.5", `"1"`, "null", "{}")
	environment := r.Pick(`"dev"`, `"test"`)
	if protected := p.List("database", "protected_environments"); len(protected) > 0 && w.probe() {
		environment = Quote(strings.ToLower(One(r, protected)))
	}
	w.member(at+"environment", environment, `"prod"`, `"PROD"`, `"staging"`, "null", "1")
	list := p.List("database", "allowed_resources")
	if list == nil || w.probe() {
		list = append(append([]string(nil), resources...), routines...)
	}
	if catalog := p.List("database", "routine_catalog"); len(catalog) > 0 && r.Chance(40) {
		list = catalog
	}
	named := r.Some(2, list...)
	for i := range named {
		named[i] = strings.ReplaceAll(named[i], "*", r.Pick("x", "", "x.y"))
	}
	w.member(at+"resources", rawList(named), "[]", "null", `[1]`, `"app.users"`, `["App.Users"]`)
	capabilities := r.Pick(`["select"]`, `["read","read_only"]`)
	if w.probe() {
		capabilities = r.Pick(`["write"]`, `["select","insert"]`, `[]`)
	}
	w.member(at+"credential_capabilities", capabilities, `["write"]`, "[]", "null", `["select","insert"]`, `"select"`)
}
