package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// attacker serves pages of an attacker: /frame frames an address, /post sends a form to one, /link links to one, /read tries to read
// one. It returns its origins: one of the console's site, on another port, and one of another site.
func attacker(t *testing.T) (sameSite, otherSite string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := r.URL.Query().Get("target")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/frame":
			fmt.Fprintf(w, `<!doctype html><title>frame</title><iframe src=%q></iframe>`, target)
		case "/post":
			fmt.Fprintf(w, `<!doctype html><title>post</title><form method="post" action=%q><input name="key" value=%q><input name="token" value="x"><input name="code" value="x"><button>Win</button></form>`, target, r.URL.Query().Get("key"))
		case "/link":
			fmt.Fprintf(w, `<!doctype html><title>link</title><a href=%q>Win</a>`, target)
		default:
			fmt.Fprint(w, `<!doctype html><title>read</title><p>a page of somebody else`)
		}
	}))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "http://localhost:" + address.Port(), "http://127.0.0.1:" + address.Port()
}

// signedIn fails where the tab's session is not good.
func (b *tab) signedIn(after string) {
	b.t.Helper()
	b.visit("/console")
	if b.path() != "/console" || !strings.Contains(b.text(), "Latest events") {
		b.t.Errorf("after %s the session has ended", after)
	}
	b.reported()
}

// framed reports whether a page of an attacker's origin shows an address in a frame. A browser that refuses to says so in its log.
func (b *tab) framed(attacker, target string) bool {
	b.t.Helper()
	b.reported()
	b.load(chromedp.Navigate(attacker + "/frame?" + url.Values{"target": {target}}.Encode()))
	at, err := url.Parse(target)
	if err != nil {
		b.t.Fatal(err)
	}
	return !slices.ContainsFunc(b.reported(), func(fault string) bool {
		return strings.Contains(fault, "Framing '"+at.Scheme+"://"+at.Host+"/' violates") || strings.Contains(fault, "Refused to display '"+at.Scheme+"://"+at.Host+"/' in a frame")
	})
}

// readable has a page of another origin try to read an address in every way that a browser has, and returns those that succeed.
func (b *tab) readable(attacker, target string) []string {
	b.t.Helper()
	b.load(chromedp.Navigate(attacker + "/read"))
	return ask[[]string](b, fmt.Sprintf(`(async target => {
		const won = [];
		const tried = async (name, attempt) => { try { if (await attempt()) won.push(name); } catch {} };
		const element = (name, parts) => new Promise(done => {
			const e = Object.assign(document.createElement(name), parts);
			e.onload = () => done(true); e.onerror = () => done(false);
			document.body.append(e);
		});
		await tried("fetch", async () => (await fetch(target, {credentials: "include"})).text());
		await tried("fetch without CORS", async () => { await fetch(target, {credentials: "include", mode: "no-cors"}); return true; });
		await tried("XMLHttpRequest", () => new Promise(done => {
			const r = new XMLHttpRequest(); r.withCredentials = true; r.open("GET", target);
			r.onload = () => done(true); r.onerror = () => done(false); r.send();
		}));
		await tried("script", () => element("script", {src: target}));
		await tried("style sheet", () => element("link", {rel: "stylesheet", href: target}));
		await tried("image", () => element("img", {src: target}));
		await tried("EventSource", () => new Promise(done => {
			const s = new EventSource(target, {withCredentials: true}); s.onopen = () => { s.close(); done(true); }; s.onerror = () => { s.close(); done(false); };
		}));
		return won;
	})(%q)`, target))
}

// addresses are those of the holder's console whose answers no page of another origin may have, and operatorAddresses some
// of the operator's, which refuses such a page before it looks at the address.
var (
	addresses         = []string{"/console", "/console/events", "/console/key", "/console/hours.svg", "/console/live?decision=&rule=&after=0", "/console/events.js", "/console/style.css", "/console/icon.svg"}
	operatorAddresses = []string{"/console/keys", "/console/live?decision=&rule=&after=0", "/console/hours.svg", "/console/events.js", "/console/style.css"}
)

// testForeign has pages of other origins frame, read and send to the console, on which a visitor is signed in.
func testForeign(t *testing.T, s *stage, v visitor, another key) {
	sameSite, otherSite := attacker(t)
	b := s.open(t, v)
	for _, from := range []string{sameSite, otherSite} {
		for _, path := range v.addresses {
			if b.framed(from, v.origin+path) {
				t.Errorf("%s shows %s in a frame", from, path)
			}
			if won := b.readable(from, v.origin+path); len(won) > 0 {
				t.Errorf("%s reads %s by %q", from, path, won)
			}
		}
		if !b.framed(from, from+"/own") || len(b.readable(from, from+"/own")) == 0 {
			t.Error("the test notices no frame, or nothing that is read")
		}
		for _, path := range []string{"/console/sign-out", "/console/sign-in", "/console/verify", "/console/keys"} {
			value := another.Secret // to sign in with
			if v.operates {
				value = another.ID // to be chosen
			}
			b.load(chromedp.Navigate(from + "/post?" + url.Values{"target": {v.origin + path}, "key": {value}}.Encode()))
			if status := b.load(chromedp.Click(chromedp.CSS("button"))); status != http.StatusForbidden {
				t.Errorf("a form of %s sent to %s is answered %d", from, path, status)
			}
			b.signedIn("a form of " + from + " sent to " + path)
			if !strings.Contains(b.text(), v.ID) {
				t.Errorf("a form of %s has come by another key", from)
			}
		}
	}
	b.opened(sameSite)
}

// opened has an attacker's page open the console in a window, which it must lose sight of.
func (b *tab) opened(attacker string) {
	b.t.Helper()
	b.load(chromedp.Navigate(attacker + "/read"))
	if got := ask[string](b, fmt.Sprintf(`(async () => {
		const w = window.open(%q);
		for (let i = 0; i < 3000 && !w.closed; i++) {
			try { if (w.document.title !== "" ) return "it reads " + w.document.title; } catch {}
			await new Promise(done => setTimeout(done, 10));
		}
		return w.closed ? "" : "it holds on to the window";
	})()`, b.origin+"/console")); got != "" {
		b.t.Errorf("a page that opens the console: %s", got)
	}
}

// testRebinding visits the console by a name that an attacker has pointed to this machine.
func testRebinding(t *testing.T, s *stage, v visitor) {
	b := open(t, s.browser, v.on(t, rebound).origin)
	for _, path := range []string{"/console", "/console/sign-in", "/console/events"} {
		if status := b.load(chromedp.Navigate(b.origin + path)); status != v.refused || !strings.Contains(b.text(), v.why) {
			t.Errorf("%s%s is answered %d: %s", b.origin, path, status, b.text())
		}
	}
}

// cookies are those that the browser keeps for the console.
func (b *tab) cookies() []*network.Cookie {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	got, err := chromedp.Call(ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{b.origin + "/console"}})
	if err != nil {
		b.t.Fatal(err)
	}
	return got.Cookies
}

// exposed returns what is wrong with the cookie of a visitor's session.
func (b *tab) exposed(v visitor) (faults []string) {
	b.t.Helper()
	if text := ask[string](b, "document.cookie"); text != "" {
		faults = append(faults, "a script reads "+text)
	}
	if text := ask[string](b, "JSON.stringify([localStorage.length, sessionStorage.length])"); text != "[0,0]" {
		faults = append(faults, "the page has stored something: "+text)
	}
	all := b.cookies()
	if len(all) != 1 {
		return append(faults, fmt.Sprintf("there are %d cookies", len(all)))
	}
	if c := all[0]; c.Name != v.cookie || !c.HTTPOnly || !c.Secure || c.SameSite != v.sameSite || c.Path != "/" || c.Domain != "localhost" || !c.Session {
		faults = append(faults, "the cookie is "+plain(c))
	}
	return faults
}

// testLoopback signs in by an address of the loopback interface, whose cookies browsers trust as they trust those of localhost.
func testLoopback(t *testing.T, s *stage, v visitor, host string) {
	v = v.on(t, host)
	b := s.open(t, v)
	b.checkReports()
	b.signedIn("signing in at " + v.origin)
}

// set sets a cookie of the visitor's console.
func (b *tab) set(v visitor, value string) {
	b.t.Helper()
	yes := true
	b.do(call(network.SetCookie, network.SetCookieParams{Name: v.cookie, Value: value, URL: v.origin + "/", Secure: &yes, Path: "/"}))
}

// testCookie looks at the cookie of a session, and signs in where an attacker has set one before.
func testCookie(t *testing.T, s *stage, v visitor) {
	b := s.open(t, v)
	for _, fault := range b.exposed(v) {
		t.Error(fault)
	}
	fixed := b.cookies()[0].Value // the attacker's own session
	victim := open(t, s.browser, v.origin)
	victim.set(v, fixed)
	victim.visit("/console/sign-in")
	if victim.path() != "/console" {
		t.Fatalf("the cookie that was set is no session: %s", victim.path())
	}
	victim.load(chromedp.Click(chromedp.CSS("header form button")))
	victim.signIn(v)
	if now := victim.cookies(); len(now) != 1 || now[0].Value == fixed {
		t.Error("signing in continues a session that somebody else knows")
	}
	b.visit("/console")
	if b.path() != "/console/sign-in" {
		t.Errorf("the attacker's session continues at %s", b.path())
	}
}

// testRevoked revokes the key of a session.
func testRevoked(t *testing.T, s *stage) {
	k := s.newKey()
	b := s.open(t, s.holder(k))
	if _, err := s.service.Run("keys", "revoke", k.ID); err != nil {
		t.Fatal(err)
	}
	b.load(chromedp.Click(chromedp.CSS(`nav a[href="/console/events"]`)))
	if b.path() != "/console/sign-in" || len(b.cookies()) != 0 {
		t.Errorf("after its key was revoked the session shows %s and has %d cookies", b.path(), len(b.cookies()))
	}
	text := b.refuses(401, chromedp.SendKeys(chromedp.CSS("#key"), k.Secret), chromedp.Click(chromedp.CSS("main form button")))
	if !strings.Contains(text, "revoked") {
		t.Errorf("signing in with a revoked key is answered %s", text)
	}
}

// testOthers has one key's holder look at another's events and holds.
func testOthers(t *testing.T, s *stage, mine, theirs key) {
	b := s.open(t, s.holder(theirs))
	paths := b.everyPage(false)
	b.load(chromedp.Click(chromedp.CSS("header form button")))
	b.signIn(s.holder(mine))
	tried := 0
	for _, path := range paths {
		if kind(path) != path {
			tried++
			b.refuses(404, chromedp.Navigate(s.origin+path))
		}
	}
	if tried < 2 {
		t.Errorf("%d pages of the other key were tried", tried)
	}
}
