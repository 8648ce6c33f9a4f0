package state

import (
	"errors"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
	"bailiff/vm/amount"
)

// TestMatches: a query wants the records that have all of its parts, from a time on and before another.
func TestMatches(t *testing.T) {
	r := Record{
		Kind: ledger.Decided, Key: ledger.ID{1}, Now: 5, Plan: ledger.ID{2}, Hold: HoldEffect{ID: ledger.ID{3}},
		Ending: ledger.Ending{Decision: ledger.Denied, Rule: "rule"},
		Event:  ledger.Event{AgentID: "agent", Action: "action", Subject: subject.Subject{Texts: [subject.Fields]string{subject.Task: "task"}}},
	}
	for name, c := range map[string]struct {
		query ledger.EventQuery
		want  bool
	}{
		"everything":      {ledger.EventQuery{}, true},
		"all of it":       {ledger.EventQuery{Key: r.Key, From: 5, To: 6, Hold: r.Hold.ID, Plan: r.Plan, Decision: ledger.Denied, Rule: "rule", Agent: "agent", Task: "task", Action: "action"}, true},
		"its key":         {ledger.EventQuery{Key: r.Key}, true},
		"another key":     {ledger.EventQuery{Key: ledger.ID{2}}, false},
		"from then on":    {ledger.EventQuery{From: 5}, true},
		"later":           {ledger.EventQuery{From: 6}, false},
		"before then":     {ledger.EventQuery{To: 5}, false},
		"up to then":      {ledger.EventQuery{To: 6}, true},
		"its hold":        {ledger.EventQuery{Hold: r.Hold.ID}, true},
		"another hold":    {ledger.EventQuery{Hold: ledger.ID{4}}, false},
		"its plan":        {ledger.EventQuery{Plan: r.Plan}, true},
		"another plan":    {ledger.EventQuery{Plan: ledger.ID{4}}, false},
		"its decision":    {ledger.EventQuery{Decision: ledger.Denied}, true},
		"another":         {ledger.EventQuery{Decision: ledger.Allowed}, false},
		"its rule":        {ledger.EventQuery{Rule: "rule"}, true},
		"another rule":    {ledger.EventQuery{Rule: "other"}, false},
		"its agent":       {ledger.EventQuery{Agent: "agent"}, true},
		"another agent":   {ledger.EventQuery{Agent: "other"}, false},
		"its task":        {ledger.EventQuery{Task: "task"}, true},
		"another task":    {ledger.EventQuery{Task: "other"}, false},
		"its action":      {ledger.EventQuery{Action: "action"}, true},
		"another action":  {ledger.EventQuery{Action: "other"}, false},
		"rule, not agent": {ledger.EventQuery{Rule: "rule", Agent: "other"}, false},
	} {
		if got := r.Matches(&c.query); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	r.Kind, r.Now = ledger.HoldResolved, 0
	for _, q := range []ledger.EventQuery{{Decision: ledger.Denied}, {Rule: "rule"}, {Agent: "agent"}, {Task: "task"}, {Action: "action"}} {
		if r.Matches(&q) {
			t.Errorf("%+v wants a record that is not a decision", q)
		}
	}
	if r.Matches(&ledger.EventQuery{From: 1}) {
		t.Error("a record of the time 0 is wanted from 1 on")
	}
	for _, q := range []ledger.EventQuery{{}, {To: 1}} {
		if !r.Matches(&q) {
			t.Errorf("%+v does not want a record of the time 0", q)
		}
	}
}

// TestRecordsOf: a hold's body, a policy and a tool's definition come from the record that has them, and from none beside it.
func TestRecordsOf(t *testing.T) {
	c := newCrowd(t, 2)
	opened, deployed, pinned := c.opens(ledger.ID{5}), c.deploys(1, [32]byte{1}), c.pins(ledger.ToolPinned)
	for name, find := range map[string]func(r Record, key ledger.ID) bool{
		"opened": func(r Record, key ledger.ID) bool { return r.Body(&ledger.Hold{ID: ledger.ID{5}, Key: key}) },
		"deployed": func(r Record, key ledger.ID) bool {
			var p ledger.StoredPolicy
			found := r.Policy(key, &p)
			if found && (string(p.Text) != "t" || string(p.Program) != "p" || p.At != r.Now) {
				t.Errorf("the policy is %+v", p)
			}
			return found
		},
		"pinned": func(r Record, key ledger.ID) bool { return string(r.Definition(key, "s", "t")) == "{}" },
	} {
		for kind, r := range map[string]Record{"opened": opened, "deployed": deployed, "pinned": pinned} {
			if got := find(r, busyKey); got != (kind == name) {
				t.Errorf("in the record that has %s, the one that has %s is found: %t", kind, name, got)
			}
			if find(r, revokedKey) {
				t.Errorf("in the record that has %s, something of another key is found", kind)
			}
		}
	}
	if opened.Body(&ledger.Hold{ID: ledger.ID{6}, Key: busyKey}) {
		t.Error("the body of another hold is found")
	}
	found := c.holds(HoldFound, ledger.ID{5})
	if found.Body(&ledger.Hold{ID: ledger.ID{5}, Key: busyKey}) {
		t.Error("the body of a hold is found where it was not opened")
	}
}

// TestKeyOf reads the key of a record that has at least a head.
func TestKeyOf(t *testing.T) {
	want := ledger.ID{1, 2, 3}
	r := Record{Kind: ledger.KeyWasRevoked, Key: want}
	data := string(r.Append(nil))
	for size := range len(data) {
		if key, ok := KeyOf(data[:size]); ok != (size >= 17) || ok && key != want {
			t.Errorf("of %d bytes: %s, %t", size, key, ok)
		}
	}
}

// TestViews: readers of the log see what a record says.
func TestViews(t *testing.T) {
	c := newCrowd(t, 2)
	decided := c.opens(ledger.ID{5})
	decided.Counters = []CounterEffect{{Counter: busyCounter, Value: amount.FromUint64(3)}}
	frozen, dropped, restored := c.whole(ledger.ServiceFrozen), c.whole(ledger.EventsDropped), c.whole(ledger.ServiceRestored)
	frozen.Halt.Reason, frozen.Halt.Signed = "because", &ledger.HaltStatement{Serial: 7}
	for _, v := range []struct {
		record Record
		shows  func(e ledger.LoggedEvent) bool
	}{
		{decided, func(e ledger.LoggedEvent) bool {
			return e.Result == ledger.Passed && e.Ending == decided.Ending && e.Hold == decided.Hold.ID && e.HoldState == ledger.HoldPending && e.HoldExpires == decided.Hold.Expires &&
				e.IntentHash == decided.Hold.IntentHash && len(e.Counters) == 1 && e.Counters[0].Counter == busyCounter && e.Counters[0].Value == amount.FromUint64(3)
		}},
		{c.holds(HoldFound, ledger.ID{5}), func(e ledger.LoggedEvent) bool { return e.Hold == ledger.ID{5} && e.HoldState == 0 }},
		{c.holds(HoldUsedUp, ledger.ID{5}), func(e ledger.LoggedEvent) bool { return e.Hold == ledger.ID{5} && e.HoldState == ledger.HoldUsed }},
		{frozen, func(e ledger.LoggedEvent) bool { return e.Reason == "because" && e.Statement.Serial == 7 }},
		{dropped, func(e ledger.LoggedEvent) bool { return e.Drop == dropped.Drop }},
		{restored, func(e ledger.LoggedEvent) bool { return e.Reason == restored.Restored.Reason() && e.Reason != "" }},
	} {
		if e := v.record.View(9); e.LSN != 9 || e.Kind != v.record.Kind || e.Key != v.record.Key || e.At != c.now || !v.shows(e) {
			t.Errorf("of %+v readers see %+v", v.record, e)
		}
	}
	for action := DeliveryDone; action <= DeliveryDisables; action++ {
		r := c.settles(hookOfAll, 1, action)
		if e := r.View(9); (e.Kind == ledger.NoRecord) != (action != DeliveryDisables) {
			t.Errorf("of what came of a delivery, %d, readers see %s", action, e.Kind)
		}
	}
}

// TestDescriptions: each form is described by its event and the fields of its body, in their order.
func TestDescriptions(t *testing.T) {
	for _, d := range Descriptions() {
		of := numbers[d.Number]
		var names []string
		for _, f := range of.form.fields {
			names = append(names, f.name)
		}
		if d.Event != of.kind.String() || d.About != of.form.about || d.Fields != strings.Join(names, " ") {
			t.Errorf("form %d is described as %+v", d.Number, d)
		}
	}
}

// TestTopics: webhooks are told of decisions by what they are, and of nothing that is not one of the topics.
func TestTopics(t *testing.T) {
	c := newCrowd(t, 2)
	for decision, want := range map[ledger.Decision]ledger.Topics{
		ledger.Allowed: ledger.IntentAllowed, ledger.Denied: ledger.IntentDenied, ledger.Pending: ledger.IntentPending, ledger.NoDecision: 0,
	} {
		r := c.decision()
		r.Ending.Decision = decision
		if got := r.topic(); got != want {
			t.Errorf("%s is told as %d, want %d", decision, got, want)
		}
	}
	for kind := range kinds {
		if r := c.of(ledger.Kind(kind)); kinds[kind].topic == nil && r.topic() != 0 {
			t.Errorf("%s has the topic %d", r.Kind, r.topic())
		}
	}
}

// TestUnknownKey: a state has nothing of a key that it does not know, changes nothing of it, and drops deliveries for it.
func TestUnknownKey(t *testing.T) {
	c := busy(t)
	if got := c.s.Deployments(unknownID); got != nil {
		t.Errorf("deployments: %v", got)
	}
	if views, lsns := c.s.Holds(unknownID, c.now); views != nil || lsns != nil {
		t.Errorf("holds: %v, of %v", views, lsns)
	}
	var r Record
	r.Kind = ledger.Decided
	if err := c.s.SettleDelivery(&ledger.DeliveryResult{Key: unknownID, Webhook: hookOfAll, LSN: toldAt, At: c.now}, &r); err != nil || r.Kind != ledger.NoRecord {
		t.Errorf("a delivery is settled with %v, %v", r.Kind, err)
	}
	if err := c.s.RemoveWebhook(&ledger.WebhookChange{Key: unknownID, ID: hookOfAll, At: c.now}, &r); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a webhook is removed with %v", err)
	}
}
