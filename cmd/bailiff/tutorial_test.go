package main

import (
	"bytes"
	"context"
	"errors"
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
)

// shownAddress is where documents have the service listen.
const shownAddress = "127.0.0.1:8787"

// A walk follows a document in a folder of its own, with a service that runs from its start.
type walk struct {
	t       *testing.T
	dir     string
	address string
	environ []string
	outputs string // of all blocks so far
	service *exec.Cmd
	log     bytes.Buffer // of the service
}

// newWalk starts the service as make run does, with further settings.
func newWalk(t *testing.T, environ ...string) *walk {
	t.Helper()
	free, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, dir: t.TempDir(), address: "127.0.0.1:" + free}
	w.environ = append(append(os.Environ(), "HOME="+w.dir, "SVC_LISTEN="+w.address, "SVC_API_URL=http://"+w.address, "SVC_PUBLIC_URL=http://localhost:"+free, "SVC_ADMIN_LISTEN=off"), environ...)
	command, err := exec.LookPath("bailiff") // TestMain makes this binary the command
	if err := errors.Join(err, os.Mkdir(filepath.Join(w.dir, "bin"), 0o755), os.Symlink(command, filepath.Join(w.dir, "bin", "bailiff"))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.stop(); err != nil || t.Failed() {
			t.Logf("%v\n%s", err, &w.log)
		}
	})
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// start starts the service, and waits until it answers.
func (w *walk) start() error {
	w.service = exec.Command("bin/bailiff", "quickstart")
	w.service.Dir, w.service.Env = w.dir, w.environ
	w.service.Stdout, w.service.Stderr = &w.log, &w.log
	if err := w.service.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(w.dir, "data", "api-key")); err == nil && answers(w.address, deadline) == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("the service did not start")
		}
	}
}

// stop ends the service where it runs.
func (w *walk) stop() error {
	if w.service == nil || w.service.Process == nil || w.service.ProcessState != nil {
		return nil
	}
	if err := w.service.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return w.service.Wait()
}

// run runs a block of shell, and fails where a command of it does. Curl answers 0 whatever the service does.
func (w *walk) run(b blocks.Block, script string) (output string) {
	w.t.Helper()
	output, err := w.try(script)
	if err != nil {
		w.t.Fatalf("%s: %v\n%s\n%s", b, err, script, output)
	}
	return output
}

// try runs a script of bash.
func (w *walk) try(script string) (output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, shownAddress, w.address))
	command.Dir, command.Env = w.dir, w.environ
	text, err := command.CombinedOutput()
	w.outputs += string(text)
	return string(text), err
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

// firstIntent is the heading of the part of README.md that TestFirstIntent walks through.
const firstIntent = "The first intent"

// TestFirstIntent does what README.md says about the first intent.
func TestFirstIntent(t *testing.T) {
	w := newWalk(t)
	ran := 0
	var first blocks.Block
	for _, b := range blocks.Of(t, "../../README.md") {
		if b.Heading != firstIntent {
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
