package client

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/policy"
	"bailiff/runtime/attest"
)

// maxActivationBytes bounds a file with an activation; the service takes a few kB.
const maxActivationBytes = 16 << 10

type deployCommand struct {
	ApiFlags
	OperatorPublicKey string `help:"The operator's public key (base64url) that the signature verifies with." placeholder:"KEY" xor:"operator"`
	Key               string `help:"File of the operator's private key: its public key is sent, and nothing else." placeholder:"FILE" xor:"operator"`
	Activation        string `help:"File of the trusted shim's activation JWT, which destructive profiles need." placeholder:"FILE"`
	JSON              bool   `name:"json" help:"Print the service's answer as JSON."`
	File              string `arg:"" help:"The signed policy."`
}

// Help says what is sent.
func (c *deployCommand) Help() string {
	return `Binds a signed policy to an API key, which needs the scope warranty:deploy. The first deployment pins the operator key:
later ones have to be signed with the same. The signature is verified here first, so that nothing wrong is sent.`
}

// deployRequest is the body of the deployment (decisions, section 5).
type deployRequest struct {
	Policy     string `json:"warranty_md"`
	Operator   string `json:"operator_public_key"`
	Activation string `json:"trusted_shim_attestation,omitempty"`
}

// deployed is the answer.
type deployed struct {
	PolicyHash string            `json:"policyHash"`
	Warnings   []json.RawMessage `json:"warnings"`
}

// Run verifies the policy, deploys it, and prints its hash.
func (c *deployCommand) Run(std cli.Streams) error {
	operator, err := c.operator()
	if err != nil {
		return err
	}
	src, err := cli.ReadPolicy(std, c.File)
	if err != nil {
		return err
	}
	hash, err := policy.VerifySigned(std, src, c.File, operator)
	if err != nil {
		return err
	}
	request := deployRequest{Policy: string(src.Text), Operator: attest.FormatOperatorKey(operator)}
	if c.Activation != "" {
		text, err := cli.ReadBounded(std, c.Activation, maxActivationBytes)
		if err != nil {
			return err
		}
		request.Activation = strings.TrimSpace(string(text))
	}
	service, err := c.Client(std)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := service.Call(context.Background(), "POST", "/v1/warranty/deploy", request, &raw); err != nil {
		if refused := RefusedWith(err); refused != nil {
			printServiceFindings(std.Err, refused.Diagnostics)
		}
		return err
	}
	return c.report(std, raw, hash)
}

// report prints what the service answered, after it has been held against what was sent.
func (c *deployCommand) report(std cli.Streams, raw json.RawMessage, hash string) error {
	var answer deployed
	if err := json.Unmarshal(raw, &answer); err != nil || answer.PolicyHash != hash {
		return cli.Fail("the service says that it deployed the policy %.64q, but the policy that was sent is %s", answer.PolicyHash, hash)
	}
	if c.JSON {
		return cli.PrintJSON(std.Out, raw)
	}
	for _, warning := range answer.Warnings {
		printServiceFinding(std.Err, warning)
	}
	fmt.Fprintln(std.Out, hash)
	return nil
}

// operator is the public key to send.
func (c *deployCommand) operator() (ed25519.PublicKey, error) {
	switch {
	case c.Key != "":
		private, err := attest.ReadOperatorKey(c.Key)
		if err != nil {
			return nil, err
		}
		return private.Public().(ed25519.PublicKey), nil
	case c.OperatorPublicKey != "":
		public, err := attest.ParseOperatorKey(c.OperatorPublicKey)
		if err != nil {
			return nil, cli.Usage("%v", err)
		}
		return public, nil
	}
	return nil, cli.Usage("whose signature is it? give --operator-public-key KEY, or --key FILE")
}

// printServiceFindings prints diagnostics as the service lists them.
func printServiceFindings(w io.Writer, list json.RawMessage) {
	var findings []json.RawMessage
	if json.Unmarshal(list, &findings) == nil {
		for _, one := range findings {
			printServiceFinding(w, one)
		}
	}
}

// printServiceFinding prints a finding on one line: a text as it is, a diagnostic with its place and code.
func printServiceFinding(w io.Writer, raw json.RawMessage) {
	var text string
	var d struct {
		Severity, Code, Message, Hint string
		Line, Column                  int
	}
	switch {
	case json.Unmarshal(raw, &text) == nil:
	case json.Unmarshal(raw, &d) == nil && d.Message != "":
		text = fmt.Sprintf("%s %s: %s", cmp.Or(d.Severity, "warning"), d.Code, d.Message)
		if d.Line > 0 {
			text = fmt.Sprintf("%d:%d: %s", d.Line, d.Column, text)
		}
		if d.Hint != "" {
			text += "; " + d.Hint
		}
	default:
		text = string(raw)
	}
	fmt.Fprintln(w, strings.Map(cli.OneLine, text))
}
