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
		{"native", "", sign(t, dynamic(payee, 5, nil), chain), &Declaration{"wallet.transfer", payee, "", "5", "base", "", ""}, ""},
		{"call", "", sign(t, dynamic(payee, 5, call), chain), &Declaration{"contract.call", payee, "", "5", "base", "", "0x01020304"}, ""},
		{"token", "USDC", sign(t, dynamic(usdc, 0, pay), chain), &Declaration{"wallet.transfer", usdc, "USDC", "7", "base", payee, ""}, ""},
		{"token from the signer", "USDC", sign(t, dynamic(usdc, 0, tokenData(selTransferFrom, spell(signer), payee, 7)), chain), &Declaration{"wallet.transfer", usdc, "USDC", "7", "base", payee, ""}, ""},
		{"approval", usdc, sign(t, dynamic(usdc, 0, allow), chain), &Declaration{"token.approve", usdc, usdc, "7", "base", payee, ""}, ""},
		{"token's call, undeclared", "", sign(t, dynamic(usdc, 0, pay), chain), &Declaration{"contract.call", usdc, "", "0", "base", "", "0x" + hex.EncodeToString(pay)}, ""},
		{"no token's call", "USDC", sign(t, dynamic(usdc, 0, call), chain), nil, "no transfer"},
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
		claimed := attest.Intent{Action: got.Action, AmountBase: got.Amount, TargetAddress: got.TargetAddress, Token: got.Token}
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
		if err := fit(&tx.Call, &claimed, terms); err != nil {
			t.Errorf("%s: what was declared does not fit: %v", c.name, err)
		}
	}
}
