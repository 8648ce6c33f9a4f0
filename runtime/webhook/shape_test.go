package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
	"bailiff/vm/errcode"
)

// formed registers a webhook with a format.
func (w *world) formed(n uint64, url string, format ledger.WebhookFormat) {
	w.Helper()
	err := w.l.CreateWebhook(w.Context(), ledger.Webhook{
		ID: ledgertest.ID('w', n), Key: ledgertest.ID('k', 1), URL: url, Topics: ledger.AllTopics, Format: format, Secret: secret, Created: w.now.Load(),
	})
	if err != nil {
		w.Fatal(err)
	}
}

// hold has a hold opened by an agent whose name steers what shows it.
func (w *world) hold() {
	w.Helper()
	w.decide(func(p *ledger.Plan) {
		p.Pass = ledger.Ending{Decision: ledger.Allowed}
		p.Event = ledger.Event{Endpoint: "/v1/authorize", AgentID: "<!channel> & \n<https://evil.example|x>", Action: "wallet.transfer"}
		p.Event.Subject.Set(subject.Amount, "0.5")
		p.Event.Subject.Set(subject.Unit, "ETH")
		p.Hold = &ledger.HoldRequest{
			Candidate: ledgertest.ID('h', 1), IntentHash: [32]byte{1}, PolicyHash: [32]byte{2}, Lifetime: time.Hour,
			Pending: ledger.Ending{Decision: ledger.Pending, Code: errcode.HoldConsensus, Rule: "evm.consensus_threshold_eth"},
			Denied:  ledger.Ending{Decision: ledger.Denied, Code: errcode.HoldDenied, Rule: "evm.consensus_threshold_eth"},
			Method:  "wallet.transfer", AgentID: "agent", PolicyVersion: "2.4.0", Intent: []byte(`{}`),
		}
	})
}

const link = "https://bailiff.example.com/approve/holds/"

// TestFormats: Slack, ntfy and e-mail get a message of what a hold is about, with the address of its page, and no markup of an agent's.
func TestFormats(t *testing.T) {
	mails := make(chan [4]string, 10)
	failing := true
	w := newWorld(t)
	w.stop()
	w.mail = func(_ context.Context, to, id, subject, text string) error {
		mails <- [4]string{to, id, subject, text}
		if failing {
			failing = false
			return errors.New("450 try again")
		}
		return nil
	}
	w.l.Close()
	w.open()
	slackURL, slack := receive(t, status(200))
	ntfyURL, ntfy := receive(t, status(200))
	w.formed(1, slackURL, ledger.SlackFormat)
	w.formed(2, ntfyURL+"/bailiff", ledger.NtfyFormat)
	w.formed(3, "mailto:ops@example.com", ledger.EmailFormat)
	w.hold()

	var said struct{ Text string }
	got := take(t, slack)
	if err := json.Unmarshal(got.body, &said); err != nil || !strings.HasPrefix(said.Text, "*PENDING: wallet.transfer*\n") ||
		!strings.Contains(said.Text, "agent: &lt;!channel&gt; &amp; \ufffd&lt;https[:]//evil[.]example|x&gt;\namount: 0.5\nunit: ETH\nrule: evm.consensus_threshold_eth") ||
		!strings.Contains(said.Text, "\n<"+link) || !strings.HasSuffix(said.Text, "|Decide>") || strings.Count(said.Text, "<") != 1 {
		t.Errorf("%v: %s", err, got.body)
	}
	got = take(t, ntfy)
	if text := string(got.body); got.Get("Title") != "PENDING: wallet.transfer" || !strings.HasPrefix(got.Get("Click"), link) || got.Get("Priority") != "high" ||
		!strings.Contains(text, "agent: <!channel> & \ufffd<https[:]//evil[.]example|x>\n") || !strings.Contains(text, "\n\nDecide: "+link) {
		t.Errorf("%v: %s", got.Header, text)
	}
	first := <-mails
	if first[0] != "ops@example.com" || first[2] != "Bailiff: PENDING: wallet.transfer" || !strings.Contains(first[3], "\n\nDecide: "+link) {
		t.Errorf("%q", first)
	}
	w.now.Add(int64(10 * time.Second))
	if again := <-mails; again != first {
		t.Errorf("again: %q; want %q", again, first)
	}
}

// TestFormatsFail: a receiver that takes nothing is asked in its own form, and is disabled.
func TestFormatsFail(t *testing.T) {
	w := newWorld(t)
	slackURL, slack := receive(t, status(http.StatusGone))
	w.formed(1, slackURL, ledger.SlackFormat)
	w.formed(2, "mailto:ops@example.com", ledger.EmailFormat) // and there is no server for it
	for range disableFailures {
		w.deny()
		if got := take(t, slack); !strings.Contains(string(got.body), "DENIED: bash") {
			t.Errorf("%s", got.body)
		}
		w.counted(ledgertest.ID('w', 1))
	}
	w.now.Add(int64(disableAfter))
	w.deny()
	take(t, slack)
	if got := take(t, slack); !strings.Contains(string(got.body), "This one asks whether it takes any") {
		t.Errorf("%s", got.body)
	}
	eventually(t, "the webhook is disabled", func() bool { return w.disabled(ledgertest.ID('w', 1)) })
	if w.disabled(ledgertest.ID('w', 2)) {
		t.Error("a mailbox is disabled because there is no server for it")
	}
}

// TestNoLinks: no text of an agent's is taken for an address, and other texts stay readable.
func TestNoLinks(t *testing.T) {
	for text, want := range map[string]string{
		"https://evil.example/a": "https[:]//evil[.]example/a", "see www.evil.example.": "see www[.]evil[.]example.", "ftp://10.0.0.1:80": "ftp[:]//10[.]0[.]0[.]1:80",
		"a@evil.co.uk": "a@evil[.]co[.]uk", "evil\u3002com": "evil[.]com", "b\u00fccher.de": "b\u00fccher[.]de", "xn--bcher-kva.ch": "xn--bcher-kva[.]ch", "(evil).com": "(evil)[.]com",
		"0.5": "0.5", "1.2.3": "1.2.3", "Done. Next": "Done. Next", "end.": "end.", ".env": ".env", "": "",
	} {
		if got := defang(text); got != want {
			t.Errorf("%q is shown as %q; want %q", text, got, want)
		}
	}
	for action, want := range map[string]string{"wallet.transfer": "wallet.transfer", "bash": "bash", "pay.evil.com": "pay[.]evil[.]com", "evil.zip": "evil[.]zip", "https://evil": "https[:]//evil"} {
		if got := defangAction(action); got != want {
			t.Errorf("the action %q is shown as %q; want %q", action, got, want)
		}
	}
	m := messageOf(ledger.IntentDenied, &eventjson.Event{Decision: "DENIED", Action: "a.com", AgentID: "b.com", Message: "c.com", Note: "d.com", Rule: "evm.max_transaction_eth"})
	if text := m.title + m.text(); strings.Contains(text, ".com") || !strings.Contains(text, "evm.max_transaction_eth") {
		t.Error(text)
	}
}

// TestMailboxes: a webhook by e-mail is one mailbox.
func TestMailboxes(t *testing.T) {
	for raw, good := range map[string]bool{
		"mailto:ops@example.com": true, "ops@example.com": false, "mailto:": false, "mailto:a@example.com,b@example.com": false,
		"mailto:Ops <ops@example.com>": false, "mailto:ops@example.com?subject=x": false, "mailto:ops@example.com\r\nBcc: x@example.com": false, "https://example.com": false,
	} {
		if err := CheckMailbox(raw, true); (err == nil) != good || err != nil && !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v", raw, err)
		}
	}
	if err := CheckMailbox("mailto:ops@example.com", false); err == nil || !strings.Contains(err.Error(), "SVC_SMTP_URL") {
		t.Error(err)
	}
}
