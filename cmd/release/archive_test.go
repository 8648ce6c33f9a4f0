package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLinks: a link to a file is archived as the file, and one to nothing or to a folder is an error.
func TestLinks(t *testing.T) {
	for target, good := range map[string]bool{"real": true, "none": false, ".": false} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "real"), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		files, err := filesOf(dir, ".", "root")
		if (err == nil) != good {
			t.Errorf("a link to %s: %v", target, err)
		}
		if good && (len(files) != 3 || files[1].name != "root/link" || string(files[1].content) != "text") {
			t.Errorf("a link to %s: %v", target, files)
		}
	}
}
