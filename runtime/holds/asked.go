package holds

import (
	"encoding/json"
	"slices"
	"strings"

	"bailiff/compiler/frame"
	"bailiff/runtime/ledger"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/form/calldata"
	"bailiff/vm/slot"
)

// AskedOf returns what a hold's intent asks for, to be held against what a passkey is for: the declared amount, the fee, and what its call
// data, or what a shim tells of them, moves of a token or lets others move. unsure says why that is not certain; no bounds can be held against it then.
func AskedOf(hold *ledger.Hold, policy *vm.Program) (asked ledger.Asked, unsure string) {
	h, err := readHeld(hold.Intent)
	if err != nil {
		return ledger.Asked{}, "its intent can't be read"
	}
	sum := sums{policy: policy, held: &h}
	sum.declared()
	sum.called()
	if hold.Fee.Declared {
		sum.add(ledger.NativeAsset, hold.Fee.Amount)
	}
	if len(sum.Amounts) == 0 {
		sum.NoAmount = true
	}
	return sum.Asked, sum.unsure
}

// sums gathers what an intent asks for.
type sums struct {
	ledger.Asked
	unsure string

	policy *vm.Program
	held   *held
	token  ledger.AssetAmount // the declared one
	value  amount.Amount      // that the call carries, in wei
}

func (s *sums) doubt(why string) {
	if s.unsure == "" {
		s.unsure = why
	}
}

// add adds an amount of an asset; nothing where it is zero.
func (s *sums) add(asset string, more amount.Amount) {
	if more.IsZero() {
		return
	}
	at, found := slices.BinarySearchFunc(s.Amounts, asset, func(a ledger.AssetAmount, name string) int { return strings.Compare(a.Asset, name) })
	if !found {
		s.Amounts = slices.Insert(s.Amounts, at, ledger.AssetAmount{Asset: asset, Amount: more})
		return
	}
	sum, overflow := s.Amounts[at].Amount.Add(more)
	if overflow {
		s.doubt("its amounts together are more than can be counted")
	}
	s.Amounts[at].Amount = sum
}

// declared adds the intent's own amount.
func (s *sums) declared() {
	h := s.held
	if h.Amount == "" && h.Unit == "" {
		return
	}
	value, err := amount.ParseBase(h.Amount)
	switch {
	case err != nil || h.Unit != "" || h.Token != "" && tokenOf(s.policy, h.Token) == nil:
		s.doubt("its amount is in no unit that the policy knows")
	case h.Token == "":
		s.value = value
		s.add(ledger.NativeAsset, value)
	default:
		s.token = ledger.AssetAmount{Asset: strings.ToLower(h.Token), Amount: value}
		s.move(s.token.Asset, value)
	}
}

// move adds an amount of a token of the policy.
func (s *sums) move(symbol string, of amount.Amount) {
	if symbol == ledger.NativeAsset {
		s.doubt("the policy calls a token " + symbol + ", as the chain's own currency is called")
	}
	s.add(symbol, of)
}

// called adds what the call moves besides the declared amount.
func (s *sums) called() {
	h := s.held
	switch {
	case h.Calldata != "" && h.Calldata != "0x":
		call, ok := calldata.ReadHex(h.Calldata, s.value)
		if !ok || call.Malformed {
			s.doubt("its call data can't be read")
			return
		}
		s.method(call.Method, h.Target, call.Amount)
	case h.Metadata["evm"] != nil:
		s.told(h.Metadata["evm"])
	case h.Action == slot.UserOpAction:
		s.doubt("it doesn't say what its user operation calls")
	}
}

// told adds what a shim tells of call data.
func (s *sums) told(evidence json.RawMessage) {
	var call toldCall
	err := json.Unmarshal(evidence, &call)
	selector, malformed := calldata.ParseSelector(call.Selector)
	if err != nil || malformed != nil {
		s.doubt("metadata.evm doesn't say which method is called")
		return
	}
	method := calldata.Lookup(selector)
	if method == nil || !method.Kind.Judged() {
		s.method(method, call.Token, amount.Amount{})
		return
	}
	of, fixed := method.FixedAmount()
	if !fixed {
		if of, err = amount.ParseBase(significant(call.Amount)); err != nil {
			s.doubt("metadata.evm doesn't say which amount is moved")
			return
		}
	}
	s.method(method, call.Token, of)
}

// significant returns digits without zeros in front.
func significant(digits string) string {
	if rest := strings.TrimLeft(digits, "0"); rest != "" || digits == "" {
		return rest
	}
	return "0"
}

// method adds what a method of a contract moves. A token intent's call is the declared movement.
func (s *sums) method(method *calldata.Method, contract string, of amount.Amount) {
	switch {
	case method == nil:
		s.NoAmount = true // what it does to amounts is in no table
		return
	case !method.Kind.Judged():
		s.doubt("it has its target run further calls, whose amounts can't be read")
		return
	}
	token := s.pinned(contract)
	switch {
	case s.token.Asset != "" && (token == nil || token.Symbol == s.token.Asset):
		if amount.Less(&s.token.Amount, &of) {
			s.doubt("its call data moves more than it declares")
		}
	case token == nil:
		s.doubt("it moves an amount of a token that the policy doesn't know")
	default:
		s.move(token.Symbol, of)
	}
}

// pinned returns the token whose contract an address is on the intent's chain, nil where the policy pins none there.
func (s *sums) pinned(contract string) *vm.Token {
	if s.policy == nil {
		return nil
	}
	all := s.policy.Tokens()
	at := slices.IndexFunc(all, func(token vm.Token) bool {
		return slices.ContainsFunc(token.Pins, func(pin vm.Pin) bool {
			return strings.EqualFold(pin.Address, contract) && (pin.Chain == "" || pin.Chain == s.held.chain)
		})
	})
	if at < 0 {
		return nil
	}
	return &all[at]
}

// Lines are the amounts that are asked for, a line for each asset, in the units of people with the base units beside.
func Lines(asked *ledger.Asked, policy *vm.Program) (lines []string) {
	for _, of := range asked.Amounts {
		unit, decimals := "ETH", uint8(frame.NativeDecimals)
		if of.Asset != ledger.NativeAsset {
			token := tokenOf(policy, of.Asset)
			if token == nil {
				continue
			}
			unit, decimals = strings.ToUpper(of.Asset), token.Decimals
		}
		lines = append(lines, "in all: "+inUnits(of.Amount, decimals, unit))
	}
	return lines
}
