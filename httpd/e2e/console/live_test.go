package console

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// until waits for a condition of the page.
func (b *tab) until(what, condition string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !ask[bool](b, condition); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s: %s does not come about: %s", b.path(), what, b.text())
		}
	}
}

// shows is the condition that the table of events shows a text.
func shows(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("main tbody td")].some(cell => cell.innerText.toLowerCase() === %q.toLowerCase())`, text)
}

// newest is the condition that the first event of the table is of an agent.
func newest(agent string) string {
	return fmt.Sprintf(`document.querySelector("main tbody tr:first-child")?.cells[5].innerText === %q`, agent)
}

// testLive has events appear while the page is open, with markup of an agent in them, until they are switched off, and until a
// command ends the session.
func testLive(t *testing.T, s *stage, v visitor, end ...string) {
	k := v.key
	s.ask(k, "first", object{"action": "bash", "command": "ls"})
	b := s.open(t, v)
	b.visit("/console/events")
	b.until("the page is live", `!document.getElementById("live").hidden`)
	for _, agent := range marks("agentId") {
		s.ask(k, agent, object{"action": "bash", "command": "ls"})
	}
	last := marks("agentId")[len(markups)-1]
	b.until("the last event above the others", newest(last)) // the key may have older events of the same agents
	for _, agent := range marks("agentId") {
		b.until("the event of "+agent, shows(agent))
	}
	b.sound(s.axe)
	for _, fault := range b.marked() {
		t.Error(fault)
	}
	if all := b.column(0); !slices.IsSortedFunc(all, func(x, y string) int { return len(y) - len(x) }) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("the events are in the order %q", all)
	}
	b.load(chromedp.Click(chromedp.CSS("main tbody tr:first-child a")))
	if !strings.Contains(b.text(), last) {
		t.Errorf("the link of the new event leads to %s: %s", b.path(), b.text())
	}
	b.visit("/console/events")
	b.until("the page is live", `!document.getElementById("live").hidden`)
	b.do(chromedp.Click(chromedp.CSS("#live")))
	b.until("live updates are off", `document.getElementById("live").getAttribute("aria-pressed") === "false"`)
	s.ask(k, "quiet", object{"action": "bash", "command": "ls"})
	time.Sleep(2 * time.Second) // a page that is live would show it by now, on most machines
	if ask[bool](b, shows("quiet")) {
		t.Error("an event comes to a page that is not live")
	}
	b.do(chromedp.Click(chromedp.CSS("#live")))
	b.until("the event that was left out", shows("quiet"))
	if n := len(slices.DeleteFunc(b.column(5), func(agent string) bool { return agent != "quiet" })); n != 1 {
		t.Errorf("the event is there %d times", n)
	}
	b.checkReports()
	if _, err := s.service.Run(end...); err != nil {
		t.Fatal(err)
	}
	b.until("the end of the session", `document.body.innerText.includes("Live updates have ended")`)
	b.load(chromedp.Click(chromedp.CSS(`nav a[href="/console"]`)))
	if b.path() != "/console/sign-in" {
		t.Errorf("after bailiff %q the session shows %s", end, b.path())
	}
}
