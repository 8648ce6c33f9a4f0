// Command release makes what a release of Bailiff consists of: for each target an archive of the static command and its
// software bill of materials, one container image for both Linux targets, and the checksums of all of them.
//
// A release depends on its commit alone: it is made in a fresh clone, and neither untracked files nor the folder nor the time
// change it. The same commit and the same Go version make the same bytes, which anyone can check by running it again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if modules := os.Getenv(cacheVariable); modules != "" && len(os.Args) > 1 {
		os.Exit(runTool(modules, os.Args[1], os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes a release as the arguments say, and lists its files.
func run(ctx context.Context, arguments []string, out io.Writer) error {
	r := release{targets: targets}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.source, "source", ".", "the project's `folder`, a git checkout")
	flags.StringVar(&r.out, "out", "dist", "the `folder` for the files; everything in it is removed first")
	flags.BoolVar(&r.dirty, "dirty", false, "build the folder as it is, with uncommitted changes; the version says so")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; the flags are -source, -out and -dirty", flags.Arg(0))
	}
	files, err := r.make(ctx)
	if err != nil {
		return err
	}
	for _, name := range files {
		if _, err := fmt.Fprintln(out, filepath.Join(r.out, name)); err != nil {
			return err
		}
	}
	return nil
}

// A target is a platform that releases have a build for.
type target struct{ system, arch string }

func (t target) String() string { return t.system + "-" + t.arch }

// targets are the platforms of a release.
var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// A release is how the files of one are made.
type release struct {
	source, out string
	dirty       bool // build source itself and not a clone of its commit
	targets     []target
	goflags     string // further flags of go build, which tests set
}

// make makes the files of the release, and returns their names.
func (r *release) make(ctx context.Context) ([]string, error) {
	work, err := os.MkdirTemp("", "bailiff-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	tree, err := r.checkout(ctx, work)
	if err != nil {
		return nil, err
	}
	if err := emptyFolder(r.out); err != nil {
		return nil, err
	}
	var builds []build
	for _, t := range r.targets {
		b, err := r.build(ctx, tree, t, work)
		if err != nil {
			return nil, fmt.Errorf("building for %s: %w", t, err)
		}
		if err := b.write(tree, r.out); err != nil {
			return nil, fmt.Errorf("packing for %s: %w", t, err)
		}
		builds = append(builds, b)
	}
	if err := writeImage(builds, tree, r.out, work); err != nil {
		return nil, fmt.Errorf("making the image: %w", err)
	}
	return writeSums(r.out)
}

// marker names the file by which a later release recognises a folder that an earlier one has filled.
const marker = "SHA256SUMS"

// emptyFolder makes a folder, or removes what an earlier release has left in it. A folder with anything else is refused.
func emptyFolder(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return os.MkdirAll(path, 0o755)
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != marker && !strings.HasPrefix(entry.Name(), "bailiff-") {
			return fmt.Errorf("%s has %q, which no release has made; give an empty folder with -out", path, entry.Name())
		}
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(path, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
