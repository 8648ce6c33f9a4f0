package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/blocks"
	"bailiff/fuzz/kit/port"
	"bailiff/fuzz/kit/testbin"
)

// shownAddress is where documents have the service listen.
const shownAddress = "127.0.0.1:8787"

// A walk follows a document in a folder of its own, with a service that runs from its start.
type walk struct {
	t       *testing.T
	dir     string
	address string
	outputs string // of all blocks so far
	service *exec.Cmd
}

// newWalk starts the service as make run does.
func newWalk(t *testing.T) *walk {
	t.Helper()
	free, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, dir: t.TempDir(), address: "127.0.0.1:" + free}
	testbin.Track(t)
	if err := testbin.Command(filepath.Join(w.dir, "bin", "bailiff")); err != nil {
		t.Fatal(err)
	}
	service := w.command("bin/bailiff", "quickstart")
	w.service = service
	var log bytes.Buffer
	service.Stdout, service.Stderr = &log, &log
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := service.Wait(); err != nil || t.Failed() {
			t.Logf("%v\n%s", err, &log)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(w.dir, "data", "api-key")); err == nil && answers(w.address, deadline) == nil {
			return w
		}
		if time.Now().After(deadline) {
			t.Fatal("the service did not start")
		}
	}
}

// command is a command in the walk's folder, whose service listens on a free port.
func (w *walk) command(name string, arguments ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	w.t.Cleanup(cancel)
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = w.dir
	command.Env = append(os.Environ(), "HOME="+w.dir, "SVC_LISTEN="+w.address, "SVC_API_URL=http://"+w.address, "SVC_ADMIN_LISTEN=off")
	return command
}

// run runs a block of shell, and fails where a command of it does. Curl answers 0 whatever the service does.
func (w *walk) run(b blocks.Block, script string) (output string) {
	w.t.Helper()
	command := w.command("bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, shownAddress, w.address))
	text, err := command.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", b, err, text)
	}
	w.outputs += string(text)
	return string(text)
}

// missing returns the lines that an output lacks.
func missing(lines, output string) (lacks []string) {
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); !strings.Contains(output, line) {
			lacks = append(lacks, line)
		}
	}
	return lacks
}

// TestTutorial does what docs/tutorial.md says: a block of shell is run, and the block of text behind it has lines of the output.
func TestTutorial(t *testing.T) {
	w := newWalk(t)
	ran, output := 0, ""
	for _, b := range blocks.Of(t, "../../docs/tutorial.md") {
		switch {
		case b.Note == "service": // the walk has started it
		case b.Language == "sh":
			output = w.run(b, b.Text)
			ran++
		case b.Language == "text":
			for _, line := range missing(b.Text, output) {
				t.Fatalf("%s: %q is missing in\n%s", b, line, output)
			}
		default:
			t.Fatalf("%s: a block of %s", b, b.Language)
		}
	}
	if ran < 7 {
		t.Errorf("%d blocks ran, want 7", ran)
	}
}

// blanks are what a reader of README.md fills in, and where its value is found in earlier answers.
var blanks = map[string]*regexp.Regexp{
	"TOKEN":   regexp.MustCompile(`"intent_attestation":"([^"]+)"`),
	"HOLD-ID": regexp.MustCompile(`"holdId":"([^"]+)"`),
}

// TestFirstIntent does what README.md says about the first intent.
func TestFirstIntent(t *testing.T) {
	w := newWalk(t)
	ran := 0
	var first blocks.Block
	for _, b := range blocks.Of(t, "../../README.md") {
		if b.Heading != "The first intent" {
			continue
		}
		if ran++; ran == 1 {
			first = b
		}
		if strings.Contains(b.Text, "HOLD-ID") { // the reader has asked for more
			for amount, status := range map[string]string{"0.6": "evm.max_transaction_eth", "0.25": "PENDING"} {
				if answer := w.run(first, strings.Replace(first.Text, `"0.1"`, fmt.Sprintf("%q", amount), 1)); !strings.Contains(answer, status) {
					t.Fatalf("%s ETH: %s", amount, answer)
				}
			}
		}
		script := strings.ReplaceAll(b.Text, "bin/bailiff holds", "echo y | bin/bailiff holds") // the reader answers
		for blank, value := range blanks {
			if strings.Contains(script, blank) {
				script = strings.ReplaceAll(script, blank, value.FindStringSubmatch(w.outputs)[1])
			}
		}
		output := w.run(b, script)
		if ran == 1 && !strings.Contains(output, `"status":"ALLOWED"`) {
			t.Fatal(output)
		}
	}
	if ran < 4 {
		t.Errorf("%d blocks ran, want 4", ran)
	}
}

func TestMissing(t *testing.T) {
	if lacks := missing("a\nb\n", "xay"); len(lacks) != 1 || lacks[0] != "b" {
		t.Error(lacks)
	}
}
