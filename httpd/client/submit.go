package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Gateway is one of the two ways in which writes reach a chain.
type Gateway string

// The gateways.
const (
	RPC     Gateway = "rpc"     // eth_sendRawTransaction
	Bundler Gateway = "bundler" // eth_sendUserOperation
)

// RPCError is the error of a gateway or of the node behind it.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error says what was answered. Of the service's own errors the data says why.
func (e *RPCError) Error() string {
	var ours struct{ Reason string }
	if json.Unmarshal(e.Data, &ours) == nil && ours.Reason != "" {
		return fmt.Sprintf("%s: %s", e.Message, ours.Reason)
	}
	return e.Message
}

// Submit sends a write with its attestation (as Svc-Receipt), and returns the result of the JSON-RPC response; without an
// attestation it reads. A write is sent once: the attestation is used up, whatever becomes of it. What the gateway or the
// node refuses is an *RPCError.
func (c *Client) Submit(ctx context.Context, gateway Gateway, chainID uint64, attestation, method string, params ...any) (json.RawMessage, error) {
	if params == nil {
		params = []any{}
	}
	body, err := encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	what := call{method: http.MethodPost, path: "/" + string(gateway) + "/" + strconv.FormatUint(chainID, 10), body: body, receipt: attestation}
	status, text, header, err := c.WithKey("").send(ctx, what)
	if err == nil {
		err = failed(status, text, header)
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
		Error   *RPCError       `json:"error"`
	}
	switch err := json.Unmarshal(text, &answer); {
	case err != nil:
		return nil, malformed("%w", err)
	case answer.Version != "2.0" || string(answer.ID) != "1":
		return nil, malformed("it is not the JSON-RPC response to the request")
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Result == nil:
		return nil, malformed("it has neither a result nor an error")
	}
	return answer.Result, nil
}
