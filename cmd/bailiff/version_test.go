package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/compiler"
	"bailiff/vm"
)

// TestBuildFrom reads what the Go command records of a build.
func TestBuildFrom(t *testing.T) {
	engine := fmt.Sprintf("machine %d, compiler %d", vm.MachineVersion, compiler.Revision)
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-01T12:00:00Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for name, row := range map[string]struct {
		info  *debug.BuildInfo
		want  string
		bound string
	}{
		"nothing recorded": {nil, "bailiff devel\ncommit unknown\ngo     \nengine " + engine, ""},
		"no commit":        {&debug.BuildInfo{GoVersion: "go1", Main: debug.Module{Version: "(devel)"}}, "bailiff devel\ncommit unknown\ngo     go1\nengine " + engine, ""},
		"a release":        {&debug.BuildInfo{GoVersion: "go1", Main: debug.Module{Version: "v1.2.3"}, Settings: vcs("false")}, "bailiff v1.2.3\ncommit abc\ngo     go1\nengine " + engine, "abc"},
		"a changed tree":   {&debug.BuildInfo{GoVersion: "go1", Main: debug.Module{Version: "v1.2.3+dirty"}, Settings: vcs("true")}, "bailiff v1.2.3+dirty\ncommit abc (modified)\ngo     go1\nengine " + engine, ""},
	} {
		b := cli.BuildFrom(row.info)
		if b.String() != row.want {
			t.Errorf("%s: %q, want %q", name, b, row.want)
		}
		commit, at := b.Bound()
		if commit != row.bound || at.Equal(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)) != (row.bound != "") {
			t.Errorf("%s: bound to %q of %v, want %q", name, commit, at, row.bound)
		}
	}
}

// TestVersion prints the version by the command, by the flag and as JSON.
func TestVersion(t *testing.T) {
	printed := func(arguments ...string) string {
		var out, errors bytes.Buffer
		if code := run(arguments, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errors}); code != cli.ExitDone || errors.Len() > 0 {
			t.Fatalf("%v: exit code %d, %s", arguments, code, &errors)
		}
		return out.String()
	}
	command := printed("version")
	if !strings.Contains(command, runtime.Version()) || !strings.Contains(command, "\nengine machine ") {
		t.Errorf("version prints %q", command)
	}
	if flag := printed("--version"); flag != command {
		t.Errorf("--version prints %q, and version %q", flag, command)
	}
	var build cli.BuildInfo
	if err := json.Unmarshal([]byte(printed("version", "--json")), &build); err != nil || build.String()+"\n" != command {
		t.Errorf("version --json: %+v, %v; version prints %q", build, err, command)
	}
}
