package compiler

import "bailiff/vm/errcode"

// evmKeys are the keys of `## evm`.
var evmKeys = []Key{
	{Section: "evm", Name: "allowed_chains", Type: TypeChains, Since: v10,
		Rule: "evm.allowed_chains", Code: errcode.ChainNotAllowed,
		Doc:     "The chains that an intent may name; a `chainId` that is present must be one of them, whatever the kind of intent.",
		Example: "allowed_chains: 1, 8453"},
	{Section: "evm", Name: "allowed_actions", Type: TypeActions, Since: v10,
		Rule: "evm.allowed_actions", Code: errcode.ActionNotAllowed,
		Doc:     "The EVM actions that are granted on every allowed chain that `chain_actions` does not name; exact.",
		Example: "allowed_actions: wallet.transfer, contract.call"},
	{Section: "evm", Name: "chain_actions", Type: TypeChainMap, Since: v10,
		Rule: "evm.chain_actions", Code: errcode.ActionNotAllowed,
		Doc:     "The EVM actions that are granted on one chain, in place of `allowed_actions`.",
		Example: "chain_actions:\n  \"8453\": wallet.transfer"},
	{Section: "evm", Name: "max_transaction_eth", Type: TypeDecimal, Since: v10,
		Rule: "evm.max_transaction_eth", Code: errcode.AmountExceeded, Codes: []errcode.Code{errcode.AmountInvalid, errcode.AmountRequired},
		Default: "0",
		Doc:     "The largest native amount of one intent, in ETH; without it every native amount above zero is denied.",
		Example: "max_transaction_eth: 0.5"},
	{Section: "evm", Name: "max_fee_eth", Type: TypeDecimal, Since: v24,
		Rule: "evm.max_fee_eth", Code: errcode.AmountExceeded, Codes: []errcode.Code{errcode.AmountInvalid, errcode.AmountRequired},
		Doc: "The largest `maxFee` of one intent: the most that its gas may cost, in the chain's native unit. An intent has to declare it then, " +
			"and the gateways hold transactions and operations to it.",
		Example: "max_fee_eth: 0.01"},
	{Section: "evm", Name: "paymaster_fees", Type: TypeWord, Since: v24, Values: []string{wordCount, wordIgnore}, Default: wordCount,
		Doc: "Whether the gateway counts the gas of a user operation that a paymaster pays for as the intent's fee (`count`) or not (`ignore`). " +
			"What a paymaster takes in tokens is not seen either way.",
		Example: "paymaster_fees: ignore"},
	{Section: "evm", Name: "consensus_threshold_eth", Type: TypeDecimal, Since: v10,
		Rule: "evm.consensus_threshold_eth", Code: errcode.HoldConsensus,
		Doc:     "The native amount, in ETH, from which on a person has to decide.",
		Example: "consensus_threshold_eth: 0.25"},
	{Section: "evm", Name: "consensus_require_hold", Type: TypeBoolean, Since: v10, Default: "true",
		Doc:     "Whether reaching a threshold holds the intent (`true`) or is only noted in the answer (`false`).",
		Example: "consensus_require_hold: true"},
	{Section: "evm", Name: "token.<SYM>.decimals", Type: TypeInteger, Since: v10,
		Doc:     "The token's decimals, 0 to 36; required in a token rule.",
		Example: "token.USDC.decimals: 6"},
	{Section: "evm", Name: "token.<SYM>.max_transaction", Type: TypeDecimal, Since: v10,
		Rule: "evm.token.<SYM>.max_transaction", Code: errcode.TokenAmountExceeded, Codes: []errcode.Code{errcode.TokenAmountInvalid},
		Doc:     "The largest amount of the token in one intent, in the token's own unit; required in a token rule.",
		Example: "token.USDC.max_transaction: 250"},
	{Section: "evm", Name: "token.<SYM>.addresses", Type: TypeAddresses, Since: v10,
		Rule: "evm.token.<SYM>.addresses", Code: errcode.TokenNotAllowed,
		Doc: "The token's contracts: an intent for the token must have one of them as its `targetAddress`, and one for a token without addresses must not. Lines add up. " +
			"From version 2.4 on an address may have the id of its chain in front, `8453:0x…`; without one it is pinned on all.",
		Example: "token.USDC.addresses: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"},
	{Section: "evm", Name: "token.<SYM>.methods", Type: TypeMethods, Since: v24,
		Rule: "evm.token.<SYM>.methods", Code: errcode.TokenNotAllowed,
		Doc: "Further methods of the token's contracts that may be called: selectors, or signatures between quotes. The methods that move an amount or let others move one " +
			"are known, and judged by the token's rule; every other is denied unless it is named here. What a named one moves is not seen.",
		Example: "token.USDC.methods: \"cancelAuthorization(address,bytes32)\", 0x5c975abb"},
	{Section: "evm", Name: "token.<SYM>.consensus_threshold", Type: TypeDecimal, Since: v10,
		Rule: "evm.token.<SYM>.consensus_threshold", Code: errcode.HoldConsensus,
		Doc:     "The amount of the token from which on a person has to decide, in calls that call data or a shim describes too.",
		Example: "token.USDC.consensus_threshold: 100"},
	{Section: "evm", Name: "account_calls", Type: TypeWord, Since: v24, Values: []string{wordAllow, wordDeny}, Default: wordDeny,
		Rule: "evm.account_calls", Code: errcode.ActionNotAllowed,
		Doc: "What becomes of call data by which accounts, entry points and, on a pinned token, multicalls run further calls (`execute`, `executeBatch`, `execTransaction`, `handleOps` and their like). " +
			"Amounts inside them are not seen by any rule.",
		Example: "account_calls: deny"},
	{Section: "evm", Name: "require_calldata_enrichment", Type: TypeBoolean, Since: v21, Default: "false",
		Rule: "evm.require_calldata_enrichment", Code: errcode.CalldataEnrichment,
		Doc: "Whether every `contract.call`, and every EVM intent that declares `calldata`, needs a trusted shim's account of its call data (`metadata.evm`), by which the token rules judge it. " +
			"An unbounded approval is denied as `evm.calldata.unbounded_approval`.",
		Example: "require_calldata_enrichment: true"},
	{Section: "evm", Name: "calldata_unknown_selector", Type: TypeWord, Since: v21, Values: []string{wordAllow, wordDeny}, Default: wordDeny,
		Rule: "evm.calldata_unknown_selector", Code: errcode.TokenNotAllowed,
		Doc:     "What becomes of a call of a method that moves no amount of a token and lets nobody move one, as far as the service knows; needs `require_calldata_enrichment: true`.",
		Example: "calldata_unknown_selector: deny"},
	approvalKey("evm", "EVM intents", "contract.call"),
	shimKey("evm", "EVM intents"),
}

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
