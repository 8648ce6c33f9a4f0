package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/hook"
)

// maxHookLog is how large the hook's log grows before it is kept under another name, and begun anew.
const maxHookLog = 1 << 20

// A hookEntry is a line of the hook's log: a call of which the service has no record.
type hookEntry struct {
	Time     string `json:"time"`
	Adapter  string `json:"adapter"` // empty where the host is not known
	Session  string `json:"session"`
	Tool     string `json:"tool"`
	FailOpen bool   `json:"failOpen"` // the call ran without a decision; else it was denied without one
	Reason   string `json:"reason"`
}

// note writes a decision into the hook's log that the service did not make. The log is not needed for the answer: where it
// cannot be written, nothing is said.
func (r *hookRun) note(d hook.Decision) {
	if r.answered != nil {
		return
	}
	entry := hookEntry{
		Time: clock.System()().UTC().Format(time.RFC3339), Session: r.event.Session, Tool: r.event.Tool.Name, FailOpen: d.FailOpen, Reason: d.Reason,
	}
	if r.host != nil {
		entry.Adapter = r.host.Name
	}
	line, err := json.Marshal(entry)
	name := hookLogFile(r.flags.Log)
	if err != nil || name == "" {
		return
	}
	if info, err := os.Stat(name); err == nil && info.Size() > maxHookLog {
		_ = os.Rename(name, name+".1")
	} else if err != nil {
		_ = os.MkdirAll(filepath.Dir(name), 0o700)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	_, _ = file.Write(append(line, '\n'))
}

// hookLogFile is the log's name: the given one, or the usual one; empty where there is no place for it.
func hookLogFile(given string) string {
	if given != "" {
		return given
	}
	folder := os.Getenv("XDG_STATE_HOME")
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		folder = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(folder, "bailiff", "hook.log")
}
