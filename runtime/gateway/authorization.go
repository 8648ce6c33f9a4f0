package gateway

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// An Authorization is the EIP-7702 authorization that comes with a user operation whose sender it makes a delegation.
type Authorization struct {
	ChainID  *big.Int
	Delegate common.Address
	Nonce    uint64
	YParity  uint8
	R, S     *big.Int
}

// readAuthorization reads eip7702Auth, which only version 0.8 binds: there the delegate is part of the hash.
func (r *operationReader) readAuthorization(op *UserOperation) {
	if !r.has("eip7702Auth") {
		return
	}
	r.seen["eip7702Auth"] = true
	if op.Version != V08 {
		r.fail("eip7702Auth", "is bound by EntryPoint 0.8 only")
		return
	}
	members, err := readObject(r.members["eip7702Auth"])
	if err != nil {
		r.fail("eip7702Auth", "must be an object")
		return
	}
	inner := newOperationReader(members)
	a := &Authorization{
		ChainID: inner.quantity("chainId", wordBits), Delegate: inner.address("address"),
		Nonce: inner.quantity("nonce", 64).Uint64(), YParity: uint8(inner.quantity("yParity", 1).Uint64()),
		R: inner.quantity("r", wordBits), S: inner.quantity("s", wordBits),
	}
	if inner.has("v") { // the other spelling of yParity, which some clients add
		if v := inner.quantity("v", 8).Uint64(); v != uint64(a.YParity) && v != uint64(a.YParity)+27 {
			inner.fail("v", "differs from yParity")
		}
	}
	if inner.unread(members, "an authorization"); inner.err != nil {
		r.fail("eip7702Auth."+inner.err.Error(), "")
		return
	}
	op.Authorization = a
}

// commonDelegates is the code to which a user operation may delegate a wallet under a policy with limits: Simple7702Account
// of EntryPoint 0.8, which lies at this address on every chain, and whose execute makes the call it is given and no other.
// Any other code can do with the wallet what it likes, then and ever after, and no intent declares that.
var commonDelegates = map[common.Address]bool{
	common.HexToAddress("0xe6Cae83BdE06E4c305530e199D7217f42808555B"): true,
}

// check sees to it that an authorization is the sender's own, and good on this chain alone.
func (a *Authorization) check(sender common.Address, chain uint64) error {
	if !a.ChainID.IsUint64() || a.ChainID.Uint64() != chain {
		return misfitf("the EIP-7702 authorization is for chain %s, and this is %d", a.ChainID, chain)
	}
	signed := types.SetCodeAuthorization{
		ChainID: *uint256.MustFromBig(a.ChainID), Address: a.Delegate, Nonce: a.Nonce, V: a.YParity,
		R: *uint256.MustFromBig(a.R), S: *uint256.MustFromBig(a.S),
	}
	if signer, err := signed.Authority(); err != nil || signer != sender {
		return misfit(fmt.Sprintf("the EIP-7702 authorization is not signed by the sender %s", spell(sender)))
	}
	return nil
}
