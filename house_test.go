package bailiff_test

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// What a newcomer meets first is held here: how large a package is, in which order its files can be read, and that each
// exported name has a user outside of its package.

// maxPackageLines bounds a package, without its tests.
const maxPackageLines = 5000

// maxArrows bounds the arrows against the reading order of a package: of all pairs of files where one uses a name of the
// other, those that point back in the order of files that has the fewest. Such files can only be read together.
const maxArrows = 15

// tangledPackages have more arrows than that. The numbers may only fall.
var tangledPackages = map[string]int{
	"fuzz/oracle": 26, "runtime/intent": 25, "runtime/ledger/state": 22, "httpd": 21,
	"grammar": 18, "fuzz/gen": 17,
}

// load reads the project's packages with their types.
func load(t *testing.T, tests bool) []*packages.Package {
	t.Helper()
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
			packages.NeedImports | packages.NeedExportFile,
		Tests: tests,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		for _, fault := range p.Errors {
			t.Fatalf("%s: %v", p.PkgPath, fault)
		}
	}
	return all
}

// folder returns the folder of a package of the project, from the root.
func folder(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(path, "_test"), "bailiff"), "/")
}

func TestPackagesAreSmall(t *testing.T) {
	lines := map[string]int{}
	for _, s := range sources(t, ".") {
		if !s.test {
			lines[s.dir] += strings.Count(s.text, "\n")
		}
	}
	hold(t, "lines", lines, nil, maxPackageLines)
}

func TestFilesHaveAReadingOrder(t *testing.T) {
	arrows := map[string]int{}
	for _, p := range load(t, false) {
		arrows[folder(p.PkgPath)] = against(uses(p))
	}
	hold(t, "arrows against the reading order", arrows, tangledPackages, maxArrows)
}

// hold reports each folder whose number is above the limit, or above its own limit where it has one.
func hold(t *testing.T, what string, numbers, own map[string]int, limit int) {
	t.Helper()
	for _, dir := range slices.Sorted(maps.Keys(numbers)) {
		most := max(limit, own[dir])
		if numbers[dir] > most {
			t.Errorf("%s has %d %s; at most %d are allowed", dir, numbers[dir], what, most)
		}
	}
	for dir, most := range own {
		if n := numbers[dir]; n <= limit || n < most*9/10 {
			t.Errorf("%s has %d %s: lower its limit of %d in house_test.go", dir, n, what, most)
		}
	}
}

// An arrow points from the file that uses a name to the one that declares it.
type arrowBetween struct{ from, to string }

// uses returns the arrows between the files of a package: names of the package, and methods.
func uses(p *packages.Package) map[arrowBetween]bool {
	arrows := map[arrowBetween]bool{}
	for id, object := range p.TypesInfo.Uses {
		_, method := object.(*types.Func)
		if object.Pkg() != p.Types || object.Parent() != p.Types.Scope() && !method {
			continue
		}
		from, to := fileOf(p.Fset, id.Pos()), fileOf(p.Fset, object.Pos())
		if from != to {
			arrows[arrowBetween{from, to}] = true
		}
	}
	return arrows
}

func fileOf(fset *token.FileSet, at token.Pos) string {
	return filepath.Base(fset.Position(at).Filename)
}

// against returns how many arrows point back in the best order of files that moving one file at a time finds.
func against(arrows map[arrowBetween]bool) int {
	names := map[string]bool{}
	for a := range arrows {
		names[a.from], names[a.to] = true, true
	}
	order := slices.Sorted(maps.Keys(names))
	count := func(from, to string) int {
		if arrows[arrowBetween{from, to}] {
			return 1
		}
		return 0
	}
	for moved := true; moved; {
		moved = false
		for _, file := range slices.Sorted(maps.Keys(names)) {
			at := slices.Index(order, file)
			place, best := at, 0
			for j, gain := at-1, 0; j >= 0; j-- {
				if gain += count(file, order[j]) - count(order[j], file); gain > best {
					place, best = j, gain
				}
			}
			for j, gain := at+1, 0; j < len(order); j++ {
				if gain += count(order[j], file) - count(file, order[j]); gain > best {
					place, best = j, gain
				}
			}
			if best > 0 {
				order, moved = slices.Insert(slices.Delete(order, at, at+1), place, file), true
			}
		}
	}
	back := 0
	for a := range arrows {
		if slices.Index(order, a.from) > slices.Index(order, a.to) {
			back++
		}
	}
	return back
}

func TestAgainst(t *testing.T) {
	arrows := map[arrowBetween]bool{{"a", "b"}: true, {"b", "c"}: true, {"a", "c"}: true}
	if n := against(arrows); n != 0 {
		t.Errorf("files that can be read in order have %d arrows against it", n)
	}
	arrows[arrowBetween{"c", "a"}] = true
	if n := against(arrows); n != 1 {
		t.Errorf("a circle of three files has %d arrows against the order, and not 1", n)
	}
}

// forOthers are the folders whose exported names programs of others use, or that hold tests.
var forOthers = []string{"httpd/client", "fuzz", "bench"}

// TestExportedNamesHaveUsers: each exported function, type, variable and constant is used by another package, by name or
// through one that is: as the type of a field, a parameter or a result, or as a constant or variable of such a type.
func TestExportedNamesHaveUsers(t *testing.T) {
	declared, used := map[string]types.Object{}, usedNames{}
	position := map[string]token.Position{}
	all := load(t, true)
	for _, p := range all {
		for _, object := range p.TypesInfo.Uses {
			if exportedName(object) != "" && (folder(p.PkgPath) != folder(object.Pkg().Path()) || strings.HasSuffix(p.PkgPath, "_test")) {
				used.add(object)
			}
		}
	}
	for _, p := range all {
		if dir := folder(p.PkgPath); dir == "" || p.Name == "main" || strings.HasSuffix(p.PkgPath, "_test") || slices.ContainsFunc(forOthers, func(of string) bool { return under(dir, of) }) {
			continue
		}
		for _, object := range p.TypesInfo.Defs {
			key := exportedName(object)
			if at := p.Fset.Position(posOf(object)); key != "" && !strings.HasSuffix(at.Filename, "_test.go") {
				declared[key], position[key] = object, at
			}
		}
	}
	var unused []string
	for key, object := range declared {
		_, function := object.(*types.Func)
		if !used[key] && (function || !used.typed(object.Type())) {
			unused = append(unused, fmt.Sprintf("%s:%d: %s", position[key].Filename, position[key].Line, key))
		}
	}
	for _, name := range slices.Sorted(slices.Values(unused)) {
		t.Errorf("%s: exported, and no other package uses it", name)
	}
}

func posOf(object types.Object) token.Pos {
	if object == nil {
		return token.NoPos
	}
	return object.Pos()
}

// exportedName returns a name for a function, type, variable or constant that a package of the project exports, else "".
func exportedName(object types.Object) string {
	if object == nil || object.Pkg() == nil || !object.Exported() || object.Parent() != object.Pkg().Scope() ||
		!strings.HasPrefix(object.Pkg().Path(), "bailiff") {
		return ""
	}
	return strings.TrimSuffix(object.Pkg().Path(), "_test") + "." + object.Name()
}

// usedNames are exported names that have a user, by [exportedName].
type usedNames map[string]bool

// add adds an object and the types through which its user reaches others.
func (u usedNames) add(object types.Object) {
	key := exportedName(object)
	if key == "" || u[key] {
		return
	}
	u[key] = true
	u.reach(object.Type())
	if name, ok := object.(*types.TypeName); ok {
		u.reachNamed(name)
	}
}

func (u usedNames) reachNamed(name *types.TypeName) {
	named, ok := name.Type().(*types.Named)
	if !ok {
		return
	}
	u.reach(named.Underlying())
	for method := range named.Methods() {
		if method.Exported() {
			u.reach(method.Type())
		}
	}
}

// reach adds the types of the project that a type is made of.
func (u usedNames) reach(t types.Type) {
	switch t := t.(type) {
	case *types.Named:
		u.add(t.Obj())
		for argument := range t.TypeArgs().Types() {
			u.reach(argument)
		}
	case *types.Alias:
		u.add(t.Obj())
		u.reach(types.Unalias(t))
	case *types.Map:
		u.reach(t.Key())
		u.reach(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays and channels
		u.reach(t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			u.reach(v.Type())
		}
		for v := range t.Results().Variables() {
			u.reach(v.Type())
		}
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() {
				u.reach(field.Type())
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			u.reach(method.Type())
		}
	}
}

// typed reports whether a constant's type is one that has a user.
func (u usedNames) typed(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && u[exportedName(named.Obj())]
}
