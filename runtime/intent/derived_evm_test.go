package intent

import (
	"fmt"
	"strings"
	"testing"

	"bailiff/vm"
)

const (
	usdcMain = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
	usdcBase = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	wethMain = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
)

var moneyTokens = []vm.Token{
	{Symbol: "usdc", Decimals: 6, Pins: []vm.Pin{{Chain: "1", Address: usdcMain}, {Chain: "8453", Address: usdcBase}}},
	{Symbol: "weth", Decimals: 18, Pins: []vm.Pin{{Address: wethMain}}},
}

// TestMoneySlots reads what the slots about tokens and call data hold; an absent one is "-", an invalid one "!".
func TestMoneySlots(t *testing.T) {
	transfer := "0xA9059CBB" + strings.Repeat("0", 24) + strings.Repeat("2", 40) + fmt.Sprintf("%064x", 7_000_000)
	shim := `"metadata":{"evm":{"selector":"0xa9059cbb","token_target":"` + usdcMain + `","token_amount":"9","recipient":"` + wethMain + `"}}`
	for _, x := range []struct {
		chain            int
		intent           string
		target, stray    string
		method, runs     string
		mismatch, amount string
		moved, by        string
	}{
		{1, `"targetAddress":"` + usdcMain + `"`, "usdc", "-", "-", "-", "-", "-", "-", "-"},
		{8453, `"targetAddress":"` + usdcMain + `"`, "-", "-", "-", "-", "-", "-", "-", "-"},
		{8453, `"targetAddress":"` + wethMain + `"`, "weth", "-", "-", "-", "-", "-", "-", "-"},
		{1, `"targetAddress":"` + usdcMain + `","calldata":"` + transfer + `"`, "usdc", "-", "0xa9059cbb", "-", "-", "7000000", "usdc", "7000000"},
		{8453, `"targetAddress":"` + usdcMain + `","calldata":"` + transfer + `"`, "-", "-", "0xa9059cbb", "-", "-", "7000000", "-", "-"},
		{1, `"targetAddress":"` + usdcMain + `","calldata":"` + transfer[:40] + `"`, "usdc", "-", "0xa9059cbb", "-", "-", "!", "usdc", "!"},
		{1, `"targetAddress":"` + usdcMain + `","token":"USDC","amount":"7","calldata":"` + transfer + `"`, "usdc", "-", "0xa9059cbb", "-", "-", "7000000", "usdc", "7000000"},
		{1, `"targetAddress":"` + usdcMain + `","token":"USDC","amount":"6.999999","calldata":"` + transfer + `"`, "usdc", "-", "0xa9059cbb", "-", "amount", "7000000", "usdc", "6999999"},
		{1, `"targetAddress":"` + usdcMain + `","token":"USDC","amount":"x"`, "usdc", "-", "-", "-", "-", "-", "usdc", "!"},
		{1, `"targetAddress":"` + usdcMain + `","token":"` + wethMain + `","amount":"1"`, "usdc", wethMain, "-", "-", "-", "-", "weth", "1000000000000000000"},
		{1, `"targetAddress":"` + usdcMain + `","token":"` + usdcBase + `","amount":"1"`, "usdc", usdcBase, "-", "-", "-", "-", "-", "-"},
		{1, `"targetAddress":"` + wethMain + `","amount":"0.5","calldata":"0xd0e30db0"`, "weth", "-", "0xd0e30db0", "-", "-", "500000000000000000", "weth", "500000000000000000"},
		{1, `"targetAddress":"` + wethMain + `","amount":"0.5","calldata":"0xAC9650D8"`, "weth", "-", "0xac9650d8", "multicall(bytes[])", "-", "-", "-", "-"},
		{8453, `"targetAddress":"` + usdcMain + `","calldata":"0xac9650d8"`, "-", "-", "0xac9650d8", "-", "-", "-", "-", "-"},
		{1, `"targetAddress":"` + usdcBase + `","calldata":"0xb61d27f6"`, "-", "-", "0xb61d27f6", "execute(address,uint256,bytes)", "-", "-", "-", "-"},
		{1, `"calldata":"0x"`, "-", "-", "-", "-", "-", "-", "-", "-"},
		{1, `"calldata":"0x01"`, "-", "-", "0x01", "-", "-", "-", "-", "-"},
		{1, `"targetAddress":"` + usdcBase + `",` + shim, "-", "-", "-", "-", "-", "-", "usdc", "9"},
		{8453, `"targetAddress":"` + usdcBase + `",` + shim, "usdc", "-", "-", "-", "-", "-", "-", "-"},
	} {
		body := fmt.Sprintf(`{"framework":"f","agentId":"a","txCommit":"%s","chainId":%d,"intent":{"action":"contract.call",%s}}`, strings.Repeat("ab", 32), x.chain, x.intent)
		in, err := NewDecoder(Options{}).Decode([]byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		names := []string{"@target.token", "@token.stray", "@calldata.method", "@calldata.runs", "@calldata.mismatch", "@calldata.amount", "@moved", "@moved.amount"}
		binding, problem := NewBinding(names, moneyTokens)
		if problem != nil {
			t.Fatal(problem)
		}
		frame := make([]vm.Value, len(names))
		binding.Fill(in, Shim, nil, frame)
		for i, want := range []string{x.target, x.stray, x.method, x.runs, x.mismatch, x.amount, x.moved, x.by} {
			got := frame[i].Text
			switch frame[i].Kind {
			case vm.Missing:
				got = "-"
			case vm.Invalid:
				got = "!"
			}
			if got != want {
				t.Errorf("%d %s: %s is %s, want %s", x.chain, x.intent, names[i], got, want)
			}
		}
	}
}
