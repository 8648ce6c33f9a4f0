package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/attest"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/retention"
)

// drop has retention drop all that the record of a stopped service has, as a service drops old events.
func (s *site) drop(exports string) {
	s.t.Helper()
	signer, err := attest.LoadOrCreate(s.path("data/keys"), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := pebbleledger.Open(s.path("data/ledger"), pebbleledger.Options{Random: rand.Reader})
	if err != nil {
		s.t.Fatal(err)
	}
	drops, err := retention.Drop(context.Background(), retention.Config{Ledger: l, Signer: signer, Clock: time.Now, Age: time.Nanosecond, Folder: s.path(exports)})
	if err = errors.Join(err, l.Close()); err != nil || len(drops) == 0 {
		s.t.Fatalf("%v: dropped %+v", err, drops)
	}
}

// verified verifies the decisions by passkey of a stopped service by one operator key. The record is verified with them.
func (s *site) verified(operator string, flags ...string) string {
	s.t.Helper()
	other := *s
	other.env = append(append([]string(nil), s.env...), "SVC_OPERATOR_PUBLIC_KEY="+operator)
	said, refusal, _ := other.run(append([]string{"events", "verify", "--approvals"}, flags...)...)
	return said + refusal
}

// TestApprovalsAfterRetention: the operator's key is replaced, and retention drops the record of that, who the old key has confirmed, a decision, and half of
// another one. The record verifies by the new key alone; who was confirmed decides, half an approval counts, and later decisions verify as well.
func TestApprovalsAfterRetention(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "SVC_APPROVALS_REQUIRED=2")
	alice, bob := o.approver("alice"), o.approver("bob")
	whole, half, open := o.held("0.5", 1), o.held("0.6", 2), o.held("0.7", 3)
	alice.wants("the first", alice.decides(whole, "ALLOWED"), 200, "It waits for another approver")
	bob.wants("the second", bob.decides(whole, "ALLOWED"), 200, "It is approved")
	alice.wants("the first of another one", alice.decides(half, "ALLOWED"), 200, "It waits for another approver")
	_, first, _ := strings.Cut(strings.Join(o.env, "\n"), "SVC_OPERATOR_PUBLIC_KEY=")
	first, _, _ = strings.Cut(first, "\n")
	second, stranger := strings.TrimSpace(o.must("keygen", "-o", o.path("second.key"))), newOperator(t).public()
	o.must("operator", "rotate", "--key", o.path("operator.key"), "--to", second)
	end := func() {
		t.Helper()
		if err := o.stop(); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(what, said, text string) {
		t.Helper()
		if !strings.Contains(said, text) {
			t.Errorf("%s: %s\nwant %q", what, said, text)
		}
	}
	end()
	wants("before the drop, by the new key", o.verified(second), "2 statements about approvers and 3 decisions")
	o.drop("exported")
	wants("by the new key", o.verified(second), "2 statements about approvers and 0 decisions")
	wants("by the old key", o.verified(first), "2 statements about approvers and 0 decisions")
	wants("by a stranger's", o.verified(stranger), "in what the record begins with: the statement is of an operator key that is not known")
	wants("by the new key, with the exported files", o.verified(second, "--exported", o.path("exported")), "2 statements about approvers and 3 decisions")

	o.site.env = append(o.site.env, "SVC_OPERATOR_PUBLIC_KEY="+second)
	if err := os.Rename(o.path("second.key"), o.path("operator.key")); err != nil {
		t.Fatal(err)
	}
	o.running = o.site.start()
	alice.signIn()
	bob.signIn()
	carol := o.approver("carol")
	bob.wants("the second, for half an approval that was dropped", bob.decides(half, "ALLOWED"), 200, "It is approved")
	if a := o.transfer("0.6", 2); a.Status != "ALLOWED" {
		t.Errorf("what both have approved: %s", a.Raw)
	}
	alice.wants("who the old key has confirmed", alice.decides(open, "ALLOWED"), 200, "It waits for another approver")
	carol.wants("whom the new key has", carol.decides(open, "ALLOWED"), 200, "It is approved")
	end()
	const all, exported = "3 statements about approvers and 3 decisions", "3 statements about approvers and 6 decisions"
	wants("afterwards, by the new key", o.verified(second), all)
	wants("afterwards, by the old key, whose replacement is in no record", o.verified(first), "not known")
	for name, key := range map[string]string{"new": second, "old": first} { // which has signed the rotation
		wants("afterwards, by the "+name+" key, with the exported files", o.verified(key, "--exported", o.path("exported")), exported)
	}
	o.drop("again")
	wants("dropped again, by the new key", o.verified(second), "3 statements about approvers and 0 decisions")
}
