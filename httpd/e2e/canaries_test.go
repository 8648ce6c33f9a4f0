package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A canary is a fault that is planted in the service, and the test of failover that has to find it.
type canary struct {
	name, file, old, planted string
	test                     string
	says                     string // what the test says, as a regular expression
}

var canaries = []canary{
	{
		name: "the fence does not look at the term", file: "runtime/ledger/postgres/schema.go",
		old: "ON a.slot = s.slot AND a.term = s.term", planted: "ON a.slot = s.slot",
		test: "TestSlotsFailover", says: `not within a minute|problems`,
	},
	{
		name: "warnings are ignored", file: "runtime/ledger/postgres/session.go",
		old: "&finder{warnings: true, ", planted: "&finder{",
		test: "TestSlotsFailover", says: `decisions were told while the only standby hung`,
	},
	{
		name: "answers from memory are told unconfirmed", file: "runtime/ledger/postgres/log.go",
		old: "func (l *log) Confirm(mark uint64) error {\n", planted: "func (l *log) Confirm(mark uint64) error {\n\tif mark > 0 {\n\t\treturn nil\n\t}\n",
		test: "TestFailover", says: `an instance that was paused answers from its memory`,
	},
	{
		name: "decisions are told before they are kept", file: "runtime/ledger/postgres/many.go",
		old: "return g.adding.ask(addition{slot, term, before, last})", planted: "go g.adding.ask(addition{slot, term, before, last})\n\treturn true, nil",
		test: "TestSlotsFailover", says: `while the only standby hung|by a primary without a standby|a client was told`,
	},
	{
		name: "requests that may have arrived are passed on again", file: "httpd/peers/peers.go",
		old: "return response, began.Load(), err\n", planted: "return response, false, err\n",
		test: "TestSlotsFailover", says: `was decided twice`,
	},
}

// TestCanaries plants faults in the service, and has rounds of failover find each. A group without a look at the one before it is not among
// them: no database of these rounds goes back, and the suites of the ledger find it.
func TestCanaries(t *testing.T) {
	if os.Getenv("BAILIFF_CANARIES") == "" {
		t.Skip("takes many minutes; make failover runs it")
	}
	for _, c := range canaries {
		t.Run(c.name, func(t *testing.T) {
			command := built(t, func() (string, error) {
				return builtWith("canary", c.file, func(text string) string { return strings.Replace(text, c.old, c.planted, 1) })
			})
			rounds := exec.Command(os.Args[0], "-test.run", "^"+c.test+"$", "-test.parallel", "1", "-test.failfast", "-test.v")
			rounds.Env = append(os.Environ(), binarySetting+"="+command, "BAILIFF_FAILOVERS=10", "BAILIFF_FAULTS=30", "BAILIFF_CANARIES=")
			said, err := rounds.CombinedOutput()
			found := regexp.MustCompile(`_test\.go:\d+: .*(` + c.says + `).*`).Find(said)
			if err == nil || found == nil {
				t.Fatalf("it is not found, and the rounds end with %v", err)
			}
			t.Logf("found after %d faults: %s", strings.Count(string(said), "without an answer for a key"), found)
		})
	}
}
