package compiler

import (
	"slices"

	"bailiff/compiler/frame"
)

func resourceCovered(list *frame.List, name string) bool {
	return slices.ContainsFunc(list.Texts(), func(pattern string) bool { return starMatch(pattern, name) })
}

// starMatch matches a pattern character by character. `*` means what has no dot, or at the end for anything.
func starMatch(pattern, name string) bool {
	if pattern == "" || pattern == "*" {
		return pattern == name || pattern == "*"
	}
	if pattern[0] != '*' {
		return name != "" && name[0] == pattern[0] && starMatch(pattern[1:], name[1:])
	}
	return starMatch(pattern[1:], name) || name != "" && name[0] != '.' && starMatch(pattern, name[1:])
}
