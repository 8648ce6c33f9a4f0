package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"

	"bailiff/fuzz/kit/testbin"
)

// cold compiles everything for each of the two builds that are compared; by default they share the compiled packages.
var cold = flag.Bool("cold", false, "compile everything twice, without the profile's and the tests' build cache")

// tag is the version of the releases in tests.
const tag = "v1.2.3"

// project is the root of the project.
const project = "../.."

// copyProject makes a repository in dir of the project as it is in from, with one commit of a given time and a tag.
func copyProject(t *testing.T, from, dir, at string) {
	t.Helper()
	listed, err := git(t.Context(), from, "ls-files", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(listed) {
		name = strings.TrimSuffix(name, "\n")
		content, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "a release"}, {"tag", tag}} {
		command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, arguments...)...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
		if _, err := output(command); err != nil {
			t.Fatal(err)
		}
	}
}

// committed is when the releases of tests were committed.
const committed = "2026-11-01T12:00:00Z"

// released makes a release of the project in from in a folder, and returns the folder of its files.
func released(t *testing.T, from, dir, at string, targets []target) string {
	t.Helper()
	testbin.Track(t)
	source := filepath.Join(dir, "source")
	if err := os.MkdirAll(source, 0o755); err != nil {
		t.Fatal(err)
	}
	copyProject(t, from, source, at)
	r := release{source: source, out: filepath.Join(dir, "dist"), targets: targets, goflags: "-pgo=off"}
	files, err := r.make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*len(targets) + 2; len(files) != want {
		t.Errorf("the release has %q, want %d files", files, want)
	}
	return r.out
}

// firstFolder has the release that several tests look at; TestMain removes it.
var firstFolder string

func TestMain(m *testing.M) {
	if modules := os.Getenv(cacheVariable); modules != "" {
		os.Exit(runTool(modules, os.Args[1], os.Args[2:]))
	}
	code := 1
	defer func() { os.Exit(code) }()
	folder, err := os.MkdirTemp("", "bailiff-release-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer os.RemoveAll(folder)
	firstFolder = folder
	code = m.Run()
}

var firstOnce sync.Once

// ofLinux are the Linux targets to build: one of them, unless all are asked for.
func ofLinux() []target {
	if *every {
		return targets[:2]
	}
	return targets[:1]
}

// first returns the folder of a release for ofLinux.
func first(t *testing.T) string {
	t.Helper()
	firstOnce.Do(func() { released(t, project, firstFolder, committed, ofLinux()) })
	dist := filepath.Join(firstFolder, "dist")
	if _, err := os.Stat(filepath.Join(dist, marker)); err != nil {
		t.Fatalf("the release was not made: %v", err)
	}
	return dist
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// unpack returns the entries of a tar archive, which may be compressed.
func unpack(t *testing.T, content []byte) (headers []*tar.Header, contents map[string][]byte) {
	t.Helper()
	var r io.Reader = bytes.NewReader(content)
	if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		var err error
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	contents = map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		headers, contents[header.Name] = append(headers, header), text
	}
}

// goEnv returns a setting of the Go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	value, err := output(exec.Command("go", "env", name))
	if err != nil || value == "" {
		t.Fatalf("go env %s: %q, %v", name, value, err)
	}
	return value
}

func TestArchives(t *testing.T) {
	dist := first(t)
	for _, target := range ofLinux() {
		name := "bailiff-" + tag + "-" + target.String()
		headers, contents := unpack(t, read(t, dist, name+".tar.gz"))
		for _, header := range headers {
			if header.ModTime.UTC().Format(time.RFC3339) != committed || header.Uid != 0 || header.Uname != "" {
				t.Errorf("%s: time %v, user %d %q; want the time of the commit, and root without a name", header.Name, header.ModTime, header.Uid, header.Uname)
			}
		}
		for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md", "packaging/bailiff.service"} {
			if len(contents[name+"/"+file]) == 0 {
				t.Errorf("%s has no %s", name, file)
			}
		}
		binary := contents[name+"/bailiff"]
		image, err := elf.NewFile(bytes.NewReader(binary))
		if err != nil {
			t.Fatal(err)
		}
		for _, segment := range image.Progs {
			if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
				t.Errorf("%s is linked dynamically", name)
			}
		}
		folders := []string{firstFolder, goEnv(t, "GOMODCACHE"), goEnv(t, "GOROOT") + "/src", goEnv(t, "GOCACHE")}
		if found := localPaths(binary, folders...); len(found) > 0 {
			t.Errorf("%s names folders of this machine: %q", name, found)
		}
		if len(localPaths(append([]byte("at "), firstFolder+"/x.go"...), folders...)) == 0 {
			t.Error("a planted path is not found")
		}
		bill(t, read(t, dist, name+".cdx.json"), binary)
	}
}

// every has the tests build all platforms.
var every = flag.Bool("every-target", false, "build all targets of a release, and not one alone")

// TestOtherTargets builds the archives for Darwin, which takes too long for every change: each has a command of its platform, and its bill.
func TestOtherTargets(t *testing.T) {
	if !*every {
		t.Skip("make release-targets builds them")
	}
	others := targets[2:]
	dist := released(t, project, t.TempDir(), committed, others)
	for _, target := range others {
		name := "bailiff-" + tag + "-" + target.String()
		_, contents := unpack(t, read(t, dist, name+".tar.gz"))
		binary := contents[name+"/bailiff"]
		image, err := macho.NewFile(bytes.NewReader(binary))
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[target.arch]; image.Cpu != want {
			t.Errorf("%s is for %v; want %v", name, image.Cpu, want)
		}
		bill(t, read(t, dist, name+".cdx.json"), binary)
	}
}

// bill holds a bill of materials to the binary that it is of.
func bill(t *testing.T, text, binary []byte) {
	t.Helper()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(binary)
	if got := *bom.Metadata.Component.Hashes; len(got) != 1 || got[0].Value != hex.EncodeToString(sum[:]) {
		t.Errorf("the bill is of %+v, and the binary has %x", got, sum)
	}
	if m := bom.Metadata; m.Timestamp != committed || m.Component.PackageURL != "pkg:golang/bailiff@"+tag {
		t.Errorf("the bill is of %s at %s", m.Component.PackageURL, m.Timestamp)
	}
	want := map[string]bool{"pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"): true}
	for _, module := range info.Deps {
		want["pkg:golang/"+module.Path+"@"+strings.ReplaceAll(module.Version, "+", "%2B")] = true
	}
	for _, component := range *bom.Components {
		if !want[component.PackageURL] {
			t.Errorf("the bill has %s, which is not in the binary, or has it twice", component.PackageURL)
		}
		delete(want, component.PackageURL)
	}
	if len(want) > 0 || len(*bom.Components) < 50 {
		t.Errorf("the bill has %d components and lacks %v", len(*bom.Components), want)
	}
}

// TestSums has sha256sum check the files, and find one that was changed.
func TestSums(t *testing.T) {
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(first(t))); err != nil {
		t.Fatal(err)
	}
	check := func() (string, error) {
		command := exec.Command("sha256sum", "--check", "--strict", marker)
		command.Dir = copied
		text, err := command.CombinedOutput()
		return string(text), err
	}
	text, err := check()
	if entries, _ := os.ReadDir(copied); err != nil || strings.Count(text, ": OK\n") != len(entries)-1 {
		t.Errorf("%v\n%s", err, text)
	}
	bill := filepath.Join(copied, "bailiff-"+tag+"-linux-amd64.cdx.json")
	if err := os.WriteFile(bill, append(read(t, bill), ' '), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := check(); err == nil || !strings.Contains(text, filepath.Base(bill)+": FAILED") {
		t.Errorf("a changed file passes: %v\n%s", err, text)
	}
}

// differences returns the files of b that are otherwise in a, or missing there.
func differences(t *testing.T, a, b string, names *regexp.Regexp) (found []string) {
	t.Helper()
	compared := 0
	entries, err := os.ReadDir(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !names.MatchString(entry.Name()) {
			continue
		}
		compared++
		other, err := os.ReadFile(filepath.Join(a, entry.Name()))
		if err != nil || !bytes.Equal(other, read(t, b, entry.Name())) {
			found = append(found, entry.Name())
		}
	}
	if compared == 0 {
		t.Errorf("%s has nothing to compare", b)
	}
	return found
}

// TestReproducible builds a target in two folders and gets the same bytes; a commit of another time makes others.
func TestReproducible(t *testing.T) {
	one := regexp.MustCompile(`linux-amd64\.(tar\.gz|cdx\.json)$`)
	if *cold {
		t.Setenv("GOCACHE", t.TempDir())
		first(t)
		t.Setenv("GOCACHE", t.TempDir())
	}
	original, source := first(t), filepath.Join(firstFolder, "source") // not the project, which someone may be editing
	deep := filepath.Join(t.TempDir(), "another", "folder", "with a longer name")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if found := differences(t, original, released(t, source, deep, committed, targets[:1]), one); len(found) > 0 {
		t.Errorf("the same commit makes other bytes in another folder: %q", found)
	}
	later := released(t, source, t.TempDir(), "2026-11-01T12:00:01Z", targets[:1])
	if found := differences(t, original, later, one); len(found) != 2 {
		t.Errorf("of a planted difference %q were found, want the archive and the bill", found)
	}
}

// TestTrimmed: the assembler gets the module cache as a prefix to remove, beside those that it has.
func TestTrimmed(t *testing.T) {
	got := strings.Join(trimmed([]string{"-p", "x", "-trimpath", "/w=>", "-o", "x.o"}, "/cache"), " ")
	if want := "-p x -trimpath /w=>;/cache=> -o x.o"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDirty(t *testing.T) {
	dir := t.TempDir()
	for _, arguments := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "empty"}} {
		if _, err := git(t.Context(), dir, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	r := release{source: dir}
	if tree, err := r.checkout(t.Context(), t.TempDir()); err != nil || tree.dir == dir {
		t.Errorf("a clean tree: %+v, %v; want a clone", tree, err)
	}
	for i := range 7 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("new%d.go", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := run(t.Context(), []string{"-source", dir, "-out", t.TempDir()}, io.Discard)
	for _, part := range []string{"7 files differ", "new0.go", "and 2 more", "-dirty"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q in it", err, part)
		}
	}
	r.dirty = true
	if tree, err := r.checkout(t.Context(), t.TempDir()); err != nil || tree.dir != dir {
		t.Errorf("a dirty tree that may be: %+v, %v", tree, err)
	}
}

// TestForeignFiles: a release removes what an earlier one has made, and nothing else.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"bailiff-v1.tar.gz", marker} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := emptyFolder(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := emptyFolder(dir); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("%v, want an error that names the file", err)
	}
}
