// Package console has the read-only consoles of an API key's holder and of the operator, who chooses among all keys. Their
// pages are HTML, need no JavaScript, and show a key's events, holds, usage, policy and webhooks.
//
// It promises that a page of a holder shows the records of the session's own key alone, that no page changes anything but the session,
// that a session ends with its key at the next request, and that what an agent chose reaches a page as text only. It knows
// no HTTP library: httpd carries requests and answers, and counts them for the rate limits.
package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"bailiff/runtime/budget"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const (
	// Root is the path under which all pages are.
	Root = "/console"
	// Cookie is the name of the cookie of a holder's session. An operator's has another: browsers send the
	// cookies of one port of a host to all its ports. The prefix has browsers take it only with Secure, Path=/ and without a domain.
	Cookie = "__Host-bailiff-session"
	// OperatorCookie is the name of an operator's.
	OperatorCookie = "__Host-bailiff-operator"
	// MaxForm is the largest form, in bytes: an attestation takes up to 8 KiB.
	MaxForm = 16_000
	// scope is what a key needs to sign in.
	scope = ledger.ScopeAuthorize
)

// Config is what a console is made of. All of it but Operator is required.
type Config struct {
	Authority *decision.Decider
	Clock     clock.Clock
	Random    io.Reader // for sessions; cryptographically secure
	Log       *slog.Logger
	// Operator makes it the operator's console, in which a session begins with a one-time code; nil: that of keys' holders.
	Operator *decision.Admin
}

// Console makes the pages. It is safe for concurrent use.
type Console struct {
	Config
	sessions sessions
	tails    tails
	code     oneTimeCode
}

// New returns a console, or what is missing for one.
func New(c Config) (*Console, error) {
	if c.Authority == nil || c.Clock == nil || c.Random == nil || c.Log == nil {
		return nil, errors.New("a console needs an authority, a clock, randomness and a log")
	}
	name := "console_sessions"
	if c.Operator != nil {
		name = "operator_console_sessions"
	}
	return &Console{Config: c, tails: tails{byKey: map[ledger.ID]int{}}, sessions: sessions{
		clock: c.Clock, random: c.Random, all: map[[32]byte]*session{}, byKey: map[ledger.ID][]*session{},
		budget: budget.New(budget.Options{Name: name, Most: maxSessions * sessionBytes, Clock: c.Clock, Log: c.Log}),
	}}, nil
}

// Owns reports whether a path is of the console.
func Owns(path string) bool { return path == Root || strings.HasPrefix(path, Root+"/") }

// Waits reports whether the answer for a path waits for something to happen, so that the context of Answer should end when
// the client goes away or the server stops.
func Waits(path string) bool { return path == livePath }

// A Request is a request for a page.
type Request struct {
	Method string // GET or POST
	Path   string
	Query  url.Values
	Form   url.Values // of a POST
	Token  string     // the value of the session's cookie; empty where there is none
	// User is who asks, where a session is of the user who signed in; otherwise empty.
	User string
	// LastEventID is the header of a browser that goes on reading server-sent events.
	LastEventID string
	// Admit counts the request for the limits of its API key, and returns why it is refused; nil: it is not counted.
	Admit func(*ledger.Key) *service.Failure
}

// A Response is an answer.
type Response struct {
	Status   int
	Type     string // the media type of Body
	Body     []byte
	Location string // of a redirection
	Allow    string // of a method that is not allowed
	// SetCookie is the value of the header; empty: the cookie stays as it is.
	SetCookie string
	// Cacheable says that the answer is the same for every visitor.
	Cacheable bool
}

// CookieName is the name of the session's cookie.
func (c *Console) CookieName() string {
	if c.Operator != nil {
		return OperatorCookie
	}
	return Cookie
}

// cookie is the value of Set-Cookie for a token. Lax lets a link from elsewhere find a holder's session, and every POST is
// held to its origin; an operator's session is for requests of its own pages.
func (c *Console) cookie(token string) string {
	sites := "Lax"
	if c.Operator != nil {
		sites = "Strict"
	}
	return c.CookieName() + "=" + token + "; Path=/; Secure; HttpOnly; SameSite=" + sites
}

// noCookie is the value of Set-Cookie that removes the cookie.
func (c *Console) noCookie() string { return c.cookie("") + "; Max-Age=0" }

// SecurityHeaders are those of every answer of the console.
var SecurityHeaders = [...][2]string{
	{"Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"},
	{"X-Frame-Options", "DENY"},
	{"X-Content-Type-Options", "nosniff"},
	// no-referrer would have browsers send Origin: null with the console's own forms.
	{"Referrer-Policy", "same-origin"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
}

// A visit is a request with its session.
type visit struct {
	*Request
	key *ledger.Key
}

// Answer answers a request.
func (c *Console) Answer(ctx context.Context, r *Request) *Response {
	row, parameter := find(r.Path)
	if row == nil || row.operator && c.Operator == nil {
		return c.problem(nil, http.StatusNotFound, "There is no such page.")
	}
	var handle handler
	switch r.Method {
	case http.MethodGet:
		handle = row.get
	case http.MethodPost:
		handle = row.post
	}
	if handle == nil {
		response := c.problem(nil, http.StatusMethodNotAllowed, "This page takes "+row.allow()+" requests only.")
		response.Allow = row.allow()
		return response
	}
	v := &visit{Request: r}
	if v.Token != "" {
		v.Token += r.User
	}
	if !row.open {
		if refused := c.readmit(v, row.idle); refused != nil {
			return refused
		}
	}
	if v.key != nil && v.key.ID == (ledger.ID{}) && !row.operator && row.path != verifyPath {
		return &Response{Status: http.StatusSeeOther, Location: keysPath} // where the operator chooses a key
	}
	return handle(c, ctx, v, parameter)
}

// SessionKey returns the API key of a session that is good now, and nil where there is none. An operator's session has the
// key that was chosen, revoked ones included, and one without an id before that.
func (c *Console) SessionKey(token string) *ledger.Key { return c.sessionKey(token, c.sessions.find) }

func (c *Console) sessionKey(token string, find func(string) (ledger.ID, bool)) *ledger.Key {
	if token == "" {
		return nil
	}
	id, found := find(token)
	if !found {
		return nil
	}
	if c.Operator != nil {
		if key, known := c.Operator.Ledger.LookupKeyID(c.sessions.chosen(token)); known {
			return key
		}
		return new(ledger.Key)
	}
	key, fault := c.Authority.ReadmitKey(id, scope)
	if fault != nil {
		c.sessions.endKey(id)
		return nil
	}
	return key
}

// readmit finds the session's key, which has to be good at this moment. A session whose key is not ends here.
func (c *Console) readmit(v *visit, idle bool) *Response {
	find := c.sessions.find
	if idle {
		find = c.sessions.peek
	}
	if v.key = c.sessionKey(v.Token, find); v.key == nil {
		response := &Response{Status: http.StatusSeeOther, Location: signInPath}
		if v.Token != "" {
			response.SetCookie = c.noCookie()
		}
		return response
	}
	if v.Admit != nil && !idle {
		if fault := v.Admit(v.key); fault != nil {
			return c.Refuse(fault)
		}
	}
	return nil
}

// Refuse returns the page of a failure.
func (c *Console) Refuse(fault *service.Failure) *Response {
	status := fault.HTTP
	if status == 0 {
		status = errcode.Lookup(fault.Code).HTTP
	}
	return c.problem(nil, status, fault.Message)
}

// fail is Refuse inside of a session.
func (c *Console) fail(v *visit, fault *service.Failure) *Response {
	response := c.Refuse(fault)
	return c.problem(v, response.Status, fault.Message)
}

// problem returns a page that says what is wrong.
func (c *Console) problem(v *visit, status int, message string) *Response {
	response := c.page(v, "problem", http.StatusText(status), message)
	response.Status = status
	return response
}

// page makes a page. A page that can't be made is the service's fault, and nothing of it is shown.
func (c *Console) page(v *visit, name, title string, content any) *Response {
	var text bytes.Buffer
	frame := frame{Title: title, Page: name, Root: Root, Content: content, Now: c.Clock().UTC()}
	if v != nil && v.key != nil {
		frame.Menu = menu
		if c.Operator != nil {
			frame.Menu = operatorMenu
		}
		if v.key.ID != (ledger.ID{}) {
			frame.KeyID = v.key.ID.String()
		}
		if halted := c.Authority.Halted(v.key); halted != nil {
			frame.Halted = halted.Message
		}
	}
	if err := templates[name].ExecuteTemplate(&text, "layout.html", frame); err != nil {
		c.Log.Error("a page of the console could not be made", "page", name, "error", err)
		return &Response{Status: http.StatusInternalServerError, Type: "text/plain; charset=utf-8", Body: []byte("The page could not be made.\n")}
	}
	return &Response{Status: http.StatusOK, Type: "text/html; charset=utf-8", Body: text.Bytes()}
}
