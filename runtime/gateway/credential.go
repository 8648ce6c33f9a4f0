package gateway

import (
	"bytes"
	"errors"
	"net/http"

	"bailiff/runtime/attest"
	"bailiff/vm/errcode"
)

// A Credential is what a request carries of an attestation: the values of its headers Authorization and Svc-Receipt,
// each as often as it was sent.
type Credential struct {
	Authorization [][]byte
	Receipt       [][]byte
}

const howToAttest = "send the attestation of this write as Authorization: Bearer, or as Svc-Receipt"

// token returns the one attestation that the headers carry.
func (c Credential) token() (string, *Response) {
	var found []byte
	for _, value := range c.Authorization {
		scheme, token, _ := bytes.Cut(value, []byte(" "))
		token = bytes.TrimLeft(token, " ")
		if !bytes.EqualFold(scheme, []byte("Bearer")) || len(token) == 0 {
			return "", httpFailure(errcode.AttestationInvalid, "the Authorization header holds no bearer token; "+howToAttest)
		}
		if found != nil && !bytes.Equal(found, token) {
			return "", twoAttestations()
		}
		found = token
	}
	for _, token := range c.Receipt {
		if len(token) == 0 {
			return "", httpFailure(errcode.AttestationInvalid, "the Svc-Receipt header is empty; "+howToAttest)
		}
		if found != nil && !bytes.Equal(found, token) {
			return "", twoAttestations()
		}
		found = token
	}
	if found == nil {
		return "", httpFailure(errcode.AttestationRequired, "a write needs an attestation; "+howToAttest)
	}
	return string(found), nil
}

func twoAttestations() *Response {
	return httpFailure(errcode.AttestationInvalid, "the headers carry different attestations; send one")
}

// Attests reports whether a credential has a good attestation.
func (g *Gateway) Attests(credential Credential) bool {
	_, refusal := g.admit(credential)
	return refusal == nil
}

// admit verifies the attestation of a write: everything that can be told without looking at the write itself.
func (g *Gateway) admit(credential Credential) (*attest.Claims, *Response) {
	token, refusal := credential.token()
	if refusal != nil {
		return nil, refusal
	}
	now := g.Calls.Clock()
	if g.ClockDoubt != nil && g.ClockDoubt() {
		return nil, &Response{Code: errcode.ClockUnconfirmed, HTTP: http.StatusUnauthorized,
			Message: "the service's clock cannot be relied on, so no attestation can be judged; its operator has to set the clock, or to confirm it with `bailiff clock accept`"}
	}
	claims, err := g.Verifier.Verify(token, now)
	switch {
	case err == nil:
		return claims, nil
	case errors.Is(err, attest.ErrExpired):
		return nil, httpFailure(errcode.AttestationExpired, err.Error())
	}
	return nil, httpFailure(errcode.AttestationInvalid, err.Error())
}
