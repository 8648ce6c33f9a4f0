package gateway

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bailiff/runtime/attest"
)

// What a transaction is declared as, the gateway finds that it fits.
func TestDeclare(t *testing.T) {
	_, signer := account(0)
	call := []byte{1, 2, 3, 4}
	creation := dynamic(payee, 0, []byte{0x60})
	creation.To = nil
	pay, allow := tokenData(selTransfer, payee, 7), tokenData(selApprove, payee, 7)
	for _, c := range []struct {
		name, token string
		raw         []byte
		want        *Declaration
		fault       string
	}{
		{"native", "", sign(t, dynamic(payee, 5, nil), chain), &Declaration{"wallet.transfer", payee, "", "5", "base", "", "", "0.0002"}, ""},
		{"call", "", sign(t, dynamic(payee, 5, call), chain), &Declaration{"contract.call", payee, "", "5", "base", "", "0x01020304", "0.0002"}, ""},
		{"a byte of data", "", sign(t, dynamic(payee, 5, []byte{1}), chain), &Declaration{"contract.call", payee, "", "5", "base", "", "0x01", "0.0002"}, ""},
		{"token", "USDC", sign(t, dynamic(usdc, 0, pay), chain), &Declaration{"wallet.transfer", usdc, "USDC", "7", "base", payee, "", "0.0002"}, ""},
		{"token from the signer", "USDC", sign(t, dynamic(usdc, 0, tokenData(selTransferFrom, spell(signer), payee, 7)), chain), &Declaration{"wallet.transfer", usdc, "USDC", "7", "base", payee, "", "0.0002"}, ""},
		{"approval", usdc, sign(t, dynamic(usdc, 0, allow), chain), &Declaration{"token.approve", usdc, usdc, "7", "base", payee, "", "0.0002"}, ""},
		{"token's call, undeclared", "", sign(t, dynamic(usdc, 0, pay), chain), &Declaration{"contract.call", usdc, "", "0", "base", "", "0x" + hex.EncodeToString(pay), "0.0002"}, ""},
		{"increase", "USDC", sign(t, dynamic(usdc, 0, tokenData(selIncrease, payee, 7)), chain), &Declaration{"token.approve", usdc, "USDC", "7", "base", payee, "", "0.0002"}, ""},
		{"a byte more", "USDC", sign(t, dynamic(usdc, 0, append(tokenData(selTransfer, payee, 7), 0)), chain), nil, "is not a transfer"},
		{"no token's call", "USDC", sign(t, dynamic(usdc, 0, call), chain), nil, "is not a transfer"},
		{"creation", "", sign(t, creation, chain), nil, "creates a contract"},
	} {
		tx, err := DecodeTransaction(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tx.Declare(c.token)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v, want %q", c.name, err, c.fault)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.name, err, diff)
			continue
		}
		six := 6
		claimed := attest.Intent{Action: got.Action, AmountBase: got.Amount, TargetAddress: got.TargetAddress, Token: got.Token, MaxFeeBase: "200000000000000"}
		if got.Token != "" {
			claimed.Decimals, claimed.To = &six, to(got.To)
		}
		if got.Calldata != "" {
			claimed.CalldataHash = hashOf(tx.Data)
		}
		terms, err := ParseTerms([]byte(policy))
		if err != nil {
			t.Fatal(err)
		}
		if err := fit(&tx.Call, &claimed, chain, terms); err != nil {
			t.Errorf("%s: what was declared does not fit: %v", c.name, err)
		}
	}
}
