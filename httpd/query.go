package httpd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/grammar"
	"bailiff/runtime/events"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
)

// Bounds of a page of events.
const (
	usualEvents = 100
	maxEvents   = 1000
)

// An eventParameter is a parameter of a query for events: what it takes in words, and what reads it.
type eventParameter struct {
	name, takes string
	read        func(text string, q *events.Query) bool
}

var eventParameters = []eventParameter{
	{"after", "is the next of the page before", func(text string, q *events.Query) bool {
		return q.Continue(text)
	}},
	{"from", "is a time as RFC 3339 has it, such as 2026-11-21T12:00:00Z", func(text string, q *events.Query) (ok bool) {
		q.From, ok = moment(text)
		return ok
	}},
	{"to", "is a time as RFC 3339 has it, such as 2026-11-21T12:00:00Z", func(text string, q *events.Query) (ok bool) {
		q.To, ok = moment(text)
		return ok
	}},
	{"decision", "is ALLOWED, DENIED, PENDING or TEST_RUN", func(text string, q *events.Query) (ok bool) {
		q.Decision, ok = decisionNamed(text)
		return ok
	}},
	{"rule", "is a matchedRule", textOf(func(q *events.Query) *string { return &q.Rule })},
	{"agent", "is an agentId", textOf(func(q *events.Query) *string { return &q.Agent })},
	{"task", "is a task_id", textOf(func(q *events.Query) *string { return &q.Task })},
	{"action", "is an action, in any case", textOf(func(q *events.Query) *string { return &q.Action })},
	{"limit", "is a number from 1 to " + strconv.Itoa(maxEvents), func(text string, q *events.Query) bool {
		n, ok := wholeNumber(text, maxEvents)
		q.Limit = int(n)
		return ok && n > 0
	}},
}

// textOf reads a text that is not empty into a part of a query.
func textOf(part func(*events.Query) *string) func(string, *events.Query) bool {
	return func(text string, q *events.Query) bool {
		*part(q) = text
		return text != ""
	}
}

// eventQuery reads the query of GET /v1/events strictly: a parameter that was left out for a slip of the pen would show
// what was not asked for.
func eventQuery(arguments *fasthttp.Args) (q events.Query, fault *service.Failure) {
	q.Limit = usualEvents
	if fault := checkParameters(arguments, eventParameterNames); fault != nil {
		return q, fault
	}
	for _, p := range eventParameters {
		if arguments.Has(p.name) && !p.read(string(arguments.Peek(p.name)), &q) {
			return q, schemaFailure(p.name + ": " + p.takes)
		}
	}
	return q, nil
}

// eventParameterNames are the names of the parameters, in the order of the table.
var eventParameterNames = func() (names []string) {
	for _, p := range eventParameters {
		names = append(names, p.name)
	}
	return names
}()

// checkParameters refuses a query with a parameter that the route does not have, or with one twice.
func checkParameters(arguments *fasthttp.Args, names []string) *service.Failure {
	seen := 0
	for name := range arguments.All() {
		i := slices.Index(names, string(name))
		switch {
		case i < 0:
			return schemaFailure(unknownParameter(string(name), names))
		case seen&(1<<i) != 0:
			return schemaFailure(names[i] + ": is in the query twice; send it once")
		}
		seen |= 1 << i
	}
	return nil
}

// unknownParameter says what was probably meant, or what there is.
func unknownParameter(name string, names []string) string {
	hint := "this route has " + strings.Join(names, ", ")
	if near := grammar.Closest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("%.64q: is not a query parameter of this route; %s", name, hint)
}

// wholeNumber reads decimal digits, of which there is no second spelling.
func wholeNumber(text string, most uint64) (n uint64, ok bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && n <= most && strconv.FormatUint(n, 10) == text
}

// moment reads a time. Parse also takes an hour of one digit and a comma before the fraction, which RFC 3339 does not
// know. Before 1970 nothing has happened, and the zero time would mean none.
func moment(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text)
	if t.Unix() < 0 {
		t = time.Unix(0, 0)
	}
	return t, err == nil && text[13] == ':' && text[19] != ','
}

func decisionNamed(text string) (ledger.Decision, bool) {
	for _, d := range []ledger.Decision{ledger.Allowed, ledger.Denied, ledger.Pending, ledger.TestRun} {
		if d.String() == text {
			return d, true
		}
	}
	return 0, false
}

// waitQuery reads the query parameter wait of a hold: whole seconds. A query of anything else is left alone, as on every
// route.
func waitQuery(arguments *fasthttp.Args) (wait time.Duration, fault *service.Failure) {
	const most = uint64(holds.MaxWait / time.Second)
	values := arguments.PeekMulti("wait")
	if len(values) == 0 {
		return 0, nil
	}
	if seconds, ok := wholeNumber(string(values[0]), most); ok && len(values) == 1 {
		return time.Duration(seconds) * time.Second, nil
	}
	return 0, schemaFailure(fmt.Sprintf("wait: must be a number of seconds from 0 to %d, and be sent once", most))
}
