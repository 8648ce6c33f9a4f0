//go:build unix

package hosts

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/kit/testbin/service"
)

// TestHostileEndToEnd gives the built hook commands of 64 KiB that are hard to read, with a blocked one at the end, and holds that
// the built service denies each within the hook's deadline, or the hook itself before it asks. A hook that came to its deadline,
// or did not reach the service, says another reason.
func TestHostileEndToEnd(t *testing.T) {
	p := build(t)
	served, err := service.Start(p.path, t.TempDir(), policy)
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(served.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	ask := func(address, command string) string {
		hook := exec.Command(p.path, "hook", "--adapter", "claude-code", "--url", address, "--api-key-file", key, "--fail-mode", "closed", "--log", log)
		hook.Env, hook.Stdin = p.env, bytes.NewReader(find(t, "claude-code").Event(command))
		output, err := hook.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(output)
	}
	if said := ask(served.Address, harmless); said != "" {
		t.Fatalf("%s is not allowed: %s", harmless, said)
	}
	decided := 0
	for name, command := range hostile(64 << 10) {
		var answer struct {
			HookSpecificOutput struct{ PermissionDecision, PermissionDecisionReason string }
		}
		said := ask(served.Address, command+"\n"+Command)
		if err := json.Unmarshal([]byte(said), &answer); err != nil || answer.HookSpecificOutput.PermissionDecision != "deny" {
			t.Errorf("%s: %.300s", name, said)
		}
		switch reason := answer.HookSpecificOutput.PermissionDecisionReason; {
		case strings.Contains(reason, "tool_calls.bash.blocked_commands"):
			decided++
		case !strings.HasPrefix(reason, "the event cannot be judged"):
			t.Errorf("%s: %.300s", name, reason)
		}
	}
	if all := len(hostile(64 << 10)); decided < all/2 {
		t.Errorf("the service decided %d of %d commands", decided, all)
	}
	if said := ask("http://127.0.0.1:1", Command); !strings.Contains(said, "cannot be reached") { // the canary
		t.Errorf("a call that the service did not decide: %s", said)
	}
}
