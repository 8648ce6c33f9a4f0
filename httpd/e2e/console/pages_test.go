package console

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// numbered is what tells links of one kind apart: places in the log, ids and times.
var numbered = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9]+`)

// kind is the form of an address: pages of one kind are made by the same template.
func kind(address string) string { return numbered.ReplaceAllString(address, "N") }

// A hyperlink is a link as a page has it.
type hyperlink struct {
	Path     string // with its query; empty for a link inside of the page
	Fragment string
	Download bool
}

// hyperlinks returns the links of the page in their order.
func (b *tab) hyperlinks() []hyperlink {
	b.t.Helper()
	return ask[[]hyperlink](b, `[...document.querySelectorAll("a[href]")].map(a => {
		const to = new URL(a.href), inside = to.pathname + to.search === location.pathname + location.search && to.hash !== "";
		return {Path: inside ? "" : (to.origin === location.origin ? "" : to.origin) + to.pathname + to.search, Fragment: to.hash, Download: a.hasAttribute("download")};
	})`)
}

// click clicks on the link of a number in the order of the page.
func clickLink(i int) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.JSPath(fmt.Sprintf(`document.querySelectorAll("a[href]")[%d]`, i)))
}

// crawl clicks on a link of every kind on every page, from the overview on, and checks each page that it comes to. It
// returns the kinds of pages.
func (b *tab) crawl(check func(path string)) (kinds []string) {
	b.t.Helper()
	b.visit("/console")
	pages := []string{"/console"}
	seen := map[string]bool{kind(pages[0]): true}
	for i := 0; i < len(pages); i++ {
		b.visit(pages[i])
		check(pages[i])
		kinds = append(kinds, kind(pages[i]))
		away := false
		for n, link := range b.hyperlinks() {
			if away && (link.Path == "" || !seen[kind(link.Path)]) {
				b.visit(pages[i])
				away = false
			}
			switch {
			case link.Path == "":
				b.jump(n, link, seen)
			case seen[kind(link.Path)]:
			case link.Download:
				seen[kind(link.Path)] = true
				b.t.Errorf("%s: nothing tests the download %s", pages[i], link.Path)
			default:
				seen[kind(link.Path)] = true
				pages = append(pages, link.Path)
				if status := b.load(clickLink(n)); status != 200 || kind(b.path()) != kind(link.Path) {
					b.t.Errorf("%s: the link to %s leads to %s, which is answered %d", pages[i], link.Path, b.path(), status)
				}
				away = true
			}
		}
	}
	return kinds
}

// jump clicks on a link inside of a page.
func (b *tab) jump(n int, link hyperlink, seen map[string]bool) {
	b.t.Helper()
	name := kind(b.path() + link.Fragment)
	if seen[name] || strings.HasSuffix(link.Fragment, "main") { // the skip link is out of sight until it has the focus
		return
	}
	seen[name] = true
	b.do(clickLink(n))
	if at := ask[string](b, "location.hash"); at != link.Fragment || !ask[bool](b, "document.querySelector(location.hash) !== null") {
		b.t.Errorf("the link to %s leads to %q", link.Fragment, at)
	}
}

// kinds are the pages to which links lead from the overview.
var kinds = []string{
	"/console", "/console/events", "/console/holds", "/console/policy", "/console/webhooks", "/console/key", "/console/verify",
	"/console/events?decision=ALLOWED&from=N-N-NTN%NAN%NANZ", "/console/events/N", "/console/holds/N", "/console/events?before=N",
}

// testPages clicks through every page, with scripts and without.
func testPages(t *testing.T, s *stage, v visitor, scripts bool) {
	b := open(t, s.browser, v.origin)
	b.scripts(scripts)
	b.signIn(v)
	found := b.crawl(func(path string) {
		if scripts && !strings.Contains(path, "?") { // with a query the page is the same, with other events
			b.sound(s.axe)
			return
		}
		for _, in := range views {
			b.look(in)
			for _, fault := range slices.Concat(b.wide(in), b.broken(), b.reported()) {
				t.Errorf("%s, %s: %s", path, in.name, fault)
			}
		}
	})
	for _, kind := range v.kinds {
		if !slices.Contains(found, kind) {
			t.Errorf("no link leads to %s; the links lead to %q", kind, found)
		}
	}
	b.load(chromedp.Click(chromedp.CSS("header form button")))
	if b.path() != "/console/sign-in" {
		t.Errorf("signing out leads to %s", b.path())
	}
	if scripts {
		b.sound(s.axe)
	}
	b.visit("/console")
	if b.path() != "/console/sign-in" {
		t.Errorf("after signing out /console leads to %s", b.path())
	}
}

// refuses takes steps that load a page with a status of failure, and returns its text. That the browser's log has the status is no fault.
func (b *tab) refuses(status int, steps ...chromedp.Action[chromedp.Void]) string {
	b.t.Helper()
	b.checkReports()
	if got := b.load(steps...); got != status {
		b.t.Errorf("%s is answered %d; want %d", b.path(), got, status)
	}
	for _, fault := range b.reported() {
		if !strings.Contains(fault, fmt.Sprintf("the server responded with a status of %d", status)) {
			b.t.Errorf("%s: %s", b.path(), fault)
		}
	}
	return b.text()
}

// checkReports fails where the browser has reported something.
func (b *tab) checkReports() {
	b.t.Helper()
	for _, fault := range b.reported() {
		b.t.Errorf("%s: %s", b.path(), fault)
	}
}

// rows returns a column of the table of events.
func (b *tab) column(n int) []string {
	b.t.Helper()
	return ask[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("main tbody tr")].map(row => row.cells[%d].innerText)`, n))
}

const show = "form.filters button"

// testFilters narrows the events by each filter, and pages through all of them.
func testFilters(t *testing.T, s *stage, k key) {
	b := open(t, s.browser, s.origin)
	b.scripts(false)
	b.signIn(s.holder(k))
	b.visit("/console/events")
	all := b.column(0)
	for b.text(); strings.Contains(b.text(), "Older events"); {
		b.load(chromedp.Click(chromedp.CSS("a[rel=next]")))
		all = append(all, b.column(0)...)
	}
	if distinct := len(slices.Compact(slices.Clone(all))); len(all) != distinct || len(all) < events || !slices.IsSortedFunc(all, func(x, y string) int { return len(y) - len(x) }) {
		t.Errorf("the pages have %d events, %d of them distinct, of %d", len(all), distinct, events)
	}
	for _, c := range []struct {
		field, value, query string
		column              int
		want                string
		none                bool
	}{
		{"#decision", "DENIED", "decision=DENIED", 3, "DENIED", false},
		{"#decision", "TEST_RUN", "decision=TEST_RUN", 3, "", true},
		{"#rule", "evm.max_transaction_eth", "rule=evm.max_transaction_eth", 6, "evm.max_transaction_eth", false},
		{"#from", "2999-01-01", "from=2999-01-01", 0, "", true},
		{"#to", "2000-01-01", "to=2000-01-01", 0, "", true},
	} {
		b.visit("/console/events")
		set := chromedp.SendKeys(chromedp.CSS(c.field), c.value)
		b.load(set, chromedp.Click(chromedp.CSS(show)))
		if !strings.Contains(b.path(), c.query) || ask[string](b, fmt.Sprintf("document.querySelector(%q).value", c.field)) != c.value {
			t.Errorf("%s=%s leads to %s, and the form does not keep it", c.field, c.value, b.path())
		}
		cells := b.column(c.column)
		if c.none && (len(cells) > 0 || !strings.Contains(b.text(), "No event fits")) || !c.none && len(cells) == 0 {
			t.Errorf("%s shows %d events", b.path(), len(cells))
		}
		for _, cell := range cells {
			if cell != c.want {
				t.Errorf("%s shows an event with %q", b.path(), cell)
			}
		}
	}
	b.visit("/console/events")
	text := b.refuses(400, chromedp.SendKeys(chromedp.CSS("#from"), "yesterday"), chromedp.Click(chromedp.CSS(show)))
	if !strings.Contains(text, `from is "yesterday"`) {
		t.Errorf("a time that is none is answered: %s", text)
	}
}

// testVerify verifies attestations of this key and of another, and texts that are none. Attestations are good for a minute, so
// each is made when it is needed.
func testVerify(t *testing.T, s *stage, mine, theirs key) {
	b := s.open(t, s.holder(mine))
	issued := func(k key) string {
		return s.decides(k, "trader-1", "ALLOWED", object{"action": "bash", "command": "make release"}).Attestation
	}
	for _, c := range []struct {
		token       func() string
		says, never string
	}{
		{func() string { return issued(mine) }, "txCommit", "does not verify"},
		{func() string { return issued(theirs) }, "issued for another API key", "txCommit"},
		{func() string { own := issued(mine); return own[:len(own)-6] + "AAAAAA" }, "It does not verify", "txCommit"},
		{func() string { return "<b>none</b>" }, "It does not verify", "txCommit"},
	} {
		b.visit("/console/verify")
		token := c.token()
		b.do(chromedp.SetValue(chromedp.CSS("#token"), token))
		b.load(chromedp.Click(chromedp.CSS("main form button")))
		if text := b.text(); !strings.Contains(text, c.says) || strings.Contains(text, c.never) {
			t.Errorf("verifying %.20s… shows, want %q and not %q:\n%s", token, c.says, c.never, text)
		}
		b.sound(s.axe)
	}
}

// testProblems comes to the pages that say what is wrong.
func testProblems(t *testing.T, s *stage, k key) {
	b := open(t, s.browser, s.origin)
	b.visit("/console/sign-in")
	b.sound(s.axe)
	text := b.refuses(401, chromedp.SendKeys(chromedp.CSS("#key"), "sk_svc_wrong"), chromedp.Click(chromedp.CSS("main form button")))
	if !strings.Contains(text, "key") || b.path() != "/console/sign-in" {
		t.Errorf("a wrong key is answered at %s: %s", b.path(), text)
	}
	b.sound(s.axe)
	b.signIn(s.holder(k))
	for _, path := range []string{"/console/none", "/console/events/999999999", "/console/holds/none"} {
		b.refuses(404, chromedp.Navigate(s.origin+path))
		b.sound(s.axe)
	}
	b.refuses(400, chromedp.Navigate(s.origin+"/console/events?"+url.Values{"shape": {"round"}}.Encode()))
	b.sound(s.axe)
}
