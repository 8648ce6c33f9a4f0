package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be a floor, as the program itself is when it starts itself again.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-floor" {
		exit(serveFloor(os.Args[2], os.Stdin, os.Stdout))
		return
	}
	os.Exit(m.Run())
}

// TestRun builds the service and goes through a whole run, too short to tell anything about speed.
func TestRun(t *testing.T) {
	o := shortRun(t)
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !regexp.MustCompile(`\nratios: test-run \d+\.\d\d denied \d+\.\d\d allowed \d+\.\d\d\n$`).Match(out.Bytes()) {
		t.Errorf("the last line is not that of the ratios:\n%s", &out)
	}
	nothingLeft(t, o.dir)
}

// TestRunFails is the canary of the run: under a policy that denies everything there are no figures.
func TestRunFails(t *testing.T) {
	o := shortRun(t)
	o.policy = filepath.Join(o.dir, "strict.md")
	strict := "version: 2.0.0\n\n## evm\nallowed_chains: 8453\nallowed_actions: wallet.transfer\nmax_transaction_eth: 0.001\n"
	if err := os.WriteFile(o.policy, []byte(strict), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err == nil || !strings.Contains(err.Error(), "test-run: the answer is not the expected one") {
		t.Errorf("the run ended with %v\n%s", err, &out)
	}
	nothingLeft(t, o.dir)
}

func shortRun(t *testing.T) *options {
	t.Helper()
	folder := t.TempDir()
	binary := filepath.Join(folder, "bailiff")
	if printed, err := exec.Command("go", "build", "-o", binary, "bailiff/cmd/bailiff").CombinedOutput(); err != nil {
		t.Fatalf("building the service: %v\n%s", err, printed)
	}
	return &options{
		service: binary, policy: "../../cmd/bailiff/policy/example/warranty.md", dir: folder,
		connections: 4, rounds: 1, measure: 100 * time.Millisecond, single: 20 * time.Millisecond, processors: 2,
	}
}

func nothingLeft(t *testing.T, folder string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(folder, "bailiff-bench-*")); len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}
