package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// The statuses of decisions.
const (
	Allowed = "ALLOWED"
	Denied  = "DENIED"
	Pending = "PENDING"
)

// retryPause is how long Authorize waits before it sends a request with a nonce a second time.
const retryPause = 100 * time.Millisecond

// Request is the body of authorize and test-run. Empty members are not sent.
type Request struct {
	Framework    string `json:"framework"`
	AgentID      string `json:"agentId"`
	TxCommit     string `json:"txCommit,omitempty"`   // this, or UserOpHash
	UserOpHash   string `json:"userOpHash,omitempty"` // of a user operation
	ChainID      uint64 `json:"chainId,omitempty"`
	Context      string `json:"context,omitempty"`
	RequestNonce string `json:"request_nonce,omitempty"` // up to 64 characters, best random; with it a lost answer can be asked for again
	Intent       Intent `json:"intent"`
}

// Intent is what is to be judged.
type Intent struct {
	Action        string     `json:"action"`
	TargetAddress string     `json:"targetAddress,omitempty"`
	Token         string     `json:"token,omitempty"`
	Amount        string     `json:"amount,omitempty"`
	AmountUnit    string     `json:"amount_unit,omitempty"`
	To            Recipients `json:"to,omitempty"`
	TaskID        string     `json:"task_id,omitempty"`
	Command       string     `json:"command,omitempty"`
	Cwd           string     `json:"cwd,omitempty"`
	Path          string     `json:"path,omitempty"`
	Paths         []string   `json:"paths,omitempty"` // of file_write and file_read, in place of Path
	URL           string     `json:"url,omitempty"`
	Method        string     `json:"method,omitempty"`
	Host          string     `json:"host,omitempty"`
	Query         string     `json:"query,omitempty"`
	Calldata      string     `json:"calldata,omitempty"`
	MaxFee        string     `json:"maxFee,omitempty"`
	Arguments     any        `json:"arguments,omitempty"` // a JSON object: a map, a struct or a json.RawMessage
	Metadata      any        `json:"metadata,omitempty"`  // the same
}

// Recipients are those of a transfer or a message. One is sent as a string, several as an array.
type Recipients []string

// MarshalJSON writes a string or an array.
func (r Recipients) MarshalJSON() ([]byte, error) {
	if len(r) == 1 {
		return json.Marshal(r[0])
	}
	return json.Marshal([]string(r))
}

// Answer is a decision. Where HTTP had another status than 200, the decision has it too: 202 is PENDING, 403 DENIED.
type Answer struct {
	Status        string          `json:"status"`             // Allowed, Denied or Pending
	Attestation   string          `json:"intent_attestation"` // empty unless Authorize allowed
	PolicyHash    string          `json:"policyHash"`
	ErrorCode     string          `json:"error_code"`
	MatchedRule   string          `json:"matched_rule"` // as section.key
	Message       string          `json:"message"`
	Details       *Details        `json:"details"` // nil where the rule has none
	HoldID        string          `json:"holdId"`
	ExpiresAt     int64           `json:"expiresAt"`   // of the hold, in Unix seconds
	ApprovalURL   string          `json:"approvalUrl"` // where approvers decide the hold; empty where there are none
	PolicyRule    string          `json:"policyRule"`
	TestRun       bool            `json:"test_run"`
	ObserveActive bool            `json:"observe_mode_active"`
	RequestNonce  string          `json:"request_nonce"`
	Replayed      bool            `json:"replayed"` // the decision is that of an earlier request with the same nonce
	Explanation   json.RawMessage `json:"explanation"`
}

// Details are both sides of a decision by a rule. What does not apply is empty.
type Details struct {
	Value        string   `json:"value"`
	Limit        string   `json:"limit"`
	Allowed      []string `json:"allowed"`
	AllowedCount int      `json:"allowed_count"`
	Entry        string   `json:"entry"`
	Line         int      `json:"line"`
}

// Authorize asks for a decision. A denial is an Answer, too. A request with a nonce is sent a second time, byte for byte,
// where no answer came to the first one: the service then repeats its decision and counts nothing twice.
func (c *Client) Authorize(ctx context.Context, request *Request) (*Answer, error) {
	return c.decide(ctx, "/v1/authorize", request, false)
}

// TestRun asks what would be decided. Nothing changes, and nothing is attested.
func (c *Client) TestRun(ctx context.Context, request *Request) (*Answer, error) {
	return c.decide(ctx, "/v1/authorize/test-run", request, true)
}

// AuthorizeBody is Authorize for a body that was written elsewhere, with the request_nonce that it has.
func (c *Client) AuthorizeBody(ctx context.Context, body []byte, nonce string) (*Answer, error) {
	return c.decideBody(ctx, "/v1/authorize", body, nonce, false)
}

func (c *Client) decide(ctx context.Context, path string, request *Request, testRun bool) (*Answer, error) {
	body, err := encode(request)
	if err != nil {
		return nil, err
	}
	return c.decideBody(ctx, path, body, request.RequestNonce, testRun)
}

func (c *Client) decideBody(ctx context.Context, path string, body []byte, nonce string, testRun bool) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	what := call{method: http.MethodPost, path: path, body: body}
	answer, err := c.askDecision(ctx, what, testRun)
	if repeatable := testRun || nonce != ""; repeatable && unanswered(err) && pause(ctx, retryPause) == nil {
		if again, failure := c.askDecision(ctx, what, testRun); failure == nil || !unanswered(failure) {
			answer, err = again, failure
		}
	}
	if err == nil && answer.RequestNonce != nonce {
		return nil, malformed("it is for the nonce %.64q", answer.RequestNonce)
	}
	return answer, err
}

// unanswered reports whether no answer came at all: one that came, of whatever kind, would only come again.
func unanswered(err error) bool {
	var gone *Unreachable
	var status *Status
	return errors.As(err, &gone) && !errors.As(err, &status)
}

// askDecision sends once.
func (c *Client) askDecision(ctx context.Context, what call, testRun bool) (*Answer, error) {
	status, body, header, err := c.send(ctx, what)
	if err != nil {
		return nil, err
	}
	answer := new(Answer)
	readable := json.Unmarshal(body, answer)
	if status == http.StatusForbidden && readable == nil && answer.PolicyHash != "" && answer.Status == Denied {
		return answer, nil
	}
	if err := failed(status, body, header); err != nil {
		return nil, err
	}
	if readable != nil {
		return nil, malformed("%w", readable)
	}
	return answer, answer.check(status, testRun)
}

// check holds a decision of a 2xx to its form, so that a program that is not the service allows nothing.
func (a *Answer) check(status int, testRun bool) error {
	want := http.StatusOK
	if a.Status == Pending && !testRun {
		want = http.StatusAccepted
	}
	switch {
	case a.Status != Allowed && a.Status != Pending && (a.Status != Denied || !testRun):
		return malformed("its status is %.32q", a.Status)
	case status != want:
		return malformed("it is %s with the HTTP status %d", a.Status, status)
	case a.PolicyHash == "":
		return malformed("it has no policyHash")
	case a.TestRun != testRun:
		return malformed("test_run is %t", a.TestRun)
	case (a.Attestation != "") != (a.Status == Allowed && !testRun):
		return malformed("it is %s, and its attestation has %d bytes", a.Status, len(a.Attestation))
	case a.Status == Pending && !testRun && a.HoldID == "":
		return malformed("it is PENDING without a holdId")
	}
	return nil
}
