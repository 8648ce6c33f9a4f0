package gen

import (
	"slices"
	"strings"
)

func (b *builder) addRepository() {
	s := b.section("repository")
	if b.r.Chance(70) {
		s.raw("roots", b.r.Some(2, roots...))
		b.maybeFlag(s, "block_outside_writes")
	}
	b.maybeFlag(s, "protect_git_history")
	b.maybeFlag(s, "protect_sensitive_files")
	b.maybeRaw(s, "git_providers", 3, providers)
	s.scalar("require_shim", "true")
}

func (b *builder) addFilesystem() {
	s := b.section("filesystem")
	s.raw("actions", b.r.Some(3, "fs.*", "file_write", "bash", "fs.edit", "mcp.files.*", "read", "contract.*"))
	b.wide(s)
	b.maybeRaw(s, "write_roots", 2, roots)
	b.maybeRaw(s, "read_roots", 2, roots)
	b.maybeRaw(s, "allowed_effects", 12, effects)
	b.maybeRaw(s, "blocked_paths", 3, []string{"/etc", "~/.ssh", ".env", ".git/hooks"})
	b.maybeRaw(s, "protected_file_classes", 2, classes)
	b.maybeRaw(s, "protected_effects", 4, effects)
	b.maybeCount(s, "max_files_per_action")
	b.maybeCount(s, "max_bytes_written_per_task")
	b.maybeCount(s, "max_bytes_deleted_per_task")
	b.maybeCount(s, "max_destructive_effects_per_task")
	s.scalar("require_shim", "true")
}

func (b *builder) addGit() {
	s := b.section("git")
	s.raw("actions", b.r.Some(2, "git.*", "git.push", "deploy", "mcp.github.*"))
	b.wide(s)
	if b.r.Chance(b.density / 2) {
		s.raw("filesystem_actions", b.r.Some(2, "git.checkout", "fs.*"))
	}
	b.maybeRaw(s, "providers", 3, providers)
	b.maybeRaw(s, "allowed_remote_schemes", 2, []string{"https", "ssh"})
	b.operations(s, gitOperations)
	if allowed := s.Find("allowed_operations"); b.r.Chance(b.density / 2) {
		blocked := b.r.Some(4, gitOperations...)
		if allowed != nil { // one in both lists is an error
			blocked = slices.DeleteFunc(blocked, func(o string) bool { return slices.Contains(allowed.Values, o) })
		}
		if len(blocked) > 0 {
			s.raw("blocked_operations", blocked)
		}
	}
	b.maybeRaw(s, "protected_refs", 2, refs)
	b.maybeCount(s, "max_ref_changes_per_task")
	s.scalar("require_shim", "true")
}

// wide now and then lets a profile govern everything.
func (b *builder) wide(s *Section) {
	if actions := s.Find("actions"); b.r.Chance(3) {
		actions.Values = append(actions.Values, "*")
	}
}

// operations adds the operations that are allowed, and of them some that a person has to approve.
func (b *builder) operations(s *Section, pool []string) {
	if !b.may() {
		return
	}
	allowed := b.r.Some(len(pool), pool...)
	s.raw("allowed_operations", allowed)
	if b.may() {
		s.raw("require_approval", b.r.Some(2, allowed...))
	}
}

func (b *builder) addDatabase() {
	s := b.section("database")
	s.raw("actions", b.r.Some(2, "db.*", "db.query", "mcp.pg.*", "model.*"))
	b.wide(s)
	b.maybeRaw(s, "protected_environments", 2, []string{"prod", "Staging"})
	b.operations(s, databaseOperations)
	b.maybeRaw(s, "allowed_resources", 4, resources)
	b.maybeRaw(s, "routine_catalog", 2, routines)
	b.maybeFlag(s, "require_read_only_for_select")
	b.maybeFlag(s, "deny_unreviewed_indirect_effects")
	b.maybeCount(s, "max_schema_changes_per_task")
	b.maybeCount(s, "statement_timeout_ms")
	s.scalar("require_shim", "true")
}

// covers reports whether an action pattern covers an action, in lower case.
func covers(pattern, action string) bool {
	pattern = strings.ToLower(pattern)
	if start, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(action, start)
	}
	return pattern == action
}
