package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"bailiff/httpd/client"
	"bailiff/runtime/attest"
)

// ResponsePolicy verifies the token of a response policy at the time now, for an API key by its id. An empty id takes that of any
// key. The caller refuses a lower epoch than one that it has seen.
func (k *Keys) ResponsePolicy(ctx context.Context, token, keyID string, now time.Time) (*attest.ResponsePolicy, error) {
	verifier, err := k.verifier(ctx, now, false)
	if err != nil {
		return nil, err
	}
	policy, err := verifier.VerifyResponsePolicy(token, keyID, now)
	if errors.Is(err, attest.ErrUnknownKey) || errors.Is(err, attest.ErrPQC) { // the keys may have changed
		newer, fault := k.verifier(ctx, now, true)
		if fault == nil && newer != verifier {
			policy, err = newer.VerifyResponsePolicy(token, keyID, now)
		}
	}
	return policy, err
}

// Issuer returns what the service calls itself, for a caller that trusts the address and was told no name.
func Issuer(ctx context.Context, service *client.Client) (string, error) {
	_, body, err := service.WithKey("").Do(ctx, http.MethodGet, "/.well-known/svc-conformance.json", nil)
	if err != nil {
		return "", err
	}
	var document struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(body, &document); err != nil || document.Issuer == "" {
		return "", fmt.Errorf("the service's conformance document names no issuer: %w", errors.Join(err, ErrKeys))
	}
	return document.Issuer, nil
}
