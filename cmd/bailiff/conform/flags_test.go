package conform

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/cli"
)

// run runs a command line.
func run(arguments ...string) (code int, out, complaint string) {
	var line Commands
	var text, other bytes.Buffer
	code = cli.RunLine(&line, nil, arguments, cli.Streams{In: strings.NewReader(""), Out: &text, Err: &other})
	return code, text.String(), other.String()
}

// A refusal is a command line that can't be run, with the exit code and a part of the message.
type refusal struct {
	code      int
	want      string
	arguments []string
}

// refused are command lines with a flag each that can't be run with.
func refused(dir, keys, bad, missing, key string) []refusal {
	const none = "--url=http://127.0.0.1:1" // at which nothing listens
	return []refusal{
		{2, "give the address of a service", nil},
		{2, `--url is "127.0.0.1:8787"; write http://`, []string{"--url=127.0.0.1:8787"}},
		{2, `--url is "ftp://127.0.0.1"; write http://`, []string{"--url=ftp://127.0.0.1"}},
		{2, `--url is "http://x?y"`, []string{"--url=http://x?y"}},
		{1, "no answer to GET /.well-known/svc-conformance.json: 127.0.0.1:1: connection refused", []string{none}},
		{1, "no answer to GET", []string{none, "--format=json"}},
		{2, "--workers is 0; write a number from 1", []string{none, "--workers=0"}},
		{2, "--workers is 1001", []string{none, "--workers=1001"}},
		{2, "no service answers on the admin socket " + missing, []string{none, "--admin=" + missing}},
		{2, "give --admin or --key-file, not both", []string{none, "--admin=x", "--key-file=" + keys}},
		{2, missing + " can't be read", []string{none, "--key-file=" + missing}},
		{2, "a line is an API key", []string{none, "--key-file=" + bad}},
		{2, missing, []string{none, "--operator-key=" + missing}},
		{2, bad, []string{none, "--operator-key=" + bad}},
		{2, missing, []string{none, "--shim-key=" + missing}},
		{2, "seed", []string{none, "--seed=x"}},
		{2, "--cases is 0; write a number above 0", []string{none, "--cases=0"}},
		{2, "--cases is -1", []string{none, "--cases=-1"}},
		{2, `--level must be one of "Core"`, []string{none, "--level=Everything"}},
		{2, "--level Gateway needs --upstream", []string{none, "--level=Core,Gateway"}},
		{2, "--upstream is for the level Gateway", []string{none, "--upstream=127.0.0.1:0"}},
		{2, "--level Client needs --client", []string{"--level=Client"}},
		{2, "--level Client needs --client", []string{"--level=Client", "--client= "}},
		{2, "--client is for the level Client", []string{none, "--client=true"}},
		{2, `--format must be one of "text","json","junit"`, []string{none, "--format=xml"}},
		{2, dir + " is a folder", []string{none, "-o", dir}},
		{1, "can't be written: no such file or directory", []string{none, "-o", filepath.Join(missing, "report")}},
		{1, "can't be written: no such file or directory", []string{none, "--key=" + key, "--report=" + filepath.Join(missing, "report")}},
		{2, "--report and --key go together", []string{none, "--report=" + filepath.Join(dir, "report")}},
		{2, "--report and --key go together", []string{none, "--key=" + keys}},
		{2, "no mutant is called none; with --seed 5 there are ", []string{none, "--seed=5", "--against-mutant=none"}},
		{2, "leave out --report", []string{none, "--against-mutant=all", "--key=" + keys, "--report=" + filepath.Join(dir, "report")}},
		{2, "leave out the level Client", []string{none, "--against-mutant=all", "--level=Core,Client", "--client=true"}},
		{2, "--timeout is -1s; write a duration above 0", []string{none, "--timeout=-1s"}},
		{2, "--for is -1s", []string{"verify", none, "--signer=x", "--for=-1s", missing}},
		{2, "give the address of a service", []string{"verify", "--signer=x", missing}},
		{2, "--signer", []string{"verify", none, "--signer=x", missing}},
	}
}

// TestFlags gives each flag a value that can't be run with: the message names it, and what it has to be.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keys, bad := file("keys", "sk_svc_1\n"), file("bad", "one two three\n")
	missing := filepath.Join(dir, "missing")
	for _, one := range refused(dir, keys, bad, missing, operatorKey(t, dir)) {
		code, out, complaint := run(append([]string{"conform"}, one.arguments...)...)
		if code != one.code || out != "" || !strings.Contains(complaint, one.want) || strings.Count(complaint, "can't be written") > 1 {
			t.Errorf("conform %q ends with %d, %q and %q; expected %d and %q", one.arguments, code, out, complaint, one.code, one.want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the command left files behind: %v %v", entries, err)
	}
}

// operatorKey makes a private key.
func operatorKey(t *testing.T, dir string) string {
	t.Helper()
	if code, _, complaint := run("conform", "shim", dir); code != 0 {
		t.Fatal(complaint)
	}
	if err := os.Remove(filepath.Join(dir, "shims.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return filepath.Join(dir, "shim.key")
}
