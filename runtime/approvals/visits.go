package approvals

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"slices"
	"sync"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
)

// Bounds of visits, which are in memory.
const (
	visitLife     = 15 * time.Minute
	maxVisits     = 400 // in all, and at most maxOfDevice of one device
	maxOfDevice   = 4
	maxShown      = 16 // holds' pages of a visit that can be decided from
	challengeLife = 5 * time.Minute
	// A challenge to sign in has the time, random bytes and a keyed hash of both: nothing is kept for who has not signed in. Its length is not that of
	// a decision's, so that no signature is taken for the other.
	challengeBytes  = 8 + 16 + 16
	challengeRandom = 16
)

// A Visit is an approver who has signed in with a passkey.
type Visit struct {
	hash    [sha256.Size]byte
	Name    string
	device  []byte
	serial  uint64 // of the statement that confirmed the device
	expires time.Time
	shown   []*shown // oldest first
}

// shown is a hold's page as an approver saw it.
type shown struct {
	nonce   [32]byte
	key     ledger.ID
	hold    ledger.ID
	summary string
	expires time.Time
}

// visits are the visits there are.
type visits struct {
	secret  [32]byte
	mu      sync.Mutex
	byToken map[[sha256.Size]byte]*Visit
	used    map[[challengeBytes]byte]int64 // challenges that were signed, until they expire: Unix nanoseconds
}

// mac is the keyed hash of the first part of a challenge to sign in.
func (v *visits) mac(head []byte) []byte {
	h := hmac.New(sha256.New, v.secret[:])
	h.Write(head)
	return h.Sum(nil)[:challengeBytes-len(head)]
}

// SignInOptions returns the options of navigator.credentials.get to sign in with, as JSON.
func (a *Approvals) SignInOptions() ([]byte, *service.Failure) {
	challenge := binary.BigEndian.AppendUint64(nil, uint64(a.Clock().UnixNano()))
	random := make([]byte, challengeRandom)
	if a.draw(random) != nil {
		return nil, service.NoRandomness()
	}
	challenge = append(challenge, random...)
	return a.site.requestOptions(append(challenge, a.visits.mac(challenge)...), nil), nil
}

// SignIn begins a visit with a passkey's answer, and returns its token.
func (a *Approvals) SignIn(ctx context.Context, body []byte) (token string, fault *service.Failure) {
	made, device, fault := a.assertion(ctx, body)
	if fault != nil {
		return "", fault
	}
	challenge, err := base64.RawURLEncoding.DecodeString(made.Response.CollectedClientData.Challenge)
	if err != nil || len(challenge) != challengeBytes || !hmac.Equal(a.visits.mac(challenge[:8+challengeRandom]), challenge[8+challengeRandom:]) {
		return "", refuse(http.StatusForbidden, "the passkey has not signed what this page asked for; load the page again")
	}
	now, issued := a.Clock(), int64(binary.BigEndian.Uint64(challenge))
	if now.UnixNano() < issued || now.UnixNano()-issued >= int64(challengeLife) {
		return "", refuse(http.StatusForbidden, "the page is too old; load it again")
	}
	if err := a.site.verify(made, challenge, device.PublicKey); err != nil {
		return "", badCeremony(err)
	}
	raw := make([]byte, tokenBytes)
	if a.draw(raw) != nil {
		return "", service.NoRandomness()
	}
	token = base64.RawURLEncoding.EncodeToString(raw)
	one := &Visit{hash: sha256.Sum256([]byte(token)), Name: device.Name, device: device.Credential, serial: device.Serial, expires: now.Add(visitLife)}
	if !a.visits.begin(one, [challengeBytes]byte(challenge), issued+int64(challengeLife), now) {
		return "", refuse(http.StatusForbidden, "this answer of the passkey was used before; load the page again")
	}
	return token, nil
}

// begin adds a visit, unless its challenge was used before.
func (v *visits) begin(one *Visit, challenge [challengeBytes]byte, until int64, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for old, ends := range v.used {
		if ends <= now.UnixNano() {
			delete(v.used, old)
		}
	}
	if _, twice := v.used[challenge]; twice {
		return false
	}
	v.used[challenge] = until
	var of []*Visit
	for hash, other := range v.byToken {
		switch {
		case !now.Before(other.expires):
			delete(v.byToken, hash)
		case slices.Equal(other.device, one.device):
			of = append(of, other)
		}
	}
	slices.SortFunc(of, func(a, b *Visit) int { return a.expires.Compare(b.expires) })
	for len(of) >= maxOfDevice || len(of) > 0 && len(v.byToken) >= maxVisits {
		delete(v.byToken, of[0].hash)
		of = of[1:]
	}
	v.byToken[one.hash] = one
	return true
}

// Visit returns the visit of a token, nil where there is none any more: it is over, or the device may not decide any more, or was confirmed anew.
func (a *Approvals) Visit(ctx context.Context, token string) (*Visit, *service.Failure) {
	hash := sha256.Sum256([]byte(token))
	a.visits.mu.Lock()
	one := a.visits.byToken[hash]
	a.visits.mu.Unlock()
	if one == nil || !a.Clock().Before(one.expires) {
		return nil, nil
	}
	device, err := a.device(ctx, one.device)
	switch {
	case err != nil:
		return nil, a.StoreFault("approvers could not be read", err)
	case device == nil || device.Serial != one.serial || device.Name != one.Name:
		a.SignOut(token)
		return nil, nil
	}
	return one, nil
}

// VisitorID returns an id of the passkey of a visit that goes on; zero where there is none.
func (a *Approvals) VisitorID(token string) (id ledger.ID) {
	a.visits.mu.Lock()
	defer a.visits.mu.Unlock()
	if one := a.visits.byToken[sha256.Sum256([]byte(token))]; one != nil && a.Clock().Before(one.expires) {
		sum := sha256.Sum256(one.device)
		copy(id[:], sum[:])
	}
	return id
}

// SignOut ends a visit.
func (a *Approvals) SignOut(token string) {
	a.visits.mu.Lock()
	defer a.visits.mu.Unlock()
	delete(a.visits.byToken, sha256.Sum256([]byte(token)))
}

// show notes what a visit was shown.
func (v *visits) show(one *Visit, page *shown) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if one.shown = append(one.shown, page); len(one.shown) > maxShown {
		one.shown = one.shown[1:]
	}
}

// take returns what a visit was shown with a nonce, once; nil where there is nothing any more.
func (v *visits) take(one *Visit, nonce [32]byte, now time.Time) (page *shown) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.IndexFunc(one.shown, func(p *shown) bool { return p.nonce == nonce })
	if at < 0 {
		return nil
	}
	page = one.shown[at]
	one.shown = slices.Delete(one.shown, at, at+1)
	if !now.Before(page.expires) {
		return nil
	}
	return page
}
