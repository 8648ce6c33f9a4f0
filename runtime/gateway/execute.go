package gateway

import (
	"bytes"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/vm/amount"
)

const wordBytes = 32

// executeSelector is that of execute(address,uint256,bytes), the method by which common accounts make one call.
var executeSelector = []byte{0xb6, 0x1d, 0x27, 0xf6}

// readExecute reads the one call inside the call data of a user operation: execute(address,uint256,bytes) in the one
// form that encoders write, so that no decoder finds another call in it.
func readExecute(data []byte) (c Call, ok bool) {
	const head = 4 * wordBytes // target, value, offset, length
	arguments, found := bytes.CutPrefix(data, executeSelector)
	if !found || len(arguments) < head {
		return c, false
	}
	if c.Target, ok = readAddress(arguments); !ok {
		return c, false
	}
	c.Value = amount.FromBytes32([32]byte(arguments[wordBytes:]))
	offset, fits := readSize(arguments[2*wordBytes:])
	size, fitsToo := readSize(arguments[3*wordBytes:])
	padded := (size + wordBytes - 1) / wordBytes * wordBytes
	if !fits || !fitsToo || offset != head-wordBytes || len(arguments) != head+padded {
		return c, false
	}
	c.Data = arguments[head : head+size]
	padding := arguments[head+size:]
	return c, bytes.Equal(padding, make([]byte, len(padding)))
}

// readSize reads the first word of data where it is a size that a request can have.
func readSize(data []byte) (size int, ok bool) {
	const used = 4
	for _, c := range data[:wordBytes-used] {
		if c != 0 {
			return 0, false
		}
	}
	for _, c := range data[wordBytes-used : wordBytes] {
		size = size<<8 | int(c)
	}
	return size, size <= MaxBody
}

// readAddress reads the address in the first word of data.
func readAddress(data []byte) (a common.Address, ok bool) {
	const padding = wordBytes - common.AddressLength
	if !bytes.Equal(data[:padding], make([]byte, padding)) {
		return a, false
	}
	return common.Address(data[padding:wordBytes]), true
}
