package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"bailiff/vm/amount"
	"bailiff/vm/form/calldata"
)

// A Call is one call on a chain, as a transaction makes it or an account makes it for a user operation.
type Call struct {
	Sender common.Address // who signed, or the account of the user operation
	Target common.Address
	Value  amount.Amount // in wei
	Data   []byte
	// Operation says that the account makes the call for a user operation, after its EntryPoint has called it.
	Operation bool
}

// read returns what the call's data says.
func (c *Call) read() calldata.Call { return calldata.Read(c.Data, c.Value) }

// A Transaction is a signed transaction that was decoded from raw bytes.
type Transaction struct {
	Call
	Commitment [sha256.Size]byte // txCommit: SHA-256 of the raw bytes
	ChainID    uint64            // 0 for one that binds itself to no chain (before EIP-155)
	Creation   bool              // it creates a contract, and has no target
	MaxCost    *big.Int          // the most that its gas costs, in wei: gas limit × fee cap
}

// Errors of [DecodeTransaction] beside those of RLP and signatures.
var (
	errBlob     = errors.New("it is a blob transaction (EIP-4844), which the gateway does not submit")
	errSetCode  = errors.New("it is a set-code transaction (EIP-7702), which the gateway does not submit")
	errForm     = errors.New("its bytes are not the canonical form of the transaction")
	errIntegers = errors.New("a number in it exceeds what nodes accept")
)

// DecodeTransaction decodes a signed transaction: legacy, EIP-2930 or EIP-1559. Others are refused, and so are bytes
// that are not the canonical encoding, bytes that follow, a signature that is none or has a high s (EIP-2), and what
// no node would accept: the last nonce (EIP-2681), a fee above 2^256, a tip above the fee, and less gas than the
// transaction's own bytes cost.
func DecodeTransaction(raw []byte) (*Transaction, error) {
	if len(raw) > 0 && raw[0] == types.BlobTxType {
		return nil, errBlob
	}
	if len(raw) > 0 && raw[0] == types.SetCodeTxType {
		return nil, errSetCode
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return nil, fmt.Errorf("it can't be decoded: %w", err)
	}
	again, err := tx.MarshalBinary()
	if err != nil || !bytes.Equal(again, raw) {
		return nil, errForm
	}
	if err := checkNumbers(tx); err != nil {
		return nil, err
	}
	return describe(tx, raw)
}

// describe takes out of a transaction what an intent is held against.
func describe(tx *types.Transaction, raw []byte) (*Transaction, error) {
	t := &Transaction{Commitment: sha256.Sum256(raw), Creation: tx.To() == nil}
	t.MaxCost = tx.GasFeeCap()
	t.MaxCost.Mul(t.MaxCost, new(big.Int).SetUint64(tx.Gas()))
	signer := types.Signer(types.HomesteadSigner{})
	if tx.Protected() {
		chain := tx.ChainId()
		if !chain.IsUint64() || chain.Sign() == 0 {
			return nil, fmt.Errorf("its chain id %s is none", chain)
		}
		t.ChainID, signer = chain.Uint64(), types.NewLondonSigner(chain)
	}
	var err error
	if t.Sender, err = types.Sender(signer, tx); err != nil {
		return nil, fmt.Errorf("its signature is none: %w", err)
	}
	if !t.Creation {
		t.Target = *tx.To()
	}
	var word [32]byte
	tx.Value().FillBytes(word[:])
	t.Value, t.Data = amount.FromBytes32(word), tx.Data()
	return t, nil
}

// checkNumbers refuses numbers that no node accepts. Values of up to 2^256-1 are let through to the chain, which
// knows the balances.
func checkNumbers(tx *types.Transaction) error {
	for _, n := range []interface{ BitLen() int }{tx.Value(), tx.GasPrice(), tx.GasFeeCap(), tx.GasTipCap()} {
		if n.BitLen() > 256 {
			return errIntegers
		}
	}
	if fee := tx.GasFeeCap(); fee.Mul(fee, new(big.Int).SetUint64(tx.Gas())).BitLen() > 256 || tx.Nonce() == math.MaxUint64 {
		return errIntegers
	}
	if tx.GasTipCapIntCmp(tx.GasFeeCap()) > 0 {
		return errors.New("its priority fee is above its maximum fee")
	}
	if needs := intrinsicGas(tx); tx.Gas() < needs {
		return fmt.Errorf("its gas limit is %d, and its own bytes cost %d", tx.Gas(), needs)
	}
	return nil
}

// Costs of a transaction's own bytes (yellow paper, appendix G; EIP-2028, EIP-2930, EIP-3860).
const (
	gasTransaction = 21_000
	gasCreation    = 32_000
	gasZeroByte    = 4
	gasByte        = 16
	gasInitWord    = 2
	gasAddress     = 2_400
	gasStorageKey  = 1_900
	maxInitCode    = 49_152
)

// intrinsicGas returns the least gas limit that a transaction needs since Shanghai (the floor of EIP-7623 is for the node
// to judge, as chains differ); more than there is for init code that is too long (EIP-3860).
func intrinsicGas(tx *types.Transaction) uint64 {
	size := uint64(len(tx.Data()))
	zeros := uint64(bytes.Count(tx.Data(), []byte{0}))
	gas := gasTransaction + zeros*gasZeroByte + (size-zeros)*gasByte
	for _, tuple := range tx.AccessList() {
		gas += gasAddress + uint64(len(tuple.StorageKeys))*gasStorageKey
	}
	if tx.To() == nil {
		if size > maxInitCode {
			return math.MaxUint64
		}
		gas += gasCreation + (size+31)/32*gasInitWord
	}
	return gas
}

// parseHex reads bytes as JSON-RPC writes them: 0x and an even number of hexadecimal digits.
func parseHex(text string) ([]byte, error) {
	if len(text) < 2 || text[:2] != "0x" || len(text)%2 != 0 {
		return nil, errors.New("it is not 0x and an even number of hexadecimal digits")
	}
	raw, err := hex.DecodeString(text[2:])
	if err != nil {
		return nil, errors.New("it is not 0x and an even number of hexadecimal digits")
	}
	return raw, nil
}
