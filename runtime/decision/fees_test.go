package decision

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

const feePolicy = "version: 2.4.0\n\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\n" +
	"consensus_threshold_eth: 0.5\nconsensus_require_hold: true\n"

// withFee returns an intent of an amount that needs a decision, with a maxFee unless that is empty.
func withFee(amount, fee string) string {
	if fee != "" {
		fee = `,"maxFee":"` + fee + `"`
	}
	return `{"action":"wallet.transfer","targetAddress":"0x1111111111111111111111111111111111111111","amount":"` + amount + `"` + fee + `}`
}

// claimsOf returns the claims of an attestation.
func claimsOf(t *testing.T, attestation []byte) (claims struct {
	IntentHash string `json:"intentHash"`
	Intent     struct {
		MaxFeeBase string `json:"maxFeeBase"`
	} `json:"intent"`
}) {
	t.Helper()
	parts := strings.Split(string(attestation), ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no attestation", attestation)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// TestBadFee: what is not a fee is refused with its value.
func TestBadFee(t *testing.T) {
	h, by := newTown(t), newOperator(t)
	secret := h.register()
	h.mustDeploy(secret, by, feePolicy)
	for fee, why := range map[string]string{
		"0.01 ETH":              `maxFee: "0.01 ETH" is not a number; write an amount such as 0.1`,
		"-1":                    `maxFee: "-1" is not a number; write an amount such as 0.1`,
		"0.0000000000000000001": `maxFee: "0.0000000000000000001" has 19 fraction digits; at most 18 are allowed`,
	} {
		if answer, fault := h.ask(h.key(secret), withFee("0.1", fee)); fault != nil || !strings.HasPrefix(string(answer.Message), why) {
			t.Errorf("%s: %+v %v", fee, answer, fault)
		}
	}
}

// TestFeeClaim: the attestation claims the declared fee in wei, and the intent's hash does not cover it.
func TestFeeClaim(t *testing.T) {
	h, by := newTown(t), newOperator(t)
	secret := h.register()
	h.mustDeploy(secret, by, feePolicy)
	hashes := map[string]bool{}
	for fee, want := range map[string]string{"": "", "0": "0", "0.010": "10000000000000000", "0.000000000000000001": "1"} {
		answer, fault := h.ask(h.key(secret), withFee("0.1", fee))
		if fault != nil || answer.Status != "ALLOWED" {
			t.Fatalf("%s: %+v %v", fee, answer, fault)
		}
		claims := claimsOf(t, answer.Attestation)
		if claims.Intent.MaxFeeBase != want {
			t.Errorf("maxFee %q is claimed as %q, want %q", fee, claims.Intent.MaxFeeBase, want)
		}
		hashes[claims.IntentHash] = true
	}
	if len(hashes) != 1 {
		t.Errorf("the hash depends on the fee: %v", hashes)
	}
}

// TestFeeOfHold: a hold keeps the fee, its approval covers that fee or a lower one, and nothing else.
func TestFeeOfHold(t *testing.T) {
	h, by := newTown(t), newOperator(t)
	secret := h.register()
	h.mustDeploy(secret, by, feePolicy)
	ask := func(fee string) *Answer {
		answer, fault := h.ask(h.key(secret), withFee("0.7", fee))
		if fault != nil {
			t.Fatal(fault)
		}
		return answer
	}
	opened := ask("0.01")
	hold, fault := h.Hold(context.Background(), h.key(secret), opened.HoldID)
	if fault != nil || hold.MaxFeeBase != "10000000000000000" {
		t.Fatalf("%+v %v", hold, fault)
	}
	if _, fault := h.resolve(secret, by, hold, "ALLOWED", noon.Unix()); fault != nil {
		t.Fatal(fault)
	}
	for _, fee := range []string{"", "0.010000000000000001"} {
		if other := ask(fee); other.Status != "PENDING" || other.HoldID == opened.HoldID {
			t.Errorf("fee %q: %+v", fee, other)
		}
	}
	lower := ask("0.009")
	if lower.Status != "ALLOWED" || claimsOf(t, lower.Attestation).Intent.MaxFeeBase != "9000000000000000" {
		t.Errorf("%+v", lower)
	}
	if again := ask("0.009"); again.Status != "PENDING" {
		t.Errorf("an approval covers twice: %+v", again)
	}
}
