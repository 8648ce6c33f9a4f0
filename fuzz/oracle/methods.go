package oracle

import (
	"encoding/hex"
	"math/big"
	"slices"
	"strings"

	"golang.org/x/crypto/sha3"
)

// A methodKind says what a known method of a token contract does.
type methodKind int

const (
	moves  methodKind = iota // tokens to a recipient
	allows                   // a spender to move them
	wraps                    // the native value into tokens
	burns                    // tokens without a recipient
	lowers                   // an allowance, or nothing: no amount counts
)

// A method is one that "is judged by the rule on its amount" (decisions, section 2, "Amounts and tokens"). The words of
// its arguments are counted from 0; -1 is none.
type method struct {
	signature      string
	kind           methodKind
	amount, target int // the word of the amount, and that of the recipient or spender
	from           int // the word of the owner whose tokens move
}

// methods are those of ERC-20 and what is "its like", both permits (EIP-2612 and DAI) and EIP-3009, with a signature in three
// parts and as bytes, ERC-677, ERC-777, ERC-1363 and WETH9. What moves and allows nothing, as EIP-3009's
// `cancelAuthorization`, is not judged on an amount.
var methods = []method{
	{"transfer(address,uint256)", moves, 1, 0, -1},
	{"transferFrom(address,address,uint256)", moves, 2, 1, 0},
	{"approve(address,uint256)", allows, 1, 0, -1},
	{"increaseAllowance(address,uint256)", allows, 1, 0, -1},
	{"increaseApproval(address,uint256)", allows, 1, 0, -1},
	{"decreaseAllowance(address,uint256)", lowers, -1, 0, -1},
	{"decreaseApproval(address,uint256)", lowers, -1, 0, -1},
	{"permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", allows, 2, 1, 0},
	{"permit(address,address,uint256,uint256,bytes)", allows, 2, 1, 0},
	{daiPermit, allows, -1, 1, 0},
	{"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", moves, 2, 1, 0},
	{"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", moves, 2, 1, 0},
	{"receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", moves, 2, 1, 0},
	{"receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", moves, 2, 1, 0},
	{"transferAndCall(address,uint256)", moves, 1, 0, -1},
	{"transferAndCall(address,uint256,bytes)", moves, 1, 0, -1},
	{"transferFromAndCall(address,address,uint256)", moves, 2, 1, 0},
	{"transferFromAndCall(address,address,uint256,bytes)", moves, 2, 1, 0},
	{"approveAndCall(address,uint256)", allows, 1, 0, -1},
	{"approveAndCall(address,uint256,bytes)", allows, 1, 0, -1},
	{"send(address,uint256,bytes)", moves, 1, 0, -1},
	{"operatorSend(address,address,uint256,bytes,bytes)", moves, 2, 1, 0},
	{"burn(uint256,bytes)", burns, 0, -1, -1},
	{"operatorBurn(address,uint256,bytes,bytes)", burns, 1, -1, 0},
	{"authorizeOperator(address)", allows, -1, 0, -1},
	{"revokeOperator(address)", lowers, -1, 0, -1},
	{"deposit()", wraps, -1, -1, -1},
	{"withdraw(uint256)", burns, 0, -1, -1},
}

const (
	daiPermit   = "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)"
	allowedWord = 4 // of daiPermit
)

// accountCalls are "methods by which accounts, entry points and multicalls run other calls". Those of tokens count on a
// contract that a rule pins.
var (
	accountCalls = selectorsOf(
		"execute(address,uint256,bytes)", "execute(bytes32,bytes)",
		"executeBatch(address[],bytes[])", "executeBatch(address[],uint256[],bytes[])", "executeBatch((address,uint256,bytes)[])",
		"execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
		"execTransactionFromModule(address,uint256,bytes,uint8)", "execTransactionFromModuleReturnData(address,uint256,bytes,uint8)",
		"handleOps("+operation6+"[],address)", "handleOps("+operation7+"[],address)",
		"handleAggregatedOps(("+operation6+"[],address,bytes)[],address)", "handleAggregatedOps(("+operation7+"[],address,bytes)[],address)",

		// "Other forms of the same methods" (choices).
		"execute(address,uint256,bytes,uint8)", "execute(uint256,address,uint256,bytes)", "execute(address,bytes)",
		"execute((address,uint256,bytes))", "execute((address,uint256,bytes)[])", "executeBatch((address,uint256,bytes,uint8)[])",
		"executeBatch((address,bytes)[])", "executeBatch(uint256[],address[],uint256[],bytes[])",
		"execute_ncC(address,uint256,bytes)", "executeBatch_y6U(address[],uint256[],bytes[])",
		"executeCall(address,uint256,bytes)", "executeBatchCall(address[],uint256[],bytes[])", "executeFromExecutor(bytes32,bytes)",
		"executeUserOp("+operation7+",bytes32)", "executeUserOp(address,uint256,bytes,uint8)", "executeUserOpWithErrorString(address,uint256,bytes,uint8)",
		"executeWithoutChainIdValidation(bytes[])", "redeemDelegations(bytes[],bytes32[],bytes[])",
		"execTransactionWithRole(address,uint256,bytes,uint8,uint16,bool)", "execTransactionWithRole(address,uint256,bytes,uint8,bytes32,bool)",
		"execTransactionWithRoleReturnData(address,uint256,bytes,uint8,uint16,bool)", "execTransactionWithRoleReturnData(address,uint256,bytes,uint8,bytes32,bool)",
		"handleOp("+operation2+",address)", "handleOps("+operation2+"[],address)", "handleOp("+operation6+",address)",
		"executeWithRuntimeValidation(bytes,bytes)", "executeFromPlugin(bytes)", "executeFromPluginExternal(address,uint256,bytes)",
		"execute(bytes)", "executeBatch(uint256[],bytes[])", "executeRelayCall(bytes,uint256,uint256,bytes)",
		"executeRelayCallBatch(bytes[],uint256[],uint256[],uint256[],bytes[])",
		"execute((bool,bool,uint256,address,uint256,bytes)[],uint256,bytes)", "execute((address,uint256,bytes)[],bytes)", "executeBySender((address,uint256,bytes)[])",
	)
	tokenMulticalls = selectorsOf("multicall(bytes[])", "multicall(uint256,bytes[])", "multicall(bytes32,bytes[])")
)

// The operations of EntryPoint 0.2, of 0.6, and of 0.7 and 0.8.
const (
	operation2 = "(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,address,bytes,bytes)"
	operation6 = "(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)"
	operation7 = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"
)

// selectorOf returns the first four bytes of the hash of a method's signature, in hexadecimal digits.
func selectorOf(signature string) string {
	keccak := sha3.NewLegacyKeccak256()
	keccak.Write([]byte(signature))
	return hex.EncodeToString(keccak.Sum(nil)[:4])
}

func selectorsOf(signatures ...string) map[string]bool {
	all := map[string]bool{}
	for _, signature := range signatures {
		all[selectorOf(signature)] = true
	}
	return all
}

var methodBySelector = func() map[string]*method {
	all := map[string]*method{}
	for i := range methods {
		all[selectorOf(methods[i].signature)] = &methods[i]
	}
	return all
}()

// words is the number of arguments, each of which takes 32 bytes in front of what is of any length.
func (m *method) words() int {
	if strings.HasSuffix(m.signature, "()") {
		return 0
	}
	return 1 + strings.Count(m.signature, ",")
}

func (m *method) named(names ...string) bool {
	name, _, _ := strings.Cut(m.signature, "(")
	return slices.Contains(names, name) && m.signature != daiPermit
}

// A call is declared call data, read.
type call struct {
	digits   string  // in lower case, without `0x`
	selector string  // "" where the data is shorter
	method   *method // nil for one that is not known
}

func readCall(calldata string) call {
	c := call{digits: strings.TrimPrefix(asciiLower(calldata), "0x")}
	if len(c.digits) >= 8 {
		c.selector = c.digits[:8]
		c.method = methodBySelector[c.selector]
	}
	return c
}

func (c call) empty() bool { return c.digits == "" }

// word returns an argument, which is there unless the arguments are cut off.
func (c call) word(n int) string { return c.digits[8+64*n:][:64] }

func (c call) cutOff() bool { return len(c.digits) < 8+64*c.method.words() }

// amount returns what the call of a known method counts as, nil where its arguments are cut off: "allowances without an
// amount count as 2^256−1; DAI's `permit` with `false`, `decreaseAllowance` and an allowance of 0 as 0; WETH9 `deposit` by
// the native value, `withdraw` by its amount".
func (c call) amount(native *big.Int) *big.Int {
	m := c.method
	switch {
	case c.cutOff():
		return nil
	case m.amount >= 0:
		amount, _ := new(big.Int).SetString(c.word(m.amount), 16)
		return amount
	case m.kind == wraps:
		return native
	case m.kind == lowers, m.signature == daiPermit && strings.Trim(c.word(allowedWord), "0") == "":
		return new(big.Int)
	}
	return unbounded
}

var unbounded = new(big.Int).Sub(twoTo256, big.NewInt(1))

// goesTo reports whether the call's recipient or spender is an address.
func (c call) goesTo(address string) bool {
	return c.method.target >= 0 && !c.cutOff() &&
		c.word(c.method.target)[24:] == strings.TrimPrefix(asciiLower(address), "0x") // "bytes … in front of an address, are not looked at" (choices)
}
