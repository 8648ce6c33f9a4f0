package compiler

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot/derived"
)

// EVM is the section `## evm`.
type EVM struct {
	Heading
	Controls
	AllowedActions *List // exact
	AllowedChains  *List // decimal, without leading zeros
	ChainActions   []ChainActions
	MaxTransaction *Limit // in wei
	MaxFee         *Limit // in wei
	PaymasterFees  *Flag  // whether they count; nil for yes
	Consensus      *Limit // in wei
	RequireHold    *Flag
	Tokens         []*Token // in the order of their first lines

	AccountCalls *Flag // whether call data may run further calls; nil for no

	// Enrichment asks for a shim's account of every call; UnknownSelector is set where other methods than the known
	// ones are to be allowed (On) or denied.
	Enrichment      *Flag
	UnknownSelector *Flag

	tokens map[string]*Token        // by symbol in lower case
	pinned map[string][]pinnedToken // by address
}

// The types of values that only this section has.
var (
	chainLists    = valueOf(TypeChains, (*checker).chains)
	evmActionList = valueOf(TypeActions, func(c *checker, entry *grammar.Entry) *List { return c.evmActions(entry.Span, entry.Value) })
)

func (*EVM) enforces(bool) bool { return true }

var evm = section[EVM]("evm", v10, "EVM transactions: chains, actions, native and token amounts.",
	keyChains, keyActions, keyChainActions, keyMaximum, keyMaxFee, keyEVMPaymasterFees, keyConsensus,
	keyEVMConsensusRequireHold, keyEVMTokenDecimals, keyTokenMaximum, keyTokenPins, keyTokenMethods, keyTokenConsensus,
	keyAccountCalls, keyEnrichment, keySelector, keyEVMApproval, keyEVMShim).of(vm.EVM)

// The words of calldata_unknown_selector.
const (
	wordAllow = "allow"
	wordDeny  = "deny"
)

// The words of paymaster_fees.
const (
	wordCount  = "count"
	wordIgnore = "ignore"
)

// Enriched reports whether calls need a shim's account.
func (e *EVM) Enriched() bool { return IsOn(e.Enrichment) }

// ChainActions is one line of the block `chain_actions`: the actions of one chain, in place of AllowedActions.
type ChainActions struct {
	Chain   Item // decimal, without leading zeros
	Actions List
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
			c.add(grammar.At(codes.RepeatedItem, item.Span, "chain %s is in the list already", id))
		default:
			list.Items = append(list.Items, Item{id, item.Span})
		}
		seen[id] = true
	}
	return list
}

// evmActions reads a list of EVM actions.
func (c *checker) evmActions(span grammar.Span, value *grammar.Value) *List {
	list := c.actions(span, value)
	list.Items = slices.DeleteFunc(list.Items, func(item Item) bool {
		switch lower := strings.ToLower(item.Text); {
		case IsMCP(lower):
			c.add(grammar.At(codes.ActionKind, item.Span, "`%s` is an MCP action, which an EVM list can't grant", item.Text).
				WithHint("`## mcp` grants MCP actions"))
		case lower == ModelAction:
			c.add(grammar.At(codes.ActionKind, item.Span, "`%s` is a model action, which needs no grant", item.Text).
				WithHint("remove it"))
		case slices.Contains(ForeignTools, lower):
			c.add(grammar.At(codes.ActionKind, item.Span, "`%s` is a tool, which an EVM list can't grant", item.Text).
				WithHint("`tool_calls.allowed` grants tools"))
		default:
			return false
		}
		return true
	})
	return list
}

// readChainActions reads the block of chains and their actions.
func (c *checker) readChainActions(_ *Key, entry *grammar.Entry) {
	e := part[EVM](c.parts)
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
			c.add(grammar.At(codes.SecondChain, line.Key.Span, "chain %s has a line in this block already", id).
				WithHint("put its actions on one line"))
		default:
			e.ChainActions = append(e.ChainActions, ChainActions{Item{id, line.Key.Span}, *actions})
		}
		seen[id] = true
	}
}

// finishEVM checks what concerns several entries of `## evm`.
func (c *checker) finishEVM() {
	e := part[EVM](c.parts)
	if e == nil {
		return
	}
	for _, token := range e.Tokens {
		c.finishToken(token)
	}
	c.checkKinds()
	if e.UnknownSelector != nil && !e.Enriched() {
		c.add(grammar.At(codes.SelectorUnused, e.UnknownSelector.Span, "`calldata_unknown_selector` needs `require_calldata_enrichment: true`").
			WithHint("add that line, or remove this one: without it nobody says which method is called"))
	}
	if e.AllowedChains == nil && !c.lost("evm", "chains") {
		c.add(grammar.At(codes.EVMGrantsNothing, e.Span, "`## evm` has no `allowed_chains`, so it grants nothing").
			WithHint("name the chains: `allowed_chains: 1, 8453`"))
	}
	if e.AllowedActions == nil && len(e.ChainActions) == 0 && !c.lost("evm", "actions") {
		c.add(grammar.At(codes.EVMGrantsNothing, e.Span, "`## evm` has neither `allowed_actions` nor `chain_actions`, so it grants nothing").
			WithHint("name the actions: `allowed_actions: wallet.transfer`"))
	}
}

// checkKinds reports the EVM actions that `tool_calls.allowed` holds too.
func (c *checker) checkKinds() {
	if part[ToolCalls](c.parts) == nil {
		return
	}
	tools := map[string]bool{}
	for _, tool := range part[ToolCalls](c.parts).Allowed.Texts() {
		tools[strings.ToLower(tool)] = true
	}
	for _, action := range part[EVM](c.parts).Actions() {
		if tools[strings.ToLower(action.Text)] {
			c.add(grammar.At(codes.ActionKind, action.Span, "`%s` stands in `tool_calls.allowed` too, and can't be both", action.Text).
				WithHint("an EVM list makes it an EVM action; remove it from one of the two"))
		}
	}
}

// Actions returns the actions of all EVM lists, in the order of the lists.
func (e *EVM) Actions() []Item {
	var all []Item
	if e.AllowedActions != nil {
		all = append(all, e.AllowedActions.Items...)
	}
	for _, line := range e.ChainActions {
		all = append(all, line.Actions.Items...)
	}
	return all
}

// evm judges an EVM intent: chain, action, token rule, pinned address, form of the amount, maximum, call data.
func (e *emitter) evm() {
	p := part[EVM](e.parts)
	if p == nil {
		e.at(e.version.Span)
		e.refuse(keyActions.Rule, keyActions.Code, "the policy has no evm section, which would have to grant the action")
		return
	}
	e.chain()
	e.evmAction()
	e.amounts()
}

// chain denies a chain that is not allowed.
func (e *emitter) chain() {
	chains := part[EVM](e.parts).AllowedChains
	e.allowing(chains)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.If, e.Field(slotChainID), e.exactly(chains.Texts()...), pass)
	}, keyChains.Rule, keyChains.Code, "the chain is not in evm.allowed_chains", e.value(slotChainID))
}

// chainIfPresent denies a chain that is not allowed on an intent that need not name one.
func (e *emitter) chainIfPresent() {
	if part[EVM](e.parts) == nil {
		return
	}
	next := e.NewLabel()
	e.at(part[EVM](e.parts).AllowedChains.Span)
	e.Kind(vm.If, e.Field(slotChainID), absent, next)
	e.chain()
	e.Place(next)
}

// evmAction denies an action that is not granted on its chain.
func (e *emitter) evmAction() {
	p := part[EVM](e.parts)
	done, global := e.NewLabel(), e.NewLabel()
	if len(p.ChainActions) > 0 {
		e.chainActions(global, done)
	}
	e.Place(global)
	e.at(p.Span)
	if p.AllowedActions != nil {
		e.allowing(p.AllowedActions)
		e.Test(vm.OpIn, vm.If, e.Field(slotAction), e.lowered(p.AllowedActions), done)
	}
	e.deny(keyActions.Rule, keyActions.Code, "the action is not in evm.allowed_actions", e.value(slotAction), done)
	e.Place(done)
}

// chainActions judges the action on the chains that have actions of their own.
func (e *emitter) chainActions(global, done vm.Label) {
	lines := part[EVM](e.parts).ChainActions
	cases := make([]vm.Case, len(lines))
	for i, line := range lines {
		cases[i] = vm.Case{Text: line.Chain.Text, To: e.NewLabel()}
	}
	e.at(lines[0].Actions.Span)
	e.Switch(e.Field(slotChainID), global, cases...)
	for i, line := range lines {
		e.Place(cases[i].To)
		e.allowing(&line.Actions)
		e.Test(vm.OpIn, vm.If, e.Field(slotAction), e.lowered(&line.Actions), done)
		e.deny(keyChainActions.Rule, keyChainActions.Code, "the action is not among this chain's evm.chain_actions", e.value(slotAction), done)
	}
}

// amounts judges the declared amount, native or of a token, and the amount in the call data.
func (e *emitter) amounts() {
	callData, native := e.NewLabel(), e.NewLabel()
	e.at(part[EVM](e.parts).Span)
	e.Kind(vm.If, e.Field(derived.Token), absent, native)
	e.tokens(callData)
	e.Place(native)
	e.approves(callData)
	e.native(callData)
	e.Place(callData)
	e.fee()
	e.callData()
	if part[EVM](e.parts).Enriched() {
		e.enrichment()
	}
}

// approves denies a token.approve that names no token: there is nothing to approve of the native currency.
func (e *emitter) approves(done vm.Label) {
	other := e.NewLabel()
	e.at(part[EVM](e.parts).Span)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.exactly(ApproveAction), other)
	e.deny(ruleNoToken, errcode.TokenNotAllowed, "the intent names no token, and this action is about one", e.value(derived.Action), done)
	e.Place(other)
}

// native judges an amount of the native currency.
func (e *emitter) native(done vm.Label) {
	rule := keyMaximum.Rule
	limit, message := amount.Amount{}, "the policy has no evm.max_transaction_eth, so no native amount above zero is allowed"
	e.at(part[EVM](e.parts).Span)
	if most := part[EVM](e.parts).MaxTransaction; most != nil {
		e.at(most.Span)
		limit, message = most.Amount, "the native amount is above evm.max_transaction_eth"
	}
	if slot := e.Field(derived.Amount); e.version.AtLeast(2, 1) {
		given := e.NewLabel()
		e.Kind(vm.Unless, slot, absent, given)
		e.deny(rule, errcode.AmountRequired, "the native amount is missing; write \"0\" where none is meant", e.value(derived.Amount), done)
		e.Place(given)
	} else {
		e.Kind(vm.If, slot, absent, done) // it counts as zero
	}
	valid := e.NewLabel()
	e.Load(0, e.Field(derived.Amount), NativeDecimals, valid)
	e.deny(rule, errcode.AmountInvalid, "the native amount is no decimal of at most 18 fraction digits (in base units: no integer), or 2^256 base units or more", e.value(derived.Amount), done)
	e.Place(valid)
	within := e.NewLabel()
	e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(limit, NativeDecimals), within)
	e.deny(rule, keyMaximum.Code, message, e.value(derived.Amount), done)
	e.Place(within)
	e.consensus(done)
}

// fee judges what the intent says that gas may cost. Where the policy limits no fees, a declared one still has to be an
// amount, because the attestation claims it.
func (e *emitter) fee() {
	slot, done, valid := e.Field(slotMaxFee), e.NewLabel(), e.NewLabel()
	e.at(part[EVM](e.parts).Span)
	most := part[EVM](e.parts).MaxFee
	if most == nil {
		e.Kind(vm.If, slot, absent, done)
	} else {
		given := e.NewLabel()
		e.at(most.Span)
		e.Kind(vm.Unless, slot, absent, given)
		e.deny(keyMaxFee.Rule, errcode.AmountRequired, "the policy limits fees, and maxFee is missing; declare the most that gas may cost", e.value(slotMaxFee), done)
		e.Place(given)
	}
	e.Load(1, slot, NativeDecimals, valid)
	e.deny(keyMaxFee.Rule, errcode.AmountInvalid, "maxFee is not an amount of at most 18 fraction digits below 2^256 wei; write native units, such as 0.01", e.value(slotMaxFee), done)
	e.Place(valid)
	if most != nil {
		e.Compare(vm.OpGreater, vm.Unless, 1, e.Amount(most.Amount, NativeDecimals), done)
		e.deny(keyMaxFee.Rule, keyMaxFee.Code, "maxFee is above evm.max_fee_eth", e.value(slotMaxFee), done)
	}
	e.Place(done)
}

// matches denies call data that is not the call which the rest of the intent describes.
func (e *emitter) matches() {
	done := e.NewLabel()
	e.atActions()
	e.Kind(vm.If, e.Field(derived.Mismatch), absent, done)
	if len(part[EVM](e.parts).Tokens) > 0 { // without, an intent about one has been denied
		e.tokenMismatch(done)
	}
	e.deny(keyActions.Rule, keyActions.Code, "a native wallet.transfer has no calldata; declare a contract.call, or a token", e.value(slotCalldata), done)
	e.Place(done)
}

// consensus holds, or notes, the native amount in register 0 where it reaches the threshold.
func (e *emitter) consensus(done vm.Label) {
	p := part[EVM](e.parts)
	if p.Consensus == nil {
		return
	}
	e.at(p.Consensus.Span)
	e.Compare(vm.OpAtLeast, vm.Unless, 0, e.Amount(p.Consensus.Amount, NativeDecimals), done)
	e.agree(keyConsensus.Rule, "the native amount reaches evm.consensus_threshold_eth")
}

var (
	keyChains = key(chainLists, func(s *EVM) **List { return &s.AllowedChains }, Key{Name: "allowed_chains",
		Code:    errcode.ChainNotAllowed,
		Doc:     "The chains that an intent may name; a `chainId` that is present must be one of them, whatever the kind of intent.",
		Example: "allowed_chains: 1, 8453"})

	keyActions = key(evmActionList, func(s *EVM) **List { return &s.AllowedActions }, Key{Name: "allowed_actions",
		Code:    errcode.ActionNotAllowed,
		Doc:     "The EVM actions that are granted on every allowed chain that `chain_actions` does not name; exact.",
		Example: "allowed_actions: wallet.transfer, contract.call"})

	keyChainActions = keyRead(TypeChainMap, (*checker).readChainActions, Key{Name: "chain_actions",
		Code:    errcode.ActionNotAllowed,
		Doc:     "The EVM actions that are granted on one chain, in place of `allowed_actions`.",
		Example: "chain_actions:\n  \"8453\": wallet.transfer"})

	keyMaximum = key(nativeAmounts, func(s *EVM) **Limit { return &s.MaxTransaction }, Key{Name: "max_transaction_eth",
		Code: errcode.AmountExceeded, Codes: []errcode.Code{errcode.AmountInvalid, errcode.AmountRequired},
		Default: "0",
		zero:    "leave the line out: then every native amount above zero is denied",
		Doc:     "The largest native amount of one intent, in ETH; without it every native amount above zero is denied.",
		Example: "max_transaction_eth: 0.5"})

	keyMaxFee = key(nativeAmounts, func(s *EVM) **Limit { return &s.MaxFee }, Key{Name: "max_fee_eth", Since: v24,
		Code: errcode.AmountExceeded, Codes: []errcode.Code{errcode.AmountInvalid, errcode.AmountRequired},
		zero: hintNoFee,
		Doc: "The largest `maxFee` of one intent: the most that its gas may cost, in the chain's native unit. An intent has to declare it then, " +
			"and the gateways hold transactions and operations to it.",
		Example: "max_fee_eth: 0.01"})

	keyEVMPaymasterFees = key(isWord(wordCount), func(s *EVM) **Flag { return &s.PaymasterFees }, Key{Name: "paymaster_fees", Since: v24, Values: []string{wordCount, wordIgnore}, Default: wordCount,
		Doc: "Whether the gateway counts the gas of a user operation that a paymaster pays for as the intent's fee (`count`) or not (`ignore`). " +
			"What a paymaster takes in tokens is not seen either way.",
		Example: "paymaster_fees: ignore"})

	keyConsensus = key(nativeAmounts, func(s *EVM) **Limit { return &s.Consensus }, Key{Name: "consensus_threshold_eth",
		Code:    errcode.HoldConsensus,
		zero:    hintHoldAll,
		Doc:     "The native amount, in ETH, from which on a person has to decide.",
		Example: "consensus_threshold_eth: 0.25"})

	keyEVMConsensusRequireHold = key(booleans, func(s *EVM) **Flag { return &s.RequireHold }, Key{Name: "consensus_require_hold", Default: "true",
		Doc:     "Whether reaching a threshold holds the intent (`true`) or is only noted in the answer (`false`).",
		Example: "consensus_require_hold: true"})

	keyAccountCalls = key(isWord(wordAllow), func(s *EVM) **Flag { return &s.AccountCalls }, Key{Name: "account_calls", Since: v24, Values: []string{wordAllow, wordDeny}, Default: wordDeny,
		Code: errcode.ActionNotAllowed,
		Doc: "What becomes of call data by which accounts, entry points and, on a pinned token, multicalls run further calls (`execute`, `executeBatch`, `execTransaction`, `handleOps` and their like). " +
			"Amounts inside them are not seen by any rule.",
		Example: "account_calls: deny"})

	keyEnrichment = key(booleans, func(s *EVM) **Flag { return &s.Enrichment }, Key{Name: "require_calldata_enrichment", Since: v21, Default: "false",
		Code: errcode.CalldataEnrichment,
		Doc: "Whether every `contract.call`, and every EVM intent that declares `calldata`, needs a trusted shim's account of its call data (`metadata.evm`), by which the token rules judge it. " +
			"An unbounded approval is denied as `evm.calldata.unbounded_approval`.",
		Example: "require_calldata_enrichment: true"})

	keySelector = key(isWord(wordAllow), func(s *EVM) **Flag { return &s.UnknownSelector }, Key{Name: "calldata_unknown_selector", Since: v21, Values: []string{wordAllow, wordDeny}, Default: wordDeny,
		Code:    errcode.TokenNotAllowed,
		Doc:     "What becomes of a call of a method that moves no amount of a token and lets nobody move one, as far as the service knows; needs `require_calldata_enrichment: true`.",
		Example: "calldata_unknown_selector: deny"})

	keyEVMApproval = approvalKey(func(s *EVM) *Controls { return &s.Controls }, "EVM intents", "contract.call")

	keyEVMShim = shimKey(func(s *EVM) *Controls { return &s.Controls }, "EVM intents")
)
