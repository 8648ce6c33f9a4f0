package oracle_test

import (
	"encoding/hex"
	"strings"

	"golang.org/x/crypto/sha3"
)

// data writes call data: the selector of a signature, and words, which are hexadecimal digits, filled up at the left.
func data(signature string, words ...string) string {
	keccak := sha3.NewLegacyKeccak256()
	keccak.Write([]byte(signature))
	text := "0x" + hex.EncodeToString(keccak.Sum(nil)[:4])
	for _, word := range words {
		word = strings.TrimPrefix(word, "0x")
		text += strings.Repeat("0", 64-len(word)) + word
	}
	return text
}

const (
	five    = "4c4b40" // 5 USDC
	six     = "5b8d80"
	payee   = "0x2222222222222222222222222222222222222222"
	owner   = "0x3333333333333333333333333333333333333333"
	account = "0x4444444444444444444444444444444444444444"
)

// usdcCall makes a line of a `contract.call` to USDC.
func usdcCall(calldata string) string {
	return `chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"` + calldata + `"}`
}

// tokenCall makes a line of an intent about USDC that declares call data.
func tokenCall(action, amount, more, calldata string) string {
	return `chain:1 {"action":"` + action + `","token":"USDC","amount":"` + amount + `","targetAddress":"` + usdc + `",` + more + `"calldata":"` + calldata + `"}`
}

const pinnedUSDC = `version: 2.4.0
## evm
allowed_chains: 1, 8453
allowed_actions: wallet.transfer, contract.call, token.approve, erc4337.userop, pay
max_transaction_eth: 5
token.USDC.decimals: 6
token.USDC.max_transaction: 5
token.USDC.addresses: ` + checksummed + `
`

const (
	exceeded = " => DENIED TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction\n"
	unlike   = " => DENIED ACTION_NOT_ALLOWED evm.allowed_actions\n"
	cut      = " => DENIED TOKEN_AMOUNT_INVALID evm.token.USDC.max_transaction\n"
	unnamed  = " => DENIED TOKEN_NOT_ALLOWED evm.token.USDC.methods\n"
	runsMore = " => DENIED ACTION_NOT_ALLOWED evm.account_calls\n"
	passes   = " => ALLOWED\n"

	eip2612  = "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"
	dais     = "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)"
	eip3009  = "WithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
	safeExec = "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)"
)

var moneyTables = []table{
	{"known methods of a pinned contract", pinnedUSDC, "\n" +
		usdcCall(data("transfer(address,uint256)", payee, five)) + passes +
		usdcCall(data("transfer(address,uint256)", payee, six)) + exceeded +
		usdcCall(data("transferFrom(address,address,uint256)", owner, payee, six)) + exceeded +
		usdcCall(data("approve(address,uint256)", payee, six)) + exceeded +
		usdcCall(data("approve(address,uint256)", payee, "0")) + passes +
		usdcCall(data("increaseAllowance(address,uint256)", payee, six)) + exceeded +
		usdcCall(data("increaseApproval(address,uint256)", payee, six)) + exceeded +
		usdcCall(data("decreaseAllowance(address,uint256)", payee, six)) + passes +
		usdcCall(data(eip2612, owner, payee, six, most, "1b", "0", "0")) + exceeded +
		usdcCall(data(eip2612, owner, payee, five, most, "1b", "0", "0")) + passes +
		usdcCall(data(dais, owner, payee, "0", "0", "1", "1b", "0", "0")) + exceeded +
		usdcCall(data(dais, owner, payee, "0", "0", "0", "1b", "0", "0")) + passes +
		usdcCall(data("transfer"+eip3009, owner, payee, six, "0", "0", "0", "0", "0", "0")) + exceeded +
		usdcCall(data("receive"+eip3009, owner, payee, six, "0", "0", "0", "0", "0", "0")) + exceeded +
		usdcCall(data("transferAndCall(address,uint256,bytes)", payee, six, "60", "0")) + exceeded +
		usdcCall(data("transferAndCall(address,uint256)", payee, six)) + exceeded +
		usdcCall(data("transferFromAndCall(address,address,uint256)", owner, payee, six)) + exceeded +
		usdcCall(data("approveAndCall(address,uint256,bytes)", payee, six, "60", "0")) + exceeded +
		usdcCall(data("send(address,uint256,bytes)", payee, six, "60", "0")) + exceeded +
		usdcCall(data("operatorSend(address,address,uint256,bytes,bytes)", owner, payee, six, "a0", "c0")) + exceeded +
		usdcCall(data("burn(uint256,bytes)", six, "40")) + exceeded +
		usdcCall(data("authorizeOperator(address)", payee)) + exceeded +
		usdcCall(data("revokeOperator(address)", payee)) + passes +
		usdcCall(data("withdraw(uint256)", six)) + exceeded +
		usdcCall(data("deposit()")) + passes + // of no native value
		usdcCall("0x") + passes +
		usdcCall(data("transfer(address,uint256)", payee)) + cut +
		usdcCall("0xa9059c") + unnamed +
		usdcCall(data("burn(uint256)", "1")) + unnamed +
		usdcCall(data("mint(address,uint256)", payee, "1")) + unnamed},
	{"a deposit counts as the native value", strings.Replace(pinnedUSDC, "max_transaction: 5", "max_transaction: 1000", 1), `
chain:1 {"action":"contract.call","amount":"0.000000001","targetAddress":"` + usdc + `","calldata":"` + data("deposit()") + `"} => ALLOWED
chain:1 {"action":"contract.call","amount":"0.000000001000000001","targetAddress":"` + usdc + `","calldata":"` + data("deposit()") + `"} => DENIED TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction
`},
	{"methods that a rule names", pinnedUSDC + `token.USDC.methods: "mint(address,uint256)", "0xdeadbeef"
`, "\n" +
		usdcCall(data("mint(address,uint256)", payee, six)) + passes +
		usdcCall("0xDEADBEEF") + passes +
		usdcCall(data("burn(uint256)", "1")) + unnamed +
		usdcCall(data("transfer(address,uint256)", payee, six)) + exceeded},
	{"an action is what its call data says", pinnedUSDC, `
chain:1 {"action":"wallet.transfer","amount":"1","to":"` + payee + `","calldata":"0x"} => ALLOWED
chain:1 {"action":"wallet.transfer","amount":"1","to":"` + payee + `","calldata":"0x00"} => DENIED ACTION_NOT_ALLOWED evm.allowed_actions
chain:1 {"action":"contract.call","amount":"1","targetAddress":"` + payee + `","calldata":"0x00"} => ALLOWED
` +
		tokenCall("wallet.transfer", "5", "", data("transfer(address,uint256)", payee, five)) + passes +
		tokenCall("wallet.transfer", "4.999999", "", data("transfer(address,uint256)", payee, five)) + exceeded +
		tokenCall("wallet.transfer", "5", "", data("transferFrom(address,address,uint256)", owner, payee, five)) + passes +
		tokenCall("wallet.transfer", "5", `"to":"`+payee+`",`, data("transferFrom(address,address,uint256)", owner, payee, five)) + passes +
		tokenCall("wallet.transfer", "5", `"to":"`+owner+`",`, data("transferFrom(address,address,uint256)", owner, payee, five)) + unlike +
		tokenCall("wallet.transfer", "5", "", data("approve(address,uint256)", payee, "1")) + unlike +
		tokenCall("wallet.transfer", "5", "", data("transferAndCall(address,uint256)", payee, "1")) + unlike +
		tokenCall("wallet.transfer", "5", "", "0x") + unlike +
		tokenCall("wallet.transfer", "5", "", data("transfer(address,uint256)", payee)) + cut +
		tokenCall("token.approve", "5", `"to":"`+payee+`",`, data("approve(address,uint256)", payee, five)) + passes +
		tokenCall("token.approve", "5", `"to":"`+owner+`",`, data("approve(address,uint256)", payee, five)) + unlike +
		tokenCall("token.approve", "5", "", data("increaseAllowance(address,uint256)", payee, five)) + passes +
		tokenCall("token.approve", "5", "", data(eip2612, owner, payee, five, most, "1b", "0", "0")) + unlike +
		tokenCall("pay", "5", `"to":"`+payee+`",`, data(eip2612, owner, payee, five, most, "1b", "0", "0")) + passes +
		tokenCall("pay", "5", "", data("transferAndCall(address,uint256)", payee, five)) + passes +
		tokenCall("pay", "5", "", data("mint(address,uint256)", payee, "1")) + unlike +
		// Bytes in front of an address are not looked at (choices).
		tokenCall("wallet.transfer", "5", `"to":"`+payee+`",`, data("transfer(address,uint256)", "1"+strings.Repeat("0", 23)+payee[2:], five)) + passes},
	{"calls that run other calls", pinnedUSDC, callLines("execute(address,uint256,bytes)", "execute(bytes32,bytes)", "executeBatch(address[],bytes[])",
		"executeBatch(address[],uint256[],bytes[])", "executeBatch((address,uint256,bytes)[])", safeExec,
		"execTransactionFromModule(address,uint256,bytes,uint8)",
		"handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)",
		"handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)") +
		// The selectors as the standards print them.
		call(account, "0xb61d27f6") + runsMore + call(account, "0xe9ae5c53") + runsMore + call(account, "0x34fcd5be") + runsMore +
		call(account, "0x6a761202") + runsMore + call(account, "0x468721a7") + runsMore + call(account, "0x1fad948c") + runsMore +
		call(account, "0x765e827f") + runsMore + call(account, "0x4b1d7cf5") + runsMore + call(account, "0xdbed18e0") + runsMore +
		call(account, "0xac9650d8") + passes + usdcCall("0xac9650d8") + runsMore +
		`chain:1 {"action":"erc4337.userop","amount":"0","targetAddress":"` + account + `","calldata":"0xb61d27f6"}` + runsMore},
	{"account calls that are opened", strings.Replace(pinnedUSDC, "max_transaction_eth", "account_calls: allow\nmax_transaction_eth", 1),
		call(account, "0xb61d27f6") + passes + usdcCall("0xac9650d8") + unnamed},
	{"fees", pinnedUSDC + "max_fee_eth: 0.01\n## soft_limits\ndaily_fee_eth: 0.05\n", `
chain:1 {"action":"wallet.transfer","amount":"0"} => DENIED AMOUNT_REQUIRED evm.max_fee_eth
chain:1 {"action":"wallet.transfer","amount":"6"} => DENIED AMOUNT_EXCEEDED evm.max_transaction_eth
chain:1 {"action":"wallet.transfer","amount":"0","maxFee":"0.010"} => ALLOWED | soft_limits.daily_fee_eth day "" sum 10000000000000000/50000000000000000
chain:1 {"action":"wallet.transfer","amount":"0","amount_unit":"base","maxFee":"0.01"} => ALLOWED
chain:1 {"action":"wallet.transfer","amount":"0","maxFee":"0.010000000000000001"} => DENIED AMOUNT_EXCEEDED evm.max_fee_eth
chain:1 {"action":"wallet.transfer","amount":"0","maxFee":"1e-3"} => DENIED AMOUNT_INVALID evm.max_fee_eth
{"action":"note","maxFee":"0"} => ERROR VALIDATION_ERROR_SCHEMA maxFee
`},
	{"fees of a day alone", pinnedUSDC + "## custom\ndeny_if.maxFee equals 0.50\n## soft_limits\ndaily_fee_eth: 0.05\n", `
chain:1 {"action":"wallet.transfer","amount":"0"} => DENIED AMOUNT_REQUIRED soft_limits.daily_fee_eth
chain:1 {"action":"wallet.transfer","amount":"0","maxFee":"00.5"} => DENIED CUSTOM_RULE custom.deny_if.maxFee
chain:1 {"action":"wallet.transfer","amount":"0","maxFee":"0.04"} => ALLOWED | soft_limits.daily_fee_eth day "" sum 40000000000000000/50000000000000000
`},
	{"tokens of a day", pinnedUSDC + "## soft_limits\ndaily_token.usdc: 20.5\n", `
chain:1 {"action":"wallet.transfer","amount":"1"} => ALLOWED |
chain:1 {"action":"wallet.transfer","token":"` + checksummed + `","amount":"1.5","targetAddress":"` + usdc + `"} => ALLOWED | soft_limits.daily_token.usdc day "" sum 1500000/20500000
` +
		tokenCall("wallet.transfer", "5", "", data("transfer(address,uint256)", payee, "1")) + ` => ALLOWED | soft_limits.daily_token.usdc day "" sum 5000000/20500000` + "\n" +
		usdcCall(data(eip2612, owner, payee, five, most, "1b", "0", "0")) + ` => ALLOWED | soft_limits.daily_token.usdc day "" sum 5000000/20500000` + "\n" +
		usdcCall(data("revokeOperator(address)", payee)) + ` => ALLOWED | soft_limits.daily_token.usdc day "" sum 0/20500000` + "\n" +
		usdcCall("0x") + " => ALLOWED |\n"},
	{"addresses of chains", `version: 2.4.0
## evm
allowed_chains: 1, 8453
allowed_actions: wallet.transfer, contract.call
token.USDC.decimals: 6
token.USDC.max_transaction: 5
token.USDC.addresses: 8453:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, 1:` + checksummed + `
## custom
allow_only[action=wallet.transfer].token: 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913
`, `
chain:1 {"action":"wallet.transfer","token":"USDC","amount":"1","targetAddress":"` + usdc + `"} => ALLOWED
chain:8453 {"action":"wallet.transfer","token":"USDC","amount":"1","targetAddress":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"} => ALLOWED
chain:8453 {"action":"wallet.transfer","token":"USDC","amount":"1","targetAddress":"` + usdc + `"} => DENIED TOKEN_NOT_ALLOWED evm.token.USDC.addresses
chain:8453 {"action":"wallet.transfer","token":"` + usdc + `","amount":"1","targetAddress":"` + usdc + `"} => DENIED TOKEN_NOT_ALLOWED evm.token
chain:8453 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"0xdeadbeef"} => ALLOWED
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"0xdeadbeef"} => DENIED TOKEN_NOT_ALLOWED evm.token.USDC.methods
`},
	{"enrichment of every intent with call data", pinnedUSDC + "require_calldata_enrichment: true\ncalldata_unknown_selector: allow\n", `
chain:1 {"action":"wallet.transfer","amount":"1"} => ALLOWED
chain:1 {"action":"pay","amount":"1","targetAddress":"` + payee + `","calldata":"0x00"} => DENIED CALLDATA_ENRICHMENT_REQUIRED evm.require_calldata_enrichment
shim chain:1 {"action":"pay","amount":"1","targetAddress":"` + payee + `","calldata":"0x00","metadata":{"evm":{"selector":"0xdeadbeef"}}} => ALLOWED
shim chain:1 ` + enrichedPermit(five, "5000000") + ` => ALLOWED
shim chain:1 ` + enrichedPermit(five, "5000001") + ` => DENIED TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction
shim chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + payee + `","metadata":{"evm":{"selector":"0xd505accf","token_target":"` + usdc + `","token_amount":"1"}}} => DENIED CALLDATA_ENRICHMENT_REQUIRED evm.require_calldata_enrichment
shim chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + payee + `","metadata":{"evm":{"selector":"0x959b8c3f","token_target":"` + usdc + `","spender":"` + payee + `","token_amount":"1"}}} => DENIED TOKEN_AMOUNT_EXCEEDED evm.calldata.unbounded_approval
`},
}

func call(target, calldata string) string {
	return `chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + target + `","calldata":"` + calldata + `"}`
}

func callLines(signatures ...string) string {
	lines := "\n"
	for _, signature := range signatures {
		lines += call(account, data(signature)) + runsMore
	}
	return lines
}

// enrichedPermit is a permit whose amount the shim reports on its own.
func enrichedPermit(amount, told string) string {
	return `{"action":"contract.call","amount":"0","targetAddress":"` + usdc + `","calldata":"` + data(eip2612, owner, payee, amount, most, "1b", "0", "0") +
		`","metadata":{"evm":{"selector":"0xd505accf","token_target":"` + usdc + `","spender":"` + payee + `","token_amount":"` + told + `"}}}`
}
