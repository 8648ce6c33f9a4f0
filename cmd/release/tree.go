package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A tree is the folder that a release is built from.
type tree struct {
	dir    string
	commit string
	at     time.Time // of the commit; files in archives have this time
}

// checkout returns the tree of the release: a clone of the source's commit, or the source itself if it may be dirty.
func (r *release) checkout(ctx context.Context, work string) (tree, error) {
	t := tree{dir: r.source}
	commit, err := git(ctx, r.source, "rev-parse", "HEAD")
	if err != nil {
		return t, err
	}
	seconds, err := git(ctx, r.source, "log", "-1", "--format=%ct", commit)
	if err != nil {
		return t, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return t, fmt.Errorf("git says the commit's time is %q, which is not a number of seconds", seconds)
	}
	t.commit, t.at = commit, time.Unix(unix, 0).UTC()
	if r.dirty {
		return t, nil
	}
	changes, err := git(ctx, r.source, "status", "--porcelain")
	if err != nil {
		return t, err
	}
	if changes != "" {
		return t, dirtyError(changes)
	}
	t.dir = filepath.Join(work, "tree")
	// A clone of its own, as Go records no commit in a linked worktree, and so that files that git ignores stay outside.
	if _, err := git(ctx, ".", "clone", "--quiet", "--shared", "--no-checkout", r.source, t.dir); err != nil {
		return t, err
	}
	_, err = git(ctx, t.dir, "checkout", "--quiet", "--detach", commit)
	return t, err
}

// shownChanges bounds the files that dirtyError names.
const shownChanges = 5

// dirtyError names what differs from the commit, and says what to do.
func dirtyError(changes string) error {
	lines := strings.Split(changes, "\n")
	shown := strings.Join(lines[:min(len(lines), shownChanges)], "\n  ")
	if more := len(lines) - shownChanges; more > 0 {
		shown += fmt.Sprintf("\n  and %d more", more)
	}
	return fmt.Errorf("%d files differ from the last commit; commit or stash them, or give -dirty to release them as they are, without a commit that others can build:\n  %s",
		len(lines), shown)
}

// git runs git in a folder and returns the output without spaces around it.
func git(ctx context.Context, dir string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), "LC_ALL=C")
	return output(command)
}

// output runs a command and returns its output without spaces around it; its messages are part of the error.
func output(command *exec.Cmd) (string, error) {
	var messages bytes.Buffer
	command.Stderr = &messages
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args[:min(len(command.Args), 3)], " "), err, strings.TrimSpace(messages.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
