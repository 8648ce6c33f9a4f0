package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/seed"
)

// A canary is a fault that is planted in the service, and the test of failover that has to find it.
type canary struct {
	name, file, old, planted string
	test                     string
	says                     string // what the test says, as a regular expression
}

var canaries = []canary{
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
		old: "return g.adding.ask(addition{slot, term, before, last})", planted: "last.data = append([]byte(nil), last.data...)\n\tgo g.adding.ask(addition{slot, term, before, last})\n\treturn true, nil",
		test: "TestSlotsFailover", says: `while the only standby hung|by a primary without a standby|a client was told`,
	},
	{
		name: "requests that may have arrived are passed on again", file: "httpd/peers/peers.go",
		old: "return response, began.Load(), err\n", planted: "return response, false, err\n",
		test: "TestSlotsFailover", says: `was decided twice`,
	},
	{
		name: "an approver who was removed decides where her session is", file: "runtime/ledger/state/holds.go",
		old: "device == nil || device.Serial != a.Serial ||", planted: "false &&",
		test: "TestRemovedApprover", says: `hold \d: \{"status":"ALLOWED"`,
	},
}

// TestCanaries plants faults in the service, and has rounds of failover find each. Faults of the fence are not among them: without the term a
// late append still meets the group that the new owner has written at its place, and without the group before it a database would have to
// go back. TestWorlds and TestManySlots of the ledger find the first, TestWentBack and TestStatementsOfSlots the second.
func TestCanaries(t *testing.T) {
	if os.Getenv("BAILIFF_CANARIES") == "" {
		t.Skip("takes many minutes; make failover runs it")
	}
	for _, c := range canaries {
		t.Run(c.name, func(t *testing.T) {
			command := built(t, func() (string, error) {
				return builtWith("canary", c.file, func(text string) string { return strings.Replace(text, c.old, c.planted, 1) })
			})
			for round := range times(t, "BAILIFF_FAILOVERS", 10) {
				said, err := c.round(t, command, seed.Value(t)+int64(round))
				found := regexp.MustCompile(`_test\.go:\d+: .*(` + c.says + `).*`).Find(said)
				if found != nil && err != nil {
					t.Logf("found in round %d, after %d faults: %s", round+1, strings.Count(string(said), "requests without one"), found)
					return
				}
				if err != nil {
					t.Fatalf("a round fails, and says nothing of it: %v\n%s", err, said)
				}
			}
			t.Error("it is not found")
		})
	}
}

// round has a round of faults drawn from a seed, with another command.
func (c canary) round(t *testing.T, command string, from int64) (said []byte, err error) {
	round := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+c.test+"$", "-test.v", "-test.timeout", "20m")
	round.WaitDelay = 10 * time.Second
	round.Env = append(os.Environ(), binarySetting+"="+command, "BAILIFF_CANARIES=", "BAILIFF_FAILOVERS=1", "BAILIFF_FAULTS=30", fmt.Sprintf("BAILIFF_SEED=%d", from))
	return round.CombinedOutput()
}
