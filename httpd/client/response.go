package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// ResponsePolicy returns the response rules of the key's policy as the service signs them, a JWT that nothing is to be taken from
// before it was verified: see package verify.
func (c *Client) ResponsePolicy(ctx context.Context) (string, error) {
	_, body, err := c.Do(ctx, http.MethodGet, "/v1/response-policy", nil)
	if err != nil {
		return "", err
	}
	var answer struct {
		ResponsePolicy string `json:"responsePolicy"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", malformed("%w", err)
	}
	if answer.ResponsePolicy == "" {
		return "", malformed("it has no responsePolicy")
	}
	return answer.ResponsePolicy, nil
}
