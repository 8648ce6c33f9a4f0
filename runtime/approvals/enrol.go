package approvals

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"

	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// Bounds of enrolments. They are in memory: a restart ends them.
const (
	enrolmentLife  = 30 * time.Minute // to make a passkey in
	confirmLife    = 24 * time.Hour   // from then on, for the operator to confirm it
	maxEnrolments  = 16               // at once
	maxWrongCodes  = 5
	codeDigits     = 8
	tokenBytes     = 32
	ceremonyMillis = 300_000
)

// An enrolment is an approver's way to make a passkey known.
type enrolment struct {
	name       string
	token      [sha256.Size]byte // hash of what the link has
	code       string
	wrong      int
	expires    time.Time
	user       []byte // handle that the passkey keeps
	challenge  string // of the ceremony that the code opened; empty before
	credential []byte // of the passkey; nil before there is one
	publicKey  []byte
}

// Enrolment is what an approver needs to make a passkey known. The link and the code should go by two ways.
type Enrolment struct {
	Name      string `json:"approver"`
	Link      string `json:"link"`
	Code      string `json:"code"`
	ExpiresAt int64  `json:"expiresAt"` // Unix seconds
}

// Enrol opens an enrolment, in place of one of the same name.
func (a *Approvals) Enrol(ctx context.Context, name string) (*Enrolment, error) {
	probe := ledger.ApproverStatement{Action: ledger.SuspendApprover, Serial: 1, Name: name}
	if err := probe.Validate(); err != nil {
		return nil, err
	}
	all, _, err := a.Ledger.Approvers(ctx)
	if err != nil {
		return nil, err
	}
	devices := 0
	for i := range all {
		if all[i].Name == name {
			devices++
		}
	}
	if devices >= ledger.MaxDevices {
		return nil, fmt.Errorf("%w: the approver %s has %d devices already; remove one first", ledger.ErrTooMany, name, devices)
	}
	token, user := make([]byte, tokenBytes), make([]byte, tokenBytes)
	if err := errors.Join(a.draw(token), a.draw(user)); err != nil {
		return nil, err
	}
	code, err := rand.Int(a.Random, new(big.Int).Exp(big.NewInt(10), big.NewInt(codeDigits), nil))
	if err != nil {
		return nil, fmt.Errorf("reading random bytes: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(token)
	one := &enrolment{name: name, token: sha256.Sum256([]byte(text)), code: fmt.Sprintf("%0*d", codeDigits, code), expires: a.Clock().Add(enrolmentLife), user: user}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetEnrolments(name)
	if len(a.enrolments) >= maxEnrolments {
		return nil, fmt.Errorf("%w: %d approvers are being enrolled; wait until one is done", ledger.ErrTooMany, maxEnrolments)
	}
	a.enrolments = append(a.enrolments, one)
	return &Enrolment{name, a.site.base + "/approve/enrol/" + text, one.code, one.expires.Unix()}, nil
}

// forgetEnrolments forgets those of a name, and those that are over. The caller has the lock.
func (a *Approvals) forgetEnrolments(name string) {
	now := a.Clock()
	a.enrolments = slices.DeleteFunc(a.enrolments, func(e *enrolment) bool { return e.name == name || !now.Before(e.expires) })
}

func (a *Approvals) endEnrolment(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetEnrolments(name)
}

// pending returns the enrolments that wait.
func (a *Approvals) pending() []PendingKey {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetEnrolments("")
	all := []PendingKey{}
	for _, e := range a.enrolments {
		all = append(all, PendingKey{e.name, base64.RawURLEncoding.EncodeToString(e.credential), base64.RawURLEncoding.EncodeToString(e.publicKey), e.expires.Unix()})
	}
	return all
}

// enrolled reports whether a confirmation is about a passkey that was enrolled.
func (a *Approvals) enrolled(s *ledger.ApproverStatement) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetEnrolments("")
	return slices.ContainsFunc(a.enrolments, func(e *enrolment) bool {
		return e.name == s.Name && e.credential != nil && bytes.Equal(e.credential, s.Credential) && bytes.Equal(e.publicKey, s.PublicKey)
	})
}

// find returns the enrolment of a link's token. The caller has the lock.
func (a *Approvals) find(token string) (*enrolment, *service.Failure) {
	a.forgetEnrolments("")
	hash := sha256.Sum256([]byte(token))
	for _, e := range a.enrolments {
		if subtle.ConstantTimeCompare(e.token[:], hash[:]) == 1 {
			return e, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "this link is not good any more; ask the operator for another one")
}

// Enrolling returns the name of the approver whom a link is for, and whether it waits for a passkey still.
func (a *Approvals) Enrolling(token string) (name string, waits bool, fault *service.Failure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, fault := a.find(token)
	if fault != nil {
		return "", false, fault
	}
	return e.name, e.credential == nil, nil
}

// algorithms are the signatures that passkeys may make: ES256, EdDSA and RS256.
var algorithms = []protocol.CredentialParameter{
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgES256},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgEdDSA},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgRS256},
}

// BeginEnrolment takes the code of an enrolment and returns the options of navigator.credentials.create, as JSON. The fifth wrong code ends
// the enrolment.
func (a *Approvals) BeginEnrolment(ctx context.Context, token, code string) (options []byte, fault *service.Failure) {
	all, _, err := a.Ledger.Approvers(ctx)
	if err != nil {
		return nil, a.StoreFault("approvers could not be read", err)
	}
	challenge := make([]byte, tokenBytes)
	if a.draw(challenge) != nil {
		return nil, service.NoRandomness()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	e, fault := a.find(token)
	switch {
	case fault != nil:
		return nil, fault
	case e.credential != nil:
		return nil, errEnrolled
	case subtle.ConstantTimeCompare([]byte(code), []byte(e.code)) != 1:
		if e.wrong++; e.wrong >= maxWrongCodes {
			a.forgetEnrolments(e.name)
			a.Log.Warn("approvers: an enrolment has ended after wrong codes", "approver", e.name)
			return nil, refuse(http.StatusForbidden, "the code is wrong, and this link has ended; ask the operator for another one")
		}
		return nil, refuse(http.StatusForbidden, fmt.Sprintf("the code is wrong; %d more tries", maxWrongCodes-e.wrong))
	}
	e.challenge = base64.RawURLEncoding.EncodeToString(challenge)
	required := true
	options, err = json.Marshal(protocol.PublicKeyCredentialCreationOptions{
		RelyingParty: protocol.RelyingPartyEntity{CredentialEntity: protocol.CredentialEntity{Name: "Bailiff"}, ID: a.site.rpID},
		User:         protocol.UserEntity{CredentialEntity: protocol.CredentialEntity{Name: e.name}, DisplayName: e.name, ID: protocol.URLEncodedBase64(e.user)},
		Challenge:    challenge, Parameters: algorithms, Timeout: ceremonyMillis, Attestation: protocol.PreferNoAttestation,
		CredentialExcludeList: ofApprover(all, e.name),
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: &required, ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, refuse(http.StatusInternalServerError, "the service failed")
	}
	return options, nil
}

// ofApprover are the passkeys that an approver has: a device that has one of them makes no other, which would count as a second device.
func ofApprover(all []ledger.Approver, name string) (list []protocol.CredentialDescriptor) {
	for i := range all {
		if all[i].Name == name {
			list = append(list, protocol.CredentialDescriptor{Type: protocol.PublicKeyCredentialType, CredentialID: all[i].Credential})
		}
	}
	return list
}

var errKnown = refuse(http.StatusConflict, "this passkey is known already; make one on another device")

var errEnrolled = refuse(http.StatusConflict, "a passkey was made with this link already; if that was not you, tell the operator at once")

// FinishEnrolment takes the passkey that a browser has made, and returns its words. It may do nothing before the operator has confirmed it.
func (a *Approvals) FinishEnrolment(ctx context.Context, token string, body []byte) (words string, fault *service.Failure) {
	made, err := protocol.ParseCredentialCreationResponseBytes(body)
	if err != nil {
		return "", badCeremony(err)
	}
	all, _, err := a.Ledger.Approvers(ctx)
	if err != nil {
		return "", a.StoreFault("approvers could not be read", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	e, fault := a.find(token)
	switch {
	case fault != nil:
		return "", fault
	case e.credential != nil:
		return "", errEnrolled
	case e.challenge == "":
		return "", refuse(http.StatusForbidden, "give the code first")
	}
	challenge := e.challenge
	e.challenge = "" // good once
	if err := a.site.check(&made.Response.CollectedClientData, &made.Response.AttestationObject.AuthData); err != nil {
		return "", badCeremony(err)
	}
	if _, err := made.Verify(challenge, a.site.rpID, []string{a.site.origin}, nil, nil, protocol.TopOriginExplicitVerificationMode, false, true, true, nil, algorithms,
		protocol.AttestationPolicy{}, protocol.SignaturePolicy{}); err != nil {
		return "", badCeremony(err)
	}
	attested := &made.Response.AttestationObject.AuthData.AttData
	if len(attested.CredentialID) > ledger.MaxCredential || len(attested.CredentialPublicKey) > ledger.MaxCredentialKey {
		return "", refuse(http.StatusBadRequest, "the passkey is larger than the service takes")
	}
	if slices.ContainsFunc(all, func(d ledger.Approver) bool { return bytes.Equal(d.Credential, attested.CredentialID) }) ||
		slices.ContainsFunc(a.enrolments, func(other *enrolment) bool { return bytes.Equal(other.credential, attested.CredentialID) }) {
		return "", errKnown
	}
	e.credential, e.publicKey = bytes.Clone(attested.CredentialID), bytes.Clone(attested.CredentialPublicKey)
	e.expires = a.Clock().Add(confirmLife)
	a.Log.Info("approvers: a passkey was made; confirm it with: bailiff approvers confirm "+e.name, "approver", e.name)
	return Words(e.credential, e.publicKey), nil
}

// refuse is an answer of a page, which has no code of the API's.
func refuse(status int, message string) *service.Failure {
	return &service.Failure{Code: errcode.NotFound, HTTP: status, Message: message}
}
