package client

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/eventjson"
	"bailiff/runtime/subject"
)

// printedEvent is an event with something an agent chose in many places.
func printedEvent(t *testing.T) (raw json.RawMessage) {
	t.Helper()
	e := eventjson.Event{
		LSN: 7, Event: "decision", Timestamp: time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC), Decision: "DENIED", AgentID: "=1+2", Action: "bash",
		Code: "SVC_X", Rule: "tool_calls.allowed", Value: "a\nb,\"c\"\x1b[2J", Subject: new(subject.Subject), Details: &eventjson.Details{Limit: "5", Line: 3},
	}
	e.Subject.Set(subject.Command, "rm -rf \"x\"")
	e.Subject.Set(subject.Path, "/srv")
	e.Subject.Further[subject.Path] = 2
	e.Subject.Set(subject.Amount, "0.5")
	e.Subject.Set(subject.Unit, "ETH")
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestPrintEvents(t *testing.T) {
	for _, row := range []struct {
		command eventsListCommand
		want    []string
	}{
		{eventsListCommand{}, []string{"2026-11-21T12:00:00Z  DENIED           =1+2  bash  amount 0.5 ETH path /srv and 2 more command \"rm -rf \\\"x\\\"\"  SVC_X  tool_calls.allowed\n"}},
		{eventsListCommand{JSON: true}, []string{`"matchedRule":"tool_calls.allowed"`, `"subject":{"amount":"0.5","unit":"ETH","path":"/srv","furtherPaths":2,`}},
	} {
		var out bytes.Buffer
		if err := printer(&out, row.command.JSON, row.command.CSV)(printedEvent(t)); err != nil {
			t.Fatal(err)
		}
		for _, want := range row.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%+v prints\n%s without\n%s", row.command, out.String(), want)
			}
		}
	}
	if err := printer(new(bytes.Buffer), false, false)(json.RawMessage("[]")); err == nil {
		t.Error("a list is printed as an event")
	}
}

// TestPrintCSV: two events are three lines of as many cells, no cell is a formula or steers a terminal, and the columns have the
// names of the JSON form.
func TestPrintCSV(t *testing.T) {
	var out bytes.Buffer
	print := printer(&out, false, true)
	for range 2 {
		if err := print(printedEvent(t)); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	cell := func(name string) string {
		for i, heading := range rows[0] {
			if heading == name {
				return rows[2][i]
			}
		}
		return "no such column"
	}
	for name, want := range map[string]string{
		"timestamp": "2026-11-21T12:00:00.000000005Z", "agentId": "'=1+2", "value": "a?b,\"c\"?[2J", "amount": "0.5", "furtherPaths": "2",
		"command": `rm -rf "x"`, "limit": "5", "line": "3", "holdId": "", "taskId": "",
	} {
		if got := cell(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	known := map[string]bool{}
	for _, of := range []any{eventjson.Event{}, eventjson.Details{}} {
		for i := range reflect.TypeOf(of).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(of).Field(i).Tag.Get("json"), ",")
			known[name] = true
			if strings.ContainsAny(name, "_-") {
				t.Errorf("%s is not camelCase", name)
			}
		}
	}
	for _, row := range subject.Table {
		known[row.Name], known[row.Further] = true, true
	}
	for _, heading := range rows[0] {
		if !known[heading] {
			t.Errorf("the column %s is not a member of an event", heading)
		}
	}
}

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		from, to string
		fails    bool
	}{
		{"2h", "1h", false}, {"1h", "2h", true}, {"2026-11-21T11:00:00Z", "", false}, {"", "2026-11-21T13:00:00+02:00", false},
		{"2h", "2h", true}, {"-1h", "", true}, {"", "tomorrow", true},
	} {
		c := eventsListCommand{From: row.from, To: row.to}
		query, err := c.query(now)
		if (err != nil) != row.fails {
			t.Errorf("from %s to %s: %v, %v", row.from, row.to, query, err)
		}
		values := EncodeQuery(query)
		if err == nil && (values.Get("from") == "") != (row.from == "") || err == nil && (values.Get("to") == "") != (row.to == "") {
			t.Errorf("from %s to %s is asked for as %v", row.from, row.to, values)
		}
	}
}
