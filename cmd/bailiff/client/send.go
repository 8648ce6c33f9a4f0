package client

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"bailiff/cmd/bailiff/cli"
	api "bailiff/httpd/client"
	"bailiff/runtime/gateway"
)

// maxRawBytes bounds a file with a raw transaction in hexadecimal digits: what a gateway takes.
const maxRawBytes = gateway.MaxBody

type sendCommand struct {
	ApiFlags
	Chain     uint64          `required:"" help:"The chain's id." placeholder:"ID"`
	Raw       string          `help:"The signed transaction: 0x and hexadecimal digits." placeholder:"HEX" xor:"raw"`
	RawFile   string          `name:"raw-file" help:"File of the signed transaction; - is standard input." placeholder:"FILE" xor:"raw"`
	Token     string          `help:"The token, by symbol or address, whose transfer or approval this is; without it a call is declared as contract.call." placeholder:"TOKEN"`
	TaskID    string          `name:"task-id" help:"The task, where the policy limits tasks." placeholder:"ID"`
	Metadata  json.RawMessage `help:"JSON object of the intent's metadata, where the policy asks for some." placeholder:"JSON"`
	AgentID   string          `name:"agent-id" default:"bailiff-send" help:"The agent (${default})."`
	Framework string          `default:"bailiff-cli" help:"The framework (${default})."`
	JSON      bool            `name:"json" help:"Print the JSON-RPC response."`
}

// Help says what the command does, and what not.
func (c *sendCommand) Help() string {
	return `Decodes a signed transaction, asks the service to authorize what it does, and submits it with the attestation, all within a
moment. It signs nothing. It prints the transaction's hash. It exits with 3 where the policy denies, and with 4 where a
person has to approve first: run it again, unchanged, when that is done.`
}

// Run authorizes and submits.
func (c *sendCommand) Run(std cli.Streams) error {
	raw, err := c.transaction(std)
	if err != nil {
		return err
	}
	request, err := c.request(raw)
	if err != nil {
		return err
	}
	service, err := c.Client(std)
	if err != nil {
		return err
	}
	ctx := context.Background()
	attestation, err := authorize(ctx, service.api, request)
	if err != nil {
		return err
	}
	return c.submit(ctx, std, service.api, attestation, raw)
}

// transaction returns the raw bytes.
func (c *sendCommand) transaction(std cli.Streams) ([]byte, error) {
	if c.Raw == "" && c.RawFile == "" {
		return nil, cli.Usage("there is no transaction; give --raw HEX or --raw-file FILE")
	}
	text := c.Raw
	if c.RawFile != "" {
		read, err := cli.ReadBounded(std, c.RawFile, maxRawBytes)
		if err != nil {
			return nil, err
		}
		text = strings.TrimSpace(string(read))
	}
	digits, prefixed := strings.CutPrefix(text, "0x")
	raw, err := hex.DecodeString(digits)
	if !prefixed || err != nil {
		return nil, cli.Usage("the transaction is not 0x and an even number of hexadecimal digits")
	}
	return raw, nil
}

// request describes the transaction. What no gateway would submit is found before anything is asked for.
func (c *sendCommand) request(raw []byte) (*api.Request, error) {
	tx, err := gateway.DecodeTransaction(raw)
	if err != nil {
		return nil, cli.Usage("the transaction: %v", err)
	}
	if tx.ChainID != c.Chain {
		return nil, cli.Usage("the transaction is for chain %d, and --chain is %d", tx.ChainID, c.Chain)
	}
	declared, err := tx.Declare(c.Token)
	if err != nil {
		return nil, cli.Usage("the transaction: %v", err)
	}
	request := &api.Request{Framework: c.Framework, AgentID: c.AgentID, TxCommit: hex.EncodeToString(tx.Commitment[:]), ChainID: c.Chain}
	request.Intent = api.Intent{
		Action: declared.Action, TargetAddress: declared.TargetAddress, Token: declared.Token, Amount: declared.Amount,
		AmountUnit: declared.AmountUnit, Calldata: declared.Calldata, MaxFee: declared.MaxFee, TaskID: c.TaskID,
	}
	if declared.To != "" {
		request.Intent.To = api.Recipients{declared.To}
	}
	if c.Metadata != nil {
		request.Intent.Metadata = c.Metadata
	}
	return request, nil
}

// authorize returns the attestation of an intent that is allowed.
func authorize(ctx context.Context, service *api.Client, request *api.Request) (string, error) {
	answer, err := service.Authorize(ctx, request)
	if err != nil {
		return "", clientFault(err)
	}
	switch answer.Status {
	case api.Denied:
		refused := &refusal{HTTP: http.StatusForbidden, Code: answer.ErrorCode, Message: answer.Message}
		return "", &cli.Exit{Code: cli.ExitDenied, Message: "denied: " + refused.Error()}
	case api.Pending:
		return "", &cli.Exit{Code: cli.ExitPending, Message: "hold " + strings.Map(cli.OneLine, answer.HoldID+": "+answer.Message)}
	}
	return answer.Attestation, nil
}

// submit presents the attestation with the transaction, and prints what comes of it.
func (c *sendCommand) submit(ctx context.Context, std cli.Streams, service *api.Client, attestation string, raw []byte) error {
	result, err := service.Submit(ctx, api.RPC, c.Chain, attestation, "eth_sendRawTransaction", "0x"+hex.EncodeToString(raw))
	var failure *api.RPCError
	if err != nil && !errors.As(err, &failure) {
		return clientFault(err)
	}
	if c.JSON {
		if err := printResponse(std.Out, result, failure); err != nil {
			return err
		}
	}
	if failure != nil {
		return cli.Fail("not submitted: %s %s", strings.Map(cli.OneLine, failure.Message), strings.Map(cli.OneLine, reasonIn(failure.Data)))
	}
	var hash string
	if err := json.Unmarshal(result, &hash); err != nil {
		return cli.Fail("the answer can't be read: %v", err)
	}
	if !c.JSON {
		fmt.Fprintln(std.Out, strings.Map(cli.OneLine, hash))
	}
	return nil
}

// printResponse prints a JSON-RPC response on one line.
func printResponse(w io.Writer, result json.RawMessage, failure *api.RPCError) error {
	text, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      int             `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *api.RPCError   `json:"error,omitempty"`
	}{"2.0", 1, result, failure})
	if err != nil {
		return cli.Fail("the answer can't be printed: %v", err)
	}
	_, err = fmt.Fprintln(w, string(text))
	return err
}

// reasonIn returns the gateway's words in an error's data, or the data of a node's error.
func reasonIn(data json.RawMessage) string {
	var ours struct{ Reason string }
	if json.Unmarshal(data, &ours) == nil && ours.Reason != "" {
		return ours.Reason
	}
	return string(data)
}
