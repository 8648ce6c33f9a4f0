package attacks

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"golang.org/x/crypto/sha3"
)

// Call data is spelled from a line "TO AMOUNT": the address and the base units that a method moves or lets another move.

// selector returns the first four bytes of the Keccak hash of a method's signature, in hex.
func selector(signature string) string {
	hash := sha3.NewLegacyKeccak256()
	hash.Write([]byte(signature))
	return hex.EncodeToString(hash.Sum(nil)[:4])
}

// word returns a number or an address as 32 bytes, in hex.
func word(text string) string {
	digits, isHex := strings.CutPrefix(text, "0x")
	if !isHex {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok {
			panic("not a number: " + text)
		}
		digits = n.Text(16)
	}
	return strings.Repeat("0", 64-len(digits)) + digits
}

// call encodes a call with words as arguments. An argument bytes is an empty one, behind all words.
func call(signature string, arguments ...string) string {
	var head, tail strings.Builder
	for _, each := range arguments {
		if each == "bytes" {
			head.WriteString(word(fmt.Sprint(32*len(arguments) + tail.Len()/2)))
			tail.WriteString(word("0"))
			continue
		}
		head.WriteString(word(each))
	}
	return "0x" + selector(signature) + head.String() + tail.String()
}

// victim is an address whose tokens are moved, or that signs.
const victim = "0x00000000000000000000000000000000000000bb"

func line(s string) (to, amount string) {
	to, amount, _ = strings.Cut(s, " ")
	return to, amount
}

// methods are the methods that move an amount of a token, or let another one move it (docs/judging.md, "EVM").
func methods(s string) []string {
	to, n := line(s)
	return []string{
		call("transfer(address,uint256)", to, n), call("transferFrom(address,address,uint256)", victim, to, n), call("approve(address,uint256)", to, n),
		call("increaseAllowance(address,uint256)", to, n), call("increaseApproval(address,uint256)", to, n),
		call("transferAndCall(address,uint256)", to, n), call("transferAndCall(address,uint256,bytes)", to, n, "bytes"),
		call("transferFromAndCall(address,address,uint256)", victim, to, n), call("transferFromAndCall(address,address,uint256,bytes)", victim, to, n, "bytes"),
		call("approveAndCall(address,uint256)", to, n), call("approveAndCall(address,uint256,bytes)", to, n, "bytes"),
		call("send(address,uint256,bytes)", to, n, "bytes"), call("operatorSend(address,address,uint256,bytes,bytes)", victim, to, n, "bytes", "bytes"),
		call("burn(uint256,bytes)", n, "bytes"), call("operatorBurn(address,uint256,bytes,bytes)", victim, n, "bytes", "bytes"), call("withdraw(uint256)", n),
	}
}

// permits are calls that carry a signature of typed data, by which a token moves or may be moved without the signer's transaction.
func permits(s string) []string {
	to, n := line(s)
	return []string{
		call("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", victim, to, n, "9999999999", "27", "1", "1"),
		call("permit(address,address,uint256,uint256,bytes)", victim, to, n, "9999999999", "bytes"),
		call("permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)", victim, to, "0", "9999999999", "1", "27", "1", "1"),
		call("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", victim, to, n, "0", "9999999999", "7", "27", "1", "1"),
		call("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", victim, to, n, "0", "9999999999", "7", "bytes"),
		call("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", victim, to, n, "0", "9999999999", "7", "27", "1", "1"),
		call("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", victim, to, n, "0", "9999999999", "7", "bytes"),
		call("authorizeOperator(address)", to),
	}
}

// paddings are a transfer with bytes that readers leave out, or not.
func paddings(s string) []string {
	to, n := line(s)
	plain := call("transfer(address,uint256)", to, n)
	dirty := "0x" + plain[2:10] + strings.Repeat("f", 24) + plain[34:]
	return []string{plain + "00", plain + strings.Repeat("ff", 32), plain + plain[2:], dirty, dirty + "01", "0x" + strings.ToUpper(plain[2:])}
}

// cuts are a transfer whose arguments are cut off: readers pad them, or read what happens to follow.
func cuts(s string) []string {
	to, n := line(s)
	plain := call("transfer(address,uint256)", to, n)
	return []string{plain[:len(plain)-2], plain[:len(plain)-4], plain[:74], plain[:76], plain[:12], plain[:10]}
}

// wrapped are calls that have their target run further calls.
func wrapped(string) (all []string) {
	for _, signature := range []string{
		"execute(address,uint256,bytes)", "execute(address,uint256,bytes,uint8)", "execute(uint256,address,uint256,bytes)", "execute(address,bytes)", "execute(bytes32,bytes)",
		"executeBatch(address[],bytes[])", "executeBatch(address[],uint256[],bytes[])", "executeBatch((address,uint256,bytes)[])", "executeFromExecutor(bytes32,bytes)",
		"execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)", "execTransactionFromModule(address,uint256,bytes,uint8)",
		"execTransactionFromModuleReturnData(address,uint256,bytes,uint8)", "execTransactionWithRole(address,uint256,bytes,uint8,bytes32,bool)",
		"handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)",
		"handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)",
		"redeemDelegations(bytes[],bytes32[],bytes[])", "executeWithRuntimeValidation(bytes,bytes)", "executeFromPluginExternal(address,uint256,bytes)",
		"execute(bytes)", "executeBatch(uint256[],bytes[])", "executeRelayCall(bytes,uint256,uint256,bytes)", "executeBySender((address,uint256,bytes)[])",
		"execute((bool,bool,uint256,address,uint256,bytes)[],uint256,bytes)", "execute((address,uint256,bytes)[],bytes)",
	} {
		all = append(all, "0x"+selector(signature)+strings.Repeat(word("0"), 4))
	}
	return all
}
