package gen

import (
	"fmt"
	"math/big"
	"strings"
)

// contractMethod is a method of contracts that call data may name. Each letter of arguments is one of its words: f whose tokens
// they are, p who receives or spends, v the amount, b a flag, z any number, d something of any length.
type contractMethod struct {
	signature, selector, arguments string
}

// contractMethods are those of tokens, of wallets that run other calls, and some that no table knows. A test holds the
// selectors to their signatures.
var contractMethods = []contractMethod{
	{"transfer(address,uint256)", "a9059cbb", "pv"},
	{"transferFrom(address,address,uint256)", "23b872dd", "fpv"},
	{"approve(address,uint256)", "095ea7b3", "pv"},
	{"increaseAllowance(address,uint256)", "39509351", "pv"},
	{"increaseApproval(address,uint256)", "d73dd623", "pv"},
	{"decreaseAllowance(address,uint256)", "a457c2d7", "pv"},
	{"permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", "d505accf", "fpvzzzz"},
	{"permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)", "8fcbaf0c", "fpzzbzzz"},
	{"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", "e3ee160e", "fpvzzzzzz"},
	{"receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", "ef55bec6", "fpvzzzzzz"},
	{"transferAndCall(address,uint256,bytes)", "4000aea0", "pvd"},
	{"approveAndCall(address,uint256,bytes)", "cae9ca51", "pvd"},
	{"send(address,uint256,bytes)", "9bd9bbc6", "pvd"},
	{"authorizeOperator(address)", "959b8c3f", "p"},
	{"deposit()", "d0e30db0", ""},
	{"withdraw(uint256)", "2e1a7d4d", "v"},
	{"mint(address,uint256)", "40c10f19", "pv"},
	{"pause()", "8456cb59", ""},
	{"multicall(bytes[])", "ac9650d8", "d"},
	{"execute(address,uint256,bytes)", "b61d27f6", "pvd"},
	{"execute(bytes32,bytes)", "e9ae5c53", "zd"},
	{"executeBatch(address[],bytes[])", "18dfb3c7", "dd"},
	{"executeBatch(address[],uint256[],bytes[])", "47e1da2a", "ddd"},
	{"executeBatch((address,uint256,bytes)[])", "34fcd5be", "d"},
	{"execTransactionFromModule(address,uint256,bytes,uint8)", "468721a7", "pvdz"},
}

// usual are how many of the first are drawn most of the time: those that every rule knows.
const usual = 4

// anyMethod returns a method, mostly a usual one.
func anyMethod(r *Rand) contractMethod {
	if r.Chance(60) {
		return contractMethods[r.N(usual)]
	}
	return One(r, contractMethods)
}

// methodOf returns the method of a name among the usual ones.
func methodOf(name string) contractMethod {
	for _, m := range contractMethods {
		if strings.HasPrefix(m.signature, name+"(") {
			return m
		}
	}
	panic("no method is called " + name)
}

// call is what a call's words say.
type call struct {
	from, party string // 40 hexadecimal digits
	units       *big.Int
}

// data returns the call data, with its 0x.
func (m contractMethod) data(r *Rand, c call) string {
	var head, tail strings.Builder
	for _, letter := range m.arguments {
		switch letter {
		case 'f':
			head.WriteString(strings.Repeat("0", 24) + c.from)
		case 'p':
			head.WriteString(strings.Repeat("0", 24) + c.party)
		case 'v':
			fmt.Fprintf(&head, "%064x", c.units)
		case 'b':
			fmt.Fprintf(&head, "%064x", r.N(2))
		case 'd':
			fmt.Fprintf(&head, "%064x", 32*len(m.arguments)+tail.Len()/2)
			tail.WriteString(strings.Repeat("0", 64))
		default:
			fmt.Fprintf(&head, "%064x", r.N(1000))
		}
	}
	return "0x" + m.selector + head.String() + tail.String()
}

// hexOf returns the digits of an address in lower case.
func hexOf(address string) string { return strings.ToLower(address[2:]) }
