package httpd

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/httpd/console"
	"bailiff/runtime/accounts"
	"bailiff/runtime/ratelimit"
)

// A browser keeps the cookie of the console, which a cookie jar of Go does not send over plain HTTP to localhost.
type browser struct {
	t            *testing.T
	base         string // http://localhost:port
	address      string
	cookie, name string // name is the cookie's; empty for the holders'
	agent        http.Client
}

// consolePolicy allows tools, denies some, and holds one.
const consolePolicy = `version: 2.4.0

## tool_calls
allowed: bash, email.send, file_write
bash.blocked_commands: rm
bash.require_approval: git push
## soft_limits
cap.pushes.max_count: 5000
cap.pushes.window: day
cap.pushes.action: bash
<!-- <script>alert(1)</script> -->
`

// visitConsole serves a console on a loopback address, as a service does, and returns a browser that has not signed in.
func (w *world) visitConsole(edit func(*Config)) *browser {
	w.t.Helper()
	config := w.config(w.authority(consolePolicy, false))
	var err error
	config.Console, err = console.New(console.Config{
		Authority: config.Authority, Clock: w.clock, Random: w.random, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.console = config.Console
	if edit != nil {
		edit(&config)
	}
	server, err := New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.listener = listener
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	b := &browser{t: w.t, address: listener.Addr().String()}
	_, port, _ := net.SplitHostPort(b.address)
	b.base = "http://localhost:" + port
	b.agent = http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", b.address)
		}},
	}
	w.t.Cleanup(b.agent.CloseIdleConnections)
	return b
}

// do sends a request as a browser does from a page of the console, edited, and takes the cookie that it sets.
func (b *browser) do(method, path string, form url.Values, edit func(*http.Request)) (*http.Response, string) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", b.base)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if b.cookie != "" {
		request.Header.Set("Cookie", cmp.Or(b.name, console.Cookie)+"="+b.cookie)
	}
	if edit != nil {
		edit(request)
	}
	response, err := b.agent.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, cookie := range response.Cookies() {
		b.cookie = cookie.Value
	}
	return response, string(body)
}

func (b *browser) get(path string) (*http.Response, string) {
	b.t.Helper()
	return b.do(http.MethodGet, path, nil, nil)
}

// signIn signs in with the key that name means.
func (b *browser) signIn(w *world, name string) {
	b.t.Helper()
	response, body := b.do(http.MethodPost, "/console/sign-in", url.Values{"key": {w.said[name]}}, nil)
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/console" || b.cookie == "" {
		b.t.Fatalf("signing in is answered %d %v: %s", response.StatusCode, response.Header, body)
	}
}

// shows fails where a page is not answered 200 or does not have the texts.
func (b *browser) shows(path string, texts ...string) string {
	b.t.Helper()
	response, body := b.get(path)
	if response.StatusCode != http.StatusOK {
		b.t.Fatalf("%s is answered %d: %s", path, response.StatusCode, body)
	}
	for _, text := range texts {
		if !strings.Contains(body, html.EscapeString(text)) {
			b.t.Errorf("%s does not show %q:\n%s", path, text, body)
		}
	}
	return body
}

// decide sends an intent of a tool.
func (w *world) decide(name, agent, intent string) string {
	w.t.Helper()
	_, body := w.send(w.request(fmt.Sprintf("POST /v1/authorize\nAuthorization: Bearer $%s\n\n{\"framework\":\"custom\",\"agentId\":%s,\"txCommit\":%q,\"intent\":%s}",
		name, agent, strings.Repeat("ab", 32), intent)))
	return body
}

// TestConsolePages goes through every page of a key that has done something.
func TestConsolePages(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	w.createKey("agent", accounts.NewKey{FullGrant: true, Plan: "growth"})
	allowed := w.decide("agent", `"robot"`, `{"action":"bash","command":"ls"}`)
	w.decide("agent", `"robot"`, `{"action":"bash","command":"rm -rf /"}`)
	held := w.decide("agent", `"robot"`, `{"action":"bash","command":"git push"}`)
	w.send(w.request("POST /v1/webhooks\nAuthorization: Bearer $agent\n\n" + `{"url":"https://hooks.example/a?b=c&d","events":["intent.denied"]}`))
	attestation := token.FindStringSubmatch(allowed)
	hold := regexp.MustCompile(`"holdId":"([^"]+)"`).FindStringSubmatch(held)
	if attestation == nil || hold == nil {
		t.Fatalf("the decisions are %s and %s", allowed, held)
	}
	b.signIn(w, "agent")
	if response, _ := b.get("/console/hours.svg"); response.StatusCode != http.StatusNotFound {
		t.Errorf("a plot of nothing is answered %d", response.StatusCode)
	}
	b.shows("/console", "ALLOWED", "DENIED", "PENDING", hold[1], "tool_calls.bash.blocked_commands", w.said["agent.id"], "/console/hours.svg", "soft_limits.cap.pushes.max_count", "4999", "5000 intents")
	b.plots()
	list := b.shows("/console/events", "robot", "bash", "DENIED", "key.created", "webhook.changed")
	if b.shows("/console/events?decision=DENIED", "tool_calls.bash.blocked_commands"); strings.Contains(b.shows("/console/events?decision=DENIED"), "key.created") {
		t.Error("the filter of decisions shows something else")
	}
	b.shows("/console/events?rule=nothing&from=2026-11-21&to=2026-11-22", "No event fits")
	judged := 0
	for _, place := range regexp.MustCompile(`/console/events/\d+`).FindAllString(list, -1) {
		page := b.shows(place, "lsn", w.said["agent.id"], "SHA-256")
		judged += strings.Count(page, "<strong>denies</strong>") + strings.Count(page, "<strong>asks for a person</strong>")
	}
	if judged != 2 {
		t.Errorf("%d rules speak against the decisions that are judged again", judged)
	}
	b.shows("/console/holds", hold[1], "PENDING", "tool_calls.bash.require_approval")
	b.shows("/console/holds/"+hold[1], "intent.command", "git push", "intentHash")
	b.shows("/console/key", "agent@example.com", "authorize", "2026-11", "soft_limits.cap.pushes.max_count")
	policy := b.shows("/console/policy", "bash.blocked_commands: rm", `L5`)
	for rule, hits := range map[string]string{"tool_calls.bash.blocked_commands": "1", "tool_calls.bash.require_approval": "1", "tool_calls.allowed": "0"} {
		if !strings.Contains(policy, "<td>"+rule+`</td><td class="number">`+hits+"</td>") {
			t.Errorf("the policy's page does not say that %s was named %s times:\n%s", rule, hits, policy)
		}
	}
	b.shows("/console/webhooks", "https://hooks.example/a?b=c&d", "intent.denied", "enabled")
	b.shows("/console/verify", "Attestation")
	for value, want := range map[string]string{attestation[1]: "intentHash", attestation[1][:40]: "It does not verify", "": "It does not verify"} {
		if response, body := b.do(http.MethodPost, "/console/verify", url.Values{"token": {value}}, nil); response.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("verifying %.20q is answered %d without %q: %s", value, response.StatusCode, want, body)
		}
	}
	for path, status := range map[string]int{
		"/console/nothing": 404, "/console/events/0": 404, "/console/events/x": 404, "/console/events/99999": 404, "/console/holds/x": 404,
		"/console/events?decision=x": 400, "/console/events?from=x": 400, "/console/events?before=x": 400, "/console/events?a=%zz": 400, "/console/events?Decision=DENIED": 400, "/console/sign-out": 405, "/consolex": 404,
	} {
		if response, body := b.get(path); response.StatusCode != status {
			t.Errorf("%s is answered %d, not %d: %s", path, response.StatusCode, status, body)
		}
	}
}

// TestConsolePaging reads more events than fit one page, in their order and each once.
func TestConsolePaging(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	w.createKey("agent", accounts.NewKey{})
	w.createKey("other", accounts.NewKey{})
	for i := range 230 {
		w.decide([]string{"agent", "other"}[i%10/9], fmt.Sprintf("%q", fmt.Sprint("agent-", i)), `{"action":"bash","command":"ls"}`)
	}
	b.signIn(w, "agent")
	var seen []string
	for path := "/console/events?decision=ALLOWED"; path != "" && len(seen) <= 230; {
		body := b.shows(path)
		for _, found := range regexp.MustCompile(`<td>(agent-\d+)</td>`).FindAllStringSubmatch(body, -1) {
			seen = append(seen, found[1])
		}
		next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(body)
		if path = ""; next != nil {
			path = html.UnescapeString(next[1])
		}
	}
	var want []string
	for i := 229; i >= 0; i-- {
		if i%10 != 9 {
			want = append(want, fmt.Sprint("agent-", i))
		}
	}
	if strings.Join(seen, " ") != strings.Join(want, " ") {
		t.Errorf("the pages show %d events: %v", len(seen), seen)
	}
	if body := b.shows("/console"); !strings.Contains(body, `<td class="number">207</td>`) {
		t.Errorf("the overview does not count 207 decisions:\n%s", body)
	}
}

// TestConsoleSession: a session begins with a new token, ends by itself, by its holder, and with its key.
func TestConsoleSession(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	view := w.createKey("agent", accounts.NewKey{})
	w.createKey("deployer", accounts.NewKey{Scopes: []string{"warranty:deploy"}})
	for _, name := range []string{"deployer", "nothing"} {
		if response, body := b.do(http.MethodPost, "/console/sign-in", url.Values{"key": {w.said[name]}}, nil); response.StatusCode < 400 || b.cookie != "" || strings.Contains(body, "sk_svc_"+"a") {
			t.Errorf("the key of %s is answered %d", name, response.StatusCode)
		}
	}
	gone := func(what string) {
		t.Helper()
		for _, path := range []string{"/console", "/console/events", "/console/events/1", "/console/holds", "/console/key", "/console/policy", "/console/webhooks", "/console/verify"} {
			if response, body := b.get(path); response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/console/sign-in" || body != "" {
				t.Errorf("%s: %s is answered %d %s", what, path, response.StatusCode, body)
			}
		}
	}
	gone("without a session")
	fixed := strings.Repeat("A", 43)
	b.cookie = fixed
	gone("with a token that somebody made up")
	b.cookie = fixed
	response, _ := b.do(http.MethodPost, "/console/sign-in", url.Values{"key": {w.said["agent"]}}, nil)
	if set := response.Header.Get("Set-Cookie"); !regexp.MustCompile(`^__Host-bailiff-session=[\w-]{43}; Path=/; Secure; HttpOnly; SameSite=Lax$`).MatchString(set) || b.cookie == fixed {
		t.Errorf("signing in sets %q", set)
	}
	b.shows("/console")
	first := b.cookie
	b.signIn(w, "agent")
	second := b.cookie
	if b.cookie = first; first == second {
		t.Error("the second session has the token of the first")
	}
	gone("after another sign-in of the same browser")
	b.cookie = second
	b.do(http.MethodPost, "/console/sign-out", nil, nil)
	b.cookie = second
	gone("after signing out")
	b.signIn(w, "agent")
	w.now = w.now.Add(29 * time.Minute)
	b.shows("/console")
	w.now = w.now.Add(30 * time.Minute)
	gone("after half an hour without a request")
	b.signIn(w, "agent")
	for range 24 {
		w.now = w.now.Add(29 * time.Minute)
		b.shows("/console")
	}
	w.now = w.now.Add(29 * time.Minute)
	gone("after twelve hours")
	b.signIn(w, "agent")
	open := b.cookie
	if _, err := w.admin.RevokeKey(context.Background(), view.ID); err != nil {
		t.Fatal(err)
	}
	b.cookie = open
	gone("after the key was revoked")
}

// TestConsoleScopeLost: a session ends when its key loses the scope that signing in takes.
func TestConsoleScopeLost(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	view := w.createKey("agent", accounts.NewKey{FullGrant: true, Plan: "growth"})
	b.signIn(w, "agent")
	b.shows("/console/key")
	if _, err := w.admin.ChangeScopes(context.Background(), view.ID, accounts.ScopeChange{Remove: []string{"authorize"}}); err != nil {
		t.Fatal(err)
	}
	held := b.cookie
	if response, _ := b.get("/console/key"); response.StatusCode != http.StatusSeeOther {
		t.Errorf("the session is answered %d", response.StatusCode)
	}
	if _, err := w.admin.GrantAll(context.Background(), view.ID); err != nil {
		t.Fatal(err)
	}
	b.cookie = held
	if response, _ := b.get("/console/key"); response.StatusCode != http.StatusSeeOther {
		t.Errorf("the session has come back with the scope: %d", response.StatusCode)
	}
}

// TestConsoleOthers: a holder sees nothing of another key, whatever place or id is asked for.
func TestConsoleOthers(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	w.createKey("victim", accounts.NewKey{FullGrant: true, Plan: "growth"})
	w.createKey("thief", accounts.NewKey{FullGrant: true, Plan: "growth"})
	allowed := w.decide("victim", `"secret-agent"`, `{"action":"bash","command":"ls secret"}`)
	held := w.decide("victim", `"secret-agent"`, `{"action":"bash","command":"git push secret"}`)
	w.send(w.request("POST /v1/webhooks\nAuthorization: Bearer $victim\n\n" + `{"url":"https://secret.example/","events":["intent.denied"]}`))
	hold := regexp.MustCompile(`"holdId":"([^"]+)"`).FindStringSubmatch(held)[1]
	b.signIn(w, "thief")
	paths := []string{"/console", "/console/events", "/console/holds", "/console/holds/" + hold, "/console/key", "/console/policy", "/console/webhooks", "/console/events?key=" + w.said["victim.id"]}
	head, err := w.ledger.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for lsn := range head.LSN + 1 {
		paths = append(paths, fmt.Sprint("/console/events/", lsn))
	}
	for _, path := range paths {
		if _, body := b.get(path); strings.Contains(body, "secret") || strings.Contains(body, w.said["victim.id"]) {
			t.Errorf("%s shows the other key:\n%s", path, body)
		}
	}
	_, body := b.do(http.MethodPost, "/console/verify", url.Values{"token": {token.FindStringSubmatch(allowed)[1]}}, nil)
	if strings.Contains(body, "secret") || strings.Contains(body, w.said["victim.id"]) || !strings.Contains(body, "another API key") {
		t.Errorf("the attestation of another key shows:\n%s", body)
	}
	b.signIn(w, "victim")
	b.shows("/console/events", "secret-agent") // the pages would have shown it
	b.shows("/console/webhooks", "https://secret.example/")
	b.shows("/console/holds/"+hold, "git push secret")
}

// TestConsoleForgery sends forms from elsewhere.
func TestConsoleForgery(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	w.createKey("agent", accounts.NewKey{})
	b.signIn(w, "agent")
	cookie := b.cookie
	set := func(origin, site string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del("Origin")
			r.Header.Del("Sec-Fetch-Site")
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
			if site != "" {
				r.Header.Set("Sec-Fetch-Site", site)
			}
		}
	}
	for _, path := range []string{"/console/sign-in", "/console/sign-out", "/console/verify"} {
		for _, x := range [][2]string{
			{"", ""}, {"null", ""}, {"https://evil.example", "cross-site"}, {b.base, "cross-site"}, {b.base, "same-site"}, {"http://evil.localhost", ""},
			{"https://localhost" + strings.TrimPrefix(b.base, "http://localhost"), ""}, {b.base + ".evil.example", ""}, {b.base + "/", ""}, {"", "none"}, {"null", "same-origin"},
		} {
			b.cookie = cookie
			if response, _ := b.do(http.MethodPost, path, url.Values{"key": {w.said["agent"]}}, set(x[0], x[1])); response.StatusCode != http.StatusForbidden || response.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s from %q is answered %d", path, x, response.StatusCode)
			}
		}
	}
	b.cookie = cookie
	b.shows("/console") // no form has ended the session
	for _, x := range [][2]string{{b.base, ""}, {"", "same-origin"}} {
		b.cookie = cookie
		if response, _ := b.do(http.MethodPost, "/console/verify", nil, set(x[0], x[1])); response.StatusCode != http.StatusOK {
			t.Errorf("a form of the console's own with %q is answered %d", x, response.StatusCode)
		}
	}
}

// TestConsoleHeaders: no page may be framed, stored, or load what is not the console's.
func TestConsoleHeaders(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	w.createKey("agent", accounts.NewKey{})
	b.signIn(w, "agent")
	for _, path := range []string{"/console", "/console/sign-in", "/console/events", "/console/nothing", "/console/style.css", "/console/sign-out", "/console/events?x=%zz"} {
		response, body := b.get(path)
		for _, want := range console.SecurityHeaders {
			if got := response.Header.Get(want[0]); got != want[1] {
				t.Errorf("%s has %s: %q", path, want[0], got)
			}
		}
		policy := response.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy of content lacks %s: %s", path, want, policy)
			}
		}
		if response.Header.Get("Cache-Control") != "no-store" && path != "/console/style.css" {
			t.Errorf("%s may be stored", path)
		}
		if strings.Contains(strings.ReplaceAll(body, `<script src="/console/events.js" defer></script>`, ""), "<script") || strings.Contains(body, "style=") || regexp.MustCompile(`(src|href|action)="(https?:)?//`).MatchString(body) {
			t.Errorf("%s has what its policy of content forbids:\n%s", path, body)
		}
	}
}

// TestConsoleTransport: the console is off where the key would travel without TLS, and to names that are not this machine's.
func TestConsoleTransport(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	proxied := w.visitConsole(func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	w.createKey("agent", accounts.NewKey{})
	for _, x := range []struct {
		browser *browser
		edit    func(*http.Request)
		status  int
	}{
		{b, nil, 200},
		{b, func(r *http.Request) { r.Host = "127.0.0.1:1" }, 200},
		{b, func(r *http.Request) { r.Host = "[::1]:1" }, 200},
		{b, func(r *http.Request) { r.Host = "evil.example" }, 404}, // DNS rebinding
		{b, func(r *http.Request) { r.Host = "localhost.evil.example" }, 404},
		{b, func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }, 404}, // no trusted proxy says so
		{b, func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.1") }, 404},
		{proxied, func(r *http.Request) { r.Host = "svc.example"; r.Header.Set("X-Forwarded-Proto", "https") }, 200},
		{proxied, func(r *http.Request) { r.Host = "svc.example"; r.Header.Set("X-Forwarded-Proto", "http") }, 404},
		{proxied, func(r *http.Request) { r.Host = "svc.example" }, 404},
		{proxied, func(r *http.Request) {
			r.Host = "svc.example"
			r.Header["X-Forwarded-Proto"] = []string{"https", "http"}
		}, 404},
	} {
		if response, body := x.browser.do(http.MethodGet, "/console/sign-in", nil, x.edit); response.StatusCode != x.status {
			t.Errorf("it is answered %d, not %d: %s", response.StatusCode, x.status, body)
		}
	}
	off := w.visitConsole(func(c *Config) { c.Console = nil })
	if response, _ := off.get("/console/sign-in"); response.StatusCode != http.StatusNotFound {
		t.Errorf("a console that is switched off answers %d", response.StatusCode)
	}
}

// TestConsoleLimits: signing in counts for the source, and pages for the key.
func TestConsoleLimits(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(func(c *Config) {
		c.Limits = Limits{IP: ratelimit.Window{Limit: 12, Per: time.Minute}, Manage: ratelimit.Window{Limit: 3, Per: time.Minute}}
	})
	w.createKey("agent", accounts.NewKey{})
	b.signIn(w, "agent")
	b.shows("/console/key")
	b.shows("/console/key")
	if response, _ := b.get("/console/key"); response.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the key's fourth request is answered %d", response.StatusCode)
	}
	b.cookie = ""
	for range 8 {
		if response, _ := b.do(http.MethodPost, "/console/sign-in", url.Values{"key": {"sk_svc_guess"}}, nil); response.StatusCode != http.StatusUnauthorized {
			t.Fatalf("a guess is answered %d", response.StatusCode)
		}
	}
	if response, _ := b.do(http.MethodPost, "/console/sign-in", url.Values{"key": {w.said["agent"]}}, nil); response.StatusCode != http.StatusTooManyRequests || b.cookie != "" {
		t.Errorf("the source's thirteenth request is answered %d", response.StatusCode)
	}
}

// hostile are texts that would run, or break out of where they are, if a page did not escape them.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</td></table><script>alert(1)</script>`, `{{.}}`, `javascript:alert(1)`, "a\u202Eb<b>",
}

// escaped reports what of the hostile texts is markup in a page.
func escaped(body string) (faults []string) {
	for _, sign := range []string{"<script>", "<img src=x", "<b>", "' onmouseover='", `href="javascript:`} {
		if strings.Contains(body, sign) {
			faults = append(faults, sign)
		}
	}
	return faults
}

// TestConsoleScripts has an agent send markup in every field that it chooses, and looks at every page.
func TestConsoleScripts(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	w.createKey("agent", accounts.NewKey{FullGrant: true, Plan: "growth", Organization: hostile[0]})
	for _, text := range hostile {
		quoted := string(must(plainJSON(text)))
		for _, intent := range []string{
			`{"action":"bash","command":` + quoted + `}`, `{"action":"bash","command":"rm ` + strings.Trim(quoted, "\"\n") + `"}`, `{"action":` + quoted + `}`,
			`{"action":"file_write","path":` + quoted + `,"content":` + quoted + `}`, `{"action":"email.send","to":` + quoted + `,"subject":` + quoted + `}`,
			`{"action":"bash","command":"git push","metadata":{"desk":` + quoted + `}}`, `{"action":"mcp.call","server":` + quoted + `,"tool":` + quoted + `}`,
		} {
			w.decide("agent", quoted, intent)
			w.decide("agent", `"robot"`, intent)
		}
		w.send(w.request("POST /v1/webhooks\nAuthorization: Bearer $agent\n\n" + `{"url":"https://hooks.example/` + strings.Trim(quoted, "\"\n") + `","events":["intent.denied"]}`))
	}
	b.signIn(w, "agent")
	seen := 0
	pages := []string{"/console", "/console/key", "/console/policy", "/console/webhooks", "/console/holds", "/console/events"}
	for _, text := range hostile {
		for _, name := range []string{"decision", "rule", "from", "to", "before"} {
			pages = append(pages, "/console/events?"+url.Values{name: {text}}.Encode())
		}
		pages = append(pages, "/console/events/"+url.PathEscape(text), "/console/holds/"+url.PathEscape(text), "/console/"+url.PathEscape(text))
	}
	for i := 0; i < len(pages); i++ {
		_, body := b.get(pages[i])
		if faults := escaped(body); len(faults) > 0 {
			t.Errorf("%s has markup %q:\n%s", pages[i], faults, body)
		}
		if strings.Contains(html.UnescapeString(body), hostile[0]) {
			seen++
		}
		if i < 6 {
			for _, found := range regexp.MustCompile(`href="(/console/(events|holds)/[^"]+)"`).FindAllStringSubmatch(body, -1) {
				pages = append(pages, found[1])
			}
		}
	}
	if seen < 10 {
		t.Errorf("the hostile text came to %d pages; the test looks at nothing", seen)
	}
	for _, text := range hostile {
		if _, body := b.do(http.MethodPost, "/console/verify", url.Values{"token": {text}}, nil); len(escaped(body)) > 0 {
			t.Errorf("verifying %q shows markup:\n%s", text, body)
		}
	}
	if escaped("<td>"+hostile[0]+"</td>") == nil || escaped("<td>"+hostile[1]+"</td>") == nil || escaped("<i title='"+hostile[2]+"'>") == nil {
		t.Error("the test does not notice markup that is not escaped")
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestConsoleReadOnly: visiting every page records nothing.
func TestConsoleReadOnly(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	w.createKey("agent", accounts.NewKey{})
	before := must(w.ledger.Head(context.Background()))
	b.signIn(w, "agent")
	for _, path := range []string{"/console", "/console/events", "/console/events/1", "/console/holds", "/console/key", "/console/policy", "/console/webhooks", "/console/verify"} {
		b.shows(path)
	}
	b.do(http.MethodPost, "/console/sign-out", nil, nil)
	if err := w.ledger.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if after := must(w.ledger.Head(context.Background())); after != before {
		t.Errorf("the log has gone from %d to %d", before.LSN, after.LSN)
	}
}
