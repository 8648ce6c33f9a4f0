package approvals

import (
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
)

// Waiting lists the pending holds of the API keys that a visit's device is for, oldest first.
func (a *Approvals) Waiting(ctx context.Context, v *Visit) ([]holds.Summary, *service.Failure) {
	device, fault := a.deviceOf(ctx, v)
	if fault != nil {
		return nil, fault
	}
	all, err := a.AllHolds(ctx)
	if err != nil {
		return nil, a.StoreFault("holds could not be read", err)
	}
	var list []holds.Summary
	for _, hold := range all {
		key, err := a.KeyOf(hold.KeyID)
		if err != nil || hold.Status != ledger.HoldPending.String() || !a.mayRead(device, key) {
			continue
		}
		list = append(list, hold)
	}
	slices.SortStableFunc(list, func(a, b holds.Summary) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list, nil
}

// deviceOf returns the device of a visit, which may decide now.
func (a *Approvals) deviceOf(ctx context.Context, v *Visit) (*ledger.Approver, *service.Failure) {
	device, err := a.device(ctx, v.device)
	switch {
	case err != nil:
		return nil, a.StoreFault("approvers could not be read", err)
	case device == nil || device.Serial != v.serial:
		return nil, refuse(http.StatusForbidden, "this passkey may not decide any more")
	}
	return device, nil
}

// mayRead reports whether a device is shown the holds of an API key.
func (a *Approvals) mayRead(d *ledger.Approver, key *ledger.Key) bool {
	return a.governs(d, key) && (len(d.Keys) == 0 || slices.Contains(d.Keys, key.ID))
}

// Shown is a hold as an approver is shown it, and what the passkey has to sign.
type Shown struct {
	Hold      *ledger.Hold
	Summary   string   // the subject of the decision; the passkey signs its hash
	Approvers []string // who have approved it already
	Needed    int      // how many approvers it takes
	Refused   string   // why this approver may not decide; empty where it may
	Nonce     string   // 64 hex digits
	// Allow and Deny are the options of navigator.credentials.get, as JSON.
	Allow, Deny []byte
}

// Show returns a hold of one of the API keys that a visit's device is for. It can be decided from that page for five minutes, once.
func (a *Approvals) Show(ctx context.Context, v *Visit, id string) (*Shown, *service.Failure) {
	device, fault := a.deviceOf(ctx, v)
	if fault != nil {
		return nil, fault
	}
	hold, key, fault := a.findHold(ctx, device, id)
	if fault != nil {
		return nil, fault
	}
	page := &Shown{Hold: hold, Approvers: hold.Approvers, Needed: a.needed}
	if page.Summary, page.Refused, fault = a.judge(ctx, device, key, hold); fault != nil {
		return nil, fault
	}
	if slices.Contains(hold.Approvers, v.Name) && page.Refused == "" {
		page.Refused = "you have approved it; it waits for another approver"
	}
	approval := ledger.Approval{Summary: page.Summary}
	if a.draw(approval.Nonce[:]) != nil {
		return nil, service.NoRandomness()
	}
	page.Nonce = hex.EncodeToString(approval.Nonce[:])
	for decision, options := range map[ledger.Decision]*[]byte{ledger.Allowed: &page.Allow, ledger.Denied: &page.Deny} {
		challenge := approval.Challenge(a.Issuer, hold, decision)
		*options = a.site.requestOptions(challenge[:], device.Credential)
	}
	a.visits.show(v, &shown{approval.Nonce, key.ID, hold.ID, page.Summary, a.Clock().Add(challengeLife)})
	return page, nil
}

// findHold returns an unexpired hold that a device is shown. Of other holds it says what it says of missing ones.
func (a *Approvals) findHold(ctx context.Context, device *ledger.Approver, id string) (*ledger.Hold, *ledger.Key, *service.Failure) {
	missing := refuse(http.StatusNotFound, "there is no such hold, it has expired, or your passkey is not for its API key")
	all, err := a.AllHolds(ctx)
	if err != nil {
		return nil, nil, a.StoreFault("holds could not be read", err)
	}
	at := slices.IndexFunc(all, func(s holds.Summary) bool { return s.HoldID == strings.ToLower(id) })
	if at < 0 {
		return nil, nil, missing
	}
	key, err := a.KeyOf(all[at].KeyID)
	if err != nil || !a.mayRead(device, key) {
		return nil, nil, missing
	}
	hold, fault := a.HoldOf(ctx, key, all[at].HoldID)
	if fault != nil {
		return nil, nil, missing
	}
	return hold, key, nil
}

// judge returns what a device is shown of a hold, and why it may not decide it.
func (a *Approvals) judge(ctx context.Context, device *ledger.Approver, key *ledger.Key, hold *ledger.Hold) (summary, refused string, fault *service.Failure) {
	policy, err := a.policyOf(ctx, key, hold)
	if err != nil {
		return "", "", a.StoreFault("the policy of a hold could not be read", err)
	}
	if summary, fault = a.summary(ctx, key, hold, policy); fault != nil {
		return "", "", fault
	}
	switch {
	case hold.State != ledger.HoldPending:
		return summary, "it is " + hold.State.String() + " already", nil
	case policy == nil:
		return summary, "the API key has another policy by now, so nothing comes of this hold", nil
	}
	asked, certain := holds.AssetOf(hold.Intent, policy.Program)
	if !certain {
		return summary, "its amount is in no unit that the policy knows, so it can't be held against what your passkey is for", nil
	}
	section, _, _ := strings.Cut(hold.Rule, ".")
	return summary, device.Allows(key.ID, section, asked), nil
}

// Decide records a visit's decision about a hold that it was shown, which the passkey has signed. body is the passkey's answer.
func (a *Approvals) Decide(ctx context.Context, v *Visit, id, nonce string, decision ledger.Decision, note string, body []byte) (*holds.View, *service.Failure) {
	made, device, fault := a.assertion(ctx, body)
	if fault != nil {
		return nil, fault
	}
	raw, err := hex.DecodeString(nonce)
	if err != nil || len(raw) != 32 || decision != ledger.Allowed && decision != ledger.Denied {
		return nil, refuse(http.StatusBadRequest, "the form is not one of this service's pages")
	}
	page := a.visits.take(v, [32]byte(raw), a.Clock())
	switch {
	case page == nil:
		return nil, refuse(http.StatusForbidden, "this page was used, or is older than five minutes; load it again")
	case page.hold.String() != strings.ToLower(id):
		return nil, refuse(http.StatusForbidden, "the page is of another hold")
	case !slices.Equal(device.Credential, v.device) || device.Serial != v.serial:
		return nil, refuse(http.StatusForbidden, "it was signed by another passkey than the one that signed in")
	}
	hold, key, fault := a.findHold(ctx, device, id)
	if fault != nil {
		return nil, fault
	}
	if halted := a.Halted(key); halted != nil {
		return nil, halted
	}
	_, refused, fault := a.judge(ctx, device, key, hold)
	if fault != nil {
		return nil, fault
	}
	if refused != "" {
		return nil, refuse(http.StatusForbidden, refused)
	}
	approval := &ledger.Approval{
		Name: device.Name, Credential: device.Credential, Serial: device.Serial, Nonce: page.nonce, Summary: page.summary,
		AuthenticatorData: made.Raw.AssertionResponse.AuthenticatorData, ClientData: made.Raw.AssertionResponse.ClientDataJSON, Signature: made.Raw.AssertionResponse.Signature,
	}
	challenge := approval.Challenge(a.Issuer, hold, decision)
	if err := a.site.verify(made, challenge[:], device.PublicKey); err != nil {
		return nil, badCeremony(err)
	}
	return a.RecordResolution(ctx, hold, ledger.Resolution{
		Key: key.ID, Hold: hold.ID, Allow: decision == ledger.Allowed, At: a.Clock().UnixNano(), Note: note, Approval: approval, Needed: a.needed,
	})
}
