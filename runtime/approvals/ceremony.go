package approvals

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/go-webauthn/webauthn/protocol"

	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
)

// check refuses what another origin, a frame of one, or a page within one has asked for, and what the device has signed without a person. The library
// compares origins by their meaning; browsers have one spelling. Its own refusals name no flag.
func (s *site) check(c *protocol.CollectedClientData, signed *protocol.AuthenticatorData) error {
	host := sha256.Sum256([]byte(s.rpID))
	switch {
	case c.Origin != s.origin:
		return errors.New("it was asked for by " + c.Origin + ", and not by " + s.origin)
	case c.CrossOrigin || c.TopOrigin != "":
		return errors.New("it was asked for within a page of another origin")
	case !bytes.Equal(signed.RPIDHash, host[:]):
		return errors.New("it is of another host than " + s.rpID)
	case !signed.Flags.HasUserPresent() || !signed.Flags.HasUserVerified():
		return errors.New("the device has not verified who uses it (UV)")
	}
	return nil
}

// badCeremony is the answer to what a passkey has not signed as it has to.
func badCeremony(err error) *service.Failure {
	reason := err.Error()
	var detailed *protocol.Error
	if errors.As(err, &detailed) && detailed.Details != "" {
		reason = detailed.Details
	}
	return refuse(http.StatusForbidden, "the passkey's answer is refused: "+reason)
}

// verify checks a passkey's signature over a challenge: that the person was verified (UV), for this origin and host.
func (s *site) verify(made *protocol.ParsedCredentialAssertionData, challenge []byte, publicKey []byte) error {
	if err := s.check(&made.Response.CollectedClientData, &made.Response.AuthenticatorData); err != nil {
		return err
	}
	return made.Verify(base64.RawURLEncoding.EncodeToString(challenge), s.rpID, "", []string{s.origin}, nil, nil, protocol.TopOriginExplicitVerificationMode,
		false, true, true, publicKey, protocol.SignaturePolicy{})
}

// verifyAgain checks a decision of the log again: that the device's key has signed exactly that, with the person verified. hold is as the record that opened it has it.
func verifyAgain(publicURL, issuer string, device *ledger.Approver, hold *ledger.Hold, decision ledger.Decision, a *ledger.Approval) error {
	checker, err := siteOf(publicURL)
	if err != nil {
		return err
	}
	answer := protocol.CredentialAssertionResponse{}
	answer.ID, answer.Type, answer.RawID = base64.RawURLEncoding.EncodeToString(a.Credential), string(protocol.PublicKeyCredentialType), a.Credential
	answer.AssertionResponse.AuthenticatorData, answer.AssertionResponse.ClientDataJSON, answer.AssertionResponse.Signature = a.AuthenticatorData, a.ClientData, a.Signature
	made, err := answer.Parse()
	if err != nil {
		return err
	}
	challenge := a.Challenge(issuer, hold, decision)
	return checker.verify(made, challenge[:], device.PublicKey)
}

// requestOptions are the options of navigator.credentials.get, as JSON. A credential narrows it to one passkey.
func (s *site) requestOptions(challenge, credential []byte) []byte {
	options := protocol.PublicKeyCredentialRequestOptions{
		Challenge: challenge, Timeout: ceremonyMillis, RelyingPartyID: s.rpID, UserVerification: protocol.VerificationRequired,
	}
	if credential != nil {
		options.AllowedCredentials = []protocol.CredentialDescriptor{{Type: protocol.PublicKeyCredentialType, CredentialID: credential}}
	}
	text, err := json.Marshal(options)
	if err != nil {
		return []byte("null") // no browser takes it
	}
	return text
}

// assertion reads a passkey's answer and finds its device, which may decide now.
func (a *Approvals) assertion(ctx context.Context, body []byte) (*protocol.ParsedCredentialAssertionData, *ledger.Approver, *service.Failure) {
	made, err := protocol.ParseCredentialRequestResponseBytes(body)
	if err != nil {
		return nil, nil, badCeremony(err)
	}
	device, err := a.device(ctx, made.RawID)
	switch {
	case err != nil:
		return nil, nil, a.StoreFault("approvers could not be read", err)
	case device == nil:
		return nil, nil, refuse(http.StatusForbidden, "this passkey may not decide here: the operator has not confirmed it, has suspended or removed it, or its time is over")
	}
	return made, device, nil
}
