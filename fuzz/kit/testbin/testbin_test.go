package testbin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrack holds that go test learns of every folder that the command is built from, and of the files built into it, by
// what it has a test write down of the files it looks at.
func TestTrack(t *testing.T) {
	const asked = "BAILIFF_TRACK"
	if os.Getenv(asked) != "" {
		Track(t)
		return
	}
	log := filepath.Join(t.TempDir(), "looked")
	self := exec.Command(os.Args[0], "-test.run", "^TestTrack$", "-test.testlogfile", log)
	self.Env = append(os.Environ(), asked+"=1")
	if output, err := self.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"open " + filepath.Join(root, "cmd", "bailiff"), "open " + filepath.Join(root, "httpd"), "open " + filepath.Join(root, "vm", "amount"),
		"stat " + filepath.Join(root, "go.mod"), "stat " + filepath.Join(root, "cmd", "bailiff", "policy", "example", "warranty.md"),
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("what was looked at lacks %q", line)
		}
	}
}
