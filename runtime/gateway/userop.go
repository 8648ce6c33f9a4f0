package gateway

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"

	"bailiff/vm/form/evmaddr"
)

// A UserOperation is an ERC-4337 user operation as it was read, in the fields that its hash is made of. Quantities are
// below 2^256; from version 0.7 on the gas limits and fees are below 2^128.
type UserOperation struct {
	Version          Version
	Sender           common.Address
	Nonce            *big.Int
	InitCode         []byte // factory and its data; with an Authorization the text behind the marker
	CallData         []byte
	CallGas          *big.Int
	VerificationGas  *big.Int
	PreVerification  *big.Int
	MaxFee           *big.Int
	MaxPriorityFee   *big.Int
	PaymasterAndData []byte         // from 0.7 on with the paymaster's two gas limits inside
	Authorization    *Authorization // of an account that is an EIP-7702 delegation (0.8)
	Signature        []byte
}

// marker7702 takes the factory's place where the sender's code is an EIP-7702 delegation.
const (
	marker7702     = "0x7702"
	marker7702Long = "0x7702000000000000000000000000000000000000"
)

// DecodeUserOperation reads a user operation of a version from its JSON object. From 0.7 on that may be the form in which
// bundlers take it (ERC-7769), or the packed one that the contract takes. Unknown members, null, members of
// another version's or both forms, and numbers out of their range are errors that name the member.
func DecodeUserOperation(text []byte, version Version) (*UserOperation, error) {
	members, err := readObject(text)
	if err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	r := newOperationReader(members)
	op := &UserOperation{Version: version}
	r.readCommon(op)
	switch {
	case version == V06:
		r.readOld(op)
	case r.has("accountGasLimits") || r.has("gasFees"):
		r.readPacked(op)
	default:
		r.readUnpacked(op)
	}
	r.readAuthorization(op)
	r.unread(members, "a user operation of this form for EntryPoint "+version.String())
	if r.err != nil {
		return nil, r.err
	}
	return op, nil
}

// An operationReader takes members out of a user operation. The first fault is kept.
type operationReader struct {
	members map[string]jsontext.Value
	seen    map[string]bool
	err     error
}

func newOperationReader(members []member) *operationReader {
	r := &operationReader{members: make(map[string]jsontext.Value, len(members)), seen: make(map[string]bool, len(members))}
	for _, m := range members {
		r.members[m.name] = m.value
	}
	return r
}

// unread refuses members that nothing was read from.
func (r *operationReader) unread(members []member, of string) {
	for _, m := range members {
		if !r.seen[m.name] {
			r.fail(m.name, "is not a member of "+of)
		}
	}
}

func (r *operationReader) fail(name, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%.64s %s", name, what)
	}
}

func (r *operationReader) has(name string) bool { _, ok := r.members[name]; return ok }

// text returns a member that must be there, and a string.
func (r *operationReader) text(name string) string {
	r.seen[name] = true
	raw, ok := r.members[name]
	if !ok {
		r.fail(name, "is missing")
		return ""
	}
	text, err := stringOf(raw)
	if err != nil {
		r.fail(name, "must be a string of hexadecimal digits")
	}
	return text
}

func (r *operationReader) bytes(name string) []byte {
	raw, err := parseHex(r.text(name))
	if err != nil {
		r.fail(name, "must be 0x and an even number of hexadecimal digits")
	}
	return raw
}

func (r *operationReader) address(name string) (a common.Address) {
	normal, err := evmaddr.Normalize(r.text(name))
	if err != nil {
		r.fail(name, "must be an address: 0x and 40 hexadecimal digits, and in mixed case with a right checksum")
		return a
	}
	return addressOf(normal)
}

// quantity reads a number of up to bits bits: 0x and one hexadecimal digit or more.
func (r *operationReader) quantity(name string, bits int) *big.Int {
	digits, ok := strings.CutPrefix(r.text(name), "0x")
	n, valid := new(big.Int), ok && digits != "" && len(digits) <= 64 && isHex(digits)
	if valid {
		n.SetString(digits, 16)
	}
	if !valid || n.BitLen() > bits {
		r.fail(name, fmt.Sprintf("must be a number of up to %d bits: 0x and hexadecimal digits", bits))
		return new(big.Int)
	}
	return n
}

// optional reads a quantity of up to 128 bits that may be missing, which is zero.
func (r *operationReader) optional(name string) *big.Int {
	if !r.has(name) {
		return new(big.Int)
	}
	return r.quantity(name, halfBits)
}

const (
	wordBits = 256
	halfBits = 128 // two numbers share a word from 0.7 on
)

func (r *operationReader) readCommon(op *UserOperation) {
	op.Sender = r.address("sender")
	op.Nonce = r.quantity("nonce", wordBits)
	op.CallData = r.bytes("callData")
	op.PreVerification = r.quantity("preVerificationGas", wordBits)
	op.Signature = r.bytes("signature")
}

func (r *operationReader) readGas(op *UserOperation, bits int) {
	op.CallGas = r.quantity("callGasLimit", bits)
	op.VerificationGas = r.quantity("verificationGasLimit", bits)
	op.MaxFee = r.quantity("maxFeePerGas", bits)
	op.MaxPriorityFee = r.quantity("maxPriorityFeePerGas", bits)
}

// readOld reads what only 0.6 has.
func (r *operationReader) readOld(op *UserOperation) {
	r.readGas(op, wordBits)
	op.InitCode, op.PaymasterAndData = r.bytes("initCode"), r.bytes("paymasterAndData")
	r.checkInitCode(op)
	r.checkPaymaster(op, common.AddressLength)
}

// readPacked reads the form of the contract from 0.7 on.
func (r *operationReader) readPacked(op *UserOperation) {
	op.VerificationGas, op.CallGas = r.halves("accountGasLimits")
	op.MaxPriorityFee, op.MaxFee = r.halves("gasFees")
	op.InitCode, op.PaymasterAndData = r.bytes("initCode"), r.bytes("paymasterAndData")
	if r.has("eip7702Auth") {
		data, marked := strings.CutPrefix(strings.ToLower(r.text("initCode")), marker7702Long)
		if !marked {
			r.fail("initCode", "must begin with "+marker7702Long+" where eip7702Auth is given")
		}
		op.InitCode, _ = parseHex("0x" + data)
	} else {
		r.checkInitCode(op)
	}
	r.checkPaymaster(op, common.AddressLength+wordBytes)
}

// halves reads two numbers that share a word.
func (r *operationReader) halves(name string) (high, low *big.Int) {
	word := r.bytes(name)
	if len(word) != wordBytes {
		r.fail(name, "must have 32 bytes")
		return new(big.Int), new(big.Int)
	}
	return new(big.Int).SetBytes(word[:wordBytes/2]), new(big.Int).SetBytes(word[wordBytes/2:])
}

// readUnpacked reads the form of ERC-7769.
func (r *operationReader) readUnpacked(op *UserOperation) {
	r.readGas(op, halfBits)
	r.readFactory(op)
	r.readPaymaster(op)
}

// readPaymaster reads the paymaster's members. Without a paymaster they may be there, because clients copy a bundler's
// estimate, but have to be nothing: the hash would not hold them.
func (r *operationReader) readPaymaster(op *UserOperation) {
	verification, post := r.optional("paymasterVerificationGasLimit"), r.optional("paymasterPostOpGasLimit")
	var data []byte
	if r.has("paymasterData") {
		data = r.bytes("paymasterData")
	}
	switch {
	case r.has("paymaster"):
		op.PaymasterAndData = join(r.address("paymaster").Bytes(), half(verification), half(post), data)
	case verification.Sign() > 0 || post.Sign() > 0 || len(data) > 0:
		r.fail("paymaster", "is missing, and its gas or data is given")
	}
}

func (r *operationReader) readFactory(op *UserOperation) {
	if !r.has("factory") {
		if r.has("factoryData") || r.has("eip7702Auth") {
			r.fail("factory", "is missing")
		}
		return
	}
	marked := r.has("eip7702Auth") && isMarker(r.text("factory"))
	switch {
	case marked:
	case isMarker(r.text("factory")):
		r.fail("eip7702Auth", "is missing: the factory 0x7702 needs it")
	case r.has("eip7702Auth"):
		r.fail("factory", "must be 0x7702 where eip7702Auth is given: nothing else binds the delegation")
	default:
		op.InitCode = r.address("factory").Bytes()
	}
	if r.has("factoryData") {
		op.InitCode = append(op.InitCode, r.bytes("factoryData")...)
	}
}

func isMarker(text string) bool { return text == marker7702 || text == marker7702Long }

// checkInitCode refuses init code that is too short for a factory, and the marker of a delegation that is not given.
func (r *operationReader) checkInitCode(op *UserOperation) {
	if len(op.InitCode) > 0 && len(op.InitCode) < common.AddressLength {
		r.fail("initCode", "must be empty, or an address and its data")
	}
	var factory common.Address
	copy(factory[:], op.InitCode)
	if spell(factory) == marker7702Long {
		r.fail("eip7702Auth", "is missing: the factory 0x7702 needs it")
	}
}

// checkPaymaster refuses a paymaster that is cut off.
func (r *operationReader) checkPaymaster(op *UserOperation, least int) {
	if n := len(op.PaymasterAndData); n > 0 && n < least {
		r.fail("paymasterAndData", fmt.Sprintf("must be empty, or have at least %d bytes", least))
	}
}

// half returns a number of up to 128 bits as 16 bytes.
func half(n *big.Int) []byte { return n.FillBytes(make([]byte, wordBytes/2)) }

func isHex(digits string) bool {
	return strings.Trim(digits, "0123456789abcdefABCDEF") == ""
}

// errNoCall says that the call inside a user operation can't be told.
var errNoCall = errors.New("its callData is not a call of execute(address,uint256,bytes)")

// Call returns the one call that the operation makes. It can't be told of a wallet that is delegated to unknown code.
func (op *UserOperation) Call() (*Call, error) {
	if a := op.Authorization; a != nil && !commonDelegates[a.Delegate] {
		return nil, fmt.Errorf("it delegates the wallet (EIP-7702) to the code at %s, which is none that is known here", spell(a.Delegate))
	}
	c, ok := readExecute(op.CallData)
	if !ok {
		return nil, errNoCall
	}
	c.Sender, c.Operation = op.Sender, true
	return &c, nil
}
