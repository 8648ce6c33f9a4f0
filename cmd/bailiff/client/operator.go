package client

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
)

type operatorCommand struct {
	Show   operatorShowCommand   `cmd:"" help:"Print the operator's public key, and those that it replaced."`
	Rotate operatorRotateCommand `cmd:"" help:"Replace the operator's key, signed by the present one."`
}

type operatorShowCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the operator's keys.
func (c *operatorShowCommand) Run(std cli.Streams) error {
	return WithAdmin(std, MustExist, func(ctx context.Context, a Admin) error {
		view, err := a.OperatorView(ctx)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, view, err)
		}
		return printOperator(std, &view)
	})
}

func printOperator(std cli.Streams, view *accounts.OperatorView) error {
	current := view.Current
	if current == "" {
		current = "is not known; set SVC_OPERATOR_PUBLIC_KEY"
	}
	err := printLine(std.Out, "operator "+current)
	for _, key := range view.Replaced {
		err = errors.Join(err, printLine(std.Out, "replaced "+key))
	}
	return err
}

type operatorRotateCommand struct {
	Key  string `help:"File of the operator's present private key, which signs a statement and stays here." placeholder:"FILE" type:"path"`
	To   string `required:"" help:"The new public key, or a file that contains it: what bailiff keygen printed." placeholder:"FILE"`
	From string `help:"Without --key: the public key that is replaced, where that is not SVC_OPERATOR_PUBLIC_KEY." placeholder:"KEY"`
	afarFlags
}

// Help says what a rotation changes.
func (c *operatorRotateCommand) Help() string {
	return `Policies that are deployed stay valid, and so do approvers. From then on, deployments, approvals and statements, and thawing or resuming, take
the new key; API keys that are pinned to the old one follow. When the command returns, it is durable and in force, and it stays so across
restarts. Set SVC_OPERATOR_PUBLIC_KEY to the new key afterwards.

  bailiff keygen -o new.key > new.pub
  bailiff operator rotate --key old.key --to new.pub

With --url the statement is sent to a service elsewhere. Where the old key is lost, stop the service: on its data, and nowhere else, the
command takes no --key. Then sign the policy of WARRANTY_PATH with the new key, if it is another one than before.`
}

// Run replaces the operator's key.
func (c *operatorRotateCommand) Run(std cli.Streams) error {
	to, err := readPublic(c.To)
	if err != nil {
		return err
	}
	if c.Key == "" {
		return c.pin(std, to)
	}
	if c.From != "" {
		return cli.Usage("--from is the key of --key; leave it out")
	}
	private, err := attest.ReadOperatorKey(c.Key)
	if err != nil {
		return err
	}
	if c.URL != "" {
		return c.rotateFromAfar(std, private, to)
	}
	return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error {
		before, err := a.OperatorView(ctx)
		if err != nil {
			return err
		}
		request := statement(private, to, before.Issuer, before.Serial+1)
		view, err := a.Rotate(ctx, request)
		if err != nil {
			return err
		}
		return c.tell(std, &view)
	})
}

// statement signs a rotation.
func statement(private ed25519.PrivateKey, to, issuer string, serial uint64) accounts.RotationRequest {
	r := accounts.RotationRequest{
		From: attest.FormatOperatorKey(private.Public().(ed25519.PublicKey)), To: to, Serial: serial, SignedAt: clock.System()().Unix(),
	}
	r.Signature = signed(private, attest.RotationText(issuer, r.From, r.To, r.SignedAt, r.Serial))
	return r
}

func (c *operatorRotateCommand) rotateFromAfar(std cli.Streams, private ed25519.PrivateKey, to string) error {
	r := statement(private, to, c.Issuer, uint64(clock.System()().UnixMilli()))
	var view accounts.OperatorView
	err := c.state(std, "/v1/operator/rotation", map[string]any{
		"from": r.From, "to": r.To, "serial": r.Serial, "signed_at": r.SignedAt, "operator_signature": r.Signature,
	}, &view)
	if err != nil {
		return err
	}
	return c.tell(std, &view)
}

// pin replaces the key of an operator who has lost it, on data that no service runs on.
func (c *operatorRotateCommand) pin(std cli.Streams, to string) error {
	if c.URL != "" {
		_, err := c.signer("")
		return err
	}
	return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error {
		owner, stopped := a.(*decision.Admin)
		if !stopped {
			return cli.Fail("the service runs, and takes the signature of the operator's present key: give --key FILE; where that is lost, stop the service first")
		}
		view, err := owner.PinOperator(ctx, c.From, to)
		if err != nil {
			return err
		}
		return c.tell(std, &view)
	})
}

func (c *operatorRotateCommand) tell(std cli.Streams, view *accounts.OperatorView) error {
	_, err := fmt.Fprintf(std.Out, "the operator's key is %s; set SVC_OPERATOR_PUBLIC_KEY to it\n", view.Current)
	return err
}

// readPublic returns a public key that is given itself, or by a file.
func readPublic(given string) (string, error) {
	const maxBytes = 4 << 10
	text, err := cli.ReadFile(given, maxBytes)
	switch {
	case err == nil:
		given = strings.TrimSpace(string(text))
	case !errors.Is(err, fs.ErrNotExist):
		return "", cli.Hidden(err)
	}
	if _, err := attest.ParseOperatorKey(given); err != nil {
		return "", cli.Fail("--to is neither a public key nor a file that contains one: %v; bailiff keygen -o FILE prints one", err)
	}
	return given, nil
}
