package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// phone opens a tab of a phone, whose authenticator verifies its user, or does not.
func (s *stage) phone(t *testing.T, verifies bool) *tab {
	t.Helper()
	b := open(t, s.browser, s.origin)
	b.look(views[2])
	b.do(call(webauthn.Enable, webauthn.EnableParams{}), call(webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal, HasResidentKey: true, HasUserVerification: true,
		AutomaticPresenceSimulation: true, IsUserVerified: verifies,
	}}))
	return b
}

// pressed clicks a button that has the passkey sign, and returns the text of the page that follows.
func (b *tab) pressed(button string, status int) string {
	b.t.Helper()
	return b.refuses(status, chromedp.Click(chromedp.CSS(button)))
}

// enrol has an approver make a passkey, and the operator confirm it.
func (s *stage) enrol(t *testing.T, name string) *tab {
	t.Helper()
	b := s.phone(t, true)
	said, err := s.service.Run("approvers", "add", name, "--json")
	var opened struct{ Link, Code string }
	if err == nil {
		err = json.Unmarshal([]byte(said), &opened)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	at, err := url.Parse(opened.Link)
	if err != nil {
		t.Fatal(err)
	}
	b.visit(at.Path)
	b.sound(s.axe)
	b.look(views[2])
	b.load(chromedp.SendKeys(chromedp.CSS("#code"), opened.Code), chromedp.Click(chromedp.CSS("main button")))
	b.sound(s.axe)
	b.look(views[2])
	if text := b.pressed("main button", http.StatusOK); !strings.Contains(text, "six words") {
		t.Fatalf("no passkey was made: %s", text)
	}
	b.sound(s.axe)
	b.look(views[2])
	words := ask[string](b, `document.querySelector("#words").textContent`)
	if said, err := s.service.Run("approvers", "confirm", name, "--key", "operator.key", "--words", words, "--sections", "evm,tool_calls", "--most", "eth=0.5", "--without-amount"); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	b.visit("/approve")
	b.sound(s.axe)
	b.look(views[2])
	if text := b.pressed("main button", http.StatusOK); !strings.Contains(text, "Waiting for a decision") && !strings.Contains(text, "Nothing waits") {
		t.Fatalf("%s is not signed in: %s", name, text)
	}
	return b
}

var countdown = regexp.MustCompile(`Expires in 23:5\d:\d\d\.`)

// testApprovals enrols approvers on phones, who decide what an agent asks for; one of them loses a phone.
func testApprovals(t *testing.T, s *stage) {
	k := s.newKey()
	alice, bob := s.enrol(t, "alice"), s.enrol(t, "bob")
	transfer := object{"action": "wallet.transfer", "targetAddress": address, "amount": "0.3"}
	held := s.decides(k, "trader-1", "PENDING", transfer)
	var page struct{ HoldID, ApprovalURL string }
	if err := json.Unmarshal([]byte(held.Raw[4:]), &page); err != nil || page.ApprovalURL != s.origin+"/approve/holds/"+page.HoldID {
		t.Fatalf("%v: %s", err, held.Raw)
	}
	path := strings.TrimPrefix(page.ApprovalURL, s.origin)
	alice.visit("/approve")
	alice.sound(s.axe)
	alice.look(views[2])
	alice.visit(path)
	alice.sound(s.axe)
	alice.look(views[2])
	if text := alice.text(); !strings.Contains(text, "0.3 ETH (300000000000000000 base units)") || !strings.Contains(text, address) || !countdown.MatchString(text) {
		t.Errorf("the page of the hold: %s", text)
	}
	if text := alice.pressed("#approve", http.StatusOK); !strings.Contains(text, "It waits for another approver") {
		t.Errorf("the first of two: %s", text)
	}
	alice.sound(s.axe)
	bob.visit(path)
	if text := bob.text(); !strings.Contains(text, "Approved by alice") {
		t.Errorf("the second sees: %s", text)
	}
	if text := bob.pressed("#approve", http.StatusOK); !strings.Contains(text, "It is approved") {
		t.Errorf("the second of two: %s", text)
	}
	s.decides(k, "trader-1", "ALLOWED", transfer)

	push := object{"action": "bash", "command": "git push origin main"}
	hold := s.decides(k, "coder-2", "PENDING", push)
	if err := json.Unmarshal([]byte(hold.Raw[4:]), &page); err != nil {
		t.Fatal(err)
	}
	path = "/approve/holds/" + page.HoldID
	bob.visit(path)
	bob.do(chromedp.SendKeys(chromedp.CSS("#note"), "not on a Friday"))
	if text := bob.pressed("#deny", http.StatusOK); !strings.Contains(text, "It is denied") {
		t.Errorf("denying: %s", text)
	}
	s.decides(k, "coder-2", "DENIED", push)
	bob.visit(path)
	if text := bob.text(); !strings.Contains(text, "You can't decide this: it is DENIED already") {
		t.Errorf("what is decided: %s", text)
	}

	testLostPhone(t, s, bob)
}

// testLostPhone: a phone that is lost decides nothing, its owner's next one does, and one that does not verify its user makes no passkey.
func testLostPhone(t *testing.T, s *stage, bob *tab) {
	if said, err := s.service.Run("approvers", "remove", "bob", "--key", "operator.key"); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	bob.visit("/approve")
	if text := bob.pressed("main button", http.StatusForbidden); !strings.Contains(text, "may not decide here") {
		t.Errorf("the lost phone: %s", text)
	}
	s.enrol(t, "bob")

	careless := s.phone(t, false)
	said, err := s.service.Run("approvers", "add", "carol", "--json")
	var opened struct{ Link, Code string }
	if err == nil {
		err = json.Unmarshal([]byte(said), &opened)
	}
	if err != nil {
		t.Fatal(err)
	}
	careless.visit(strings.TrimPrefix(opened.Link, s.origin))
	careless.load(chromedp.SendKeys(chromedp.CSS("#code"), opened.Code), chromedp.Click(chromedp.CSS("main button")))
	careless.do(chromedp.Click(chromedp.CSS("main button")))
	if !ask[bool](careless, `new Promise(done => { const look = () => document.querySelector("[role=status]").textContent.startsWith("The passkey did not answer") ? done(true) : setTimeout(look, 100); look(); })`) {
		t.Error("a device without user verification has made a passkey")
	}
}
