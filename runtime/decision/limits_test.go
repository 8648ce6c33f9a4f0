package decision

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/vm/errcode"
)

const limitsPolicy = `version: 2.0.0

## evm
allowed_chains: 1
allowed_actions: wallet.transfer
max_transaction_eth: 5

## tool_calls
allowed: bash, file_write

## execution_limits
max_tool_calls_per_task: 3

## soft_limits
daily_evm_limit_eth: 2.5
daily_tool_calls: 6
cap.writes.max_count: 2
cap.writes.window: hour
cap.writes.action: file_write
cap.writes.group_by: metadata.team
`

// limited is a house under limitsPolicy, whose time passes by hand.
func limited(t *testing.T, policy string) (h *house, pass func(time.Duration)) {
	t.Helper()
	h = newHouse(t, rand.Reader)
	compiled, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(policy)))
	if err != nil {
		t.Fatal(err)
	}
	now := h.Clock()
	h.Clock = func() time.Time { return now }
	h.InForce.Store(compiled)
	return h, func(d time.Duration) { now = now.Add(d) }
}

// limitsText is what Limits says, a line each, without what every line has.
func (h *house) limitsText() string {
	h.t.Helper()
	view, fault := h.Limits(context.Background(), h.key)
	if fault != nil {
		h.t.Fatal(fault)
	}
	var b strings.Builder
	for _, l := range view.Limits {
		fmt.Fprintf(&b, "%s:%d %s %s %s", l.Rule, l.Line, l.Window, l.Limit, l.Unit)
		if len(l.GroupBy) == 0 {
			fmt.Fprintf(&b, " used %s left %s", l.Used, l.Left)
		}
		for _, g := range l.Groups {
			fmt.Fprintf(&b, " (%s used %s left %s)", strings.Join(g.Group, "+"), g.Used, g.Left)
		}
		if !l.ResetsAt.IsZero() {
			b.WriteString(l.ResetsAt.Format(" 15:04"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (h *house) decided(intent, want string) {
	h.t.Helper()
	if answer, fault := h.decide(intent, false); fault != nil || answer.Status != want {
		h.t.Fatalf("%s: %+v %v", intent, answer, fault)
	}
}

// TestLimits: limits show what decisions used and what denied ones did not, by group, until their windows end.
func TestLimits(t *testing.T) {
	h, pass := limited(t, limitsPolicy)
	want := func(when, text string) {
		t.Helper()
		if got := h.limitsText(); got != text {
			t.Errorf("%s:\n%s, want\n%s", when, got, text)
		}
	}
	want("at first", `execution_limits.max_tool_calls_per_task:12 task 3 tool calls
soft_limits.daily_evm_limit_eth:15 day 2.5 ETH used 0 left 2.5 00:00
soft_limits.daily_tool_calls:16 day 6 tool calls used 0 left 6 00:00
soft_limits.cap.writes.max_count:17 hour 2 intents 13:00
`)
	write := func(team, task string) string {
		return `{"action":"file_write","path":"/srv/a","task_id":"` + task + `","metadata":{"team":"` + team + `"}}`
	}
	h.decided(write("red", "t-1"), "ALLOWED")
	h.decided(write("red", "t-1"), "ALLOWED")
	h.decided(write("red", "t-2"), "DENIED")
	h.decided(write("blue", "t-2"), "ALLOWED")
	h.decided(`{"action":"wallet.transfer","amount":"0.75"}`, "ALLOWED")
	h.decided(`{"action":"wallet.transfer","amount":"1.8"}`, "DENIED")
	h.decided(`{"action":"bash","command":"ls","task_id":"t-2"}`, "ALLOWED")
	if _, fault := h.decide(write("green", "t-3"), true); fault != nil { // a test-run uses nothing
		t.Fatal(fault)
	}
	want("after some decisions", `execution_limits.max_tool_calls_per_task:12 task 3 tool calls (t-1 used 2 left 1) (t-2 used 2 left 1)
soft_limits.daily_evm_limit_eth:15 day 2.5 ETH used 0.75 left 1.75 00:00
soft_limits.daily_tool_calls:16 day 6 tool calls used 4 left 2 00:00
soft_limits.cap.writes.max_count:17 hour 2 intents (red used 2 left 0) (blue used 1 left 1) 13:00
`)
	pass(time.Hour)
	h.decided(write("red", "t-1"), "ALLOWED")
	want("an hour later", `execution_limits.max_tool_calls_per_task:12 task 3 tool calls (t-1 used 3 left 0) (t-2 used 2 left 1)
soft_limits.daily_evm_limit_eth:15 day 2.5 ETH used 0.75 left 1.75 00:00
soft_limits.daily_tool_calls:16 day 6 tool calls used 5 left 1 00:00
soft_limits.cap.writes.max_count:17 hour 2 intents (red used 1 left 1) 14:00
`)
	pass(24 * time.Hour)
	want("a day later", `execution_limits.max_tool_calls_per_task:12 task 3 tool calls (t-1 used 3 left 0) (t-2 used 2 left 1)
soft_limits.daily_evm_limit_eth:15 day 2.5 ETH used 0 left 2.5 00:00
soft_limits.daily_tool_calls:16 day 6 tool calls used 0 left 6 00:00
soft_limits.cap.writes.max_count:17 hour 2 intents 14:00
`)
}

// TestLeftIsLeft: as many decisions as are left are allowed, and the next one is not.
func TestLeftIsLeft(t *testing.T) {
	h, _ := limited(t, strings.Replace(limitsPolicy, "max_tool_calls_per_task: 3", "max_tool_calls_per_hour: 4", 1))
	for range 2 {
		h.decided(bashIntent, "ALLOWED")
	}
	view, fault := h.Limits(t.Context(), h.key)
	if fault != nil || view.Limits[0].Rule != "execution_limits.max_tool_calls_per_hour" {
		t.Fatalf("%+v, %v", view, fault)
	}
	left, err := strconv.Atoi(view.Limits[0].Left)
	if err != nil || left != 2 {
		t.Fatalf("%+v", view.Limits[0])
	}
	for range left {
		h.decided(bashIntent, "ALLOWED")
	}
	h.decided(bashIntent, "DENIED")
}

// TestManyGroups: of many groups those most used are listed, and that there are more is said.
func TestManyGroups(t *testing.T) {
	h, _ := limited(t, strings.Replace(limitsPolicy, "daily_tool_calls: 6", "daily_tool_calls: 1000", 1))
	intent := func(task int) string { return fmt.Sprintf(`{"action":"bash","command":"ls","task_id":"t-%d"}`, task) }
	h.decided(intent(0), "ALLOWED")
	for task := range maxLimitGroups + 5 {
		h.decided(intent(task), "ALLOWED")
	}
	h.decided(intent(maxLimitGroups+4), "ALLOWED")
	h.decided(intent(maxLimitGroups+4), "ALLOWED")
	view, fault := h.Limits(t.Context(), h.key)
	if fault != nil {
		t.Fatal(fault)
	}
	l := view.Limits[0]
	if len(l.Groups) != maxLimitGroups || !l.MoreGroups || l.Groups[0].Used != "3" || l.Groups[1].Group[0] != "t-0" || l.Groups[1].Used != "2" {
		t.Errorf("%d groups, more %v, %+v", len(l.Groups), l.MoreGroups, l.Groups[:2])
	}
}

// TestGroupsAreHidden: what SVC_EVENT_DETAIL keeps out of events it keeps out of limits, but for tasks.
func TestGroupsAreHidden(t *testing.T) {
	for detail, want := range map[EventDetail]string{FullDetail: "(sk_[masked] used", DigestDetail: "(" + digestPrefix, NoDetail: "( used"} {
		h, _ := limited(t, limitsPolicy)
		h.EventDetail = detail
		h.decided(`{"action":"file_write","path":"/a","task_id":"t-1","metadata":{"team":"sk_live_0123456789"}}`, "ALLOWED")
		if text := h.limitsText(); !strings.Contains(text, want) || strings.Contains(text, "0123456789 ") || !strings.Contains(text, "(t-1 used 1") {
			t.Errorf("%s: %s", detail, text)
		}
	}
}

// TestLimitsOf are the answers where there are no limits, and an operator's.
func TestLimitsOf(t *testing.T) {
	h, _ := limited(t, limitsPolicy)
	h.decided(`{"action":"wallet.transfer","amount":"0.75"}`, "ALLOWED")
	admin := h.Admin()
	view, err := admin.Limits(t.Context(), h.key.ID.String())
	if err != nil || view.Limits[1].Used != "0.75" || view.KeyID != h.key.ID.String() {
		t.Errorf("%+v, %v", view, err)
	}
	for id, want := range map[string]error{"x": ledger.ErrInvalid, ledger.ID{9}.String(): ledger.ErrNotFound} {
		if _, err := admin.Limits(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
	admin.Decider = nil
	if _, err := admin.Limits(t.Context(), h.key.ID.String()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("without a service: %v", err)
	}
	h.InForce.Store(nil)
	_, fault := h.Limits(t.Context(), h.key)
	want(t, fault, errcode.NoPolicy)
}
