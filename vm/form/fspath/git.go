package fspath

import "strings"

// gitFolder is what git keeps a repository in.
const gitFolder = ".git"

// InGitFolder reports whether an absolute path without "." and ".." is a `.git`, or leads into one, in any spelling that a
// file system takes for it: another case, marks that HFS+ ignores, dots, spaces and streams at its end that NTFS ignores,
// and its short name (git~1).
func InGitFolder(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if len(segment) >= len(gitFolder) && isGitFolder(segment) {
			return true
		}
	}
	return false
}

func isGitFolder(segment string) bool {
	if isASCII(segment) && segment[0] != '.' && segment[0]|0x20 != 'g' { // most of all, told without a copy
		return false
	}
	name := trimName(fold(segment))
	number, short := strings.CutPrefix(name, "git~")
	return name == gitFolder || short && number != "" && strings.Trim(number, "0123456789") == ""
}
