// Command runs makes a long run of a proof and keeps a report of it in docs/runs, from which docs/runs.md is made:
//
//	make record RUN="simulate WORLDS=500"
//
// It runs make with these words, and takes seeds and counts from the output. A clean run that prints no count is not kept, because
// everything on the page is something that a run printed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	failed, err := record(ctx, "docs", os.Args[1:], os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "fuzz/runs:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

// record runs make, and keeps what came of it below a folder of documents.
func record(ctx context.Context, docs string, words []string, out io.Writer) (failed bool, err error) {
	if len(words) == 0 {
		return false, errors.New("name a target of make: make record RUN=simulate")
	}
	kind, ok := kinds[words[0]]
	if !ok {
		return false, fmt.Errorf("%s is not recorded; the targets are %s", words[0], strings.Join(kindNames(), ", "))
	}
	r := &report{Form: reportForm, Kind: words[0], Command: "make " + strings.Join(words, " "), Began: time.Now().UTC().Truncate(time.Second)}
	if r.Commit, err = commit(ctx); err != nil {
		return false, err
	}
	var printed bytes.Buffer
	command := exec.CommandContext(ctx, "make", words...)
	command.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+kind.flags))
	command.Stdout, command.Stderr = io.MultiWriter(out, &printed), io.MultiWriter(out, &printed)
	ended := command.Run()
	if ctx.Err() != nil {
		return false, errors.New("interrupted: the run is not kept")
	}
	r.Minutes = time.Since(r.Began).Round(time.Second).Minutes()
	if err := r.take(kind, printed.String(), ended); err != nil {
		return false, err
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return false, err
	}
	path := filepath.Join(docs, "runs", r.Began.Format("20060102T150405Z")+"-"+r.Kind+".json")
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return false, err
	}
	reports, err := read(filepath.Join(docs, "runs"))
	if err != nil {
		return false, err
	}
	return r.Failure != "", os.WriteFile(filepath.Join(docs, "runs.md"), []byte(board(reports)), 0o644)
}

// commit is that of the tree, with a mark where the tree has changes that are not in it; those below docs/runs are none.
func commit(ctx context.Context) (string, error) {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("which commit is it? %w", err)
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ".", ":!docs/runs", ":!docs/runs.md").Output()
	if err != nil {
		return "", fmt.Errorf("is the tree changed? %w", err)
	}
	name := strings.TrimSpace(string(head))
	if len(changes) > 0 {
		name += changed
	}
	return name, nil
}

// changed marks the commit of a tree that was not committed.
const changed = "+changes"
