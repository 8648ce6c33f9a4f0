package compiler

import (
	"slices"

	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
)

// The types of values that only resource profiles have. None of their values is written between quotes.
const (
	TypeRoots     Type = "list of roots"
	TypeRefs      Type = "list of refs"
	TypeResources Type = "list of resource patterns"
)

// profileKeys are the keys of the resource profiles: `## repository`, `## filesystem`, `## git`, `## database`.
var profileKeys = slices.Concat(repositoryKeys, filesystemKeys, gitKeys, databaseKeys)

var repositoryKeys = []Key{
	{Section: "repository", Name: "roots", Type: TypeRoots, Since: v21,
		Rule: "repository.roots", Code: errcode.RootMutation, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.GitTopology},
		Doc:     "The directories that make up the repository, which nothing may replace as a whole; `.` stands for the roots that the shim reports.",
		Example: "roots: /workspace/repository"},
	{Section: "repository", Name: "block_outside_writes", Type: TypeBoolean, Since: v21,
		Rule: "repository.block_outside_writes", Code: errcode.FileOutsideRoot,
		Doc: "Whether files outside of `roots` may only be read.", Example: "block_outside_writes: true"},
	{Section: "repository", Name: "protect_git_history", Type: TypeBoolean, Since: v21,
		Rule: "repository.protect_git_history", Code: errcode.FileBlockedPath, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.GitOperation},
		Doc:     "Whether nothing may write to `.git` or below it, in any spelling of that name, nor delete, move or copy away the work tree (`metadata.git.worktree`, or a root) that holds it; and git operations that can lose commits or refs are denied.",
		Example: "protect_git_history: true"},
	{Section: "repository", Name: "protect_sensitive_files", Type: TypeBoolean, Since: v21,
		Rule: "repository.protect_sensitive_files", Code: errcode.SensitiveFile, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.SensitiveEgress},
		Doc:     "Whether files may be touched only if they are classified as `none`, `normal`, `ordinary`, `public` or `source`.",
		Example: "protect_sensitive_files: true"},
	{Section: "repository", Name: "git_providers", Type: TypeWords, Since: v21, Values: resource.GitProviders(),
		Rule: "repository.git_providers", Code: errcode.Provider,
		Doc: "The hosts of git repositories that may be worked with.", Example: "git_providers: github, gitlab"},
	profileShimKey("repository"),
}

// profileShimKey returns the row of `require_shim` of a profile, which says nothing that is judged.
func profileShimKey(section string) Key {
	return Key{Section: section, Name: nameShim, Type: TypeBoolean, Since: v21, Default: "false",
		Doc:     "Says that a trusted shim watches over the profile, without which it is not deployed; governed intents need a shim whatever it says.",
		Example: "require_shim: true"}
}

var filesystemKeys = []Key{
	{Section: "filesystem", Name: "actions", Type: TypePatterns, Since: v21,
		Rule: "filesystem.actions", Code: errcode.FileEffectRequired, Codes: []errcode.Code{errcode.FilePathRequired, errcode.FileTarget},
		Doc:     "The actions that this profile governs, and thereby grants to tools.",
		Example: "actions: file.*, editor.save"},
	{Section: "filesystem", Name: "write_roots", Type: TypeRoots, Since: v21,
		Rule: "filesystem.write_roots", Code: errcode.FileOutsideRoot,
		Doc: "The directories in which files may be changed.", Example: "write_roots: ."},
	{Section: "filesystem", Name: "read_roots", Type: TypeRoots, Since: v21,
		Rule: "filesystem.read_roots", Code: errcode.FileOutsideRoot,
		Doc: "The directories in which files may be read.", Example: "read_roots: ., /usr/share"},
	{Section: "filesystem", Name: "allowed_effects", Type: TypeWords, Since: v21, Values: resource.Effects(),
		Rule: "filesystem.allowed_effects", Code: errcode.FileEffect,
		Doc: "What may be done to files.", Example: "allowed_effects: read, create, overwrite"},
	{Section: "filesystem", Name: "blocked_paths", Type: TypePaths, Since: v21, Blocks: true,
		Rule: "filesystem.blocked_paths", Code: errcode.FileBlockedPath,
		Doc: "Paths that may not be touched, with all that is below them, read as `file_write.blocked_paths`. Effects that reach what a directory holds (`delete`, `rename`, `copy`, `chmod`, `chown`, `xattr`, `hard_link`, `egress`) are denied on the directories above an entry with a leading `/` or `~`, too; what an entry without one names inside of a directory is not known.", Example: "blocked_paths: ~/.ssh, .env*"},
	{Section: "filesystem", Name: "protected_file_classes", Type: TypeNames, Since: v21, Blocks: true,
		Rule: "filesystem.protected_file_classes", Code: errcode.SensitiveFile, Codes: []errcode.Code{errcode.FileTarget, errcode.SensitiveEgress},
		Doc:     "Classifications of files that may not be touched, or not with `protected_effects`.",
		Example: "protected_file_classes: secret, credential"},
	{Section: "filesystem", Name: "protected_class_catalog", Type: TypeName, Since: v21,
		Doc: "The name of the catalogue by which the shim classifies files; it is not judged.", Example: "protected_class_catalog: default-v1"},
	{Section: "filesystem", Name: "protected_effects", Type: TypeWords, Since: v21, Blocks: true, Values: resource.Effects(),
		Doc:     "The effects from which `protected_file_classes` protects; without it, from all.",
		Example: "protected_effects: read, egress"},
	{Section: "filesystem", Name: "max_files_per_action", Type: TypeInteger, Since: v21,
		Rule: "filesystem.max_files_per_action", Code: errcode.ImpactLimit,
		Doc: "How many files one action may touch.", Example: "max_files_per_action: 20"},
	{Section: "filesystem", Name: "max_bytes_written_per_task", Type: TypeInteger, Since: v21,
		Rule: "filesystem.max_bytes_written_per_task", Code: errcode.ImpactLimit, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc: "How many bytes a task may write.", Example: "max_bytes_written_per_task: 10485760"},
	{Section: "filesystem", Name: "max_bytes_deleted_per_task", Type: TypeInteger, Since: v21,
		Rule: "filesystem.max_bytes_deleted_per_task", Code: errcode.ImpactLimit, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc: "How many bytes a task may delete.", Example: "max_bytes_deleted_per_task: 1048576"},
	{Section: "filesystem", Name: "max_destructive_effects_per_task", Type: TypeInteger, Since: v21,
		Rule: "filesystem.max_destructive_effects_per_task", Code: errcode.ImpactLimit, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc:     "How often a task may overwrite, truncate, delete or rename a file.",
		Example: "max_destructive_effects_per_task: 50"},
	profileShimKey("filesystem"),
}

var gitKeys = []Key{
	{Section: "git", Name: "actions", Type: TypePatterns, Since: v21,
		Rule: "git.actions", Code: errcode.GitMetadata, Codes: []errcode.Code{errcode.GitTopology},
		Doc: "The actions that this profile governs, and thereby grants to tools.", Example: "actions: git.*"},
	{Section: "git", Name: "filesystem_actions", Type: TypePatterns, Since: v21,
		Rule: "git.actions", Code: errcode.GitMetadata, Codes: []errcode.Code{errcode.GitTopology},
		Doc:     "Further actions of this profile, whose files the profiles filesystem and repository judge too.",
		Example: "filesystem_actions: git.checkout"},
	{Section: "git", Name: "providers", Type: TypeWords, Since: v21, Values: resource.GitProviders(),
		Rule: "git.providers", Code: errcode.Provider,
		Doc: "The hosts of git repositories that may be worked with.", Example: "providers: github"},
	{Section: "git", Name: "allowed_remote_schemes", Type: TypeWords, Since: v21, Values: resource.RemoteSchemes(),
		Rule: "git.allowed_remote_schemes", Code: errcode.GitTopology,
		Doc: "How remotes may be reached.", Example: "allowed_remote_schemes: https, ssh"},
	{Section: "git", Name: "allowed_operations", Type: TypeWords, Since: v21, Values: resource.GitOperations(),
		Rule: "git.allowed_operations", Code: errcode.GitOperation, Codes: []errcode.Code{errcode.ProviderOperation},
		Doc: "The operations that may happen.", Example: "allowed_operations: status, diff, commit, push_fast_forward"},
	{Section: "git", Name: nameApproval, Type: TypeWords, Since: v21, Blocks: true, Values: resource.GitOperations(),
		Rule: "git.require_approval", Code: errcode.HoldApproval,
		Doc: "The operations on which a person has to decide.", Example: "require_approval: push_fast_forward"},
	{Section: "git", Name: "blocked_operations", Type: TypeWords, Since: v21, Blocks: true, Values: resource.GitOperations(),
		Rule: "git.blocked_operations", Code: errcode.GitOperation, Codes: []errcode.Code{errcode.ProviderOperation},
		Doc: "The operations that may not happen, listed in `allowed_operations` or not.", Example: "blocked_operations: force_push, delete_repository"},
	{Section: "git", Name: "protected_refs", Type: TypeRefs, Since: v21, Blocks: true,
		Rule: "git.protected_refs", Code: errcode.GitRef,
		Doc:     "Refs that may not change: exact, or the beginning of refs and `*`; `main` covers the branch and the tag. Where it is declared, `reset_hard` and `rewrite_history` need `metadata.git.branch`, and `change_protection` and `delete_repository` are denied.",
		Example: "protected_refs: main, refs/heads/release/*"},
	{Section: "git", Name: "max_ref_changes_per_task", Type: TypeInteger, Since: v21,
		Rule: "git.max_ref_changes_per_task", Code: errcode.ImpactLimit, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc: "How many refs a task may update.", Example: "max_ref_changes_per_task: 10"},
	profileShimKey("git"),
}

var databaseKeys = []Key{
	{Section: "database", Name: "actions", Type: TypePatterns, Since: v21,
		Rule: "database.actions", Code: errcode.DatabaseMetadata, Codes: []errcode.Code{errcode.DatabaseParse},
		Doc: "The actions that this profile governs, and thereby grants to tools.", Example: "actions: db.*"},
	{Section: "database", Name: "protected_environments", Type: TypeNames, Since: v21, Blocks: true,
		Rule: "database.protected_environments", Code: errcode.DatabaseOperation, Codes: []errcode.Code{errcode.DatabaseMetadata},
		Doc: "Environments in which only `select` may happen, in any case.", Example: "protected_environments: production"},
	{Section: "database", Name: "allowed_operations", Type: TypeWords, Since: v21, Values: resource.DatabaseOperations(),
		Rule: "database.allowed_operations", Code: errcode.DatabaseOperation,
		Doc: "The operations that may happen.", Example: "allowed_operations: select, insert, update"},
	{Section: "database", Name: nameApproval, Type: TypeWords, Since: v21, Blocks: true, Values: resource.DatabaseOperations(),
		Rule: "database.require_approval", Code: errcode.HoldApproval,
		Doc: "The operations on which a person has to decide.", Example: "require_approval: update"},
	{Section: "database", Name: "allowed_resources", Type: TypeResources, Since: v21,
		Rule: "database.allowed_resources", Code: errcode.DatabaseResource,
		Doc:     "The tables and other things that may be touched; `*` crosses no dot unless it is last.",
		Example: "allowed_resources: app.public.*, app.*.events"},
	{Section: "database", Name: "routine_catalog", Type: TypeNames, Since: v21,
		Rule: "database.routine_catalog", Code: errcode.DatabaseRoutine,
		Doc: "The reviewed routines, which alone may be executed; exact.", Example: "routine_catalog: app.public.refresh_totals"},
	{Section: "database", Name: "require_read_only_for_select", Type: TypeBoolean, Since: v21,
		Rule: "database.require_read_only_for_select", Code: errcode.DatabaseCapability,
		Doc:     "Whether what only selects needs a credential that can only read.",
		Example: "require_read_only_for_select: true"},
	{Section: "database", Name: "deny_unreviewed_indirect_effects", Type: TypeBoolean, Since: v21,
		Rule: "database.deny_unreviewed_indirect_effects", Code: errcode.DatabaseRoutine,
		Doc:     "Whether routines and triggers may not be put in place, nor routines executed without `routine_catalog`.",
		Example: "deny_unreviewed_indirect_effects: true"},
	{Section: "database", Name: "max_schema_changes_per_task", Type: TypeInteger, Since: v21,
		Rule: "database.max_schema_changes_per_task", Code: errcode.ImpactLimit, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc: "How many changes of schema a task may make; where one operation changes it, every statement counts.", Example: "max_schema_changes_per_task: 5"},
	{Section: "database", Name: "statement_timeout_ms", Type: TypeInteger, Since: v21,
		Doc: "How long a statement may take; the shim sets it on its session.", Example: "statement_timeout_ms: 5000"},
	{Section: "database", Name: "lock_timeout_ms", Type: TypeInteger, Since: v21,
		Doc: "How long a statement may wait for a lock; the shim sets it on its session.", Example: "lock_timeout_ms: 1000"},
	profileShimKey("database"),
}
