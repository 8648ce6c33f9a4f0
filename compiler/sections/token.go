package sections

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/form/calldata"
	"bailiff/vm/slot/derived"
)

var (
	keyEVMTokenDecimals = tokenKey(frame.TypeInteger, tokenDecimals, frame.Key{Name: "token.<SYM>.decimals",
		Doc:     "The token's decimals, 0 to 36; required in a token rule.",
		Example: "token.USDC.decimals: 6"})

	keyTokenMaximum = tokenKey(frame.TypeDecimal, tokenMaximum, frame.Key{Name: "token.<SYM>.max_transaction",
		Code: errcode.TokenAmountExceeded, Codes: []errcode.Code{errcode.TokenAmountInvalid},
		Doc:     "The largest amount of the token in one intent, in the token's own unit; required in a token rule.",
		Example: "token.USDC.max_transaction: 250"})

	keyTokenPins = tokenKey(frame.TypeAddresses, addPin, frame.Key{Name: "token.<SYM>.addresses",
		Code: errcode.TokenNotAllowed,
		Doc: "The token's contracts: an intent for the token must have one of them as its `targetAddress`, and one for a token without addresses must not. Several lines add up. " +
			"From version 2.4 on an address may have the id of its chain in front, `8453:0x…`; without one it is pinned on all.",
		Example: "token.USDC.addresses: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"})

	keyTokenMethods = tokenKey(frame.TypeMethods, methods, frame.Key{Name: "token.<SYM>.methods", Since: frame.V24,
		Code: errcode.TokenNotAllowed,
		Doc: "Further methods of the token's contracts that may be called: selectors, or signatures between quotes. The methods that move an amount or let others move one " +
			"are known, and judged by the token's rule; every other is denied unless it is named here. What a named one moves is not seen.",
		Example: "token.USDC.methods: \"cancelAuthorization(address,bytes32)\", 0x5c975abb"})

	keyTokenConsensus = tokenKey(frame.TypeDecimal, tokenConsensus, frame.Key{Name: "token.<SYM>.consensus_threshold",
		Code:    errcode.HoldConsensus,
		Zero:    frame.HintHoldAll,
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
	return len(text) <= frame.MaxSymbolBytes && !strings.HasPrefix(strings.ToLower(text), "0x")
}

// tokenOf returns the rule of a symbol, a new one where it has none yet.
func tokenOf(c *frame.Checker, symbol grammar.Segment, span grammar.Span) *Token {
	lower := strings.ToLower(symbol.Text)
	evm := frame.Part[EVM](c.Parts)
	if token := evm.tokens[lower]; token != nil {
		if token.Symbol != symbol.Text {
			c.Add(grammar.At(codes.SymbolCase, symbol.Span, "`%s` and `%s` differ only in case, and are one token", symbol.Text, token.Symbol).
				WithHint("spell it `%s` everywhere", token.Symbol).WithFix(symbol.Span, token.Symbol))
		}
		return token
	}
	token := &Token{Symbol: symbol.Text, Span: span}
	frame.Put(&evm.tokens, lower, token)
	evm.Tokens = append(evm.Tokens, token)
	return token
}

// addPin adds the addresses of an entry to a token.
func addPin(c *frame.Checker, token *Token, entry *grammar.Entry) {
	if token.Addresses == nil {
		token.Addresses = &frame.List{Span: entry.Span}
	}
	for _, item := range c.List(entry) {
		pin, ok := parsePin(c, item)
		if !ok {
			continue
		}
		holder := pinnedBy(c, pin)
		switch holder {
		case nil:
			evm := frame.Part[EVM](c.Parts)
			frame.Put(&evm.pinned, pin.Address, append(evm.pinned[pin.Address], pinnedToken{pin.Chain, token}))
			token.Addresses.Items = append(token.Addresses.Items, frame.Item{Text: pin.String(), Span: item.Span})
		case token:
			c.Add(grammar.At(codes.RepeatedItem, item.Span, "`%s` pins this address already", token.Symbol))
		default:
			c.Add(grammar.At(codes.PinnedTwice, item.Span, "`%s` pins this address already, and only one rule may", holder.Symbol).
				WithHint("a contract has one symbol, one `decimals` and one `max_transaction`"))
		}
	}
}

// parsePin reads an address, with the id of its chain in front from version 2.4 on.
func parsePin(c *frame.Checker, item grammar.Item) (pin vm.Pin, ok bool) {
	chain, text, found := strings.Cut(item.Text, ":")
	if !found {
		pin.Address = c.Address(item.Text, item.Span)
		return pin, pin.Address != ""
	}
	if version := c.File.Version; version != nil && !version.AtLeast(frame.V24.Major, frame.V24.Minor) {
		c.Add(grammar.At(codes.KeyVersion, item.Span, "an address with a chain needs version %s, and this policy has %s", frame.V24, version.Text).
			WithHint("write `version: %s.0`, or the address alone, which pins it on all chains", frame.V24))
		return pin, false
	}
	pin = vm.Pin{Chain: c.Chain(chain, item.Span), Address: c.Address(text, item.Span)}
	return pin, pin.Chain != "" && pin.Address != ""
}

// pinnedBy returns the token whose rule pins the same contract already, or nil.
func pinnedBy(c *frame.Checker, pin vm.Pin) *Token {
	for _, other := range frame.Part[EVM](c.Parts).pinned[pin.Address] {
		if other.chain == pin.Chain || other.chain == "" || pin.Chain == "" {
			return other.token
		}
	}
	return nil
}

// methods reads the selectors and signatures of a token's further methods.
func methods(c *frame.Checker, token *Token, entry *grammar.Entry) {
	token.Methods = &frame.List{Span: entry.Span}
	seen := map[calldata.Selector]bool{}
	for _, item := range c.List(entry) {
		selector, err := calldata.ParseSelector(item.Text)
		switch {
		case err != nil:
			c.Add(notMethod(item, err))
		case seen[selector]:
			c.Add(grammar.At(codes.RepeatedItem, item.Span, "`%s` is in the list already, as another spelling of its selector %s", frame.Shorten(item.Text), selector).
				WithHint("remove it"))
		default:
			seen[selector] = true
			token.Methods.Items = append(token.Methods.Items, frame.Item{Text: selector.String(), Span: item.Span})
		}
	}
}

// notMethod reports what names no method.
func notMethod(item grammar.Item, problem error) grammar.Diagnostic {
	d := grammar.At(codes.Method, item.Span, "`%s` names no method: it is %s", frame.Shorten(item.Text), problem)
	switch {
	case strings.Count(item.Text, "(") != strings.Count(item.Text, ")"):
		return d.WithHint("a comma divides a list; write the whole signature between quotes: `\"mint(address,uint256)\"`")
	case errors.Is(problem, calldata.ErrSelector):
		return d.WithHint("write the first four bytes of the call data, such as 0xa9059cbb")
	}
	return d.WithHint("write the signature as Solidity hashes it, without spaces and names of arguments")
}

// finishToken reads a token's amounts by its decimals, and reports what is missing.
func finishToken(c *frame.Checker, token *Token) {
	token.MaxTransaction = tokenLimit(c, keyTokenMaximum, token, token.maximum)
	token.Consensus = tokenLimit(c, keyTokenConsensus, token, token.consensus)
	if token.Decimals == nil {
		incomplete(c, token, "decimals")
	}
	if token.maximum == nil {
		incomplete(c, token, "max_transaction")
	}
}

// tokenLimit reads an amount of a token. Where its decimals are not known only what is wrong in any case is reported.
func tokenLimit(c *frame.Checker, row *frame.Key, token *Token, entry *grammar.Entry) *frame.Limit {
	switch {
	case entry == nil:
	case token.Decimals != nil:
		return c.Limit(row, entry, uint8(token.Decimals.N), token.Symbol+" has")
	default:
		c.LimitOfAny(row, entry)
	}
	return nil
}

func incomplete(c *frame.Checker, token *Token, key string) {
	if !c.LostPart("evm", token.Symbol) {
		c.Add(grammar.At(codes.TokenIncomplete, token.Span, "the rule for token `%s` has no `%s`", token.Symbol, key).
			WithHint("add `token.%s.%s: …`", token.Symbol, key))
	}
}

// tokenKey returns the row of a key that says something of a token.
func tokenKey(name frame.Type, read func(*frame.Checker, *Token, *grammar.Entry), row frame.Key) *frame.Key {
	return frame.NewKeyFunc(name, func(c *frame.Checker, _ *frame.Key, entry *grammar.Entry) {
		symbol := entry.Key.Segments[1]
		if !isSymbol(symbol.Text) {
			c.Add(grammar.At(codes.Symbol, symbol.Span, "`%s` is not a token symbol", frame.Shorten(symbol.Text)).
				WithHint("a symbol is 1 to %d characters of ASCII and does not begin with 0x", frame.MaxSymbolBytes))
			return
		}
		read(c, tokenOf(c, symbol, entry.Span), entry)
	}, row)
}

func tokenDecimals(c *frame.Checker, token *Token, entry *grammar.Entry) {
	token.Decimals = c.Integer(entry, 0, amount.MaxDecimals)
}

// tokenMaximum and tokenConsensus keep an entry: the amounts of a token are read when its decimals are known.
func tokenMaximum(c *frame.Checker, token *Token, entry *grammar.Entry) { token.maximum = entry }

func tokenConsensus(c *frame.Checker, token *Token, entry *grammar.Entry) {
	token.consensus = entry
}

// EmitTokenTable tells those who fill frames what the policy says of tokens.
func EmitTokenTable(e *frame.Emitter) {
	if frame.Part[EVM](e.Parts) == nil {
		return
	}
	for _, token := range frame.Part[EVM](e.Parts).Tokens {
		row := vm.Token{Symbol: strings.ToLower(token.Symbol), Decimals: uint8(token.Decimals.N)}
		row.Pins = token.Pins()
		e.Token(row)
	}
}

// tokens judges an amount of a token by the token's rule. The machine sees the symbol of the rule, however the intent gives
// the token.
func tokens(e *frame.Emitter, done vm.Label) {
	unknown, cases, blame := e.NewLabel(), tokenCases(e, nil), e.Value(derived.Token)
	e.At(frame.Part[EVM](e.Parts).Span)
	if len(cases) > 0 {
		blame = e.Value(frame.SlotToken)
		e.Switch(blame.Slot, unknown, cases...)
	}
	e.Place(unknown)
	e.Listed(true, emitSymbols(e))
	e.DenyBy(frame.RuleNoToken, errcode.TokenNotAllowed, "no evm.token rule is for this token", blame, done)
	for i, token := range frame.Part[EVM](e.Parts).Tokens {
		e.Place(cases[i].To)
		emitToken(e, token, done)
	}
}

// emitSymbols returns the tokens that have a rule.
func emitSymbols(e *frame.Emitter) (words []frame.Word) {
	for _, token := range frame.Part[EVM](e.Parts).Tokens {
		words = append(words, frame.Word{Text: token.Symbol, Form: token.Symbol})
	}
	return words
}

// tokenCases returns a case for the symbol of each token that is wanted, in order; nil wants all.
func tokenCases(e *frame.Emitter, wanted func(*Token) bool) (cases []vm.Case) {
	for _, token := range frame.Part[EVM](e.Parts).Tokens {
		if wanted == nil || wanted(token) {
			cases = append(cases, vm.Case{Text: strings.ToLower(token.Symbol), To: e.NewLabel()})
		}
	}
	return cases
}

// emitToken judges an intent by its token's rule. Without addresses of its own the rule is for any contract but those that
// other rules pin: each contract has one maximum.
func emitToken(e *frame.Emitter, token *Token, done vm.Label) {
	rule, judge := keyTokenPins.RuleOf(token.Symbol), e.NewLabel()
	switch {
	case token.Addresses != nil:
		e.Allowing(token.Addresses)
		if token.hasTwins() {
			own := e.NewLabel()
			e.Kind(vm.If, e.Field(derived.Stray), frame.Absent, own)
			e.DenyBy(rule, keyTokenPins.Code, "targetAddress is not the token's own address", e.Value(frame.SlotTarget), judge)
			e.Place(own)
		}
		e.Test(vm.OpIn, vm.If, e.Field(derived.TargetToken), e.Exactly(strings.ToLower(token.Symbol)), judge)
		e.DenyBy(rule, keyTokenPins.Code, "targetAddress is not an address that the token's rule pins on this chain", e.Value(frame.SlotTarget), judge)
	case frame.Part[EVM](e.Parts).Pins():
		e.At(token.Span)
		e.Kind(vm.If, e.Field(derived.TargetToken), frame.Absent, judge)
		e.DenyBy(rule, keyTokenPins.Code, "the rule of another token pins this targetAddress", e.Value(frame.SlotTarget), judge)
	}
	e.Place(judge)
	tokenAmount(e, 0, derived.Amount, token, done,
		fmt.Sprintf("the token amount is missing, or no decimal of at most %d fraction digits (in base units: no integer), or 2^256 base units or more", token.Decimals.N),
		"the token amount")
}

// tokenAmount judges an amount of a token: its form, the maximum, consensus. It goes on at done, and denies what is no
// amount with the message invalid. Other messages begin with what the amount is, so that one in call data is told from
// the one that is declared beside it.
func tokenAmount(e *frame.Emitter, register int, slot string, token *Token, done vm.Label, invalid, what string) {
	decimals := uint8(token.Decimals.N)
	valid, within := e.NewLabel(), done
	if token.Consensus != nil {
		within = e.NewLabel()
	}
	e.At(token.MaxTransaction.Span)
	e.Load(register, e.Field(slot), decimals, valid)
	e.DenyBy(keyTokenMaximum.RuleOf(token.Symbol), errcode.TokenAmountInvalid, invalid, e.Value(slot), done)
	e.Place(valid)
	e.Compare(vm.OpGreater, vm.Unless, register, e.Amount(token.MaxTransaction.Amount, decimals, token.Symbol), within)
	e.DenyBy(keyTokenMaximum.RuleOf(token.Symbol), keyTokenMaximum.Code, what+" is above the token's max_transaction", e.Value(slot), done)
	if token.Consensus != nil {
		e.Place(within)
		e.At(token.Consensus.Span)
		e.Compare(vm.OpAtLeast, vm.Unless, register, e.Amount(token.Consensus.Amount, decimals, token.Symbol), done)
		agree(e, keyTokenConsensus.RuleOf(token.Symbol), what+" reaches the token's consensus_threshold")
		e.Jump(done)
	}
}

// tokenMismatch denies what is wrong with the call data of a token intent, and goes on behind it for a native one. A call of
// a pinned contract that is cut off is left to the rule about that.
func tokenMismatch(e *frame.Emitter, done vm.Label) {
	native, other := e.NewLabel(), e.NewLabel()
	amounts, cut, recipient := e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.Switch(e.Field(derived.Mismatch), other,
		vm.Case{Text: calldata.NativeData.String(), To: native}, vm.Case{Text: calldata.OtherRecipient.String(), To: recipient},
		vm.Case{Text: calldata.LargerAmount.String(), To: amounts}, vm.Case{Text: calldata.CutOff.String(), To: cut})
	e.Place(recipient)
	e.DenyBy(keyActions.Rule, keyActions.Code, "the calldata is for another recipient or spender than to declares", e.Value(frame.SlotTo), done)
	e.Place(other)
	e.DenyBy(keyActions.Rule, keyActions.Code, "the calldata does not call the token method that the action names", e.Value(derived.Method), done)
	e.Place(amounts)
	mismatchedAmount(e, nil, keyTokenMaximum.Code, "the calldata moves or approves more than the declared amount", done)
	e.Place(cut)
	mismatchedAmount(e, func(t *Token) bool { return !pinned(t) }, errcode.TokenAmountInvalid, "the declared calldata calls a method of the token, and is cut off", done)
	e.Place(native)
	atActions(e)
}

// mismatchedAmount denies by the rule of the intent's token, where that is wanted, and else goes on at done.
func mismatchedAmount(e *frame.Emitter, wanted func(*Token) bool, c errcode.Code, message string, done vm.Label) {
	cases := tokenCases(e, wanted)
	if len(cases) == 0 {
		e.Jump(done)
		return
	}
	e.Switch(e.Field(frame.SlotToken), done, cases...)
	for _, token := range frame.Part[EVM](e.Parts).Tokens {
		if wanted != nil && !wanted(token) {
			continue
		}
		e.Place(cases[0].To)
		cases = cases[1:]
		e.At(token.MaxTransaction.Span)
		e.DenyBy(keyTokenMaximum.RuleOf(token.Symbol), c, message, e.Value(frame.SlotCalldata), done)
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
func atActions(e *frame.Emitter) {
	e.At(frame.Part[EVM](e.Parts).Span)
	if actions := frame.Part[EVM](e.Parts).AllowedActions; actions != nil {
		e.At(actions.Span)
	}
}

// Pins reports whether a token rule pins an address.
func (e *EVM) Pins() bool {
	return slices.ContainsFunc(e.Tokens, func(token *Token) bool { return token.Addresses != nil })
}

// agree holds, or notes, an amount that reaches a threshold.
func agree(e *frame.Emitter, rule, message string) {
	index := e.Rule(vm.Rule{Name: rule, Code: string(keyConsensus.Code), Message: message})
	if hold := frame.Part[EVM](e.Parts).RequireHold; hold == nil || hold.On {
		e.Hold(index)
	} else {
		e.Note(index)
	}
}

// Token is what the keys `token.<SYM>.…` say of one token.
type Token struct {
	Symbol         string // as written
	Span           grammar.Span
	Decimals       *frame.Count // 0 to 36
	MaxTransaction *frame.Limit // in base units of the token
	Addresses      *frame.List  // lower case, with the chain's id and a colon in front where one is named; Span is of the first line
	Methods        *frame.List  // selectors: 0x and eight digits in lower case
	Consensus      *frame.Limit // in base units of the token

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
