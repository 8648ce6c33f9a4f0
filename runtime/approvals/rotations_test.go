package approvals_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"bailiff/fuzz/kit/passkey"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
)

// TestApprovalDevices: a device that has an approver's passkey makes no second one, and no passkey is enrolled twice.
func TestApprovalDevices(t *testing.T) {
	d := newDesk(t, 2)
	made, _ := d.approver("alice")
	waiting := d.enrol("carol", device()) // and is not confirmed
	begin := func(name string) (token string, options []byte) {
		opened, err := d.Enrol(d.ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		token = strings.TrimPrefix(opened.Link, origin+"/approve/enrol/")
		options, fault := d.BeginEnrolment(d.ctx, token, opened.Code)
		if fault != nil {
			t.Fatal(fault)
		}
		return token, options
	}
	if _, options := begin("alice"); true {
		if _, err := made.Create(options); !errors.Is(err, passkey.ErrExcluded) {
			t.Errorf("a second passkey on the same device: %v", err)
		}
	}
	for name, known := range map[string]*passkey.Device{"alice": made, "bob": made, "dave": waiting} {
		token, options := begin(name)
		known.Again = true
		answer, err := known.Create(options)
		if err != nil {
			t.Fatal(err)
		}
		_, fault := d.FinishEnrolment(d.ctx, token, []byte(answer))
		d.refused("a passkey that is known, for "+name, fault, "known already")
	}
}

// TestApprovalRotations: statements of before a rotation verify by the key of after it, and the key that was replaced states nothing any more.
func TestApprovalRotations(t *testing.T) {
	d := newDesk(t, 1)
	alice, visit := d.approver("alice")
	old, next := d.operator, operatorKey(9)
	text := func(key ed25519.PrivateKey) string { return attest.FormatOperatorKey(key.Public().(ed25519.PublicKey)) }
	request := accounts.RotationRequest{From: text(old), To: text(next), Serial: 1, SignedAt: d.now.Unix()}
	request.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(old, attest.RotationText("svc-core", request.From, request.To, request.SignedAt, request.Serial)))
	if _, err := d.decider.Admin().Rotate(d.ctx, request); err != nil {
		t.Fatal(err)
	}
	d.enrol("bob", device())
	if err := d.state(d.statement("bob"), next); err != nil {
		t.Fatal(err)
	}
	if status, err := d.decide(visit, alice, d.hold("0.5"), ledger.Allowed, nil); err != nil || status != "ALLOWED" {
		t.Fatal(status, err)
	}
	page, err := d.ledger.Events(d.ctx, ledger.EventQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	by := func(key ed25519.PrivateKey, change func(*ledger.LoggedEvent)) error {
		c, events := d.checker(), append([]ledger.LoggedEvent(nil), page.Events...)
		c.Operators = [][32]byte{[32]byte(key.Public().(ed25519.PublicKey))}
		for i := range events {
			if events[i].Rotation != nil && change != nil {
				changed := *events[i].Rotation
				events[i].Rotation = &changed
				change(&events[i])
			}
		}
		return verify(c, events)
	}
	for name, key := range map[string]ed25519.PrivateKey{"the key of before": old, "the key of after": next} {
		if err := by(key, nil); err != nil {
			t.Errorf("by %s: %v", name, err)
		}
	}
	unsigned := func(e *ledger.LoggedEvent) { e.Rotation.Signed = nil }
	if err := by(next, unsigned); err != nil {
		t.Errorf("by the key of after, without a signature: %v", err)
	}
	d.refused("by the key of before, without a signature", by(old, unsigned), "not known")
	d.refused("by a stranger's", by(operatorKey(3), nil), "not known")
	d.refused("from a key that signed nothing", by(next, func(e *ledger.LoggedEvent) { e.Rotation.From[0]++ }), "has not signed")
	d.refused("another serial", by(next, func(e *ledger.LoggedEvent) {
		e.Rotation.Signed = &ledger.HaltStatement{Serial: 2, At: e.Rotation.Signed.At, Signature: e.Rotation.Signed.Signature}
	}), "has not signed")
	late := append([]ledger.LoggedEvent(nil), page.Events...)
	for i := range late { // the statement of before comes after the rotation
		if late[i].Rotation != nil {
			late = append(append(append([]ledger.LoggedEvent(nil), late[i]), late[:i]...), late[i+1:]...)
			break
		}
	}
	d.refused("a statement by the key that was replaced", verify(d.checker(), late), "was replaced before")
}
