package profiles

import (
	"slices"
	"strings"

	"bailiff/compiler/frame"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/fspath"
	"bailiff/vm/form/resource"
)

// Repository is the section `## repository`: the repository that tools work in.
type Repository struct {
	frame.Heading
	Roots                 *frame.List // `.`, `/` or canonical absolute paths
	BlockOutsideWrites    *frame.Flag
	ProtectGitHistory     *frame.Flag
	ProtectSensitiveFiles *frame.Flag
	GitProviders          *frame.List
	RequireShim           *frame.Flag
}

var (
	keyRepoRoots = frame.NewKey(rootLists, func(s *Repository) **frame.List { return &s.Roots }, frame.Key{Name: "roots",
		Code: errcode.RootMutation, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.GitTopology},
		Doc:     "The directories that make up the repository, which nothing may replace as a whole; `.` means the roots that the shim reports.",
		Example: "roots: /workspace/repository"})

	keyRepoOutside = frame.NewKey(frame.Booleans, func(s *Repository) **frame.Flag { return &s.BlockOutsideWrites }, frame.Key{Name: "block_outside_writes",
		Code: errcode.FileOutsideRoot,
		Doc:  "Whether files outside of `roots` may only be read.", Example: "block_outside_writes: true"})

	keyRepoHistory = frame.NewKey(frame.Booleans, func(s *Repository) **frame.Flag { return &s.ProtectGitHistory }, frame.Key{Name: "protect_git_history",
		Code: errcode.FileBlockedPath, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.GitOperation},
		Doc:     "Whether nothing may write to `.git` or below it, in any spelling of that name, nor delete, move or copy away the work tree (`metadata.git.worktree`, or a root) that holds it; and git operations that can lose commits or refs are denied.",
		Example: "protect_git_history: true"})

	keyRepoSensitive = frame.NewKey(frame.Booleans, func(s *Repository) **frame.Flag { return &s.ProtectSensitiveFiles }, frame.Key{Name: "protect_sensitive_files",
		Code: errcode.SensitiveFile, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.SensitiveEgress},
		Doc:     "Whether files may be touched only if they are classified as `none`, `normal`, `ordinary`, `public` or `source`.",
		Example: "protect_sensitive_files: true"})

	keyRepoProviders = frame.NewKey(frame.Choices, func(s *Repository) **frame.List { return &s.GitProviders }, frame.Key{Name: "git_providers", Values: resource.GitProviders(),
		Code: errcode.Provider,
		Doc:  "The hosts of git repositories that may be worked with.", Example: "git_providers: github, gitlab"})

	keyRepositoryShim = profileShimKey(func(s *Repository) **frame.Flag { return &s.RequireShim })
)

// RepositorySection is the row of `## repository`.
var RepositorySection = profile(frame.NewSection[Repository]("repository", frame.V21, "A resource profile: the repository that tools work in.",
	keyRepoRoots, keyRepoOutside, keyRepoHistory, keyRepoSensitive, keyRepoProviders, keyRepositoryShim))

// repositoryRules returns the rules of `## repository` about files.
func repositoryRules(e *frame.Emitter) []profileRule {
	p := Of(e.Parts)
	r := p.Repository
	if r == nil {
		return nil
	}
	files := p.repositoryFiles()
	var rules []profileRule
	if r.Roots != nil {
		rules = append(rules, profileRule{files, func() { repositoryRoots(e) }})
	}
	if frame.IsOn(r.ProtectGitHistory) {
		rules = append(rules, profileRule{files, func() { gitFolder(e) }})
	}
	if frame.IsOn(r.ProtectSensitiveFiles) {
		rules = append(rules, profileRule{files, func() { sensitiveFiles(e) }})
	}
	return rules
}

// repositoryGit judges git operations by `## repository`, once their evidence is known to be whole.
func repositoryGit(e *frame.Emitter) {
	r := frame.Part[Repository](e.Parts)
	if r == nil {
		return
	}
	if frame.IsOn(r.ProtectGitHistory) {
		history(e)
	}
	if r.GitProviders != nil {
		provider(e, keyRepoProviders, r.GitProviders)
	}
	if r.Roots != nil {
		emitWorktree(e)
	}
}

// repositoryRoots keeps the roots themselves from being written to, with the directories that they are in, and whatever is
// outside of them.
func repositoryRoots(e *frame.Emitter) {
	r := frame.Part[Repository](e.Parts)
	failed := e.NewLabel()
	e.At(r.Roots.Span)
	evidence(e, keyRepoRoots, failed)
	whole, own := rootTexts(r.Roots)
	if whole = which(whole, func(root string) bool { return root != "/" }); len(whole) > 0 { // no target is "/"
		e.Unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.Unless, e.Field(SlotWritten), e.Exactly(holders(whole)...), pass)
		}, keyRepoRoots.Rule, keyRepoRoots.Code, "the intent writes to a root of the repository itself, or to a directory that holds one", e.Element(SlotWritten))
	}
	if own {
		e.Unless(func(pass vm.Label) { e.Kind(vm.If, e.Field(slotWrittenRoots), missing, pass) },
			keyRepoRoots.Rule, keyRepoRoots.Code, "the intent writes to one of the shim's writable roots itself, or to a directory that holds one", e.Value(slotWrittenRoots))
	}
	if frame.IsOn(r.BlockOutsideWrites) {
		e.At(r.BlockOutsideWrites.Span)
		e.Listed(true, e.WordsOf(r.Roots.Items))
		emitInside(e, keyRepoOutside, r.Roots, SlotWritten, "the intent writes outside of repository.roots")
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
func gitFolder(e *frame.Emitter) {
	failed := e.NewLabel()
	e.At(frame.Part[Repository](e.Parts).ProtectGitHistory.Span)
	evidence(e, keyRepoHistory, failed)
	e.Unless(func(pass vm.Label) { unlessAnyPath(e, slotGitFolders, pass) },
		keyRepoHistory.Rule, errcode.FileBlockedPath, "the intent writes to .git, or below it", e.Element(slotGitFolders))
	keepTrees(e)
	e.Place(failed)
}

// keepTrees denies effects that reach what a work tree holds: that of metadata.git, and the roots of the repository, whose
// .git lies at once below them.
func keepTrees(e *frame.Emitter) {
	whole, own := rootTexts(frame.Part[Repository](e.Parts).Roots)
	pass := e.NewLabel()
	deny := func(slot string) {
		e.DenyBy(keyRepoHistory.Rule, errcode.FileBlockedPath, "the intent takes a work tree of git along, or a directory that holds one, and the .git inside of it",
			e.Element(slot), pass)
	}
	unlessAnyPath(e, slotTaken, pass)
	slots := []string{slotTakenTree}
	if own {
		slots = append(slots, slotTakenRoots)
	}
	for _, slot := range slots {
		next := e.NewLabel()
		unlessAnyPath(e, slot, next)
		deny(slot)
		e.Place(next)
	}
	for i, root := range whole {
		clean, _ := fspath.Clean(root)
		whole[i] = below(clean)
	}
	if whole = which(whole, func(root string) bool { return root != "/" }); len(whole) > 0 {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotTaken), e.Exactly(holders(whole)...), pass)
		deny(slotTaken)
	}
	e.Place(pass)
}

// unlessAnyPath goes on at none where a slot of whole paths has none. A violation shows the first of them.
func unlessAnyPath(e *frame.Emitter, slot string, none vm.Label) {
	e.Test(vm.OpStarts, vm.Unless, e.Field(slot), e.Exactly("/"), none)
}

// history denies git operations that can lose commits or refs.
func history(e *frame.Emitter) {
	e.At(frame.Part[Repository](e.Parts).ProtectGitHistory.Span)
	next := e.NewLabel()
	e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.Exactly(which(resource.GitOperations(), resource.RewritesHistory)...), next)
	e.DenyBy(keyRepoHistory.Rule, errcode.GitOperation, "the git operation can lose commits or refs", e.Value(slotGitOperation), next)
	e.Place(next)
}

// sensitiveFiles denies files that are not of an ordinary class.
func sensitiveFiles(e *frame.Emitter) {
	p := Of(e.Parts)
	failed := e.NewLabel()
	e.At(p.Repository.ProtectSensitiveFiles.Span)
	evidence(e, keyRepoSensitive, failed)
	classified(e, keyRepoSensitive, failed)
	ordinary := resource.OrdinaryClasses()
	if f := p.Filesystem; f != nil {
		ordinary = which(ordinary, func(class string) bool { return !slices.Contains(f.ProtectedClasses.Texts(), class) })
	}
	var test func(pass vm.Label)
	if len(ordinary) > 0 {
		test = func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotClasses), e.Exactly(ordinary...), pass)
		}
	}
	sensitive(e, keyRepoSensitive, "the file is of a class that is not ordinary", test)
	e.Place(failed)
}

// classified denies targets without a classification, and goes on at failed where all violations are wanted.
func classified(e *frame.Emitter, key *frame.Key, failed vm.Label) {
	ok := e.NewLabel()
	e.Kind(vm.If, e.Field(slotClasses), aList, ok)
	e.DenyBy(key.Rule, errcode.FileTarget, "a file has no classification", e.Value(slotClasses), failed)
	e.Place(ok)
}

// sensitive denies what a test of the classes does not let pass, or everything where there is no test: as egress where the
// file would leave the machine.
func sensitive(e *frame.Emitter, key *frame.Key, message string, test func(pass vm.Label)) {
	stays, next := e.NewLabel(), e.NewLabel()
	leaving, staying := e.Element(slotClasses), e.Element(slotClasses)
	if test == nil {
		leaving, staying, test = e.Element(slotEffects), e.Value(slotEffects), func(vm.Label) {}
	}
	e.Test(vm.OpIn, vm.Unless, e.Field(slotEffects), e.Exactly(resource.Egress), stays)
	test(next)
	e.DenyBy(key.Rule, errcode.SensitiveEgress, message+", and would leave the machine", leaving, next)
	e.Place(stays)
	test(next)
	e.DenyBy(key.Rule, errcode.SensitiveFile, message, staying, next)
	e.Place(next)
}

// emitWorktree denies git repositories outside of the roots.
func emitWorktree(e *frame.Emitter) {
	roots := frame.Part[Repository](e.Parts).Roots
	e.Allowing(roots)
	insideAs(e, keyRepoRoots.Rule, errcode.GitTopology, roots, slotWorktree, "the git worktree is outside of repository.roots")
}
