package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// maxPoll is how long the service keeps one request for a hold waiting.
	maxPoll = 30 * time.Second
	// pollPause is between two requests of one wait, so that a service without long polls is not asked without end.
	pollPause = time.Second
	// maxLost is how many requests of one wait in a row may stay without an answer.
	maxLost = 3
)

// Hold is an intent that waits for a person. Times are Unix seconds.
type Hold struct {
	HoldID        string          `json:"holdId"`
	Status        string          `json:"status"` // PENDING, ALLOWED, DENIED or EXPIRED
	Method        string          `json:"method"` // the intent's action
	AgentID       string          `json:"agentId"`
	IntentHash    string          `json:"intentHash"`
	PolicyRule    string          `json:"policyRule"`
	Entry         string          `json:"entry"` // of the rule's list, which asks for a decision; empty for none
	PolicyHash    string          `json:"policyHash"`
	PolicyVersion string          `json:"policyVersion"`
	CreatedAt     int64           `json:"createdAt"`
	ExpiresAt     int64           `json:"expiresAt"`
	ResolvedAt    *int64          `json:"resolvedAt"` // nil while PENDING
	Note          string          `json:"note"`       // of who resolved it; empty for none
	Intent        json.RawMessage `json:"intent"`     // the SHA-256 of its RFC 8785 form is IntentHash
	MaxFeeBase    string          `json:"maxFeeBase"` // the intent's maxFee in wei, which IntentHash does not cover
}

// Hold reads a hold. With a wait it returns when the hold is resolved or the wait is over, whatever comes first; the service
// answers as soon as a person has decided. A hold that has expired, like one of another key, is a *Refused with the status
// 404. An approval authorizes nothing by itself: send the same request again.
func (c *Client) Hold(ctx context.Context, id string, wait time.Duration) (*Hold, error) {
	over, cancel := context.WithTimeout(ctx, max(wait, 0))
	defer cancel()
	lost := 0
	for {
		left := remaining(over)
		hold, err := c.readHold(ctx, id, left)
		again, repeat := pollAgain(hold, err, &lost)
		if !repeat || remaining(over) <= again || pause(over, again) != nil {
			return hold, err
		}
	}
}

// pollAgain reports whether a wait continues after an answer, and in how long.
func pollAgain(hold *Hold, err error, lost *int) (in time.Duration, again bool) {
	var gone *Unreachable
	var refused *Refused
	switch {
	case err == nil:
		*lost = 0
		return pollPause, hold.Status == Pending
	case errors.As(err, &gone):
		*lost++
		return max(pollPause, gone.RetryAfter), *lost < maxLost
	case errors.As(err, &refused):
		return max(pollPause, refused.RetryAfter), refused.Status == http.StatusTooManyRequests
	}
	return 0, false
}

// remaining is what is left of a context with a deadline.
func remaining(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(time.Until(deadline), 0)
}

// readHold asks once; the service may wait for as long as wait says.
func (c *Client) readHold(ctx context.Context, id string, wait time.Duration) (*Hold, error) {
	path := "/v1/holds/" + url.PathEscape(id)
	seconds := min(wait, maxPoll) / time.Second
	if seconds > 0 {
		path += "?wait=" + strconv.Itoa(int(seconds))
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout+seconds*time.Second)
	defer cancel()
	status, body, header, err := c.send(ctx, call{method: http.MethodGet, path: path})
	if err == nil {
		err = failed(status, body, header)
	}
	if err != nil {
		return nil, err
	}
	hold := new(Hold)
	if err := json.Unmarshal(body, hold); err != nil {
		return nil, malformed("%w", err)
	}
	switch hold.Status {
	case Pending, Allowed, Denied, "EXPIRED":
	default:
		return nil, malformed("the hold's status is %.32q", hold.Status)
	}
	if hold.HoldID != id {
		return nil, malformed("it is about the hold %.64q", hold.HoldID)
	}
	return hold, nil
}
