package compiler

import (
	"slices"
	"strings"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/form/fspath"
	"bailiff/vm/form/resource"
)

// The keys of the profiles about files whose rules deny.
var (
	keyRepoRoots     = mustFind("repository", "roots")
	keyRepoOutside   = mustFind("repository", "block_outside_writes")
	keyRepoHistory   = mustFind("repository", "protect_git_history")
	keyRepoSensitive = mustFind("repository", "protect_sensitive_files")
	keyRepoProviders = mustFind("repository", "git_providers")
	keyFileActions   = mustFind("filesystem", "actions")
	keyEffects       = mustFind("filesystem", "allowed_effects")
	keyWriteRoots    = mustFind("filesystem", "write_roots")
	keyReadRoots     = mustFind("filesystem", "read_roots")
	keyFilePaths     = mustFind("filesystem", "blocked_paths")
	keyClasses       = mustFind("filesystem", "protected_file_classes")
	keyMaxFiles      = mustFind("filesystem", "max_files_per_action")
	keyBytesWritten  = mustFind("filesystem", "max_bytes_written_per_task")
	keyBytesDeleted  = mustFind("filesystem", "max_bytes_deleted_per_task")
	keyDestructive   = mustFind("filesystem", "max_destructive_effects_per_task")
)

// repositoryRules returns the rules of `## repository` about files.
func (e *emitter) repositoryRules() []profileRule {
	p := &e.policy.Profiles
	r := p.Repository
	if r == nil {
		return nil
	}
	files := p.repositoryFiles()
	var rules []profileRule
	if r.Roots != nil {
		rules = append(rules, profileRule{files, e.repositoryRoots})
	}
	if isOn(r.ProtectGitHistory) {
		rules = append(rules, profileRule{files, e.gitFolder})
	}
	if isOn(r.ProtectSensitiveFiles) {
		rules = append(rules, profileRule{files, e.sensitiveFiles})
	}
	return rules
}

// repositoryGit judges git operations by `## repository`, once their evidence is known to be whole.
func (e *emitter) repositoryGit() {
	r := e.policy.Profiles.Repository
	if r == nil {
		return
	}
	if isOn(r.ProtectGitHistory) {
		e.history()
	}
	if r.GitProviders != nil {
		e.provider(keyRepoProviders, r.GitProviders)
	}
	if r.Roots != nil {
		e.worktree()
	}
}

// repositoryRoots keeps the roots themselves from being written to, with the directories that they are in, and whatever is
// outside of them.
func (e *emitter) repositoryRoots() {
	r := e.policy.Profiles.Repository
	failed := e.NewLabel()
	e.at(r.Roots.Span)
	e.evidence(keyRepoRoots, failed)
	whole, own := rootTexts(r.Roots)
	if whole = which(whole, func(root string) bool { return root != "/" }); len(whole) > 0 { // no target is "/"
		e.unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.Unless, e.Field(slotWritten), e.exactly(holders(whole)...), pass)
		}, keyRepoRoots.Rule, keyRepoRoots.Code, "the intent writes to a root of the repository itself, or to a directory that holds one", e.element(slotWritten))
	}
	if own {
		e.unless(func(pass vm.Label) { e.Kind(vm.If, e.Field(slotWrittenRoots), missing, pass) },
			keyRepoRoots.Rule, keyRepoRoots.Code, "the intent writes to one of the shim's writable roots itself, or to a directory that holds one", e.value(slotWrittenRoots))
	}
	if isOn(r.BlockOutsideWrites) {
		e.at(r.BlockOutsideWrites.Span)
		e.listed(true, e.words(r.Roots.Items))
		e.inside(keyRepoOutside, r.Roots, slotWritten, "the intent writes outside of repository.roots")
	}
	e.Place(failed)
}

// holders returns roots and the directories above them, each once: who deletes or renames one of those takes the root
// along. "/" is none of them, which no target is. Where the machine won't take them it ends: deep roots have more than
// there is memory for.
func holders(whole []string) []string {
	seen := map[string]bool{"/": true}
	var all []string
	bytes := 0
	for _, path := range whole {
		for !seen[path] && bytes <= vm.MaxBytes {
			seen[path] = true
			all = append(all, path)
			bytes += len(path)
			path = path[:strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')+1]
		}
	}
	return all
}

// gitFolder denies writes to a `.git`, or below one, and effects on a directory that reach the `.git` inside of it.
func (e *emitter) gitFolder() {
	failed := e.NewLabel()
	e.at(e.policy.Profiles.Repository.ProtectGitHistory.Span)
	e.evidence(keyRepoHistory, failed)
	e.unless(func(pass vm.Label) { e.unlessAnyPath(slotGitFolders, pass) },
		keyRepoHistory.Rule, errcode.FileBlockedPath, "the intent writes to .git, or below it", e.element(slotGitFolders))
	e.keepTrees()
	e.Place(failed)
}

// keepTrees denies effects that reach what a work tree holds: that of metadata.git, and the roots of the repository, whose
// .git lies at once below them.
func (e *emitter) keepTrees() {
	whole, own := rootTexts(e.policy.Profiles.Repository.Roots)
	pass := e.NewLabel()
	deny := func(slot string) {
		e.deny(keyRepoHistory.Rule, errcode.FileBlockedPath, "the intent takes a work tree of git along, or a directory that holds one, and the .git inside of it",
			e.element(slot), pass)
	}
	e.unlessAnyPath(slotTaken, pass)
	slots := []string{slotTakenTree}
	if own {
		slots = append(slots, slotTakenRoots)
	}
	for _, slot := range slots {
		next := e.NewLabel()
		e.unlessAnyPath(slot, next)
		deny(slot)
		e.Place(next)
	}
	for i, root := range whole {
		clean, _ := fspath.Clean(root)
		whole[i] = below(clean)
	}
	if whole = which(whole, func(root string) bool { return root != "/" }); len(whole) > 0 {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotTaken), e.exactly(holders(whole)...), pass)
		deny(slotTaken)
	}
	e.Place(pass)
}

// unlessAnyPath goes on at none where a slot of whole paths has none. A violation shows the first of them.
func (e *emitter) unlessAnyPath(slot string, none vm.Label) {
	e.Test(vm.OpStarts, vm.Unless, e.Field(slot), e.exactly("/"), none)
}

// history denies git operations that can lose commits or refs.
func (e *emitter) history() {
	e.at(e.policy.Profiles.Repository.ProtectGitHistory.Span)
	next := e.NewLabel()
	e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.exactly(which(resource.GitOperations(), resource.RewritesHistory)...), next)
	e.deny(keyRepoHistory.Rule, errcode.GitOperation, "the git operation can lose commits or refs", e.value(slotGitOperation), next)
	e.Place(next)
}

// which returns the words of a vocabulary that are so.
func which(words []string, is func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !is(word) })
}

// sensitiveFiles denies files that are not of an ordinary class.
func (e *emitter) sensitiveFiles() {
	p := &e.policy.Profiles
	failed := e.NewLabel()
	e.at(p.Repository.ProtectSensitiveFiles.Span)
	e.evidence(keyRepoSensitive, failed)
	e.classified(keyRepoSensitive, failed)
	ordinary := resource.OrdinaryClasses()
	if f := p.Filesystem; f != nil {
		ordinary = which(ordinary, func(class string) bool { return !slices.Contains(f.ProtectedClasses.texts(), class) })
	}
	var test func(pass vm.Label)
	if len(ordinary) > 0 {
		test = func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotClasses), e.exactly(ordinary...), pass)
		}
	}
	e.sensitive(keyRepoSensitive, "the file is of a class that is not ordinary", test)
	e.Place(failed)
}

// classified denies targets of which nobody says what they are, and goes on at failed where all violations are wanted.
func (e *emitter) classified(key *Key, failed vm.Label) {
	ok := e.NewLabel()
	e.Kind(vm.If, e.Field(slotClasses), aList, ok)
	e.deny(key.Rule, errcode.FileTarget, "a file has no classification", e.value(slotClasses), failed)
	e.Place(ok)
}

// sensitive denies what a test of the classes does not let pass, or everything where there is no test: as egress where the
// file would leave the machine.
func (e *emitter) sensitive(key *Key, message string, test func(pass vm.Label)) {
	stays, next := e.NewLabel(), e.NewLabel()
	leaving, staying := e.element(slotClasses), e.element(slotClasses)
	if test == nil {
		leaving, staying, test = e.element(slotEffects), e.value(slotEffects), func(vm.Label) {}
	}
	e.Test(vm.OpIn, vm.Unless, e.Field(slotEffects), e.exactly(resource.Egress), stays)
	test(next)
	e.deny(key.Rule, errcode.SensitiveEgress, message+", and would leave the machine", leaving, next)
	e.Place(stays)
	test(next)
	e.deny(key.Rule, errcode.SensitiveFile, message, staying, next)
	e.Place(next)
}

// worktree denies git repositories outside of the roots.
func (e *emitter) worktree() {
	roots := e.policy.Profiles.Repository.Roots
	e.allowing(roots)
	e.insideAs(keyRepoRoots.Rule, errcode.GitTopology, roots, slotWorktree, "the git worktree is outside of repository.roots")
}

// evidence denies where the shim does not say what is done to which files, and goes on at failed where all violations
// are wanted: then there is nothing to judge.
func (e *emitter) evidence(key *Key, failed vm.Label) {
	for _, need := range []struct {
		slot    string
		when    vm.When
		kinds   vm.KindMask
		code    errcode.Code
		message string
	}{
		{slotEffects, vm.If, aList, errcode.FileEffectRequired, "metadata.filesystem.effects is missing, empty, or holds what is no effect"},
		{slotTargets, vm.Unless, missing, errcode.FilePathRequired, "metadata.filesystem.targets is missing, empty, or holds what has no absolute path"},
		{slotTargets, vm.If, aList, errcode.FileTarget, "a target's path is not canonical, or its links were not resolved without races"},
	} {
		ok := e.NewLabel()
		e.Kind(need.when, e.Field(need.slot), need.kinds, ok)
		e.deny(key.Rule, need.code, need.message, e.value(need.slot), failed)
		e.Place(ok)
	}
}

// inside denies paths outside of roots.
func (e *emitter) inside(key *Key, roots *List, slot, message string) {
	e.insideAs(key.Rule, key.Code, roots, slot, message)
}

// insideAs is inside with the rule and code of the denial. The slot is missing where there is no path to judge.
func (e *emitter) insideAs(rule string, c errcode.Code, roots *List, slot, message string) {
	whole, own := rootTexts(roots)
	if slices.Contains(whole, "/") {
		return // every path that can be read is inside
	}
	if own {
		slot += suffixBeyond
	}
	blame := vm.Blame{Slot: e.Field(slot), Element: len(whole) > 0}
	e.unless(func(pass vm.Label) {
		e.Kind(vm.If, blame.Slot, missing, pass)
		if len(whole) > 0 {
			e.Test(vm.OpStarts, vm.If|vm.Every, blame.Slot, e.exactly(whole...), pass)
		}
	}, rule, c, message, blame)
}

// rootTexts returns what the paths inside of roots start with, as the slots have them: with a slash at the end. The root
// that stands for the shim's is apart.
func rootTexts(roots *List) (whole []string, own bool) {
	for _, root := range roots.texts() {
		if root == ownRoots {
			own = true
			continue
		}
		whole = append(whole, below(root))
	}
	return whole, own
}

// below returns what the paths inside a root start with.
func below(root string) string { return strings.TrimSuffix(root, "/") + "/" }

// filesystemRules returns the rules of `## filesystem`.
func (e *emitter) filesystemRules() []profileRule {
	return []profileRule{{e.policy.Profiles.byFilesystem(), e.filesystem}}
}

func (e *emitter) filesystem() {
	f := e.policy.Profiles.Filesystem
	failed := e.NewLabel()
	e.at(f.Span)
	e.evidence(keyFileActions, failed)
	if f.AllowedEffects != nil {
		e.allowing(f.AllowedEffects)
		e.unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotEffects), e.exactly(f.AllowedEffects.texts()...), pass)
		}, keyEffects.Rule, keyEffects.Code, "an effect is not in filesystem.allowed_effects", e.element(slotEffects))
	}
	if f.WriteRoots != nil {
		e.allowing(f.WriteRoots)
		e.inside(keyWriteRoots, f.WriteRoots, slotWritten, "the intent writes outside of filesystem.write_roots")
	}
	if f.ReadRoots != nil {
		e.allowing(f.ReadRoots)
		e.inside(keyReadRoots, f.ReadRoots, slotRead, "the intent reads outside of filesystem.read_roots")
	}
	if f.BlockedPaths != nil {
		e.blockedFiles(f.BlockedPaths)
	}
	if f.ProtectedClasses != nil {
		e.protectedClasses(f)
	}
	if f.MaxFiles != nil {
		e.maxFiles(f.MaxFiles)
	}
	e.Place(failed)
}

// blockedFiles denies blocked paths, and effects on a directory that reach a blocked path inside of it.
func (e *emitter) blockedFiles(blocked *List) {
	e.blocking(blocked)
	e.unless(func(pass vm.Label) {
		e.unlessAny(e.Field(slotFilePaths), e.pathTests(blocked.texts()), pass)
	}, keyFilePaths.Rule, keyFilePaths.Code, "a file is an entry of filesystem.blocked_paths, or below one, or nobody can tell which file it is", e.element(slotFilePaths))
	above := fspath.Above(blocked.texts())
	if len(above) == 0 {
		return
	}
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotEffects), e.exactly(which(resource.Effects(), resource.TakesAlong)...), pass)
		e.Test(vm.OpGlob, vm.Unless, e.Field(slotFilePaths), e.Globs(vm.Segmented, above...), pass)
	}, keyFilePaths.Rule, keyFilePaths.Code, "a directory holds an entry of filesystem.blocked_paths, which the effect would reach", e.element(slotFilePaths))
}

// protectedClasses denies files of protected classes, all effects on them or those that are named.
func (e *emitter) protectedClasses(f *Filesystem) {
	next := e.NewLabel()
	e.at(f.ProtectedClasses.Span)
	e.classified(keyClasses, next)
	if f.ProtectedEffects != nil {
		e.at(f.ProtectedEffects.Span)
		e.Test(vm.OpIn, vm.Unless, e.Field(slotEffects), e.exactly(f.ProtectedEffects.texts()...), next)
	}
	e.blocking(f.ProtectedClasses)
	e.sensitive(keyClasses, "the file is of a class in filesystem.protected_file_classes", func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotClasses), e.exactly(f.ProtectedClasses.texts()...), pass)
	})
	e.Place(next)
}

// maxFiles denies more targets than an action may have. A number that can't be read leaves the register unset, so that
// the comparison goes on at the denial.
func (e *emitter) maxFiles(limit *Count) {
	e.at(limit.Span)
	e.unless(func(pass vm.Label) {
		compare := e.NewLabel()
		e.Load(0, e.Field(slotFileCount), 0, compare)
		e.Place(compare)
		e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(amount.FromUint64(limit.N), 0), pass)
	}, keyMaxFiles.Rule, keyMaxFiles.Code, "the intent has more targets than filesystem.max_files_per_action", e.value(slotFileCount))
}
