package e2e

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"bailiff/fuzz/kit/passkey"
	"bailiff/fuzz/kit/port"
)

// approvalsPolicy holds transfers from a quarter of an ETH on, transfers of USDC, and pushes.
const approvalsPolicy = `version: 2.4.0

## evm
allowed_chains: 8453
allowed_actions: wallet.transfer
max_transaction_eth: 5
consensus_threshold_eth: 0.25
consensus_require_hold: true

## tool_calls
allowed: bash
bash.require_approval: git push

## soft_limits
daily_evm_limit_eth: 20
`

// An office is a service whose holds people decide with passkeys.
type office struct {
	*running
	origin string
	key    string // an API key, and its id
	keyID  string
}

// newOffice starts a service that browsers find at localhost.
func newOffice(t *testing.T, settings ...string) *office {
	t.Helper()
	port, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	origin := "http://localhost:" + port
	s := newSite(t, approvalsPolicy, append([]string{"SVC_LISTEN=127.0.0.1:" + port, "SVC_PUBLIC_URL=" + origin}, settings...)...)
	o := &office{running: s.start(), origin: origin}
	o.key, o.keyID = s.newKey()
	return o
}

// A person is somebody with a device, and with the browser's cookie.
type person struct {
	o      *office
	name   string
	device passkey.Device
	cookie string
}

// sheet is a page as a browser got it.
type sheet struct {
	status   int
	text     string
	location string
}

// send sends a request of a browser; form is nil for a GET.
func (p *person) send(path string, form url.Values) sheet {
	p.o.t.Helper()
	got, err := p.try(path, form)
	if err != nil {
		p.o.t.Fatal(err)
	}
	return got
}

// try sends a request of a browser to the address of the office, whatever its origin.
func (p *person) try(path string, form url.Values) (sheet, error) {
	method, body := "GET", io.Reader(nil)
	if form != nil {
		method, body = "POST", strings.NewReader(form.Encode())
	}
	request, err := http.NewRequest(method, p.o.base+path, body)
	if err != nil {
		return sheet{}, err
	}
	request.Host = strings.TrimPrefix(p.o.origin, "http://")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", p.o.origin)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	if p.cookie != "" {
		request.Header.Set("Cookie", p.cookie)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return sheet{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return sheet{}, err
	}
	for _, cookie := range response.Cookies() {
		p.cookie = cookie.Name + "=" + cookie.Value
	}
	return sheet{response.StatusCode, html.UnescapeString(string(text)), response.Header.Get("Location")}, nil
}

// wants fails where a page is another than expected.
func (p *person) wants(what string, got sheet, status int, text string) sheet {
	p.o.t.Helper()
	if got.status != status || !strings.Contains(strings.ToLower(got.text), strings.ToLower(text)) {
		p.o.t.Fatalf("%s: %d\n%s\nwant %d with %q", what, got.status, got.text, status, text)
	}
	return got
}

var (
	anyOptions = regexp.MustCompile(`(?:data-decision="([A-Z]+)" )?data-options="(\{.*\})"`)
	anyNonce   = regexp.MustCompile(`name="nonce" value="([0-9a-f]{64})"`)
	sixWords   = regexp.MustCompile(`id="words">([a-z -]+)<`)
)

// options returns the options of a page's button.
func (p *person) options(of sheet, decision string) []byte {
	p.o.t.Helper()
	for _, found := range anyOptions.FindAllStringSubmatch(of.text, -1) {
		if found[1] == decision {
			return []byte(found[2])
		}
	}
	p.o.t.Fatalf("the page has no button for %q:\n%s", decision, of.text)
	return nil
}

// hire opens an enrolment, makes a passkey with it and returns the six words. It is not confirmed yet.
func (o *office) hire(name string) (p *person, words string) {
	o.t.Helper()
	var opened struct{ Link, Code string }
	if err := json.Unmarshal([]byte(o.site.must("approvers", "add", name, "--json")), &opened); err != nil {
		o.t.Fatal(err)
	}
	p = &person{o: o, name: name, device: passkey.Device{Origin: o.origin}}
	path := strings.TrimPrefix(opened.Link, o.origin)
	p.wants("the link", p.send(path, nil), 200, "The code that the operator gave you")
	asked := p.wants("the code", p.send(path, url.Values{"code": {opened.Code}}), 200, "Make a passkey on this device")
	answer, err := p.device.Create(p.options(asked, ""))
	if err != nil {
		o.t.Fatal(err)
	}
	made := p.wants("the passkey", p.send(path, url.Values{"answer": {answer}}), 200, "six words")
	p.wants("the link again", p.send(path, nil), 409, "made with this link already")
	return p, sixWords.FindStringSubmatch(made.text)[1]
}

// approver is somebody who may decide up to an ETH, and pushes.
func (o *office) approver(name string, flags ...string) *person {
	o.t.Helper()
	p, words := o.hire(name)
	o.confirm(name, words, flags...)
	p.signIn()
	return p
}

func (o *office) confirm(name, words string, flags ...string) {
	o.t.Helper()
	if len(flags) == 0 {
		flags = []string{"--sections", "evm,tool_calls", "--most", "eth=1", "--without-amount"}
	}
	o.site.must(append([]string{"approvers", "confirm", name, "--key", o.site.path("operator.key"), "--words", words}, flags...)...)
}

// signIn signs in.
func (p *person) signIn() {
	p.o.t.Helper()
	asked := p.wants("the page to sign in", p.send("/approve", nil), 200, "Sign in with a passkey")
	p.wants("signing in", p.send("/approve/sign-in", url.Values{"answer": {p.sign(asked, "")}, "to": {"/approve"}}), 303, "")
}

// sign has the device sign what a page's button asks for.
func (p *person) sign(of sheet, decision string) string {
	p.o.t.Helper()
	answer, err := p.device.Get(p.options(of, decision))
	if err != nil {
		p.o.t.Fatal(err)
	}
	return answer
}

// form is the form of a hold's page, signed.
func (p *person) form(of sheet, decision string) url.Values {
	p.o.t.Helper()
	return url.Values{"decision": {decision}, "nonce": {anyNonce.FindStringSubmatch(of.text)[1]}, "answer": {p.sign(of, decision)}, "note": {"seen by " + p.name}}
}

// decides opens a hold's page and decides.
func (p *person) decides(hold, decision string) sheet {
	p.o.t.Helper()
	shown := p.wants("the hold's page", p.send("/approve/holds/"+hold, nil), 200, "with the passkey")
	return p.send("/approve/holds/"+hold, p.form(shown, decision))
}

// transfer asks for a transfer of so many ETH.
func (o *office) transfer(eth string, n int) answer {
	o.t.Helper()
	a, err := o.post("/v1/authorize", o.key, fmt.Sprintf(`{"framework":"custom","agentId":"trader-1","chainId":8453,"txCommit":"%064x","intent":{"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":%q}}`, n, eth))
	if err != nil {
		o.t.Fatal(err)
	}
	return a
}

// held asks for a transfer that a person has to decide about.
func (o *office) held(eth string, n int) string {
	o.t.Helper()
	a := o.transfer(eth, n)
	if a.Status != "PENDING" {
		o.t.Fatalf("%s", a.Raw)
	}
	return a.HoldID
}

// TestApprovals: an approver makes a passkey, is confirmed, reads what a hold is about, approves one and denies another, and the agent is told.
func TestApprovals(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	p, words := o.hire("alice")
	asked := p.send("/approve", nil)
	p.wants("before the confirmation", p.send("/approve/sign-in", url.Values{"answer": {p.sign(asked, "")}}), 403, "has not confirmed it")
	if out, errors, code := o.site.run("approvers", "confirm", "alice", "--key", o.site.path("operator.key"), "--sections", "evm", "--words", "one two three four five six"); code == 0 || !strings.Contains(errors, "not the words") {
		t.Fatalf("wrong words: %d %s%s", code, out, errors)
	}
	o.confirm("alice", words)
	p.signIn()

	hold := o.held("0.50", 1)
	p.wants("the list", p.send("/approve", nil), 200, hold)
	shown := p.send("/approve/holds/"+hold, nil)
	for _, line := range []string{"0.5 ETH (500000000000000000 base units)", `<dt>amount as sent</dt><dd>"0.50"</dd>`, "trader-1", o.keyID, "evm.consensus_threshold_eth, line 7 of the policy", "0x00000000000000000000000000000000000000aa", "20 of 20 ETH in the day"} {
		p.wants("the hold's page", shown, 200, line)
	}
	p.wants("approving", p.send("/approve/holds/"+hold, p.form(shown, "ALLOWED")), 200, "It is approved")
	if a := o.transfer("0.5", 1); a.Status != "ALLOWED" {
		t.Fatalf("what was approved: %s", a.Raw)
	}
	second := o.held("0.6", 2)
	p.wants("denying", p.decides(second, "DENIED"), 200, "It is denied")
	if a := o.transfer("0.6", 2); a.Status != "DENIED" {
		t.Fatalf("what was denied: %s", a.Raw)
	}
	if got := o.send("GET", "/v1/holds/"+second, o.key, ""); !strings.Contains(got.body, `"note":"seen by alice"`) {
		t.Fatalf("the note does not reach the agent: %+v", got)
	}
	o.longCommand(p)
	if err := o.stop(); err != nil {
		t.Fatal(err)
	}
	if out := o.site.must("events", "verify", "--approvals"); !strings.Contains(out, "3 decisions by passkey") {
		t.Fatal(out)
	}
}

// longCommand: a part that has no room in a hold's summary comes before the buttons of its page, where a person reads it without opening anything.
func (o *office) longCommand(p *person) {
	o.t.Helper()
	const tail = "--force-the-tail"
	a, err := o.post("/v1/authorize", o.key, `{"framework":"custom","agentId":"coder-2","txCommit":"`+strings.Repeat("ab", 32)+`","intent":{"action":"bash","command":"git push origin main `+strings.Repeat("a", 300)+` `+tail+`"}}`)
	if err != nil || a.Status != "PENDING" {
		o.t.Fatalf("%v %s", err, a.Raw)
	}
	shown := p.wants("a long command", p.send("/approve/holds/"+a.HoldID, nil), 200, tail)
	open, end, button := strings.Index(shown.text, `<pre id="intent">`), strings.Index(shown.text, tail), strings.Index(shown.text, `data-decision="ALLOWED"`)
	if open < 0 || end < open || button < end || strings.Contains(shown.text, "<details>") {
		o.t.Fatalf("the end of the command is not before the buttons:\n%s", shown.text)
	}
	p.wants("approving it", p.send("/approve/holds/"+a.HoldID, p.form(shown, "ALLOWED")), 200, "It is approved")
}

// TestApprovalAttacks: what is not exactly a confirmed passkey's signature over what was shown, within its bounds, decides nothing, and says why.
func TestApprovalAttacks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	p := o.approver("alice")
	other := o.approver("bob")
	hold, otherHold := o.held("0.5", 1), o.held("0.6", 2)
	path := "/approve/holds/" + hold
	refused := func(what string, got sheet, why string) {
		t.Helper()
		p.wants(what, got, 403, why)
		if view := o.send("GET", "/v1/holds/"+hold, o.key, ""); !strings.Contains(view.body, `"status":"PENDING"`) {
			t.Fatalf("%s: %s", what, view.body)
		}
	}
	o.lies(p, path, refused)
	shown := p.send(path, nil)
	form := p.form(shown, "ALLOWED")
	form.Set("answer", p.sign(shown, "DENIED"))
	refused("the signature of a denial", p.send(path, form), "challenge")
	refused("the same page again", p.send(path, p.form(shown, "ALLOWED")), "this page was used")
	shown = p.send(path, nil)
	refused("a page for another hold", p.send("/approve/holds/"+otherHold, p.form(shown, "ALLOWED")), "of another hold")
	first, second := p.send(path, nil), p.send(path, nil)
	form = p.form(second, "ALLOWED")
	form.Set("answer", p.sign(first, "ALLOWED")) // what an earlier page of the same hold asked for
	refused("another page's signature", p.send(path, form), "challenge")
	shown = p.send("/approve/holds/"+otherHold, nil)
	form = p.form(p.send(path, nil), "ALLOWED")
	form.Set("answer", p.sign(shown, "ALLOWED"))
	refused("another hold's signature", p.send(path, form), "challenge")
	form = p.form(p.send(path, nil), "ALLOWED")
	form.Set("answer", other.sign(p.send(path, nil), "ALLOWED"))
	refused("another approver's passkey", p.send(path, form), "another passkey than the one that signed in")
	form = p.form(other.send(path, nil), "ALLOWED") // a page of another visit
	refused("another visit's page", p.send(path, form), "this page was used")
	stranger := &person{o: o, name: "mallory", device: passkey.Device{Origin: o.origin}}
	refused("no visit", stranger.send(path, form), "Your visit is over")
	refused("an API key", sheetOf(o.send("POST", path, o.key, form.Encode(), "Content-Type: application/x-www-form-urlencoded", "Origin: "+o.base)), "Your visit is over")
	refused("from another site", sheetOf(o.send("POST", path, "", form.Encode(), "Content-Type: application/x-www-form-urlencoded", "Origin: https://evil.example", "Cookie: "+p.cookie)), "not sent by a page of this service")
	asked := stranger.send("/approve", nil)
	answer := p.sign(asked, "")
	p.wants("a sign-in", p.send("/approve/sign-in", url.Values{"answer": {answer}}), 303, "")
	p.wants("the same sign-in again", stranger.send("/approve/sign-in", url.Values{"answer": {answer}}), 403, "was used before")
	if _, err := stranger.device.Create([]byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	refused("an unknown passkey", stranger.send("/approve/sign-in", url.Values{"answer": {stranger.sign(stranger.send("/approve", nil), "")}}), "has not confirmed it")

	// An assertion that was good is not good again.
	shown = p.send(path, nil)
	form = p.form(shown, "ALLOWED")
	p.wants("approving", p.send(path, form), 200, "It is approved")
	p.wants("replayed", p.send(path, form), 403, "this page was used")
	form.Set("nonce", anyNonce.FindStringSubmatch(p.send("/approve/holds/"+otherHold, nil).text)[1])
	p.wants("replayed for another hold", p.send("/approve/holds/"+otherHold, form), 403, "challenge")
}

// lies has a device sign something else than it was asked for.
func (o *office) lies(p *person, path string, refused func(what string, got sheet, why string)) {
	o.t.Helper()
	lie := func(what, why string, change func(*passkey.Said)) {
		o.t.Helper()
		p.device.Lie = change
		form := p.form(p.send(path, nil), "ALLOWED")
		p.device.Lie = nil
		refused(what, p.send(path, form), why)
	}
	lie("without a person", "(UV)", func(s *passkey.Said) { s.Flags = 0 })
	lie("without UV", "(UV)", func(s *passkey.Said) { s.Flags = passkey.Present })
	lie("another origin", "asked for by https://evil.example", func(s *passkey.Said) { s.Origin = "https://evil.example" })
	lie("the origin in capitals", "asked for by HTTP://LOCALHOST", func(s *passkey.Said) { s.Origin = strings.ToUpper(s.Origin) })
	lie("another host", "of another host than localhost", func(s *passkey.Said) { s.RPID = "evil.example" })
	lie("a frame", "within a page of another origin", func(s *passkey.Said) { s.CrossOrigin = true })
	lie("another ceremony", "ceremony", func(s *passkey.Said) { s.Type = "webauthn.create" })
	lie("another challenge", "challenge", func(s *passkey.Said) { s.Challenge = "AAAA" })
}

func sheetOf(r reply) sheet { return sheet{status: r.status, text: html.UnescapeString(r.body)} }

// TestApprovalBounds: a passkey decides what the operator has signed that it may, and nothing any more once it is suspended, removed or the service frozen.
func TestApprovalBounds(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, otherID := o.newKey()
	key := o.path("operator.key")
	p := o.approver("alice")
	can := func(p *person, what, hold, why string) {
		t.Helper()
		shown := p.send("/approve/holds/"+hold, nil)
		if why == "" {
			p.wants(what, shown, 200, "Approve with the passkey")
			return
		}
		p.wants(what, shown, 200, why)
		if !strings.Contains(shown.text, "You can't decide this: ") && !strings.Contains(shown.text, "You can deny this, and not approve it: ") {
			t.Fatalf("%s: the page does not say so:\n%s", what, shown.text)
		}
		if strings.Contains(shown.text, `data-decision="ALLOWED"`) {
			t.Fatalf("%s: the page has a button", what)
		}
	}
	small, large := o.held("1", 1), o.held("1.000000000000000001", 2)
	push, err := o.post("/v1/authorize", o.key, `{"framework":"custom","agentId":"coder-2","txCommit":"`+strings.Repeat("ab", 32)+`","intent":{"action":"bash","command":"git push origin main"}}`)
	if err != nil || push.Status != "PENDING" {
		t.Fatalf("%v %s", err, push.Raw)
	}
	can(p, "at the bound", small, "")
	can(p, "above the bound", large, "the passkey is for at most")
	can(p, "a push", push.HoldID, "")
	bob := o.approver("bob", "--sections", "evm", "--most", "usdc=1", "--policy", o.usdcPolicy())
	can(bob, "none of that asset", small, "the passkey is not for amounts of eth")
	can(bob, "another section", push.HoldID, "the passkey is not for the section tool_calls")
	carol := o.approver("carol", "--sections", "evm,tool_calls", "--most", "eth=1", "--keys", otherID)
	carol.wants("another API key", carol.send("/approve/holds/"+small, nil), 404, "is not for its API key")
	carol.wants("another API key", carol.send("/approve", nil), 200, "Nothing waits for you")
	o.must("approvers", "confirm", "carol", "--key", key, "--words", o.words("carol"), "--sections", "evm,tool_calls", "--most", "eth=1")
	carol.wants("after other bounds the visit is over", carol.send("/approve", nil), 200, "Sign in with a passkey")
	carol.signIn()
	can(carol, "every API key", small, "")
	can(carol, "without an amount", push.HoldID, "not for intents without an amount")

	o.stopped(p, small)
	o.badStatements()
}

// stopped: a page that was shown decides nothing once its approver is suspended or removed, or the service frozen.
func (o *office) stopped(p *person, small string) {
	o.t.Helper()
	key := o.path("operator.key")
	shown := p.send("/approve/holds/"+small, nil)
	form := p.form(shown, "ALLOWED")
	o.must("approvers", "suspend", "alice", "--key", key)
	p.wants("suspended since the page was shown", p.send("/approve/holds/"+small, form), 403, "Your visit is over")
	p.wants("suspended", p.send("/approve", nil), 200, "Sign in with a passkey")
	o.must("approvers", "resume", "alice", "--key", key)
	p.signIn()
	form = p.form(p.send("/approve/holds/"+small, nil), "ALLOWED")
	o.must("freeze")
	p.wants("frozen", p.send("/approve/holds/"+small, form), 403, "frozen")
	o.must("thaw", "--key", key)
	form = p.form(p.send("/approve/holds/"+small, nil), "ALLOWED")
	o.must("approvers", "remove", "alice", "--key", key)
	p.wants("removed", p.send("/approve/holds/"+small, form), 403, "Your visit is over")
	if view := o.send("GET", "/v1/holds/"+small, o.key, ""); !strings.Contains(view.body, `"status":"PENDING"`) {
		o.t.Fatal(view.body)
	}
}

// badStatements: statements are signed by the operator, with the next serial, about a passkey that somebody has made.
func (o *office) badStatements() {
	key := o.path("operator.key")
	stranger := o.path("stranger.key")
	o.must("keygen", "-o", stranger)
	for _, c := range []struct {
		why       string
		arguments []string
	}{
		{"not signed by the service's operator", []string{"suspend", "carol", "--key", stranger}},
		{"no such device", []string{"suspend", "nobody", "--key", key}},
		{"no passkey of dave waits", []string{"confirm", "dave", "--key", key, "--sections", "evm", "--words", "x"}},
		{"it can have", []string{"confirm", "carol", "--key", key, "--sections", "evn", "--words", "x"}},
		{"decimals are not known", []string{"confirm", "carol", "--key", key, "--sections", "evm", "--most", "usdc=5", "--words", "x"}},
		{"lower-case", []string{"add", "Dave Miller"}},
	} {
		if out, errors, code := o.run(append([]string{"approvers"}, c.arguments...)...); code == 0 || !strings.Contains(errors, c.why) {
			o.t.Errorf("%v: exit %d %s%s; want %q", c.arguments, code, out, errors, c.why)
		}
	}
}

// words returns the words of an approver's device.
func (o *office) words(name string) string {
	o.t.Helper()
	var list struct {
		Devices []struct{ Approver, Words string }
	}
	if err := json.Unmarshal([]byte(o.must("approvers", "list", "--json")), &list); err != nil {
		o.t.Fatal(err)
	}
	for _, d := range list.Devices {
		if d.Approver == name {
			return d.Words
		}
	}
	o.t.Fatalf("%s is not listed", name)
	return ""
}

// usdcPolicy is a file of a policy that knows USDC.
func (o *office) usdcPolicy() string {
	o.write("usdc.md", "version: 2.0.0\n\n## evm\nallowed_chains: 8453\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\ntoken.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\n")
	return o.path("usdc.md")
}

// TestTwoApprovers: it takes two people to allow and one to deny, and a restart forgets neither approvers nor half an approval.
func TestTwoApprovers(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "SVC_APPROVALS_REQUIRED=2")
	alice, bob := o.approver("alice"), o.approver("bob")
	second := o.approver("alice") // her other device
	if out, errors, code := o.run("approvers", "add", "alice"); code == 0 || !strings.Contains(errors, "has 2 devices already") {
		t.Fatalf("a third device: %s%s", out, errors)
	}
	hold := o.held("0.5", 1)
	alice.wants("the first", alice.decides(hold, "ALLOWED"), 200, "It waits for another approver")
	alice.wants("the same device", alice.send("/approve/holds/"+hold, nil), 200, "you have approved it")
	second.wants("the same person", second.send("/approve/holds/"+hold, nil), 200, "you have approved it")
	if a := o.transfer("0.5", 1); a.Status != "PENDING" {
		t.Fatalf("%s", a.Raw)
	}
	denied := o.held("0.6", 2)
	alice.wants("the first", alice.decides(denied, "ALLOWED"), 200, "It waits for another approver")
	bob.wants("one denies", bob.decides(denied, "DENIED"), 200, "It is denied")
	third := o.held("0.7", 3)
	alice.wants("the first", alice.decides(third, "ALLOWED"), 200, "It waits for another approver")

	if err := o.stop(); err != nil {
		t.Fatal(err)
	}
	o.running = o.site.start()
	bob.wants("after a restart", bob.send("/approve/holds/"+hold, nil), 200, "Sign in with a passkey")
	bob.signIn()
	bob.wants("the first is known", bob.send("/approve/holds/"+hold, nil), 200, "Approved by alice")
	o.must("approvers", "suspend", "alice", "--key", o.path("operator.key"))
	bob.wants("half of it is suspended", bob.decides(third, "ALLOWED"), 200, "It waits for another approver")
	o.must("approvers", "resume", "alice", "--key", o.path("operator.key"))
	bob.wants("the second", bob.decides(hold, "ALLOWED"), 200, "It is approved")
	if a := o.transfer("0.5", 1); a.Status != "ALLOWED" {
		t.Fatalf("%s", a.Raw)
	}
	alice.signIn()
	alice.wants("hers from before counts no more", alice.send("/approve/holds/"+third, nil), 200, "Approve with the passkey")
	alice.wants("she approves again, beside bob", alice.decides(third, "ALLOWED"), 200, "It is approved")
}

// TestEnrolmentAttacks: a link without its code makes no passkey, five wrong codes end it, and one that somebody else has used has other words.
func TestEnrolmentAttacks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var opened struct{ Link, Code string }
	open := func(name string) *person {
		t.Helper()
		if err := json.Unmarshal([]byte(o.must("approvers", "add", name, "--json")), &opened); err != nil {
			t.Fatal(err)
		}
		return &person{o: o, name: name, device: passkey.Device{Origin: o.origin}}
	}
	path := func() string { return strings.TrimPrefix(opened.Link, o.origin) }
	p := open("alice")
	for range 4 {
		p.wants("a wrong code", p.send(path(), url.Values{"code": {"00000000x"}}), 403, "The code is wrong")
	}
	p.wants("the fifth", p.send(path(), url.Values{"code": {"00000000x"}}), 403, "has ended")
	p.wants("the right code then", p.send(path(), url.Values{"code": {opened.Code}}), 404, "not good any more")

	p = open("alice")
	old := path()
	p.wants("a passkey without the code", p.send(path(), url.Values{"answer": {"{}"}}), 403, "")
	open("alice") // in place of the other one
	p.wants("a link that was replaced", p.send(old, nil), 404, "not good any more")
	asked := o.badPasskeys(p, path(), opened.Code)
	stolen, err := p.device.Create(p.options(asked, ""))
	if err != nil {
		t.Fatal(err)
	}
	thief := p.wants("a thief with link and code", p.send(path(), url.Values{"answer": {stolen}}), 200, "six words")
	owner := open("alice") // who finds the link used, and asks for another one
	asked = owner.send(path(), url.Values{"code": {opened.Code}})
	made, err := owner.device.Create(owner.options(asked, ""))
	if err != nil {
		t.Fatal(err)
	}
	words := sixWords.FindStringSubmatch(owner.wants("the owner", owner.send(path(), url.Values{"answer": {made}}), 200, "six words").text)[1]
	stolenWords := sixWords.FindStringSubmatch(thief.text)[1]
	if out, errors, code := o.run("approvers", "confirm", "alice", "--key", o.path("operator.key"), "--sections", "evm", "--words", stolenWords); code == 0 || !strings.Contains(errors, "not the words") {
		t.Fatalf("the thief's words: %s%s", out, errors)
	}
	o.confirm("alice", words)
	p.wants("the thief", p.send("/approve/sign-in", url.Values{"answer": {p.sign(p.send("/approve", nil), "")}}), 403, "has not confirmed it")
	owner.signIn()
}

// badPasskeys has a device make passkeys that are not what the page asked for, and returns the page that asks for the next one.
func (o *office) badPasskeys(p *person, path, code string) sheet {
	o.t.Helper()
	asked := p.send(path, url.Values{"code": {code}})
	for what, change := range map[string]func(*passkey.Said){
		"without UV":        func(s *passkey.Said) { s.Flags = passkey.Present | passkey.Attested },
		"another origin":    func(s *passkey.Said) { s.Origin = "https://evil.example" },
		"another host":      func(s *passkey.Said) { s.RPID = "evil.example" },
		"another challenge": func(s *passkey.Said) { s.Challenge = "AAAA" },
		"a frame":           func(s *passkey.Said) { s.CrossOrigin = true },
	} {
		p.device.Lie = change
		answer, err := p.device.Create(p.options(asked, ""))
		if err != nil {
			o.t.Fatal(err)
		}
		p.wants(what, p.send(path, url.Values{"answer": {answer}}), 403, "refused")
		asked = p.send(path, url.Values{"code": {code}})
	}
	p.device.Lie = nil
	return asked
}
