package approvals

import (
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"bailiff/runtime/decision"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// Waiting lists the pending holds of the API keys that a visit's device is for, oldest first.
func (a *Approvals) Waiting(ctx context.Context, v *Visit) ([]holds.Summary, *service.Failure) {
	device, fault := a.deviceOf(ctx, v)
	if fault != nil {
		return nil, fault
	}
	keys, fault := a.readable(ctx, device)
	if fault != nil {
		return nil, fault
	}
	var list []holds.Summary
	for _, key := range keys {
		of, fault := a.HoldsOf(ctx, key)
		if fault != nil {
			return nil, fault
		}
		for _, hold := range of {
			if hold.Status == ledger.HoldPending.String() {
				list = append(list, hold)
			}
		}
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

// readable returns the API keys whose holds a device is shown.
func (a *Approvals) readable(ctx context.Context, d *ledger.Approver) (keys []*ledger.Key, fault *service.Failure) {
	all, err := a.Ledger.Keys(ctx)
	if err != nil {
		return nil, a.StoreFault("the API keys could not be read", err)
	}
	for i := range all {
		if key := &all[i]; a.mayRead(d, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Shown is a hold as an approver is shown it, and what the passkey has to sign.
type Shown struct {
	Hold                 *ledger.Hold
	decision.HoldSummary                 // the subject of the decision
	Intent               string          // the whole, indented, for people
	Approvers            []string        // who have approved it already
	Needed               int             // how many approvers it takes
	Others               []holds.Summary // what else waits of the same agent
	Nonce                string          // 64 hex digits
	refusals
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
	page := &Shown{Hold: hold, Intent: decision.WholeIntent(hold.Intent), Approvers: hold.Approvers, Needed: a.needed}
	if page.HoldSummary, page.refusals, fault = a.judge(ctx, device, key, hold); fault != nil {
		return nil, fault
	}
	if page.Others, fault = a.OtherHolds(ctx, hold); fault != nil {
		return nil, fault
	}
	approval := ledger.Approval{Summary: page.Text}
	if a.draw(approval.Nonce[:]) != nil {
		return nil, service.NoRandomness()
	}
	page.Nonce = hex.EncodeToString(approval.Nonce[:])
	for decision, options := range map[ledger.Decision]*[]byte{ledger.Allowed: &page.Allow, ledger.Denied: &page.Deny} {
		challenge := approval.Challenge(a.Issuer, hold, decision)
		*options = a.site.requestOptions(challenge[:], device.Credential)
	}
	a.visits.show(v, &shown{approval.Nonce, key.ID, hold.ID, page.Text, a.Clock().Add(challengeLife)})
	return page, nil
}

// errNoHold is what a device is told of a hold that is missing, has expired, or is of a key that the device is not for.
var errNoHold = refuse(http.StatusNotFound, "there is no such hold, it has expired, or your passkey is not for its API key")

// findHold returns an unexpired hold that a device is shown.
func (a *Approvals) findHold(ctx context.Context, device *ledger.Approver, id string) (*ledger.Hold, *ledger.Key, *service.Failure) {
	keys, fault := a.readable(ctx, device)
	if fault != nil {
		return nil, nil, fault
	}
	for _, key := range keys {
		hold, fault := a.HoldOf(ctx, key, strings.ToLower(id))
		switch {
		case fault == nil:
			return hold, key, nil
		case fault.Code != errcode.NotFound:
			return nil, nil, fault
		}
	}
	return nil, nil, errNoHold
}

// shownHold returns the hold of a page that a device was shown, where it still is.
func (a *Approvals) shownHold(ctx context.Context, device *ledger.Approver, page *shown) (*ledger.Hold, *ledger.Key, *service.Failure) {
	key, found := a.Ledger.LookupKeyID(page.key)
	if !found || !a.mayRead(device, key) {
		return nil, nil, errNoHold
	}
	hold, fault := a.HoldOf(ctx, key, page.hold.String())
	if fault != nil && fault.Code == errcode.NotFound {
		fault = errNoHold
	}
	return hold, key, fault
}

// refusals are why an approver may not decide; each is empty where the approver may.
type refusals struct {
	Refused         string
	RefusedApproval string // while the approver may deny
}

// of returns why the approver may not decide so.
func (r *refusals) of(decision ledger.Decision) string {
	if r.Refused == "" && decision == ledger.Allowed {
		return r.RefusedApproval
	}
	return r.Refused
}

// judge returns what a device is shown of a hold, and why it may not decide it. What a hold asks for bounds approvals alone.
func (a *Approvals) judge(ctx context.Context, device *ledger.Approver, key *ledger.Key, hold *ledger.Hold) (s decision.HoldSummary, r refusals, fault *service.Failure) {
	policy, err := a.PolicyOfHold(ctx, key, hold)
	if err != nil {
		return s, r, a.StoreFault("the policy of a hold could not be read", err)
	}
	if s, fault = a.SummarizeHold(ctx, key, hold, policy); fault != nil {
		return s, r, fault
	}
	switch {
	case hold.State != ledger.HoldPending:
		r.Refused = "it is " + hold.State.String() + " already"
		return s, r, nil
	case policy == nil:
		r.Refused = "the API key has another policy by now, so nothing comes of this hold"
		return s, r, nil
	}
	section, _, _ := strings.Cut(hold.Rule, ".")
	r.Refused = device.Covers(key.ID, section)
	asked, unsure := holds.AskedOf(hold, policy.Program)
	switch {
	case unsure != "":
		r.RefusedApproval = unsure + ", so it can't be held against what your passkey is for"
	case slices.Contains(hold.Approvers, device.Name) && len(hold.Approvers) < a.needed:
		r.RefusedApproval = "you have approved it; it waits for another approver"
	default:
		r.RefusedApproval = device.Allows(&asked)
	}
	return s, r, nil
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
	hold, key, fault := a.shownHold(ctx, device, page)
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
	if why := refused.of(decision); why != "" {
		return nil, refuse(http.StatusForbidden, why)
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
