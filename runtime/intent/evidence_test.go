package intent

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"
	"bailiff/vm"
	"bailiff/vm/form/fspath"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// fileSlots are the slots that TestFileEvidence judges.
var fileSlots = strings.Fields("@fs.effects @fs.targets @fs.written @fs.read @fs.written.beyond @fs.read.beyond @fs.written.roots " +
	"@fs.git @fs.taken @fs.taken.tree @fs.taken.roots @fs.paths @fs.classes @fs.files @fs.bytes.written @fs.bytes.deleted @fs.destructive @git.worktree.beyond")

// TestFileEvidence holds the slots of files to a naive reading of random evidence: over segments, maps and big numbers,
// without sorting, caching or sharing.
func TestFileEvidence(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 2000))
	kinds := map[string]bool{}
	properties.Property("slots of files", prop.ForAll(func(n int64) string {
		metadata := randomEvidence(rand.New(rand.NewSource(n)))
		want := naiveFiles(metadata)
		got, err := fileValues(metadata)
		if err != nil {
			return err.Error()
		}
		for slot, shown := range want {
			kinds[slot+" "+strings.Fields(shown)[0]] = true
		}
		return difference(got, want)
	}, gen.Int64()))
	properties.TestingRun(t)
	for _, kind := range []string{"@fs.effects list", "@fs.effects invalid", "@fs.targets list", "@fs.targets invalid", "@fs.targets missing",
		"@fs.written.beyond list", "@fs.written.beyond missing", "@fs.read.beyond list", "@fs.written.roots list", "@fs.classes list",
		"@fs.bytes.written number", "@fs.bytes.written invalid", "@git.worktree.beyond string", "@git.worktree.beyond missing",
		"@fs.git list", "@fs.git missing", "@fs.git invalid", "@fs.taken list", "@fs.taken invalid", "@fs.taken.tree list", "@fs.taken.tree missing",
		"@fs.taken.tree invalid", "@fs.taken.roots list", "@fs.taken.roots missing"} {
		if !kinds[kind] {
			t.Errorf("no evidence made %s", kind)
		}
	}
}

// difference says in which slot two readings differ.
func difference(got, want map[string]string) string {
	for _, slot := range fileSlots {
		if got[slot] != want[slot] {
			return fmt.Sprintf("%s is %s, naively %s", slot, got[slot], want[slot])
		}
	}
	return ""
}

// fileValues decodes a request with that metadata and shows the slots. They are filled in one go and in random order,
// since they share what they read.
func fileValues(metadata object) (map[string]string, error) {
	body, err := json.Marshal(object{"framework": "f", "agentId": "a", "txCommit": strings.Repeat("0a", 32),
		"intent": object{"action": "file_write", "metadata": metadata}})
	if err != nil {
		return nil, err
	}
	in, err := NewDecoder(Options{}).Decode(body)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(fileSlots)
	rand.New(rand.NewSource(int64(len(body)))).Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	binding, err := NewBinding(names, nil)
	if err != nil {
		return nil, err
	}
	frame := make([]vm.Value, len(names))
	binding.Fill(in, Shim, nil, frame)
	shown := map[string]string{}
	for i, name := range names {
		shown[name] = showValue(frame[i])
	}
	return shown, nil
}

// segments returns the names of a canonical path, and nil for any other text.
func segments(path any) []string {
	text, _ := path.(string)
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, "\\\x7f") {
		return nil
	}
	names := strings.Split(text, "/")[1:]
	for _, name := range names {
		if name == "" || name == "." || name == ".." {
			return nil
		}
	}
	return names
}

// naiveRoots returns the roots of a list, each as its names. The root / has none.
func naiveRoots(value any) (roots [][]string) {
	list, _ := value.([]any)
	for _, root := range list {
		names := segments(root)
		if names == nil && root != "/" {
			return nil
		}
		roots = append(roots, names)
	}
	return roots
}

func insideAny(names []string, roots [][]string) bool {
	return slices.ContainsFunc(roots, func(root []string) bool {
		return len(names) >= len(root) && slices.Equal(names[:len(root)], root)
	})
}

// A naiveReading is what evidence says about targets: "missing", "invalid", or "list" and the paths.
type naiveReading struct {
	kind  string
	paths [][]string
}

func (r naiveReading) show(keep func([]string) bool) string {
	if r.kind != "list" {
		return r.kind
	}
	shown := ""
	for _, names := range r.paths {
		if keep(names) {
			shown += fmt.Sprintf(" [string %q]", "/"+strings.Join(names, "/")+"/")
		}
	}
	if shown == "" {
		return "missing"
	}
	return "list" + shown
}

// naiveTargets reads the targets one by one; an absent path outweighs one that is not canonical.
func naiveTargets(targets []any, safe bool) naiveReading {
	reading := naiveReading{kind: "list"}
	for _, value := range targets {
		target, _ := value.(object)
		if _, ok := target["absolute"].(string); !ok {
			return naiveReading{kind: "missing"}
		}
		names, parent := segments(target["absolute"]), segments(target["resolved_parent"])
		if names == nil || parent == nil && target["resolved_parent"] != "/" || !safe {
			reading.kind = "invalid"
			continue
		}
		reading.paths = append(reading.paths, names)
		if resolved := append(slices.Clone(parent), names[len(names)-1]); !slices.Equal(resolved, names) {
			reading.paths = append(reading.paths, resolved)
		}
	}
	if len(targets) == 0 {
		return naiveReading{kind: "missing"}
	}
	return reading
}

// naiveFiles shows what every slot must hold.
func naiveFiles(metadata object) map[string]string {
	files, execution := metadata["filesystem"].(object), metadata["execution"].(object)
	targets, effects := files["targets"].([]any), files["effects"].([]any)
	known := "read create overwrite append truncate delete rename copy hard_link symlink chmod chown xattr execute egress"
	shown := map[string]string{"@fs.effects": "list"}
	for _, effect := range effects {
		name, ok := effect.(string)
		if shown["@fs.effects"] += fmt.Sprintf(" [string %q]", name); !ok || !slices.Contains(strings.Fields(known), name) {
			shown["@fs.effects"], effects = "invalid", nil
			break
		}
	}
	anyOf := func(names string) bool {
		return slices.ContainsFunc(effects, func(e any) bool { return slices.Contains(strings.Fields(names), e.(string)) })
	}
	all := func([]string) bool { return true }
	reading := naiveTargets(targets, execution["race_safe_path_resolution"] == true)
	written, read := naiveReading{kind: "missing"}, naiveReading{kind: "missing"}
	if anyOf("create overwrite append truncate delete rename copy hard_link symlink chmod chown xattr") {
		written = reading
	}
	if anyOf("read copy execute egress") {
		read = reading
	}
	writable, readable := naiveRoots(execution[writableRoots]), naiveRoots(execution[readableRoots])
	shown["@fs.targets"], shown["@fs.written"], shown["@fs.read"] = reading.show(all), written.show(all), read.show(all)
	shown["@fs.written.beyond"] = written.show(func(names []string) bool { return !insideAny(names, writable) })
	shown["@fs.read.beyond"] = read.show(func(names []string) bool { return !insideAny(names, readable) })
	shown["@fs.written.roots"] = "missing"
	if written.kind == "list" {
		shown["@fs.written.roots"] = written.show(func(names []string) bool {
			return slices.ContainsFunc(writable, func(root []string) bool { return insideAny(root, [][]string{names}) })
		})
	}
	shown["@fs.files"] = fmt.Sprintf("number %q", fmt.Sprint(len(targets)))
	shown["@fs.paths"], shown["@fs.classes"] = naivePaths(targets), naiveClasses(targets)
	shown["@fs.bytes.written"] = naiveBytes(targets, anyOf("create overwrite append copy"))
	shown["@fs.bytes.deleted"] = naiveBytes(targets, anyOf("delete truncate"))
	destroying := map[any]bool{}
	for _, e := range effects {
		if slices.Contains([]any{"overwrite", "truncate", "delete", "rename"}, e) {
			destroying[e] = true
		}
	}
	shown["@fs.destructive"] = fmt.Sprintf("number %q in base units", fmt.Sprint(len(destroying)*len(targets)))
	naiveFolders(shown, written, reading, anyOf("delete rename copy hard_link chmod chown xattr egress"), writable, metadata["git"].(object)["worktree"])
	shown["@git.worktree.beyond"] = naiveWorktree(metadata["git"].(object), writable)
	return shown
}

// naiveFolders shows the slots of what protects the history of git. Names compare without case; generated ones have no
// other spellings, but for those of git's folder.
func naiveFolders(shown map[string]string, written, reading naiveReading, takesAlong bool, writable [][]string, worktree any) {
	isGit := func(name string) bool {
		return slices.Contains([]string{".git", "git~1"}, strings.TrimRight(strings.ToLower(name), "."))
	}
	shown["@fs.git"] = written.show(func(names []string) bool { return slices.ContainsFunc(names, isGit) })
	taken := naiveReading{kind: "missing"}
	if takesAlong {
		taken.kind = reading.kind
		for _, names := range reading.paths {
			taken.paths = append(taken.paths, naiveFolded(names))
		}
	}
	above := func(dirs [][]string) func([]string) bool {
		return func(names []string) bool {
			return slices.ContainsFunc(dirs, func(dir []string) bool { return insideAny(naiveFolded(dir), [][]string{names}) })
		}
	}
	shown["@fs.taken"] = taken.show(func([]string) bool { return true })
	shown["@fs.taken.roots"] = taken.show(above(writable))
	tree := segments(worktree)
	shown["@fs.taken.tree"] = taken.show(above([][]string{tree}))
	if tree == nil && taken.kind == "list" {
		shown["@fs.taken.tree"] = "invalid"
	}
}

func naiveFolded(names []string) (folded []string) {
	for _, name := range names {
		folded = append(folded, strings.TrimRight(strings.ToLower(name), "."))
	}
	return folded
}

func naiveWorktree(git object, writable [][]string) string {
	names := segments(git["worktree"])
	switch {
	case names == nil || git["repository_id"] != "r":
		return "invalid"
	case insideAny(names, writable):
		return "missing"
	}
	return fmt.Sprintf("string %q", "/"+strings.Join(names, "/")+"/")
}

func naivePaths(targets []any) string {
	if naiveTargets(targets, true).kind == "missing" {
		return "missing"
	}
	shown := "list"
	show := func(path string) {
		if clean, suspicious := fspath.Clean(path); suspicious {
			shown += " [invalid]"
		} else {
			shown += fmt.Sprintf(" [string %q]", clean)
		}
	}
	for _, target := range targets {
		show(target.(object)["absolute"].(string))
		reading := naiveTargets([]any{target}, true)
		if reading.kind != "list" {
			shown += " [invalid]"
		} else if len(reading.paths) > 1 {
			show("/" + strings.Join(reading.paths[1], "/"))
		}
	}
	return shown
}

func naiveClasses(targets []any) string {
	shown := "list"
	for _, value := range targets {
		target, _ := value.(object)
		class, _ := target["classification"].(string)
		if shown += fmt.Sprintf(" [string %q]", class); class == "" {
			return "invalid"
		}
	}
	if len(targets) == 0 {
		return "missing"
	}
	return shown
}

func naiveBytes(targets []any, counted bool) string {
	sum := new(big.Int)
	for _, value := range targets {
		target, _ := value.(object)
		n, ok := target["bytes"].(int)
		if counted && (!ok || n < 0) {
			return "invalid"
		}
		if counted {
			sum.Add(sum, big.NewInt(int64(n)))
		}
	}
	return fmt.Sprintf("number %q in base units", sum.String())
}

// TestFileEvidenceCanary plants a fault into one of two readings of the same evidence and expects it to be seen.
func TestFileEvidenceCanary(t *testing.T) {
	evidence := func(root string) object {
		return object{
			"filesystem": object{"effects": []any{"create"}, "targets": []any{object{"absolute": "/a-b/f", "resolved_parent": "/a-b", "bytes": 1}}},
			"execution":  object{"race_safe_path_resolution": true, writableRoots: []any{root}},
			"git":        object{"repository_id": "r", "worktree": "/a-b"},
		}
	}
	got, err := fileValues(evidence("/a"))
	if err != nil {
		t.Fatal(err)
	}
	if problem := difference(got, naiveFiles(evidence("/a"))); problem != "" {
		t.Errorf("without a fault: %s", problem)
	}
	if difference(got, naiveFiles(evidence("/a-b"))) == "" {
		t.Error("nobody noticed a root that covers a path whose name only begins like it")
	}
}
