package main

import (
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// TestMerge holds that of two profiles of this test one is made, which tells the compiler the same, and nothing of the
// machine.
func TestMerge(t *testing.T) {
	folder := t.TempDir()
	one, two, merged := filepath.Join(folder, "one"), filepath.Join(folder, "two"), filepath.Join(folder, "merged")
	spend(t, one)
	spend(t, two)
	if err := run([]string{merged, one, two}); err != nil {
		t.Fatal(err)
	}
	total := weight(t, one) + weight(t, two)
	if got := weight(t, merged); got != total {
		t.Errorf("of samples that weigh %d it made some that weigh %d", total, got)
	}
	p := parse(t, merged)
	if !slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return strings.HasSuffix(f.Name, "profile.spend") && f.StartLine > 0 }) {
		t.Error("the profile does not know what took the time, or not where it begins")
	}
	speaksOfNobody(t, p)
	if files := slices.ContainsFunc(parse(t, one).Function, func(f *profile.Function) bool { return f.Filename != "" }); !files {
		t.Error("the profile before named no file either, so that this test shows nothing")
	}
}

// TestRefused holds that what is no profile, or an empty one, is an error that names it.
func TestRefused(t *testing.T) {
	folder := t.TempDir()
	empty, text := filepath.Join(folder, "empty"), filepath.Join(folder, "text")
	file, err := os.Create(empty)
	if err != nil {
		t.Fatal(err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		t.Fatal(err)
	}
	pprof.StopCPUProfile()
	file.Close()
	if err := os.WriteFile(text, []byte("no profile"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, text, filepath.Join(folder, "absent")} {
		if err := run([]string{filepath.Join(folder, "out"), path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := run([]string{"out"}); err == nil {
		t.Error("without a profile to read it says nothing")
	}
}

// TestKept holds that the profiles that are kept tell nothing of a machine, and know what they are for.
func TestKept(t *testing.T) {
	for path, function := range map[string]string{
		"../../cmd/bailiff/default.pgo": "bailiff/vm.(*Machine).Run",
		"../peers/default.pgo":          "bailiff/vm.(*Machine).Run",
	} {
		p := parse(t, path)
		speaksOfNobody(t, p)
		if !slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return f.Name == function }) {
			t.Errorf("%s does not know %s: make profile", path, function)
		}
	}
}

// speaksOfNobody holds that a profile has nothing but functions and lines.
func speaksOfNobody(t *testing.T, p *profile.Profile) {
	t.Helper()
	if len(p.Mapping) > 0 || len(p.Comments) > 0 || p.TimeNanos != 0 ||
		slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return f.Filename != "" }) ||
		slices.ContainsFunc(p.Location, func(l *profile.Location) bool { return l.Address != 0 }) {
		t.Error("the profile tells of the machine that it was measured on")
	}
}

// spend takes time, and writes a profile of it.
func spend(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	for end, n := time.Now().Add(300*time.Millisecond), uint64(1); time.Now().Before(end) || n == 0; {
		for range 1_000_000 {
			n = n*6364136223846793005 + 1442695040888963407
		}
	}
}

func weight(t *testing.T, path string) (total int64) {
	for _, s := range parse(t, path).Sample {
		total += s.Value[0]
	}
	return total
}

func parse(t *testing.T, path string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
