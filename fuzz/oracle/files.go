package oracle

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"bailiff/vm/errcode"
)

// The effects on files (section "Files").
var (
	effects = []string{"read", "create", "overwrite", "append", "truncate", "delete", "rename", "copy", "hard_link",
		"symlink", "chmod", "chown", "xattr", "execute", "egress"}
	readingEffects    = []string{"read", "copy", "execute", "egress"}
	harmlessEffects   = []string{"read", "execute", "egress"} // "all but `read`, `execute` and `egress` write"
	byteEffects       = []string{"create", "overwrite", "append", "copy"}
	removingEffects   = []string{"delete", "truncate"}
	destroyingEffects = []string{"overwrite", "truncate", "delete", "rename"}
	// wholeEffects reach what lies below a directory.
	wholeEffects = []string{"delete", "rename", "copy", "chmod", "chown", "xattr", "hard_link", "egress"}
)

// A target is one file of the evidence.
type target struct {
	node  value
	paths []string // `absolute`, and "where its links lead, `resolved_parent` with the last name of `absolute`"
}

// evidence is what a shim says about files.
type evidence struct {
	effects []string
	targets []target
}

func (e evidence) has(some []string) bool {
	for _, effect := range e.effects {
		if slices.Contains(some, effect) {
			return true
		}
	}
	return false
}

func (e evidence) writes() bool {
	for _, effect := range e.effects {
		if !slices.Contains(harmlessEffects, effect) {
			return true
		}
	}
	return false
}

// paths returns all paths of all targets: "Both are judged."
func (e evidence) paths() []string {
	var all []string
	for _, t := range e.targets {
		all = append(all, t.paths...)
	}
	return all
}

// evidence is the three rows of `filesystem.actions` (evidence). The code is "" where what the shim says is credible.
func (j *judgement) evidence() (e evidence, fault errcode.Code) {
	var ok bool
	if e.effects, ok = j.metadata("filesystem", "effects").texts(); !ok {
		return e, errcode.FileEffectRequired
	}
	for _, effect := range e.effects {
		if !slices.Contains(effects, effect) {
			return e, errcode.FileEffectRequired
		}
	}
	targets := j.metadata("filesystem", "targets").elements()
	if len(targets) == 0 {
		return e, errcode.FilePathRequired
	}
	for _, node := range targets {
		if node.member("absolute").kind != textKind {
			return e, errcode.FilePathRequired
		}
	}
	for _, node := range targets {
		name, parent := node.member("absolute").text, node.member("resolved_parent")
		if !canonicalPath(name) || parent.kind != textKind || parent.text != "/" && !canonicalPath(parent.text) {
			return e, errcode.FileTarget
		}
		last := name[strings.LastIndex(name, "/"):]
		e.targets = append(e.targets, target{node, []string{name, strings.TrimSuffix(parent.text, "/") + last}})
	}
	if safe := j.metadata("execution", "race_safe_path_resolution"); safe.kind != boolKind || safe.text != "true" {
		return e, errcode.FileTarget
	}
	return e, ""
}

// canonicalPath: "`/` at the start, no empty, `.` or `..` segment, no `/` at the end, no backslash and no control
// character".
func canonicalPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok || strings.Contains(path, `\`) || strings.ContainsFunc(path, unicode.IsControl) {
		return false
	}
	for _, segment := range strings.Split(rest, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// inside: "A path is inside a root if it is the root or below it at a segment's border, case included. The root `/`
// covers every path."
func inside(path, root string) bool {
	return root == "/" || path == root || strings.HasPrefix(path, root+"/")
}

func insideAny(path string, roots []string) bool {
	for _, root := range roots {
		if inside(path, root) {
			return true
		}
	}
	return false
}

func allInside(paths, roots []string) bool {
	for _, path := range paths {
		if !insideAny(path, roots) {
			return false
		}
	}
	return true
}

// roots replaces the root `.`, which "stands for the shim's `metadata.execution.writable_roots` (of writes) or
// `readable_roots` (of reads)"; "where that array is missing or malformed, for nothing".
func (j *judgement) roots(list []string, member string) []string {
	var roots []string
	for _, root := range list {
		if root != "." {
			roots = append(roots, root)
			continue
		}
		reported, ok := j.metadata("execution", member).texts()
		for _, each := range reported {
			ok = ok && (each == "/" || canonicalPath(each))
		}
		if ok {
			roots = append(roots, reported...)
		}
	}
	return roots
}

const writable, readable = "writable_roots", "readable_roots"

// repositoryRules is the rows of `repository` in the table of section "Files", in its order. Those of section "Git"
// come behind git's evidence.
func (j *judgement) repositoryRules() {
	r := j.p.repository
	if !j.repositoryFileIntent() {
		return
	}
	if r.has("roots") {
		j.repositoryRoots()
	}
	if r.flag("block_outside_writes") && r.has("roots") {
		if e, fault := j.evidence(); fault == "" && e.writes() && !allInside(e.paths(), j.roots(r.list("roots"), writable)) {
			j.deny("repository.block_outside_writes", errcode.FileOutsideRoot)
		}
	}
	if r.flag("protect_git_history") {
		j.gitFolders()
	}
	if r.flag("protect_sensitive_files") {
		j.repositorySensitive()
	}
}

// repositoryRoots: evidence, and "a write to a root itself (`.`: to one of the shim's writable roots), or to a directory that
// holds one".
func (j *judgement) repositoryRoots() {
	e, fault := j.evidence()
	if fault != "" {
		j.deny("repository.roots", fault)
		return
	}
	for _, path := range e.paths() {
		for _, root := range j.roots(j.p.repository.list("roots"), writable) {
			if e.writes() && inside(root, path) {
				j.deny("repository.roots", errcode.RootMutation)
				return
			}
		}
	}
}

// gitFolders: "file intents: evidence; a write to `.git` or below it, anywhere, in any case"; "the same above a worktree's
// `.git`".
func (j *judgement) gitFolders() {
	const rule = "repository.protect_git_history"
	e, fault := j.evidence()
	switch {
	case fault != "":
		j.deny(rule, fault)
	case e.writes() && anyGitPath(e.paths()), e.has(wholeEffects) && (anyAbove(e.paths(), j.gitEntries()) || !j.worktreeCanonical()):
		j.deny(rule, errcode.FileBlockedPath)
	}
}

// gitName is the folder `.git` as file systems read it, 8.3 short names included.
var gitName = regexp.MustCompile(`^(\.git|git~[0-9]+)$`)

func anyGitPath(paths []string) bool {
	for _, path := range paths {
		for _, segment := range strings.Split(path, "/") {
			if gitName.MatchString(cut(folded(segment))) {
				return true
			}
		}
	}
	return false
}

// worktreeCanonical: "such an effect where `metadata.git.worktree` is not canonical" is denied.
func (j *judgement) worktreeCanonical() bool {
	worktree := j.metadata("git", "worktree")
	return worktree.kind == missingKind || worktree.kind == textKind && canonicalPath(worktree.text)
}

// gitEntries are the `.git` of work trees, "where `metadata.git.worktree` or a root says where it is".
func (j *judgement) gitEntries() []pathEntry {
	trees := j.roots(j.p.repository.list("roots"), writable)
	if worktree := j.metadata("git", "worktree"); worktree.kind == textKind {
		trees = append(trees, worktree.text)
	}
	var all []pathEntry
	for _, tree := range trees {
		if p, ok := readPath(tree + "/.git"); ok && p.absolute {
			all = append(all, pathEntry{below: []pathName{p}})
		}
	}
	return all
}

// anyAbove reports whether a path is a directory above what an entry names.
func anyAbove(paths []string, entries []pathEntry) bool {
	for _, path := range paths {
		p, readable := readPath(path)
		for _, entry := range entries {
			if readable && entry.above(p) {
				return true
			}
		}
	}
	return false
}

// classifications returns the classification of every target; false where one has none.
func (e evidence) classifications() (all []string, ok bool) {
	ok = true
	for _, t := range e.targets {
		class := t.node.member("classification")
		ok = ok && class.kind == textKind && class.text != ""
		all = append(all, class.text)
	}
	return all, ok
}

// sensitive is the code of a protected class: "SENSITIVE_EGRESS with the effect `egress`, else SENSITIVE_FILE".
func (e evidence) sensitive() errcode.Code {
	if slices.Contains(e.effects, "egress") {
		return errcode.SensitiveEgress
	}
	return errcode.SensitiveFile
}

// repositorySensitive: "a classification of `filesystem.protected_file_classes`, or any but `none`, `normal`,
// `ordinary`, `public`, `source`".
func (j *judgement) repositorySensitive() {
	const rule = "repository.protect_sensitive_files"
	harmless := []string{"none", "normal", "ordinary", "public", "source"}
	e, fault := j.evidence()
	if fault != "" {
		j.deny(rule, fault)
		return
	}
	classes, ok := e.classifications()
	if !ok {
		j.deny(rule, errcode.FileTarget)
		return
	}
	for _, class := range classes {
		if slices.Contains(j.p.filesystem.list("protected_file_classes"), class) || !slices.Contains(harmless, class) {
			j.deny(rule, e.sensitive())
			return
		}
	}
}

// filesystemRules is the rows of `filesystem` in the table, in its order, but for the limits of tasks (step 7).
func (j *judgement) filesystemRules() {
	if !j.filesystemGoverns() {
		return
	}
	f := j.p.filesystem
	e, fault := j.evidence()
	if fault != "" {
		j.deny("filesystem.actions", fault)
		return // what is not credible is not judged further
	}
	for _, effect := range e.effects {
		if f.has("allowed_effects") && !slices.Contains(f.list("allowed_effects"), effect) {
			j.deny("filesystem.allowed_effects", errcode.FileEffect)
			break
		}
	}
	if f.has("write_roots") && e.writes() && !allInside(e.paths(), j.roots(f.list("write_roots"), writable)) {
		j.deny("filesystem.write_roots", errcode.FileOutsideRoot)
	}
	if f.has("read_roots") && e.has(readingEffects) && !allInside(e.paths(), j.roots(f.list("read_roots"), readable)) {
		j.deny("filesystem.read_roots", errcode.FileOutsideRoot)
	}
	if f.has("blocked_paths") && (anyBlocked(e.paths(), j.p.targetPaths) || e.has(wholeEffects) && anyAbove(e.paths(), j.p.targetPaths)) {
		j.deny("filesystem.blocked_paths", errcode.FileBlockedPath)
	}
	j.protectedClasses(e)
	if most := f.number("max_files_per_action", 0); most != nil && big.NewInt(int64(len(e.targets))).Cmp(most) > 0 {
		j.deny("filesystem.max_files_per_action", errcode.ImpactLimit)
	}
}

func anyBlocked(paths []string, entries []pathEntry) bool {
	for _, path := range paths {
		if pathBlocked(entries, path) {
			return true
		}
	}
	return false
}

// protectedClasses: "a target without `classification`; a listed classification, and an effect of `protected_effects`
// where that is declared".
func (j *judgement) protectedClasses(e evidence) {
	const rule = "filesystem.protected_file_classes"
	f := j.p.filesystem
	if !f.has("protected_file_classes") {
		return
	}
	classes, ok := e.classifications()
	if !ok {
		j.deny(rule, errcode.FileTarget)
		return
	}
	if f.has("protected_effects") && !e.has(f.list("protected_effects")) {
		return
	}
	for _, class := range classes {
		if slices.Contains(f.list("protected_file_classes"), class) {
			j.deny(rule, e.sensitive())
			return
		}
	}
}
