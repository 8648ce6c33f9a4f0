package compiler

import (
	"slices"
	"strings"

	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/fspath"
	"bailiff/vm/form/resource"
)

// Repository is the section `## repository`: the repository that tools work in.
type Repository struct {
	Heading
	Roots                 *List // `.`, `/` or canonical absolute paths
	BlockOutsideWrites    *Flag
	ProtectGitHistory     *Flag
	ProtectSensitiveFiles *Flag
	GitProviders          *List
	RequireShim           *Flag
}

var (
	keyRepoRoots = key(rootLists, func(s *Repository) **List { return &s.Roots }, Key{Name: "roots",
		Code: errcode.RootMutation, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.GitTopology},
		Doc:     "The directories that make up the repository, which nothing may replace as a whole; `.` stands for the roots that the shim reports.",
		Example: "roots: /workspace/repository"})

	keyRepoOutside = key(booleans, func(s *Repository) **Flag { return &s.BlockOutsideWrites }, Key{Name: "block_outside_writes",
		Code: errcode.FileOutsideRoot,
		Doc:  "Whether files outside of `roots` may only be read.", Example: "block_outside_writes: true"})

	keyRepoHistory = key(booleans, func(s *Repository) **Flag { return &s.ProtectGitHistory }, Key{Name: "protect_git_history",
		Code: errcode.FileBlockedPath, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.GitOperation},
		Doc:     "Whether nothing may write to `.git` or below it, in any spelling of that name, nor delete, move or copy away the work tree (`metadata.git.worktree`, or a root) that holds it; and git operations that can lose commits or refs are denied.",
		Example: "protect_git_history: true"})

	keyRepoSensitive = key(booleans, func(s *Repository) **Flag { return &s.ProtectSensitiveFiles }, Key{Name: "protect_sensitive_files",
		Code: errcode.SensitiveFile, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.SensitiveEgress},
		Doc:     "Whether files may be touched only if they are classified as `none`, `normal`, `ordinary`, `public` or `source`.",
		Example: "protect_sensitive_files: true"})

	keyRepoProviders = key(choices, func(s *Repository) **List { return &s.GitProviders }, Key{Name: "git_providers", Values: resource.GitProviders(),
		Code: errcode.Provider,
		Doc:  "The hosts of git repositories that may be worked with.", Example: "git_providers: github, gitlab"})

	keyRepositoryShim = profileShimKey(func(s *Repository) **Flag { return &s.RequireShim })
)

var repository = profile(section[Repository]("repository", v21, "A resource profile: the repository that tools work in.",
	keyRepoRoots, keyRepoOutside, keyRepoHistory, keyRepoSensitive, keyRepoProviders, keyRepositoryShim))

// repositoryRules returns the rules of `## repository` about files.
func (e *emitter) repositoryRules() []profileRule {
	p := profilesOf(e.parts)
	r := p.Repository
	if r == nil {
		return nil
	}
	files := p.repositoryFiles()
	var rules []profileRule
	if r.Roots != nil {
		rules = append(rules, profileRule{files, e.repositoryRoots})
	}
	if IsOn(r.ProtectGitHistory) {
		rules = append(rules, profileRule{files, e.gitFolder})
	}
	if IsOn(r.ProtectSensitiveFiles) {
		rules = append(rules, profileRule{files, e.sensitiveFiles})
	}
	return rules
}

// repositoryGit judges git operations by `## repository`, once their evidence is known to be whole.
func (e *emitter) repositoryGit() {
	r := part[Repository](e.parts)
	if r == nil {
		return
	}
	if IsOn(r.ProtectGitHistory) {
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
	r := part[Repository](e.parts)
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
	if IsOn(r.BlockOutsideWrites) {
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
	e.at(part[Repository](e.parts).ProtectGitHistory.Span)
	e.evidence(keyRepoHistory, failed)
	e.unless(func(pass vm.Label) { e.unlessAnyPath(slotGitFolders, pass) },
		keyRepoHistory.Rule, errcode.FileBlockedPath, "the intent writes to .git, or below it", e.element(slotGitFolders))
	e.keepTrees()
	e.Place(failed)
}

// keepTrees denies effects that reach what a work tree holds: that of metadata.git, and the roots of the repository, whose
// .git lies at once below them.
func (e *emitter) keepTrees() {
	whole, own := rootTexts(part[Repository](e.parts).Roots)
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
	e.at(part[Repository](e.parts).ProtectGitHistory.Span)
	next := e.NewLabel()
	e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.exactly(which(resource.GitOperations(), resource.RewritesHistory)...), next)
	e.deny(keyRepoHistory.Rule, errcode.GitOperation, "the git operation can lose commits or refs", e.value(slotGitOperation), next)
	e.Place(next)
}

// sensitiveFiles denies files that are not of an ordinary class.
func (e *emitter) sensitiveFiles() {
	p := profilesOf(e.parts)
	failed := e.NewLabel()
	e.at(p.Repository.ProtectSensitiveFiles.Span)
	e.evidence(keyRepoSensitive, failed)
	e.classified(keyRepoSensitive, failed)
	ordinary := resource.OrdinaryClasses()
	if f := p.Filesystem; f != nil {
		ordinary = which(ordinary, func(class string) bool { return !slices.Contains(f.ProtectedClasses.Texts(), class) })
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

// classified denies targets without a classification, and goes on at failed where all violations are wanted.
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
	roots := part[Repository](e.parts).Roots
	e.allowing(roots)
	e.insideAs(keyRepoRoots.Rule, errcode.GitTopology, roots, slotWorktree, "the git worktree is outside of repository.roots")
}
