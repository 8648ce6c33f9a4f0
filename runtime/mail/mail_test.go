package mail

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"bailiff/runtime/clock"
	"bailiff/runtime/system"
)

// A server takes e-mails.
type server struct{ got chan [3]string }

func (s server) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }

type session struct {
	server
	from, to string
}

func (s *session) Reset()                                      {}
func (s *session) Logout() error                               { return nil }
func (s *session) Mail(from string, _ *smtp.MailOptions) error { s.from = from; return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error   { s.to = to; return nil }
func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.got <- [3]string{s.from, s.to, string(text)}
	return err
}

// TestSend sends by a server of this machine.
func TestSend(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	back := server{make(chan [3]string, 1)}
	running := smtp.NewServer(back)
	running.AllowInsecureAuth = true
	go running.Serve(listener)
	t.Cleanup(func() { running.Close() })
	sender, err := New("smtp://"+listener.Addr().String(), "bailiff@example.com", system.Real(clock.System()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := sender.Send(ctx, "ops@example.com", "w.7", "Bailiff: PENDING: überweisen", "agent: a\n\nDecide: https://bailiff.example.com/approve\n"); err != nil {
		t.Fatal(err)
	}
	got := <-back.got
	if got[0] != "bailiff@example.com" || got[1] != "ops@example.com" || !strings.Contains(got[2], "Message-ID: <w.7@bailiff>") ||
		!strings.Contains(got[2], "Subject: =?UTF-8?q?Bailiff:_PENDING:_=C3=BCberweisen?=") || !strings.Contains(got[2], "Decide: https://bailiff.example.com/approve") {
		t.Errorf("%q", got)
	}
	secure, err := New("smtps://"+listener.Addr().String(), "bailiff@example.com", system.Real(clock.System()))
	if err != nil {
		t.Fatal(err)
	}
	if err := secure.Send(ctx, "ops@example.com", "w.8", "x", "x"); err == nil {
		t.Error("a server without TLS is taken for one with it")
	}
	if err := sender.Send(ctx, "ops@example.com\r\nBcc: x@example.com", "w.9", "x", "x"); err == nil {
		t.Error("a second line of a mailbox is taken")
	}
}

// TestNew: which servers can be used.
func TestNew(t *testing.T) {
	for address, good := range map[string]bool{
		"smtps://user:secret@mail.example.com": true, "smtp://mail.example.com:587": true, "smtp://localhost:25": true, "mail.example.com": false, "https://mail.example.com": false,
		"smtp://": false, "smtp://mail.example.com/x": false, "smtp://mail.example.com:0": false, "smtp://mail.example.com:99999": false,
	} {
		if _, err := New(address, "bailiff@example.com", system.Calls{}); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := New("smtp://localhost", "Bailiff <bailiff@example.com>", system.Calls{}); err == nil {
		t.Error("a sender with a name is taken")
	}
}
