package client

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
)

// haltFlags are what the commands that stop something, or let it go on, have in common.
type haltFlags struct {
	Reason string `help:"Why; it is recorded, and clients are told." placeholder:"TEXT"`
	Key    string `help:"File of the operator's private key, which signs a statement and stays here." placeholder:"FILE" type:"path"`
}

const haltHelp = `Works on the service that runs on SVC_DATA_DIR (default: data) or, where none does, on the data there. When the command
returns, it is durable and in force, and it stays so across restarts. Attestations from before are void, also when it goes on.`

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
	return WithAdmin(std, MustExist, func(ctx context.Context, a Admin) error {
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
			text := attest.HaltText(before.Issuer, action, keyID, c.Reason, request.SignedAt, request.Serial)
			request.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, text))
		}
		view, err := a.Halt(ctx, request)
		if err != nil {
			return err
		}
		what, state := "the service", "goes on"
		if keyID != "" {
			what = "the API key " + keyID
		}
		if view.Halted {
			state = "is stopped since " + view.Since.Format(time.RFC3339)
		}
		fmt.Fprintf(std.Out, "%s %s\n", what, state)
		return nil
	})
}
