package sections

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// EVM is the section `## evm`.
type EVM struct {
	frame.Heading
	frame.Controls
	AllowedActions *frame.List // exact
	AllowedChains  *frame.List // decimal, without leading zeros
	ChainActions   []ChainActions
	MaxTransaction *frame.Limit // in wei
	MaxFee         *frame.Limit // in wei
	PaymasterFees  *frame.Flag  // whether they count; nil for yes
	Consensus      *frame.Limit // in wei
	RequireHold    *frame.Flag
	Tokens         []*Token // in the order of their first lines

	AccountCalls *frame.Flag // whether call data may run further calls; nil for no

	// Enrichment asks for a shim's account of every call; UnknownSelector is set where other methods than the known
	// ones are to be allowed (On) or denied.
	Enrichment      *frame.Flag
	UnknownSelector *frame.Flag

	tokens map[string]*Token        // by symbol in lower case
	pinned map[string][]pinnedToken // by address
}

// The types of values that only this section has.
var (
	chainLists    = frame.ValueOf(frame.TypeChains, readChains)
	evmActionList = frame.ValueOf(frame.TypeActions, func(c *frame.Checker, entry *grammar.Entry) *frame.List {
		return evmActions(c, entry.Span, entry.Value)
	})
)

// Enforces implements [frame.Enforcing].
func (*EVM) Enforces(bool) bool { return true }

// EVMSection is the row of `## evm`.
var EVMSection = frame.NewSection[EVM]("evm", frame.V10, "EVM transactions: chains, actions, native and token amounts.",
	keyChains, keyActions, keyChainActions, keyMaximum, keyMaxFee, keyEVMPaymasterFees, keyConsensus,
	keyEVMConsensusRequireHold, keyEVMTokenDecimals, keyTokenMaximum, keyTokenPins, keyTokenMethods, keyTokenConsensus,
	keyAccountCalls, keyEnrichment, keySelector, keyEVMApproval, keyEVMShim).ForClass(vm.EVM)

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
func (e *EVM) Enriched() bool { return frame.IsOn(e.Enrichment) }

// ChainActions is one line of the block `chain_actions`: the actions of one chain, in place of AllowedActions.
type ChainActions struct {
	Chain   frame.Item // decimal, without leading zeros
	Actions frame.List
}

// readChains reads a list of chain ids.
func readChains(c *frame.Checker, entry *grammar.Entry) *frame.List {
	list := &frame.List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.List(entry) {
		id := c.Chain(item.Text, item.Span)
		switch {
		case id == "":
		case seen[id]:
			c.Add(grammar.At(codes.RepeatedItem, item.Span, "chain %s is in the list already", id))
		default:
			list.Items = append(list.Items, frame.Item{Text: id, Span: item.Span})
		}
		seen[id] = true
	}
	return list
}

// evmActions reads a list of EVM actions.
func evmActions(c *frame.Checker, span grammar.Span, value *grammar.Value) *frame.List {
	list := c.Actions(span, value)
	list.Items = slices.DeleteFunc(list.Items, func(item frame.Item) bool {
		switch lower := strings.ToLower(item.Text); {
		case slot.IsMCP(lower):
			c.Add(grammar.At(codes.ActionKind, item.Span, "`%s` is an MCP action, which an EVM list can't grant", item.Text).
				WithHint("`## mcp` grants MCP actions"))
		case lower == slot.ModelAction:
			c.Add(grammar.At(codes.ActionKind, item.Span, "`%s` is a model action, which needs no grant", item.Text).
				WithHint("remove it"))
		case slices.Contains(slot.ForeignTools, lower):
			c.Add(grammar.At(codes.ActionKind, item.Span, "`%s` is a tool, which an EVM list can't grant", item.Text).
				WithHint("`tool_calls.allowed` grants tools"))
		default:
			return false
		}
		return true
	})
	return list
}

// readChainActions reads the block of chains and their actions.
func readChainActions(c *frame.Checker, _ *frame.Key, entry *grammar.Entry) {
	e := frame.Part[EVM](c.Parts)
	seen := map[string]bool{}
	for _, line := range entry.Block {
		if line.Value == nil {
			continue // the grammar has reported it
		}
		id := c.Chain(line.Key.Text, line.Key.Span)
		actions := evmActions(c, line.Span, line.Value)
		switch {
		case id == "":
		case seen[id]:
			c.Add(grammar.At(codes.SecondChain, line.Key.Span, "chain %s has a line in this block already", id).
				WithHint("put its actions on one line"))
		default:
			e.ChainActions = append(e.ChainActions, ChainActions{frame.Item{Text: id, Span: line.Key.Span}, *actions})
		}
		seen[id] = true
	}
}

// FinishEVM checks what concerns several entries of `## evm`.
func FinishEVM(c *frame.Checker) {
	e := frame.Part[EVM](c.Parts)
	if e == nil {
		return
	}
	for _, token := range e.Tokens {
		finishToken(c, token)
	}
	checkKinds(c)
	if e.UnknownSelector != nil && !e.Enriched() {
		c.Add(grammar.At(codes.SelectorUnused, e.UnknownSelector.Span, "`calldata_unknown_selector` needs `require_calldata_enrichment: true`").
			WithHint("add that line, or remove this one: without that line the called method is unknown"))
	}
	if e.AllowedChains == nil && !c.Lost("evm", "chains") {
		c.Add(grammar.At(codes.EVMGrantsNothing, e.Span, "`## evm` has no `allowed_chains`, so it grants nothing").
			WithHint("name the chains: `allowed_chains: 1, 8453`"))
	}
	if e.AllowedActions == nil && len(e.ChainActions) == 0 && !c.Lost("evm", "actions") {
		c.Add(grammar.At(codes.EVMGrantsNothing, e.Span, "`## evm` has neither `allowed_actions` nor `chain_actions`, so it grants nothing").
			WithHint("name the actions: `allowed_actions: wallet.transfer`"))
	}
}

// checkKinds reports the EVM actions that `tool_calls.allowed` holds too.
func checkKinds(c *frame.Checker) {
	if frame.Part[ToolCalls](c.Parts) == nil {
		return
	}
	tools := map[string]bool{}
	for _, tool := range frame.Part[ToolCalls](c.Parts).Allowed.Texts() {
		tools[strings.ToLower(tool)] = true
	}
	for _, action := range frame.Part[EVM](c.Parts).Actions() {
		if tools[strings.ToLower(action.Text)] {
			c.Add(grammar.At(codes.ActionKind, action.Span, "`%s` is in `tool_calls.allowed` as well; remove it from one of the two lists", action.Text).
				WithHint("an EVM list makes it an EVM action; remove it from one of the two"))
		}
	}
}

// Actions returns the actions of all EVM lists, in the order of the lists.
func (e *EVM) Actions() []frame.Item {
	var all []frame.Item
	if e.AllowedActions != nil {
		all = append(all, e.AllowedActions.Items...)
	}
	for _, line := range e.ChainActions {
		all = append(all, line.Actions.Items...)
	}
	return all
}

// EmitEVM judges an EVM intent: chain, action, token rule, pinned address, form of the amount, maximum, call data.
func EmitEVM(e *frame.Emitter) {
	p := frame.Part[EVM](e.Parts)
	if p == nil {
		e.At(e.Version.Span)
		e.Refuse(keyActions.Rule, keyActions.Code, "the policy has no evm section, which would have to grant the action")
		return
	}
	emitChain(e)
	evmAction(e)
	emitAmounts(e)
}

// emitChain denies a chain that is not allowed.
func emitChain(e *frame.Emitter) {
	chains := frame.Part[EVM](e.Parts).AllowedChains
	e.Allowing(chains)
	e.Unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.If, e.Field(frame.SlotChainID), e.Exactly(chains.Texts()...), pass)
	}, keyChains.Rule, keyChains.Code, "the chain is not in evm.allowed_chains", e.Value(frame.SlotChainID))
}

// EmitChainIfPresent denies a chain that is not allowed on an intent that need not name one.
func EmitChainIfPresent(e *frame.Emitter) {
	if frame.Part[EVM](e.Parts) == nil {
		return
	}
	next := e.NewLabel()
	e.At(frame.Part[EVM](e.Parts).AllowedChains.Span)
	e.Kind(vm.If, e.Field(frame.SlotChainID), frame.Absent, next)
	emitChain(e)
	e.Place(next)
}

// evmAction denies an action that is not granted on its chain.
func evmAction(e *frame.Emitter) {
	p := frame.Part[EVM](e.Parts)
	done, global := e.NewLabel(), e.NewLabel()
	if len(p.ChainActions) > 0 {
		chainActions(e, global, done)
	}
	e.Place(global)
	e.At(p.Span)
	if p.AllowedActions != nil {
		e.Allowing(p.AllowedActions)
		e.Test(vm.OpIn, vm.If, e.Field(frame.SlotAction), e.Lowered(p.AllowedActions), done)
	}
	e.DenyBy(keyActions.Rule, keyActions.Code, "the action is not in evm.allowed_actions", e.Value(frame.SlotAction), done)
	e.Place(done)
}

// chainActions judges the action on the chains that have actions of their own.
func chainActions(e *frame.Emitter, global, done vm.Label) {
	lines := frame.Part[EVM](e.Parts).ChainActions
	cases := make([]vm.Case, len(lines))
	for i, line := range lines {
		cases[i] = vm.Case{Text: line.Chain.Text, To: e.NewLabel()}
	}
	e.At(lines[0].Actions.Span)
	e.Switch(e.Field(frame.SlotChainID), global, cases...)
	for i, line := range lines {
		e.Place(cases[i].To)
		e.Allowing(&line.Actions)
		e.Test(vm.OpIn, vm.If, e.Field(frame.SlotAction), e.Lowered(&line.Actions), done)
		e.DenyBy(keyChainActions.Rule, keyChainActions.Code, "the action is not among this chain's evm.chain_actions", e.Value(frame.SlotAction), done)
	}
}

// emitAmounts judges the declared amount, native or of a token, and the amount in the call data.
func emitAmounts(e *frame.Emitter) {
	callData, native := e.NewLabel(), e.NewLabel()
	e.At(frame.Part[EVM](e.Parts).Span)
	e.Kind(vm.If, e.Field(derived.Token), frame.Absent, native)
	tokens(e, callData)
	e.Place(native)
	approves(e, callData)
	emitNative(e, callData)
	e.Place(callData)
	fee(e)
	emitCallData(e)
	if frame.Part[EVM](e.Parts).Enriched() {
		enrichment(e)
	}
}

// approves denies a token.approve that names no token: there is nothing to approve of the native currency.
func approves(e *frame.Emitter, done vm.Label) {
	other := e.NewLabel()
	e.At(frame.Part[EVM](e.Parts).Span)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.Exactly(slot.ApproveAction), other)
	e.DenyBy(frame.RuleNoToken, errcode.TokenNotAllowed, "the intent names no token, and this action is about one", e.Value(derived.Action), done)
	e.Place(other)
}

// emitNative judges an amount of the native currency.
func emitNative(e *frame.Emitter, done vm.Label) {
	rule := keyMaximum.Rule
	limit, message := amount.Amount{}, "the policy has no evm.max_transaction_eth, so no native amount above zero is allowed"
	e.At(frame.Part[EVM](e.Parts).Span)
	if most := frame.Part[EVM](e.Parts).MaxTransaction; most != nil {
		e.At(most.Span)
		limit, message = most.Amount, "the native amount is above evm.max_transaction_eth"
	}
	if slot := e.Field(derived.Amount); e.Version.AtLeast(2, 1) {
		given := e.NewLabel()
		e.Kind(vm.Unless, slot, frame.Absent, given)
		e.DenyBy(rule, errcode.AmountRequired, "the native amount is missing; write \"0\" where none is meant", e.Value(derived.Amount), done)
		e.Place(given)
	} else {
		e.Kind(vm.If, slot, frame.Absent, done) // it counts as zero
	}
	valid := e.NewLabel()
	e.Load(0, e.Field(derived.Amount), frame.NativeDecimals, valid)
	e.DenyBy(rule, errcode.AmountInvalid, "the native amount must be a decimal with at most 18 fraction digits (in base units: an integer), below 2^256 base units", e.Value(derived.Amount), done)
	e.Place(valid)
	within := e.NewLabel()
	e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(limit, frame.NativeDecimals, keyMaximum.Unit), within)
	e.DenyBy(rule, keyMaximum.Code, message, e.Value(derived.Amount), done)
	e.Place(within)
	consensus(e, done)
}

// fee judges what the intent says that gas may cost. Where the policy limits no fees, a declared one still has to be an
// amount, because the attestation claims it.
func fee(e *frame.Emitter) {
	slot, done, valid := e.Field(frame.SlotMaxFee), e.NewLabel(), e.NewLabel()
	e.At(frame.Part[EVM](e.Parts).Span)
	most := frame.Part[EVM](e.Parts).MaxFee
	if most == nil {
		e.Kind(vm.If, slot, frame.Absent, done)
	} else {
		given := e.NewLabel()
		e.At(most.Span)
		e.Kind(vm.Unless, slot, frame.Absent, given)
		e.DenyBy(keyMaxFee.Rule, errcode.AmountRequired, "the policy limits fees, and maxFee is missing; declare the most that gas may cost", e.Value(frame.SlotMaxFee), done)
		e.Place(given)
	}
	e.Load(1, slot, frame.NativeDecimals, valid)
	e.DenyBy(keyMaxFee.Rule, errcode.AmountInvalid, "maxFee is not an amount of at most 18 fraction digits below 2^256 wei; write native units, such as 0.01", e.Value(frame.SlotMaxFee), done)
	e.Place(valid)
	if most != nil {
		e.Compare(vm.OpGreater, vm.Unless, 1, e.Amount(most.Amount, frame.NativeDecimals, keyMaxFee.Unit), done)
		e.DenyBy(keyMaxFee.Rule, keyMaxFee.Code, "maxFee is above evm.max_fee_eth", e.Value(frame.SlotMaxFee), done)
	}
	e.Place(done)
}

// matches denies call data that is not the call which the rest of the intent describes.
func matches(e *frame.Emitter) {
	done := e.NewLabel()
	atActions(e)
	e.Kind(vm.If, e.Field(derived.Mismatch), frame.Absent, done)
	if len(frame.Part[EVM](e.Parts).Tokens) > 0 { // without, an intent about one has been denied
		tokenMismatch(e, done)
	}
	e.DenyBy(keyActions.Rule, keyActions.Code, "a native wallet.transfer has no calldata; declare a contract.call, or a token", e.Value(frame.SlotCalldata), done)
	e.Place(done)
}

// consensus holds, or notes, the native amount in register 0 where it reaches the threshold.
func consensus(e *frame.Emitter, done vm.Label) {
	p := frame.Part[EVM](e.Parts)
	if p.Consensus == nil {
		return
	}
	e.At(p.Consensus.Span)
	e.Compare(vm.OpAtLeast, vm.Unless, 0, e.Amount(p.Consensus.Amount, frame.NativeDecimals, keyConsensus.Unit), done)
	agree(e, keyConsensus.Rule, "the native amount reaches evm.consensus_threshold_eth")
}

var (
	keyChains = frame.NewKey(chainLists, func(s *EVM) **frame.List { return &s.AllowedChains }, frame.Key{Name: "allowed_chains",
		Code:    errcode.ChainNotAllowed,
		Doc:     "The chains that an intent may name; a `chainId` that is present must be one of them, whatever the kind of intent.",
		Example: "allowed_chains: 1, 8453"})

	keyActions = frame.NewKey(evmActionList, func(s *EVM) **frame.List { return &s.AllowedActions }, frame.Key{Name: "allowed_actions",
		Code:    errcode.ActionNotAllowed,
		Doc:     "The EVM actions that are granted on every allowed chain that `chain_actions` does not name; exact.",
		Example: "allowed_actions: wallet.transfer, contract.call"})

	keyChainActions = frame.NewKeyFunc(frame.TypeChainMap, readChainActions, frame.Key{Name: "chain_actions",
		Code:    errcode.ActionNotAllowed,
		Doc:     "The EVM actions that are granted on one chain, in place of `allowed_actions`.",
		Example: "chain_actions:\n  \"8453\": wallet.transfer"})

	keyMaximum = frame.NewKey(frame.NativeAmounts, func(s *EVM) **frame.Limit { return &s.MaxTransaction }, frame.Key{Name: "max_transaction_eth", Unit: "ETH",
		Code: errcode.AmountExceeded, Codes: []errcode.Code{errcode.AmountInvalid, errcode.AmountRequired},
		Default: "0",
		Zero:    "leave the line out: then every native amount above zero is denied",
		Doc:     "The largest native amount of one intent, in ETH; without it every native amount above zero is denied.",
		Example: "max_transaction_eth: 0.5"})

	keyMaxFee = frame.NewKey(frame.NativeAmounts, func(s *EVM) **frame.Limit { return &s.MaxFee }, frame.Key{Name: "max_fee_eth", Unit: "ETH", Since: frame.V24,
		Code: errcode.AmountExceeded, Codes: []errcode.Code{errcode.AmountInvalid, errcode.AmountRequired},
		Zero: frame.HintNoFee,
		Doc: "The largest `maxFee` of one intent: the most that its gas may cost, in the chain's native unit. An intent must then declare `maxFee`, " +
			"and the gateways hold transactions and operations to the declared fee.",
		Example: "max_fee_eth: 0.01"})

	keyEVMPaymasterFees = frame.NewKey(frame.WordFlag(wordCount), func(s *EVM) **frame.Flag { return &s.PaymasterFees }, frame.Key{Name: "paymaster_fees", Since: frame.V24, Values: []string{wordCount, wordIgnore}, Default: wordCount,
		Doc: "Whether the gateway counts the gas of a user operation that a paymaster pays for as the intent's fee (`count`) or not (`ignore`). " +
			"What a paymaster takes in tokens is not seen either way.",
		Example: "paymaster_fees: ignore"})

	keyConsensus = frame.NewKey(frame.NativeAmounts, func(s *EVM) **frame.Limit { return &s.Consensus }, frame.Key{Name: "consensus_threshold_eth", Unit: "ETH",
		Code:    errcode.HoldConsensus,
		Zero:    frame.HintHoldAll,
		Doc:     "A person must decide on intents of this native amount, in ETH, or more.",
		Example: "consensus_threshold_eth: 0.25"})

	keyEVMConsensusRequireHold = frame.NewKey(frame.Booleans, func(s *EVM) **frame.Flag { return &s.RequireHold }, frame.Key{Name: "consensus_require_hold", Default: "true",
		Doc:     "Whether reaching a threshold holds the intent (`true`) or is only noted in the answer (`false`).",
		Example: "consensus_require_hold: true"})

	keyAccountCalls = frame.NewKey(frame.WordFlag(wordAllow), func(s *EVM) **frame.Flag { return &s.AccountCalls }, frame.Key{Name: "account_calls", Since: frame.V24, Values: []string{wordAllow, wordDeny}, Default: wordDeny,
		Code: errcode.ActionNotAllowed,
		Doc: "Whether call data is denied or allowed by which accounts, entry points or, on a pinned token, multicalls run further calls (`execute`, `executeBatch`, `execTransaction`, `handleOps` and similar methods). " +
			"Amounts inside them are not seen by any rule.",
		Example: "account_calls: deny"})

	keyEnrichment = frame.NewKey(frame.Booleans, func(s *EVM) **frame.Flag { return &s.Enrichment }, frame.Key{Name: "require_calldata_enrichment", Since: frame.V21, Default: "false",
		Code: errcode.CalldataEnrichment,
		Doc: "Whether every `contract.call`, and every EVM intent that declares `calldata`, needs a trusted shim's account of its call data (`metadata.evm`), by which the token rules judge it. " +
			"An unbounded approval is denied as `evm.calldata.unbounded_approval`.",
		Example: "require_calldata_enrichment: true"})

	keySelector = frame.NewKey(frame.WordFlag(wordAllow), func(s *EVM) **frame.Flag { return &s.UnknownSelector }, frame.Key{Name: "calldata_unknown_selector", Since: frame.V21, Values: []string{wordAllow, wordDeny}, Default: wordDeny,
		Code:    errcode.TokenNotAllowed,
		Doc:     "Whether a call is denied or allowed if the service does not know its method as one that moves an amount of a token or lets others move one; needs `require_calldata_enrichment: true`.",
		Example: "calldata_unknown_selector: deny"})

	keyEVMApproval = frame.ApprovalKey(func(s *EVM) *frame.Controls { return &s.Controls }, "EVM intents", "contract.call")

	keyEVMShim = frame.ShimKey(func(s *EVM) *frame.Controls { return &s.Controls }, "EVM intents")
)
