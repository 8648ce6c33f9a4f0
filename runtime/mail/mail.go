// Package mail sends short e-mails through the operator's SMTP server, over TLS.
package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"bailiff/runtime/system"
)

// timeout bounds an e-mail.
const timeout = 15 * time.Second

// A Sender sends e-mails. It is safe for concurrent use.
type Sender struct {
	host    string
	from    string
	options []gomail.Option
}

// New returns a sender by a server: smtps://USER:PASSWORD@HOST:PORT, or smtp:// with STARTTLS, which only a server on this machine may lack. Port,
// user and password may be absent. from is the sender's mailbox.
func New(server, from string, calls system.Calls) (*Sender, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("it has to be smtps://USER:PASSWORD@HOST:PORT, or smtp:// for STARTTLS")
	}
	if err := CheckMailbox(from); err != nil {
		return nil, err
	}
	options := []gomail.Option{gomail.WithTimeout(timeout), gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := calls.Dial(ctx, network, address, nil)
		if err != nil || u.Scheme == "smtp" {
			return connection, err
		}
		// With a function of its own to dial, the library leaves TLS to that function.
		secure := tls.Client(connection, &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, connection.Close())
		}
		return secure, nil
	})}
	port, policy := 587, gomail.TLSMandatory
	switch {
	case u.Scheme == "smtps":
		port = 465
		options = append(options, gomail.WithSSL())
	case isLoopback(u.Hostname()):
		policy = gomail.TLSOpportunistic
	}
	if text := u.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
			return nil, errors.New("its port has to be 1 to 65535")
		}
	}
	options = append(options, gomail.WithPort(port), gomail.WithTLSPolicy(policy))
	if u.User != nil {
		password, _ := u.User.Password()
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	return &Sender{u.Hostname(), from, options}, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// CheckMailbox returns why a text is not one mailbox, such as ops@example.com, or nil.
func CheckMailbox(text string) error {
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text || strings.ContainsAny(text, "?%\"") {
		return fmt.Errorf("%.64q is not a mailbox; give one such as ops@example.com", text)
	}
	return nil
}

// Send sends an e-mail of plain text. The id is that of the message, and the same where it is sent again.
func (s *Sender) Send(ctx context.Context, to, id, subject, text string) error {
	message := gomail.NewMsg()
	if err := errors.Join(message.From(s.from), message.To(to)); err != nil {
		return err
	}
	message.SetMessageIDWithValue(id + "@bailiff")
	message.Subject(subject)
	message.SetDate()
	message.SetBodyString(gomail.TypeTextPlain, text)
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return client.DialAndSendWithContext(ctx, message)
}
