package console

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"bailiff/httpd/console"
)

// A visitor is who signs in to one of the two consoles, and looks at the records of one key.
type visitor struct {
	key
	origin   string // of the console
	cookie   string
	sameSite network.CookieSameSite
	operates bool         // it is the operator
	enter    func(b *tab) // signs in, on the page of the form
	kinds    []string     // of the pages to which links lead from the overview
	// addresses are those whose answers no page of another origin may have.
	addresses []string
	refused   int    // the status for who asks by a name that is not the console's
	why       string // what that page says
}

// holder is who has a key.
func (s *stage) holder(k key) visitor {
	return visitor{
		key: k, origin: s.origin, cookie: console.Cookie, sameSite: network.CookieSameSiteLax, kinds: kinds, addresses: addresses,
		refused: 404, why: "this page is off without TLS",
		enter: func(b *tab) {
			b.load(chromedp.SendKeys(chromedp.CSS("#key"), k.Secret), chromedp.Click(chromedp.CSS("main form button")))
		},
	}
}

// operator is who may use the admin socket, and chooses a key.
func (s *stage) operator(k key) visitor {
	return visitor{
		key: k, origin: s.operatorOrigin, cookie: console.OperatorCookie, sameSite: network.CookieSameSiteStrict, operates: true, kinds: append([]string{"/console/keys"}, kinds...), addresses: operatorAddresses,
		refused: 403, why: "answers to its own address only",
		enter: func(b *tab) {
			for begun := time.Now(); ; begun = time.Now() {
				_, code := s.newCode()
				b.load(chromedp.SendKeys(chromedp.CSS("#code"), code), chromedp.Click(chromedp.CSS("main form button")))
				if b.path() == "/console/keys" || time.Since(begun) < console.CodeLife {
					return
				}
				b.reported() // the machine was slow, and the code expired
			}
		},
	}
}

// printed is what bailiff console prints.
var printed = regexp.MustCompile(`^open (http://localhost:[0-9]+)/\ncode (\S{43})\n`)

// newCode returns the origin of the operator's console, and a code for one sign-in.
func (s *stage) newCode() (origin, code string) {
	s.t.Helper()
	output, err := s.service.Run("console", "--no-open")
	found := printed.FindStringSubmatch(output)
	if err != nil || found == nil {
		s.t.Fatalf("no code was made: %v: %s", err, output)
	}
	return found[1], found[2]
}

// signIn signs a tab in with the form. The operator chooses the key.
func (b *tab) signIn(v visitor) {
	b.t.Helper()
	b.visit("/console/sign-in")
	v.enter(b)
	start := "/console"
	if v.operates {
		start = "/console/keys"
	}
	if path := b.path(); path != start {
		b.t.Fatalf("after signing in the browser is at %s: %s", path, b.text())
	}
	if v.operates {
		b.choose(v.key)
	}
}

// choose has the operator's tab, which shows all keys, look at one.
func (b *tab) choose(k key) {
	b.t.Helper()
	b.load(chromedp.Click(chromedp.CSS(`button[aria-label="Show key ` + k.ID + `"]`)))
	if path := b.path(); path != "/console" || !strings.Contains(b.text(), k.ID) {
		b.t.Fatalf("after choosing a key the browser is at %s: %s", path, b.text())
	}
}

// open opens a tab at a visitor's console, and signs in.
func (s *stage) open(t *testing.T, v visitor) *tab {
	t.Helper()
	b := open(t, s.browser, v.origin)
	b.signIn(v)
	return b
}

// on returns the visitor as one who comes by another name of the same machine.
func (v visitor) on(t *testing.T, host string) visitor {
	t.Helper()
	at, err := url.Parse(v.origin)
	if err != nil {
		t.Fatal(err)
	}
	v.origin = "http://" + host + ":" + at.Port()
	return v
}
