package oracle

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/vm/errcode"
)

// The operations of git (the format's facts, "Resource profiles") and the classes that section "Git" makes of them.
var (
	gitOperations = strings.Fields(`status diff log add commit fetch pull_ff_only push_fast_forward create_branch create_tag
		reset_hard clean rewrite_history delete_ref force_push mirror_push prune_remote change_remote change_protection
		change_credentials delete_repository`)
	updatingOperations = strings.Fields(`push_fast_forward force_push mirror_push delete_ref rewrite_history create_branch create_tag`)
	remoteOperations   = strings.Fields(`fetch pull_ff_only push_fast_forward force_push mirror_push prune_remote change_remote`)
	historyOperations  = strings.Fields(`reset_hard rewrite_history delete_ref force_push mirror_push prune_remote`)
	providerOperations = strings.Fields(`change_protection change_credentials delete_repository`)
	branchOperations   = strings.Fields(`reset_hard rewrite_history commit`)
	unnamedOperations  = strings.Fields(`change_protection delete_repository`) // which change refs without a name
)

// gitRules is the table of section "Git", row by row, but for the limit of tasks (step 7).
func (j *judgement) gitRules() {
	if !j.gitGoverns() {
		return
	}
	if fault := j.gitEvidence(); fault != "" {
		j.deny("git.actions", fault)
		return // what is not credible is not judged further
	}
	j.repositoryOfGit()
	g, operation := j.p.git, j.metadata("git", "operation").text
	if g.has("providers") && !slices.Contains(g.list("providers"), j.metadata("git", "provider").text) {
		j.deny("git.providers", errcode.Provider)
	}
	if g.has("allowed_remote_schemes") && slices.Contains(remoteOperations, operation) &&
		!slices.Contains(g.list("allowed_remote_schemes"), j.metadata("git", "remote_scheme").text) {
		j.deny("git.allowed_remote_schemes", errcode.GitTopology)
	}
	refusal := errcode.GitOperation
	if slices.Contains(providerOperations, operation) {
		refusal = errcode.ProviderOperation
	}
	if slices.Contains(g.list("blocked_operations"), operation) {
		j.deny("git.blocked_operations", refusal)
	}
	switch {
	case g.has("allowed_operations") && !slices.Contains(g.list("allowed_operations"), operation):
		j.deny("git.allowed_operations", refusal)
	case (operation == "push_fast_forward" || operation == "pull_ff_only") && !j.allFastForward():
		j.deny("git.allowed_operations", errcode.GitOperation) // "(listed or not, declared or not)"
	}
	if g.has("protected_refs") && (slices.Contains(unnamedOperations, operation) || j.branchMissing() || j.protectedRefChanges()) {
		j.deny("git.protected_refs", errcode.GitRef)
	}
}

// repositoryOfGit is the rows of `repository` in the table.
func (j *judgement) repositoryOfGit() {
	r := j.p.repository
	if r.flag("protect_git_history") && slices.Contains(historyOperations, j.metadata("git", "operation").text) {
		j.deny("repository.protect_git_history", errcode.GitOperation)
	}
	if r.has("git_providers") && !slices.Contains(r.list("git_providers"), j.metadata("git", "provider").text) {
		j.deny("repository.git_providers", errcode.Provider)
	}
	if r.has("roots") && !insideAny(j.metadata("git", "worktree").text, j.roots(r.list("roots"), writable)) {
		j.deny("repository.roots", errcode.GitTopology)
	}
}

// gitEvidence is the two rows of `git.actions`; "" where what the shim says is complete.
func (j *judgement) gitEvidence() errcode.Code {
	operation := j.metadata("git", "operation")
	updates := j.metadata("git", "ref_updates")
	if operation.kind != textKind || !slices.Contains(gitOperations, operation.text) ||
		updates.kind != missingKind && !refUpdates(updates) ||
		updates.kind == missingKind && slices.Contains(updatingOperations, operation.text) || !j.branchReadable() {
		return errcode.GitMetadata
	}
	if id := j.metadata("git", "repository_id"); id.kind != textKind || id.text == "" {
		return errcode.GitTopology
	}
	if worktree := j.metadata("git", "worktree"); worktree.kind != textKind || !canonicalPath(worktree.text) {
		return errcode.GitTopology
	}
	return ""
}

// notRef finds what no name of a ref has (git check-ref-format), and the sign or dash that begins a refspec or an option.
var notRef = regexp.MustCompile(`^$|^@$|^[+-]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|\.$|(^|/)(\.|/|$)|\.lock(/|$)`)

// refUpdates reports whether v is an "array of objects with the name of a ref as `ref`", and not empty.
func refUpdates(v value) bool {
	updates := v.elements()
	for _, update := range updates {
		if !namesRef(update.member("ref")) {
			return false
		}
	}
	return len(updates) > 0
}

// namesRef: "`HEAD` in an update is GIT_METADATA_REQUIRED", "in any case", since it is another ref than the one of its name.
func namesRef(ref value) bool {
	return ref.kind == textKind && !strings.EqualFold(ref.text, "HEAD") && !notRef.MatchString(ref.text)
}

// branch returns `metadata.git.branch` where it "is judged as an update", for `reset_hard`, `rewrite_history` and `commit`.
func (j *judgement) branch() value {
	if !slices.Contains(branchOperations, j.metadata("git", "operation").text) {
		return value{}
	}
	return j.metadata("git", "branch")
}

func (j *judgement) branchReadable() bool {
	branch := j.branch()
	return branch.kind == missingKind || namesRef(branch)
}

// branchMissing: "missing, the first two are denied where refs are protected, `commit` passes".
func (j *judgement) branchMissing() bool {
	operation := j.metadata("git", "operation").text
	return slices.Contains(branchOperations, operation) && operation != "commit" && j.branch().kind == missingKind
}

// changedRefs are the names of the refs that change, as the shim spells them.
func (j *judgement) changedRefs() []string {
	var all []string
	for _, update := range j.metadata("git", "ref_updates").elements() {
		all = append(all, update.member("ref").text)
	}
	if branch := j.branch(); branch.kind == textKind {
		all = append(all, branch.text)
	}
	return all
}

// allFastForward reports whether no update is one "whose `fast_forward` is not `true`".
func (j *judgement) allFastForward() bool {
	for _, update := range j.metadata("git", "ref_updates").elements() {
		if forward := update.member("fast_forward"); forward.kind != boolKind || forward.text != "true" {
			return false
		}
	}
	return true
}

// protectedRefChanges: "A protected ref is exact or ends in one `*`. A name that does not begin with `refs/`, in the list
// or in an update, stands for itself and for what it is with `refs/`, `refs/heads/` or `refs/tags/` in front."
func (j *judgement) protectedRefChanges() bool {
	for _, protected := range j.p.git.list("protected_refs") {
		for _, changed := range j.changedRefs() {
			for _, pattern := range refSpellings(protected) {
				for _, ref := range refSpellings(changed) {
					if refCovered(pattern, ref) {
						return true
					}
				}
			}
		}
	}
	return false
}

func refSpellings(name string) []string {
	if strings.HasPrefix(name, "refs/") {
		return []string{name}
	}
	return []string{name, "refs/" + name, "refs/heads/" + name, "refs/tags/" + name}
}

func refCovered(pattern, ref string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(ref, prefix)
	}
	return ref == pattern
}
