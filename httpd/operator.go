package httpd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/console"
	"bailiff/httpd/strict"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// OperatorConsole serves the operator's console on a loopback address of its own. What is sent from elsewhere than its own
// pages gets nothing: not a page of another origin, nor one whose name was pointed to this machine.
type OperatorConsole struct {
	console *console.Console
	http    *fasthttp.Server
	hosts   []string                       // what Host may be
	user    func(net.Conn) (string, error) // who made a connection
	confirm commit.Confirmer               // see Config.Confirm
	serving context.Context
	leaving context.CancelFunc
}

// NewOperatorConsole returns the server of an operator's console for the listener that it will serve on, which has to be on a
// loopback address.
func NewOperatorConsole(c *console.Console, listener net.Listener, confirm commit.Confirmer, log *slog.Logger) (*OperatorConsole, error) {
	at, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return nil, fmt.Errorf("the operator's console is on %s, which is not a loopback address; use 127.0.0.1 or [::1]", listener.Addr())
	}
	if c == nil || c.Operator == nil {
		return nil, errors.New("the operator's console needs a console of all keys")
	}
	s := &OperatorConsole{console: c, user: userOf, confirm: confirm}
	for _, name := range [...]string{"localhost", "127.0.0.1", "::1"} {
		s.hosts = append(s.hosts, net.JoinHostPort(name, strconv.Itoa(at.Port)))
	}
	s.serving, s.leaving = context.WithCancel(context.Background())
	s.http = newHTTP(log, guard(log, s.answer), Timeouts{})
	s.http.MaxRequestBodySize = console.MaxForm
	return s, nil
}

// URL is the address to open.
func (s *OperatorConsole) URL() string { return "http://" + s.hosts[0] + "/" }

// Serve answers on a listener until Shutdown.
func (s *OperatorConsole) Serve(listener net.Listener) error { return s.http.Serve(listener) }

// Shutdown answers what waits, and finishes what is in flight.
func (s *OperatorConsole) Shutdown(ctx context.Context) error {
	s.leaving()
	return s.http.ShutdownWithContext(ctx)
}

// answer answers a request. X-Forwarded-For and X-Forwarded-Proto mean nothing here: no proxy belongs in front.
func (s *OperatorConsole) answer(c *fasthttp.RequestCtx) {
	for _, header := range console.SecurityHeaders {
		c.Response.Header.Set(header[0], header[1])
	}
	method := string(c.Method())
	if method == fasthttp.MethodHead {
		method = fasthttp.MethodGet
	}
	if fault := s.foreign(&c.Request.Header, method); fault != nil {
		show(c, s.console.Refuse(fault))
		return
	}
	request, fault := visit(c, method, s.console.CookieName(), c.PostBody())
	if fault == nil {
		fault = s.bind(c, request)
	}
	if fault != nil {
		show(c, s.console.Refuse(fault))
		return
	}
	if request.Path == "/" && method == fasthttp.MethodGet {
		show(c, &console.Response{Status: fasthttp.StatusSeeOther, Location: console.Root})
		return
	}
	ctx, stop := context.Background(), func() {}
	if console.Waits(request.Path) {
		ctx, stop = strict.Watch(s.serving, c.Conn())
	}
	defer stop()
	seen := begin(s.confirm)
	show(c, confirmed(s.console.Answer(ctx, request), seen, s.console.Refuse))
}

// bind has a session be of the user who signed in: browsers know no ports of cookies, so that another server on this machine may
// have the operator's cookie.
func (s *OperatorConsole) bind(c *fasthttp.RequestCtx, request *console.Request) *service.Failure {
	user, err := s.user(c.Conn())
	if err != nil {
		return refuseForeign(err.Error() + "; open " + s.URL() + " with a browser on this machine, or forward its port")
	}
	request.User = user
	return nil
}

// foreign says why a request is not one of the console's own pages, or of a person who typed its address.
func (s *OperatorConsole) foreign(header *fasthttp.RequestHeader, method string) *service.Failure {
	host := string(header.Host())
	if !slices.Contains(s.hosts, host) {
		return refuseForeign("the operator's console answers to its own address only: open " + s.URL())
	}
	origins, sites := header.PeekAll("Origin"), header.PeekAll("Sec-Fetch-Site")
	if len(origins) > 1 || len(sites) > 1 {
		return refuseForeign("Origin or Sec-Fetch-Site is there twice")
	}
	origin, site := string(header.Peek("Origin")), string(header.Peek("Sec-Fetch-Site"))
	typed := method == fasthttp.MethodGet && origin == "" && (site == "" || site == "none")
	if !typed && !console.SameOrigin("http", host, origin, site) {
		return refuseForeign("the request was sent by a page of another origin; open " + s.URL() + " yourself")
	}
	if encoded(header) {
		return schemaFailure("the body has a Content-Encoding; send it as it is")
	}
	return nil
}

func refuseForeign(message string) *service.Failure {
	return &service.Failure{Code: errcode.NotFound, HTTP: fasthttp.StatusForbidden, Message: message}
}

// OperatorSignIn is what is needed to open the operator's console.
type OperatorSignIn struct {
	URL  string `json:"url"`
	Code string `json:"code"` // for one sign-in
}

// OperatorSignOut is what a sign-out ended.
type OperatorSignOut struct {
	Sessions int `json:"sessions"`
}

// GiveConsole has the admin socket give codes for an operator's console. It is called before Serve.
func (s *Admin) GiveConsole(c *OperatorConsole) { s.console = c }

// signIn answers with a one-time code, which a log must not have.
func (s *Admin) signIn(ctx *fasthttp.RequestCtx, _ string) {
	if s.noConsole(ctx) {
		return
	}
	text, err := s.console.console.NewCode()
	reply(ctx, fasthttp.StatusOK)(OperatorSignIn{s.console.URL(), text}, err)
}

func (s *Admin) signOut(ctx *fasthttp.RequestCtx, _ string) {
	if s.noConsole(ctx) {
		return
	}
	reply(ctx, fasthttp.StatusOK)(OperatorSignOut{s.console.console.SignOutAll()}, nil)
}

func (s *Admin) noConsole(ctx *fasthttp.RequestCtx) bool {
	if s.console == nil {
		replyError(ctx, fasthttp.StatusNotFound, "the service has no operator's console; start it with SVC_CONSOLE_LISTEN=127.0.0.1:8789, or another loopback address")
	}
	return s.console == nil
}
