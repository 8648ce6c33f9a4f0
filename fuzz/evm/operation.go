package evm

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// A sentOperation is a user operation in the form of ERC-7769, in which bundlers get it.
type sentOperation struct {
	Sender, Nonce, CallData, CallGasLimit, VerificationGasLimit, PreVerificationGas, MaxFeePerGas, MaxPriorityFeePerGas string
	InitCode, PaymasterAndData, Factory, FactoryData                                                                    string
	Paymaster, PaymasterVerificationGasLimit, PaymasterPostOpGasLimit, PaymasterData                                    string
	Signature                                                                                                           string
	EIP7702Auth                                                                                                         *struct{ ChainID, Address, Nonce, YParity, R, S string }
}

// The signatures of the methods by which entry points take operations.
const (
	tuple06       = "(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)"
	tuple07       = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"
	handleOps06   = "handleOps(" + tuple06 + "[],address)"
	handleOps07   = "handleOps(" + tuple07 + "[],address)"
	handleAggre06 = "handleAggregatedOps((" + tuple06 + "[],address,bytes)[],address)"
	handleAggre07 = "handleAggregatedOps((" + tuple07 + "[],address,bytes)[],address)"
)

// handleOps returns the call data by which a bundler has an entry point execute an operation, and the authorization that
// goes into its transaction.
func handleOps(text []byte, entryPoint common.Address) ([]byte, *types.SetCodeAuthorization, error) {
	var op sentOperation
	if err := json.Unmarshal(text, &op); err != nil {
		return nil, nil, err
	}
	if entryPoint == entryPoint6 {
		return Encode(handleOps06, List{op.packed06()}, bundler), nil, nil
	}
	if op.EIP7702Auth == nil {
		return Encode(handleOps07, List{op.packed07()}, bundler), nil, nil
	}
	authorization, err := op.authorization()
	return Encode(handleOps07, List{op.packed07()}, bundler), authorization, err
}

func (op *sentOperation) packed06() Dynamic {
	return Dynamic{
		common.HexToAddress(op.Sender), number(op.Nonce), common.FromHex(op.InitCode), common.FromHex(op.CallData), number(op.CallGasLimit),
		number(op.VerificationGasLimit), number(op.PreVerificationGas), number(op.MaxFeePerGas), number(op.MaxPriorityFeePerGas),
		common.FromHex(op.PaymasterAndData), common.FromHex(op.Signature),
	}
}

func (op *sentOperation) packed07() Dynamic {
	var paymasterAndData []byte
	if op.Paymaster != "" {
		gas := halves(number(op.PaymasterVerificationGasLimit), number(op.PaymasterPostOpGasLimit))
		paymasterAndData = append(append(common.FromHex(op.Paymaster), gas[:]...), common.FromHex(op.PaymasterData)...)
	}
	return Dynamic{
		common.HexToAddress(op.Sender), number(op.Nonce), append(common.FromHex(op.Factory), common.FromHex(op.FactoryData)...),
		common.FromHex(op.CallData), halves(number(op.VerificationGasLimit), number(op.CallGasLimit)), number(op.PreVerificationGas),
		halves(number(op.MaxPriorityFeePerGas), number(op.MaxFeePerGas)), paymasterAndData, common.FromHex(op.Signature),
	}
}

func (op *sentOperation) authorization() (*types.SetCodeAuthorization, error) {
	a := op.EIP7702Auth
	chain, nonce, parity := number(a.ChainID), number(a.Nonce), number(a.YParity)
	if !chain.IsUint64() || !nonce.IsUint64() || !parity.IsUint64() {
		return nil, fmt.Errorf("the authorization %+v has numbers out of range", a)
	}
	return &types.SetCodeAuthorization{
		ChainID: *uint256.MustFromBig(chain), Address: common.HexToAddress(a.Address), Nonce: nonce.Uint64(), V: uint8(parity.Uint64()),
		R: *uint256.MustFromBig(number(a.R)), S: *uint256.MustFromBig(number(a.S)),
	}, nil
}

// number reads a quantity of JSON-RPC; a missing one is zero.
func number(text string) *big.Int { return new(big.Int).SetBytes(common.FromHex(text)) }

// halves puts two numbers below 2^128 into a word.
func halves(high, low *big.Int) (word [32]byte) {
	high.FillBytes(word[:16])
	low.FillBytes(word[16:])
	return word
}
