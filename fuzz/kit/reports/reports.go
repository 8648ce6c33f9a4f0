// Package reports reads what long runs of the proofs have kept as JSON, a file for each.
package reports

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Read reads all reports of a folder, by the names of their files. fits says whether one is a report of a command.
func Read[T any](folder, command string, fits func(*T) bool) (all []*T, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r := new(T)
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !fits(r) {
			return nil, fmt.Errorf("%s is not a report of %s", name, command)
		}
		all = append(all, r)
	}
	return all, nil
}
