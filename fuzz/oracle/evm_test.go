package oracle_test

const (
	usdc  = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
	dai   = "0x6b175474e89094c44da98b954eedeac495271d0f"
	other = "0x1111111111111111111111111111111111111111"

	word0 = "000000000000000000000000"                                         // in front of an address in a word
	most  = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff" // 2^256−1
	ten   = "0000000000000000000000000000000000000000000000000000000000989680" // 10 USDC
	ten1  = "0000000000000000000000000000000000000000000000000000000000989681"
)

var evmTables = []table{
	{"native amounts before 2.1", `version: 2.0.0
## evm
allowed_chains: 1, 8453
allowed_actions: wallet.transfer, Swap.Tokens
max_transaction_eth: 1.5
consensus_threshold_eth: 1
chain_actions:
  "08453": contract.call
## tool_calls
allowed: bash
`, `
{"action":"wallet.transfer","amount":"1"} => ERROR VALIDATION_ERROR_SCHEMA chainId
chain:1 {"action":"bash","amount":"1"} => ERROR VALIDATION_ERROR_SCHEMA amount
{"action":"bash","calldata":"0x","token":"USDC"} => ERROR VALIDATION_ERROR_SCHEMA token
chain:1 {"action":"wallet.transfer"} => ALLOWED
chain:1 {"action":"wallet.transfer","amount":"0.999999999999999999"} => ALLOWED
chain:1 {"action":"wallet.transfer","amount":"1"} => PENDING CONSENSUS_REQUIRED evm.consensus_threshold_eth
chain:1 {"action":"wallet.transfer","amount":"1.5"} => PENDING CONSENSUS_REQUIRED evm.consensus_threshold_eth
chain:1 {"action":"wallet.transfer","amount":"1.500000000000000001"} => DENIED AMOUNT_EXCEEDED evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"999999999999999999","amount_unit":"base"} => ALLOWED
chain:1 {"action":"wallet.transfer","amount":"1500000000000000001","amount_unit":"base"} => DENIED AMOUNT_EXCEEDED evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"1.0","amount_unit":"base"} => DENIED AMOUNT_INVALID evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"0.1000000000000000000"} => DENIED AMOUNT_INVALID evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"1e-3"} => DENIED AMOUNT_INVALID evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"+1"} => DENIED AMOUNT_INVALID evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"1."} => DENIED AMOUNT_INVALID evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":".5"} => DENIED AMOUNT_INVALID evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":""} => DENIED AMOUNT_INVALID evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"١"} => DENIED AMOUNT_INVALID evm.max_transaction_eth
// 2^256−1 wei is an amount, 2^256 is none.
chain:1 {"action":"wallet.transfer","amount":"115792089237316195423570985008687907853269984665640564039457584007913129639935","amount_unit":"base"} => DENIED AMOUNT_EXCEEDED evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"115792089237316195423570985008687907853269984665640564039457584007913129639936","amount_unit":"base"} => DENIED AMOUNT_INVALID evm.max_transaction_eth
chain:10 {"action":"wallet.transfer","amount":"0"} => DENIED CHAIN_NOT_ALLOWED evm.allowed_chains
chain:10 {"action":"bash"} => DENIED CHAIN_NOT_ALLOWED evm.allowed_chains
chain:10 {"action":"model.inference"} => ALLOWED
{"action":"model.inference"} => ALLOWED
chain:1 {"action":"contract.call","amount":"0"} => DENIED ACTION_NOT_ALLOWED evm.allowed_actions
chain:8453 {"action":"contract.call","amount":"0"} => ALLOWED
chain:8453 {"action":"wallet.transfer","amount":"0"} => DENIED ACTION_NOT_ALLOWED evm.chain_actions
// Kind and lists have no case.
chain:1 {"action":"Swap.Tokens","amount":"0"} => ALLOWED
chain:1 {"action":"swap.tokens","amount":"0"} => ALLOWED
chain:1 {"action":"Wallet.Transfer","amount":"0"} => ALLOWED
chain:1 {"action":"wallet.transfer","token":"USDC","amount":"1"} => DENIED TOKEN_NOT_ALLOWED evm.token
{"action":"mcp.a.b"} => DENIED TOOL_CALL_NOT_ALLOWED mcp.allowed_tools
{"action":"Bash"} => ALLOWED
`},
	{"amounts from 2.1, without a maximum", `version: 2.1.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
`, `
chain:1 {"action":"wallet.transfer"} => DENIED AMOUNT_REQUIRED evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"0"} => ALLOWED
chain:1 {"action":"wallet.transfer","amount":"0.000000000000000001"} => DENIED AMOUNT_EXCEEDED evm.max_transaction_eth
`},
	{"no evm", "version: 1.0.0\n## tool_calls\nallowed: bash\n", `
chain:1 {"action":"wallet.transfer"} => DENIED ACTION_NOT_ALLOWED evm.allowed_actions
chain:1 {"action":"token.approve","amount":"1"} => DENIED ACTION_NOT_ALLOWED evm.allowed_actions
chain:1 {"action":"bash"} => ALLOWED
`},
	{"tokens", `version: 2.0.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer, contract.call, token.approve
max_transaction_eth: 1
token.USDC.decimals: 6
token.USDC.max_transaction: 10
token.USDC.consensus_threshold: 5
token.USDC.addresses: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48
token.DAI.decimals: 18
token.DAI.max_transaction: 3
`, `
chain:1 {"action":"wallet.transfer","token":"usdc","amount":"4.999999","targetAddress":"` + usdc + `"} => ALLOWED
chain:1 {"action":"wallet.transfer","token":"` + usdc + `","amount":"5","targetAddress":"` + usdc + `"} => PENDING CONSENSUS_REQUIRED evm.token.USDC.consensus_threshold
chain:1 {"action":"wallet.transfer","token":"USDC","amount":"10.000001","targetAddress":"` + usdc + `"} => DENIED TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction
chain:1 {"action":"wallet.transfer","token":"USDC","amount":"1.0000000","targetAddress":"` + usdc + `"} => DENIED TOKEN_AMOUNT_INVALID evm.token.USDC.max_transaction
chain:1 {"action":"wallet.transfer","token":"USDC","targetAddress":"` + usdc + `"} => DENIED TOKEN_AMOUNT_INVALID evm.token.USDC.max_transaction
chain:1 {"action":"wallet.transfer","token":"USDC","amount":"1"} => DENIED TOKEN_NOT_ALLOWED evm.token.USDC.addresses
chain:1 {"action":"wallet.transfer","token":"USDC","amount":"1","targetAddress":"` + other + `"} => DENIED TOKEN_NOT_ALLOWED evm.token.USDC.addresses
chain:1 {"action":"wallet.transfer","token":"` + other + `","amount":"1","targetAddress":"` + other + `"} => DENIED TOKEN_NOT_ALLOWED evm.token
chain:1 {"action":"wallet.transfer","token":"DAI","amount":"3"} => ALLOWED
chain:1 {"action":"wallet.transfer","token":"DAI","amount":"3.000000000000000001"} => DENIED TOKEN_AMOUNT_EXCEEDED evm.token.DAI.max_transaction
chain:1 {"action":"wallet.transfer","token":"DAI","amount":"1","targetAddress":"` + usdc + `"} => DENIED TOKEN_NOT_ALLOWED evm.token.DAI.addresses
chain:1 {"action":"token.approve","amount":"0"} => DENIED TOKEN_NOT_ALLOWED evm.token
// The call data of a pinned contract.
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"0xA9059CBB` + word0 + `1111111111111111111111111111111111111111` + ten + `"} => PENDING CONSENSUS_REQUIRED evm.token.USDC.consensus_threshold
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"0xa9059cbb` + word0 + `1111111111111111111111111111111111111111` + ten1 + `"} => DENIED TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction
chain:1 {"action":"wallet.transfer","amount":"0","targetAddress":"` + usdc + `","calldata":"0x23b872dd` + most + most + ten1 + `00"} => DENIED ACTION_NOT_ALLOWED evm.allowed_actions
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"0x23b872dd` + most + most + ten1 + `00"} => DENIED TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"0x39509351` + most + most + `"} => DENIED TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"0x095ea7b3` + most + `00"} => DENIED TOKEN_AMOUNT_INVALID evm.token.USDC.max_transaction
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"0xdeadbeef` + most + most + `"} => DENIED TOKEN_NOT_ALLOWED evm.token.USDC.methods
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + other + `","calldata":"0x095ea7b3` + most + most + `"} => ALLOWED
`},
	{"consensus that only notes", `version: 2.0.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
max_transaction_eth: 2
consensus_threshold_eth: 1
consensus_require_hold: FALSE
require_approval: wallet.*
`, `
chain:1 {"action":"wallet.transfer","amount":"1"} => PENDING APPROVAL_REQUIRED evm.require_approval
`},
	{"enrichment", `version: 2.1.0
## evm
allowed_chains: 1
allowed_actions: contract.call, wallet.transfer
max_transaction_eth: 1
require_calldata_enrichment: true
token.USDC.decimals: 6
token.USDC.max_transaction: 10
token.USDC.consensus_threshold: 10
token.USDC.addresses: ` + usdc + `
`, `
chain:1 {"action":"wallet.transfer","amount":"0"} => ALLOWED
shim chain:1 {"action":"contract.call","amount":"0"} => DENIED CALLDATA_ENRICHMENT_REQUIRED evm.require_calldata_enrichment
chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xdeadbeef"}}} => DENIED CALLDATA_ENRICHMENT_REQUIRED evm.require_calldata_enrichment
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xdeadbee"}}} => DENIED CALLDATA_ENRICHMENT_REQUIRED evm.require_calldata_enrichment
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xdeadbeef"}}} => DENIED TOKEN_NOT_ALLOWED evm.calldata_unknown_selector
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xA9059cbb","token_target":"` + usdc + `","token_amount":"9999999"}}} => DENIED CALLDATA_ENRICHMENT_REQUIRED evm.require_calldata_enrichment
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xA9059cbb","token_target":"` + usdc + `","token_amount":"9999999","recipient":"` + other + `"}}} => ALLOWED
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xA9059cbb","token_target":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","token_amount":"9999999","recipient":"` + other + `"}}} => ALLOWED
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xA9059cbb","token_target":"0xA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48","token_amount":"9999999","recipient":"` + other + `"}}} => ALLOWED
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xA9059cbb","token_target":"0xa0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","token_amount":"9999999","recipient":"` + other + `"}}} => DENIED CALLDATA_ENRICHMENT_REQUIRED evm.require_calldata_enrichment
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0x23b872dd","token_target":"` + usdc + `","token_amount":"10000000","recipient":"` + other + `"}}} => PENDING CONSENSUS_REQUIRED evm.token.USDC.consensus_threshold
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0x23b872dd","token_target":"` + usdc + `","token_amount":"10000001","recipient":"` + other + `"}}} => DENIED TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0x23b872dd","token_target":"` + usdc + `","token_amount":10,"recipient":"` + other + `"}}} => DENIED TOKEN_AMOUNT_INVALID evm.token.USDC.max_transaction
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0x23b872dd","token_target":"` + dai + `","token_amount":"x","recipient":"` + other + `"}}} => DENIED TOKEN_NOT_ALLOWED evm.token
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0x095ea7b3","token_target":"` + dai + `","token_amount":"115792089237316195423570985008687907853269984665640564039457584007913129639935","spender":"` + other + `"}}} => DENIED TOKEN_AMOUNT_EXCEEDED evm.calldata.unbounded_approval
`},
	{"enrichment, other selectors allowed", `version: 2.1.0
## evm
allowed_chains: 1
allowed_actions: contract.call
require_calldata_enrichment: true
calldata_unknown_selector: allow
require_shim: true
`, `
shim chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xdeadbeef"}}} => ALLOWED
chain:1 {"action":"contract.call","amount":"0","metadata":{"evm":{"selector":"0xdeadbeef"}}} => DENIED PROVENANCE_REQUIRED evm.require_shim
`},
}
