// Package calldata decodes the call data of an EVM call, as far as rules about money need it: which method it
// calls, how much of a token that method moves or lets others move, from whom and to whom, and whether it makes its
// target run further calls.
//
// One table has the methods (see [Methods]). Authorize, the gateways and the checks of what shims report about call data
// use it, so that they never disagree about the same bytes. A method that is not in the table is known by its selector
// alone.
package calldata

import (
	"encoding/hex"
	"strings"

	"bailiff/vm/amount"
)

// A Call is what call data says. The zero Call is empty data.
type Call struct {
	// Method is nil where the table does not have the selector, and where there is none.
	Method   *Method
	Selector Selector // where HasSelector
	Size     int      // of the data, in bytes

	// Malformed says that the arguments of a token's method are cut off: some contracts read zeros there, and others
	// refuse. Amount, From and Party are zero.
	Malformed bool

	// padded says that an argument that is an address has nothing but zeros in front of its 20 bytes. Contracts look at
	// those bytes alone, or refuse the call.
	padded bool

	// Amount is in base units: what the method moves, or up to what it lets Party move. From is whose tokens they are
	// where that is not the caller, and Party who receives or may spend them; each is zero where Method does not
	// have it.
	Amount      amount.Amount
	From, Party Address
}

// Empty reports whether there is no data at all: a native transfer.
func (c *Call) Empty() bool { return c.Size == 0 }

// HasSelector reports whether the data is long enough to call a method.
func (c *Call) HasSelector() bool { return c.Size >= selectorBytes }

// Judged reports whether the data calls a token's method that the table has: a rule for the token can judge its amount.
func (c *Call) Judged() bool { return c.Method != nil && c.Method.Kind.Judged() }

// RunsCalls reports whether the data makes any target that knows the method run further calls.
func (c *Call) RunsCalls() bool { return c.Method != nil && c.Method.Kind == Runs }

// Exact reports whether the data of a token's method is as encoders write it: its arguments and no byte more, with zeros in
// front of addresses. It is false for methods with arguments of any length.
func (c *Call) Exact() bool {
	return c.Judged() && !c.Malformed && c.padded && !c.Method.dynamic && c.Size == selectorBytes+c.Method.words*wordBytes
}

const (
	selectorBytes = 4
	wordBytes     = 32
	// maxWords is the most words that the head of a token's method has; a test holds the table to it.
	maxWords  = 9
	headBytes = selectorBytes + maxWords*wordBytes
)

// Read reads call data. value is what the call carries in wei: it is the amount of a deposit into wrapped ether.
func Read(data []byte, value amount.Amount) Call {
	c := Call{Size: len(data)}
	if c.HasSelector() {
		c.Selector = Selector(data)
		if c.Method = bySelector[c.Selector]; c.Judged() {
			c.Malformed = !c.arguments(data[selectorBytes:], value)
		}
	}
	return c
}

// ReadHex reads call data as intents have it: 0x and an even number of hexadecimal digits of any case, or the empty text. Of
// anything else it reports false. It looks at no digit behind the arguments that it reads.
func ReadHex(text string, value amount.Amount) (c Call, ok bool) {
	if text == "" {
		return c, true
	}
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits)%2 != 0 {
		return c, false
	}
	var head [headBytes]byte
	n, err := hex.Decode(head[:], []byte(digits[:min(len(digits), 2*headBytes)]))
	if err != nil {
		return c, false
	}
	c = Read(head[:n], value)
	c.Size = len(digits) / 2
	return c, true
}

// arguments reads what a token's method is called with, and reports whether all of it is there.
func (c *Call) arguments(words []byte, value amount.Amount) bool {
	m := c.Method
	if len(words) < m.words*wordBytes {
		return false
	}
	var from, party bool
	c.From, from = readAddress(words, m.from)
	c.Party, party = readAddress(words, m.party)
	c.padded = from && party
	switch m.amount {
	case amountNone:
	case amountAll:
		c.Amount = Unlimited
	case amountValue:
		c.Amount = value
	case amountFlag:
		if !readWord(words, m.argument).IsZero() {
			c.Amount = Unlimited
		}
	default:
		c.Amount = readWord(words, m.argument)
	}
	return true
}

// readWord reads the argument of that number, from 1.
func readWord(words []byte, number int) amount.Amount {
	return amount.FromBytes32([wordBytes]byte(words[(number-1)*wordBytes:]))
}

// readAddress reads the address in the argument of that number, from 1; number 0 is no argument. It reports whether the
// bytes in front of the address are zero.
func readAddress(words []byte, number int) (a Address, ok bool) {
	if number == 0 {
		return a, true
	}
	word := words[(number-1)*wordBytes : number*wordBytes]
	const padding = wordBytes - len(a)
	return Address(word[padding:]), [padding]byte(word) == [padding]byte{}
}

// An Address is an account or contract.
type Address [20]byte

// String returns 0x and 40 hexadecimal digits in lower case.
func (a Address) String() string { return "0x" + hex.EncodeToString(a[:]) }

// Unlimited is 2^256-1, the amount of an allowance that names none.
var Unlimited = amount.FromBytes32([wordBytes]byte{
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
})
