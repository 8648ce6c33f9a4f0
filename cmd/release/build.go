package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// A build is the command for one target.
type build struct {
	target
	binary []byte
	info   *debug.BuildInfo // as the Go command recorded it in the binary
}

// build compiles the command for a target.
func (r *release) build(ctx context.Context, tree tree, t target, work string) (build, error) {
	path, err := filepath.Abs(filepath.Join(work, t.String()))
	if err != nil {
		return build{}, err
	}
	toolexec, variable, modules, err := trimming(ctx, tree.dir)
	if err != nil {
		return build{}, err
	}
	command := exec.CommandContext(ctx, "go", "build", toolexec, "-buildvcs=auto", "-ldflags=-s", "-o", path, "./cmd/bailiff")
	command.Dir = tree.dir
	// Settings of builds in the caller's environment must not show in the bytes.
	command.Env = append(os.Environ(), "GOOS="+t.system, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off", variable,
		strings.TrimSpace("GOFLAGS=-trimpath "+r.goflags))
	if _, err := output(command); err != nil {
		return build{}, err
	}
	b := build{target: t}
	if b.info, err = buildinfo.ReadFile(path); err != nil {
		return build{}, err
	}
	if !r.dirty {
		if err := b.bound(tree.commit); err != nil {
			return build{}, err
		}
	}
	if b.binary, err = os.ReadFile(path); err != nil {
		return build{}, err
	}
	if found := localPaths(b.binary, modules+"/", work+"/"); len(found) > 0 {
		return build{}, fmt.Errorf("the binary names folders of this machine, %s; others cannot build the same bytes", found)
	}
	return b, nil
}

// bound returns an error unless the binary says that it was built from this commit, without changes.
func (b build) bound(commit string) error {
	if got := b.setting("vcs.revision"); got != commit {
		return fmt.Errorf("the binary says commit %q, and the release is of %s", got, commit)
	}
	if modified := b.setting("vcs.modified"); modified != "false" {
		return fmt.Errorf("the binary says vcs.modified=%q; a release needs a tree without changes", modified)
	}
	return nil
}

// setting returns a setting of the build, or "".
func (b build) setting(key string) string {
	for _, s := range b.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// version is the tag of the commit, or a pseudo-version made from its time and hash.
func (b build) version() string {
	if v := b.info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "devel"
}

// name is the beginning of the names of the build's files.
func (b build) name() string { return "bailiff-" + b.version() + "-" + b.target.String() }

// write writes the build's archive and its software bill of materials.
func (b build) write(tree tree, out string) error {
	if err := writeArchive(b, tree, filepath.Join(out, b.name()+".tar.gz")); err != nil {
		return err
	}
	bill, err := b.bill(tree)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, b.name()+".cdx.json"), bill, 0o644)
}
