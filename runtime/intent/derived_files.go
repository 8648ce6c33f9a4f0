package intent

import (
	"slices"
	"strconv"
	"strings"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/form/fspath"
	"bailiff/vm/form/resource"
)

// The members of a target in metadata.filesystem, and the flag of metadata.execution, by which paths are trusted.
const (
	absolutePath   = "absolute"
	resolvedParent = "resolved_parent"
	classification = "classification"
	targetBytes    = "bytes"
	raceSafe       = "race_safe_path_resolution"
)

// files are the effects of a request and the paths of its targets.
type files struct {
	known   bool
	effects vm.Value // as @fs.effects
	targets vm.Value // as @fs.targets

	// What the effects do together; nothing where they are invalid.
	reads, writes, writesBytes, deletesBytes, takesAlong bool
	destroying                                           uint64
}

// files returns the effects and targets of the request.
func (in *Intent) files() *files {
	f := &in.digest.files
	if !f.known {
		*f = files{known: true, effects: in.readEffects(), targets: in.readTargets()}
		f.addAll(f.effects.Elems)
	}
	return f
}

// addAll counts what effects do, a repeated one once.
func (f *files) addAll(effects []vm.Value) {
	var room [16]string // more than there are
	seen := room[:0]
	for _, effect := range effects {
		if !slices.Contains(seen, effect.Text) {
			seen = append(seen, effect.Text)
			f.add(effect.Text)
		}
	}
}

// add counts what one effect does.
func (f *files) add(effect string) {
	f.reads = f.reads || resource.Reads(effect)
	f.writes = f.writes || resource.Writes(effect)
	f.writesBytes = f.writesBytes || resource.WritesBytes(effect)
	f.deletesBytes = f.deletesBytes || resource.DeletesBytes(effect)
	f.takesAlong = f.takesAlong || resource.TakesAlong(effect)
	if resource.Destroys(effect) {
		f.destroying++
	}
}

func (in *Intent) readEffects() vm.Value {
	list := in.texts(in.given(in.evidence(fileEvidence), "effects"), resource.IsEffect)
	if list.Kind != vm.List {
		return unreadable
	}
	return list
}

// targetList returns the node of the array of targets, or 0 where it has no elements.
func (in *Intent) targetList() int32 {
	if at := in.given(in.evidence(fileEvidence), "targets"); in.isList(at) {
		return at
	}
	return 0
}

// hasPaths reports whether every target says its path.
func (in *Intent) hasPaths(list int32) bool {
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		if _, ok := in.givenText(i, absolutePath); !ok {
			return false
		}
	}
	return list != 0
}

func (in *Intent) readTargets() vm.Value {
	list := in.targetList()
	if !in.hasPaths(list) {
		return vm.Value{}
	}
	if !in.isTrue(in.evidence(executionEvidence), raceSafe) {
		return unreadable
	}
	start := len(in.elements)
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		path, resolved, ok := in.paths(i)
		if !ok {
			in.elements = in.elements[:start]
			return unreadable
		}
		in.elements = append(in.elements, text(in.directory(path)))
		if resolved != path {
			in.elements = append(in.elements, text(in.directory(resolved)))
		}
	}
	return in.listFrom(start)
}

// paths returns the path of a target, and that to which its links lead: the resolved parent with the path's last name.
// It reports false where one of them is not canonical.
func (in *Intent) paths(target int32) (path, resolved string, ok bool) {
	path, _ = in.givenText(target, absolutePath)
	parent, _ := in.givenText(target, resolvedParent)
	if !resource.CanonicalPath(path) || !resource.CanonicalRoot(parent) {
		return path, "", false
	}
	last := strings.LastIndexByte(path, '/')
	if parent = strings.TrimSuffix(parent, "/"); parent == path[:last] {
		return path, path, true
	}
	return path, in.join(parent, path[last:]), true
}

func derivedEffects(in *Intent, _ Provenance) vm.Value { return in.files().effects }
func derivedTargets(in *Intent, _ Provenance) vm.Value { return in.files().targets }

func derivedWritten(in *Intent, _ Provenance) vm.Value {
	if f := in.files(); f.writes {
		return f.targets
	}
	return vm.Value{}
}

func derivedRead(in *Intent, _ Provenance) vm.Value {
	if f := in.files(); f.reads {
		return f.targets
	}
	return vm.Value{}
}

func derivedWrittenBeyond(in *Intent, from Provenance) vm.Value {
	return in.keep(derivedWritten(in, from), in.writable().cover, false)
}

func derivedReadBeyond(in *Intent, from Provenance) vm.Value {
	return in.keep(derivedRead(in, from), in.readable().cover, false)
}

func derivedWrittenRoots(in *Intent, from Provenance) vm.Value {
	written := derivedWritten(in, from)
	if written.Kind != vm.List {
		return vm.Value{}
	}
	return in.keep(written, in.writable().holds, true)
}

// derivedPaths brings the paths of targets into the form that blocked paths have. A path that is not canonical is read
// all the same, as far as it can be: the second path can't.
func derivedPaths(in *Intent, _ Provenance) vm.Value {
	list := in.targetList()
	if !in.hasPaths(list) {
		return vm.Value{}
	}
	start := len(in.elements)
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		path, resolved, ok := in.paths(i)
		in.elements = append(in.elements, in.clean(path))
		switch {
		case !ok:
			in.elements = append(in.elements, unreadable)
		case resolved != path:
			in.elements = append(in.elements, in.clean(resolved))
		}
	}
	return in.listFrom(start)
}

// clean returns a path as fspath.Clean does, and invalid where its meaning is unclear. Plain paths, which
// need nothing but lower case, cost no allocation.
func (in *Intent) clean(path string) vm.Value {
	if isPlainPath(path) {
		return text(in.lower(path))
	}
	clean, suspicious := fspath.Clean(path)
	if suspicious {
		return unreadable
	}
	return text(clean)
}

// isPlainPath reports whether a path is canonical and made of letters, digits, "-", "_" and "." alone, with no name
// that ends in a ".". Nothing has a meaning of its own there.
func isPlainPath(path string) bool {
	if !resource.CanonicalPath(path) {
		return false
	}
	for i := range len(path) {
		switch c := path[i]; {
		case isDigit(c) || isUpper(c) || 'a' <= c && c <= 'z' || c == '_' || c == '-':
		case c == '/' && path[max(i-1, 0)] != '.':
		case c == '.' && i+1 < len(path):
		default:
			return false
		}
	}
	return true
}

func derivedGitFolders(in *Intent, from Provenance) vm.Value {
	return in.keep(derivedWritten(in, from), fspath.InGitFolder, true)
}

func derivedTaken(in *Intent, _ Provenance) vm.Value {
	f := in.files()
	if !f.takesAlong {
		return vm.Value{}
	}
	if f.targets.Kind != vm.List {
		return f.targets
	}
	start := len(in.elements)
	for _, target := range f.targets.Elems {
		in.elements = append(in.elements, text(in.foldedPath(target.Text)))
	}
	return in.listFrom(start)
}

// foldedPath returns a canonical path as file systems compare it, with one slash at its end. What cannot be known of other
// paths does not matter: this one is whole.
func (in *Intent) foldedPath(path string) string {
	path = strings.TrimSuffix(path, "/")
	if isPlainPath(path) {
		return in.directory(in.lower(path))
	}
	clean, _ := fspath.Clean(path + "/")
	return in.directory(clean)
}

func derivedTakenTree(in *Intent, from Provenance) vm.Value {
	taken := derivedTaken(in, from)
	at := in.given(in.evidence(gitEvidence), "worktree")
	switch {
	case taken.Kind != vm.List:
		return taken
	case at == 0:
		return vm.Value{}
	case !resource.CanonicalPath(in.nodes[at].text):
		return unreadable
	}
	tree := in.foldedPath(in.nodes[at].text)
	return in.keep(taken, func(path string) bool { return strings.HasPrefix(tree, path) }, true)
}

func derivedTakenRoots(in *Intent, from Provenance) vm.Value {
	taken := derivedTaken(in, from)
	if taken.Kind != vm.List {
		return taken
	}
	folded := &in.digest.folded
	if !folded.known {
		writable := in.writable() // which has its own elements
		start := len(in.elements)
		for _, root := range writable.all {
			in.elements = append(in.elements, text(in.foldedPath(root.Text)))
		}
		*folded = roots{known: true, all: in.listFrom(start).Elems}
		slices.SortFunc(folded.all, func(a, b vm.Value) int { return strings.Compare(a.Text, b.Text) })
	}
	return in.keep(taken, folded.holds, true)
}

func derivedClasses(in *Intent, _ Provenance) vm.Value {
	list := in.targetList()
	if list == 0 {
		return vm.Value{}
	}
	start := len(in.elements)
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		class, _ := in.givenText(i, classification)
		if class == "" {
			in.elements = in.elements[:start]
			return unreadable
		}
		in.elements = append(in.elements, text(class))
	}
	return in.listFrom(start)
}

func derivedFiles(in *Intent, _ Provenance) vm.Value {
	return in.count(in.length(in.targetList()))
}

func derivedDestructive(in *Intent, _ Provenance) vm.Value {
	return in.quantity(amount.FromUint64(in.files().destroying * in.length(in.targetList())))
}

func derivedBytesWritten(in *Intent, _ Provenance) vm.Value {
	return in.bytes(in.files().writesBytes)
}

func derivedBytesDeleted(in *Intent, _ Provenance) vm.Value {
	return in.bytes(in.files().deletesBytes)
}

// bytes adds up the bytes of all targets, where they count.
func (in *Intent) bytes(counted bool) vm.Value {
	var sum amount.Amount
	list := in.targetList()
	if !counted || list == 0 {
		return in.quantity(sum)
	}
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		n, ok := in.wholeNumber(in.given(i, targetBytes))
		if !ok {
			return unreadable
		}
		sum, _ = sum.Add(amount.FromUint64(n)) // a body has no room for 2^203 integers
	}
	return in.quantity(sum)
}

// wholeNumber returns the value of a number that is an integer of zero or more.
func (in *Intent) wholeNumber(at int32) (n uint64, ok bool) {
	if at == 0 || in.nodes[at].kind != vm.Number {
		return 0, false
	}
	n, err := strconv.ParseUint(in.nodes[at].text, 10, 64)
	return n, err == nil
}
