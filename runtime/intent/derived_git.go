package intent

import (
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/form/resource"
)

func derivedOperation(in *Intent, _ Provenance) vm.Value {
	at := in.given(in.evidence(gitEvidence), "operation")
	if at == 0 {
		return vm.Value{}
	}
	if n := &in.nodes[at]; n.kind == vm.String && resource.IsGitOperation(n.text) {
		return text(n.text)
	}
	return unreadable
}

func (in *Intent) refUpdates() int32 { return in.given(in.evidence(gitEvidence), "ref_updates") }

// refs returns the refs of all updates, or of those alone that are not said to be fast-forwards. An update without
// the name of a ref makes the whole list unreadable.
func (in *Intent) refs(forced bool) vm.Value {
	list := in.refUpdates()
	switch {
	case list == 0:
		return vm.Value{}
	case !in.isList(list):
		return unreadable
	}
	start := len(in.elements)
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		ref, ok := in.givenText(i, "ref")
		if !ok || resource.WhyNoRef(ref) != "" {
			in.elements = in.elements[:start]
			return unreadable
		}
		if !forced || !in.isTrue(i, "fast_forward") {
			in.elements = append(in.elements, text(ref))
		}
	}
	if len(in.elements) == start {
		return vm.Value{}
	}
	return in.listFrom(start)
}

func derivedRefs(in *Intent, _ Provenance) vm.Value   { return in.refs(false) }
func derivedForced(in *Intent, _ Provenance) vm.Value { return in.refs(true) }

// derivedBranch returns the branch that the operation moves without naming it among its updates.
func derivedBranch(in *Intent, from Provenance) vm.Value {
	at := in.given(in.evidence(gitEvidence), "branch")
	if at == 0 || !resource.MovesBranch(derivedOperation(in, from).Text) {
		return vm.Value{}
	}
	if n := &in.nodes[at]; n.kind == vm.String && resource.WhyNoRef(n.text) == "" {
		return text(n.text)
	}
	return unreadable
}

func derivedChanges(in *Intent, _ Provenance) vm.Value {
	return in.quantity(amount.FromUint64(in.length(in.refUpdates())))
}

// worktree returns the work tree, and false where the repository is ambiguous.
func (in *Intent) worktree() (path string, ok bool) {
	git := in.evidence(gitEvidence)
	id, _ := in.givenText(git, "repository_id")
	path, _ = in.givenText(git, "worktree")
	return path, id != "" && resource.CanonicalPath(path)
}

func derivedWorktree(in *Intent, _ Provenance) vm.Value {
	path, ok := in.worktree()
	if !ok {
		return unreadable
	}
	return text(in.directory(path))
}

func derivedWorktreeBeyond(in *Intent, from Provenance) vm.Value {
	tree := derivedWorktree(in, from)
	if tree.Kind == vm.String && in.writable().cover(tree.Text) {
		return vm.Value{}
	}
	return tree
}

func derivedProvider(in *Intent, _ Provenance) vm.Value {
	provider, _ := in.givenText(in.evidence(gitEvidence), "provider")
	return textIf(provider != "", provider)
}

func derivedRemoteScheme(in *Intent, _ Provenance) vm.Value {
	scheme, ok := in.givenText(in.evidence(gitEvidence), "remote_scheme")
	return textIf(ok, in.lower(scheme))
}
