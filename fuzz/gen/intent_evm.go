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
	w.maxFee()
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
	if len(w.lore.tokens) > 0 && w.r.Chance(45) {
		if pins := w.pins(One(w.r, w.lore.tokens)); len(pins) > 0 {
			return One(w.r, pins)
		}
	}
	return One(w.r, addresses)
}

// pins returns the addresses that a rule pins on the chain of the request, and now and then those of other chains.
func (w *Writer) pins(t token) []string {
	if w.slip() {
		return t.pinnedOn("")
	}
	chain := ""
	if node := w.request.member("chainId"); node != nil {
		chain = node.Raw
	}
	if pinned := t.pinnedOn(chain); len(pinned) > 0 {
		return pinned
	}
	return t.pinnedOn("")
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
	pins := w.pins(token)
	name := r.Pick(token.symbol, strings.ToLower(token.symbol))
	if len(pins) > 0 && r.Chance(30) {
		name = w.address(One(r, pins))
	}
	target := ""
	switch {
	case len(pins) > 0 && strings.HasPrefix(name, "0x"):
		target = name
	case len(pins) > 0:
		target = One(r, pins)
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
	switch {
	case w.lower == "contract.call":
		w.calldata()
	case r.Chance(50):
		w.ownData(&token)
	}
}

// maxFee writes the most that gas may cost, where the policy asks for it or now and then.
func (w *Writer) maxFee() {
	if w.lore.minor < 4 && !w.r.Chance(5) || w.lore.minor >= 4 && !w.lore.needsFee && !w.r.Chance(20) {
		return
	}
	if w.lore.needsFee && w.slip() {
		return
	}
	a := w.lore.fees
	text, _ := a.pick(w.r, false)
	if !strings.Contains(text, ".") && len(text) > 6 {
		text = One(w.r, a.within)
	}
	switch {
	case w.probe() && w.r.Chance(30):
		text = One(w.r, malformed)
	case w.probe():
		text = One(w.r, a.beyond)
	}
	w.intent.text("maxFee", text)
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

// calldata writes the call data of a contract.call, and what a shim says of it.
func (w *Writer) calldata() {
	r := w.r
	m := anyMethod(r)
	if w.probe() && r.Chance(60) { // a rule for the token has to name it
		m = One(r, []contractMethod{methodOf("mint"), methodOf("pause")})
	} else if w.slips == 0 && r.Chance(60) {
		m = contractMethods[r.N(usual)]
	}
	units := w.tokenUnits(w.pinnedToken())
	if m.arguments == "pv" && m.selector != methodOf("transfer").selector && w.probe() {
		units = maximum
	}
	if r.Chance(65) {
		w.data(m, call{w.account(), w.account(), units})
	}
	if w.lore.enriched != w.slip() {
		w.enrichment("0x"+m.selector, units)
	}
}

// account returns the digits of one of this package's addresses, or of some other account.
func (w *Writer) account() string {
	if w.r.Chance(60) {
		return hexOf(One(w.r, addresses))
	}
	return fmt.Sprintf("%040x", w.r.N(1000))
}

// data writes call data that, where it slips, is cut off, too long, empty or no hexadecimal digits.
func (w *Writer) data(m contractMethod, c call) {
	data := m.data(w.r, c)
	if w.slip() {
		data = w.r.Pick(data[:len(data)-2], data+"00", data[:10], "0x", "0x"+strings.ToUpper(data[2:]), data[2:])
	}
	w.intent.text("calldata", data)
}

// ownData writes the call data of a token intent: its action's own method with the declared amount and recipient or,
// where it slips, with a little more, another recipient, or another method.
func (w *Writer) ownData(t *token) {
	r := w.r
	text, ok := w.intent.member("amount").plain()
	units, isNumber := parseFixed(text, t.decimals)
	if w.intent.member("amount_unit") != nil {
		units, isNumber = new(big.Int).SetString(text, 10)
	}
	if !ok || !isNumber || units.Sign() < 0 || units.Cmp(maximum) > 0 {
		return
	}
	m := contractMethods[r.N(2)]
	if w.lower == "token.approve" {
		m = One(r, []contractMethod{methodOf("approve"), methodOf("increaseAllowance")})
	}
	c := call{w.account(), w.account(), units}
	if to, ok := w.intent.member("to").plain(); ok && len(to) == 42 {
		c.party = hexOf(to)
	}
	switch {
	case r.Chance(10) && units.Sign() > 0:
		c.units = new(big.Int).Sub(units, big.NewInt(1))
	case w.probe() && r.Chance(80):
		if more := new(big.Int).Add(units, big.NewInt(1)); more.Cmp(maximum) <= 0 {
			c.units = more
		}
	}
	if w.probe() && r.Chance(30) {
		c.party = w.account()
	}
	if w.probe() && r.Chance(40) {
		m = anyMethod(r)
	}
	w.data(m, c)
}

// pinnedToken returns the token whose contract the request targets, or any.
func (w *Writer) pinnedToken() *token {
	if target := w.intent.member("targetAddress"); target != nil {
		for i, token := range w.lore.tokens {
			for _, pin := range w.pins(token) {
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
	if t := w.pinnedToken(); t != nil && len(w.pins(*t)) > 0 && !w.slip() {
		pin = One(r, w.pins(*t))
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
