package httpd

import (
	"context"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/httpd/console"
	"bailiff/runtime/accounts"
	"bailiff/runtime/decision"
)

// visitOperator serves an operator's console beside the API, and returns a browser of it that has not signed in, one of the
// holders' console, and the console.
func (w *world) visitOperator() (operator *browser, holder *browser, c *console.Console) {
	w.t.Helper()
	var decider *decision.Decider
	holder = w.visitConsole(func(config *Config) { decider = config.Authority })
	log := slog.New(slog.NewTextHandler(&w.operatorLog, nil))
	c, err := console.New(console.Config{Authority: decider, Clock: w.clock, Random: w.random, Log: log, Operator: w.admin})
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	server, err := NewOperatorConsole(c, listener, w.confirm, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	w.operatorConsole = server
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	address := listener.Addr().String()
	operator = &browser{t: w.t, address: address, base: strings.TrimSuffix(server.URL(), "/"), name: console.OperatorCookie}
	operator.agent = http.Client{
		CheckRedirect: holder.agent.CheckRedirect,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}},
	}
	w.t.Cleanup(operator.agent.CloseIdleConnections)
	return operator, holder, c
}

// newCode returns a one-time code.
func newCode(t *testing.T, c *console.Console) string {
	t.Helper()
	text, err := c.NewCode()
	if err != nil || len(text) != 43 {
		t.Fatalf("the code is %q: %v", text, err)
	}
	return text
}

// enter sends a code, and reports whether it began a session.
func (b *browser) enter(code string) bool {
	b.t.Helper()
	response, _ := b.do(http.MethodPost, "/console/sign-in", url.Values{"code": {code}}, nil)
	if response.StatusCode != http.StatusSeeOther && response.StatusCode != http.StatusUnauthorized {
		b.t.Errorf("a code is answered %d", response.StatusCode)
	}
	if set := response.Header.Get("Set-Cookie"); (response.StatusCode == http.StatusSeeOther) != (set != "") {
		b.t.Errorf("an answer %d sets %q", response.StatusCode, set)
	}
	return response.StatusCode == http.StatusSeeOther
}

// operatorPages are those that show records.
var operatorPages = []string{
	"/console", "/console/keys", "/console/events", "/console/events/1", "/console/live?after=0", "/console/hours.svg", "/console/holds",
	"/console/key", "/console/policy", "/console/webhooks", "/console/verify",
}

// getsNothing fails where a page is shown.
func (b *browser) getsNothing(what string) {
	b.t.Helper()
	held := b.cookie
	for _, path := range operatorPages {
		b.cookie = held
		if response, body := b.get(path); response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/console/sign-in" || body != "" {
			b.t.Errorf("%s: %s is answered %d %s", what, path, response.StatusCode, body)
		}
	}
	b.cookie = ""
}

// TestOperatorPages goes through the pages of two keys.
func TestOperatorPages(t *testing.T) {
	w := newWorld(t)
	b, _, c := w.visitOperator()
	for _, name := range []string{"first", "second"} {
		w.createKey(name, accounts.NewKey{FullGrant: true, Plan: "growth"})
		w.decide(name, `"agent-of-`+name+`"`, `{"action":"bash","command":"ls"}`)
	}
	held := w.decide("second", `"agent-of-second"`, `{"action":"bash","command":"git push"}`)
	hold := regexp.MustCompile(`"holdId":"([^"]+)"`).FindStringSubmatch(held)[1]
	if response, _ := b.get("/"); response.Header.Get("Location") != "/console" {
		t.Errorf("/ is answered %v", response)
	}
	b.shows("/console/sign-in", "bailiff console")
	if !b.enter(newCode(t, c)) {
		t.Fatal("a code is refused")
	}
	b.shows("/console/keys", w.said["first.id"], w.said["second.id"], hold, "agent-of-first", "agent-of-second")
	for _, path := range []string{"/console", "/console/events", "/console/key"} {
		if response, _ := b.get(path); response.Header.Get("Location") != "/console/keys" {
			t.Errorf("%s without a chosen key is answered %d %v", path, response.StatusCode, response.Header)
		}
	}
	choose := func(id string) *http.Response {
		t.Helper()
		response, _ := b.do(http.MethodPost, "/console/keys", url.Values{"key": {id}}, nil)
		return response
	}
	for _, id := range []string{"", "x", strings.Repeat("0", 32), "00000000-0000-0000-0000-000000000000"} {
		if response := choose(id); response.StatusCode != http.StatusNotFound {
			t.Errorf("key %q is answered %d", id, response.StatusCode)
		}
	}
	for name, other := range map[string]string{"first": "second", "second": "first"} {
		if response := choose(w.said[name+".id"]); response.Header.Get("Location") != "/console" {
			t.Fatalf("choosing a key is answered %d %v", response.StatusCode, response.Header)
		}
		if body := b.shows("/console/events", "agent-of-"+name); strings.Contains(body, "agent-of-"+other) {
			t.Errorf("the events of %s have some of %s", name, other)
		}
		for _, path := range []string{"/console", "/console/holds", "/console/key", "/console/policy", "/console/webhooks"} {
			b.shows(path, w.said[name+".id"])
		}
		// A page that was opened for the other key gets no more events.
		if response, body := b.get("/console/live?after=0&key=" + w.said[other+".id"]); response.StatusCode != http.StatusNoContent || body != "" {
			t.Errorf("the tail of %s shows while %s is chosen: %d %s", other, name, response.StatusCode, body)
		}
		if _, body := b.get("/console/live?after=0&key=" + w.said[name+".id"]); !strings.Contains(body, "agent-of-"+name) {
			t.Errorf("the tail of %s shows %s", name, body)
		}
	}
}

// TestOperatorAllKeys: the operator sees what a revoked key did, and what an attestation of any key says.
func TestOperatorAllKeys(t *testing.T) {
	w := newWorld(t)
	b, _, c := w.visitOperator()
	w.createKey("first", accounts.NewKey{FullGrant: true, Plan: "growth"})
	w.createKey("second", accounts.NewKey{FullGrant: true, Plan: "growth"})
	allowed := w.decide("first", `"agent-of-first"`, `{"action":"bash","command":"ls"}`)
	b.enter(newCode(t, c))
	choose := func(name string) {
		b.do(http.MethodPost, "/console/keys", url.Values{"key": {w.said[name+".id"]}}, nil)
	}
	if _, err := w.admin.RevokeKey(context.Background(), w.said["first.id"]); err != nil {
		t.Fatal(err)
	}
	choose("first")
	b.shows("/console/events", "agent-of-first") // what a revoked key did stays to be seen
	choose("second")
	_, body := b.do(http.MethodPost, "/console/verify", url.Values{"token": {token.FindStringSubmatch(allowed)[1]}}, nil)
	if !strings.Contains(body, w.said["first.id"]) {
		t.Errorf("an attestation of any key is shown: %s", html.UnescapeString(body))
	}
}

// TestOperatorCode: a code is for one sign-in within a minute, the latest counts, and guesses end it.
func TestOperatorCode(t *testing.T) {
	w := newWorld(t)
	b, _, c := w.visitOperator()
	fresh := func(want bool, what, code string) {
		t.Helper()
		if b.cookie = ""; b.enter(code) != want {
			t.Errorf("%s is good: %v", what, !want)
		}
	}
	fresh(false, "no code where none was made", "")
	code := newCode(t, c)
	fresh(true, "a new code", code)
	fresh(false, "a code that was used", code)
	older := newCode(t, c)
	newer := newCode(t, c)
	fresh(false, "a code that was replaced", older)
	w.now = w.now.Add(console.CodeLife - time.Second)
	fresh(true, "a code of 59 seconds", newer)
	code = newCode(t, c)
	w.now = w.now.Add(console.CodeLife)
	fresh(false, "a code of a minute", code)
	code = newCode(t, c)
	for range 4 {
		fresh(false, "a guess", "guess")
	}
	fresh(true, "a code after four guesses", code)
	code = newCode(t, c)
	for range 5 {
		fresh(false, "a guess", code[:42])
	}
	fresh(false, "a code after five guesses", code)
	log := w.operatorLog.String()
	if n := strings.Count(log, "an operator signed in to the console"); n != 3 || !strings.Contains(log, "admin socket") || !strings.Contains(log, "wrong codes") {
		t.Errorf("the log has %d sign-ins of 3: %s", n, log)
	}
	for _, secret := range []string{older, newer, code, code[:42]} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has a code: %s", log)
		}
	}
}

// TestOperatorSession: an operator's session is new with each sign-in, and ends with time and by the admin socket. A holder's
// opens no page here, and an operator's none there.
func TestOperatorSession(t *testing.T) {
	w := newWorld(t)
	b, holder, c := w.visitOperator()
	w.createKey("agent", accounts.NewKey{FullGrant: true, Plan: "growth"})
	b.getsNothing("without a session")
	fixed := strings.Repeat("A", 43)
	b.cookie = fixed
	b.getsNothing("with a token that somebody made up")
	b.cookie = fixed
	response, _ := b.do(http.MethodPost, "/console/sign-in", url.Values{"code": {newCode(t, c)}}, nil)
	if set := response.Header.Get("Set-Cookie"); !regexp.MustCompile(`^__Host-bailiff-operator=[\w-]{43}; Path=/; Secure; HttpOnly; SameSite=Strict$`).MatchString(set) || b.cookie == fixed {
		t.Errorf("signing in sets %q", set)
	}
	operators := b.cookie
	b.shows("/console/keys")
	holder.signIn(w, "agent")
	holders := holder.cookie
	b.cookie = holders
	b.getsNothing("with the token of a holder")
	b.cookie, b.name = holders, console.Cookie
	b.getsNothing("with the cookie of a holder")
	b.name = console.OperatorCookie
	holder.cookie = operators
	if response, _ := holder.get("/console/events"); response.StatusCode != http.StatusSeeOther {
		t.Errorf("an operator's token is answered %d by the holders' console", response.StatusCode)
	}
	holder.cookie = holders
	if response, _ := holder.get("/console/keys"); response.StatusCode != http.StatusNotFound {
		t.Errorf("the holders' console answers /console/keys with %d", response.StatusCode)
	}
	if response, _ := b.do(http.MethodPost, "/console/sign-in", url.Values{"key": {w.said["agent"]}, "code": {w.said["agent"]}}, nil); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("an API key is answered %d", response.StatusCode)
	}
	b.cookie = operators
	b.shows("/console/keys")
	code := newCode(t, c)
	if n := c.SignOutAll(); n != 1 {
		t.Errorf("%d sessions were ended", n)
	}
	b.getsNothing("after all were signed out")
	if b.enter(code) {
		t.Error("a code is good after all were signed out")
	}
	b.enter(newCode(t, c))
	w.now = w.now.Add(30 * time.Minute)
	b.getsNothing("after half an hour without a request")
	b.enter(newCode(t, c))
	for range 24 {
		w.now = w.now.Add(29 * time.Minute)
		b.shows("/console/keys")
	}
	w.now = w.now.Add(29 * time.Minute)
	b.getsNothing("after twelve hours")
}

// TestOperatorForeign: what other origins and other names of this machine send gets nothing, with a session as without.
func TestOperatorForeign(t *testing.T) {
	w := newWorld(t)
	b, _, c := w.visitOperator()
	w.createKey("agent", accounts.NewKey{})
	if !b.enter(newCode(t, c)) {
		t.Fatal("a code is refused")
	}
	cookie, port := b.cookie, b.base[strings.LastIndex(b.base, ":"):]
	refused := func(what, method, path string, form url.Values, edit func(*http.Request)) {
		t.Helper()
		b.cookie = cookie
		response, body := b.do(method, path, form, edit)
		if response.StatusCode != http.StatusForbidden || strings.Contains(body, w.said["agent.id"]) || response.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %s %s is answered %d", what, method, path, response.StatusCode)
		}
	}
	for _, host := range []string{"evil.example" + port, "evil.example", "localhost", "127.0.0.1", "localhost:1", "evil.localhost" + port, "localhost." + port, "127.0.0.2" + port, "LOCALHOST" + port, "[::ffff:127.0.0.1]" + port} {
		as := func(r *http.Request) { r.Host = host }
		refused("Host "+host, http.MethodGet, "/", nil, as)
		for _, path := range append(operatorPages, "/console/sign-in", "/console/style.css") {
			refused("Host "+host, http.MethodGet, path, nil, as)
		}
		// After rebinding the origin is that of the host, too.
		refused("Host "+host, http.MethodPost, "/console/sign-in", url.Values{"code": {newCode(t, c)}}, func(r *http.Request) {
			r.Host = host
			r.Header.Set("Origin", "http://"+host)
		})
	}
	headers := func(origin, site string) func(*http.Request) {
		return func(r *http.Request) {
			for name, value := range map[string]string{"Origin": origin, "Sec-Fetch-Site": site} {
				if r.Header.Del(name); value != "" {
					r.Header.Set(name, value)
				}
			}
		}
	}
	for _, x := range [][2]string{{"", "cross-site"}, {"", "same-site"}, {"http://evil.example", ""}, {"null", ""}, {"null", "none"}, {"http://localhost:1", "same-site"}, {"http://127.0.0.1" + port, ""}} {
		for _, path := range operatorPages {
			refused("a page of "+x[0]+" "+x[1], http.MethodGet, path, nil, headers(x[0], x[1]))
		}
		for _, path := range []string{"/console/sign-in", "/console/sign-out", "/console/keys", "/console/verify"} {
			refused("a form of "+x[0]+" "+x[1], http.MethodPost, path, url.Values{"key": {w.said["agent.id"]}}, headers(x[0], x[1]))
		}
	}
	refused("a form that says nothing of its sender", http.MethodPost, "/console/sign-out", nil, headers("", ""))
	refused("a form that was typed", http.MethodPost, "/console/sign-out", nil, headers("", "none"))
	b.cookie = cookie
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]"} {
		b.base = "http://" + host + port
		b.shows("/console/keys", w.said["agent.id"])
	}
}

// TestOperatorForwarded: the headers of proxies neither let in nor keep out.
func TestOperatorForwarded(t *testing.T) {
	w := newWorld(t)
	b, _, c := w.visitOperator()
	forwarded := func(r *http.Request) {
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("X-Forwarded-Host", strings.TrimPrefix(b.base, "http://"))
	}
	if response, _ := b.do(http.MethodGet, "/console/keys", nil, func(r *http.Request) { forwarded(r); r.Host = "console.example" }); response.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign host is answered %d", response.StatusCode)
	}
	https := func(r *http.Request) {
		forwarded(r)
		r.Header.Set("Origin", strings.Replace(b.base, "http:", "https:", 1))
	}
	if response, _ := b.do(http.MethodPost, "/console/sign-in", url.Values{"code": {newCode(t, c)}}, https); response.StatusCode != http.StatusForbidden {
		t.Errorf("an origin of https is answered %d", response.StatusCode)
	}
	if response, _ := b.do(http.MethodPost, "/console/sign-in", url.Values{"code": {newCode(t, c)}}, forwarded); response.StatusCode != http.StatusSeeOther {
		t.Errorf("a good code is answered %d", response.StatusCode)
	}
}

// TestOperatorListener: the console is on no address that other machines reach.
func TestOperatorListener(t *testing.T) {
	w := newWorld(t)
	_, _, c := w.visitOperator()
	for _, address := range []string{"0.0.0.0:0", "[::]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue // a machine without IPv6
		}
		if _, err := NewOperatorConsole(c, listener, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%s: %v", address, err)
		}
		listener.Close()
	}
}
