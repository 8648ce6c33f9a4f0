package gateway

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Hash returns the userOpHash of an operation on a chain, as the EntryPoint contract of its version computes it: the
// packed fields under two hashes for 0.6 and 0.7, EIP-712 for 0.8 (ERC-4337).
func (op *UserOperation) Hash(entryPoint common.Address, chain uint64) [32]byte {
	id := word(new(big.Int).SetUint64(chain))
	switch op.Version {
	case V06:
		return crypto.Keccak256Hash(crypto.Keccak256(op.pack06()), addressWord(entryPoint), id)
	case V07:
		return crypto.Keccak256Hash(crypto.Keccak256(op.pack07()), addressWord(entryPoint), id)
	}
	domain := crypto.Keccak256(domainType, domainName, domainVersion, id, addressWord(entryPoint))
	return crypto.Keccak256Hash([]byte{0x19, 0x01}, domain, crypto.Keccak256(operationType, op.pack07()))
}

// The constants of EIP-712 that the EntryPoint 0.8 hashes with.
var (
	domainType    = crypto.Keccak256([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"))
	domainName    = crypto.Keccak256([]byte("ERC4337"))
	domainVersion = crypto.Keccak256([]byte("1"))
	operationType = crypto.Keccak256([]byte("PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,bytes paymasterAndData)"))
)

func (op *UserOperation) pack06() []byte {
	return join(addressWord(op.Sender), word(op.Nonce), crypto.Keccak256(op.InitCode), crypto.Keccak256(op.CallData),
		word(op.CallGas), word(op.VerificationGas), word(op.PreVerification), word(op.MaxFee), word(op.MaxPriorityFee),
		crypto.Keccak256(op.PaymasterAndData))
}

func (op *UserOperation) pack07() []byte {
	return join(addressWord(op.Sender), word(op.Nonce), crypto.Keccak256(op.hashedInitCode()), crypto.Keccak256(op.CallData),
		half(op.VerificationGas), half(op.CallGas), word(op.PreVerification), half(op.MaxPriorityFee), half(op.MaxFee),
		crypto.Keccak256(op.PaymasterAndData))
}

// hashedInitCode is the init code as it is hashed: with the delegate in the place of the marker 0x7702.
func (op *UserOperation) hashedInitCode() []byte {
	if op.Authorization == nil {
		return op.InitCode
	}
	return join(op.Authorization.Delegate[:], op.InitCode)
}

func word(n *big.Int) []byte { return n.FillBytes(make([]byte, wordBytes)) }

func addressWord(a common.Address) []byte { return common.LeftPadBytes(a[:], wordBytes) }

func join(parts ...[]byte) []byte {
	joined := make([]byte, 0, len(parts)*wordBytes)
	for _, part := range parts {
		joined = append(joined, part...)
	}
	return joined
}
