//go:build mutants

package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/kit/testbin"
)

// A suite is a test that finds mutants. It says found where it has found something; anything else that makes it fail, a panic
// or a policy that no longer compiles, is not a find.
type suite struct {
	folder    string // of its package, with slashes
	found     string
	arguments []string // of its binary
}

var (
	differential = suite{"fuzz/differential", "the verdicts differ in their ", []string{"-test.run", "^TestDifferential$/^fixed$", "-fixed", "200000", "-shrink=false"}}
	attack       = suite{"fuzz/evm", "more was lost than was attested: ", []string{"-test.run", "^TestAttack$/^(authorize|gateway)$/^fixed$"}}
	model        = suite{"runtime/ledger/memory", "the model finds: ", []string{"-test.run", "^TestModel$"}}
	restoring    = suite{"runtime/ledger/commit", "--- FAIL: TestRestored", []string{"-test.run", "^TestRestored"}}
	approving    = suite{"runtime/approvals", "--- FAIL: TestApproval", []string{"-test.run", "^TestApproval"}}
	approvers    = suite{"runtime/ledger/memory", "--- FAIL: TestConformance/Approv", []string{"-test.run", "^TestConformance$/^Approv"}}
	simulated    = suite{"fuzz/simulate", "the simulator finds: ", []string{"-test.run", "^TestSimulate$", "-seeds", "1000"}}
	owning       = suite{"runtime/ledger/postgres", "run it again: make owners", []string{"-test.run", "^TestWorlds$", "-worlds", "1000"}}
	replacing    = suite{"runtime/ledger/postgres", "--- FAIL: TestReplaced", []string{"-test.run", "^TestReplaced"}}
	joined       = suite{"runtime/ledger/joining", "--- FAIL: Test", nil}
	renumbered   = suite{"runtime/ledger/slots", "--- FAIL: Test", []string{"-test.run", "^TestConformanceJoined$"}}
	alone        = suite{"runtime/ledger/postgres", "--- FAIL: Test", []string{"-test.run", "^TestLosesItsStandby|^TestIdleConnections$"}}
	dividing     = suite{"runtime/ledger/postgres", "--- FAIL: Test", []string{"-test.run", "^TestDivided|^TestContinue|^TestFill$|^TestDrain"}}
	passing      = suite{"httpd", "--- FAIL: TestPass", []string{"-test.run", "^TestPass(able|ed)"}}
	spelling     = suite{"fuzz/laws", "Falsified after ", []string{"-test.run", "^TestLaws$/one_form|^TestLaws$/spelling_of_a_rule|^TestLaws$/list_around", "-test.failfast"}}
)

// seeds are run by a real bash: without one the test is skipped, and finds nothing.
var seeds = suite{"fuzz/bash", "accepted: ", []string{"-test.run", "^TestSeeds$"}}

// corpus says "expected" where a case has another answer.
var corpus = suite{"fuzz/attacks", ": expected ", []string{"-test.run", "^TestDecisions$|^TestKinds$"}}

// slots lets two mutants be built and run at a time.
var slots = make(chan struct{}, 2)

// TestMutants builds the differential test with each mutant of the compiler, and runs it over its fixed pairs.
func TestMutants(t *testing.T) { seek(t, differential, All) }

// TestGatewayMutants does the same with the attack on the gateways and their mutants.
func TestGatewayMutants(t *testing.T) { seek(t, attack, Gateway) }

// TestLedgerMutants does the same with the model of the ledger and the mutants of which groups make room.
func TestLedgerMutants(t *testing.T) { seek(t, model, Ledger) }

// TestRestoredMutants does the same with the tests of restorations.
func TestRestoredMutants(t *testing.T) { seek(t, restoring, Restored) }

// TestApprovalMutants does the same with the tests of approvals.
func TestApprovalMutants(t *testing.T) { seek(t, approving, Approvals) }

// TestApproverMutants does the same with the conformance suite of ledgers.
func TestApproverMutants(t *testing.T) { seek(t, approvers, Approvers) }

// TestSimulatedMutants does the same with the simulator: a thousand worlds have to be enough.
func TestSimulatedMutants(t *testing.T) { seek(t, simulated, Simulated) }

// TestOwnersMutants does the same with a thousand worlds of instances that take a log from each other.
func TestOwnersMutants(t *testing.T) { seek(t, owning, Owners) }

// TestReplacedMutants does the same with the tests of owners that were replaced.
func TestReplacedMutants(t *testing.T) { seek(t, replacing, Replaced) }

// TestAloneMutants does the same with the tests of a database that loses its synchronous standby, or is replaced.
func TestAloneMutants(t *testing.T) { seek(t, alone, Alone) }

// TestDividedMutants does the same with the tests of a record that is divided over slots, and of a database that was put back.
func TestDividedMutants(t *testing.T) { seek(t, dividing, Divided) }

// TestJoinedMutants does the same with the tests of logs of slots that become one.
func TestJoinedMutants(t *testing.T) {
	seek(t, joined, Joined)
	seek(t, renumbered, Renumbered)
}

// TestPassingMutants does the same with the tests of passing requests on.
func TestPassingMutants(t *testing.T) { seek(t, passing, Passing) }

// TestFormMutants does the same with the laws about the spelling of values and the mutants of forms.
func TestFormMutants(t *testing.T) { seek(t, spelling, Forms) }

// TestCommandMutants does the same with what bash starts and the mutants of the reader of commands.
func TestCommandMutants(t *testing.T) { seek(t, seeds, Commands) }

// TestAttackMutants does the same with the corpus of attacks and the mutants of its classes.
func TestAttackMutants(t *testing.T) { seek(t, corpus, Attacked) }

// TestOwnMutants does the same with the tests of the package that a mutant is in.
func TestOwnMutants(t *testing.T) {
	for _, m := range Own {
		seek(t, suite{path.Dir(m.File), "--- FAIL: Test", []string{"-test.run", "^TestApproval|^TestVerifyRefuses$"}}, []Mutant{m})
	}
}

func seek(t *testing.T, in suite, mutants []Mutant) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			mutated, err := m.Apply(root)
			if err != nil {
				t.Fatal(err)
			}
			output, failed := run(t, absolute, in, map[string][]byte{m.File: mutated})
			if !failed || !strings.Contains(output, in.found) {
				t.Errorf("%s does not find that %s\n%s", in.folder, m.Name, tail(output))
			}
		})
	}
}

// TestNoMutant: without a fault nothing is found, so that the finds above are due to the faults.
func TestNoMutant(t *testing.T) {
	testbin.Track(t, "bailiff/fuzz/differential", "bailiff/fuzz/evm", "bailiff/fuzz/laws", "bailiff/fuzz/bash", "bailiff/fuzz/simulate", "bailiff/runtime/ledger/memory", "bailiff/runtime/ledger/commit", "bailiff/runtime/approvals", "bailiff/runtime/attest", "bailiff/runtime/decision", "bailiff/fuzz/attacks", "bailiff/httpd", "bailiff/runtime/ledger/postgres", "bailiff/runtime/ledger/joining", "bailiff/runtime/ledger/slots")
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []suite{differential, attack, model, restoring, approving, approvers, simulated, owning, replacing, alone, dividing, joined, renumbered, passing, spelling, seeds, corpus} {
		if output, failed := run(t, absolute, in, nil); failed {
			t.Errorf("%s fails without any mutant:\n%s", in.folder, tail(output))
		}
	}
}

// run builds a suite with some files replaced, and runs it.
func run(t *testing.T, root string, in suite, replaced map[string][]byte) (output string, failed bool) {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range replaced {
		copied := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, filepath.FromSlash(file))] = copied
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	overlayFile, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "suite.test")
	if err := os.WriteFile(overlayFile, list, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "test", "-c", "-overlay", overlayFile, "-o", binary, "./"+in.folder)
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the mutant does not build: %v\n%s", err, text)
	}
	test := exec.Command(binary, in.arguments...)
	test.Dir = filepath.Join(root, filepath.FromSlash(in.folder))
	test.Env = append(os.Environ(), seed.Variable+"=1")
	text, err := test.CombinedOutput()
	return string(text), err != nil
}

// tail returns the last lines of a text.
func tail(text string) string {
	const most = 2000
	return text[max(len(text)-most, 0):]
}
