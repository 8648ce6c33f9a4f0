package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A place is a line and a column of a file, both from 1.
type place struct{ line, column int }

func (p place) before(q place) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// A block is code without branches, and how often it ran.
type block struct {
	from, to place
	count    int
}

// readProfile reads a profile of go test -covermode=atomic: the blocks of each file, by its import path. A block that the tests of several
// packages ran has a line of each.
func readProfile(r io.Reader) (map[string][]block, error) {
	counts := map[string]map[block]int{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if mode, ok := strings.CutPrefix(line, "mode: "); ok {
			if mode == "set" {
				return nil, fmt.Errorf("the profile says %q; branches need -covermode=atomic", line)
			}
			continue
		}
		file, rest, _ := strings.Cut(line, ":")
		var b block
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from.line, &b.from.column, &b.to.line, &b.to.column, &statements, &count); err != nil {
			return nil, fmt.Errorf("%q is no line of a profile: %w", line, err)
		}
		if counts[file] == nil {
			counts[file] = map[block]int{}
		}
		counts[file][b] += count
	}
	files := map[string][]block{}
	for file, of := range counts {
		for b, count := range of {
			b.count = count
			files[file] = append(files[file], b)
		}
		slices.SortFunc(files[file], func(a, b block) int {
			if a.from.before(b.from) {
				return -1
			}
			return 1
		})
	}
	return files, lines.Err()
}
