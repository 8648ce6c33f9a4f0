// Package approve has the web pages on which people decide holds with a passkey: enrolment, signing in, the holds that wait, and one hold with everything
// that it is about (specification, "Approvals"). Who may decide, and the decision itself, are in package runtime/approvals.
//
// It promises that no page decides anything without a passkey's signature over what the page shows, that there is no way to decide two holds at once, and
// that what an agent chose reaches a page as text only. It knows no HTTP library: httpd carries requests and answers.
package approve

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"bailiff/httpd/console"
	"bailiff/runtime/approvals"
	"bailiff/runtime/clock"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const (
	// Root is the path under which all pages are.
	Root = "/approve"
	// cookieName is the name of a visit's cookie.
	cookieName = "__Host-bailiff-approver"
	// MaxForm is the largest form, in bytes: a passkey's answer, a note, and what the page was.
	MaxForm = 16_000
)

// Config is what the pages are made of. All of it is required.
type Config struct {
	Approvals *approvals.Approvals
	Clock     clock.Clock
	Log       *slog.Logger
}

// Pages makes the pages. It is safe for concurrent use.
type Pages struct{ Config }

// New returns the pages, or what is missing for them.
func New(c Config) (*Pages, error) {
	if c.Approvals == nil || c.Clock == nil || c.Log == nil {
		return nil, errors.New("the approvers' pages need approvals, a clock and a log")
	}
	return &Pages{c}, nil
}

// Owns reports whether a path is of these pages.
func Owns(path string) bool { return path == Root || strings.HasPrefix(path, Root+"/") }

// CookieName is the name of a visit's cookie.
func (p *Pages) CookieName() string { return cookieName }

// VisitorID returns an id of the passkey of a visit that goes on; zero where there is none.
func (p *Pages) VisitorID(token string) ledger.ID { return p.Approvals.VisitorID(token) }

// cookie is the value of Set-Cookie for a token. A link in a message has to find the visit, so that it is Lax: each form is held to its origin, and
// decides nothing without a signature.
func cookie(token string) string {
	return cookieName + "=" + token + "; Path=/; Secure; HttpOnly; SameSite=Lax"
}

// A handler answers a request. visit is nil where the page is open to all who have its link.
type handler func(p *Pages, ctx context.Context, r *console.Request, visit *approvals.Visit, parameter string) *console.Response

// A page is one row of the table of pages.
type page struct {
	path      string // a path that ends in a slash is followed by one segment
	open      bool   // needs no visit
	get, post handler
}

const (
	holdsPath   = Root + "/holds/"
	enrolPath   = Root + "/enrol/"
	signInPath  = Root + "/sign-in"
	signOutPath = Root + "/sign-out"
	scriptPath  = Root + "/passkey.js"
	stylePath   = Root + "/style.css"
	iconPath    = Root + "/icon.svg"
)

// pages is set by init: the handlers refer to it through Answer.
var pages []page

func init() {
	pages = []page{
		{path: Root, get: (*Pages).list},
		{path: holdsPath, get: (*Pages).hold, post: (*Pages).decide},
		{path: enrolPath, open: true, get: (*Pages).enrolment, post: (*Pages).enrol},
		{path: signInPath, open: true, get: (*Pages).signInPage, post: (*Pages).signIn},
		{path: signOutPath, open: true, post: (*Pages).signOut},
		{path: scriptPath, open: true, get: file(script, "text/javascript; charset=utf-8")},
		{path: stylePath, open: true, get: file(console.StyleSheet, "text/css; charset=utf-8")},
		{path: iconPath, open: true, get: file(console.Icon, "image/svg+xml")},
	}
}

func file(body []byte, media string) handler {
	return func(*Pages, context.Context, *console.Request, *approvals.Visit, string) *console.Response {
		return &console.Response{Status: http.StatusOK, Type: media, Body: body, Cacheable: true}
	}
}

// Answer answers a request.
func (p *Pages) Answer(ctx context.Context, r *console.Request) *console.Response {
	for i := range pages {
		row := &pages[i]
		parameter, under := strings.CutPrefix(r.Path, row.path)
		if !under || strings.HasSuffix(row.path, "/") == (parameter == "") || strings.Contains(parameter, "/") {
			continue
		}
		handle := row.get
		if r.Method == http.MethodPost {
			handle = row.post
		}
		if handle == nil {
			response := p.problem(http.StatusMethodNotAllowed, "This page takes no "+r.Method+" requests.")
			if response.Allow = "POST"; row.get != nil {
				response.Allow = "GET, HEAD"
			}
			return response
		}
		if row.open {
			return handle(p, ctx, r, nil, parameter)
		}
		visit, fault := p.Approvals.Visit(ctx, r.Token)
		switch {
		case fault != nil:
			return p.Refuse(fault)
		case visit == nil && r.Method == http.MethodPost:
			return p.problem(http.StatusForbidden, "Your visit is over. Sign in again; nothing was decided.")
		case visit == nil:
			return p.signInPage(ctx, r, nil, "")
		}
		return handle(p, ctx, r, visit, parameter)
	}
	return p.problem(http.StatusNotFound, "There is no such page.")
}

// Refuse returns the page of a failure.
func (p *Pages) Refuse(fault *service.Failure) *console.Response {
	message := fault.Message
	if message != "" {
		message = strings.ToUpper(message[:1]) + message[1:] + "."
	}
	return p.problem(cmp.Or(fault.HTTP, errcode.Lookup(fault.Code).HTTP), message)
}

func (p *Pages) problem(status int, message string) *console.Response {
	response := p.page("problem", http.StatusText(status), nil, message)
	response.Status = status
	return response
}

//go:embed pages
var files embed.FS

var script = must(files.ReadFile("pages/passkey.js"))

func must[T any](value T, err error) T {
	if err != nil {
		panic(err) // an embedded file is missing or malformed: every test of the package fails
	}
	return value
}

// templates are the pages by name, each with the layout around it.
var templates = func() map[string]*template.Template {
	functions := template.FuncMap{"utc": func(at time.Time) string { return at.UTC().Format(time.RFC3339) }}
	all := map[string]*template.Template{}
	for _, entry := range must(files.ReadDir("pages")) {
		if name, isPage := strings.CutSuffix(entry.Name(), ".html"); isPage && name != "layout" {
			all[name] = must(template.New(name).Funcs(functions).ParseFS(files, "pages/layout.html", "pages/"+entry.Name()))
		}
	}
	return all
}()

// A frame is what the layout shows around a page.
type frame struct {
	Title   string
	Name    string // of the approver who has signed in; empty before somebody has
	Content any
}

func (p *Pages) page(name, title string, visit *approvals.Visit, content any) *console.Response {
	frame := frame{Title: title, Content: content}
	if visit != nil {
		frame.Name = visit.Name
	}
	var text bytes.Buffer
	if err := templates[name].ExecuteTemplate(&text, "layout.html", frame); err != nil {
		p.Log.Error("a page of the approvers could not be made", "page", name, "error", err)
		return &console.Response{Status: http.StatusInternalServerError, Type: "text/plain; charset=utf-8", Body: []byte("The page could not be made.\n")}
	}
	return &console.Response{Status: http.StatusOK, Type: "text/html; charset=utf-8", Body: text.Bytes()}
}

// signInForm is the page on which a passkey signs in.
type signInForm struct {
	Options string // of navigator.credentials.get
	To      string // the page that was asked for
}

func (p *Pages) signInPage(_ context.Context, r *console.Request, _ *approvals.Visit, _ string) *console.Response {
	options, fault := p.Approvals.SignInOptions()
	if fault != nil {
		return p.Refuse(fault)
	}
	return p.page("sign-in", "Sign in", nil, signInForm{string(options), r.Path})
}

// signIn begins a visit, in place of the one that the browser had, and goes on to the page that was asked for.
func (p *Pages) signIn(ctx context.Context, r *console.Request, _ *approvals.Visit, _ string) *console.Response {
	token, fault := p.Approvals.SignIn(ctx, []byte(r.Form.Get("answer")))
	if fault != nil {
		return p.Refuse(fault)
	}
	p.Approvals.SignOut(r.Token)
	to := Root
	if asked := r.Form.Get("to"); strings.HasPrefix(asked, holdsPath) && !strings.ContainsFunc(asked, func(c rune) bool { return c <= ' ' || c > '~' || c == '\\' }) {
		to = asked
	}
	return &console.Response{Status: http.StatusSeeOther, Location: to, SetCookie: cookie(token)}
}

func (p *Pages) signOut(_ context.Context, r *console.Request, _ *approvals.Visit, _ string) *console.Response {
	p.Approvals.SignOut(r.Token)
	return &console.Response{Status: http.StatusSeeOther, Location: Root, SetCookie: cookie("") + "; Max-Age=0"}
}

func (p *Pages) list(ctx context.Context, _ *console.Request, visit *approvals.Visit, _ string) *console.Response {
	waiting, fault := p.Approvals.Waiting(ctx, visit)
	if fault != nil {
		return p.Refuse(fault)
	}
	return p.page("list", "Waiting for a decision", visit, waiting)
}

// holdPage is a hold that can be decided.
type holdPage struct {
	*approvals.Shown
	Lines   []line // of the summary
	Expires time.Time
	Allow   string // options of navigator.credentials.get
	Deny    string
	MaxNote int
}

type line struct{ Name, Value string }

func (p *Pages) hold(ctx context.Context, _ *console.Request, visit *approvals.Visit, id string) *console.Response {
	shown, fault := p.Approvals.Show(ctx, visit, id)
	if fault != nil {
		return p.Refuse(fault)
	}
	view := holdPage{Shown: shown, Expires: time.Unix(0, shown.Hold.Expires), Allow: string(shown.Allow), Deny: string(shown.Deny), MaxNote: ledger.MaxResolutionNote}
	for text := range strings.SplitSeq(shown.Text, "\n") {
		name, value, _ := strings.Cut(text, ": ")
		view.Lines = append(view.Lines, line{name, value})
	}
	return p.page("hold", "Decide", visit, view)
}

// decided is what came of a decision.
type decided struct {
	*holds.View
	Decision string
}

func (p *Pages) decide(ctx context.Context, r *console.Request, visit *approvals.Visit, id string) *console.Response {
	decision := ledger.Pending // which is no decision
	if at := slices.IndexFunc([]ledger.Decision{ledger.Allowed, ledger.Denied}, func(d ledger.Decision) bool { return d.String() == r.Form.Get("decision") }); at >= 0 {
		decision = []ledger.Decision{ledger.Allowed, ledger.Denied}[at]
	}
	note := strings.TrimSpace(r.Form.Get("note"))
	if len(note) > ledger.MaxResolutionNote {
		return p.problem(http.StatusBadRequest, "The note is longer than 512 bytes. Nothing was decided; go back and shorten it.")
	}
	view, fault := p.Approvals.Decide(ctx, visit, id, r.Form.Get("nonce"), decision, note, []byte(r.Form.Get("answer")))
	if fault != nil {
		return p.Refuse(fault)
	}
	return p.page("decided", "Decided", visit, decided{view, decision.String()})
}

// enrolForm is the page on which an approver makes a passkey.
type enrolForm struct {
	Name    string
	Options string // of navigator.credentials.create; empty before the code was given
	Words   string // of the passkey; empty before there is one
}

func (p *Pages) enrolment(_ context.Context, _ *console.Request, _ *approvals.Visit, token string) *console.Response {
	name, waits, fault := p.Approvals.Enrolling(token)
	switch {
	case fault != nil:
		return p.Refuse(fault)
	case !waits:
		return p.problem(http.StatusConflict, "A passkey was made with this link already. If that was not you, tell the operator at once.")
	}
	return p.page("enrol", "Make a passkey", nil, enrolForm{Name: name})
}

// enrol takes the code, and then the passkey.
func (p *Pages) enrol(ctx context.Context, r *console.Request, _ *approvals.Visit, token string) *console.Response {
	name, _, fault := p.Approvals.Enrolling(token)
	if fault != nil {
		return p.Refuse(fault)
	}
	view := enrolForm{Name: name}
	if answer := r.Form.Get("answer"); answer != "" {
		view.Words, fault = p.Approvals.FinishEnrolment(ctx, token, []byte(answer))
	} else {
		var options []byte
		options, fault = p.Approvals.BeginEnrolment(ctx, token, strings.TrimSpace(r.Form.Get("code")))
		view.Options = string(options)
	}
	if fault != nil {
		return p.Refuse(fault)
	}
	return p.page("enrol", "Make a passkey", nil, view)
}
