package console

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// testOperator signs in to the operator's console as a person does, and looks at a key. The browser has to take the cookie.
func testOperator(t *testing.T, s *stage, k key) {
	output, err := s.service.Run("console", "--json")
	var signIn struct{ URL, Code string }
	if err == nil {
		err = json.Unmarshal([]byte(output), &signIn)
	}
	if err != nil {
		t.Fatalf("no code was made: %v: %s", err, output)
	}
	b := open(t, s.browser, strings.TrimSuffix(signIn.URL, "/"))
	b.visit("/")
	b.sound(s.axe)
	b.load(chromedp.SendKeys(chromedp.CSS("#code"), signIn.Code), chromedp.Click(chromedp.CSS("main form button")))
	if path := b.path(); path != "/console/keys" || !strings.Contains(b.text(), k.ID) {
		t.Fatalf("after signing in the browser is at %s: %s", path, b.text())
	}
	b.sound(s.axe)
	b.load(chromedp.Click(chromedp.CSS(`button[aria-label="Show key ` + k.ID + `"]`)))
	if path := b.path(); path != "/console" || !strings.Contains(b.text(), k.ID) {
		t.Fatalf("after choosing a key the browser is at %s: %s", path, b.text())
	}
	b.visit("/console/events")
	if !strings.Contains(b.text(), "trader-1") {
		t.Errorf("the events of the key are not shown: %s", b.text())
	}
}
