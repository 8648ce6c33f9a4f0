package evm

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// The arguments of a call that have members.
type (
	// List is an array of dynamic length.
	List []any
	// Tuple is a struct.
	Tuple []any
	// Dynamic is a struct with a member of dynamic length.
	Dynamic []any
)

// Encode returns the call data of a method: the selector of its signature and its arguments as the ABI encodes them. They
// are addresses, *big.Int, int, bool, [32]byte, []byte, List, Tuple and Dynamic.
func Encode(signature string, arguments ...any) []byte {
	return append(crypto.Keccak256([]byte(signature))[:4], encodeAll(arguments)...)
}

// encodeAll encodes values one after another: those of dynamic length behind all others, at the offset in their place.
func encodeAll(values []any) []byte {
	heads, tail := make([][]byte, len(values)), []byte(nil)
	size := 0
	for i, v := range values {
		if heads[i] = encodeOne(v); isDynamic(v) {
			size += 32
		} else {
			size += len(heads[i])
		}
	}
	var head []byte
	for i, v := range values {
		if !isDynamic(v) {
			head = append(head, heads[i]...)
			continue
		}
		head = append(head, wordOf(big.NewInt(int64(size+len(tail))))...)
		tail = append(tail, heads[i]...)
	}
	return append(head, tail...)
}

func isDynamic(v any) bool {
	switch v.(type) {
	case []byte, List, Dynamic:
		return true
	}
	return false
}

func encodeOne(v any) []byte {
	switch v := v.(type) {
	case common.Address:
		return common.LeftPadBytes(v[:], 32)
	case *big.Int:
		return wordOf(v)
	case int:
		return wordOf(big.NewInt(int64(v)))
	case bool:
		if v {
			return wordOf(big.NewInt(1))
		}
		return wordOf(new(big.Int))
	case [32]byte:
		return v[:]
	case []byte:
		return append(wordOf(big.NewInt(int64(len(v)))), common.RightPadBytes(v, (len(v)+31)/32*32)...)
	case List:
		return append(wordOf(big.NewInt(int64(len(v)))), encodeAll(v)...)
	case Tuple:
		return encodeAll(v)
	case Dynamic:
		return encodeAll(v)
	}
	panic(fmt.Sprintf("%T can't be encoded", v))
}

func wordOf(n *big.Int) []byte { return n.FillBytes(make([]byte, 32)) }
