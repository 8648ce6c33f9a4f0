package compiler

import (
	"strings"

	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
)

// Git is the section `## git`: operations on git repositories.
type Git struct {
	Heading
	Actions           *List // action patterns in lower case
	FilesystemActions *List // the same
	Providers         *List
	RemoteSchemes     *List
	Allowed           *List
	Approval          *List // of Allowed
	Blocked           *List // none of Allowed
	ProtectedRefs     *List // refs, or the beginning of refs and `*`
	MaxRefChanges     *Count
	RequireShim       *Flag
}

var refLists = namesOf(TypeRefs, checkRef)

var (
	keyGitActions = key(actionPatterns, func(p *Policy) **List { return &p.Git.Actions }, Key{Name: "actions",
		Code: errcode.GitMetadata, Codes: []errcode.Code{errcode.GitTopology},
		Doc: "The actions that this profile governs, and thereby grants to tools.", Example: "actions: git.*"})

	keyGitFilesystemActions = key(actionPatterns, func(p *Policy) **List { return &p.Git.FilesystemActions }, Key{Name: "filesystem_actions",
		Rule: "git.actions", Code: errcode.GitMetadata, Codes: []errcode.Code{errcode.GitTopology},
		Doc:     "Further actions of this profile, whose files the profiles filesystem and repository judge too.",
		Example: "filesystem_actions: git.checkout"})

	keyGitProviders = key(choices, func(p *Policy) **List { return &p.Git.Providers }, Key{Name: "providers", Values: resource.GitProviders(),
		Code: errcode.Provider,
		Doc:  "The hosts of git repositories that may be worked with.", Example: "providers: github"})

	keyGitSchemes = key(choices, func(p *Policy) **List { return &p.Git.RemoteSchemes }, Key{Name: "allowed_remote_schemes", Values: resource.RemoteSchemes(),
		Code: errcode.GitTopology,
		Doc:  "How remotes may be reached.", Example: "allowed_remote_schemes: https, ssh"})

	keyGitAllowed = key(choices, func(p *Policy) **List { return &p.Git.Allowed }, Key{Name: "allowed_operations", Values: resource.GitOperations(),
		Code: errcode.GitOperation, Codes: []errcode.Code{errcode.ProviderOperation},
		Doc: "The operations that may happen.", Example: "allowed_operations: status, diff, commit, push_fast_forward"})

	keyGitApproval = key(choices, func(p *Policy) **List { return &p.Git.Approval }, Key{Name: "require_approval", Blocks: true, Values: resource.GitOperations(),
		Code: errcode.HoldApproval,
		Doc:  "The operations on which a person has to decide.", Example: "require_approval: push_fast_forward"})

	keyGitBlocked = key(choices, func(p *Policy) **List { return &p.Git.Blocked }, Key{Name: "blocked_operations", Blocks: true, Values: resource.GitOperations(),
		Code: errcode.GitOperation, Codes: []errcode.Code{errcode.ProviderOperation},
		Doc: "The operations that may not happen, listed in `allowed_operations` or not.", Example: "blocked_operations: force_push, delete_repository"})

	keyGitRefs = key(refLists, func(p *Policy) **List { return &p.Git.ProtectedRefs }, Key{Name: "protected_refs", Blocks: true,
		Code:    errcode.GitRef,
		Doc:     "Refs that may not change: exact, or the beginning of refs and `*`; `main` covers the branch and the tag. Where it is declared, `reset_hard` and `rewrite_history` need `metadata.git.branch`, and `change_protection` and `delete_repository` are denied.",
		Example: "protected_refs: main, refs/heads/release/*"})

	keyRefChanges = key(counts, func(p *Policy) **Count { return &p.Git.MaxRefChanges }, Key{Name: "max_ref_changes_per_task",
		Code: errcode.ImpactLimit, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc: "How many refs a task may update.", Example: "max_ref_changes_per_task: 10"})

	keyGitShim = profileShimKey(func(p *Policy) **Flag { return &p.Git.RequireShim })
)

var git = profile(section("git", v21, "A resource profile: operations on git.", func(p *Policy) **Git { return &p.Git },
	keyGitActions, keyGitFilesystemActions, keyGitProviders, keyGitSchemes, keyGitAllowed, keyGitApproval,
	keyGitBlocked, keyGitRefs, keyRefChanges, keyGitShim))

// checkRef checks a protected ref: exact, or the beginning of refs and `*`.
func checkRef(text string) problem {
	if strings.Contains(strings.TrimSuffix(text, "*"), "*") {
		return problem{CodeRef, "`" + shorten(text) + "` has a `*` that is not at its end", "write a ref, or the beginning of refs and one `*` at its end"}
	}
	name, open := strings.CutSuffix(text, "*")
	if open {
		name += "x" // any that the pattern covers
	}
	if why := resource.WhyNoRef(name); why != "" && text != "" {
		return problem{CodeRef, "`" + shorten(text) + "` covers no ref: it " + why, "write a name that `git check-ref-format` takes, such as `main` or `refs/heads/release/*`"}
	}
	return checkName(text)
}
