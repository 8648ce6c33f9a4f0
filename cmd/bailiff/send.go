package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"bailiff/runtime/gateway"
)

// maxRawBytes bounds a file with a raw transaction in hexadecimal digits: what a gateway takes.
const maxRawBytes = gateway.MaxBody

type sendCommand struct {
	apiFlags
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

// envelope is the body of authorize.
type envelope struct {
	Framework string `json:"framework"`
	AgentID   string `json:"agentId"`
	TxCommit  string `json:"txCommit"`
	ChainID   uint64 `json:"chainId"`
	Intent    struct {
		*gateway.Declaration
		TaskID   string          `json:"task_id,omitempty"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
	} `json:"intent"`
}

// Run authorizes and submits.
func (c *sendCommand) Run(std streams) error {
	raw, err := c.transaction(std)
	if err != nil {
		return err
	}
	body, err := c.envelope(raw)
	if err != nil {
		return err
	}
	service, err := c.client(std)
	if err != nil {
		return err
	}
	ctx := context.Background()
	attestation, err := authorize(ctx, service, body)
	if err != nil {
		return err
	}
	return c.submit(ctx, std, &client{service.base, attestation, service.http}, raw)
}

// transaction returns the raw bytes.
func (c *sendCommand) transaction(std streams) ([]byte, error) {
	if c.Raw == "" && c.RawFile == "" {
		return nil, usage("there is no transaction; give --raw HEX or --raw-file FILE")
	}
	text := c.Raw
	if c.RawFile != "" {
		read, err := readBounded(std, c.RawFile, maxRawBytes)
		if err != nil {
			return nil, err
		}
		text = strings.TrimSpace(string(read))
	}
	digits, prefixed := strings.CutPrefix(text, "0x")
	raw, err := hex.DecodeString(digits)
	if !prefixed || err != nil {
		return nil, usage("the transaction is not 0x and an even number of hexadecimal digits")
	}
	return raw, nil
}

// envelope describes the transaction. What no gateway would submit is found before anything is asked for.
func (c *sendCommand) envelope(raw []byte) (*envelope, error) {
	tx, err := gateway.DecodeTransaction(raw)
	if err != nil {
		return nil, usage("the transaction: %v", err)
	}
	if tx.ChainID != c.Chain {
		return nil, usage("the transaction is for chain %d, and --chain is %d", tx.ChainID, c.Chain)
	}
	declared, err := tx.Declare(c.Token)
	if err != nil {
		return nil, usage("the transaction: %v", err)
	}
	e := &envelope{Framework: c.Framework, AgentID: c.AgentID, TxCommit: hex.EncodeToString(tx.Commitment[:]), ChainID: c.Chain}
	e.Intent.Declaration, e.Intent.TaskID, e.Intent.Metadata = declared, c.TaskID, c.Metadata
	return e, nil
}

// authorize returns the attestation of an intent that is allowed.
func authorize(ctx context.Context, service *client, body *envelope) (string, error) {
	var answer struct {
		Status      string
		Attestation string `json:"intent_attestation"`
		Message     string
		HoldID      string
	}
	err := service.call(ctx, http.MethodPost, "/v1/authorize", body, &answer)
	if refused := refusedWith(err); refused != nil && refused.HTTP == http.StatusForbidden && refused.Code != "SVC_API_KEY_SCOPE_INSUFFICIENT" {
		return "", &exit{code: exitDenied, message: "denied: " + refused.Error()}
	}
	switch {
	case err != nil:
		return "", err
	case answer.Status == "PENDING":
		return "", &exit{code: exitPending, message: "hold " + answer.HoldID + ": " + strings.Map(oneLine, answer.Message)}
	case answer.Status != "ALLOWED" || answer.Attestation == "":
		return "", fail("the service answered %.32q without an attestation", answer.Status)
	}
	return answer.Attestation, nil
}

// submit presents the attestation with the transaction, and prints what comes of it.
func (c *sendCommand) submit(ctx context.Context, std streams, service *client, raw []byte) error {
	request := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": []string{"0x" + hex.EncodeToString(raw)}}
	var response json.RawMessage
	if err := service.call(ctx, http.MethodPost, fmt.Sprintf("/rpc/%d", c.Chain), request, &response); err != nil {
		return err
	}
	var answer struct {
		Result string
		Error  *struct {
			Message string
			Data    json.RawMessage
		}
	}
	err := json.Unmarshal(response, &answer)
	if err == nil && answer.Error == nil && answer.Result == "" {
		err = errors.New("it has neither a hash nor an error")
	}
	if err != nil {
		return fail("the answer can't be read: %v", err)
	}
	if c.JSON {
		fmt.Fprintln(std.out, string(response))
	}
	if answer.Error != nil {
		return fail("not submitted: %s %s", strings.Map(oneLine, answer.Error.Message), strings.Map(oneLine, reasonIn(answer.Error.Data)))
	}
	if !c.JSON {
		fmt.Fprintln(std.out, strings.Map(oneLine, answer.Result))
	}
	return nil
}

// reasonIn returns the gateway's words in an error's data, or the data of a node's error.
func reasonIn(data json.RawMessage) string {
	var ours struct{ Reason string }
	if json.Unmarshal(data, &ours) == nil && ours.Reason != "" {
		return ours.Reason
	}
	return string(data)
}
