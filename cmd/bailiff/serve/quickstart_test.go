package serve

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/kit/port"
)

// TestTriesPaste holds that a shell finds the API key by what a first run prints, wherever that keeps it.
func TestTriesPaste(t *testing.T) {
	for _, name := range []string{"data", "my data", "it's", "$HOME"} {
		folder := t.TempDir()
		s := &cmdsettings.Settings{DataDir: name, WarrantyPath: "config/warranty.md"}
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, s.APIKeyPath()), []byte("sk_svc_1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, header, _ := strings.Cut(triesFor(s, "127.0.0.1:8787"), "-H ")
		header, _, _ = strings.Cut(header, " -d ")
		shell := exec.Command("sh", "-c", "printf %s "+header)
		shell.Dir = folder
		if out, err := shell.CombinedOutput(); string(out) != "Authorization: Bearer sk_svc_1" {
			t.Errorf("%s: %s says %q, %v", name, header, out, err)
		}
	}
}

// TestTriesObserve: no denial is announced where nothing is enforced.
func TestTriesObserve(t *testing.T) {
	if text := triesFor(&cmdsettings.Settings{Mode: cmdsettings.ModeObserve}, "127.0.0.1:8787"); strings.Contains(text, "DENIED") {
		t.Error(text)
	}
}

// TestConnect: the node of --rpc-url becomes the upstream of the chain that it tells, and no error shows its address, which may
// hold the key of an account.
func TestConnect(t *testing.T) {
	answer := `{"jsonrpc":"2.0","id":1,"result":"0x2105"}`
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	defer node.Close()
	connect := func(url string) (*cmdsettings.Settings, error) {
		s := cmdsettings.Defaults()
		return s, (&quickstartCommand{RPCURL: url}).connect(cli.Streams{Out: io.Discard}, s)
	}
	if s, err := connect(node.URL + "/hush"); err != nil || string(s.RPCURLs[8453]) != node.URL+"/hush" {
		t.Errorf("%v %v", s, err)
	}
	if s, err := connect(""); err != nil || len(s.RPCURLs) != 0 {
		t.Errorf("%v %v", s, err)
	}
	refused := func(url, want string) {
		t.Helper()
		s, err := connect(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") || len(s.RPCURLs) != 0 {
			t.Errorf("%s: %v, and not %q", url, err, want)
		}
	}
	answer = `{"jsonrpc":"2.0","id":1,"result":"0xa"}`
	refused(node.URL+"/hush", "is of chain 10, and SVC_RPC_CHAINS is 1,8453; give a node of one of these, or set SVC_RPC_CHAINS")
	answer = `<html>`
	refused(node.URL+"/hush", "with HTTP 200, and not with a chain")
	refused("http://"+port.Closed(t)+"/hush", "connection refused; give the JSON-RPC address of a node that runs")
	refused("hush.example", "has to be an http or https address")
}
