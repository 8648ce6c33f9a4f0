package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/mail"
	"bailiff/runtime/subject"
)

// mailbox is the beginning of the url of a webhook that is an e-mail address.
const mailbox = "mailto:"

// CheckMailbox returns why a URL cannot be that of a webhook by e-mail, or nil. Every error wraps [ErrURL].
func CheckMailbox(raw string, sends bool) error {
	address, found := strings.CutPrefix(raw, mailbox)
	switch {
	case !sends:
		return fmt.Errorf("%w: the service sends no e-mail; set SVC_SMTP_URL and SVC_SMTP_FROM", ErrURL)
	case !found:
		return fmt.Errorf("%w: an e-mail goes to mailto:ADDRESS", ErrURL)
	}
	if err := mail.CheckMailbox(address); err != nil {
		return fmt.Errorf("%w: %w", ErrURL, err)
	}
	return nil
}

// A message is what people are told of an event.
type message struct {
	title string
	lines []string
	link  string // where a hold is decided; empty where there is nothing to decide
}

// maxLine bounds a line of a message, in bytes.
const maxLine = 300

// messageOf puts an event into words.
func messageOf(topic ledger.Topics, e *eventjson.Event) message {
	m := message{title: topic.Names()[0], link: e.ApprovalURL}
	switch topic {
	case ledger.IntentAllowed, ledger.IntentDenied, ledger.IntentPending:
		m.title = e.Decision + ": " + defangAction(e.Action)
	case ledger.TopicHoldResolved:
		m.title = "hold " + strings.ToLower(e.HoldStatus)
	case ledger.TopicHoldExpired:
		m.title = "hold expired"
	case ledger.PolicyDeployed:
		m.title = "policy deployed"
	}
	add := func(name, value string) {
		if value != "" {
			m.lines = append(m.lines, name+": "+value)
		}
	}
	add("agent", defang(e.AgentID))
	for f := range subject.Table {
		if e.Subject != nil && subject.Field(f) != subject.Trace {
			add(subject.Table[f].Name, defang(e.Subject.Texts[f]))
		}
	}
	add("rule", e.Rule)
	add("message", defang(e.Message))
	add("note", defang(e.Note))
	add("policy", e.PolicyHash)
	add("hold", e.HoldID)
	if !e.HoldExpiresAt.IsZero() {
		add("expires", e.HoldExpiresAt.Format(time.RFC3339))
	}
	add("API key", e.KeyID)
	m.title = plainLine(m.title)
	for i := range m.lines {
		m.lines[i] = plainLine(m.lines[i])
	}
	return m
}

// plainLine is a text on one line, without what steers the program that shows it.
func plainLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, ledger.ClipTo(text, maxLine))
}

// pingMessage is a message without an event, which asks whether a receiver takes anything at all.
func pingMessage() message {
	return message{title: "Bailiff", lines: []string{"Messages to this address have failed. This one asks whether it takes any."}}
}

// text is a message without its title.
func (m *message) text() string {
	text := strings.Join(m.lines, "\n")
	if m.link != "" {
		text += "\n\nDecide: " + m.link
	}
	return text
}

// slack is a message as an incoming webhook of Slack takes it. Its control characters are escaped, so that an agent makes no link and names no channel.
func (m *message) slack() ([]byte, error) {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	text := "*" + escape.Replace(m.title) + "*\n" + escape.Replace(strings.Join(m.lines, "\n"))
	if m.link != "" {
		text += "\n<" + m.link + "|Decide>"
	}
	return json.Marshal(map[string]string{"text": text})
}

// ntfyHeaders are the headers of a message to a topic of ntfy, whose body is the text.
func (m *message) ntfyHeaders() http.Header {
	headers := http.Header{"Title": {mime.QEncoding.Encode("utf-8", m.title)}, "Content-Type": {"text/plain; charset=utf-8"}}
	if m.link != "" {
		headers["Click"], headers["Priority"] = []string{m.link}, []string{"high"}
	}
	return headers
}

// errNoMail says that there is no way to send e-mail any more.
var errNoMail = errors.New("the service sends no e-mail; set SVC_SMTP_URL and SVC_SMTP_FROM")
