package lint

import (
	"path"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/profiles"
	"bailiff/grammar"
	"bailiff/vm/form/resource"
	"bailiff/vm/slot"
)

// lintProfiles warns of entries of resource profiles that are surely not meant.
func (c *linter) lintProfiles() {
	p := &c.policy.Profiles
	c.lintShims()
	if r := p.Repository; r != nil {
		c.lintRoots(r.Roots)
		if frame.IsOn(r.BlockOutsideWrites) && slices.Contains(r.Roots.Texts(), "/") {
			c.add(never(r.BlockOutsideWrites.Span, "block_outside_writes", "nothing is outside of the root `/`"))
		}
	}
	if p.Filesystem != nil {
		c.lintFilesystem()
	}
	if p.Git != nil {
		c.lintGit()
	}
	if p.Database != nil {
		c.lintDatabase()
	}
}

// lintShims warns of profiles that deployment refuses.
func (c *linter) lintShims() {
	for _, profile := range c.policy.Profiles.All() {
		span := profile.Span
		if profile.RequireShim != nil {
			span = profile.RequireShim.Span
		}
		if frame.IsOn(profile.RequireShim) {
			continue
		}
		d := grammar.At(codes.ShimNotRequired, span, "deployment refuses `## %s` without `require_shim: true`", profile.Name).
			WithHint("write `require_shim: true`")
		if profile.RequireShim != nil {
			d = d.WithFix(span, "require_shim: true")
		}
		c.add(d)
	}
}

// lintRoots warns of roots that another one covers.
func (c *linter) lintRoots(roots *frame.List) {
	if roots == nil {
		return
	}
	listed := map[string]bool{}
	for _, item := range roots.Items {
		listed[item.Text] = true
	}
	for _, item := range roots.Items {
		if above := rootAbove(item.Text, listed); above != "" {
			c.add(grammar.At(codes.RootBelow, item.Span, "`%s` is below `%s`, which covers it", frame.Shorten(item.Text), frame.Shorten(above)).
				WithHint("remove one of the two"))
		}
	}
}

// rootAbove returns the nearest listed directory above a root, or "".
func rootAbove(root string, listed map[string]bool) string {
	for root != "/" && root != profiles.OwnRoots {
		root = path.Dir(root)
		if listed[root] && root != profiles.OwnRoots {
			return root
		}
	}
	return ""
}

// lintGoverned warns of patterns that reach intents of a kind that a profile never grants.
func (c *linter) lintGoverned(lists ...*frame.List) {
	others := append(slices.Clone(slot.CoreEVMActions()), slot.ModelAction)
	if c.policy.EVM != nil {
		for _, action := range c.policy.EVM.Actions() {
			others = append(others, strings.ToLower(action.Text))
		}
	}
	slices.Sort(others)
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			if other := firstCovered(item.Text, others); other != "" {
				c.add(grammar.At(codes.GovernsOtherKind, item.Span, "`%s` is not a tool: the profile governs it and does not grant it", other).
					WithHint("name the tools that work on files, git or databases"))
			}
		}
	}
}

// firstCovered returns the first of the sorted actions that a pattern covers, or "". All are in lower case.
func firstCovered(pattern string, actions []string) string {
	start, isPrefix := strings.CutSuffix(pattern, "*")
	i, exact := slices.BinarySearch(actions, start)
	if i < len(actions) && (exact || isPrefix && strings.HasPrefix(actions[i], start)) {
		return actions[i]
	}
	return ""
}

// lintEmptyProfile warns of a profile that governs nothing.
func (c *linter) lintEmptyProfile(name string, span grammar.Span, governed []string) {
	if len(governed) == 0 {
		c.add(grammar.At(codes.GovernsNothing, span, "`## %s` names no actions, so it governs and grants nothing", name).
			WithHint("name them: `actions: %s`", map[string]string{"filesystem": "file.*", "git": "git.*", "database": "db.*"}[name]))
	}
}

func (c *linter) lintFilesystem() {
	p := &c.policy.Profiles
	f := p.Filesystem
	c.lintEmptyProfile("filesystem", f.Span, p.ByFilesystem())
	c.lintGoverned(f.Actions)
	c.lintRoots(f.WriteRoots)
	c.lintRoots(f.ReadRoots)
	outside := p.Repository != nil && frame.IsOn(p.Repository.BlockOutsideWrites)
	if f.WriteRoots == nil && !outside && can(f.AllowedEffects, resource.Writes) && len(p.ByFilesystem()) > 0 {
		c.add(grammar.At(codes.NoWriteRoots, f.Span, "files may be written anywhere").
			WithHint("say where: `write_roots: .` for the roots that the shim reports; or allow only effects that write nothing"))
	}
	if f.ProtectedClasses == nil {
		if f.ProtectedEffects != nil {
			c.protectsNothing(f.ProtectedEffects.Span, "protected_effects")
		}
		if f.ClassCatalog != nil {
			c.protectsNothing(f.ClassCatalog.Span, "protected_class_catalog")
		}
	}
	c.lintNever(f.MaxBytesWritten, "max_bytes_written_per_task", "write bytes", f.AllowedEffects, resource.WritesBytes)
	c.lintNever(f.MaxBytesDeleted, "max_bytes_deleted_per_task", "delete bytes", f.AllowedEffects, resource.DeletesBytes)
	c.lintNever(f.MaxDestructive, "max_destructive_effects_per_task", "destroy anything", f.AllowedEffects, resource.Destroys)
}

// can reports whether a list of what is allowed, which allows everything where it is absent, has any that does so.
func can(allowed *frame.List, does func(string) bool) bool {
	return allowed == nil || slices.ContainsFunc(allowed.Texts(), does)
}

// protectsNothing warns of what says more about protected classes that are not there.
func (c *linter) protectsNothing(span grammar.Span, name string) {
	c.add(grammar.At(codes.ProtectsNothing, span, "without `protected_file_classes`, `%s` does nothing", name).
		WithHint("name the classes: `protected_file_classes: secret`"))
}

// lintNever warns of a limit on what nothing that is allowed does.
func (c *linter) lintNever(limit *frame.Count, name, what string, allowed *frame.List, does func(string) bool) {
	if limit != nil && !can(allowed, does) {
		c.add(never(limit.Span, name, "nothing that is allowed can "+what))
	}
}

func never(span grammar.Span, name, why string) grammar.Diagnostic {
	return grammar.At(codes.NeverApplies, span, "`%s` never applies: %s", name, why).WithHint("it does nothing as long as that is so")
}

func (c *linter) lintGit() {
	p := &c.policy.Profiles
	g := p.Git
	c.lintEmptyProfile("git", g.Span, p.ByGit())
	c.lintGoverned(g.Actions, g.FilesystemActions)
	if g.FilesystemActions != nil && p.Filesystem == nil && p.Repository == nil {
		c.add(grammar.At(codes.FilesUnjudged, g.FilesystemActions.Span, "neither `## filesystem` nor `## repository` is there to judge the files of these actions").
			WithHint("add one of them, or move the actions to `actions`"))
	}
	c.lintRefs(g.ProtectedRefs)
}

// lintRefs warns of refs that are in the list in another form.
func (c *linter) lintRefs(refs *frame.List) {
	if refs == nil {
		return
	}
	listed := map[string]bool{}
	for _, item := range refs.Items {
		listed[item.Text] = true
	}
	for _, item := range refs.Items {
		for _, form := range profiles.ShortNames {
			if short, found := strings.CutPrefix(item.Text, form); found && listed[short] {
				c.add(grammar.At(codes.SameRef, item.Span, "`%s` covers `%s`", frame.Shorten(short), frame.Shorten(item.Text)).WithHint("it does no harm; the shorter one is enough"))
			}
		}
	}
}

func (c *linter) lintDatabase() {
	p := &c.policy.Profiles
	d := p.Database
	c.lintEmptyProfile("database", d.Span, p.ByDatabase())
	c.lintGoverned(d.Actions)
	is := func(operation string) func(string) bool { return func(text string) bool { return text == operation } }
	c.lintNever(d.MaxSchemaChanges, "max_schema_changes_per_task", "change a schema", d.Allowed, resource.ChangesSchema)
	if frame.IsOn(d.ReadOnlyForSelect) && !can(d.Allowed, is(resource.Select)) {
		c.add(never(d.ReadOnlyForSelect.Span, "require_read_only_for_select", "`select` is not allowed"))
	}
	if d.Routines != nil && !can(d.Allowed, is(resource.ExecuteRoutine)) {
		c.add(never(d.Routines.Span, "routine_catalog", "`execute_routine` is not allowed"))
	}
	for _, timeout := range []*frame.Count{d.StatementTimeoutMs, d.LockTimeoutMs} {
		if timeout != nil && d.Allowed == nil {
			c.add(grammar.At(codes.TimeoutAlone, timeout.Span, "the shim sets this timeout, and without `allowed_operations` every operation is allowed").
				WithHint("list the operations that are meant, such as `allowed_operations: select`"))
		}
	}
	c.lintRoutines(d.Routines)
}

// lintRoutines warns of stars in the catalogue of routines.
func (c *linter) lintRoutines(routines *frame.List) {
	if routines == nil {
		return
	}
	for _, item := range routines.Items {
		if strings.Contains(item.Text, "*") {
			c.add(grammar.At(codes.RoutineStar, item.Span, "the catalogue is exact: `*` matches only itself").
				WithHint("write every reviewed routine out"))
		}
	}
}
