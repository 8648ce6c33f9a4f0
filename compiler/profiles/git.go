package profiles

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
)

// Git is the section `## git`: operations on git repositories.
type Git struct {
	frame.Heading
	Actions           *frame.List // action patterns in lower case
	FilesystemActions *frame.List // the same
	Providers         *frame.List
	RemoteSchemes     *frame.List
	Allowed           *frame.List
	Approval          *frame.List // of Allowed
	Blocked           *frame.List // none of Allowed
	ProtectedRefs     *frame.List // refs, or the beginning of refs and `*`
	MaxRefChanges     *frame.Count
	RequireShim       *frame.Flag
}

var refLists = frame.NamesOf(frame.TypeRefs, checkRef)

var (
	keyGitActions = frame.NewKey(frame.ActionPatterns, func(s *Git) **frame.List { return &s.Actions }, frame.Key{Name: "actions",
		Code: errcode.GitMetadata, Codes: []errcode.Code{errcode.GitTopology},
		Doc: "The actions that this profile governs, and thereby grants to tools.", Example: "actions: git.*"})

	keyGitFilesystemActions = frame.NewKey(frame.ActionPatterns, func(s *Git) **frame.List { return &s.FilesystemActions }, frame.Key{Name: "filesystem_actions",
		Rule: "git.actions", Code: errcode.GitMetadata, Codes: []errcode.Code{errcode.GitTopology},
		Doc:     "Further actions of this profile, whose files the profiles filesystem and repository judge too.",
		Example: "filesystem_actions: git.checkout"})

	keyGitProviders = frame.NewKey(frame.Choices, func(s *Git) **frame.List { return &s.Providers }, frame.Key{Name: "providers", Values: resource.GitProviders(),
		Code: errcode.Provider,
		Doc:  "The hosts of git repositories that may be worked with.", Example: "providers: github"})

	keyGitSchemes = frame.NewKey(frame.Choices, func(s *Git) **frame.List { return &s.RemoteSchemes }, frame.Key{Name: "allowed_remote_schemes", Values: resource.RemoteSchemes(),
		Code: errcode.GitTopology,
		Doc:  "How remotes may be reached.", Example: "allowed_remote_schemes: https, ssh"})

	keyGitAllowed = frame.NewKey(frame.Choices, func(s *Git) **frame.List { return &s.Allowed }, frame.Key{Name: "allowed_operations", Values: resource.GitOperations(),
		Code: errcode.GitOperation, Codes: []errcode.Code{errcode.ProviderOperation},
		Doc: "The operations that may happen.", Example: "allowed_operations: status, diff, commit, push_fast_forward"})

	keyGitApproval = frame.NewKey(frame.Choices, func(s *Git) **frame.List { return &s.Approval }, frame.Key{Name: "require_approval", Blocks: true, Values: resource.GitOperations(),
		Code: errcode.HoldApproval,
		Doc:  "The operations on which a person has to decide.", Example: "require_approval: push_fast_forward"})

	keyGitBlocked = frame.NewKey(frame.Choices, func(s *Git) **frame.List { return &s.Blocked }, frame.Key{Name: "blocked_operations", Blocks: true, Values: resource.GitOperations(),
		Code: errcode.GitOperation, Codes: []errcode.Code{errcode.ProviderOperation},
		Doc: "The operations that may not happen, listed in `allowed_operations` or not.", Example: "blocked_operations: force_push, delete_repository"})

	keyGitRefs = frame.NewKey(refLists, func(s *Git) **frame.List { return &s.ProtectedRefs }, frame.Key{Name: "protected_refs", Blocks: true,
		Code:    errcode.GitRef,
		Doc:     "Refs that may not change: exact, or the beginning of refs and `*`; `main` covers the branch and the tag. Where it is declared, `reset_hard` and `rewrite_history` need `metadata.git.branch`, and `change_protection` and `delete_repository` are denied.",
		Example: "protected_refs: main, refs/heads/release/*"})

	keyRefChanges = taskLimit(func(s *Git) **frame.Count { return &s.MaxRefChanges },
		slotGitChanges, "the task would update more refs than allowed", frame.Key{Name: "max_ref_changes_per_task", Unit: "ref updates",
			Doc: "How many refs a task may update.", Example: "max_ref_changes_per_task: 10"})

	keyGitShim = profileShimKey(func(s *Git) **frame.Flag { return &s.RequireShim })
)

// GitSection is the row of `## git`.
var GitSection = profile(frame.NewSection[Git]("git", frame.V21, "A resource profile: operations on git.",
	keyGitActions, keyGitFilesystemActions, keyGitProviders, keyGitSchemes, keyGitAllowed, keyGitApproval,
	keyGitBlocked, keyGitRefs, keyRefChanges, keyGitShim))

// checkRef checks a protected ref: exact, or the beginning of refs and `*`.
func checkRef(text string) frame.Problem {
	if strings.Contains(strings.TrimSuffix(text, "*"), "*") {
		return frame.Problem{Code: codes.Ref, Message: "`" + frame.Shorten(text) + "` has a `*` that is not at its end", Remedy: "write a ref, or the beginning of refs and one `*` at its end"}
	}
	name, open := strings.CutSuffix(text, "*")
	if open {
		name += "x" // any that the pattern covers
	}
	if why := resource.WhyNoRef(name); why != "" && text != "" {
		return frame.Problem{Code: codes.Ref, Message: "`" + frame.Shorten(text) + "` covers no ref: it " + why, Remedy: "write a name that `git check-ref-format` takes, such as `main` or `refs/heads/release/*`"}
	}
	return checkName(text)
}

// gitRules returns the rules of `## git`.
func gitRules(e *frame.Emitter) []profileRule {
	return []profileRule{{Of(e.Parts).ByGit(), func() { emitGit(e) }}}
}

func emitGit(e *frame.Emitter) {
	g := frame.Part[Git](e.Parts)
	failed := e.NewLabel()
	e.At(g.Span)
	gitEvidence(e, failed)
	repositoryGit(e)
	if g.Providers != nil {
		provider(e, keyGitProviders, g.Providers)
	}
	if g.RemoteSchemes != nil {
		remoteScheme(e, g.RemoteSchemes)
	}
	if g.Blocked != nil {
		e.Blocking(g.Blocked)
		next := e.NewLabel()
		denyOperations(e, keyGitBlocked, g.Blocked.Texts(), "the operation is in git.blocked_operations", next)
		e.Place(next)
	}
	if g.Allowed != nil {
		allowedOperations(e, g.Allowed)
	}
	e.At(g.Span)
	fastForward(e)
	if g.ProtectedRefs != nil {
		protectedRefs(e, g.ProtectedRefs)
	}
	e.Place(failed)
}

// gitEvidence denies where the shim does not say which operation it is, on what and where.
func gitEvidence(e *frame.Emitter, failed vm.Label) {
	operation, refs := e.Field(slotGitOperation), e.Field(SlotGitRefs)
	known, whole, named, ok := e.NewLabel(), e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.Kind(vm.If, operation, aText, known)
	e.DenyBy(keyGitActions.Rule, errcode.GitMetadata, "metadata.git.operation is missing, or no git operation", vm.Blame{Slot: operation}, failed)
	e.Place(known)
	e.Kind(vm.Unless, refs, unreadable, whole)
	e.DenyBy(keyGitActions.Rule, errcode.GitMetadata, "metadata.git.ref_updates is empty, or no array of objects with a ref", vm.Blame{Slot: refs}, failed)
	e.Place(whole)
	e.Kind(vm.Unless, e.Field(slotGitBranch), unreadable, named)
	e.DenyBy(keyGitActions.Rule, errcode.GitMetadata, "metadata.git.branch names no branch", e.Value(slotGitBranch), failed)
	e.Place(named)
	e.Kind(vm.If, refs, aList, ok)
	e.Test(vm.OpIn, vm.Unless, operation, e.Exactly(which(resource.GitOperations(), resource.NeedsRefs)...), ok)
	e.DenyBy(keyGitActions.Rule, errcode.GitMetadata, "metadata.git.ref_updates is missing, and the operation updates refs", vm.Blame{Slot: operation}, failed)
	e.Place(ok)
	e.Unless(func(pass vm.Label) { e.Kind(vm.If, e.Field(slotWorktree), aText, pass) },
		keyGitActions.Rule, errcode.GitTopology, "metadata.git.repository_id is missing, or metadata.git.worktree is not a canonical path", e.Value(slotWorktree))
}

// remoteScheme denies remotes that are not reached as the list says.
func remoteScheme(e *frame.Emitter, schemes *frame.List) {
	e.Allowing(schemes)
	e.Unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.Exactly(which(resource.GitOperations(), resource.UsesRemote)...), pass)
		e.Test(vm.OpIn, vm.If, e.Field(slotRemoteScheme), e.Exactly(schemes.Texts()...), pass)
	}, keyGitSchemes.Rule, keyGitSchemes.Code, "metadata.git.remote_scheme is missing, or not in git.allowed_remote_schemes", e.Value(slotRemoteScheme))
}

// denyOperations denies operations, those at a repository's host by a code of their own, and goes on at next.
func denyOperations(e *frame.Emitter, key *frame.Key, operations []string, message string, next vm.Label) {
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
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.Exactly(part.operations...), other)
		e.DenyBy(key.Rule, part.code, message, e.Value(slotGitOperation), next)
		e.Place(other)
	}
}

// allowedOperations denies operations that the list lacks.
func allowedOperations(e *frame.Emitter, allowed *frame.List) {
	const message = "the operation is not in git.allowed_operations"
	next, local := e.NewLabel(), e.NewLabel()
	operation := e.Field(slotGitOperation)
	e.Allowing(allowed)
	e.Test(vm.OpIn, vm.If, operation, e.Exactly(allowed.Texts()...), next)
	atProvider := which(resource.GitOperations(), func(text string) bool {
		return resource.AtProvider(text) && !slices.Contains(allowed.Texts(), text)
	})
	if len(atProvider) > 0 {
		e.Test(vm.OpIn, vm.Unless, operation, e.Exactly(atProvider...), local)
		e.DenyBy(keyGitAllowed.Rule, errcode.ProviderOperation, message, vm.Blame{Slot: operation}, next)
	}
	e.Place(local)
	e.DenyBy(keyGitAllowed.Rule, errcode.GitOperation, message, vm.Blame{Slot: operation}, next)
	e.Place(next)
}

// fastForward denies operations that are called fast-forwards and are none.
func fastForward(e *frame.Emitter) {
	e.Unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.Exactly(which(resource.GitOperations(), resource.MustFastForward)...), pass)
		e.Kind(vm.If, e.Field(slotGitForced), missing, pass)
	}, keyGitAllowed.Rule, errcode.GitOperation, "an update is not said to be a fast-forward, whatever the operation is called", e.Value(slotGitForced))
}

// protectedRefs denies updates of protected refs, that of the work tree's branch included, and what may change one without
// naming it.
func protectedRefs(e *frame.Emitter, refs *frame.List) {
	forms := formsOf(refs)
	var tests []frame.SetTest
	if len(forms.exact) > 0 {
		tests = append(tests, frame.SetTest{Op: vm.OpIn, Set: e.Exactly(forms.exact...)})
	}
	if len(forms.starts) > 0 {
		tests = append(tests, frame.SetTest{Op: vm.OpStarts, Set: e.Exactly(forms.starts...)})
	}
	if forms.hasShort {
		tests = append(tests, frame.SetTest{Op: vm.OpMatch, Set: e.Pattern(shortPattern(forms.short), false)})
	}
	e.At(refs.Span)
	e.Listed(false, refWords(e, refs))
	deny := func(message string, blame vm.Blame, test func(pass vm.Label)) {
		e.Unless(test, keyGitRefs.Rule, keyGitRefs.Code, message, blame)
	}
	deny("an update is of a ref in git.protected_refs", e.Element(SlotGitRefs), func(pass vm.Label) { e.UnlessAny(e.Field(SlotGitRefs), tests, pass) })
	deny("the operation moves a branch in git.protected_refs", e.Element(slotGitBranch), func(pass vm.Label) { e.UnlessAny(e.Field(slotGitBranch), tests, pass) })
	e.At(refs.Span)
	operation := func(is func(string) bool, pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotGitOperation), e.Exactly(which(resource.GitOperations(), is)...), pass)
	}
	deny("the operation moves a branch, and metadata.git.branch does not say which", e.Value(slotGitOperation), func(pass vm.Label) {
		e.Kind(vm.Unless, e.Field(slotGitBranch), missing, pass)
		operation(resource.NeedsBranch, pass)
	})
	deny("the operation takes the protection of refs away", e.Value(slotGitOperation), func(pass vm.Label) { operation(resource.Unprotects, pass) })
}

// refWords returns protected refs with all forms that refs of updates may have.
func refWords(e *frame.Emitter, refs *frame.List) (words []frame.Word) {
	for _, item := range refs.Items {
		text, forms := e.AsWritten(item), formsOf(&frame.List{Items: []frame.Item{item}})
		for _, form := range forms.exact {
			words = append(words, frame.Word{Text: text, Form: form})
		}
		for _, start := range forms.starts {
			words = append(words, frame.Word{Text: text, Form: start + "*"})
		}
	}
	return words
}

// refNamespace begins whole names of refs. One without it is a short name, which git looks up in the spaces of
// [ShortNames].
const refNamespace = "refs/"

// ShortNames are what git puts in front of a short name, in this order.
var ShortNames = []string{refNamespace, refNamespace + "heads/", refNamespace + "tags/"}

// wholeNames returns a ref, or the beginning of refs, with the whole names that it means where it is short.
func wholeNames(ref string) []string {
	names := []string{ref}
	if !strings.HasPrefix(ref, refNamespace) {
		for _, space := range ShortNames {
			names = append(names, space+ref)
		}
	}
	return names
}

// refForms are the refs of updates that protected refs cover. A short name means branches and tags, in the list and
// in updates.
type refForms struct {
	exact, starts []string // what they equal, and what they start with

	// short is the shortest beginning of refNamespace with which a short name starts that is covered; hasShort says
	// whether there is any. No prefix tells such names from whole ones.
	short    string
	hasShort bool
}

func formsOf(refs *frame.List) *refForms {
	forms := new(refForms)
	for _, ref := range refs.Texts() {
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
	for _, space := range ShortNames {
		rest, below := strings.CutPrefix(name, space)
		switch {
		case open && strings.HasPrefix(space, name):
			f.addShort("")
		case !below || strings.HasPrefix(rest, refNamespace):
		case open && strings.HasPrefix(refNamespace, rest):
			f.addShort(rest)
		case open:
			f.starts = append(f.starts, rest)
		default:
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
