package compiler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/form/calldata"
	"bailiff/vm/slot/derived"
)

var (
	keyEVMTokenDecimals = tokenKey(TypeInteger, (*checker).tokenDecimals, Key{Name: "token.<SYM>.decimals",
		Doc:     "The token's decimals, 0 to 36; required in a token rule.",
		Example: "token.USDC.decimals: 6"})

	keyTokenMaximum = tokenKey(TypeDecimal, (*checker).tokenMaximum, Key{Name: "token.<SYM>.max_transaction",
		Code: errcode.TokenAmountExceeded, Codes: []errcode.Code{errcode.TokenAmountInvalid},
		Doc:     "The largest amount of the token in one intent, in the token's own unit; required in a token rule.",
		Example: "token.USDC.max_transaction: 250"})

	keyTokenPins = tokenKey(TypeAddresses, (*checker).pin, Key{Name: "token.<SYM>.addresses",
		Code: errcode.TokenNotAllowed,
		Doc: "The token's contracts: an intent for the token must have one of them as its `targetAddress`, and one for a token without addresses must not. Lines add up. " +
			"From version 2.4 on an address may have the id of its chain in front, `8453:0x…`; without one it is pinned on all.",
		Example: "token.USDC.addresses: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"})

	keyTokenMethods = tokenKey(TypeMethods, (*checker).methods, Key{Name: "token.<SYM>.methods", Since: v24,
		Code: errcode.TokenNotAllowed,
		Doc: "Further methods of the token's contracts that may be called: selectors, or signatures between quotes. The methods that move an amount or let others move one " +
			"are known, and judged by the token's rule; every other is denied unless it is named here. What a named one moves is not seen.",
		Example: "token.USDC.methods: \"cancelAuthorization(address,bytes32)\", 0x5c975abb"})

	keyTokenConsensus = tokenKey(TypeDecimal, (*checker).tokenConsensus, Key{Name: "token.<SYM>.consensus_threshold",
		Code:    errcode.HoldConsensus,
		zero:    hintHoldAll,
		Doc:     "The amount of the token from which on a person has to decide, in calls that call data or a shim describes too.",
		Example: "token.USDC.consensus_threshold: 100"})
)

// Pins returns the contracts that the rule pins.
func (t *Token) Pins() []vm.Pin {
	var pins []vm.Pin
	for _, text := range t.Addresses.Texts() {
		pins = append(pins, pinOf(text))
	}
	return pins
}

// pinOf reads an address with or without a chain in front.
func pinOf(text string) vm.Pin {
	if chain, address, found := strings.Cut(text, ":"); found {
		return vm.Pin{Chain: chain, Address: address}
	}
	return vm.Pin{Address: text}
}

// isSymbol reports whether a request can name a token so without giving an address.
func isSymbol(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return len(text) <= MaxSymbolBytes && !strings.HasPrefix(strings.ToLower(text), "0x")
}

// token returns the rule of a symbol, a new one where it has none yet.
func (c *checker) token(symbol grammar.Segment, span grammar.Span) *Token {
	lower := strings.ToLower(symbol.Text)
	evm := part[EVM](c.parts)
	if token := evm.tokens[lower]; token != nil {
		if token.Symbol != symbol.Text {
			c.add(grammar.At(codes.SymbolCase, symbol.Span, "`%s` and `%s` differ only in case, and are one token", symbol.Text, token.Symbol).
				WithHint("spell it `%s` everywhere", token.Symbol).WithFix(symbol.Span, token.Symbol))
		}
		return token
	}
	token := &Token{Symbol: symbol.Text, Span: span}
	put(&evm.tokens, lower, token)
	evm.Tokens = append(evm.Tokens, token)
	return token
}

// pin adds the addresses of an entry to a token.
func (c *checker) pin(token *Token, entry *grammar.Entry) {
	if token.Addresses == nil {
		token.Addresses = &List{Span: entry.Span}
	}
	for _, item := range c.list(entry) {
		pin, ok := c.readPin(item)
		if !ok {
			continue
		}
		holder := c.pinnedBy(pin)
		switch holder {
		case nil:
			evm := part[EVM](c.parts)
			put(&evm.pinned, pin.Address, append(evm.pinned[pin.Address], pinnedToken{pin.Chain, token}))
			token.Addresses.Items = append(token.Addresses.Items, Item{pin.String(), item.Span})
		case token:
			c.add(grammar.At(codes.RepeatedItem, item.Span, "`%s` pins this address already", token.Symbol))
		default:
			c.add(grammar.At(codes.PinnedTwice, item.Span, "`%s` pins this address already, and only one rule may", holder.Symbol).
				WithHint("a contract has one symbol, one `decimals` and one `max_transaction`"))
		}
	}
}

// readPin reads an address, with the id of its chain in front from version 2.4 on.
func (c *checker) readPin(item grammar.Item) (pin vm.Pin, ok bool) {
	chain, text, found := strings.Cut(item.Text, ":")
	if !found {
		pin.Address = c.address(item.Text, item.Span)
		return pin, pin.Address != ""
	}
	if version := c.file.Version; version != nil && !version.AtLeast(v24.Major, v24.Minor) {
		c.add(grammar.At(codes.KeyVersion, item.Span, "an address with a chain needs version %s, and this policy has %s", v24, version.Text).
			WithHint("write `version: %s.0`, or the address alone, which pins it on all chains", v24))
		return pin, false
	}
	pin = vm.Pin{Chain: c.chain(chain, item.Span), Address: c.address(text, item.Span)}
	return pin, pin.Chain != "" && pin.Address != ""
}

// pinnedBy returns the token whose rule pins the same contract already, or nil.
func (c *checker) pinnedBy(pin vm.Pin) *Token {
	for _, other := range part[EVM](c.parts).pinned[pin.Address] {
		if other.chain == pin.Chain || other.chain == "" || pin.Chain == "" {
			return other.token
		}
	}
	return nil
}

// methods reads the selectors and signatures of a token's further methods.
func (c *checker) methods(token *Token, entry *grammar.Entry) {
	token.Methods = &List{Span: entry.Span}
	seen := map[calldata.Selector]bool{}
	for _, item := range c.list(entry) {
		selector, err := calldata.ParseSelector(item.Text)
		switch {
		case err != nil:
			c.add(notMethod(item, err))
		case seen[selector]:
			c.add(grammar.At(codes.RepeatedItem, item.Span, "`%s` is in the list already, as another spelling of its selector %s", Shorten(item.Text), selector).
				WithHint("remove it"))
		default:
			seen[selector] = true
			token.Methods.Items = append(token.Methods.Items, Item{selector.String(), item.Span})
		}
	}
}

// notMethod reports what names no method.
func notMethod(item grammar.Item, problem error) grammar.Diagnostic {
	d := grammar.At(codes.Method, item.Span, "`%s` names no method: it is %s", Shorten(item.Text), problem)
	switch {
	case strings.Count(item.Text, "(") != strings.Count(item.Text, ")"):
		return d.WithHint("a comma divides a list; write the whole signature between quotes: `\"mint(address,uint256)\"`")
	case errors.Is(problem, calldata.ErrSelector):
		return d.WithHint("write the first four bytes of the call data, such as 0xa9059cbb")
	}
	return d.WithHint("write the signature as Solidity hashes it, without spaces and names of arguments")
}

// finishToken reads a token's amounts by its decimals, and reports what is missing.
func (c *checker) finishToken(token *Token) {
	token.MaxTransaction = c.tokenLimit(keyTokenMaximum, token, token.maximum)
	token.Consensus = c.tokenLimit(keyTokenConsensus, token, token.consensus)
	if token.Decimals == nil {
		c.incomplete(token, "decimals")
	}
	if token.maximum == nil {
		c.incomplete(token, "max_transaction")
	}
}

// tokenLimit reads an amount of a token. Where its decimals are not known only what is wrong in any case is reported.
func (c *checker) tokenLimit(row *Key, token *Token, entry *grammar.Entry) *Limit {
	switch {
	case entry == nil:
	case token.Decimals != nil:
		return c.limit(row, entry, uint8(token.Decimals.N), token.Symbol+" has")
	default:
		c.limitOfAny(row, entry)
	}
	return nil
}

func (c *checker) incomplete(token *Token, key string) {
	if !c.lostPart("evm", token.Symbol) {
		c.add(grammar.At(codes.TokenIncomplete, token.Span, "the rule for token `%s` has no `%s`", token.Symbol, key).
			WithHint("add `token.%s.%s: …`", token.Symbol, key))
	}
}

// tokenKey returns the row of a key that says something of a token.
func tokenKey(name Type, read func(*checker, *Token, *grammar.Entry), row Key) *Key {
	return keyRead(name, func(c *checker, _ *Key, entry *grammar.Entry) {
		symbol := entry.Key.Segments[1]
		if !isSymbol(symbol.Text) {
			c.add(grammar.At(codes.Symbol, symbol.Span, "`%s` is no token symbol", Shorten(symbol.Text)).
				WithHint("a symbol is 1 to %d characters of ASCII and does not begin with 0x", MaxSymbolBytes))
			return
		}
		read(c, c.token(symbol, entry.Span), entry)
	}, row)
}

func (c *checker) tokenDecimals(token *Token, entry *grammar.Entry) {
	token.Decimals = c.integer(entry, 0, amount.MaxDecimals)
}

// The amounts of a token are read when its decimals are known.
func (c *checker) tokenMaximum(token *Token, entry *grammar.Entry) { token.maximum = entry }

func (c *checker) tokenConsensus(token *Token, entry *grammar.Entry) {
	token.consensus = entry
}

// tokenTable tells those who fill frames what the policy says of tokens.
func (e *emitter) tokenTable() {
	if part[EVM](e.parts) == nil {
		return
	}
	for _, token := range part[EVM](e.parts).Tokens {
		row := vm.Token{Symbol: strings.ToLower(token.Symbol), Decimals: uint8(token.Decimals.N)}
		row.Pins = token.Pins()
		e.Token(row)
	}
}

// tokens judges an amount of a token by the token's rule. The machine sees the symbol of the rule, however the intent gives
// the token.
func (e *emitter) tokens(done vm.Label) {
	unknown, cases, blame := e.NewLabel(), e.tokenCases(nil), e.value(derived.Token)
	e.at(part[EVM](e.parts).Span)
	if len(cases) > 0 {
		blame = e.value(slotToken)
		e.Switch(blame.Slot, unknown, cases...)
	}
	e.Place(unknown)
	e.listed(true, e.symbols())
	e.deny(ruleNoToken, errcode.TokenNotAllowed, "no evm.token rule is for this token", blame, done)
	for i, token := range part[EVM](e.parts).Tokens {
		e.Place(cases[i].To)
		e.token(token, done)
	}
}

// symbols returns the tokens that have a rule.
func (e *emitter) symbols() (words []word) {
	for _, token := range part[EVM](e.parts).Tokens {
		words = append(words, word{token.Symbol, token.Symbol})
	}
	return words
}

// tokenCases returns a case for the symbol of each token that is wanted, in order; nil wants all.
func (e *emitter) tokenCases(wanted func(*Token) bool) (cases []vm.Case) {
	for _, token := range part[EVM](e.parts).Tokens {
		if wanted == nil || wanted(token) {
			cases = append(cases, vm.Case{Text: strings.ToLower(token.Symbol), To: e.NewLabel()})
		}
	}
	return cases
}

// token judges an intent by its token's rule. Without addresses of its own the rule is for any contract but those that
// other rules pin: each contract has one maximum.
func (e *emitter) token(token *Token, done vm.Label) {
	rule, judge := keyTokenPins.ruleOf(token.Symbol), e.NewLabel()
	switch {
	case token.Addresses != nil:
		e.allowing(token.Addresses)
		if token.hasTwins() {
			own := e.NewLabel()
			e.Kind(vm.If, e.Field(derived.Stray), absent, own)
			e.deny(rule, keyTokenPins.Code, "targetAddress is not the token's own address", e.value(slotTarget), judge)
			e.Place(own)
		}
		e.Test(vm.OpIn, vm.If, e.Field(derived.TargetToken), e.exactly(strings.ToLower(token.Symbol)), judge)
		e.deny(rule, keyTokenPins.Code, "targetAddress is not an address that the token's rule pins on this chain", e.value(slotTarget), judge)
	case part[EVM](e.parts).Pins():
		e.at(token.Span)
		e.Kind(vm.If, e.Field(derived.TargetToken), absent, judge)
		e.deny(rule, keyTokenPins.Code, "the rule of another token pins this targetAddress", e.value(slotTarget), judge)
	}
	e.Place(judge)
	e.tokenAmount(0, derived.Amount, token, done,
		fmt.Sprintf("the token amount is missing, or no decimal of at most %d fraction digits (in base units: no integer), or 2^256 base units or more", token.Decimals.N),
		"the token amount")
}

// tokenAmount judges an amount of a token: its form, the maximum, consensus. It goes on at done, and denies what is no
// amount with the message invalid. Other messages begin with what the amount is, so that one in call data is told from
// the one that is declared beside it.
func (e *emitter) tokenAmount(register int, slot string, token *Token, done vm.Label, invalid, what string) {
	decimals := uint8(token.Decimals.N)
	valid, within := e.NewLabel(), done
	if token.Consensus != nil {
		within = e.NewLabel()
	}
	e.at(token.MaxTransaction.Span)
	e.Load(register, e.Field(slot), decimals, valid)
	e.deny(keyTokenMaximum.ruleOf(token.Symbol), errcode.TokenAmountInvalid, invalid, e.value(slot), done)
	e.Place(valid)
	e.Compare(vm.OpGreater, vm.Unless, register, e.Amount(token.MaxTransaction.Amount, decimals), within)
	e.deny(keyTokenMaximum.ruleOf(token.Symbol), keyTokenMaximum.Code, what+" is above the token's max_transaction", e.value(slot), done)
	if token.Consensus != nil {
		e.Place(within)
		e.at(token.Consensus.Span)
		e.Compare(vm.OpAtLeast, vm.Unless, register, e.Amount(token.Consensus.Amount, decimals), done)
		e.agree(keyTokenConsensus.ruleOf(token.Symbol), what+" reaches the token's consensus_threshold")
		e.Jump(done)
	}
}

// tokenMismatch denies what is wrong with the call data of a token intent, and goes on behind it for a native one. A call of
// a pinned contract that is cut off is left to the rule about that.
func (e *emitter) tokenMismatch(done vm.Label) {
	native, other := e.NewLabel(), e.NewLabel()
	amounts, cut, recipient := e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.Switch(e.Field(derived.Mismatch), other,
		vm.Case{Text: calldata.NativeData.String(), To: native}, vm.Case{Text: calldata.OtherRecipient.String(), To: recipient},
		vm.Case{Text: calldata.LargerAmount.String(), To: amounts}, vm.Case{Text: calldata.CutOff.String(), To: cut})
	e.Place(recipient)
	e.deny(keyActions.Rule, keyActions.Code, "the calldata is for another recipient or spender than to declares", e.value(slotTo), done)
	e.Place(other)
	e.deny(keyActions.Rule, keyActions.Code, "the calldata calls no method of the token that the action stands for", e.value(derived.Method), done)
	e.Place(amounts)
	e.mismatchedAmount(nil, keyTokenMaximum.Code, "the calldata moves or approves more than the declared amount", done)
	e.Place(cut)
	e.mismatchedAmount(func(t *Token) bool { return !pinned(t) }, errcode.TokenAmountInvalid, "the declared calldata calls a method of the token, and is cut off", done)
	e.Place(native)
	e.atActions()
}

// mismatchedAmount denies by the rule of the intent's token, where that is wanted, and else goes on at done.
func (e *emitter) mismatchedAmount(wanted func(*Token) bool, c errcode.Code, message string, done vm.Label) {
	cases := e.tokenCases(wanted)
	if len(cases) == 0 {
		e.Jump(done)
		return
	}
	e.Switch(e.Field(slotToken), done, cases...)
	for _, token := range part[EVM](e.parts).Tokens {
		if wanted != nil && !wanted(token) {
			continue
		}
		e.Place(cases[0].To)
		cases = cases[1:]
		e.at(token.MaxTransaction.Span)
		e.deny(keyTokenMaximum.ruleOf(token.Symbol), c, message, e.value(slotCalldata), done)
	}
}

// hasTwins reports whether a token's rule pins two contracts on one chain: one given as `token` may then are beside the
// other as the target.
func (t *Token) hasTwins() bool {
	chains := map[string]bool{}
	for _, pin := range t.Pins() {
		if chains[pin.Chain] || chains[""] || pin.Chain == "" && len(chains) > 0 {
			return true
		}
		chains[pin.Chain] = true
	}
	return false
}

// pinned reports whether a token's rule pins an address.
func pinned(token *Token) bool { return token.Addresses != nil && len(token.Addresses.Items) > 0 }

// atActions says that what follows comes from the list of actions, or, without one, from the section.
func (e *emitter) atActions() {
	e.at(part[EVM](e.parts).Span)
	if actions := part[EVM](e.parts).AllowedActions; actions != nil {
		e.at(actions.Span)
	}
}

// Pins reports whether a token rule pins an address.
func (e *EVM) Pins() bool {
	return slices.ContainsFunc(e.Tokens, func(token *Token) bool { return token.Addresses != nil })
}

// agree holds, or notes, an amount that reaches a threshold.
func (e *emitter) agree(rule, message string) {
	index := e.Rule(vm.Rule{Name: rule, Code: string(keyConsensus.Code), Message: message})
	if hold := part[EVM](e.parts).RequireHold; hold == nil || hold.On {
		e.Hold(index)
	} else {
		e.Note(index)
	}
}

// Token is what the keys `token.<SYM>.…` say of one token.
type Token struct {
	Symbol         string // as written
	Span           grammar.Span
	Decimals       *Count // 0 to 36
	MaxTransaction *Limit // in base units of the token
	Addresses      *List  // lower case, with the chain's id and a colon in front where one is named; Span is of the first line
	Methods        *List  // selectors: 0x and eight digits in lower case
	Consensus      *Limit // in base units of the token

	maximum, consensus *grammar.Entry // the lines whose amounts depend on the decimals
}

// A pinnedToken is a token whose rule pins an address on a chain, or, where that is "", on all.
type pinnedToken struct {
	chain string
	token *Token
}

// token returns the rule of a symbol, however it is spelled; nil where there is none.
func (e *EVM) token(symbol string) *Token {
	if e == nil {
		return nil
	}
	return e.tokens[strings.ToLower(symbol)]
}
