package gateway

import (
	"encoding/hex"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// AppendJSON appends the operation in the form in which bundlers take its version (ERC-7769), made anew from what was
// decoded.
func (op *UserOperation) AppendJSON(dst []byte) []byte {
	w := objectWriter{append(dst, '{')}
	w.bytes("sender", op.Sender[:])
	w.quantity("nonce", op.Nonce)
	w.bytes("callData", op.CallData)
	w.quantity("callGasLimit", op.CallGas)
	w.quantity("verificationGasLimit", op.VerificationGas)
	w.quantity("preVerificationGas", op.PreVerification)
	w.quantity("maxFeePerGas", op.MaxFee)
	w.quantity("maxPriorityFeePerGas", op.MaxPriorityFee)
	if op.Version == V06 {
		w.bytes("initCode", op.InitCode)
		w.bytes("paymasterAndData", op.PaymasterAndData)
	} else {
		op.appendFactory(&w)
		op.appendPaymaster(&w)
	}
	w.bytes("signature", op.Signature)
	return append(w.text, '}')
}

func (op *UserOperation) appendFactory(w *objectWriter) {
	switch {
	case op.Authorization != nil:
		w.string("factory", marker7702)
		w.bytes("factoryData", op.InitCode)
		op.Authorization.append(w)
	case len(op.InitCode) > 0:
		w.bytes("factory", op.InitCode[:common.AddressLength])
		w.bytes("factoryData", op.InitCode[common.AddressLength:])
	}
}

func (op *UserOperation) appendPaymaster(w *objectWriter) {
	if len(op.PaymasterAndData) == 0 {
		return
	}
	const verification, post, data = common.AddressLength, common.AddressLength + wordBytes/2, common.AddressLength + wordBytes
	w.bytes("paymaster", op.PaymasterAndData[:verification])
	w.quantity("paymasterVerificationGasLimit", new(big.Int).SetBytes(op.PaymasterAndData[verification:post]))
	w.quantity("paymasterPostOpGasLimit", new(big.Int).SetBytes(op.PaymasterAndData[post:data]))
	w.bytes("paymasterData", op.PaymasterAndData[data:])
}

func (a *Authorization) append(w *objectWriter) {
	inner := objectWriter{[]byte{'{'}}
	inner.quantity("chainId", a.ChainID)
	inner.bytes("address", a.Delegate[:])
	inner.quantity("nonce", new(big.Int).SetUint64(a.Nonce))
	inner.quantity("yParity", new(big.Int).SetUint64(uint64(a.YParity)))
	inner.bytes("r", word(a.R))
	inner.bytes("s", word(a.S))
	w.name("eip7702Auth")
	w.text = append(append(w.text, inner.text...), '}')
}

// An objectWriter writes a JSON object whose names and values need no escapes.
type objectWriter struct{ text []byte }

func (w *objectWriter) name(name string) {
	if w.text[len(w.text)-1] != '{' {
		w.text = append(w.text, ',')
	}
	w.text = append(append(append(w.text, '"'), name...), `":`...)
}

func (w *objectWriter) string(name, value string) {
	w.name(name)
	w.text = append(append(append(w.text, '"'), value...), '"')
}

func (w *objectWriter) bytes(name string, value []byte) {
	w.name(name)
	w.text = append(hex.AppendEncode(append(w.text, `"0x`...), value), '"')
}

func (w *objectWriter) quantity(name string, n *big.Int) { w.string(name, "0x"+n.Text(16)) }
