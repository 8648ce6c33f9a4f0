package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// reachable counts what the keyboard has to reach on the page.
const reachable = `[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")].filter(e => e.checkVisibility() && !e.disabled).length`

// walk presses Tab from the start of the page to its end, and returns what has the focus on the way.
func (b *tab) walk() (way []focus) {
	b.t.Helper()
	most := ask[int](b, reachable)
	for range most + 1 {
		b.do(chromedp.KeyEvent(kb.Tab))
		at := b.focused()
		if at.Nothing {
			break
		}
		way = append(way, at)
	}
	return way
}

// unreached returns what the keyboard does not reach on the page, or not visibly.
func (b *tab) unreached() (faults []string) {
	b.t.Helper()
	way := b.walk()
	if most := ask[int](b, reachable); len(way) < most {
		faults = append(faults, plain(way)+" is reached by Tab, and less than all")
	}
	for _, at := range way {
		if at.Fault != "" {
			faults = append(faults, at.Name+": "+at.Fault)
		}
	}
	return faults
}

// tabTo presses Tab until an element has the focus whose name or address begins with a text.
func (b *tab) tabTo(text string) {
	b.t.Helper()
	for range ask[int](b, reachable) + 2 {
		if at := b.focused(); !at.Nothing && (strings.HasPrefix(at.Name, text) || at.Href == text) {
			return
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("%s: Tab does not lead to %q", b.path(), text)
}

// enter presses Enter, which loads a page, and fails where its path is another.
func (b *tab) enter(want string) {
	b.t.Helper()
	b.load(chromedp.KeyEvent(kb.Enter))
	if path := b.path(); !strings.HasPrefix(path, want) {
		b.t.Fatalf("Enter leads to %s, want %s", path, want)
	}
}

// testKeyboard signs in, looks up the latest denial, and signs out with Tab, Enter and letters alone, and reaches all of every page.
func testKeyboard(t *testing.T, s *stage, v visitor) {
	b := open(t, s.browser, v.origin)
	b.visit("/console/sign-in")
	if v.operates {
		_, code := s.newCode()
		b.tabTo("input code")
		b.do(chromedp.KeyEvent(code))
		b.enter("/console/keys")
		b.tabTo("button Show key " + v.ID)
	} else {
		b.tabTo("input key")
		b.do(chromedp.KeyEvent(v.Secret))
	}
	b.enter("/console")
	b.tabTo("a Skip to the content")
	if fault := b.focused().Fault; fault != "" {
		t.Errorf("the link to the content: %s", fault)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	if at := b.focused(); !strings.HasPrefix(at.Name, "main") {
		t.Errorf("it leads to %+v", at)
	}
	b.visit("/console")
	b.tabTo("/console/events")
	b.enter("/console/events")
	b.tabTo("select decision")
	b.do(chromedp.KeyEvent("D"))
	b.tabTo("button Show")
	b.enter("/console/events?decision=DENIED")
	b.tabTo("a " + b.column(0)[0])
	b.enter("/console/events/")
	if !strings.Contains(b.text(), "DENIED") {
		t.Errorf("the denial is not shown: %s", b.text())
	}
	paths := []string{"/console", "/console/events?decision=DENIED", "/console/holds", "/console/policy", "/console/webhooks", "/console/key", "/console/verify"}
	if v.operates {
		paths = []string{"/console/keys"} // the others are the holder's
	}
	for _, path := range paths {
		b.visit(path)
		for _, fault := range b.unreached() {
			t.Errorf("%s: %s", path, fault)
		}
	}
	b.visit("/console")
	b.tabTo("button Sign out")
	b.enter("/console/sign-in")
	b.checkReports()
}
