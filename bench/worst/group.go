package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A group is a control group that bounds the memory of the processes in it.
type group struct{ dir string }

// groupRoot is where control groups are mounted (cgroups(7)).
const groupRoot = "/sys/fs/cgroup"

// newGroup makes a control group of at most so many bytes below the one of this process, or else below the nearest of those
// above that may have one.
func newGroup(size int64) (*group, error) {
	root, path, err := ownGroup()
	if err != nil {
		return nil, err
	}
	var faults []error
	for ; ; path = filepath.Dir(path) {
		g := &group{filepath.Join(root, path, fmt.Sprintf("bailiff-worst-%d", os.Getpid()))}
		if err = g.make(size); err == nil {
			return g, nil
		}
		if faults = append(faults, err); path == "/" {
			return nil, errors.Join(faults...)
		}
	}
}

// ownGroup returns the folder of the hierarchy that accounts memory, and this process's place in it.
func ownGroup() (root, path string, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		if strings.Contains(","+fields[1]+",", ",memory,") {
			return filepath.Join(groupRoot, "memory"), fields[2], nil
		}
		if fields[0] == "0" {
			root, path = groupRoot, fields[2]
		}
	}
	if root == "" {
		return "", "", errors.New("/proc/self/cgroup names no group of memory")
	}
	return root, path, nil
}

func (g *group) make(size int64) error {
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return err
	}
	limit := strconv.FormatInt(size, 10)
	err := g.set("memory.max", limit)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) { // version 1, or no memory here
		err = g.set("memory.limit_in_bytes", limit)
	}
	if err != nil {
		g.remove()
		return err
	}
	if err := g.joinable(); err != nil {
		g.remove()
		return err
	}
	// Without swap, where the system accounts that.
	_ = g.set("memory.swap.max", "0")
	_ = g.set("memory.memsw.limit_in_bytes", limit)
	return nil
}

// joinable returns why no process can join the group: some systems let a group be made into which they let no process move.
func (g *group) joinable() error {
	if output, err := exec.Command("sh", "-c", `echo $$ >"$1"`, "sh", g.procs()).CombinedOutput(); err != nil {
		return fmt.Errorf("no process can join %s: %w: %s", g.dir, err, bytes.TrimSpace(output))
	}
	return nil
}

// set writes a file of the group, which has to be there.
func (g *group) set(name, value string) error {
	file, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

// procs is the file by which processes come into the group.
func (g *group) procs() string { return filepath.Join(g.dir, "cgroup.procs") }

// remove removes the group, in which no process is left.
func (g *group) remove() { _ = os.Remove(g.dir) }
