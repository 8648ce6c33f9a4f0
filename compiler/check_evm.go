package compiler

import (
	"errors"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/form/calldata"
)

// readEVM reads one entry of `## evm`, and reports whether it knows the key.
func (c *checker) readEVM(row *Key, entry *grammar.Entry) bool {
	e := c.policy.EVM
	switch row.Name {
	case "allowed_chains":
		e.AllowedChains = c.chains(entry)
	case "allowed_actions":
		e.AllowedActions = c.evmActions(entry.Span, entry.Value)
	case "chain_actions":
		c.readChainActions(entry)
	case "max_transaction_eth":
		e.MaxTransaction = c.limit(entry, NativeDecimals, "ETH has")
	case "max_fee_eth":
		e.MaxFee = c.limit(entry, NativeDecimals, "ETH has")
	case "paymaster_fees":
		if word := c.word(row, entry); word != nil {
			e.PaymasterFees = &Flag{Span: entry.Span, On: word.Text == wordCount}
		}
	case "consensus_threshold_eth":
		e.Consensus = c.limit(entry, NativeDecimals, "ETH has")
	case "consensus_require_hold":
		e.RequireHold = c.boolean(entry)
	case "token.<SYM>.decimals", "token.<SYM>.max_transaction", "token.<SYM>.addresses", "token.<SYM>.methods", "token.<SYM>.consensus_threshold":
		c.readToken(entry)
	case "account_calls":
		if word := c.word(row, entry); word != nil {
			e.AccountCalls = &Flag{Span: entry.Span, On: word.Text == wordAllow}
		}
	case "require_calldata_enrichment":
		e.Enrichment = c.boolean(entry)
	case "calldata_unknown_selector":
		if word := c.word(row, entry); word != nil {
			e.UnknownSelector = &Flag{Span: entry.Span, On: word.Text == wordAllow}
		}
	default:
		return false
	}
	return true
}

// chains reads a list of chain ids.
func (c *checker) chains(entry *grammar.Entry) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.list(entry) {
		id := c.chain(item.Text, item.Span)
		switch {
		case id == "":
		case seen[id]:
			c.add(grammar.At(CodeRepeatedItem, item.Span, "chain %s is in the list already", id))
		default:
			list.Items = append(list.Items, Item{id, item.Span})
		}
		seen[id] = true
	}
	return list
}

// foreignTools are the tools that can't be EVM actions (decisions, section 2, "Kinds of intents").
var foreignTools = []string{"bash", "file_write", "web_fetch", "http", "email.send"}

// evmActions reads a list of EVM actions.
func (c *checker) evmActions(span grammar.Span, value *grammar.Value) *List {
	list := c.actions(span, value)
	list.Items = slices.DeleteFunc(list.Items, func(item Item) bool {
		switch lower := strings.ToLower(item.Text); {
		case isMCP(lower):
			c.add(grammar.At(CodeActionKind, item.Span, "`%s` is an MCP action, which an EVM list can't grant", item.Text).
				WithHint("`## mcp` grants MCP actions"))
		case lower == modelAction:
			c.add(grammar.At(CodeActionKind, item.Span, "`%s` is a model action, which needs no grant", item.Text).
				WithHint("remove it"))
		case slices.Contains(foreignTools, lower):
			c.add(grammar.At(CodeActionKind, item.Span, "`%s` is a tool, which an EVM list can't grant", item.Text).
				WithHint("`tool_calls.allowed` grants tools"))
		default:
			return false
		}
		return true
	})
	return list
}

const (
	mcpPrefix   = "mcp."
	modelAction = "model.inference"
)

func isMCP(lower string) bool { return strings.HasPrefix(lower, mcpPrefix) }

// approveAction is the EVM action that is always about a token.
const approveAction = "token.approve"

// transferAction is the EVM action that pays, in the native currency or a token.
const transferAction = "wallet.transfer"

// CoreEVMActions returns the actions that are EVM actions under every policy, in lower case.
func CoreEVMActions() []string { return slices.Clone(coreEVMActions) }

// coreEVMActions are EVM actions under every policy, in lower case.
var coreEVMActions = []string{transferAction, callAction, approveAction, "erc4337.userop"}

// readChainActions reads the block of chains and their actions.
func (c *checker) readChainActions(entry *grammar.Entry) {
	e := c.policy.EVM
	seen := map[string]bool{}
	for _, line := range entry.Block {
		if line.Value == nil {
			continue // the grammar has reported it
		}
		id := c.chain(line.Key.Text, line.Key.Span)
		actions := c.evmActions(line.Span, line.Value)
		switch {
		case id == "":
		case seen[id]:
			c.add(grammar.At(CodeSecondChain, line.Key.Span, "chain %s has a line in this block already", id).
				WithHint("put its actions on one line"))
		default:
			e.ChainActions = append(e.ChainActions, ChainActions{Item{id, line.Key.Span}, *actions})
		}
		seen[id] = true
	}
}

// readToken reads one `token.<SYM>.…` entry.
func (c *checker) readToken(entry *grammar.Entry) {
	symbol, key := entry.Key.Segments[1], entry.Key.Segments[2].Text
	if !isSymbol(symbol.Text) {
		c.add(grammar.At(CodeSymbol, symbol.Span, "`%s` is no token symbol", shorten(symbol.Text)).
			WithHint("a symbol is 1 to %d characters of ASCII and does not begin with 0x", maxSymbolBytes))
		return
	}
	token := c.token(symbol, entry.Span)
	switch key {
	case "decimals":
		token.Decimals = c.integer(entry, 0, amount.MaxDecimals)
	case "addresses":
		c.pin(token, entry)
	case "methods":
		c.methods(token, entry)
	default: // these are read when the decimals are known
		lines := c.amounts[token]
		if key == "max_transaction" {
			lines.maximum = entry
		} else {
			lines.consensus = entry
		}
		c.amounts[token] = lines
	}
}

// tokenAmounts are the lines about a token whose amounts depend on its decimals.
type tokenAmounts struct{ maximum, consensus *grammar.Entry }

// isSymbol reports whether a request can name a token so without giving an address.
func isSymbol(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return len(text) <= maxSymbolBytes && !strings.HasPrefix(strings.ToLower(text), "0x")
}

// token returns the rule of a symbol, a new one where it has none yet.
func (c *checker) token(symbol grammar.Segment, span grammar.Span) *Token {
	lower := strings.ToLower(symbol.Text)
	if token := c.tokens[lower]; token != nil {
		if token.Symbol != symbol.Text {
			c.add(grammar.At(CodeSymbolCase, symbol.Span, "`%s` and `%s` differ only in case, and are one token", symbol.Text, token.Symbol).
				WithHint("spell it `%s` everywhere", token.Symbol).WithFix(symbol.Span, token.Symbol))
		}
		return token
	}
	token := &Token{Symbol: symbol.Text, Span: span}
	c.tokens[lower] = token
	c.policy.EVM.Tokens = append(c.policy.EVM.Tokens, token)
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
			c.pinned[pin.Address] = append(c.pinned[pin.Address], pinnedToken{pin.Chain, token})
			token.Addresses.Items = append(token.Addresses.Items, Item{pin.String(), item.Span})
		case token:
			c.add(grammar.At(CodeRepeatedItem, item.Span, "`%s` pins this address already", token.Symbol))
		default:
			c.add(grammar.At(CodePinnedTwice, item.Span, "`%s` pins this address already, and only one rule may", holder.Symbol).
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
		c.add(grammar.At(CodeKeyVersion, item.Span, "an address with a chain needs version %s, and this policy has %s", v24, version.Text).
			WithHint("write `version: %s.0`, or the address alone, which pins it on all chains", v24))
		return pin, false
	}
	pin = vm.Pin{Chain: c.chain(chain, item.Span), Address: c.address(text, item.Span)}
	return pin, pin.Chain != "" && pin.Address != ""
}

// A pinnedToken is a token whose rule pins an address on a chain, or, where that is "", on all.
type pinnedToken struct {
	chain string
	token *Token
}

// pinnedBy returns the token whose rule pins the same contract already, or nil.
func (c *checker) pinnedBy(pin vm.Pin) *Token {
	for _, other := range c.pinned[pin.Address] {
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
			c.add(grammar.At(CodeRepeatedItem, item.Span, "`%s` is in the list already, as another spelling of its selector %s", shorten(item.Text), selector).
				WithHint("remove it"))
		default:
			seen[selector] = true
			token.Methods.Items = append(token.Methods.Items, Item{selector.String(), item.Span})
		}
	}
}

// notMethod reports what names no method.
func notMethod(item grammar.Item, problem error) grammar.Diagnostic {
	d := grammar.At(CodeMethod, item.Span, "`%s` names no method: it is %s", shorten(item.Text), problem)
	switch {
	case strings.Count(item.Text, "(") != strings.Count(item.Text, ")"):
		return d.WithHint("a comma divides a list; write the whole signature between quotes: `\"mint(address,uint256)\"`")
	case errors.Is(problem, calldata.ErrSelector):
		return d.WithHint("write the first four bytes of the call data, such as 0xa9059cbb")
	}
	return d.WithHint("write the signature as Solidity hashes it, without spaces and names of arguments")
}

// finishEVM checks what concerns several entries of `## evm`.
func (c *checker) finishEVM() {
	e := c.policy.EVM
	if e == nil {
		return
	}
	for _, token := range e.Tokens {
		c.finishToken(token)
	}
	c.checkKinds()
	if e.UnknownSelector != nil && !e.enriched() {
		c.add(grammar.At(CodeSelectorUnused, e.UnknownSelector.Span, "`calldata_unknown_selector` needs `require_calldata_enrichment: true`").
			WithHint("add that line, or remove this one: without it nobody says which method is called"))
	}
	if e.AllowedChains == nil && !c.lost("evm", "chains") {
		c.add(grammar.At(CodeEVMGrantsNothing, e.Span, "`## evm` has no `allowed_chains`, so it grants nothing").
			WithHint("name the chains: `allowed_chains: 1, 8453`"))
	}
	if e.AllowedActions == nil && len(e.ChainActions) == 0 && !c.lost("evm", "actions") {
		c.add(grammar.At(CodeEVMGrantsNothing, e.Span, "`## evm` has neither `allowed_actions` nor `chain_actions`, so it grants nothing").
			WithHint("name the actions: `allowed_actions: wallet.transfer`"))
	}
}

// finishToken reads a token's amounts by its decimals, and reports what is missing.
func (c *checker) finishToken(token *Token) {
	lines := c.amounts[token]
	token.MaxTransaction = c.tokenLimit(token, lines.maximum)
	token.Consensus = c.tokenLimit(token, lines.consensus)
	if token.Decimals == nil {
		c.incomplete(token, "decimals")
	}
	if lines.maximum == nil {
		c.incomplete(token, "max_transaction")
	}
}

// tokenLimit reads an amount of a token. Where its decimals are not known only what is wrong in any case is reported.
func (c *checker) tokenLimit(token *Token, entry *grammar.Entry) *Limit {
	switch {
	case entry == nil:
	case token.Decimals != nil:
		return c.limit(entry, uint8(token.Decimals.N), token.Symbol+" has")
	default:
		c.limitOfAny(entry)
	}
	return nil
}

func (c *checker) incomplete(token *Token, key string) {
	if !c.lostPart("evm", token.Symbol) {
		c.add(grammar.At(CodeTokenIncomplete, token.Span, "the rule for token `%s` has no `%s`", token.Symbol, key).
			WithHint("add `token.%s.%s: …`", token.Symbol, key))
	}
}

// checkKinds reports the EVM actions that `tool_calls.allowed` holds too.
func (c *checker) checkKinds() {
	if c.policy.ToolCalls == nil {
		return
	}
	tools := map[string]bool{}
	for _, tool := range c.policy.ToolCalls.Allowed.texts() {
		tools[strings.ToLower(tool)] = true
	}
	for _, action := range c.policy.EVM.actions() {
		if tools[strings.ToLower(action.Text)] {
			c.add(grammar.At(CodeActionKind, action.Span, "`%s` stands in `tool_calls.allowed` too, and can't be both", action.Text).
				WithHint("an EVM list makes it an EVM action; remove it from one of the two"))
		}
	}
}

// actions returns the actions of all EVM lists, in the order of the lists.
func (e *EVM) actions() []Item {
	var all []Item
	if e.AllowedActions != nil {
		all = append(all, e.AllowedActions.Items...)
	}
	for _, line := range e.ChainActions {
		all = append(all, line.Actions.Items...)
	}
	return all
}
