package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/kit/port"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// TestPlain: what is printed of an error names no package and no system call, and keeps everything else.
func TestPlain(t *testing.T) {
	_, missing := os.Open("gone.md")
	_, listening := net.Listen("tcp", "192.0.2.1:1")
	closed := port.Closed(t)
	_, refused := http.Get("http://" + closed + "/v1/holds")
	_, parsed := amount.Parse("0.5 ETH", 18)
	for _, c := range []struct {
		err  error
		want string
	}{
		{missing, "gone.md: no such file or directory"},
		{fmt.Errorf("the key: %w; make one", missing), "the key: gone.md: no such file or directory; make one"},
		{errors.Join(missing, errors.New("and more")), "gone.md: no such file or directory\nand more"},
		{os.Rename("gone.md", "new.md"), "new.md: no such file or directory"},
		{listening, "192.0.2.1:1: cannot assign requested address"},
		{refused, closed + ": connection refused"},
		{&net.DNSError{Err: "no such host", Name: "nowhere.example", Server: "192.0.2.53:53"}, "nowhere.example: no such host"},
		{fmt.Errorf("%w: \"x\" is not an id", ledger.ErrInvalid), "\"x\" is not an id"},
		{fmt.Errorf("ledger: opening data: %w", missing), "opening data: gone.md: no such file or directory"},
		{fmt.Errorf("the month ledger: invalid: is kept: %w", ledger.ErrNotFound), "the month ledger: invalid: is kept: not found"},
		{ledger.ErrLocked, "locked by another process"},
		{parsed, "not a plain decimal: write digits, or digits.digits, without sign, exponent, separator or space"},
		{cli.Fail("the file %v", missing), "the file gone.md: no such file or directory"},
		{context.Canceled, "context canceled"},
	} {
		if got := cli.Plain(c.err); got != c.want {
			t.Errorf("%v: %q, and not %q", c.err, got, c.want)
		}
	}
	if got := cli.Plainf("%s: %v (%d)", "a", missing, 1); got != "a: gone.md: no such file or directory (1)" {
		t.Error(got)
	}
}

// TestLayers: every package of the project whose errors begin with its name is known as a layer.
func TestLayers(t *testing.T) {
	named := regexp.MustCompile(`(?:errors\.New|fmt\.Errorf)\("([a-z]+: )`)
	known, seen := strings.Join(cli.Layers, ""), 0
	for _, folder := range []string{"grammar", "compiler", "vm", "runtime"} {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "ledgertest") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range named.FindAllStringSubmatch(string(text), -1) {
				seen++
				if layer := match[1]; strings.Contains(filepath.ToSlash(filepath.Dir(path))+"/", "/"+strings.TrimSuffix(layer, ": ")+"/") && !strings.Contains(known, layer) {
					t.Errorf("%s: errors begin with %q, which users would see", path, layer)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if seen < 20 {
		t.Errorf("only %d errors were looked at", seen)
	}
}

// TestMessagesHaveNoLayers runs commands that fail in as many ways as a user can bring about without a service, and holds
// what they print to the form of a message: no package, no system call, no chain of either.
func TestMessagesHaveNoLayers(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("as root some folders can be written to that others can't")
	}
	t.Chdir(t.TempDir())
	for _, name := range settings.Table {
		t.Setenv(name.Name, "")
	}
	closed := port.Closed(t)
	for name, text := range map[string]string{"file": "x", "policy.md": "version: 1.0.0\n\n## tool_calls\nallowed: bash\n", "intent.json": "{"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range failing {
		t.Setenv("BAILIFF_TIMERS_RELAXED", "1") // so that serve does not start this process anew
		environment, line, _ := strings.Cut(row, "| ")
		environment = strings.ReplaceAll(environment, "CLOSED", closed)
		for setting := range strings.FieldsSeq(environment) {
			name, value, _ := strings.Cut(setting, "=")
			t.Setenv(name, value)
		}
		var out, problems strings.Builder
		code := run(strings.Fields(strings.ReplaceAll(line, "CLOSED", closed)), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
		for setting := range strings.FieldsSeq(environment) {
			name, _, _ := strings.Cut(setting, "=")
			t.Setenv(name, "")
		}
		if code == cli.ExitDone || problems.Len() == 0 {
			t.Errorf("%s: exit code %d, %q", row, code, problems.String())
		}
		for _, fault := range layerFaults(problems.String()) {
			t.Errorf("%s: %s in %q", row, fault, problems.String())
		}
	}
	for _, wrong := range []string{
		"bailiff: open x: no such file or directory", "[Svc] mkdir x: not a directory", "bailiff: ledger: invalid: x",
		"bailiff: Post \"http://x\": dial tcp 127.0.0.1:1: connect: connection refused", "x: tls: no certificate",
	} {
		if len(layerFaults(wrong)) == 0 {
			t.Errorf("nothing was found in %q", wrong)
		}
	}
}

// failing are command lines that fail, each after the settings that it needs.
var failing = []string{
	"SVC_API_KEY=k | deploy policy.md --key missing.key", "| sign --key missing.key policy.md", "| sign --key file policy.md",
	"| keygen -o nowhere/key", "| keygen -o file/key", "| verify --public-key x policy.md", "| check missing.md", "| fmt file/x.md",
	"| compile policy.md -o nowhere/x", "| disasm missing", "| eval --policy policy.md missing.json", "| eval --policy missing intent.json",
	"| test missing", "SVC_API_KEY=k | holds show x --url http://CLOSED", "SVC_API_KEY=k | holds show x --url http://nowhere.invalid",
	"SVC_API_KEY=k | send --chain 1 --raw 0x01", "SVC_API_KEY=k | send --chain 1 --raw-file missing", "| webhooks listen --secret x",
	"| attest verify --jwks missing --pqc-keys missing x", "| attest verify --jwks intent.json --pqc-keys intent.json x",
	"SVC_DATA_DIR=file | keys list", "SVC_DATA_DIR=file | keys create --email a@b.c", "SVC_DATA_DIR=file/x | keys create --email a@b.c",
	"SVC_DATA_DIR=data | keys create --email abc", "SVC_DATA_DIR=data | keys revoke x", "SVC_DATA_DIR=data | keys scopes x --remove y",
	"SVC_DATA_DIR=data | keys set-plan x y", "SVC_DATA_DIR=data | usage --month x", "SVC_DATA_DIR=data | keys deployments x",
	"SVC_DATA_DIR=data | events verify", "SVC_DATA_DIR=data | events --key-id x", "SVC_HOSTED=true SVC_DATA_DIR=file | serve",
	"SVC_HOSTED=true SVC_KEY_DIR=file | serve", "SVC_HOSTED=true SVC_SIGNING_KEY_FILE=missing | serve", "SVC_HOSTED=true SVC_TRUSTED_SHIMS=missing | serve",
	"SVC_HOSTED=true SVC_TRUSTED_SHIMS=intent.json | serve", "SVC_HOSTED=true SVC_LISTEN=192.0.2.1:1 | serve", "WARRANTY_PATH=missing | serve",
	"SVC_HOSTED=true SVC_INTERNAL_LISTEN=127.0.0.1:0 SVC_INTERNAL_CERT=policy.md SVC_INTERNAL_KEY=file SVC_INTERNAL_CA=file | serve",
	"SVC_HOSTED=true SVC_INTERNAL_LISTEN=127.0.0.1:0 SVC_INTERNAL_CERT=missing SVC_INTERNAL_KEY=missing SVC_INTERNAL_CA=missing | serve",
	"SVC_HOSTED=true | serve --checkpoint missing", "| quickstart --operator-key file/key", "WARRANTY_PATH=file/policy.md | quickstart --operator-key op.key",
}

// systemCall is an operation that Go puts in front of a file or an address.
var systemCall = regexp.MustCompile(`(^|[ :])(open|stat|lstat|mkdir|read|write|rename|link|unlink|remove|chmod|connect|bind|listen tcp|dial tcp|lookup|Get|Post) [^ ;,]+: |: (connect|bind|lookup): `)

// layerFaults says which layers show in a message.
func layerFaults(text string) (faults []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "time=") {
			continue // the log of a service
		}
		if found := systemCall.FindString(line); found != "" {
			faults = append(faults, "a system call: "+found)
		}
		for _, layer := range cli.Layers {
			if layer != "invalid: " && strings.Contains(" "+line, " "+layer) { // "the key is invalid: …" is no layer
				faults = append(faults, "a package: "+layer)
			}
		}
	}
	return faults
}
