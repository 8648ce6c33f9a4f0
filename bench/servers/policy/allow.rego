package bench

payees := {PAYEES}

contracts := {CONTRACTS}

usdc := {1: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", 8453: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}

default allow := false

allow if {
	input.chain in {1, 8453}
	permitted
}

permitted if {
	input.action == "wallet.transfer"
	input.token == ""
	input.target in payees
	input.amount <= 500000
}

permitted if {
	input.action == "contract.call"
	input.token == ""
	input.target in contracts
	input.amount <= 500000
}

permitted if {
	input.action == "token.transfer"
	input.token == "USDC"
	input.target == usdc[input.chain]
	input.payee in payees
	input.amount <= 250000000
}
