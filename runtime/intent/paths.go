package intent

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"bailiff/vm"
	"bailiff/vm/form/fspath"
	"bailiff/vm/slot"
)

// maxJoined is how many bytes `cwd` may make in front of all paths: as many as a body has, so that what is derived of the
// paths has at most twice the bytes of the request.
const maxJoined = MaxBody

// fileTools are the tools that may name several files in one call.
var fileTools = []string{"file_write", "file_read"}

// checkPaths takes `paths` for the field `path`: they are one, so that no rule that reads `path` is passed by a list. One
// path in `paths` is that path.
func (in *Intent) checkPaths() {
	list := in.at[slot.Paths]
	if list == 0 {
		return
	}
	if problem := in.pathsProblem(list); problem != "" {
		in.fault(slot.Paths, invalid("intent.paths", problem))
		return
	}
	in.at[slot.Paths], in.at[slot.Path] = 0, list
	if in.items(list) == 1 {
		in.at[slot.Path] = list + 1
	}
}

// pathsProblem describes the fault of a list of paths, or returns "".
func (in *Intent) pathsProblem(list int32) string {
	known := !in.faulty(slot.Action) && !in.faulty(slot.IntentObject) && in.Has(slot.Action)
	switch n := in.items(list); {
	case n == 0:
		return "is empty; name the files, or leave it out"
	case n > slot.MaxPaths:
		return fmt.Sprintf("has %d paths; at most %d go in one intent, send several", n, slot.MaxPaths)
	case known && !slices.Contains(fileTools, in.action):
		return "goes with the actions file_write and file_read only; send path instead"
	case in.Has(slot.Path):
		return "is sent together with path; send one of the two"
	case in.Has(slot.URL):
		return "is sent together with url, which has one path; leave it out"
	case n > 1 && n*(len(in.Text(slot.Cwd))+1) > maxJoined:
		return "makes, with cwd in front of each path, more than " + strconv.Itoa(maxJoined) + " bytes; send absolute paths without cwd, or several intents"
	}
	return ""
}

// items returns how many elements a list of texts has.
func (in *Intent) items(list int32) int { return int(in.nodes[list].next - list - 1) }

// eachPath yields the paths of the intent as they were sent: none, one or several.
func (in *Intent) eachPath() iter.Seq[string] {
	return func(yield func(string) bool) {
		at := in.at[slot.Path]
		for i := at; at != 0 && i < in.nodes[at].next; i++ {
			if in.nodes[i].kind == vm.String && !yield(in.nodes[i].text) {
				return
			}
		}
	}
}

// fromCwd returns a path, a relative one behind the directory that the intent says it starts from.
func (in *Intent) fromCwd(path string) string {
	if !in.Has(slot.Cwd) {
		return path
	}
	return fspath.Join(in.Text(slot.Cwd), path)
}

func derivedPath(in *Intent, _ Provenance) vm.Value {
	if in.kind(slot.Path) != vm.List {
		if !in.Has(slot.Path) {
			return vm.Value{}
		}
		return in.cleanPath(in.Text(slot.Path))
	}
	start := len(in.elements)
	for path := range in.eachPath() {
		in.elements = append(in.elements, in.cleanPath(path))
	}
	return in.listFrom(start)
}

// cleanPath returns the canonical form of a path. One that can't be read has the text that was sent, for messages.
func (in *Intent) cleanPath(path string) vm.Value {
	clean, suspicious := fspath.Clean(in.fromCwd(path))
	if suspicious {
		return vm.Value{Kind: vm.Invalid, Text: path}
	}
	return text(clean)
}

// derivedFileReadings always gives a list, of which each element is a list of readings with the path as it was sent for
// messages.
func derivedFileReadings(in *Intent, _ Provenance) vm.Value {
	if !in.Has(slot.Path) {
		return vm.Value{}
	}
	var all []vm.Value
	for path := range in.eachPath() {
		element := vm.Value{Kind: vm.Invalid, Text: path}
		if readings, ok := fspath.Exact(in.Text(slot.Cwd), path); ok {
			element.Kind = vm.List
			for _, reading := range readings {
				element.Elems = append(element.Elems, text(reading))
			}
		}
		all = append(all, element)
	}
	return vm.Value{Kind: vm.List, Elems: all}
}

// whyFile explains the first path that a list of allowed paths can't judge.
func whyFile(in *Intent) string {
	for path := range in.eachPath() {
		if _, ok := fspath.Exact(in.Text(slot.Cwd), path); ok {
			continue
		}
		if why := fspath.Explain(in.fromCwd(path)); why != "" {
			return why
		}
		return "it has a .., a home directory behind other segments, or a \\ without a drive"
	}
	return ""
}
