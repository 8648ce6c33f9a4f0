package compiler

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"bailiff/compiler/frame"
	"bailiff/compiler/profiles"
	"bailiff/runtime/intent"
	"bailiff/vm"
	"bailiff/vm/form/fspath"
	"bailiff/vm/match"
	"bailiff/vm/slot"
)

// The naive evaluator of the resource profiles walks the metadata as it was sent, by the tables of docs/judging.md. It
// knows no slots and no programs, and has words of its own for what effects and operations do.

// A naiveProfiles judges one tool intent by a policy of profiles and `tool_calls.allowed`.
type naiveProfiles struct {
	p    *Policy
	in   *intent.Intent
	from intent.Provenance
}

// verdict returns "allowed", "pending rule" or "denied rule CODE".
func (n *naiveProfiles) verdict() string {
	for _, judge := range []func() string{n.boundary, n.profiles, n.granted, n.limits} {
		if verdict := judge(); verdict != "" {
			return verdict
		}
	}
	return n.held()
}

// granted denies what neither a profile nor `tool_calls.allowed` grants.
func (n *naiveProfiles) granted() string {
	_, _, filesystem, git, database := n.who()
	t := n.p.ToolCalls
	if filesystem || git || database || t != nil && slices.Contains(t.Allowed.Texts(), n.in.Text(slot.Action)) {
		return ""
	}
	return "denied tool_calls.allowed TOOL_CALL_NOT_ALLOWED"
}

// words of the tables, each list as docs/judging.md has it.
var (
	naiveEffects      = strings.Fields("read create overwrite append truncate delete rename copy hard_link symlink chmod chown xattr execute egress")
	naiveReads        = strings.Fields("read copy execute egress")
	naiveNoWrites     = strings.Fields("read execute egress")
	naiveWritesBytes  = strings.Fields("create overwrite append copy")
	naiveDeletesBytes = strings.Fields("delete truncate")
	naiveOrdinary     = strings.Fields("none normal ordinary public source")
	naiveGit          = strings.Fields("status diff log add commit fetch pull_ff_only push_fast_forward create_branch create_tag reset_hard clean rewrite_history delete_ref force_push mirror_push prune_remote change_remote change_protection change_credentials delete_repository")
	naiveTakesAlong   = strings.Fields("delete rename copy chmod chown xattr hard_link egress")
	noRef             = regexp.MustCompile(`(?i)^$|^[+-]|[ :~^*]|//|\.\.|/$|^HEAD$`) // of what the tests say
	naiveHistory      = strings.Fields("reset_hard rewrite_history delete_ref force_push mirror_push prune_remote")
	naiveRemote       = strings.Fields("fetch pull_ff_only push_fast_forward force_push mirror_push prune_remote change_remote")
	naiveNeedsRefs    = strings.Fields("push_fast_forward force_push mirror_push delete_ref rewrite_history create_branch create_tag")
	naiveProvider     = strings.Fields("change_protection change_credentials delete_repository")
	naiveDatabase     = strings.Fields("select insert update merge delete truncate create_table drop_table add_column drop_column alter_column_type add_constraint drop_constraint create_index drop_index create_schema drop_schema create_database alter_database drop_database create_routine replace_routine execute_routine change_trigger change_row_security grant revoke create_extension")
)

// naiveEvidence is what the metadata say, as far as they can be read.
type naiveEvidence struct {
	effects  []string
	paths    [][2]string // of each target: its own, and where it leads
	classes  []string
	bytes    []int64 // -1 where unknown
	code     string  // what is wrong with effects or paths
	writable []string
	readable []string
}

func covered(list *frame.List, action string) bool {
	for _, pattern := range list.Texts() {
		if start, open := strings.CutSuffix(pattern, "*"); action == start || open && strings.HasPrefix(action, start) {
			return true
		}
	}
	return false
}

// who tells by which profiles the intent is governed, and by which of them a tool is granted.
func (n *naiveProfiles) who() (repository, files, filesystem, git, database bool) {
	p, action := n.p.Profiles, strings.ToLower(n.in.Text(slot.Action))
	byFiles := p.Filesystem != nil && covered(p.Filesystem.Actions, action)
	byGitFiles := p.Git != nil && covered(p.Git.FilesystemActions, action)
	git = byGitFiles || p.Git != nil && covered(p.Git.Actions, action)
	database = p.Database != nil && covered(p.Database.Actions, action)
	isTool := action == "bash" || action == "file_write"
	files = p.Repository != nil && (isTool || byFiles || byGitFiles)
	repository = files || p.Repository != nil && (git || database)
	filesystem = byFiles || byGitFiles && p.Filesystem != nil
	return repository, files, filesystem, git, database
}

func (n *naiveProfiles) metadata(name string) intent.Node {
	return n.in.Node(slot.Metadata).Member(name)
}

func (n *naiveProfiles) boundary() string {
	repository, _, filesystem, git, database := n.who()
	governed := repository || filesystem || git || database
	if governed && (n.from != intent.Shim || n.metadata("execution").Kind() != vm.Object) {
		return "denied execution.boundary EXECUTION_BOUNDARY_REQUIRED"
	}
	return ""
}

// nodes returns the elements of an array, and false for anything else.
func nodes(node intent.Node) (all []intent.Node, ok bool) {
	if node.Kind() != vm.List {
		return nil, false
	}
	for _, child := range node.Children() {
		all = append(all, child)
	}
	return all, true
}

// strs returns the texts of an array of strings; nil where it is anything else.
func strs(node intent.Node) []string {
	all, ok := nodes(node)
	texts := []string{}
	for _, child := range all {
		if child.Kind() != vm.String {
			return nil
		}
		texts = append(texts, child.Text())
	}
	if !ok {
		return nil
	}
	return texts
}

func isCanonical(text string) bool {
	return text != "/" && text != "" && text[0] == '/' && path.Clean(text) == text && !strings.Contains(text, `\`) &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

func within(dir, text string) bool {
	return text == dir || dir == "/" || strings.HasPrefix(text, dir+"/")
}

// evidence reads the account of files.
func (n *naiveProfiles) evidence() naiveEvidence {
	var e naiveEvidence
	execution, fs := n.metadata("execution"), n.metadata("filesystem")
	for _, list := range []struct {
		to   *[]string
		name string
	}{{&e.writable, "writable_roots"}, {&e.readable, "readable_roots"}} {
		roots := strs(execution.Member(list.name))
		if !slices.ContainsFunc(roots, func(root string) bool { return root != "/" && !isCanonical(root) }) {
			*list.to = roots
		}
	}
	e.effects = strs(fs.Member("effects"))
	if len(e.effects) == 0 || !allIn(e.effects, naiveEffects) {
		e.code = "FILE_EFFECT_REQUIRED"
		return e
	}
	targets, _ := nodes(fs.Member("targets"))
	if len(targets) == 0 {
		e.code = "FILE_PATH_REQUIRED"
		return e
	}
	safe := execution.Member("race_safe_path_resolution")
	trusted := safe.Kind() == vm.Bool && safe.Text() == "true"
	for _, target := range targets {
		absolute, parent, class := target.Member("absolute"), target.Member("resolved_parent"), target.Member("classification")
		if absolute.Kind() != vm.String {
			e.code = "FILE_PATH_REQUIRED"
			return e
		}
		trusted = trusted && isCanonical(absolute.Text()) && parent.Kind() == vm.String && (parent.Text() == "/" || isCanonical(parent.Text()))
		e.paths = append(e.paths, [2]string{absolute.Text(), path.Join(parent.Text(), path.Base(absolute.Text()))})
		if class.Kind() == vm.String {
			e.classes = append(e.classes, class.Text())
		} else {
			e.classes = append(e.classes, "")
		}
		bytes, err := strconv.ParseInt(target.Member("bytes").Text(), 10, 64)
		if err != nil || bytes < 0 || target.Member("bytes").Kind() != vm.Number {
			bytes = -1
		}
		e.bytes = append(e.bytes, bytes)
	}
	if !trusted {
		e.code = "FILE_TARGET_UNTRUSTED"
	}
	return e
}

func allIn(texts, in []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !slices.Contains(in, text) })
}

func someIn(texts, in []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return slices.Contains(in, text) })
}

func (e *naiveEvidence) writes() bool { return !allIn(e.effects, naiveNoWrites) }
func (e *naiveEvidence) reads() bool  { return someIn(e.effects, naiveReads) }

// outside reports whether a path of a target is in none of the roots; own are those that `.` means.
func (e *naiveEvidence) outside(roots *frame.List, own []string) bool {
	for _, pair := range e.paths {
		for _, text := range pair {
			if !inRoots(text, roots, own) {
				return true
			}
		}
	}
	return false
}

func inRoots(text string, roots *frame.List, own []string) bool {
	return slices.ContainsFunc(wholeRoots(roots, own), func(root string) bool { return within(root, text) })
}

func wholeRoots(roots *frame.List, own []string) []string {
	var whole []string
	for _, root := range roots.Texts() {
		if root == "." {
			whole = append(whole, own...)
		} else {
			whole = append(whole, root)
		}
	}
	return whole
}

func (n *naiveProfiles) profiles() string {
	for _, judge := range []func() string{n.repository, n.filesystem, n.git, n.database} {
		if verdict := judge(); verdict != "" {
			return verdict
		}
	}
	return ""
}

func (n *naiveProfiles) repository() string {
	governed, files, _, _, _ := n.who()
	r := n.p.Profiles.Repository
	if !governed {
		return ""
	}
	e := n.evidence()
	if files && r.Roots != nil {
		if verdict := e.roots(r); verdict != "" {
			return verdict
		}
	}
	if frame.IsOn(r.ProtectGitHistory) {
		if files && e.code != "" {
			return "denied repository.protect_git_history " + e.code
		}
		if files && (e.writes() && e.touches(inGitFolder) || e.takesTree(wholeRoots(r.Roots, e.writable), n.metadata("git").Member("worktree"))) {
			return "denied repository.protect_git_history FILE_BLOCKED_PATH"
		}
	}
	if files && frame.IsOn(r.ProtectSensitiveFiles) {
		var listed []string
		if f := n.p.Profiles.Filesystem; f != nil {
			listed = f.ProtectedClasses.Texts()
		}
		if verdict := e.classified("repository.protect_sensitive_files", func(class string) bool {
			return slices.Contains(listed, class) || !slices.Contains(naiveOrdinary, class)
		}); verdict != "" {
			return verdict
		}
	}
	return ""
}

// repositoryGit judges a git operation, whose evidence is whole, by the repository profile.
func (n *naiveProfiles) repositoryGit() string {
	r, tree := n.p.Profiles.Repository, n.text("git", "worktree")
	switch {
	case r == nil:
	case frame.IsOn(r.ProtectGitHistory) && slices.Contains(naiveHistory, n.text("git", "operation")):
		return "denied repository.protect_git_history GIT_OPERATION_BLOCKED"
	case r.GitProviders != nil && !slices.Contains(r.GitProviders.Texts(), n.text("git", "provider")):
		return "denied repository.git_providers PROVIDER_UNSUPPORTED"
	case r.Roots != nil && !inRoots(tree, r.Roots, n.evidence().writable):
		return "denied repository.roots GIT_TOPOLOGY_UNTRUSTED"
	}
	return ""
}

// text returns a member of an object of metadata that is a string; "" for anything else.
func (n *naiveProfiles) text(object, name string) string {
	node := n.metadata(object).Member(name)
	if n.metadata(object).Kind() != vm.Object || node.Kind() != vm.String {
		return ""
	}
	return node.Text()
}

func (e *naiveEvidence) touches(test func(text string) bool) bool {
	return slices.ContainsFunc(e.paths, func(pair [2]string) bool { return test(pair[0]) || test(pair[1]) })
}

func (e *naiveEvidence) roots(r *profiles.Repository) string {
	if e.code != "" {
		return "denied repository.roots " + e.code
	}
	if e.writes() && e.touches(func(text string) bool {
		return slices.ContainsFunc(wholeRoots(r.Roots, e.writable), func(root string) bool { return strings.HasPrefix(root+"/", text+"/") })
	}) {
		return "denied repository.roots REPOSITORY_ROOT_MUTATION"
	}
	if frame.IsOn(r.BlockOutsideWrites) && e.writes() && e.outside(r.Roots, e.writable) {
		return "denied repository.block_outside_writes FILE_OUTSIDE_ROOT"
	}
	return ""
}

// classified judges classifications by a rule that denies some.
func (e *naiveEvidence) classified(rule string, denied func(class string) bool) string {
	switch {
	case e.code != "":
		return "denied " + rule + " " + e.code
	case slices.Contains(e.classes, ""):
		return "denied " + rule + " FILE_TARGET_UNTRUSTED"
	case !slices.ContainsFunc(e.classes, denied):
		return ""
	case slices.Contains(e.effects, "egress"):
		return "denied " + rule + " SENSITIVE_EGRESS"
	}
	return "denied " + rule + " SENSITIVE_FILE"
}

func (n *naiveProfiles) filesystem() string {
	_, _, governed, _, _ := n.who()
	f := n.p.Profiles.Filesystem
	if !governed {
		return ""
	}
	e := n.evidence()
	switch {
	case e.code != "":
		return "denied filesystem.actions " + e.code
	case f.AllowedEffects != nil && !allIn(e.effects, f.AllowedEffects.Texts()):
		return "denied filesystem.allowed_effects FILE_EFFECT_NOT_ALLOWED"
	case f.WriteRoots != nil && e.writes() && e.outside(f.WriteRoots, e.writable):
		return "denied filesystem.write_roots FILE_OUTSIDE_ROOT"
	case f.ReadRoots != nil && e.reads() && e.outside(f.ReadRoots, e.readable):
		return "denied filesystem.read_roots FILE_OUTSIDE_ROOT"
	case e.touches(func(text string) bool {
		clean, suspicious := fspath.Clean(text)
		return f.BlockedPaths != nil && (suspicious || slices.ContainsFunc(f.BlockedPaths.Texts(), func(entry string) bool { return match.CoversPath(entry, clean) }))
	}):
		return "denied filesystem.blocked_paths FILE_BLOCKED_PATH"
	case someIn(e.effects, naiveTakesAlong) && e.touches(func(text string) bool { return takesBlocked(f.BlockedPaths.Texts(), text) }):
		return "denied filesystem.blocked_paths FILE_BLOCKED_PATH"
	}
	if f.ProtectedClasses != nil {
		verdict := e.classified("filesystem.protected_file_classes", func(class string) bool {
			return slices.Contains(f.ProtectedClasses.Texts(), class) && (f.ProtectedEffects == nil || someIn(e.effects, f.ProtectedEffects.Texts()))
		})
		if verdict != "" {
			return verdict
		}
	}
	if f.MaxFiles != nil && uint64(len(e.paths)) > f.MaxFiles.N {
		return "denied filesystem.max_files_per_action IMPACT_LIMIT"
	}
	return ""
}

func (n *naiveProfiles) git() string {
	_, _, _, governed, _ := n.who()
	g := n.p.Profiles.Git
	if !governed {
		return ""
	}
	operation, updates := n.text("git", "operation"), n.metadata("git").Member("ref_updates")
	var refs []string
	forced, malformed := false, false
	if updates.Kind() != vm.Missing && updates.Kind() != vm.Null {
		all, ok := nodes(updates)
		malformed = !ok || len(all) == 0
		for _, update := range all {
			ref, forward := update.Member("ref"), update.Member("fast_forward")
			malformed = malformed || update.Kind() != vm.Object || ref.Kind() != vm.String || noRef.MatchString(ref.Text())
			refs = append(refs, ref.Text())
			forced = forced || forward.Kind() != vm.Bool || forward.Text() != "true"
		}
	}
	moves := slices.Contains([]string{"commit", "reset_hard", "rewrite_history"}, operation)
	branch, hasBranch := n.metadata("git").Member("branch"), false
	if moves && branch.Kind() != vm.Missing && branch.Kind() != vm.Null {
		hasBranch = true
		malformed = malformed || branch.Kind() != vm.String || noRef.MatchString(branch.Text())
	}
	blocked := "GIT_OPERATION_BLOCKED"
	if slices.Contains(naiveProvider, operation) {
		blocked = "PROVIDER_OPERATION_BLOCKED"
	}
	switch {
	case !slices.Contains(naiveGit, operation), malformed, len(refs) == 0 && slices.Contains(naiveNeedsRefs, operation):
		return "denied git.actions GIT_METADATA_REQUIRED"
	case n.text("git", "repository_id") == "" || !isCanonical(n.text("git", "worktree")):
		return "denied git.actions GIT_TOPOLOGY_UNTRUSTED"
	}
	if verdict := n.repositoryGit(); verdict != "" {
		return verdict
	}
	switch {
	case g.Providers != nil && !slices.Contains(g.Providers.Texts(), n.text("git", "provider")):
		return "denied git.providers PROVIDER_UNSUPPORTED"
	case g.RemoteSchemes != nil && slices.Contains(naiveRemote, operation) && !slices.Contains(g.RemoteSchemes.Texts(), strings.ToLower(n.text("git", "remote_scheme"))):
		return "denied git.allowed_remote_schemes GIT_TOPOLOGY_UNTRUSTED"
	case slices.Contains(g.Blocked.Texts(), operation):
		return "denied git.blocked_operations " + blocked
	case g.Allowed != nil && !slices.Contains(g.Allowed.Texts(), operation):
		return "denied git.allowed_operations " + blocked
	case forced && (operation == "push_fast_forward" || operation == "pull_ff_only"):
		return "denied git.allowed_operations GIT_OPERATION_BLOCKED"
	case g.ProtectedRefs == nil:
		return ""
	case slices.ContainsFunc(refs, func(ref string) bool { return refCovered(g.ProtectedRefs, ref) }),
		hasBranch && refCovered(g.ProtectedRefs, branch.Text()),
		!hasBranch && moves && operation != "commit",
		operation == "change_protection", operation == "delete_repository":
		return "denied git.protected_refs GIT_REF_NOT_ALLOWED"
	}
	return ""
}

func refCovered(list *frame.List, ref string) bool {
	for _, listed := range list.Texts() {
		for _, pattern := range naiveNames(listed) {
			for _, form := range naiveNames(ref) {
				if start, open := strings.CutSuffix(pattern, "*"); form == start && !open || open && strings.HasPrefix(form, start) {
					return true
				}
			}
		}
	}
	return false
}

// naiveNames returns a ref's name and, where it is short, the whole ones that it means.
func naiveNames(ref string) []string {
	if strings.HasPrefix(ref, "refs/") {
		return []string{ref}
	}
	return []string{ref, "refs/" + ref, "refs/heads/" + ref, "refs/tags/" + ref}
}

func (n *naiveProfiles) database() string {
	_, _, _, _, governed := n.who()
	d := n.p.Profiles.Database
	if !governed {
		return ""
	}
	db := n.metadata("database")
	count := db.Member("statement_count")
	listed, _ := nodes(db.Member("operations"))
	operations, resources := strs(db.Member("operations")), strs(db.Member("resources"))
	statements, err := strconv.ParseUint(count.Text(), 10, 64)
	counted := err == nil && statements > 0 && count.Kind() == vm.Number
	environment := strings.ToLower(n.text("database", "environment"))
	onlySelect := allIn(operations, []string{"select"})
	switch {
	case len(listed) == 0 || count.Kind() == vm.Missing || count.Kind() == vm.Null:
		return "denied database.actions DATABASE_METADATA_REQUIRED"
	case operations == nil || !allIn(operations, naiveDatabase) || !counted:
		return "denied database.actions DATABASE_PARSE_FAILED"
	case d.Environments != nil && (environment == "" || strings.ContainsAny(environment, " \t\n")):
		return "denied database.protected_environments DATABASE_METADATA_REQUIRED"
	case slices.Contains(d.Environments.Texts(), environment) && !onlySelect:
		return "denied database.protected_environments DATABASE_OPERATION_NOT_ALLOWED"
	case d.Allowed != nil && !allIn(operations, d.Allowed.Texts()):
		return "denied database.allowed_operations DATABASE_OPERATION_NOT_ALLOWED"
	case d.Resources != nil && (len(resources) == 0 || slices.ContainsFunc(resources, func(name string) bool { return !resourceCovered(d.Resources, name) })):
		return "denied database.allowed_resources DATABASE_RESOURCE_NOT_ALLOWED"
	case d.Routines != nil && slices.Contains(operations, "execute_routine") && (len(resources) == 0 || !allIn(resources, d.Routines.Texts())):
		return "denied database.routine_catalog DATABASE_ROUTINE_NOT_ALLOWED"
	}
	capabilities := strings.Split(strings.ToLower(strings.Join(strs(db.Member("credential_capabilities")), "\n")), "\n")
	if frame.IsOn(d.ReadOnlyForSelect) && onlySelect && !allIn(capabilities, strings.Fields("select read read_only")) {
		return "denied database.require_read_only_for_select DATABASE_CAPABILITY_UNTRUSTED"
	}
	indirect := strings.Fields("create_routine replace_routine change_trigger")
	if d.Routines == nil {
		indirect = append(indirect, "execute_routine")
	}
	if frame.IsOn(d.DenyIndirect) && someIn(operations, indirect) {
		return "denied database.deny_unreviewed_indirect_effects DATABASE_ROUTINE_NOT_ALLOWED"
	}
	return ""
}

// held returns the first hold, or that there is none.
func (n *naiveProfiles) held() string {
	_, _, _, git, database := n.who()
	switch {
	case git && slices.Contains(n.p.Profiles.Git.Approval.Texts(), n.text("git", "operation")):
		return "pending git.require_approval"
	case database && someIn(strs(n.metadata("database").Member("operations")), n.p.Profiles.Database.Approval.Texts()):
		return "pending database.require_approval"
	}
	return "allowed"
}

// limits judges what the impact limits need of one intent: a task, and bytes.
func (n *naiveProfiles) limits() string {
	_, _, filesystem, git, database := n.who()
	e := n.evidence()
	unknown := func(effects []string) bool { return someIn(e.effects, effects) && slices.Contains(e.bytes, -1) }
	type limit struct {
		limit   *frame.Count
		rule    string
		unknown bool
	}
	var limits []limit
	if filesystem {
		f := n.p.Profiles.Filesystem
		limits = append(limits, limit{f.MaxBytesWritten, "filesystem.max_bytes_written_per_task", unknown(naiveWritesBytes)},
			limit{f.MaxBytesDeleted, "filesystem.max_bytes_deleted_per_task", unknown(naiveDeletesBytes)},
			limit{f.MaxDestructive, "filesystem.max_destructive_effects_per_task", false})
	}
	if git {
		limits = append(limits, limit{n.p.Profiles.Git.MaxRefChanges, "git.max_ref_changes_per_task", false})
	}
	if database {
		limits = append(limits, limit{n.p.Profiles.Database.MaxSchemaChanges, "database.max_schema_changes_per_task", false})
	}
	for _, l := range limits {
		switch {
		case l.limit == nil:
		case !n.in.Has(slot.TaskID):
			return "denied " + l.rule + " TASK_ID_REQUIRED"
		case l.unknown:
			return "denied " + l.rule + " IMPACT_LIMIT"
		}
	}
	return ""
}
