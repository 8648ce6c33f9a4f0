package mutants

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Mutant is one planted fault: New in place of Old, in one file.
type Mutant struct {
	Name     string // what is wrong with the compiler then
	File     string // from the root of the project, with slashes
	Old, New string
}

// Apply returns the file with the fault in it. It is an error where Old is not there exactly once.
func (m *Mutant) Apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("%s: the text to replace is there %d times: %q", m.File, n, m.Old)
	}
	return bytes.Replace(text, []byte(m.Old), []byte(m.New), 1), nil
}
