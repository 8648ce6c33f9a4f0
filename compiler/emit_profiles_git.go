package compiler

import (
	"slices"
	"strings"

	"bailiff/runtime/code"
	"bailiff/vm"
	"bailiff/vm/resource"
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
		e.at(g.Blocked.Span)
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
	known, whole, ok := e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.Kind(vm.If, operation, aText, known)
	e.deny(keyGitActions.Rule, code.GitMetadata, "metadata.git.operation is missing, or no git operation", failed)
	e.Place(known)
	e.Kind(vm.Unless, refs, unreadable, whole)
	e.deny(keyGitActions.Rule, code.GitMetadata, "metadata.git.ref_updates is empty, or no array of objects with a ref", failed)
	e.Place(whole)
	e.Kind(vm.If, refs, aList, ok)
	e.Test(vm.OpIn, vm.Unless, operation, e.exactly(which(resource.GitOperations(), resource.NeedsRefs)...), ok)
	e.deny(keyGitActions.Rule, code.GitMetadata, "metadata.git.ref_updates is missing, and the operation updates refs", failed)
	e.Place(ok)
	e.unless(func(pass vm.Label) { e.Kind(vm.If, e.Field(slotWorktree), aText, pass) },
		keyGitActions.Rule, code.GitTopology, "metadata.git.repository_id is missing, or metadata.git.worktree is no canonical path")
}

// provider denies hosts of repositories that a list lacks.
func (e *emitter) provider(key *Key, providers *List) {
	e.at(providers.Span)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.If, e.Field(slotGitProvider), e.exactly(providers.texts()...), pass)
	}, key.Rule, key.Code, "metadata.git.provider is missing, or not in "+key.Rule)
}

// remoteScheme denies remotes that are not reached as the list says.
func (e *emitter) remoteScheme(schemes *List) {
	e.at(schemes.Span)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.exactly(which(resource.GitOperations(), resource.UsesRemote)...), pass)
		e.Test(vm.OpIn, vm.If, e.Field(slotRemoteScheme), e.exactly(schemes.texts()...), pass)
	}, keyGitSchemes.Rule, keyGitSchemes.Code, "metadata.git.remote_scheme is missing, or not in git.allowed_remote_schemes")
}

// denyOperations denies operations, those at a repository's host by a code of their own, and goes on at next.
func (e *emitter) denyOperations(key *Key, operations []string, message string, next vm.Label) {
	atProvider := which(operations, resource.AtProvider)
	local := which(operations, func(text string) bool { return !resource.AtProvider(text) })
	for _, part := range []struct {
		operations []string
		code       code.Code
	}{{atProvider, code.ProviderOperation}, {local, code.GitOperation}} {
		if len(part.operations) == 0 {
			continue
		}
		other := e.NewLabel()
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.exactly(part.operations...), other)
		e.deny(key.Rule, part.code, message, next)
		e.Place(other)
	}
}

// allowedOperations denies operations that the list lacks.
func (e *emitter) allowedOperations(allowed *List) {
	const message = "the operation is not in git.allowed_operations"
	next, local := e.NewLabel(), e.NewLabel()
	operation := e.Field(slotGitOperation)
	e.at(allowed.Span)
	e.Test(vm.OpIn, vm.If, operation, e.exactly(allowed.texts()...), next)
	atProvider := which(resource.GitOperations(), func(text string) bool {
		return resource.AtProvider(text) && !slices.Contains(allowed.texts(), text)
	})
	if len(atProvider) > 0 {
		e.Test(vm.OpIn, vm.Unless, operation, e.exactly(atProvider...), local)
		e.deny(keyGitAllowed.Rule, code.ProviderOperation, message, next)
	}
	e.Place(local)
	e.deny(keyGitAllowed.Rule, code.GitOperation, message, next)
	e.Place(next)
}

// fastForward denies operations that are called fast-forwards and are none.
func (e *emitter) fastForward() {
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.exactly(which(resource.GitOperations(), resource.MustFastForward)...), pass)
		e.Kind(vm.If, e.Field(slotGitForced), missing, pass)
	}, keyGitAllowed.Rule, code.GitOperation, "an update is not said to be a fast-forward, whatever the operation is called")
}

// protectedRefs denies updates of protected refs.
func (e *emitter) protectedRefs(refs *List) {
	exact, starts := refTexts(refs)
	next := e.NewLabel()
	e.at(refs.Span)
	for _, part := range []struct {
		op    vm.Op
		texts []string
	}{{vm.OpIn, exact}, {vm.OpStarts, starts}} {
		if len(part.texts) == 0 {
			continue
		}
		other := e.NewLabel()
		e.Test(part.op, vm.Unless, e.Field(slotGitRefs), e.exactly(part.texts...), other)
		e.deny(keyGitRefs.Rule, keyGitRefs.Code, "an update is of a ref in git.protected_refs", next)
		e.Place(other)
	}
	e.Place(next)
}

// refTexts returns what protected refs equal and what they start with. One that does not begin with refs/ stands for
// branches and tags too.
func refTexts(refs *List) (exact, starts []string) {
	for _, ref := range refs.texts() {
		forms := []string{ref}
		if !strings.HasPrefix(ref, "refs/") {
			for _, form := range refForms {
				forms = append(forms, form+ref)
			}
		}
		for _, form := range forms {
			if start, isPrefix := strings.CutSuffix(form, "*"); isPrefix {
				starts = append(starts, start)
			} else {
				exact = append(exact, form)
			}
		}
	}
	return exact, starts
}
