package client

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/compiler"
	"bailiff/vm"
	"bailiff/vm/amount"
)

// heldAmounts are what a hold is about, as its intent and the service say it: in base units.
type heldAmounts struct {
	Token, Amount string
	Unit          string `json:"amount_unit"` // only of an amount that has no normal form
	fee           string
}

// showAmounts prints a hold's amounts in the units that people use. The decimals of tokens are from the operator's copy of
// the policy, nil where there is none: what the service said of them would not be covered by the signature.
func showAmounts(w io.Writer, hold *holdAnswer, policy *vm.Program) error {
	var canonical struct{ Intent heldAmounts }
	if err := json.Unmarshal(hold.Intent, &canonical); err != nil {
		return cli.Fail("the hold's intent can't be read: %v", err)
	}
	held := canonical.Intent
	held.fee = hold.MaxFeeBase
	for _, line := range held.lines(policy) {
		fmt.Fprintln(w, strings.Map(cli.OneLine, line))
	}
	return nil
}

// lines are what is to be printed.
func (h *heldAmounts) lines(policy *vm.Program) (lines []string) {
	value, err := amount.ParseBase(h.Amount)
	switch readable := err == nil && h.Unit == ""; {
	case !readable:
	case h.Token == "":
		lines = append(lines, "amount: "+inUnits(value, compiler.NativeDecimals, "ETH"))
	case policy == nil:
		lines = append(lines, fmt.Sprintf("amount: %s base units of %s; give --policy FILE to see it in units of the token", value, strconv.Quote(h.Token)))
	default:
		at := slices.IndexFunc(policy.Tokens(), func(token vm.Token) bool { return token.Symbol == h.Token })
		if at >= 0 { // otherwise the amount is as it was sent
			lines = append(lines, "amount: "+inUnits(value, policy.Tokens()[at].Decimals, strings.ToUpper(h.Token)))
		}
	}
	if fee, err := amount.ParseBase(h.fee); err == nil {
		lines = append(lines, "gas: at most "+inUnits(fee, compiler.NativeDecimals, "ETH"))
	}
	return lines
}

func inUnits(value amount.Amount, decimals uint8, unit string) string {
	return string(value.AppendFormat(nil, decimals)) + " " + unit
}
