package compiler

import (
	"slices"
	"strings"

	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
)

// The keys of `## git` whose rules deny, hold or count.
var (
	keyGitActions   = mustFind("git", "actions")
	keyGitProviders = mustFind("git", "providers")
	keyGitSchemes   = mustFind("git", "allowed_remote_schemes")
	keyGitBlocked   = mustFind("git", "blocked_operations")
	keyGitAllowed   = mustFind("git", "allowed_operations")
	keyGitApproval  = mustFind("git", nameApproval)
	keyGitRefs      = mustFind("git", "protected_refs")
	keyRefChanges   = mustFind("git", "max_ref_changes_per_task")
)

// gitRules returns the rules of `## git`.
func (e *emitter) gitRules() []profileRule {
	return []profileRule{{e.policy.Profiles.byGit(), e.git}}
}

func (e *emitter) git() {
	g := e.policy.Profiles.Git
	failed := e.NewLabel()
	e.at(g.Span)
	e.gitEvidence(failed)
	e.repositoryGit()
	if g.Providers != nil {
		e.provider(keyGitProviders, g.Providers)
	}
	if g.RemoteSchemes != nil {
		e.remoteScheme(g.RemoteSchemes)
	}
	if g.Blocked != nil {
		e.blocking(g.Blocked)
		next := e.NewLabel()
		e.denyOperations(keyGitBlocked, g.Blocked.texts(), "the operation is in git.blocked_operations", next)
		e.Place(next)
	}
	if g.Allowed != nil {
		e.allowedOperations(g.Allowed)
	}
	e.at(g.Span)
	e.fastForward()
	if g.ProtectedRefs != nil {
		e.protectedRefs(g.ProtectedRefs)
	}
	e.Place(failed)
}

// gitEvidence denies where the shim does not say which operation it is, on what and where.
func (e *emitter) gitEvidence(failed vm.Label) {
	operation, refs := e.Field(slotGitOperation), e.Field(slotGitRefs)
	known, whole, named, ok := e.NewLabel(), e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.Kind(vm.If, operation, aText, known)
	e.deny(keyGitActions.Rule, errcode.GitMetadata, "metadata.git.operation is missing, or no git operation", vm.Blame{Slot: operation}, failed)
	e.Place(known)
	e.Kind(vm.Unless, refs, unreadable, whole)
	e.deny(keyGitActions.Rule, errcode.GitMetadata, "metadata.git.ref_updates is empty, or no array of objects with a ref", vm.Blame{Slot: refs}, failed)
	e.Place(whole)
	e.Kind(vm.Unless, e.Field(slotGitBranch), unreadable, named)
	e.deny(keyGitActions.Rule, errcode.GitMetadata, "metadata.git.branch names no branch", e.value(slotGitBranch), failed)
	e.Place(named)
	e.Kind(vm.If, refs, aList, ok)
	e.Test(vm.OpIn, vm.Unless, operation, e.exactly(which(resource.GitOperations(), resource.NeedsRefs)...), ok)
	e.deny(keyGitActions.Rule, errcode.GitMetadata, "metadata.git.ref_updates is missing, and the operation updates refs", vm.Blame{Slot: operation}, failed)
	e.Place(ok)
	e.unless(func(pass vm.Label) { e.Kind(vm.If, e.Field(slotWorktree), aText, pass) },
		keyGitActions.Rule, errcode.GitTopology, "metadata.git.repository_id is missing, or metadata.git.worktree is no canonical path", e.value(slotWorktree))
}

// provider denies hosts of repositories that a list lacks.
func (e *emitter) provider(key *Key, providers *List) {
	e.allowing(providers)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.If, e.Field(slotGitProvider), e.exactly(providers.texts()...), pass)
	}, key.Rule, key.Code, "metadata.git.provider is missing, or not in "+key.Rule, e.value(slotGitProvider))
}

// remoteScheme denies remotes that are not reached as the list says.
func (e *emitter) remoteScheme(schemes *List) {
	e.allowing(schemes)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.exactly(which(resource.GitOperations(), resource.UsesRemote)...), pass)
		e.Test(vm.OpIn, vm.If, e.Field(slotRemoteScheme), e.exactly(schemes.texts()...), pass)
	}, keyGitSchemes.Rule, keyGitSchemes.Code, "metadata.git.remote_scheme is missing, or not in git.allowed_remote_schemes", e.value(slotRemoteScheme))
}

// denyOperations denies operations, those at a repository's host by a code of their own, and goes on at next.
func (e *emitter) denyOperations(key *Key, operations []string, message string, next vm.Label) {
	atProvider := which(operations, resource.AtProvider)
	local := which(operations, func(text string) bool { return !resource.AtProvider(text) })
	for _, part := range []struct {
		operations []string
		code       errcode.Code
	}{{atProvider, errcode.ProviderOperation}, {local, errcode.GitOperation}} {
		if len(part.operations) == 0 {
			continue
		}
		other := e.NewLabel()
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.exactly(part.operations...), other)
		e.deny(key.Rule, part.code, message, e.value(slotGitOperation), next)
		e.Place(other)
	}
}

// allowedOperations denies operations that the list lacks.
func (e *emitter) allowedOperations(allowed *List) {
	const message = "the operation is not in git.allowed_operations"
	next, local := e.NewLabel(), e.NewLabel()
	operation := e.Field(slotGitOperation)
	e.allowing(allowed)
	e.Test(vm.OpIn, vm.If, operation, e.exactly(allowed.texts()...), next)
	atProvider := which(resource.GitOperations(), func(text string) bool {
		return resource.AtProvider(text) && !slices.Contains(allowed.texts(), text)
	})
	if len(atProvider) > 0 {
		e.Test(vm.OpIn, vm.Unless, operation, e.exactly(atProvider...), local)
		e.deny(keyGitAllowed.Rule, errcode.ProviderOperation, message, vm.Blame{Slot: operation}, next)
	}
	e.Place(local)
	e.deny(keyGitAllowed.Rule, errcode.GitOperation, message, vm.Blame{Slot: operation}, next)
	e.Place(next)
}

// fastForward denies operations that are called fast-forwards and are none.
func (e *emitter) fastForward() {
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.exactly(which(resource.GitOperations(), resource.MustFastForward)...), pass)
		e.Kind(vm.If, e.Field(slotGitForced), missing, pass)
	}, keyGitAllowed.Rule, errcode.GitOperation, "an update is not said to be a fast-forward, whatever the operation is called", e.value(slotGitForced))
}

// protectedRefs denies updates of protected refs, that of the work tree's branch included, and what may change one without
// naming it.
func (e *emitter) protectedRefs(refs *List) {
	forms := formsOf(refs)
	var tests []setTest
	if len(forms.exact) > 0 {
		tests = append(tests, setTest{vm.OpIn, e.exactly(forms.exact...)})
	}
	if len(forms.starts) > 0 {
		tests = append(tests, setTest{vm.OpStarts, e.exactly(forms.starts...)})
	}
	if forms.hasShort {
		tests = append(tests, setTest{vm.OpMatch, e.Pattern(shortPattern(forms.short), false)})
	}
	e.at(refs.Span)
	e.listed(false, e.refWords(refs))
	deny := func(message string, blame vm.Blame, test func(pass vm.Label)) {
		e.unless(test, keyGitRefs.Rule, keyGitRefs.Code, message, blame)
	}
	deny("an update is of a ref in git.protected_refs", e.element(slotGitRefs), func(pass vm.Label) { e.unlessAny(e.Field(slotGitRefs), tests, pass) })
	deny("the operation moves a branch in git.protected_refs", e.element(slotGitBranch), func(pass vm.Label) { e.unlessAny(e.Field(slotGitBranch), tests, pass) })
	e.at(refs.Span)
	operation := func(is func(string) bool, pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.exactly(which(resource.GitOperations(), is)...), pass)
	}
	deny("the operation moves a branch, and metadata.git.branch does not say which", e.value(slotGitOperation), func(pass vm.Label) {
		e.Kind(vm.Unless, e.Field(slotGitBranch), missing, pass)
		operation(resource.NeedsBranch, pass)
	})
	deny("the operation takes the protection of refs away", e.value(slotGitOperation), func(pass vm.Label) { operation(resource.Unprotects, pass) })
}

// refWords returns protected refs with all forms that refs of updates may have.
func (e *emitter) refWords(refs *List) (words []word) {
	for _, item := range refs.Items {
		text, forms := e.asWritten(item), formsOf(&List{Items: []Item{item}})
		for _, form := range forms.exact {
			words = append(words, word{text, form})
		}
		for _, start := range forms.starts {
			words = append(words, word{text, start + "*"})
		}
	}
	return words
}

// refNamespace begins whole names of refs. One without it is a short name, which git looks up in the spaces of
// shortNames.
const refNamespace = "refs/"

var shortNames = []string{refNamespace, refNamespace + "heads/", refNamespace + "tags/"}

// wholeNames returns a ref, or the beginning of refs, with the whole names that it stands for where it is short.
func wholeNames(ref string) []string {
	names := []string{ref}
	if !strings.HasPrefix(ref, refNamespace) {
		for _, space := range shortNames {
			names = append(names, space+ref)
		}
	}
	return names
}

// refForms are the refs of updates that protected refs cover. A short name stands for branches and tags, in the list and
// in updates.
type refForms struct {
	exact, starts []string // what they equal, and what they start with

	// short is the shortest beginning of refNamespace with which a short name starts that is covered; hasShort says
	// whether there is any. No prefix tells such names from whole ones.
	short    string
	hasShort bool
}

func formsOf(refs *List) *refForms {
	forms := new(refForms)
	for _, ref := range refs.texts() {
		start, open := strings.CutSuffix(ref, "*")
		for _, name := range wholeNames(start) {
			forms.add(name, open)
		}
	}
	return forms
}

// add adds a name, or all that start with it, and what short names it has.
func (f *refForms) add(name string, open bool) {
	switch {
	case !open:
		f.exact = append(f.exact, name)
	case name != "": // refs/ and the short names are all that the empty text begins
		f.starts = append(f.starts, name)
	}
	for _, space := range shortNames {
		rest, below := strings.CutPrefix(name, space)
		switch {
		case open && strings.HasPrefix(space, name):
			f.addShort("")
		case !below || strings.HasPrefix(rest, refNamespace):
		case open && strings.HasPrefix(refNamespace, rest):
			f.addShort(rest)
		case open:
			f.starts = append(f.starts, rest)
		case rest != "":
			f.exact = append(f.exact, rest)
		}
	}
}

func (f *refForms) addShort(start string) {
	if !f.hasShort || len(start) < len(f.short) {
		f.short, f.hasShort = start, true
	}
}

// shortPattern returns the pattern of names that begin with start, itself a beginning of refNamespace, and not with
// refNamespace.
func shortPattern(start string) string {
	pattern := "[^/]"
	rest := refNamespace[len(start):]
	for i := len(rest) - 1; i > 0; i-- {
		pattern = "[^" + rest[i-1:i] + "]|" + rest[i-1:i] + "(?:$|" + pattern + ")"
	}
	return "(?s)^" + start + "(?:$|" + pattern + ")"
}
