package decision

import (
	"bytes"
	"context"
	"crypto/rand"
	"testing"

	"bailiff/runtime/attest"
	"bailiff/runtime/metrics"
)

// TestUnsigned: for an instance that signs itself the answer has the claims in place of the attestation, the same as that would have, also
// of a decision that is answered again and of one under observation; nothing is signed. What is not allowed has none.
func TestUnsigned(t *testing.T) {
	for _, observe := range []bool{false, true} {
		h := newHouse(t, rand.Reader)
		h.Observe = observe
		body := nonced("n-1", transferIntent)
		signed := h.authorize(body)
		want := attest.AppendClaims(nil, h.claims(signed))
		answer := new(Answer)
		if fault := h.Decide(context.Background(), h.key, []byte(body), Call{Unsigned: true, Timed: true}, answer); fault != nil {
			t.Fatal(fault)
		}
		if !answer.Replayed || answer.Attestation != nil || !bytes.Equal(answer.Claims, want) || answer.Timing[metrics.StageSign] != 0 {
			t.Errorf("observing %t, answered again: %+v\n%s\n%s", observe, answer, answer.Claims, want)
		}
		fresh := new(Answer)
		if fault := h.Decide(context.Background(), h.key, []byte(nonced("n-2", transferIntent)), Call{Unsigned: true, Timed: true}, fresh); fault != nil {
			t.Fatal(fault)
		}
		claims, err := attest.ParseClaims(fresh.Claims)
		if err != nil || fresh.Attestation != nil || fresh.Timing[metrics.StageSign] != 0 || claims.Mode != h.claims(signed).Mode {
			t.Errorf("observing %t: %+v, %v", observe, fresh, err)
		}
		denied := new(Answer)
		if fault := h.Decide(context.Background(), h.key, []byte(nonced("n-3", `{"action":"other"}`)), Call{Unsigned: true}, denied); fault != nil {
			t.Fatal(fault)
		}
		if allowed := denied.Status == "ALLOWED"; allowed != (denied.Claims != nil) {
			t.Errorf("observing %t, a denial: %+v", observe, denied)
		}
	}
}
