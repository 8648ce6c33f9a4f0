package console

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// becomes waits until a script says yes.
func (b *tab) becomes(what, expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !ask[bool](b, expression); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("waited in vain for %s: %s", what, b.text())
		}
	}
}

// testLive has events happen while the page of events is open, and ends its session.
func testLive(t *testing.T, s *stage) {
	k := s.newKey()
	s.decides(k, "first", "ALLOWED", object{"action": "bash", "command": "ls"})
	b := open(t, s.browser, s.origin)
	b.signIn(k)
	b.visit("/console/events")
	b.becomes("the live page", `document.getElementById("live").getAttribute("aria-pressed") === "true"`)
	hostile := `<img src=x onerror="window.ran = 1">`
	s.decides(k, hostile, "ALLOWED", object{"action": "bash", "command": "ls"})
	b.becomes("an event that has just happened", `document.querySelector("main tbody tr").innerText.includes("onerror")`)
	if rows := ask[int](b, `document.querySelectorAll("main tbody img, main tbody script").length`); rows > 0 || ask[bool](b, "window.ran === 1") {
		t.Error("what an agent chose is markup in a live row")
	}
	b.do(chromedp.Click(chromedp.CSS("#live")))
	b.becomes("a page that is not live", `document.getElementById("live").getAttribute("aria-pressed") === "false"`)
	s.decides(k, "quiet", "ALLOWED", object{"action": "bash", "command": "ls"})
	time.Sleep(2 * time.Second)
	if strings.Contains(b.text(), "quiet") {
		t.Error("an event came to a page that is not live")
	}
	b.do(chromedp.Click(chromedp.CSS("#live")))
	b.becomes("the event that was left out", `document.querySelector("main tbody tr").innerText.includes("quiet")`)
	if n := ask[int](b, `[...document.querySelectorAll("main tbody tr")].filter(r => r.innerText.includes("quiet")).length`); n != 1 {
		t.Errorf("the event is there %d times", n)
	}
	if _, err := s.service.Run("keys", "revoke", k.ID); err != nil {
		t.Fatal(err)
	}
	b.becomes("the end of the session", `document.getElementById("live").innerText.includes("ended")`)
}
