package intent

import (
	"encoding/hex"
	"strings"

	"bailiff/vm"
	"bailiff/vm/amount"
)

// tokenCalls are the calls of a token contract that move, or let others move, an amount: it is the last of their
// arguments, each of which takes one word (decisions, section 2, "Amounts and tokens").
var tokenCalls = map[string]int{
	"a9059cbb": 2, // transfer(address,uint256)
	"23b872dd": 3, // transferFrom(address,address,uint256)
	"095ea7b3": 2, // approve(address,uint256)
	"39509351": 2, // increaseAllowance(address,uint256)
}

const (
	selectorDigits = 8
	wordDigits     = 64
)

// derivedCalldataAmount returns the amount that a token call in calldata carries, in base units. It is missing where
// calldata is absent or calls something else, and invalid where arguments are cut off: some contracts would read
// zeros there and others refuse. What follows the arguments is ignored, as contracts do.
func derivedCalldataAmount(in *Intent, _ Provenance) vm.Value {
	digits := strings.TrimPrefix(in.Text(Calldata), "0x")
	if len(digits) < selectorDigits {
		return vm.Value{}
	}
	words, ok := tokenCalls[in.lower(digits[:selectorDigits])]
	if !ok {
		return vm.Value{}
	}
	end := selectorDigits + words*wordDigits
	if len(digits) < end {
		return vm.Value{Kind: vm.Invalid}
	}
	var word [wordDigits / 2]byte
	if _, err := hex.Decode(word[:], []byte(digits[end-wordDigits:end])); err != nil {
		return vm.Value{Kind: vm.Invalid}
	}
	return vm.Value{Kind: vm.String, Text: amount.FromBytes32(word).String(), BaseUnits: true}
}
