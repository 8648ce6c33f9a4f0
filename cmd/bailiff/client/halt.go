package client

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/settings"
	api "bailiff/httpd/client"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/vm/errcode"
)

// haltFlags are what the commands that stop something, or let it go on, have in common.
type haltFlags struct {
	Reason string `help:"Why; it is recorded, and clients are told." placeholder:"TEXT"`
	Key    string `help:"File of the operator's private key, which signs a statement and stays here." placeholder:"FILE" type:"path"`
	afarFlags
}

const haltHelp = `Works on the service that runs on SVC_DATA_DIR (default: data) or, where none does, on the data there. When the command
returns, it is durable and in force, and it stays so across restarts. Attestations from before are void, also when it goes on.

With --url the operator's statement is sent to a service elsewhere; it takes --key, and no API key:

  bailiff freeze --url https://bailiff.example.com --key operator.key`

type freezeCommand struct{ haltFlags }

// Help says what a freeze stops.
func (c *freezeCommand) Help() string {
	return "Nothing is allowed any more: no decision, no write by a gateway, no approval, deployment or registration. Reads go on.\n\n" + haltHelp
}

// Run freezes the service.
func (c *freezeCommand) Run(std cli.Streams) error { return c.halt(std, accounts.Freeze, "") }

type thawCommand struct{ haltFlags }

// Help says what a thaw takes.
func (c *thawCommand) Help() string { return "Takes the operator's signature: --key.\n\n" + haltHelp }

// Run thaws the service.
func (c *thawCommand) Run(std cli.Streams) error { return c.halt(std, accounts.Thaw, "") }

type keysSuspendCommand struct {
	ID string `arg:"" help:"The key's id, as keys list shows it."`
	haltFlags
}

// Help says what a suspension stops.
func (c *keysSuspendCommand) Help() string {
	return "Nothing is allowed for the key any more. Its reads go on.\n\n" + haltHelp
}

// Run suspends the key.
func (c *keysSuspendCommand) Run(std cli.Streams) error { return c.halt(std, accounts.Suspend, c.ID) }

type keysResumeCommand struct {
	ID string `arg:"" help:"The key's id, as keys list shows it."`
	haltFlags
}

// Help says what a resumption takes.
func (c *keysResumeCommand) Help() string {
	return "Takes the signature of the operator that the key is pinned to: --key.\n\n" + haltHelp
}

// Run resumes the key.
func (c *keysResumeCommand) Run(std cli.Streams) error { return c.halt(std, accounts.Resume, c.ID) }

// halt asks for a halt, signed where the operator's key is given.
func (c *haltFlags) halt(std cli.Streams, action, keyID string) error {
	if c.URL != "" {
		return c.haltFromAfar(std, action, keyID)
	}
	return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error {
		before, err := a.HaltOf(ctx, keyID)
		if err != nil {
			return err
		}
		request := accounts.HaltRequest{Action: action, KeyID: keyID, Reason: c.Reason}
		if c.Key != "" {
			private, err := attest.ReadOperatorKey(c.Key)
			if err != nil {
				return err
			}
			request.Serial, request.SignedAt = before.Serial+1, clock.System()().Unix()
			request.Signature = signed(private, attest.HaltText(before.Issuer, action, keyID, c.Reason, request.SignedAt, request.Serial))
		}
		view, err := a.Halt(ctx, request)
		if err != nil {
			return err
		}
		return printHalt(std, &view)
	})
}

// haltFromAfar sends a signed halt to a service elsewhere.
func (c *haltFlags) haltFromAfar(std cli.Streams, action, keyID string) error {
	private, err := c.signer(c.Key)
	if err != nil {
		return err
	}
	now := clock.System()()
	at, serial := now.Unix(), uint64(now.UnixMilli())
	body := map[string]any{
		"action": action, "serial": serial, "signed_at": at,
		"operator_signature": signed(private, attest.HaltText(c.Issuer, action, keyID, c.Reason, at, serial)),
	}
	if keyID != "" {
		body["key_id"] = keyID
	}
	if c.Reason != "" {
		body["reason"] = c.Reason
	}
	var view accounts.HaltView
	if err := c.state(std, "/v1/operator/halt", body, &view); err != nil {
		return err
	}
	return printHalt(std, &view)
}

func printHalt(std cli.Streams, view *accounts.HaltView) error {
	what, state := "the service", "goes on"
	if view.KeyID != "" {
		what = "the API key " + view.KeyID
	}
	if view.Halted {
		state = "is stopped since " + view.Since.Format(time.RFC3339)
	}
	_, err := fmt.Fprintf(std.Out, "%s %s\n", what, state)
	return err
}

// signed returns a signature as statements have it.
func signed(private ed25519.PrivateKey, text []byte) string {
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, text))
}

// afarFlags are what the commands have in common that send a statement to a service elsewhere.
type afarFlags struct {
	URL    string `name:"url" help:"Address of a service elsewhere, https; takes --key. Its statements' serials are the time in milliseconds." placeholder:"URL"`
	Issuer string `default:"svc-core" env:"SVC_ISSUER" help:"The issuer of the service elsewhere, for which alone the statement is good (${default})." placeholder:"NAME"`
}

// signer reads the private key, without which a service elsewhere does nothing.
func (c *afarFlags) signer(path string) (ed25519.PrivateKey, error) {
	if path == "" {
		return nil, cli.Usage("a service elsewhere takes the operator's signature; give --key FILE")
	}
	return attest.ReadOperatorKey(path)
}

// How often a statement is sent that the service has no time to verify, as where others flood it from the operator's address, and the pause between.
const (
	stateTimes = 600
	statePause = 100 * time.Millisecond
)

// state sends a statement to the service elsewhere.
func (c *afarFlags) state(std cli.Streams, path string, body, view any) error {
	service, err := api.New(api.Config{URL: c.URL, Timeout: ClientTimeout, MaxAnswer: maxAnswerBytes, UserAgent: "bailiff"})
	if err != nil {
		return cli.Usage("--url: %v", err)
	}
	if u, err := url.Parse(service.Base()); err == nil && u.Scheme == "http" && !settings.Loopback(u.Hostname()) {
		return cli.Usage("--url %s is not encrypted, so another service could answer; use https", u.Host)
	}
	for sent := 1; ; sent++ {
		err := (&Client{service}).Call(context.Background(), "POST", path, body, view)
		if sent == stateTimes || !unverified(err) {
			return err
		}
		if sent == 1 {
			fmt.Fprintln(std.Err, "bailiff: the service has no time for the statement now; it is sent again, for a minute")
		}
		time.Sleep(statePause)
	}
}

// unverified reports whether the service has refused a statement that it has not looked at.
func unverified(err error) bool {
	r := RefusedWith(err)
	return r != nil && (r.HTTP == http.StatusTooManyRequests || r.Code == string(errcode.LimitStoreUnavailable))
}
