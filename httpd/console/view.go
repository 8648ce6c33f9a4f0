package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"bailiff/runtime/eventjson"
	"bailiff/runtime/policies"
)

//go:embed pages
var files embed.FS

var (
	// StyleSheet is the one style sheet of all pages for people.
	StyleSheet = must(files.ReadFile("pages/style.css"))
	// Icon is their icon, SVG.
	Icon       = must(files.ReadFile("pages/icon.svg")) // browsers ask for /favicon.ico where a page names none
	tailScript = must(files.ReadFile("pages/events.js"))
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err) // an embedded file is missing or malformed: every test of the package fails
	}
	return value
}

// templates are the pages by name, each with the layout around it.
var templates = func() map[string]*template.Template {
	functions := template.FuncMap{"utc": utc}
	all := map[string]*template.Template{}
	for _, entry := range must(files.ReadDir("pages")) {
		name, isPage := strings.CutSuffix(entry.Name(), ".html")
		if !isPage || name == "layout" {
			continue
		}
		all[name] = must(template.New(name).Funcs(functions).ParseFS(files, "pages/layout.html", "pages/"+entry.Name()))
	}
	return all
}()

// A frame is what the layout shows around a page.
type frame struct {
	Title, Page, Root string
	KeyID             string // of the session; empty where there is none
	Halted            string // why nothing is allowed; empty while it may be
	Menu              []link
	Now               time.Time
	Content           any
}

// utc writes a time in RFC 3339, in milliseconds.
func utc(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// A row is an event in a list.
type row struct {
	LSN                                       uint64
	Time                                      time.Time
	Event, Decision, Action, Agent, Rule, Why string
}

func rows(events []eventjson.Event) []row {
	list := make([]row, len(events))
	for i := range events {
		e := &events[i]
		list[i] = row{e.LSN, e.Timestamp, e.Event, e.Decision, e.Action, e.AgentID, e.Rule, e.Message}
	}
	return list
}

// A field is a member of a JSON object as a page shows it.
type field struct{ Name, Value string }

// fields lists the members of a value's JSON form in their order, those of inner objects under "outer.inner". What a form
// gains later appears without a change here.
func fields(value any) []field {
	text, err := json.Marshal(value)
	if err != nil {
		return []field{{"error", "the value has no JSON form: " + err.Error()}}
	}
	list, err := members(nil, "", text)
	if err != nil {
		return append(list, field{"error", "the value has no readable JSON form: " + err.Error()})
	}
	return list
}

// members appends the members of a JSON object, or the value itself where it is none.
func members(list []field, prefix string, text json.RawMessage) ([]field, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' {
		return append(list, field{prefix, scalar(text)}), nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.Token(); err != nil {
		return list, err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return list, err
		}
		key, isText := name.(string)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil || !isText {
			return list, errors.Join(err, io.ErrUnexpectedEOF)
		}
		if prefix != "" {
			key = prefix + "." + key
		}
		if list, err = members(list, key, value); err != nil {
			return list, err
		}
	}
	return list, nil
}

// scalar is a JSON value as a page shows it: a text without its quotes, a list of texts with commas.
func scalar(text json.RawMessage) string {
	var one string
	if json.Unmarshal(text, &one) == nil {
		return one
	}
	var many []string
	if json.Unmarshal(text, &many) == nil && many != nil {
		return strings.Join(many, ", ")
	}
	var plain bytes.Buffer
	if json.Compact(&plain, text) != nil {
		return string(text)
	}
	return plain.String()
}

// policyPage is the policy in force, line by line.
type policyPage struct {
	*policies.Report
	Lines   []policyLine
	Partial bool // more records are of the time than were counted
}

// A policyLine is a line of a policy and the rules that it makes.
type policyLine struct {
	Number int
	Text   string
	Rules  string
	Hits   int // decisions that named one of the rules
}

// lines are the lines of a policy with how many decisions named their rules. A rule of several lines has the count at each.
func lines(report *policies.Report, byRule map[string]int) []policyLine {
	rules, hits := map[int][]string{}, map[int]int{}
	for _, place := range report.Rules {
		if !slices.Contains(rules[place.Line], place.Rule) {
			rules[place.Line] = append(rules[place.Line], place.Rule)
			hits[place.Line] += byRule[place.Rule]
		}
	}
	text := strings.Split(strings.TrimSuffix(report.Text, "\n"), "\n")
	list := make([]policyLine, len(text))
	for i := range text {
		list[i] = policyLine{i + 1, strings.TrimSuffix(text[i], "\r"), strings.Join(rules[i+1], ", "), hits[i+1]}
	}
	return list
}

// ID names the line's anchor, to which a rule's line number links.
func (l policyLine) ID() string { return "L" + strconv.Itoa(l.Number) }
