package intent

import (
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/form"
	"bailiff/vm/slot"
)

// nativeDecimals is the number of decimals of the native currency on every supported chain.
const nativeDecimals = 18

// Tokens finds the tokens of a policy by what requests call them. A nil Tokens has none.
type Tokens struct {
	bySymbol  map[string]*vm.Token
	byAddress map[string][]pinning
}

// pinning is a token whose contract is pinned on a chain, or, where that is "", on all.
type pinning struct {
	chain string
	token *vm.Token
}

// newTokens returns an index of the tokens, or nil where there are none. They must not change any more.
func newTokens(tokens []vm.Token) *Tokens {
	if len(tokens) == 0 {
		return nil
	}
	index := &Tokens{bySymbol: make(map[string]*vm.Token, len(tokens)), byAddress: map[string][]pinning{}}
	for i := range tokens {
		token := &tokens[i]
		index.bySymbol[token.Symbol] = token
		for _, pin := range token.Pins {
			index.byAddress[pin.Address] = append(index.byAddress[pin.Address], pinning{pin.Chain, token})
		}
	}
	return index
}

// find returns the token that a name in lower case, a symbol or an address, means on a chain.
func (t *Tokens) find(name, chain string) *vm.Token {
	if t == nil {
		return nil
	}
	if token := t.bySymbol[name]; token != nil {
		return token
	}
	return t.pinned(name, chain)
}

// pinned returns the token whose rule pins an address on a chain, or nil.
func (t *Tokens) pinned(address, chain string) *vm.Token {
	if t == nil {
		return nil
	}
	for _, pin := range t.byAddress[address] {
		if pin.chain == "" || pin.chain == chain {
			return pin.token
		}
	}
	return nil
}

// TokenName returns the normal form of `token`: the symbol in lower case of the rule that it matches, by symbol or by
// pinned address, and where it matches none what was sent in lower case. It is "" without a token.
func (in *Intent) TokenName(tokens *Tokens) string {
	name := in.lower(in.Text(slot.Token))
	if token := tokens.find(name, in.Text(slot.ChainID)); token != nil {
		return token.Symbol
	}
	return name
}

// decimals returns how many decimals the amount's unit has, and false where no rule says so.
func (in *Intent) decimals(tokens *Tokens) (uint8, bool) {
	if !in.Has(slot.Token) {
		return nativeDecimals, true
	}
	if token := tokens.find(in.lower(in.Text(slot.Token)), in.Text(slot.ChainID)); token != nil {
		return token.Decimals, true
	}
	return 0, false
}

// amountText returns the normal form of `amount`, the shortest decimal in human units, and false where it has none.
func (in *Intent) amountText(tokens *Tokens) (string, bool) {
	sent := in.Text(slot.Amount)
	if !in.AmountInBaseUnits() {
		return form.ShortDecimal(sent)
	}
	decimals, known := in.decimals(tokens)
	value, err := amount.ParseBase(sent)
	if !known || err != nil {
		return sent, false
	}
	start := len(in.text)
	in.text = value.AppendFormat(in.text, decimals)
	return borrow(in.text[start:]), true
}

// amountBase returns the amount in base units, and false where it is none of its unit.
func (in *Intent) amountBase(tokens *Tokens) (value amount.Amount, ok bool) {
	decimals, known := in.decimals(tokens)
	if in.AmountInBaseUnits() {
		decimals = 0
	}
	value, err := amount.Parse(in.Text(slot.Amount), decimals)
	return value, known && err == nil && in.Has(slot.Amount)
}

// AmountInUnits returns the amount with the decimals of its unit, and false where it is not an amount of a unit that the
// tokens know.
func (in *Intent) AmountInUnits(tokens *Tokens) (value amount.Amount, decimals uint8, ok bool) {
	decimals, _ = in.decimals(tokens)
	value, ok = in.amountBase(tokens)
	return value, decimals, ok
}

// inHumanUnits reports whether the amount has a normal form, which is in human units: however it was sent, `amount_unit`
// is then no part of it.
func (in *Intent) inHumanUnits() bool {
	_, ok := in.amountBase(in.tokens)
	return ok
}
