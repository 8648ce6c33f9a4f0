package holds

import (
	"encoding/json"
	"slices"
	"testing"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/vm"
)

// TestHeldAmounts: a hold's amounts are shown in units of people where its decimals are certain.
func TestHeldAmounts(t *testing.T) {
	compiled, found := compiler.Compile(grammar.NewSource("policy", []byte("version: 2.0.0\n\n## evm\nallowed_chains: 8453\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\ntoken.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\n")))
	if found.HasErrors() {
		t.Fatal(found)
	}
	for _, c := range []struct {
		intent, sent, fee string
		policy            *vm.Program
		want              []string
	}{
		{`{"amount":"300000000000000000"}`, "", "", nil, []string{"amount: 0.3 ETH (300000000000000000 base units)"}},
		{`{"amount":"0"}`, "", "2000000000000000", nil, []string{"amount: 0 ETH (0 base units)", "gas: at most 0.002 ETH (2000000000000000 base units)"}},
		{`{"amount":"250000001","token":"usdc"}`, "", "", compiled.Program, []string{"amount: 250.000001 USDC (250000001 base units)"}},
		{`{"amount":"250000001","token":"usdc"}`, "", "", nil, []string{`amount: 250000001 base units of "usdc"; give --policy FILE to see it in units of the token`}},
		{`{"amount":"5","token":"dai"}`, "", "", compiled.Program, nil},                      // as it was sent
		{`{"amount":"5","token":"dai","amount_unit":"base"}`, "", "", compiled.Program, nil}, // likewise
		{`{"amount":"0.0000000000000000001"}`, "", "", nil, nil},                             // not an amount of ETH
		{`{"amount":"1500000","token":"usdc"}`, `"1.50"`, "7", compiled.Program, []string{
			"amount: 1.5 USDC (1500000 base units)", `amount as sent: "1.50"`, "gas: at most 0.000000000000000007 ETH (7 base units)",
		}},
		{`{"command":"ls"}`, "", "", nil, nil},
	} {
		got, err := Amounts(json.RawMessage(`{"v":2,"intent":`+c.intent+`}`), c.sent, c.fee, c.policy)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, and not %q (%v)", c.intent, got, c.want, err)
		}
	}
}
