package hook

import (
	"os"
	"path/filepath"
	"syscall"

	"bailiff/runtime/hook"
)

// ReadUsage reads what the event's task has used of the model so far, nil where that cannot be told: a policy with a model
// budget then denies. Transcripts are opened only below the host's own folder, and through no link that leads out of it.
func ReadUsage(e *hook.Event) *hook.Usage {
	places := e.Transcripts()
	if len(places) == 0 {
		return nil
	}
	folder := hostFolder(e.Host.Name)
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil
	}
	defer root.Close()
	for _, place := range places {
		name, err := filepath.Rel(folder, place)
		if err != nil || !filepath.IsLocal(name) {
			continue
		}
		if used := readTranscript(root, name, e.Host.Name); used != nil {
			return used
		}
	}
	return nil
}

// readTranscript reads a regular file. What is there is looked at before it is opened, so that no pipe is waited for, and
// afterwards, so that it is the file that was looked at.
func readTranscript(root *os.Root, name, host string) *hook.Usage {
	before, err := root.Lstat(name)
	if err != nil || !before.Mode().IsRegular() || before.Size() > hook.MaxTranscript {
		return nil
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	if opened, err := file.Stat(); err != nil || !os.SameFile(before, opened) {
		return nil
	}
	used, err := hook.ReadUsage(host, file)
	if err != nil {
		return nil
	}
	return used
}

// hostFolder is where a host keeps its transcripts.
func hostFolder(host string) string {
	variable, name := "CLAUDE_CONFIG_DIR", ".claude"
	if host == hook.Codex {
		variable, name = "CODEX_HOME", ".codex"
	}
	if folder := os.Getenv(variable); folder != "" {
		return folder
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, name)
}
