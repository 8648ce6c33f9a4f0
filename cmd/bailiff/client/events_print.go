package client

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/subject"
)

// eventPrinter prints an event.
type eventPrinter func(raw json.RawMessage) error

// printer returns what prints events in the form that the flags name.
func printer(w io.Writer, asJSON, asCSV bool) eventPrinter {
	switch {
	case asJSON:
		return func(raw json.RawMessage) error { return printLine(w, string(raw)) }
	case asCSV:
		return csvPrinter(w)
	}
	return func(raw json.RawMessage) error {
		e, err := readEvent(raw)
		if err != nil {
			return err
		}
		return printLine(w, eventLine(&e))
	}
}

func printLine(w io.Writer, line string) error {
	_, err := fmt.Fprintln(w, strings.Map(cli.OneLine, line))
	return err
}

func readEvent(raw json.RawMessage) (e eventjson.Event, err error) {
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, cli.Fail("an event can't be read: %v", err)
	}
	return e, nil
}

// eventLine is an event for people: when, what, by whom, about what, and why.
func eventLine(e *eventjson.Event) string {
	what := e.Event
	if e.Decision != "" {
		what = e.Decision
	}
	parts := []string{e.Timestamp.Format(time.RFC3339), fmt.Sprintf("%-15s", what)}
	for _, part := range []string{
		e.AgentID, e.Action, subjectLine(e.Subject), e.Code, e.Rule, e.Message, Named("hold", e.HoldID), Named("is", e.HoldStatus),
		Named("policy", e.PolicyHash), Named("webhook", e.WebhookID), e.WebhookChange, Named("plan", e.Plan),
		Named("scopes", strings.Join(e.Scopes, ",")), Named("key", e.KeyID),
	} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}

// subjectLine is a subject for people.
func subjectLine(s *subject.Subject) string {
	if s == nil {
		return ""
	}
	var parts []string
	for f := range subject.Table {
		text := s.Texts[f]
		switch subject.Field(f) {
		case subject.Unit: // beside its amount
			continue
		case subject.Amount:
			text = strings.TrimSpace(text + " " + s.Texts[subject.Unit])
		case subject.Token:
			if text == s.Texts[subject.Unit] {
				continue
			}
		case subject.Command:
			if text != "" {
				text = strconv.Quote(text)
			}
		}
		if text == "" {
			continue
		}
		if n := s.Further[f]; n > 0 {
			text += " and " + strconv.Itoa(n) + " more"
		}
		parts = append(parts, Named(subject.Table[f].Name, text))
	}
	return strings.Join(parts, " ")
}

// Named is a value with its name, empty for none.
func Named(name, value string) string {
	if value == "" {
		return ""
	}
	return name + " " + value
}

// A csvColumn is a column of comma-separated events, named as in their JSON form.
type csvColumn struct {
	name string
	of   func(*eventjson.Event) string
}

// csvColumns are the columns: those of decisions first, their subjects, and then what else events have.
var csvColumns = func() []csvColumn {
	columns := []csvColumn{
		{"lsn", func(e *eventjson.Event) string { return strconv.FormatUint(e.LSN, 10) }},
		{"timestamp", func(e *eventjson.Event) string { return e.Timestamp.Format(time.RFC3339Nano) }},
		{"event", func(e *eventjson.Event) string { return e.Event }},
		{"decision", func(e *eventjson.Event) string { return e.Decision }},
		{"keyId", func(e *eventjson.Event) string { return e.KeyID }},
		{"agentId", func(e *eventjson.Event) string { return e.AgentID }},
		{"action", func(e *eventjson.Event) string { return e.Action }},
		{"errorCode", func(e *eventjson.Event) string { return e.Code }},
		{"matchedRule", func(e *eventjson.Event) string { return e.Rule }},
	}
	for f, row := range subject.Table {
		columns = append(columns, csvColumn{row.Name, ofSubject(func(s *subject.Subject) string { return s.Texts[f] })})
		if row.Further != "" {
			columns = append(columns, csvColumn{row.Further, ofSubject(func(s *subject.Subject) string { return strconv.Itoa(s.Further[f]) })})
		}
	}
	return append(columns, []csvColumn{
		{"value", func(e *eventjson.Event) string { return e.Value }},
		{"limit", ofDetails(func(d *eventjson.Details) string { return d.Limit })},
		{"entry", ofDetails(func(d *eventjson.Details) string { return d.Entry })},
		{"line", ofDetails(func(d *eventjson.Details) string { return strconv.Itoa(d.Line) })},
		{"message", func(e *eventjson.Event) string { return e.Message }},
		{"holdId", func(e *eventjson.Event) string { return e.HoldID }},
		{"holdStatus", func(e *eventjson.Event) string { return e.HoldStatus }},
		{"policyHash", func(e *eventjson.Event) string { return e.PolicyHash }},
		{"endpoint", func(e *eventjson.Event) string { return e.Endpoint }},
		{"requestId", func(e *eventjson.Event) string { return e.RequestID }},
	}...)
}()

func ofSubject(part func(*subject.Subject) string) func(*eventjson.Event) string {
	return func(e *eventjson.Event) string {
		if e.Subject == nil {
			return ""
		}
		return part(e.Subject)
	}
}

func ofDetails(part func(*eventjson.Details) string) func(*eventjson.Event) string {
	return func(e *eventjson.Event) string {
		if e.Details == nil {
			return ""
		}
		return part(e.Details)
	}
}

// csvPrinter prints events as comma-separated values, after a line of names.
func csvPrinter(w io.Writer) eventPrinter {
	out, begun := csv.NewWriter(w), false
	cells := make([]string, len(csvColumns))
	return func(raw json.RawMessage) error {
		if !begun {
			for i, column := range csvColumns {
				cells[i] = column.name
			}
			begun = true
			if err := out.Write(cells); err != nil {
				return err
			}
		}
		e, err := readEvent(raw)
		if err != nil {
			return err
		}
		for i, column := range csvColumns {
			cells[i] = noFormula(strings.Map(cli.OneLine, column.of(&e)))
		}
		if err := out.Write(cells); err != nil {
			return err
		}
		out.Flush() // with --follow each event is read when it comes
		return out.Error()
	}
}
