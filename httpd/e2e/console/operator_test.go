package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// testOperator drives the operator's console. A new code ends the one before and signing out all ends every session, so one
// test follows another.
func testOperator(t *testing.T, s *stage, watched, other key) {
	v := s.operator(watched)
	mine := s.newKey()
	for _, one := range []struct {
		name string
		test func(*testing.T)
	}{
		{"codes", func(t *testing.T) { testCodes(t, s, v) }},
		{"all keys", func(t *testing.T) { testKeys(t, s, v) }},
		{"pages", func(t *testing.T) { testPages(t, s, v, true) }},
		{"verify", func(t *testing.T) { testVerifyAny(t, s, v, other) }},
		{"keyboard", func(t *testing.T) { testKeyboard(t, s, v) }},
		{"markup", func(t *testing.T) { testKeysMarkup(t, s) }},
		{"foreign pages", func(t *testing.T) { testForeign(t, s, v, other) }},
		{"links", func(t *testing.T) { testLinks(t, s, v) }},
		{"rebound name", func(t *testing.T) { testRebinding(t, s, v) }},
		{"loopback address", func(t *testing.T) { testLoopback(t, s, v, "127.0.0.1") }},
		{"cookie", func(t *testing.T) { testCookie(t, s, v) }},
		{"cookies of both consoles", func(t *testing.T) { testBoth(t, s, s.holder(other), v) }},
		{"planted faults", func(t *testing.T) { testPlanted(t, s, s.operator(mine), plantedOperator) }},
		{"another choice", func(t *testing.T) { testChoice(t, s, v, other) }},
		{"live events", func(t *testing.T) { testLive(t, s, s.operator(mine), "console", "--sign-out") }},
	} {
		t.Run(one.name, one.test)
	}
}

// testCodes signs in, without scripts, with codes that are good and that are not.
func testCodes(t *testing.T, s *stage, v visitor) {
	b := open(t, s.browser, v.origin)
	b.visit("/")
	if b.path() != "/console/sign-in" {
		t.Errorf("/ leads to %s", b.path())
	}
	refused := func(code string) {
		t.Helper()
		text := b.refuses(http.StatusUnauthorized, chromedp.SendKeys(chromedp.CSS("#code"), code), chromedp.Click(chromedp.CSS("main form button")))
		if !strings.Contains(text, "The code is wrong, was used, or is older than a minute") || len(b.cookies()) != 0 {
			t.Errorf("the code is answered %s, with %d cookies", text, len(b.cookies()))
		}
	}
	refused("wrong")
	b.sound(s.axe)
	b.scripts(false)
	_, older := s.newCode()
	_, code := s.newCode()
	refused(older)
	from, _ := attacker(t)
	foreign := open(t, s.browser, from)
	foreign.load(chromedp.Navigate(from + "/read"))
	// So many wrong codes of the console's own page end the right one.
	if sent := ask[int](foreign, fmt.Sprintf(`(async target => {
		for (let i = 0; i < 5; i++) await fetch(target, {method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({code: "x"})}).catch(() => {});
		return performance.getEntriesByName(target).length;
	})(%q)`, v.origin+"/console/sign-in")); sent != 5 {
		t.Errorf("the foreign page has sent %d codes", sent)
	}
	signedIn := open(t, s.browser, v.origin)
	signedIn.scripts(false)
	signedIn.visit("/console/sign-in")
	signedIn.load(chromedp.SendKeys(chromedp.CSS("#code"), code), chromedp.Click(chromedp.CSS("main form button")))
	if signedIn.path() != "/console/keys" {
		t.Errorf("a code leads to %s: %s", signedIn.path(), signedIn.text())
	}
	refused(code)
	_, ended := s.newCode()
	for range 5 {
		refused("wrong")
	}
	refused(ended)
}

// testKeys comes to the page of all keys until a key is chosen, and to the pages that say what is wrong.
func testKeys(t *testing.T, s *stage, v visitor) {
	gone := s.newKey()
	s.ask(gone, "late", object{"action": "bash", "command": "ls"})
	if _, err := s.service.Run("keys", "revoke", gone.ID); err != nil {
		t.Fatal(err)
	}
	b := open(t, s.browser, v.origin)
	b.visit("/console/sign-in")
	v.enter(b)
	for n, link := range b.hyperlinks() {
		want := "/console/keys"
		switch link.Path {
		case "":
			continue
		case "/console/verify":
			want = link.Path
		}
		b.load(clickLink(n)) // the menu of the page that it leads to is the same
		if b.path() != want {
			t.Errorf("before a key is chosen %s leads to %s", link.Path, b.path())
		}
	}
	b.visit("/console/keys")
	b.choose(gone)
	b.load(chromedp.Click(chromedp.CSS(`nav a[href="/console/events"]`)))
	if !slices.Contains(b.column(5), "late") {
		t.Errorf("what a revoked key did is not shown: %s", b.text())
	}
	for _, path := range []string{"/console/none", "/console/events/999999999", "/console/holds/none"} {
		b.refuses(http.StatusNotFound, chromedp.Navigate(v.origin+path))
	}
	b.sound(s.axe)
}

// testVerifyAny verifies an attestation of a key that is not the chosen one.
func testVerifyAny(t *testing.T, s *stage, v visitor, other key) {
	b := s.open(t, v)
	b.visit("/console/verify")
	token := s.decides(other, "trader-1", "ALLOWED", object{"action": "bash", "command": "make release"}).Attestation
	b.do(chromedp.SetValue(chromedp.CSS("#token"), token))
	b.load(chromedp.Click(chromedp.CSS("main form button")))
	if text := b.text(); !strings.Contains(text, "txCommit") || strings.Contains(text, "another API key") {
		t.Errorf("the attestation of another key is answered %s", text)
	}
	b.checkReports()
}

// testKeysMarkup has agents of a key send markup to the page of all keys, under its content security policy and without it.
func testKeysMarkup(t *testing.T, s *stage) {
	k := s.newKey()
	held(s, k)
	b := s.open(t, s.operator(k))
	for _, bypass := range []bool{false, true} {
		b.do(call(page.SetBypassCSP, page.SetBypassCSPParams{Enabled: bypass}))
		b.visit("/console/keys")
		for _, fault := range b.marked() {
			t.Errorf("without a content security policy %v: %s", bypass, fault)
		}
		b.look(views[2])
		for _, fault := range b.wide(views[2]) {
			t.Error(fault)
		}
		if n := appearances(b.text(), "agentId"); n != len(markups) {
			t.Errorf("%d of %d texts are on the page; the test looks at nothing", n, len(markups))
		}
	}
}

// held has an agent of each name in markup wait for the operator.
func held(s *stage, k key) {
	for _, agent := range marks("agentId") {
		s.decides(k, agent, "PENDING", object{"action": "bash", "command": "git push origin main"})
	}
}

// testLinks follows a link of a foreign page, which gets nothing: the operator's session is for pages of the console.
func testLinks(t *testing.T, s *stage, v visitor) {
	b := s.open(t, v)
	sameSite, otherSite := attacker(t)
	for _, from := range []string{sameSite, otherSite} {
		b.load(chromedp.Navigate(from + "/link?" + url.Values{"target": {v.origin + "/console/keys"}}.Encode()))
		if status := b.load(chromedp.Click(chromedp.CSS("a"))); status != http.StatusForbidden || !strings.Contains(b.text(), "a page of another origin") || strings.Contains(b.text(), v.ID) {
			t.Errorf("a link of %s is answered %d: %s", from, status, b.text())
		}
	}
	b.reported()
	b.signedIn("links of foreign pages")
}

// token returns the value of a visitor's cookie in the tab.
func (b *tab) token(v visitor) string {
	b.t.Helper()
	for _, cookie := range b.cookies() {
		if cookie.Name == v.cookie {
			return cookie.Value
		}
	}
	return ""
}

// leadsToSignIn fails where a tab that moves to a console is signed in there.
func (b *tab) leadsToSignIn(v visitor, what string) {
	b.t.Helper()
	b.moves(v.origin)
	b.visit("/console")
	if b.path() != "/console/sign-in" || b.token(v) != "" {
		b.t.Errorf("%s leads to %s, and the cookie is %q", what, b.path(), b.token(v))
	}
}

// testBoth signs in to both consoles with one browser, which sends the cookies of each to the other.
func testBoth(t *testing.T, s *stage, holder, operator visitor) {
	b := s.open(t, holder)
	b.leadsToSignIn(operator, "a holder's session")
	b.set(operator, b.token(holder))
	b.leadsToSignIn(operator, "a holder's session under the name of an operator's")
	b.signIn(operator)
	other := open(t, s.browser, holder.origin)
	other.set(holder, b.token(operator))
	other.leadsToSignIn(holder, "an operator's session under the name of a holder's")
	other.set(operator, b.token(operator))
	other.leadsToSignIn(holder, "an operator's session")
	other.moves(operator.origin)
	other.signedIn("copying the operator's cookie within a user's browser") // so that the tokens above were good
	b.moves(holder.origin)
	b.signedIn("signing in as the operator")
	b.refuses(http.StatusNotFound, chromedp.Navigate(holder.origin+"/console/keys"))
	b.visit("/console")
	b.load(chromedp.Click(chromedp.CSS("header form button")))
	b.moves(operator.origin)
	b.signedIn("signing out as the holder")
	b.leadsToSignIn(holder, "signing out")
}

// testChoice has another page of the session choose another key, which ends the events of a page that shows the first.
func testChoice(t *testing.T, s *stage, v visitor, other key) {
	b := s.open(t, v)
	b.visit("/console/events")
	b.until("the page is live", `document.getElementById("live").getAttribute("aria-pressed") === "true"`)
	if got := ask[string](b, `fetch("/console/keys", {method: "POST", body: new URLSearchParams({key: "`+other.ID+`"})}).then(r => r.text())`); !strings.Contains(got, other.ID) {
		t.Fatalf("choosing another key is answered %s", got)
	}
	s.ask(other, "stranger", object{"action": "bash", "command": "ls"})
	b.until("the end of the key that was chosen before", `document.body.innerText.includes("Live updates have ended")`)
	if ask[bool](b, shows("stranger")) {
		t.Error("the page of one key shows an event of another")
	}
	b.checkReports()
	b.load(chromedp.Click(chromedp.CSS(`nav a[href="/console/events"]`)))
	if !strings.Contains(b.text(), other.ID) || !slices.Contains(b.column(5), "stranger") {
		t.Errorf("the next page is not of the key that was chosen: %s", b.text())
	}
}
