package compiler

import (
	"slices"

	"bailiff/grammar"
)

// openProfile puts the section of a resource profile into the policy.
func (c *checker) openProfile(section *grammar.Section) {
	p, span := &c.policy.Profiles, section.Heading.Span
	switch {
	case section.Name == "repository" && p.Repository == nil:
		p.Repository = &Repository{Span: span}
	case section.Name == "filesystem" && p.Filesystem == nil:
		p.Filesystem = &Filesystem{Span: span}
	case section.Name == "git" && p.Git == nil:
		p.Git = &Git{Span: span}
	case section.Name == "database" && p.Database == nil:
		p.Database = &Database{Span: span}
	}
}

// readProfile reads one entry of a resource profile, and reports whether it knows the key.
func (c *checker) readProfile(row *Key, entry *grammar.Entry) bool {
	c.unquoted(row, entry.Value)
	switch row.Section {
	case "repository":
		return c.readRepository(row, entry)
	case "filesystem":
		return c.readFilesystem(row, entry) || c.readImpact(row, entry)
	case "git":
		return c.readGit(row, entry)
	case "database":
		return c.readDatabase(row, entry) || c.readDatabaseLimits(row, entry)
	}
	return false
}

func (c *checker) readRepository(row *Key, entry *grammar.Entry) bool {
	r := c.policy.Profiles.Repository
	switch row.Name {
	case "roots":
		r.Roots = c.roots(entry)
	case "block_outside_writes":
		r.BlockOutsideWrites = c.boolean(entry)
	case "protect_git_history":
		r.ProtectGitHistory = c.boolean(entry)
	case "protect_sensitive_files":
		r.ProtectSensitiveFiles = c.boolean(entry)
	case "git_providers":
		r.GitProviders = c.choices(row, entry)
	case nameShim:
		r.RequireShim = c.boolean(entry)
	default:
		return false
	}
	return true
}

func (c *checker) readFilesystem(row *Key, entry *grammar.Entry) bool {
	f := c.policy.Profiles.Filesystem
	switch row.Name {
	case "actions":
		f.Actions = c.patterns(entry)
	case "write_roots":
		f.WriteRoots = c.roots(entry)
	case "read_roots":
		f.ReadRoots = c.roots(entry)
	case "allowed_effects":
		f.AllowedEffects = c.choices(row, entry)
	case "blocked_paths":
		f.BlockedPaths = c.blockedFiles(entry)
	case "protected_file_classes":
		f.ProtectedClasses = c.nameList(entry, checkName)
	case "protected_class_catalog":
		f.ClassCatalog = c.oneName(entry)
	case "protected_effects":
		f.ProtectedEffects = c.choices(row, entry)
	case nameShim:
		f.RequireShim = c.boolean(entry)
	default:
		return false
	}
	return true
}

func (c *checker) readImpact(row *Key, entry *grammar.Entry) bool {
	f := c.policy.Profiles.Filesystem
	switch row.Name {
	case "max_files_per_action":
		f.MaxFiles = c.integer(entry, 1, maxCount)
	case "max_bytes_written_per_task":
		f.MaxBytesWritten = c.integer(entry, 1, maxCount)
	case "max_bytes_deleted_per_task":
		f.MaxBytesDeleted = c.integer(entry, 1, maxCount)
	case "max_destructive_effects_per_task":
		f.MaxDestructive = c.integer(entry, 1, maxCount)
	default:
		return false
	}
	return true
}

func (c *checker) readGit(row *Key, entry *grammar.Entry) bool {
	g := c.policy.Profiles.Git
	switch row.Name {
	case "actions":
		g.Actions = c.patterns(entry)
	case "filesystem_actions":
		g.FilesystemActions = c.patterns(entry)
	case "providers":
		g.Providers = c.choices(row, entry)
	case "allowed_remote_schemes":
		g.RemoteSchemes = c.choices(row, entry)
	case "allowed_operations":
		g.Allowed = c.choices(row, entry)
	case nameApproval:
		g.Approval = c.choices(row, entry)
	case "blocked_operations":
		g.Blocked = c.choices(row, entry)
	case "protected_refs":
		g.ProtectedRefs = c.nameList(entry, checkRef)
	case "max_ref_changes_per_task":
		g.MaxRefChanges = c.integer(entry, 1, maxCount)
	case nameShim:
		g.RequireShim = c.boolean(entry)
	default:
		return false
	}
	return true
}

func (c *checker) readDatabase(row *Key, entry *grammar.Entry) bool {
	d := c.policy.Profiles.Database
	switch row.Name {
	case "actions":
		d.Actions = c.patterns(entry)
	case "protected_environments":
		d.Environments = lowered(c.nameList(entry, checkName))
	case "allowed_operations":
		d.Allowed = c.choices(row, entry)
	case nameApproval:
		d.Approval = c.choices(row, entry)
	case "allowed_resources":
		d.Resources = c.nameList(entry, checkResource)
	case "routine_catalog":
		d.Routines = c.nameList(entry, checkName)
	case "require_read_only_for_select":
		d.ReadOnlyForSelect = c.boolean(entry)
	case "deny_unreviewed_indirect_effects":
		d.DenyIndirect = c.boolean(entry)
	case nameShim:
		d.RequireShim = c.boolean(entry)
	default:
		return false
	}
	return true
}

func (c *checker) readDatabaseLimits(row *Key, entry *grammar.Entry) bool {
	d := c.policy.Profiles.Database
	switch row.Name {
	case "max_schema_changes_per_task":
		d.MaxSchemaChanges = c.integer(entry, 1, maxCount)
	case "statement_timeout_ms":
		d.StatementTimeoutMs = c.integer(entry, 1, maxCount)
	case "lock_timeout_ms":
		d.LockTimeoutMs = c.integer(entry, 1, maxCount)
	default:
		return false
	}
	return true
}

// finishProfiles checks what concerns several entries of the resource profiles.
func (c *checker) finishProfiles() {
	p := &c.policy.Profiles
	if r := p.Repository; r != nil && isOn(r.BlockOutsideWrites) && r.Roots == nil && !c.lost("repository", "roots") {
		c.add(grammar.At(CodeOutsideOfNothing, r.BlockOutsideWrites.Span, "`block_outside_writes` needs `roots`, outside of which nothing is written").
			WithHint("name them: `roots: .` for those that the shim reports, or `roots: /workspace/repository`"))
	}
	if g := p.Git; g != nil {
		c.checkBlocked(g.Allowed, g.Blocked)
		c.checkApproval("git", g.Allowed, g.Approval)
	}
	if d := p.Database; d != nil {
		c.checkApproval("database", d.Allowed, d.Approval)
	}
}

// checkBlocked warns of operations that are both allowed and blocked.
func (c *checker) checkBlocked(allowed, blocked *List) {
	if blocked == nil {
		return
	}
	for _, item := range blocked.Items {
		if slices.Contains(allowed.texts(), item.Text) {
			c.add(grammar.At(CodeAllowedAndBlocked, item.Span, "`%s` is in `allowed_operations` too, and is denied", item.Text).
				WithHint("remove it from `allowed_operations`"))
		}
	}
}

// checkApproval reports operations on which a person would have to decide, and which are denied before.
func (c *checker) checkApproval(section string, allowed, approval *List) {
	if allowed == nil || approval == nil || c.lost(section, "allowed_operations") {
		return
	}
	for _, item := range approval.Items {
		if !slices.Contains(allowed.texts(), item.Text) {
			c.add(grammar.At(CodeApprovalDenied, item.Span, "`%s` is not in `allowed_operations`, so it is denied before anybody could approve it", item.Text).
				WithHint("add it to `allowed_operations` if a person is to decide; as it is, it is denied"))
		}
	}
}
