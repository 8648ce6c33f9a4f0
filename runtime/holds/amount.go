package holds

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bailiff/compiler/frame"
	"bailiff/vm"
	"bailiff/vm/amount"
)

// held is what a hold's intent says of amounts and calls, in its normal form.
type held struct {
	Action   string
	Token    string
	Amount   string
	Unit     string `json:"amount_unit"` // only of an amount that has no normal form
	Target   string `json:"targetAddress"`
	Calldata string
	Metadata map[string]json.RawMessage

	chain string
}

// A toldCall is what a shim tells of call data (specification, evm-rules.8).
type toldCall struct {
	Selector string
	Token    string `json:"token_target"`
	Amount   string `json:"token_amount"`
}

func readHeld(intent json.RawMessage) (held, error) {
	var canonical struct {
		ChainID json.Number
		Intent  held
	}
	if err := json.Unmarshal(intent, &canonical); err != nil {
		return held{}, fmt.Errorf("the hold's intent can't be read: %w", err)
	}
	canonical.Intent.chain = canonical.ChainID.String()
	return canonical.Intent, nil
}

// tokenOf returns a policy's token of a symbol or an address, nil where it has none, or is nil.
func tokenOf(policy *vm.Program, symbol string) *vm.Token {
	if policy == nil {
		return nil
	}
	at := slices.IndexFunc(policy.Tokens(), func(token vm.Token) bool { return token.Symbol == symbol })
	if at < 0 {
		return nil
	}
	return &policy.Tokens()[at]
}

// Amounts says what the amounts of a hold's intent are in the units of people, a line each, with the base units beside, and how the intent wrote
// its amount. sent is that, and fee is maxFee in wei; both may be empty. The decimals of tokens are from the policy, which is nil where it is not known.
func Amounts(intent json.RawMessage, sent, fee string, policy *vm.Program) (lines []string, err error) {
	h, err := readHeld(intent)
	if err != nil {
		return nil, err
	}
	value, err := amount.ParseBase(h.Amount)
	switch token := tokenOf(policy, h.Token); {
	case err != nil || h.Unit != "": // it has no normal form
	case h.Token == "":
		lines = append(lines, "amount: "+inUnits(value, frame.NativeDecimals, "ETH"))
	case policy == nil:
		lines = append(lines, fmt.Sprintf("amount: %s base units of %s; give --policy FILE to see it in units of the token", value, strconv.Quote(h.Token)))
	case token != nil: // otherwise the amount is as it was sent
		lines = append(lines, "amount: "+inUnits(value, token.Decimals, strings.ToUpper(h.Token)))
	}
	if len(lines) > 0 && sent != "" {
		lines = append(lines, "amount as sent: "+sent)
	}
	if most, err := amount.ParseBase(fee); err == nil {
		lines = append(lines, "gas: at most "+inUnits(most, frame.NativeDecimals, "ETH"))
	}
	return lines, nil
}

func inUnits(value amount.Amount, decimals uint8, unit string) string {
	return fmt.Sprintf("%s %s (%s base units)", value.Format(decimals), unit, value)
}
