package compiler

import (
	"bailiff/compiler/frame"
	"bailiff/compiler/profiles"
)

// profiles adds what the resource profiles say.
func (d *dumper) profiles(p *profiles.Profiles) {
	if r := p.Repository; r != nil {
		d.list("repository.roots", r.Roots)
		d.flag("repository.block_outside_writes", r.BlockOutsideWrites)
		d.flag("repository.protect_git_history", r.ProtectGitHistory)
		d.flag("repository.protect_sensitive_files", r.ProtectSensitiveFiles)
		d.list("repository.git_providers", r.GitProviders)
		d.flag("repository.require_shim", r.RequireShim)
	}
	if f := p.Filesystem; f != nil {
		d.list("filesystem.actions", f.Actions)
		d.list("filesystem.write_roots", f.WriteRoots)
		d.list("filesystem.read_roots", f.ReadRoots)
		d.list("filesystem.allowed_effects", f.AllowedEffects)
		d.list("filesystem.blocked_paths", f.BlockedPaths)
		d.list("filesystem.protected_file_classes", f.ProtectedClasses)
		if f.ClassCatalog != nil {
			d.line("filesystem.protected_class_catalog", f.ClassCatalog.Text)
		}
		d.list("filesystem.protected_effects", f.ProtectedEffects)
		d.count("filesystem.max_files_per_action", f.MaxFiles)
		d.count("filesystem.max_bytes_written_per_task", f.MaxBytesWritten)
		d.count("filesystem.max_bytes_deleted_per_task", f.MaxBytesDeleted)
		d.count("filesystem.max_destructive_effects_per_task", f.MaxDestructive)
		d.flag("filesystem.require_shim", f.RequireShim)
	}
	if g := p.Git; g != nil {
		d.list("git.actions", g.Actions)
		d.list("git.filesystem_actions", g.FilesystemActions)
		d.list("git.providers", g.Providers)
		d.list("git.allowed_remote_schemes", g.RemoteSchemes)
		d.list("git.allowed_operations", g.Allowed)
		d.list("git.require_approval", g.Approval)
		d.list("git.blocked_operations", g.Blocked)
		d.list("git.protected_refs", g.ProtectedRefs)
		d.count("git.max_ref_changes_per_task", g.MaxRefChanges)
		d.flag("git.require_shim", g.RequireShim)
	}
	if b := p.Database; b != nil {
		d.list("database.actions", b.Actions)
		d.list("database.protected_environments", b.Environments)
		d.list("database.allowed_operations", b.Allowed)
		d.list("database.require_approval", b.Approval)
		d.list("database.allowed_resources", b.Resources)
		d.list("database.routine_catalog", b.Routines)
		d.flag("database.require_read_only_for_select", b.ReadOnlyForSelect)
		d.flag("database.deny_unreviewed_indirect_effects", b.DenyIndirect)
		d.count("database.max_schema_changes_per_task", b.MaxSchemaChanges)
		d.count("database.statement_timeout_ms", b.StatementTimeoutMs)
		d.count("database.lock_timeout_ms", b.LockTimeoutMs)
		d.flag("database.require_shim", b.RequireShim)
	}
}

// flag adds a boolean.
func (d *dumper) flag(name string, f *frame.Flag) {
	if f != nil {
		d.line(name, f.On)
	}
}
