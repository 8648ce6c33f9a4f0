package client

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/attest"
	"bailiff/runtime/evidence"
)

type eventsExportCommand struct {
	ID     string `arg:"" help:"The lsn of an event, or the id of a decision." placeholder:"ID"`
	KeyID  string `name:"key-id" help:"The event is of this key; a decision is found sooner then." placeholder:"ID"`
	Policy string `help:"File of the signed policy, where the service does not have it any more: a default policy that was replaced." placeholder:"FILE"`
	Out    string `short:"o" help:"File to write, which must not exist; standard output without." placeholder:"FILE"`
}

// Help says what is exported.
func (c *eventsExportCommand) Help() string {
	return `A bundle proves one event without the service: the groups of the log that have its record, up to a checkpoint that is signed now,
the policy that judged, the operator's resolution where one decided, and the key sets. It comes from the service that runs on
SVC_DATA_DIR (default: data). Groups are whole, so that they contain records of other keys as well: give a bundle only to those who
may see these. The command verifies a bundle before it writes it.`
}

// Run exports a bundle.
func (c *eventsExportCommand) Run(std cli.Streams) error {
	var policy []byte
	if c.Policy != "" {
		var err error
		if policy, err = cli.ReadFile(c.Policy, maxPolicyFile); err != nil {
			return err
		}
	}
	return WithAdmin(std, MustExist, func(ctx context.Context, a Admin) error {
		bundle, err := a.Evidence(ctx, c.ID, c.KeyID)
		if err != nil {
			return err
		}
		if bundle.Policy == "" {
			bundle.Policy = string(policy)
		}
		if _, err := bundle.Verify(evidence.Trust{}); err != nil {
			if bundle.Policy == "" && bundle.Operator != "" {
				return cli.Fail("%v; the service does not have that policy any more: give its file with --policy", err)
			}
			return cli.Fail("%v", err)
		}
		text, err := json.MarshalIndent(bundle, "", "  ")
		if err != nil {
			return err
		}
		text = append(text, '\n')
		if c.Out == "" {
			_, err := std.Out.Write(text)
			return err
		}
		return writeNew(c.Out, text)
	})
}

// writeNew writes a file that only its owner may read, and that must not exist yet.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cli.Fail("%v", err)
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return cli.Fail("%s is not whole: %v", path, err)
	}
	return nil
}

// maxPolicyFile bounds the file of a policy; its text is bounded by the grammar.
const maxPolicyFile = 1 << 20

type eventsVerifyBundleCommand struct {
	File        string `arg:"" help:"The bundle." placeholder:"FILE"`
	JWKS        string `name:"jwks" help:"File of the service's Ed25519 key set, from elsewhere than the bundle." placeholder:"FILE"`
	PQCKeys     string `name:"pqc-keys" help:"File of its ML-DSA-65 key set, with --jwks." placeholder:"FILE"`
	OperatorKey string `name:"operator-key" help:"The operator's public key, from elsewhere than the bundle." placeholder:"KEY"`
	JSON        bool   `name:"json" help:"Print the event as JSON."`
}

// Help says what is verified.
func (c *eventsVerifyBundleCommand) Help() string {
	return `Verifies a bundle of bailiff events export without a service and without network: the chain of groups, the checkpoint's
signatures, that the event is what the record says, the policy's hash and signature, and the operator's resolution. A bundle brings
its own keys. The author of a bundle could have made these keys, too: compare the ids that are printed with the service's, or name the keys
that you trust.`
}

// Run verifies a bundle.
func (c *eventsVerifyBundleCommand) Run(std cli.Streams) error {
	text, err := cli.ReadFile(c.File, evidence.MaxBytes)
	if err != nil {
		return err
	}
	trust := evidence.Trust{Operator: c.OperatorKey}
	switch {
	case (c.JWKS == "") != (c.PQCKeys == ""):
		return cli.Usage("give --jwks and --pqc-keys together")
	case c.JWKS != "":
		if trust.JWKS, err = cli.ReadFile(c.JWKS, maxKeySetBytes); err != nil {
			return err
		}
		if trust.PQCKeys, err = cli.ReadFile(c.PQCKeys, maxKeySetBytes); err != nil {
			return err
		}
	}
	bundle, err := evidence.Read(text)
	if err != nil {
		return cli.Fail("%v", err)
	}
	verified, err := bundle.Verify(trust)
	if err != nil {
		return cli.Fail("%v", err)
	}
	if c.JSON {
		return cli.PrintJSON(std.Out, verified.Event)
	}
	return c.print(std, bundle, verified)
}

func (c *eventsVerifyBundleCommand) print(std cli.Streams, bundle *evidence.Bundle, verified *evidence.Verified) error {
	lines := []string{
		eventLine(&verified.Event),
		fmt.Sprintf("verified: record %d, in %d groups up to the checkpoint of %s at record %d of the log %x",
			bundle.LSN, verified.Groups, verified.Checkpoint.At.Format(time.RFC3339), verified.Checkpoint.LSN, verified.Checkpoint.Stream),
	}
	if bundle.Policy != "" {
		lines = append(lines, "the policy "+verified.Event.PolicyHash+" is signed by the operator "+bundle.Operator)
	}
	if bundle.Approval != nil {
		lines = append(lines, "the operator decided "+bundle.Approval.Decision+" about hold "+bundle.Approval.HoldID+" at "+bundle.Approval.ResolvedAt.Format(time.RFC3339))
	}
	if c.JWKS == "" {
		ids, err := attest.KeyIDs(bundle.JWKS, bundle.PQCKeys)
		if err != nil {
			return cli.Fail("%v", err)
		}
		lines = append(lines, "the signing keys are the bundle's own: compare their ids with the service's, or give --jwks and --pqc-keys")
		for _, id := range ids {
			lines = append(lines, "  "+id)
		}
	}
	if c.OperatorKey == "" && bundle.Policy != "" {
		lines = append(lines, "the operator's key is the bundle's own: compare it, or give --operator-key")
	}
	for _, line := range lines {
		if err := printLine(std.Out, line); err != nil {
			return err
		}
	}
	return nil
}
