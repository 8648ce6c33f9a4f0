package compiler

import (
	"path"
	"slices"
	"strings"

	"bailiff/runtime/intent"
	"bailiff/vm"
)

// What the naive evaluator of profiles knows of directories that hold what is protected.

// inGitFolder reports whether a name of a path is one for .git.
func inGitFolder(text string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(text), "/"), func(name string) bool {
		return strings.TrimRight(name, ". ") == ".git" || name == "git~1"
	})
}

// takesTree reports whether an effect reaches what is in a target that is a root or the work tree, or above it. What the
// work tree is has to be known where there is one.
func (e *naiveEvidence) takesTree(trees []string, worktree intent.Node) bool {
	if !someIn(e.effects, naiveTakesAlong) {
		return false
	}
	if worktree.Kind() != vm.Missing && worktree.Kind() != vm.Null {
		if worktree.Kind() != vm.String || !isCanonical(worktree.Text()) {
			return true
		}
		trees = append(trees, worktree.Text())
	}
	return e.touches(func(text string) bool {
		return slices.ContainsFunc(trees, func(tree string) bool { return strings.HasPrefix(strings.ToLower(tree)+"/", strings.ToLower(text)+"/") })
	})
}

// takesBlocked reports whether a path is a directory above what one of the patterns matches from the root on.
func takesBlocked(patterns []string, text string) bool {
	names := strings.Split(strings.ToLower(text), "/")
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		wanted := strings.Split(pattern, "/")
		if pattern[0] != '/' || len(wanted) <= len(names) {
			return false
		}
		for i, name := range names {
			if ok, _ := path.Match(wanted[i], name); !ok {
				return false
			}
		}
		return true
	})
}
