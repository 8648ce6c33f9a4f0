// Package evm attacks the gateways with a real EVM. It generates transactions and user operations of an agent that holds
// the keys of every wallet it works for and wants their money, declares them truthfully or not, and executes what the
// gateways forward on go-ethereum's virtual machine. What the wallets lost is compared with what was attested:
//
//   - native currency: at most amountBase of an intent that names no token, nothing of one that does;
//   - a token that the policy pins: at most the maximum of its rule, and the declared amount where the intent names it;
//     an allowance given to somebody else counts as money that is gone;
//   - gas: at most maxFeeBase, or SVC_MAX_FEE_<chainId> where none is claimed;
//   - a pinned token of somebody who gave a wallet an allowance: nothing.
//
// The wallets are an EOA that is delegated to an account's code (EIP-7702), a Safe, and an ERC-4337 account; the contracts
// of testdata/contracts.sol have the methods of theirs that move money. Calls go two ways: through authorize and the
// gateway, as an agent's do, and through the gateway alone, with attestations for whatever was declared, so that authorize
// does not hide a check that the gateway lacks. A truthful intent that authorize attests is refused by the gateway only for
// reasons that authorize cannot see.
package evm
