package cli

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

// BuildInfo says which build this is. Commit is empty where the build was made from no commit.
type BuildInfo struct {
	Version  string    `json:"version"` // of the module; "devel" where the build has none
	Commit   string    `json:"commit,omitempty"`
	Modified bool      `json:"modified"` // the tree had changes that are not in Commit
	Time     time.Time `json:"commitTime,omitzero"`
	Go       string    `json:"go"`
	Engine   string    `json:"engine"` // versions of the machine and the compiler: two builds with the same engine decide alike
}

// ThisBuild returns the build that runs.
func ThisBuild() BuildInfo {
	info, _ := debug.ReadBuildInfo()
	return BuildFrom(info)
}

// BuildFrom takes over what the Go command has recorded; info may be nil.
func BuildFrom(info *debug.BuildInfo) BuildInfo {
	b := BuildInfo{Version: "devel", Engine: fmt.Sprintf("machine %d, compiler %d", vm.MachineVersion, compiler.Revision)}
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

// Bound returns the commit that the build is bound to and its time, both zero where the tree had changed since.
func (b BuildInfo) Bound() (commit string, at time.Time) {
	if b.Modified {
		return "", time.Time{}
	}
	return b.Commit, b.Time
}

// commit is the commit as text and metrics show it.
func (b BuildInfo) commit() string {
	switch {
	case b.Commit == "":
		return "unknown"
	case b.Modified:
		return b.Commit + " (modified)"
	}
	return b.Commit
}

// String returns one line for each property.
func (b BuildInfo) String() string {
	return strings.Join([]string{"bailiff " + b.Version, "commit " + b.commit(), "go     " + b.Go, "engine " + b.Engine}, "\n")
}

// Attributes are the build as a log line has it.
func (b BuildInfo) Attributes() slog.Attr {
	return slog.Group("", "version", b.Version, "commit", b.commit(), "go", b.Go, "engine", b.Engine)
}

// Metric is the build as the metrics have it.
func (b BuildInfo) Metric() metrics.Build {
	return metrics.Build{Version: b.Version, Commit: b.commit(), Go: b.Go, Engine: b.Engine}
}

// VersionCommand prints what the build is.
type VersionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints which build this is.
func (c *VersionCommand) Run(std Streams) error {
	if c.JSON {
		return PrintJSON(std.Out, ThisBuild())
	}
	_, err := fmt.Fprintln(std.Out, ThisBuild())
	return err
}
