// Package subject describes what a decision was about, for its event: the amount, who gets it, the host, the file, the command.
//
// It has one table of fields, which the record, the API and the documents follow. A subject within its bounds takes a few hundred
// bytes, however large the request was.
package subject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// A Field is one field of a subject. The numbers are on disk and never change their meaning.
type Field uint8

// The fields.
const (
	Amount Field = iota
	Unit
	Token
	Target
	Recipient
	Host
	Path
	Command
	Tool
	Task
	Trace
	Fields // how many there are
)

// An Info is one row of the table of fields.
type Info struct {
	Name string // on the wire
	Max  int    // the most bytes of its text
	// Further is the wire name of how many more values of the request the text does not show; "" where there is one at most.
	Further string
	Doc     string
}

// Table is the one table of fields. No bound is below that of a digest, which may be in place of a text.
var Table = [Fields]Info{
	Amount:    {Name: "amount", Max: 96, Doc: "the amount, in the unit"},
	Unit:      {Name: "unit", Max: 96, Doc: "the token of the amount, `ETH` for the native currency, or `base` for base units of a token without a rule"},
	Token:     {Name: "token", Max: 96, Doc: "the token: its symbol in the policy, otherwise as it was sent, in lower case"},
	Target:    {Name: "target", Max: 96, Doc: "the address that is called"},
	Recipient: {Name: "recipient", Max: 256, Further: "furtherRecipients", Doc: "the first recipient"},
	Host:      {Name: "host", Max: 256, Doc: "the host, of a web address without its user information and port"},
	Path:      {Name: "path", Max: 256, Further: "furtherPaths", Doc: "the first path, of a web address without its query"},
	Command:   {Name: "command", Max: 128, Doc: "the beginning of the command"},
	Tool:      {Name: "tool", Max: 256, Doc: "the MCP server and tool"},
	Task:      {Name: "taskId", Max: 128, Doc: "the task, which is recorded as it is"},
	Trace:     {Name: "traceparent", Max: 96, Doc: "the header `traceparent` of the request (W3C Trace Context), which is recorded as it is"},
}

// A Subject is what a decision was about. What does not apply is empty.
type Subject struct {
	Texts   [Fields]string
	Further [Fields]int // of the fields that have it in the table
}

// MaxFurther is the largest number of further values.
const MaxFurther = 1<<31 - 1

// IsZero reports whether a subject says nothing.
func (s *Subject) IsZero() bool { return *s == Subject{} }

// Set sets a field, cut to its bound at the start of a character.
func (s *Subject) Set(f Field, text string) {
	if limit := Table[f].Max; len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		text = text[:limit]
	}
	s.Texts[f] = text
}

// Check returns what is beyond the bounds of the table, or nil.
func (s *Subject) Check() error {
	for f := range Table {
		row := &Table[f]
		switch n := s.Further[f]; {
		case len(s.Texts[f]) > row.Max:
			return fmt.Errorf("%s has %d bytes; at most %d are recorded", row.Name, len(s.Texts[f]), row.Max)
		case n != 0 && (row.Further == "" || s.Texts[f] == ""):
			return fmt.Errorf("%s has %d further values, which it cannot have", row.Name, n)
		case n < 0 || n > MaxFurther:
			return fmt.Errorf("%s has %d further values; at most %d are counted", row.Name, n, MaxFurther)
		}
	}
	return nil
}

// MarshalJSON implements json.Marshaler: an object of what is not empty, in the order of the table.
func (s Subject) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	member := func(name string, value any) error {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), `":`...)
		b = append(b, text...)
		return nil
	}
	for f := range Table {
		if s.Texts[f] == "" {
			continue
		}
		if err := member(Table[f].Name, s.Texts[f]); err != nil {
			return nil, err
		}
		if s.Further[f] != 0 {
			if err := member(Table[f].Further, s.Further[f]); err != nil {
				return nil, err
			}
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON implements json.Unmarshaler. Members that the table does not have are passed over: a newer service may send
// them.
func (s *Subject) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&members); err != nil {
		return err
	}
	*s = Subject{}
	for f := range Table {
		for name, into := range map[string]any{Table[f].Name: &s.Texts[f], Table[f].Further: &s.Further[f]} {
			raw, has := members[name]
			if !has || name == "" {
				continue
			}
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}
