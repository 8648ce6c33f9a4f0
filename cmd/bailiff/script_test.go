package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/port"
)

// commands are what tests can run as programs.
var commands = map[string]func(){"bailiff": mainOnWall}

func TestMain(m *testing.M) { testscript.Main(m, commands) }

// TestScripts runs the command as its users do: each script in testdata/script is a session in a fresh folder. Services
// that a script starts are real ones, on free ports: $API, $MONITOR, $INTERNAL and $HOOKS.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"API", "API2", "MONITOR", "INTERNAL", "HOOKS"} {
				free, err := port.Free()
				if err != nil {
					return err
				}
				env.Setenv(name, free)
			}
			env.Setenv("SVC_ADMIN_LISTEN", "off")
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"await": await, "ask": ask, "field": field, "spoil": spoil, "flip": flip, "certify": certify},
	})
}

// patience is how long a service may take to start.
const patience = 20 * time.Second

// await waits until something on a port answers: await PORT. A service listens before all of it is there.
func await(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if answers("127.0.0.1:"+args[0], deadline) == nil {
			return
		}
	}
	ts.Fatalf("nothing answers on port %s", args[0])
}

// answers asks whether anything comes back from an address, be it that it speaks TLS.
func answers(address string, deadline time.Time) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.WriteString(connection, "GET /healthz HTTP/1.1\r\nHost: "+address+"\r\n\r\n"); err != nil {
		return err
	}
	_, err = connection.Read(make([]byte, 1))
	return err
}

// ask sends a request with a body, "" for none, and prints status and answer: ask METHOD URL KEYFILE [BODYFILE].
func ask(ts *testscript.TestScript, neg bool, args []string) {
	var body io.Reader
	if len(args) > 3 {
		body = strings.NewReader(ts.ReadFile(args[3]))
	}
	request, err := http.NewRequest(args[0], args[1], body)
	ts.Check(err)
	if len(args) > 2 && args[2] != "-" {
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[2])))
	}
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer.json"), text, 0o600))
	fmt.Fprintf(ts.Stdout(), "%d %s\n", response.StatusCode, text)
	if failed := response.StatusCode >= 300; failed != neg {
		ts.Fatalf("%d %s", response.StatusCode, text)
	}
}

// field writes a field of a JSON file into a file, or into a variable: field JSONFILE NAME FILE|@VARIABLE.
func field(ts *testscript.TestScript, _ bool, args []string) {
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &object))
	value, found := object[args[1]]
	if !found {
		ts.Fatalf("%s has no %s", args[0], args[1])
	}
	if name, variable := strings.CutPrefix(args[2], "@"); variable {
		ts.Setenv(name, fmt.Sprint(value))
		return
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(fmt.Sprint(value)+"\n"), 0o600))
}

// spoil changes a text wherever it is in a file, byte for byte of the same length: spoil FILE OLD NEW.
func spoil(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	if len(args[1]) != len(args[2]) || !bytes.Contains(text, []byte(args[1])) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, bytes.ReplaceAll(text, []byte(args[1]), []byte(args[2])), 0o600))
}

// flip alters one bit near the beginning of every file of a pattern: flip PATTERN.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(names) == 0 {
		ts.Fatalf("there is no %s", args[0])
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		ts.Check(err)
		text[20] ^= 1
		ts.Check(os.WriteFile(name, text, 0o600))
	}
}

// certify makes an authority and certificates by it: certify CA NAME... writes CA.pem, and for each name NAME.pem and
// NAME.key.
func certify(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(certificate.Make(ts.MkAbs("."), args[0], args[1:]...))
}
