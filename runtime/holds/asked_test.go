package holds

import (
	"encoding/json"
	"strings"
	"testing"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

const (
	usdc  = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	other = "0x1111111111111111111111111111111111111111"
)

// word is an argument of a call.
func word(hex string) string { return strings.Repeat("0", 64-len(hex)) + hex }

// TestAskedOf: what an approver's bounds are held against is all that an intent may move, and it is refused where that is not certain.
func TestAskedOf(t *testing.T) {
	policy := func(extra string) *compiler.Compiled {
		compiled, found := compiler.Compile(grammar.NewSource("policy", []byte("version: 2.0.0\n\n## evm\nallowed_chains: 8453\nallowed_actions: wallet.transfer, contract.call\n"+
			"max_transaction_eth: 1\ntoken.USDC.decimals: 6\ntoken.USDC.addresses: "+usdc+"\ntoken.USDC.max_transaction: 250\n"+extra)))
		if found.HasErrors() {
			t.Fatal(found)
		}
		return compiled
	}
	own, eth := policy(""), policy("token.ETH.decimals: 6\ntoken.ETH.max_transaction: 250\n")
	transfer, approve := "0xa9059cbb"+word("22")+word("64"), "0x095ea7b3"+word("22")+strings.Repeat("f", 64)
	unlimited := "115792089237316195423570985008687907853269984665640564039457584007913129639935"
	for _, c := range []struct {
		intent string
		fee    uint64
		want   string // unsure: begins with "?"
	}{
		{`"amount":"300"`, 0, "300 eth"},
		{`"amount":"300"`, 7, "307 eth"},
		{`"amount":"250000001","token":"usdc"`, 0, "250000001 usdc"},
		{`"amount":"5","token":"usdc"`, 7, "7 eth, 5 usdc"},
		{`"command":"ls"`, 0, "none"},
		{`"amount":"0"`, 0, "none"},
		{`"amount":"5","token":"dai"`, 0, "?its amount is in no unit"},
		{`"amount":"5","amount_unit":"eth"`, 0, "?its amount is in no unit"},
		{`"amount":"0.5"`, 0, "?its amount is in no unit"},
		{`"amount":5`, 0, "?its intent can't be read"},

		// Call data move what no amount declares.
		{`"amount":"0","targetAddress":"` + usdc + `","calldata":"` + transfer + `"`, 0, "100 usdc"},
		{`"amount":"0","targetAddress":"` + usdc + `","calldata":"` + approve + `"`, 0, unlimited + " usdc"},
		{`"targetAddress":"` + other + `","calldata":"` + transfer + `"`, 0, "?it moves an amount of a token that the policy doesn't know"},
		{`"amount":"9","targetAddress":"` + other + `","calldata":"0x12345678"`, 0, "9 eth, none"},
		{`"targetAddress":"` + other + `","calldata":"0x"`, 0, "none"},
		{`"targetAddress":"` + other + `","calldata":"0x47e1da2a"`, 0, "?it has its target run further calls"},
		{`"targetAddress":"` + usdc + `","calldata":"0xac9650d8"`, 0, "?it has its target run further calls"},
		{`"targetAddress":"` + usdc + `","calldata":"0xa9059cbb00"`, 0, "?its call data can't be read"},
		{`"amount":"100","token":"usdc","targetAddress":"` + usdc + `","calldata":"` + transfer + `"`, 0, "100 usdc"},
		{`"amount":"99","token":"usdc","targetAddress":"` + usdc + `","calldata":"` + transfer + `"`, 0, "?its call data moves more than it declares"},

		// So does what a shim tells of them.
		{`"action":"erc4337.userop"`, 0, "?it doesn't say what its user operation calls"},
		{`"metadata":{"evm":{"selector":"0xa9059cbb","token_target":"` + usdc + `","token_amount":"0100"}}`, 0, "100 usdc"},
		{`"metadata":{"evm":{"selector":"0xa9059cbb","token_target":"` + other + `","token_amount":"100"}}`, 0, "?it moves an amount of a token"},
		{`"metadata":{"evm":{"selector":"0xa9059cbb","token_target":"` + usdc + `"}}`, 0, "?metadata.evm doesn't say which amount"},
		{`"metadata":{"evm":{"selector":7}}`, 0, "?metadata.evm doesn't say which method"},
		{`"metadata":{"evm":{"selector":"0x12345678"}}`, 0, "none"},
		{`"metadata":{"evm":{"selector":"0xb61d27f6"}}`, 0, "?it has its target run further calls"},
	} {
		hold := ledger.Hold{Intent: json.RawMessage(`{"v":2,"chainId":8453,"intent":{` + c.intent + `}}`), Fee: ledger.Fee{Declared: c.fee > 0, Amount: amount.FromUint64(c.fee)}}
		if got := told(AskedOf(&hold, own.Program)); got != c.want && (c.want[0] != '?' || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s, and not %s", c.intent, got, c.want)
		}
	}
	named := ledger.Hold{Intent: json.RawMessage(`{"v":2,"chainId":8453,"intent":{"amount":"5","token":"eth"}}`)}
	if got := told(AskedOf(&named, eth.Program)); !strings.HasPrefix(got, "?the policy calls a token eth") {
		t.Errorf("a token that is called as the chain's own currency: %s", got)
	}
}

// told puts what is asked for on a line.
func told(asked ledger.Asked, unsure string) string {
	if unsure != "" {
		return "?" + unsure
	}
	var parts []string
	for _, of := range asked.Amounts {
		parts = append(parts, of.Amount.String()+" "+of.Asset)
	}
	if asked.NoAmount {
		parts = append(parts, "none")
	}
	return strings.Join(parts, ", ")
}
