package approvals_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/passkey"
	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/approvals"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const origin = "https://bailiff.example.com"

// A desk is a service in memory whose holds approvers decide, with a clock that stands still.
type desk struct {
	*approvals.Approvals
	t        *testing.T
	ctx      context.Context
	now      time.Time
	ledger   ledger.Ledger
	decider  *decision.Decider
	operator ed25519.PrivateKey
	key      *ledger.Key
	policy   string
}

func newDesk(t *testing.T, needed int, more ...string) *desk {
	t.Helper()
	d := &desk{t: t, ctx: context.Background(), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), ledger: memory.New(), operator: operatorKey(7)}
	t.Cleanup(func() { d.ledger.Close() })
	random := rand.NewChaCha8([32]byte{1})
	signer, err := attest.LoadOrCreate(t.TempDir(), random)
	if err != nil {
		t.Fatal(err)
	}
	d.policy = "version: 2.4.0\n\n## evm\nallowed_chains: 8453\nallowed_actions: wallet.transfer, contract.call\nmax_transaction_eth: 9\nconsensus_threshold_eth: 0.25\nconsensus_require_hold: true\n" + strings.Join(more, "")
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(d.policy)))
	if err != nil {
		t.Fatal(err)
	}
	policy.Text = []byte(d.policy)
	d.decider, err = decision.New(decision.Config{
		Service: service.Config{
			Ledger: d.ledger, Signer: signer, Environment: service.Production, Issuer: "svc-core", Operator: [32]byte(d.operator.Public().(ed25519.PublicKey)),
			Clock: func() time.Time { return d.now }, Random: random, Log: slog.New(slog.DiscardHandler),
		},
		Policies: policies.Config{Default: policy}, Accounts: accounts.Config{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.decider.BindDefault(d.ctx); err != nil {
		t.Fatal(err)
	}
	if d.Approvals, err = approvals.New(approvals.Config{Decider: d.decider, PublicURL: origin, Needed: needed}); err != nil {
		t.Fatal(err)
	}
	view, err := d.decider.Admin().CreateKey(d.ctx, accounts.NewKey{Email: "agent@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if d.key, err = d.decider.KeyOf(view.ID); err != nil {
		t.Fatal(err)
	}
	return d
}

func operatorKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

// device is a device in a browser that shows the service's pages.
func device() *passkey.Device { return &passkey.Device{Origin: origin} }

// enrol makes a passkey known.
func (d *desk) enrol(name string, made *passkey.Device) *passkey.Device {
	d.t.Helper()
	opened, err := d.Enrol(d.ctx, name)
	if err != nil {
		d.t.Fatal(err)
	}
	token := strings.TrimPrefix(opened.Link, origin+"/approve/enrol/")
	options, fault := d.BeginEnrolment(d.ctx, token, opened.Code)
	if fault != nil {
		d.t.Fatal(fault)
	}
	answer, err := made.Create(options)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, fault := d.FinishEnrolment(d.ctx, token, []byte(answer)); fault != nil {
		d.t.Fatal(fault)
	}
	return made
}

// statement is one that confirms what was enrolled under a name, for up to an ETH and a day.
func (d *desk) statement(name string) eventjson.Approver {
	d.t.Helper()
	list, err := d.Approvers(d.ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	form := eventjson.Approver{
		Action: "confirm", Name: name, Serial: list.Serial + 1, SignedAt: d.now.Unix(), Sections: []string{"evm"},
		Amounts: map[string]string{"eth": "1000000000000000000"}, ExpiresAt: d.now.Add(24 * time.Hour).Unix(),
	}
	for _, e := range list.Enrolments {
		if e.Name == name {
			form.Credential, form.PublicKey = e.Credential, e.PublicKey
		}
	}
	return form
}

// state signs a statement, and has the service take it.
func (d *desk) state(form eventjson.Approver, by ed25519.PrivateKey) error {
	d.t.Helper()
	form.Operator = attest.FormatOperatorKey(by.Public().(ed25519.PublicKey))
	statement, err := form.Statement()
	if err != nil {
		return err
	}
	form.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(by, statement.Text(service.Production, "svc-core")))
	_, err = d.State(d.ctx, form)
	return err
}

// approver is somebody who may decide, and has signed in.
func (d *desk) approver(name string) (*passkey.Device, *approvals.Visit) {
	d.t.Helper()
	made := d.enrol(name, device())
	if err := d.state(d.statement(name), d.operator); err != nil {
		d.t.Fatal(err)
	}
	return made, d.signIn(made)
}

func (d *desk) signIn(made *passkey.Device) *approvals.Visit {
	d.t.Helper()
	visit, err := d.trySignIn(made)
	if err != nil {
		d.t.Fatal(err)
	}
	return visit
}

func (d *desk) trySignIn(made *passkey.Device) (*approvals.Visit, error) {
	d.t.Helper()
	options, fault := d.SignInOptions()
	if fault != nil {
		d.t.Fatal(fault)
	}
	answer, err := made.Get(options)
	if err != nil {
		d.t.Fatal(err)
	}
	token, fault := d.SignIn(d.ctx, []byte(answer))
	if fault != nil {
		return nil, fault
	}
	visit, fault := d.Visit(d.ctx, token)
	if fault != nil || visit == nil {
		return nil, fmt.Errorf("no visit: %w", fault)
	}
	return visit, nil
}

// hold opens a hold for a transfer of so many ETH.
func (d *desk) hold(eth string) string {
	d.t.Helper()
	return d.holdOf(fmt.Sprintf(`"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":%q`, eth))
}

// holdOf opens a hold for an intent of such members.
func (d *desk) holdOf(members string) string {
	d.t.Helper()
	var answer decision.Answer
	body := fmt.Sprintf(`{"framework":"custom","agentId":"trader-1","chainId":8453,"txCommit":"%064d","intent":{%s}}`, 1, members)
	if fault := d.decider.Decide(d.ctx, d.key, []byte(body), decision.Call{}, &answer); fault != nil || answer.HoldID == "" {
		d.t.Fatalf("%v %+v", fault, answer)
	}
	return answer.HoldID
}

// decide shows a hold and decides it; between happens after the page was shown.
func (d *desk) decide(visit *approvals.Visit, made *passkey.Device, hold string, outcome ledger.Decision, between func()) (string, error) {
	d.t.Helper()
	shown, fault := d.Show(d.ctx, visit, hold)
	if fault != nil {
		return "", fault
	}
	options := shown.Allow
	if outcome == ledger.Denied {
		options = shown.Deny
	}
	answer, err := made.Get(options)
	if err != nil {
		d.t.Fatal(err)
	}
	if between != nil {
		between()
	}
	view, fault := d.Decide(d.ctx, visit, hold, shown.Nonce, outcome, "", []byte(answer))
	if fault != nil {
		return "", fault
	}
	return view.Status, nil
}

func (d *desk) refused(what string, err error, why string) {
	d.t.Helper()
	if err == nil || !strings.Contains(err.Error(), why) {
		d.t.Errorf("%s: %v; want %q", what, err, why)
	}
}

// TestApprovalStatements: a statement is the operator's, for this service, of now, with the next serial, and about a passkey that was enrolled.
func TestApprovalStatements(t *testing.T) {
	d := newDesk(t, 1)
	d.enrol("alice", device())
	for _, c := range []struct {
		why    string
		by     byte
		change func(*eventjson.Approver)
	}{
		{"not signed by the service's operator", 8, func(*eventjson.Approver) {}},
		{"pinned to another operator key", 8, func(a *eventjson.Approver) { a.Keys = []string{d.key.ID.String()} }},
		{"no key has the id", 8, func(a *eventjson.Approver) { a.Keys = []string{ledger.ID{9}.String()} }},
		{"not within 300 seconds", 7, func(a *eventjson.Approver) { a.SignedAt -= 301 }},
		{"not within 300 seconds", 7, func(a *eventjson.Approver) { a.SignedAt += 301 }},
		{"which is over", 7, func(a *eventjson.Approver) { a.ExpiresAt = d.now.Unix() }},
		{"no passkey was enrolled", 7, func(a *eventjson.Approver) { a.Name = "bob" }},
		{"no passkey was enrolled", 7, func(a *eventjson.Approver) { a.PublicKey = a.Credential }},
		{"no such device", 7, func(a *eventjson.Approver) {
			*a = eventjson.Approver{Action: "remove", Name: "alice", Serial: 1, SignedAt: a.SignedAt}
		}},
		{"serial", 7, func(a *eventjson.Approver) { a.Serial = 0 }},
		{"action is", 7, func(a *eventjson.Approver) { a.Action = "promote" }},
	} {
		form := d.statement("alice")
		c.change(&form)
		d.refused(c.why, d.state(form, operatorKey(c.by)), c.why)
	}
	good := d.statement("alice")
	other := good
	other.WithoutAmount = true
	statement, err := other.Statement()
	if err != nil {
		t.Fatal(err)
	}
	forged := good
	forged.Operator = attest.FormatOperatorKey(d.operator.Public().(ed25519.PublicKey))
	forged.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.operator, statement.Text(service.Production, "svc-core")))
	_, err = d.State(d.ctx, forged)
	d.refused("the signature of other bounds", err, "does not verify")
	forged.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.operator, statement.Text(service.Test, "svc-core")))
	forged.WithoutAmount = true
	_, err = d.State(d.ctx, forged)
	d.refused("the signature for another environment", err, "does not verify")
	if err := d.state(good, d.operator); err != nil {
		t.Fatal(err)
	}
	if err := d.state(good, d.operator); !errors.Is(err, ledger.ErrStatementSerial) {
		t.Errorf("the same statement again: %v", err)
	}
	next := good
	next.Serial = 3
	d.refused("a serial that leaves one out", d.state(next, d.operator), "the next one is 2")
	theirs := ledger.Key{ID: ledger.ID{8}, Hash: [32]byte{8}, Environment: service.Production, Tier: "enterprise", Email: "other@example.com", Created: 1, Scopes: ledger.AllScopes, Operator: [32]byte(operatorKey(8).Public().(ed25519.PublicKey))}
	if err := d.ledger.CreateKey(d.ctx, theirs); err != nil {
		t.Fatal(err)
	}
	taken := good
	taken.Serial, taken.Keys = 2, []string{theirs.ID.String()}
	d.refused("another operator takes the device over", d.state(taken, operatorKey(8)), "not signed by the service's operator")
	d.refused("another operator removes it", d.state(eventjson.Approver{Action: "remove", Name: "alice", Serial: 2, SignedAt: d.now.Unix()}, operatorKey(8)), "not signed by the service's operator")
}

// TestApprovalTimes: a page decides once, for five minutes.
func TestApprovalTimes(t *testing.T) {
	d := newDesk(t, 1)
	made, visit := d.approver("alice")
	later := func(by time.Duration) func() { return func() { d.now = d.now.Add(by) } }
	hold := d.hold("0.5")
	_, err := d.decide(visit, made, hold, ledger.Allowed, later(5*time.Minute))
	d.refused("a page after five minutes", err, "older than five minutes")
	if status, err := d.decide(visit, made, hold, ledger.Allowed, later(5*time.Minute-1)); err != nil || status != "ALLOWED" {
		t.Errorf("a page just before: %s %v", status, err)
	}
	other := d.hold("0.6")
	shown, fault := d.Show(d.ctx, visit, other)
	if fault != nil {
		t.Fatal(fault)
	}
	for i, options := range [][]byte{shown.Deny, shown.Allow} { // the second one would be good
		answer, err := made.Get(options)
		if err != nil {
			t.Fatal(err)
		}
		_, fault = d.Decide(d.ctx, visit, other, shown.Nonce, ledger.Allowed, "", []byte(answer))
		d.refused("a page, again", fault, []string{"challenge", "this page was used"}[i])
	}
}

// TestApprovalVisits: signing in is good once and for five minutes, a visit for 15, a link for 30, and a passkey as long as the operator has signed.
func TestApprovalVisits(t *testing.T) {
	d := newDesk(t, 1)
	made, _ := d.approver("alice")
	later := func(by time.Duration) func() { return func() { d.now = d.now.Add(by) } }
	options, fault := d.SignInOptions()
	if fault != nil {
		t.Fatal(fault)
	}
	answer, err := made.Get(options)
	if err != nil {
		t.Fatal(err)
	}
	later(5 * time.Minute)()
	_, fault = d.SignIn(d.ctx, []byte(answer))
	d.refused("signing in after five minutes", fault, "the page is too old")

	options, fault = d.SignInOptions()
	if fault != nil {
		t.Fatal(fault)
	}
	if answer, err = made.Get(options); err != nil {
		t.Fatal(err)
	}
	token, fault := d.SignIn(d.ctx, []byte(answer))
	if fault != nil {
		t.Fatal(fault)
	}
	_, fault = d.SignIn(d.ctx, []byte(answer))
	d.refused("the same sign-in again", fault, "was used before")
	later(15*time.Minute - 1)()
	if visit, _ := d.Visit(d.ctx, token); visit == nil {
		t.Error("a visit has ended before 15 minutes")
	}
	later(1)()
	if visit, _ := d.Visit(d.ctx, token); visit != nil {
		t.Error("a visit lasts longer than 15 minutes")
	}
	opened, err := d.Enrol(d.ctx, "bob")
	if err != nil {
		t.Fatal(err)
	}
	carol := d.enrol("carol", device())
	later(30 * time.Minute)()
	_, _, fault = d.Enrolling(strings.TrimPrefix(opened.Link, origin+"/approve/enrol/"))
	d.refused("a link after 30 minutes", fault, "not good any more")
	if err := d.state(d.statement("carol"), d.operator); err != nil {
		t.Errorf("a passkey that was made in time is confirmed half an hour later: %v", err)
	}
	if _, err := d.trySignIn(carol); err != nil {
		t.Error(err)
	}
	later(24 * time.Hour)()
	_, err = d.trySignIn(made)
	d.refused("a passkey after its day", err, "its time is over")
}

// TestApprovalRaces: what changes between the page and the signature is judged when the decision is recorded.
func TestApprovalRaces(t *testing.T) {
	d := newDesk(t, 1)
	made, visit := d.approver("alice")
	change := func(action string) func() {
		return func() {
			list, err := d.Approvers(d.ctx)
			if err == nil {
				err = d.state(eventjson.Approver{Action: action, Name: "alice", Serial: list.Serial + 1, SignedAt: d.now.Unix()}, d.operator)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	hold := d.hold("0.5")
	_, err := d.decide(visit, made, hold, ledger.Allowed, change("suspend"))
	d.refused("suspended meanwhile", err, "may not decide")
	change("resume")()
	_, err = d.decide(visit, made, hold, ledger.Allowed, func() {
		if _, err := d.decider.Admin().Halt(d.ctx, accounts.HaltRequest{Action: accounts.Freeze}); err != nil {
			t.Fatal(err)
		}
	})
	var failure *service.Failure
	if !errors.As(err, &failure) || failure.Code != errcode.Frozen {
		t.Errorf("frozen meanwhile: %v", err)
	}
	if err := d.ledger.Halt(d.ctx, &ledger.Halt{At: d.now.UnixNano(), Signed: &ledger.HaltStatement{Serial: 1}}); err != nil {
		t.Fatal(err)
	}
	large := d.hold("1.1")
	shown, fault := d.Show(d.ctx, visit, large)
	if fault != nil || shown.Refused != "" || !strings.Contains(shown.RefusedApproval, "at most") {
		t.Fatalf("%v %+v", fault, shown)
	}
	answer, err := made.Get(shown.Allow)
	if err != nil {
		t.Fatal(err)
	}
	_, fault = d.Decide(d.ctx, visit, large, shown.Nonce, ledger.Allowed, "", []byte(answer))
	d.refused("a form of one's own for what is above the bound", fault, "at most")
	if status, err := d.decide(visit, made, large, ledger.Denied, nil); err != nil || status != "DENIED" {
		t.Errorf("a denial of what is above the bound: %s %v", status, err)
	}
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(d.policy+"\n# another one\n")))
	if err != nil {
		t.Fatal(err)
	}
	policy.Text = []byte(d.policy + "\n# another one\n")
	_, err = d.decide(visit, made, hold, ledger.Allowed, func() {
		if _, err := d.decider.ReplaceDefault(d.ctx, policy, func() {}); err != nil {
			t.Fatal(err)
		}
	})
	d.refused("another policy meanwhile", err, "another policy by now")
	if view, fault := d.decider.Hold(d.ctx, d.key, hold); fault != nil || view.Status != "PENDING" {
		t.Errorf("%v %+v", fault, view)
	}
}

// TestApprovalRecord: the record of a decision verifies, and no part of it can be another.
func TestApprovalRecord(t *testing.T) {
	d := newDesk(t, 2)
	alice, aliceVisit := d.approver("alice")
	bob, bobVisit := d.approver("bob")
	hold := d.hold("0.5")
	if status, err := d.decide(aliceVisit, alice, hold, ledger.Allowed, nil); err != nil || status != "PENDING" {
		t.Fatal(status, err)
	}
	if status, err := d.decide(bobVisit, bob, hold, ledger.Allowed, nil); err != nil || status != "ALLOWED" {
		t.Fatal(status, err)
	}
	if status, err := d.decide(bobVisit, bob, d.hold("0.6"), ledger.Denied, nil); err != nil || status != "DENIED" {
		t.Fatal(status, err)
	}
	page, err := d.ledger.Events(d.ctx, ledger.EventQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if c := d.checker(); verify(c, page.Events) != nil || c.Statements != 2 || c.Decisions != 3 {
		t.Fatalf("%v: %+v", verify(d.checker(), page.Events), c)
	}
	for what, change := range map[string]func(a *ledger.Approval, e *ledger.LoggedEvent){
		"summary":            func(a *ledger.Approval, _ *ledger.LoggedEvent) { a.Summary += "." },
		"nonce":              func(a *ledger.Approval, _ *ledger.LoggedEvent) { a.Nonce[0]++ },
		"authenticator data": func(a *ledger.Approval, _ *ledger.LoggedEvent) { a.AuthenticatorData[32] &^= passkey.Verified },
		"client data": func(a *ledger.Approval, _ *ledger.LoggedEvent) {
			a.ClientData = bytes.Replace(a.ClientData, []byte("example"), []byte("exampl3"), 1)
		},
		"signature": func(a *ledger.Approval, _ *ledger.LoggedEvent) { a.Signature[9]++ },
		"device":    func(a *ledger.Approval, _ *ledger.LoggedEvent) { a.Credential = alice.ID },
		"serial":    func(a *ledger.Approval, _ *ledger.LoggedEvent) { a.Serial++ },
		"name":      func(a *ledger.Approval, _ *ledger.LoggedEvent) { a.Name = "alice" },
		"decision":  func(_ *ledger.Approval, e *ledger.LoggedEvent) { e.HoldState = ledger.HoldAllowed },
	} {
		events := append([]ledger.LoggedEvent(nil), page.Events...)
		last := &events[len(events)-1]
		changed := *last.Approval
		changed.AuthenticatorData, changed.Signature = bytes.Clone(changed.AuthenticatorData), bytes.Clone(changed.Signature)
		change(&changed, last)
		last.Approval = &changed
		if verify(d.checker(), events) == nil {
			t.Errorf("a decision with another %s verifies", what)
		}
	}
	d.otherRecords(page.Events)
	d.otherHolds(page.Events)
}

// otherHolds: no decision is verified for a section that its device is not for, or for another intent, API key or policy than was signed for, and no
// approver approves a hold twice.
func (d *desk) otherHolds(events []ledger.LoggedEvent) {
	d.t.Helper()
	for i := range events {
		switch e := events[i]; {
		case e.Kind == ledger.Decided && e.HoldState == ledger.HoldPending:
			for what, c := range map[string]struct {
				why    string
				change func(*ledger.LoggedEvent)
			}{
				"section":     {"not for the section mcp", func(e *ledger.LoggedEvent) { e.Ending.Rule = "mcp.approval" }},
				"intent hash": {"has not signed that decision", func(e *ledger.LoggedEvent) { e.IntentHash[0]++ }},
				"API key":     {"has not signed that decision", func(e *ledger.LoggedEvent) { e.Key[0]++ }},
				"policy hash": {"has not signed that decision", func(e *ledger.LoggedEvent) { e.Event.PolicyHash[0]++ }},
			} {
				changed := append([]ledger.LoggedEvent(nil), events...)
				c.change(&changed[i])
				d.refused("a hold of another "+what, verify(d.checker(), changed), c.why)
			}
		case e.Kind == ledger.HoldApproved:
			twice := append(append(append([]ledger.LoggedEvent(nil), events[:i+1]...), e), events[i+1:]...)
			d.refused("the same approval again", verify(d.checker(), twice), "approved the hold "+e.Hold.String()+" twice")
		}
	}
}

// otherRecords: the record verifies for its own service alone, and with every statement.
func (d *desk) otherRecords(events []ledger.LoggedEvent) {
	d.t.Helper()
	for what, change := range map[string]func(*approvals.Checker){
		"issuer":      func(c *approvals.Checker) { c.Issuer = "other" },
		"environment": func(c *approvals.Checker) { c.Environment = service.Test },
		"address":     func(c *approvals.Checker) { c.PublicURLs = []string{"https://other.example.com"} },
		"operator":    func(c *approvals.Checker) { c.Operators = nil },
	} {
		c := d.checker()
		if change(c); verify(c, events) == nil {
			d.t.Errorf("the record verifies for another %s", what)
		}
	}
	for i := range events {
		if events[i].Approver != nil { // a record without who may decide
			if rest := append(append([]ledger.LoggedEvent(nil), events[:i]...), events[i+1:]...); verify(d.checker(), rest) == nil {
				d.t.Errorf("the record verifies without event %d", events[i].LSN)
			}
		}
	}
}

// checker is one of the service's log.
func (d *desk) checker() *approvals.Checker {
	return &approvals.Checker{
		PublicURLs: []string{origin}, Environment: service.Production, Issuer: "svc-core",
		Operators: [][32]byte{[32]byte(d.operator.Public().(ed25519.PublicKey))},
	}
}

func verify(c *approvals.Checker, events []ledger.LoggedEvent) error {
	for i := range events {
		if err := c.Next(&events[i]); err != nil {
			return err
		}
	}
	return c.End()
}

// TestApprovalTexts: what is signed has one form.
func TestApprovalTexts(t *testing.T) {
	form := eventjson.Approver{
		Action: "confirm", Serial: 3, SignedAt: 1764000000, Name: "alice", Credential: "AQI", PublicKey: "AwQ", Keys: []string{ledger.ID{2}.String(), ledger.ID{1}.String()},
		Sections: []string{"mcp", "evm"}, Amounts: map[string]string{"usdc": "7", "eth": "1000"}, WithoutAmount: true, ExpiresAt: 1795536000,
	}
	statement, err := form.Statement()
	if err != nil {
		t.Fatal(err)
	}
	want := "svc-approver-v1\nproduction\nsvc-core\nconfirm\nalice\nAQI\nAwQ\n01000000-0000-0000-0000-000000000000,02000000-0000-0000-0000-000000000000\nevm,mcp\neth=1000,usdc=7\ntrue\n1795536000\n1764000000\n3"
	if got := string(statement.Text("production", "svc-core")); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if again, err := eventjson.ApproverOf(statement).Statement(); err != nil || string(again.Text("production", "svc-core")) != want {
		t.Errorf("%v: %+v", err, again)
	}
	approval := ledger.Approval{Summary: "a", Nonce: [32]byte{1}}
	challenge := approval.Challenge("svc-core", &ledger.Hold{ID: ledger.ID{3}, Key: ledger.ID{4}, IntentHash: [32]byte{5}, PolicyHash: [32]byte{6}}, ledger.Allowed)
	if got := fmt.Sprintf("%x", challenge); got != "0347094ebd8bdae1a2df5c51cdfa728311a9f5d502c2d048f1aca9f943ad9839" {
		t.Errorf("the challenge is %s", got)
	}
	if got := approvals.Words([]byte{1, 2}, []byte{3, 4}); got != "divorcee cement headboard legroom oxymoron gopher" {
		t.Errorf("the words are %s", got)
	}
	for address, good := range map[string]bool{
		"https://bailiff.example.com": true, "https://bailiff.example.com:8443": true, "http://localhost:8787": true, "http://bailiff.example.com": false,
		"https://bailiff.example.com/": true, "https://example.com/bailiff": false, "https://example.com?a": false, "https://a@example.com": false, "https://b\u00fccher.example": false,
		"https://192.0.2.1": false, "https://[2001:db8::1]": false, "http://127.0.0.1:8787": false, "": false,
	} {
		if _, err := approvals.HoldPages(address); errors.Is(err, approvals.ErrPublicURL) == good {
			t.Errorf("%q: %v", address, err)
		}
	}
}
