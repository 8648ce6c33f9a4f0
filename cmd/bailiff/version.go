package main

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"bailiff/compiler"
	"bailiff/runtime/metrics"
	"bailiff/vm"
)

// buildInfo says which build this is. Commit is empty where the build was made from no commit.
type buildInfo struct {
	Version  string    `json:"version"` // of the module; "devel" where the build has none
	Commit   string    `json:"commit,omitempty"`
	Modified bool      `json:"modified"` // the tree had changes that are not in Commit
	Time     time.Time `json:"commitTime,omitzero"`
	Go       string    `json:"go"`
	Engine   string    `json:"engine"` // versions of the machine and the compiler: two builds with the same engine decide alike
}

// thisBuild returns the build that runs.
func thisBuild() buildInfo {
	info, _ := debug.ReadBuildInfo()
	return buildFrom(info)
}

// buildFrom takes over what the Go command has recorded; info may be nil.
func buildFrom(info *debug.BuildInfo) buildInfo {
	b := buildInfo{Version: "devel", Engine: fmt.Sprintf("machine %d, compiler %d", vm.MachineVersion, compiler.Revision)}
	if info == nil {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	b.Go = info.GoVersion
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		case "vcs.time":
			b.Time, _ = time.Parse(time.RFC3339, setting.Value)
		}
	}
	return b
}

// bound returns the commit that the build is bound to and its time, both zero where the tree had changed since.
func (b buildInfo) bound() (commit string, at time.Time) {
	if b.Modified {
		return "", time.Time{}
	}
	return b.Commit, b.Time
}

// commit is the commit as text and metrics show it.
func (b buildInfo) commit() string {
	switch {
	case b.Commit == "":
		return "unknown"
	case b.Modified:
		return b.Commit + " (modified)"
	}
	return b.Commit
}

// String returns one line for each property.
func (b buildInfo) String() string {
	return strings.Join([]string{"bailiff " + b.Version, "commit " + b.commit(), "go     " + b.Go, "engine " + b.Engine}, "\n")
}

// attributes are the build as a log line has it.
func (b buildInfo) attributes() slog.Attr {
	return slog.Group("", "version", b.Version, "commit", b.commit(), "go", b.Go, "engine", b.Engine)
}

// metric is the build as the metrics have it.
func (b buildInfo) metric() metrics.Build {
	return metrics.Build{Version: b.Version, Commit: b.commit(), Go: b.Go, Engine: b.Engine}
}

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints which build this is.
func (c *versionCommand) Run(std streams) error {
	if c.JSON {
		return printJSON(std.out, thisBuild())
	}
	_, err := fmt.Fprintln(std.out, thisBuild())
	return err
}
