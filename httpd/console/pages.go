package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bailiff/runtime/accounts"
	"bailiff/runtime/decision"
	"bailiff/runtime/events"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

type handler func(c *Console, ctx context.Context, v *visit, parameter string) *Response

// A page is one row of the table of pages.
type page struct {
	path      string // a path that ends in a slash is followed by one segment
	open      bool   // needs no session
	operator  bool   // is of the operator's console alone, and needs no chosen key
	idle      bool   // is asked for by the browser itself: no use of the session, and not counted for the key's limit
	get, post handler
}

const (
	signInPath  = Root + "/sign-in"
	signOutPath = Root + "/sign-out"
	eventsPath  = Root + "/events"
	holdsPath   = Root + "/holds"
	keysPath    = Root + "/keys"
	keyPath     = Root + "/key"
	policyPath  = Root + "/policy"
	hooksPath   = Root + "/webhooks"
	verifyPath  = Root + "/verify"
	stylePath   = Root + "/style.css"
	iconPath    = Root + "/icon.svg"
	hoursPath   = Root + "/hours.svg"
	livePath    = Root + "/live"
	scriptPath  = Root + "/events.js"
)

// pages is set by init: the handlers refer to it through find.
var pages []page

func init() {
	pages = []page{
		{path: Root, get: (*Console).overview},
		{path: stylePath, open: true, get: (*Console).style},
		{path: iconPath, open: true, get: (*Console).icon},
		{path: hoursPath, get: (*Console).hoursPlot},
		{path: scriptPath, open: true, get: (*Console).script},
		{path: livePath, idle: true, get: (*Console).tail},
		{path: signInPath, open: true, get: (*Console).signInForm, post: (*Console).signIn},
		{path: signOutPath, open: true, post: (*Console).signOut},
		{path: eventsPath, get: (*Console).events},
		{path: eventsPath + "/", get: (*Console).event},
		{path: holdsPath, get: (*Console).holds},
		{path: holdsPath + "/", get: (*Console).hold},
		{path: keysPath, operator: true, get: (*Console).keys, post: (*Console).chooseKey},
		{path: keyPath, get: (*Console).key},
		{path: policyPath, get: (*Console).policy},
		{path: hooksPath, get: (*Console).webhooks},
		{path: verifyPath, get: (*Console).verifyForm, post: (*Console).verify},
	}
}

// menu is what every page of a session links to.
var menu = []link{
	{Root, "Overview", "overview"}, {eventsPath, "Events", "events"}, {holdsPath, "Holds", "holds"}, {policyPath, "Policy", "policy"},
	{hooksPath, "Webhooks", "webhooks"}, {keyPath, "Key", "key"}, {verifyPath, "Verify", "verify"},
}

// operatorMenu is the same for the operator.
var operatorMenu = append([]link{{keysPath, "All keys", "keys"}}, menu...)

// A link is an entry of the menu.
type link struct{ Path, Name, Page string }

// find returns the page of a path and what follows it, nil where there is none.
func find(path string) (row *page, parameter string) {
	for i := range pages {
		row := &pages[i]
		if path == row.path && !strings.HasSuffix(row.path, "/") {
			return row, ""
		}
		if rest, ok := strings.CutPrefix(path, row.path); ok && strings.HasSuffix(row.path, "/") && rest != "" && !strings.Contains(rest, "/") {
			return row, rest
		}
	}
	return nil, ""
}

// allow lists the methods of a page.
func (p *page) allow() string {
	switch {
	case p.post == nil:
		return "GET, HEAD"
	case p.get == nil:
		return "POST"
	}
	return "GET, HEAD, POST"
}

func (c *Console) style(context.Context, *visit, string) *Response {
	return &Response{Status: http.StatusOK, Type: "text/css; charset=utf-8", Body: StyleSheet, Cacheable: true}
}

func (c *Console) icon(context.Context, *visit, string) *Response {
	return &Response{Status: http.StatusOK, Type: "image/svg+xml", Body: Icon, Cacheable: true}
}

func (c *Console) signInForm(_ context.Context, v *visit, _ string) *Response {
	if c.SessionKey(v.Token) != nil {
		return &Response{Status: http.StatusSeeOther, Location: Root}
	}
	return c.page(nil, c.signInPage(), "Sign in", "")
}

// signIn begins a session with an API key. The session that the browser had ends, so that its token is never one that
// somebody else may know.
func (c *Console) signIn(_ context.Context, v *visit, _ string) *Response {
	if c.Operator != nil {
		return c.signInOperator(v)
	}
	key, fault := c.Authority.Authenticate([]byte(strings.TrimSpace(v.Form.Get("key"))), scope)
	if fault == nil && v.Admit != nil {
		fault = v.Admit(key)
	}
	if fault != nil {
		return c.refuseSignIn(cmp.Or(fault.HTTP, errcode.Lookup(fault.Code).HTTP), fault.Message)
	}
	return c.open(v, key.ID)
}

// open begins a session, of no key for the operator, in place of the one that the browser had.
func (c *Console) open(v *visit, key ledger.ID) *Response {
	if v.Token != "" {
		c.sessions.end(v.Token)
	}
	token, err := c.sessions.begin(key, v.User)
	switch {
	case errors.Is(err, errNoSession):
		return c.refuseSignIn(http.StatusServiceUnavailable, err.Error())
	case err != nil:
		c.Log.Error("a session of the console could not begin", "error", err)
		return c.refuseSignIn(http.StatusServiceUnavailable, "the service has no random numbers; try again later")
	}
	return &Response{Status: http.StatusSeeOther, Location: Root, SetCookie: c.cookie(token)}
}

func (c *Console) refuseSignIn(status int, message string) *Response {
	response := c.page(nil, c.signInPage(), "Sign in", message)
	response.Status = status
	return response
}

func (c *Console) signOut(_ context.Context, v *visit, _ string) *Response {
	if v.Token != "" {
		c.sessions.end(v.Token)
	}
	return &Response{Status: http.StatusSeeOther, Location: signInPath, SetCookie: c.noCookie()}
}

// overview is what the first page shows.
type overview struct {
	From    time.Time
	Counts  []count
	Hours   []hourRow // those with decisions
	Partial bool
	Half    time.Duration // within which half of the requests to decide were answered, of all keys; zero before the first
	Most    time.Duration // and within which 99 % of them were
	Limits  []limitRow
	Waiting []holds.Summary
	Latest  []row
}

type count struct {
	Status string
	Count  int
	Link   string // to the events
}

// decideRoute is the route whose durations the overview shows.
const decideRoute = "/v1/authorize"

// statuses are the ways a decision ends, in the order of the page.
var statuses = [...]ledger.Decision{ledger.Allowed, ledger.Denied, ledger.Pending, ledger.TestRun}

func (c *Console) overview(ctx context.Context, v *visit, _ string) *Response {
	// Whole hours, of which the last one is not over.
	from := c.Clock().UTC().Truncate(time.Hour).Add(-(plottedHours - 1) * time.Hour)
	counts, fault := c.Authority.CountDecisions(ctx, v.key, from)
	if fault != nil {
		return c.fail(v, fault)
	}
	hours := hoursOf(counts)
	c.sessions.show(v.Token, hours)
	took := c.Authority.Metrics.Route(decideRoute)
	view := overview{From: from, Partial: counts.Partial, Hours: hours.rows(), Half: took.Within(0.5), Most: took.Within(0.99)}
	for _, status := range statuses {
		query := url.Values{"decision": {status.String()}, "from": {from.Format(time.RFC3339)}}
		view.Counts = append(view.Counts, count{status.String(), counts.ByStatus[status.String()], eventsPath + "?" + query.Encode()})
	}
	holds, fault := c.Authority.HoldsOf(ctx, v.key)
	if fault != nil {
		return c.fail(v, fault)
	}
	for _, hold := range holds {
		if hold.Status == ledger.HoldPending.String() {
			view.Waiting = append(view.Waiting, hold)
		}
	}
	if view.Limits, fault = c.limits(ctx, v); fault != nil {
		return c.fail(v, fault)
	}
	latest, fault := c.Authority.Latest(ctx, v.key, events.Query{Limit: 10}, 0)
	if fault != nil {
		return c.fail(v, fault)
	}
	view.Latest = rows(latest.Events)
	return c.page(v, "overview", "Overview", view)
}

// eventList is a page of events with the filters that it was asked with.
type eventList struct {
	Filter   filter
	Statuses []string
	Rows     []row
	Older    string // link to the next page; empty on the last
	Live     string // where newer events come from; empty where the filters ask for older ones
	After    uint64 // newer than which
}

// A filter is the filters of events as they were typed.
type filter struct{ Decision, Rule, From, To string }

// eventParameters are the parameters of the page of events.
var eventParameters = []string{"decision", "rule", "from", "to", "before"}

// eventsPerPage is the size of a page of events.
const eventsPerPage = 100

func (c *Console) events(ctx context.Context, v *visit, _ string) *Response {
	view := eventList{Filter: filter{v.Query.Get("decision"), v.Query.Get("rule"), v.Query.Get("from"), v.Query.Get("to")}}
	for _, status := range statuses {
		view.Statuses = append(view.Statuses, status.String())
	}
	for name, values := range v.Query {
		if !slices.Contains(eventParameters, name) || len(values) > 1 {
			return c.problem(v, http.StatusBadRequest, fmt.Sprintf("%.32q is an unknown parameter, or is there twice. The parameters are %s.", name, strings.Join(eventParameters, ", ")))
		}
	}
	query, before, err := view.Filter.query(v.Query.Get("before"))
	if err != nil {
		return c.problem(v, http.StatusBadRequest, err.Error())
	}
	latest, fault := c.Authority.Latest(ctx, v.key, query, before)
	if fault != nil {
		return c.fail(v, fault)
	}
	view.Rows = rows(latest.Events)
	if view.Filter.From == "" && view.Filter.To == "" && before == 0 {
		view.Live, view.After = livePath+"?"+url.Values{"decision": {view.Filter.Decision}, "rule": {view.Filter.Rule}, "key": {v.key.ID.String()}}.Encode(), latest.Head
	}
	if latest.Before > 0 {
		view.Older = eventsPath + "?" + view.Filter.values(latest.Before).Encode()
	}
	return c.page(v, "events", "Events", view)
}

// query reads the filters.
func (f *filter) query(before string) (q events.Query, place uint64, err error) {
	q.Limit, q.Rule = eventsPerPage, f.Rule
	for _, status := range statuses {
		if f.Decision == status.String() {
			q.Decision = status
		}
	}
	if f.Decision != "" && q.Decision == 0 {
		return q, 0, fmt.Errorf("decision is %.32q; it can be ALLOWED, DENIED, PENDING or TEST_RUN", f.Decision)
	}
	if q.From, err = moment("from", f.From); err != nil {
		return q, 0, err
	}
	if q.To, err = moment("to", f.To); err != nil {
		return q, 0, err
	}
	if before != "" {
		if place, err = strconv.ParseUint(before, 10, 64); err != nil || place == 0 || place > events.MaxCursor {
			return q, 0, fmt.Errorf("before is %.32q; it is a place in the log, a number from 1", before)
		}
	}
	return q, place, nil
}

// moment reads a time: RFC 3339, or the date alone (UTC).
func moment(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range [...]string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil && t.Unix() > 0 {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is %.40q; write a time such as 2026-11-21T12:00:00Z, or a date such as 2026-11-21", name, text)
}

// values are the filters as a query, with the place to continue from.
func (f *filter) values(before uint64) url.Values {
	values := url.Values{"before": {strconv.FormatUint(before, 10)}}
	for name, value := range map[string]string{"decision": f.Decision, "rule": f.Rule, "from": f.From, "to": f.To} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

// eventPage is one event with its place in the log.
type eventPage struct {
	Fields []field
	Hold   string // id of its hold
	Chain  *events.ChainView
	Judged *decision.Rejudged // of a decision
}

func (c *Console) event(ctx context.Context, v *visit, parameter string) *Response {
	lsn, err := strconv.ParseUint(parameter, 10, 64)
	if err != nil {
		lsn = 0 // no event has it
	}
	event, fault := c.Authority.EventAt(ctx, v.key, lsn)
	if fault != nil {
		return c.fail(v, fault)
	}
	chain, fault := c.Authority.Chain(ctx, v.key)
	if fault != nil {
		return c.fail(v, fault)
	}
	view := eventPage{Fields: fields(event), Hold: event.HoldID, Chain: chain}
	if event.Decision != "" {
		if view.Judged, fault = c.Authority.Rejudge(ctx, v.key, event); fault != nil {
			view.Judged = &decision.Rejudged{Fault: fault.Message}
		}
	}
	return c.page(v, "event", "Event "+strconv.FormatUint(lsn, 10), view)
}

func (c *Console) holds(ctx context.Context, v *visit, _ string) *Response {
	holds, fault := c.Authority.HoldsOf(ctx, v.key)
	if fault != nil {
		return c.fail(v, fault)
	}
	return c.page(v, "holds", "Holds", holds)
}

func (c *Console) hold(ctx context.Context, v *visit, parameter string) *Response {
	hold, fault := c.Authority.Hold(ctx, v.key, parameter)
	if fault != nil {
		return c.fail(v, fault)
	}
	return c.page(v, "hold", "Hold", fields(hold))
}

func (c *Console) key(ctx context.Context, v *visit, _ string) *Response {
	report, fault := c.Authority.KeyReport(ctx, v.key)
	if fault != nil {
		return c.fail(v, fault)
	}
	limits, fault := c.limits(ctx, v)
	if fault != nil {
		return c.fail(v, fault)
	}
	return c.page(v, "key", "API key", keyPage{fields(report.Key), limits, report})
}

type keyPage struct {
	Fields []field
	Limits []limitRow
	*accounts.KeyReport
}

// A limitRow is a limit of the policy or, of one that counts groups apart, one of its groups.
type limitRow struct {
	Rule, Group, Window, Limit, Used, Left string
	Line                                   int
	ResetsAt                               time.Time
	More                                   bool // groups may be missing
}

// limits lists what is used and left of each limit. A key without a policy has none.
func (c *Console) limits(ctx context.Context, v *visit) (list []limitRow, fault *service.Failure) {
	view, fault := c.Authority.Limits(ctx, v.key)
	switch {
	case fault != nil && errcode.Lookup(fault.Code).HTTP == http.StatusForbidden:
		return nil, nil
	case fault != nil:
		return nil, fault
	}
	for i := range view.Limits {
		limit := &view.Limits[i]
		row := limitRow{Rule: limit.Rule, Line: limit.Line, Window: limit.Window, Limit: strings.TrimSpace(limit.Limit + " " + limit.Unit), ResetsAt: limit.ResetsAt, More: limit.MoreGroups}
		if len(limit.GroupBy) == 0 {
			row.Used, row.Left = limit.Used, limit.Left
			list = append(list, row)
			continue
		}
		row.Group = "no " + strings.Join(limit.GroupBy, ", ") + " in use"
		if len(limit.Groups) == 0 {
			list = append(list, row)
		}
		for _, group := range limit.Groups {
			row.Group, row.Used, row.Left = strings.Join(group.Group, ", "), group.Used, group.Left
			list = append(list, row)
		}
	}
	return list, nil
}

func (c *Console) policy(ctx context.Context, v *visit, _ string) *Response {
	report, fault := c.Authority.PolicyReport(ctx, v.key)
	if fault != nil {
		return c.fail(v, fault)
	}
	counts, fault := c.Authority.CountDecisions(ctx, v.key, c.Clock().UTC().Add(-24*time.Hour))
	if fault != nil {
		return c.fail(v, fault)
	}
	return c.page(v, "policy", "Policy", policyPage{report, lines(report, counts.ByRule), counts.Partial})
}

func (c *Console) webhooks(ctx context.Context, v *visit, _ string) *Response {
	reports, fault := c.Authority.WebhookReports(ctx, v.key, c.Operator != nil)
	if fault != nil {
		return c.fail(v, fault)
	}
	return c.page(v, "webhooks", "Webhooks", reports)
}

// verification is the result of verifying a token.
type verification struct {
	Asked  bool
	Fault  string // why it does not verify; empty where it does
	Other  bool   // it was issued for another API key, whose claims are not shown
	Fields []field
}

func (c *Console) verifyForm(_ context.Context, v *visit, _ string) *Response {
	return c.page(v, "verify", "Verify an attestation", verification{})
}

// verify shows the claims of an attestation of the session's key. One of another key's is only said to verify: its claims say
// what the other key's agent did.
func (c *Console) verify(_ context.Context, v *visit, _ string) *Response {
	view := verification{Asked: true}
	claims, err := c.Authority.VerifyAttestation(strings.TrimSpace(v.Form.Get("token")))
	switch {
	case err != nil:
		view.Fault = err.Error()
	case claims.KeyID != v.key.ID.String() && c.Operator == nil:
		view.Other = true
	default:
		view.Fields = fields(claims)
	}
	return c.page(v, "verify", "Verify an attestation", view)
}
