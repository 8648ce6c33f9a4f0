package gen

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// evmFields writes chain, token, target, amount and call data.
func (w *Writer) evmFields() {
	w.evmChain()
	r := w.r
	if r.Chance(20) {
		w.intent.text("to", w.address(One(r, addresses)))
	}
	if len(w.lore.tokens) > 0 && (r.Chance(45) || w.lower == "token.approve") {
		w.tokenIntent()
		return
	}
	if (w.lower == "token.approve" && r.Chance(50)) || w.slip() && r.Chance(40) {
		w.intent.text("token", r.Pick("WETH", "usdC", One(r, addresses), "usd"))
	}
	if r.Chance(75) {
		w.intent.text("targetAddress", w.address(w.target()))
	}
	if r.Chance(75) {
		w.amount(&w.lore.native)
	}
	if w.lower == "contract.call" || r.Chance(8) {
		w.calldata()
	}
}

// target returns some contract; one that a rule pins only now and then.
func (w *Writer) target() string {
	if len(w.lore.tokens) > 0 && w.r.Chance(25) {
		if pins := One(w.r, w.lore.tokens).pins; len(pins) > 0 {
			return One(w.r, pins)
		}
	}
	return One(w.r, addresses)
}

// evmChain writes a chain on which the action is granted.
func (w *Writer) evmChain() {
	if w.slip() {
		w.chain()
		return
	}
	start := w.r.N(max(len(w.lore.chains), 1))
	for i := range w.lore.chains {
		chain := w.lore.chains[(start+i)%len(w.lore.chains)]
		granted, own := w.lore.granted[chain]
		if !own {
			granted = w.lore.granted[""]
		}
		if slices.Contains(granted, w.action) {
			w.request.set("chainId", chain)
			return
		}
	}
	w.chain()
}

// tokenIntent writes an intent for a token that has a rule.
func (w *Writer) tokenIntent() {
	r := w.r
	token := One(r, w.lore.tokens)
	name := r.Pick(token.symbol, strings.ToLower(token.symbol))
	if len(token.pins) > 0 && r.Chance(30) {
		name = w.address(One(r, token.pins))
	}
	target := ""
	switch {
	case len(token.pins) > 0 && strings.HasPrefix(name, "0x"):
		target = name
	case len(token.pins) > 0:
		target = One(r, token.pins)
	case r.Chance(60):
		target = One(r, addresses)
	}
	if w.slip() {
		target = r.Pick("", One(r, addresses))
	}
	if w.slip() {
		name = r.Pick(token.symbol+"x", One(r, addresses), token.symbol[1:])
	}
	w.intent.text("token", name)
	if target != "" {
		w.intent.text("targetAddress", w.address(target))
	}
	if !w.slip() || r.Chance(50) {
		w.amount(&token.amounts)
	}
	if w.lower == "contract.call" {
		w.calldata()
	}
}

// address spells an address: by its checksum, in lower or in upper case, and rarely with a wrong checksum.
func (w *Writer) address(checksummed string) string {
	switch n := w.r.N(100); {
	case n < 50:
		return strings.ToLower(checksummed)
	case n < 60:
		return "0x" + strings.ToUpper(checksummed[2:])
	case n == 60 && w.slip():
		return checksummed[:20] + swapCase(checksummed[20:])
	}
	return checksummed
}

func swapCase(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'f' {
			return c - 32
		}
		if c >= 'A' && c <= 'F' {
			return c + 32
		}
		return c
	}, text)
}

func (w *Writer) amount(a *amounts) {
	text, inBase := a.pick(w.r, w.probe())
	if w.r.Chance(5) {
		w.request.text("amount", text)
	} else {
		w.intent.text("amount", text)
	}
	if inBase {
		w.intent.text("amount_unit", "base")
	}
}

// The methods of tokens that call data may name, and one more.
const (
	selectorTransfer = "a9059cbb"
	selectorFrom     = "23b872dd"
	selectorApprove  = "095ea7b3"
	selectorIncrease = "39509351"
)

// calldata writes the call data of a contract.call, and what a shim says of it.
func (w *Writer) calldata() {
	r := w.r
	selector := r.Pick(selectorTransfer, selectorFrom, selectorApprove, selectorIncrease, "deadbeef", selectorTransfer)
	units := w.tokenUnits(w.pinnedToken())
	if selector == selectorApprove && w.probe() {
		units = maximum
	}
	if r.Chance(65) {
		word := func(n *big.Int) string { return fmt.Sprintf("%064x", n) }
		account := word(big.NewInt(int64(r.N(1000))))
		data := "0x" + selector + account
		if selector == selectorFrom {
			data += account
		}
		data += word(units)
		if w.slip() {
			data = r.Pick(data[:len(data)-2], data+"00", data[:10], "0x", "0x"+strings.ToUpper(data[2:]), data[2:])
		}
		w.intent.text("calldata", data)
	}
	if w.lore.enriched != w.slip() {
		w.enrichment("0x"+selector, units)
	}
}

// pinnedToken returns the token whose contract the request targets, or any.
func (w *Writer) pinnedToken() *token {
	if target := w.intent.member("targetAddress"); target != nil {
		for i, token := range w.lore.tokens {
			for _, pin := range token.pins {
				if strings.EqualFold(Quote(pin), target.Raw) {
					return &w.lore.tokens[i]
				}
			}
		}
	}
	if len(w.lore.tokens) == 0 {
		return nil
	}
	return &w.lore.tokens[0]
}

// tokenUnits returns an amount in base units at the border of the token's limit.
func (w *Writer) tokenUnits(t *token) *big.Int {
	if t == nil || w.r.N(30) == 0 {
		return maximum
	}
	texts := t.amounts.base
	if w.probe() {
		texts = t.amounts.past
	}
	units, _ := new(big.Int).SetString(One(w.r, texts), 10)
	if units.Cmp(maximum) > 0 {
		return maximum
	}
	return units
}

// enrichment writes metadata.evm.
func (w *Writer) enrichment(selector string, units *big.Int) {
	r := w.r
	leaf := func(name, value string) {
		if !w.slip() {
			w.intent.text("metadata.evm."+name, value)
		} else if r.Chance(50) {
			w.intent.set("metadata.evm."+name, r.Pick("1", "null", `"0x"`, `"-1"`, `"`+strings.ToUpper(value)+`"`, "{}"))
		}
	}
	leaf("selector", selector)
	pin := One(r, addresses)
	if t := w.pinnedToken(); t != nil && len(t.pins) > 0 && !w.slip() {
		pin = One(r, t.pins)
	}
	leaf("token_target", r.Pick(pin, strings.ToLower(pin)))
	leaf("token_amount", units.String())
	if r.Chance(90) {
		leaf("recipient", One(r, addresses))
	}
	if r.Chance(90) {
		leaf("spender", One(r, addresses))
	}
}
