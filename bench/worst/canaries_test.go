package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A canary is a bound that keeps the service up in a row, the fault that takes it away, and the test that finds the fault.
type canary struct {
	row   string // of attacks
	bound string
	fault fault
	tests string // the package of the test, from the root of the project,
	test  string // and its name; behind a slash a test of a suite, which is a row of the table file
	table string // "": the test is no suite's
}

const (
	budgets    = "runtime/budget/budget.go"
	bodies     = "httpd/body.go"
	slots      = "httpd/strict/slots.go"
	decisions  = "runtime/decision"
	policies   = "runtime/policies"
	ledgerTest = "fuzz/ledgertest/suite"
)

// canaries are the bounds of all rows. make mutants plants each fault.
var canaries = []canary{
	{"answers", "answers of nodes for one address", fault{budgets, "if b.Share > 0 &&", "if false &&"}, "httpd", "TestAnswersAreHeldForClients", ""},
	{"bodies", "bodies in all", fault{budgets, "if b.held+bytes > most {", "if false {"}, "httpd", "TestBudgetOfBodies", ""},
	{"chunks", "chunks of a body", fault{bodies, "b.reads > firstChunks+", "b.reads > 1<<40+"}, "httpd", "TestSmallChunks", ""},
	{"chunks", "the framing of chunks", fault{bodies, "b.reads*chunkLine", "b.reads<<30"}, "httpd", "TestChunkExtensions", ""},
	{"idle", "connections: the longest idle is closed", fault{slots, "\t\tlongest.Close()\n", ""}, "httpd/strict", "TestIdleSoonEnds", ""},
	{"idle", "connections: an idle one soon makes room", fault{slots, "leastIdle    = 10 *", "leastIdle    = 50 *"}, "httpd/strict", "TestIdleSoonEnds", ""},
	{"idle", "connections of one address", fault{slots, ">= MaxPerSource {", ">= 1<<40 {"}, "httpd/strict", "TestPerSource", ""},
	{"idle", "connections by files", fault{slots, "make(chan struct{}, room)", "make(chan struct{}, 1<<20)"}, "httpd/strict", "TestSlots", ""},
	{"policies", "deployments an hour", fault{policies + "/deploy.go", "case !result.Allowed:", "case false:"}, decisions, "TestDeploymentsAnHour", ""},
	{"policies", "programs in memory", fault{policies + "/policies.go", "for p.bytes > MaxIdle || p.Large > MaxIdle/2 {", "for false {"}, decisions, "TestIdlePrograms", ""},
	{"patterns", "long evaluations in turn", fault{decisions + "/heavy.go", "<= heavyEvaluation:", "<= 1<<40:"}, decisions, "TestHeavyTurns", ""},
	{"patterns", "evaluations that wait", fault{"runtime/turns/turns.go", "if q.count > t.most {", "if false {"}, decisions, "TestHeavyTurns", ""},
	{"texts", "bytes of texts by key", fault{"runtime/accounts/plans.go", "return p.stored", "return 0 * p.stored"}, decisions, "TestStorage", ""},
	{"refused", "the time of compiling", fault{policies + "/deploy.go", "return a.Clock().After(until) })", "return false && a.Clock().After(until) })"}, decisions, "TestCompileTime", ""},
	{"refused", "compiling in turn", fault{policies + "/deploy.go", "done, ok := a.Compiles.Take(waiting, key.ID)", "done, ok := func() {}, true\n\t_ = waiting"}, decisions, "TestOneCompilation", ""},
	{"events", "bytes that a page reads", fault{"runtime/ledger/commit/events.go", "p.unpacked >= pageBytes", "p.unpacked >= 1<<40"}, "runtime/ledger/commit", "TestBytesOfPages", ""},
	{"events", "pages in turn", fault{"runtime/events/events.go", "return a.pages.Take(waiting, key.ID)", "return func() {}, waiting != nil"}, decisions, "TestEventsInTurn", ""},
	{"programs", "replaced programs in use", fault{policies + "/lingering.go", "MaxLingering = 64 << 20", "MaxLingering = 1 << 28"}, decisions, "TestReplacedPrograms", ""},
	{"waiters", "requests that wait for holds, of a key", fault{"runtime/holds/wait.go", " || h.byKey[key] >= max(1, h.most/4)", ""}, "runtime/holds", "TestRoom", ""},
	{"waiters", "requests that wait for holds", fault{"runtime/holds/wait.go", "h.count >= h.most || ", ""}, "runtime/holds", "TestRoom", ""},
	{"waiters", "connections that wait for holds", fault{"cmd/bailiff/serve/wire.go", "max(1, s.Room()/4)", "holds.MaxWaits"}, "cmd/bailiff/serve", "TestHoldWaitsLeavePlaces", ""},
	{"groups", "groups of a key", fault{"runtime/ledger/state/room.go", "return s.room >= 0", "return true"}, "runtime/ledger/memory", "TestConformance/GroupBound", ledgerTest + "/bound.go"},
	{"groups", "nonces that are remembered", fault{"runtime/ledger/state/replay.go", " && len(t.order)-t.head <= ledger.MaxReplays", ""}, "runtime/ledger/state", "TestReplaysForgotten", ""},
	{"explain", "rules that an explanation lists", fault{decisions + "/explain.go", "if len(e.Violations) == maxFindings {", "if false {"}, decisions, "TestExplainBounded", ""},
	{"explain", "explanations in turn", fault{decisions + "/heavy.go", "if lasts = r.Explain; lasts {", "if false {"}, decisions, "TestExplanationInTurn", ""},
	{"explain", "large bodies that are explained", fault{decisions + "/decide.go", "if r.Explain && len(r.body) >= largeExplained {", "if false {"}, decisions, "TestLargeExplanationInTurn", ""},
	{"pages", "requests that come together", fault{"httpd/call.go", "\t\truntime.Gosched()\n", "\t\t_ = runtime.GOARCH\n"}, "httpd", "TestPipelinedRequestsYield", ""},
	{"explain", "explanations of light policies in turn", fault{decisions + "/heavy.go", "case !r.Explain && ", "case "}, decisions, "TestExplanationInTurn", ""},
	{"pages", "pages in turn", fault{"runtime/turns/turns.go", "[]chan struct{}{q.turn, t.places, t.shared}", "[]chan struct{}{q.turn}"}, decisions, "TestEventsInTurn", ""},
	{"webhooks", "deliveries that wait, by key", fault{"runtime/ledger/state/webhook.go", "return waiting < ledger.MaxOutbox || ", "return true || "}, "runtime/ledger/memory", "TestConformance/OutboxBound", ledgerTest + "/bound.go"},
	{"webhooks", "requests to receivers that fail", fault{"runtime/webhook/lane.go", "if l.slow && s.slow >= maxSlow {", "if false {"}, "runtime/webhook", "TestLanes", ""},
}

// TestCanaries holds that each row has a bound whose fault a test finds, and that faults and tests are there.
func TestCanaries(t *testing.T) {
	for _, row := range attacks {
		if !has(row.name) {
			t.Errorf("the row %s has no canary", row.name)
		}
	}
	for _, c := range canaries {
		if problem := c.problem(); problem != "" {
			t.Errorf("%s, %s: %s", c.row, c.bound, problem)
		}
	}
	for _, wrong := range []canary{
		{row: "none"}, {row: "idle", fault: fault{slots, "no such text", ""}, tests: "httpd/strict", test: "TestSlots"},
		{row: "idle", fault: fault{slots, "longest.Close()", ""}, tests: "httpd/strict", test: "TestSlot"},
		{row: "groups", fault: fault{slots, "longest.Close()", ""}, tests: "runtime/ledger/memory", test: "TestConformance/Group", table: ledgerTest + "/bound.go"},
	} {
		if wrong.problem() == "" {
			t.Errorf("%+v: nothing was found", wrong)
		}
	}
}

func has(row string) bool {
	for _, c := range canaries {
		if c.row == row {
			return true
		}
	}
	return false
}

// problem says what is wrong with a canary.
func (c *canary) problem() string {
	known := false
	for _, row := range attacks {
		known = known || row.name == c.row
	}
	if !known {
		return "there is no such row"
	}
	text, err := os.ReadFile("../../" + c.fault.path)
	if n := strings.Count(string(text), c.fault.text); err != nil || n != 1 {
		return fmt.Sprintf("%q is %d times in %s: %v", c.fault.text, n, c.fault.path, err)
	}
	test, part, _ := strings.Cut(c.test, "/")
	files, err := filepath.Glob("../../" + c.tests + "/*_test.go")
	found := false
	for _, file := range files {
		found = found || contains(file, "func "+test+"(t *testing.T)")
	}
	if !found {
		return fmt.Sprintf("%s has no %s: %v", c.tests, test, err)
	}
	if c.table != "" && !contains("../../"+c.table, `"`+part+`"`) {
		return fmt.Sprintf("%s has no %s", c.table, part)
	}
	return ""
}

func contains(file, text string) bool {
	all, err := os.ReadFile(file)
	return err == nil && strings.Contains(string(all), text)
}
