package bench

import "bailiff/runtime/attest"

// Claims are the claims that AllowedIntent gets, but for time, hashes and ids, which are made up.
func Claims() *attest.Claims {
	const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	return &attest.Claims{
		Issuer: "svc-core", Subject: "treasury-7", ID: attest.TokenID{15: 1}, IssuedAt: 1_795_000_000,
		TxCommit: digest, PolicyHash: digest, IntentHash: digest, ChainID: 8453,
		Framework: "agent-hooks", KeyID: "0192f0c4-5a5b-4c5d-8e5f-0123456789ab", Kind: attest.KindEVM,
		Intent: attest.Intent{
			Action: "wallet.transfer", AmountBase: "125000000000000000",
			TargetAddress: "0x4e59b44847b379578588920ca78fbf26c0b4956c",
		},
	}
}
