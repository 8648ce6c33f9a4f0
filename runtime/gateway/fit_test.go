package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"bailiff/runtime/attest"
)

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func to(list ...string) attest.Recipients { return attest.Recipients{List: list, Array: len(list) > 1} }

// What the cases below share: a signer, intents of each kind, and call data.
var (
	_, fitSigner = account(0)
	sixDecimals  = 6
	usdcIntent   = attest.Intent{Action: "wallet.transfer", AmountBase: "100", TargetAddress: usdc, Token: "USDC", Decimals: &sixDecimals}
	native       = attest.Intent{Action: "wallet.transfer", AmountBase: "5", TargetAddress: payee}
	call4        = attest.Intent{Action: "contract.call", AmountBase: "0", TargetAddress: payee, CalldataHash: hashOf([]byte{1, 2, 3, 4})}
	pay          = tokenData(selTransfer, payee, 100)
)

// with returns an intent that is changed in something.
func with(i attest.Intent, change func(*attest.Intent)) attest.Intent { change(&i); return i }

// fitCases are a transaction each and an intent that fits, but for what the name says.
var fitCases = []struct {
	name   string
	tx     *types.DynamicFeeTx
	intent attest.Intent
	want   string // of the reason; empty: it fits
}{
	{"native transfer", dynamic(payee, 5, nil), native, ""},
	{"action in another case", dynamic(payee, 5, nil), with(native, func(i *attest.Intent) { i.Action = "Wallet.Transfer" }), ""},
	{"to is the payee", dynamic(payee, 5, nil), with(native, func(i *attest.Intent) { i.To = to(payee) }), ""},
	{"to is one of several", dynamic(payee, 5, nil), with(native, func(i *attest.Intent) { i.To = to(stranger, payee) }), ""},
	{"more value", dynamic(payee, 6, nil), native, "value is 6 wei, and the intent declared 5"},
	{"less value", dynamic(payee, 4, nil), native, "value is 4 wei"},
	{"another target", dynamic(stranger, 5, nil), native, "goes to " + stranger},
	{"another recipient declared", dynamic(payee, 5, nil), with(native, func(i *attest.Intent) { i.To = to(stranger) }), "recipient is " + payee},
	{"a recipient that is no address", dynamic(payee, 5, nil), with(native, func(i *attest.Intent) { i.To = to("a@example.com") }), "recipient is"},
	{"data on a transfer", dynamic(payee, 5, []byte{0}), native, "carries no data"},
	{"declared data on a transfer", dynamic(payee, 5, []byte{1}), with(native, func(i *attest.Intent) { i.CalldataHash = hashOf([]byte{1}) }), "carries no data"},
	{"no target declared", dynamic(payee, 5, nil), with(native, func(i *attest.Intent) { i.TargetAddress = "" }), "no targetAddress"},
	{"approve without a token", dynamic(payee, 5, nil), with(native, func(i *attest.Intent) { i.Action = "token.approve" }), "needs a token"},

	{"contract call", dynamic(payee, 0, []byte{1, 2, 3, 4}), call4, ""},
	{"contract call with value", dynamic(payee, 5, []byte{1, 2, 3, 4}), with(call4, func(i *attest.Intent) { i.AmountBase = "5" }), ""},
	{"contract call without data", dynamic(payee, 0, nil), with(call4, func(i *attest.Intent) { i.CalldataHash = "" }), ""},
	{"contract call4, declared empty", dynamic(payee, 0, nil), with(call4, func(i *attest.Intent) { i.CalldataHash = hashOf(nil) }), ""},
	{"an action of the policy's own", dynamic(payee, 0, []byte{1, 2, 3, 4}), with(call4, func(i *attest.Intent) { i.Action = "vault.deposit" }), ""},
	{"other data", dynamic(payee, 0, []byte{1, 2, 3, 5}), call4, "not the calldata"},
	{"data missing", dynamic(payee, 0, nil), call4, "not the calldata"},
	{"data undeclared", dynamic(payee, 0, []byte{1}), with(call4, func(i *attest.Intent) { i.CalldataHash = "" }), "declared no calldata"},
	{"undeclared value on a call", dynamic(payee, 1, []byte{1, 2, 3, 4}), call4, "value is 1 wei"},
	{"a token's transfer as a call4, to another", dynamic(usdc, 0, pay), attest.Intent{Action: "contract.call", AmountBase: "0", TargetAddress: usdc, CalldataHash: hashOf(pay), To: to(stranger)}, "recipient is " + payee},
	{"a token's transfer as a call", dynamic(usdc, 0, pay), attest.Intent{Action: "contract.call", AmountBase: "0", TargetAddress: usdc, CalldataHash: hashOf(pay), To: to(payee)}, ""},

	{"token transfer", dynamic(usdc, 0, pay), usdcIntent, ""},
	{"token transfer, to declared", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.To = to(payee) }), ""},
	{"token by its address", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.Token = usdc }), ""},
	{"symbol in another case", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.Token = "usdc" }), ""},
	{"fewer tokens", dynamic(usdc, 0, tokenData(selTransfer, payee, 99)), usdcIntent, ""},
	{"transferFrom the signer", dynamic(usdc, 0, tokenData(selTransferFrom, spell(fitSigner), payee, 100)), usdcIntent, ""},
	{"more tokens", dynamic(usdc, 0, tokenData(selTransfer, payee, 101)), usdcIntent, "moves 101 base units"},
	{"another recipient", dynamic(usdc, 0, tokenData(selTransfer, stranger, 100)), with(usdcIntent, func(i *attest.Intent) { i.To = to(payee) }), "recipient is " + stranger},
	{"transferFrom somebody else", dynamic(usdc, 0, tokenData(selTransferFrom, stranger, payee, 100)), usdcIntent, "takes from"},
	{"approve as a transfer", dynamic(usdc, 0, tokenData(selApprove, payee, 100)), usdcIntent, "is of approve(address,uint256), and a wallet.transfer"},
	{"increaseAllowance", dynamic(usdc, 0, tokenData(selIncrease, payee, 100)), usdcIntent, "calls transfer or transferFrom"},
	{"a byte more", dynamic(usdc, 0, append(tokenData(selTransfer, payee, 100), 0)), usdcIntent, "no byte more;"},
	{"a byte more, declared", dynamic(usdc, 0, append(tokenData(selTransfer, payee, 100), 0)), with(usdcIntent, func(i *attest.Intent) { i.CalldataHash = hashOf(append(tokenData(selTransfer, payee, 100), 0)) }), ""},
	{"a byte less", dynamic(usdc, 0, pay[:len(pay)-1]), usdcIntent, "cut off"},
	{"a dirty address", dynamic(usdc, 0, tokenData(selTransfer, "0x01"+strings.Repeat("0", 22)+payee[2:], 100)), usdcIntent, "zeros in front of addresses"},
	{"no data", dynamic(usdc, 0, nil), usdcIntent, "is without data"},
	{"too little data for a method", dynamic(usdc, 0, pay[:3]), usdcIntent, "the call is 3 bytes, too few for a method, and a wallet.transfer"},
	{"native value beside", dynamic(usdc, 1, pay), usdcIntent, "carries no native value"},
	{"another contract", dynamic(stranger, 0, pay), usdcIntent, "goes to"},
	{"a contract that the rule does not pin", dynamic(stranger, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.TargetAddress = stranger }), "pins no contract"},
	{"a rule without addresses", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.Token = "FREE" }), "pins no contract"},
	{"a token without a rule", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.Token = "DAI" }), "pins no contract"},
	{"another token's address", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.Token = stranger }), "pins no contract"},
	{"an amount that nobody judged", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.Decimals = nil }), "judged the amount"},

	{"approve", dynamic(usdc, 0, tokenData(selApprove, payee, 100)), with(usdcIntent, func(i *attest.Intent) { i.Action = "token.approve"; i.To = to(payee) }), ""},
	{"approve for more", dynamic(usdc, 0, tokenData(selApprove, payee, 101)), with(usdcIntent, func(i *attest.Intent) { i.Action = "token.approve" }), "moves 101"},
	{"approve for another", dynamic(usdc, 0, tokenData(selApprove, stranger, 1)), with(usdcIntent, func(i *attest.Intent) { i.Action = "token.approve"; i.To = to(payee) }), "recipient is"},
	{"transfer as an approve", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.Action = "token.approve" }), "calls approve or increaseAllowance"},
	{"token transfer, as declared", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.CalldataHash = hashOf(pay) }), ""},
	{"token transfer, other data", dynamic(usdc, 0, tokenData(selTransfer, stranger, 100)), with(usdcIntent, func(i *attest.Intent) { i.CalldataHash = hashOf(pay) }), "not the calldata"},
	{"approve, other data", dynamic(usdc, 0, tokenData(selApprove, stranger, 100)), with(usdcIntent, func(i *attest.Intent) {
		i.Action, i.CalldataHash = "token.approve", hashOf(tokenData(selApprove, payee, 100))
	}), "not the calldata"},
	{"native transfer without the declared data", dynamic(payee, 5, nil), with(native, func(i *attest.Intent) { i.CalldataHash = hashOf([]byte{1}) }), "not the calldata"},
	{"an amount beyond 64 bits", dynamic(usdc, 0, common.FromHex(selTransfer+strings.Repeat("0", 24)+payee[2:]+strings.Repeat("0", 47)+"1"+strings.Repeat("0", 14)+"64")), usdcIntent, "base units"},
	{"a token call4, declared", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.Action = "contract.call"; i.CalldataHash = hashOf(pay) }), ""},
	{"a token call4, undeclared", dynamic(usdc, 0, pay), with(usdcIntent, func(i *attest.Intent) { i.Action = "contract.call" }), ""},
	{"another method, undeclared", dynamic(usdc, 0, tokenData(selIncrease, payee, 100)), with(usdcIntent, func(i *attest.Intent) { i.Action = "vault.fund" }), "has to be declared"},
	{"another method, declared", dynamic(usdc, 0, tokenData(selPush, payee, 100, 96, 0)), with(usdcIntent, func(i *attest.Intent) {
		i.Action, i.CalldataHash = "vault.fund", hashOf(tokenData(selPush, payee, 100, 96, 0))
	}), ""},
	{"another method, of more", dynamic(usdc, 0, tokenData(selPush, payee, 101, 96, 0)), with(usdcIntent, func(i *attest.Intent) {
		i.Action, i.CalldataHash = "vault.fund", hashOf(tokenData(selPush, payee, 101, 96, 0))
	}), "moves 101 base units"},
	{"a method that is not judged", dynamic(usdc, 0, []byte{1, 2, 3, 4}), with(usdcIntent, func(i *attest.Intent) {
		i.Action, i.CalldataHash = "vault.fund", hashOf([]byte{1, 2, 3, 4})
	}), "of the method 0x01020304, and a vault.fund of a token calls a method whose amount"},
	{"increaseAllowance as an approve", dynamic(usdc, 0, tokenData(selIncrease, payee, 100)), with(usdcIntent, func(i *attest.Intent) { i.Action = "token.approve" }), ""},
	{"a token call4, other data", dynamic(usdc, 0, tokenData(selTransfer, stranger, 100)), with(usdcIntent, func(i *attest.Intent) { i.Action = "contract.call"; i.CalldataHash = hashOf(pay) }), "not the calldata"},
}

// A transaction is held against what was declared of it.
func TestFit(t *testing.T) {
	for _, c := range fitCases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			raw := sign(t, c.tx, chain)
			claims := b.claims(raw)
			claims.Intent = c.intent
			got, sent := reason(t, b.send(raw, b.token(claims))), len(b.node.sent())
			if c.want == "" && (got != "" || sent != 1) {
				t.Errorf("refused: %s; %d sent", got, sent)
			}
			if c.want != "" && (!strings.HasPrefix(got, "-32602 SVC_POLICY_VIOLATION: ") || !strings.Contains(got, c.want) || sent != 0) {
				t.Errorf("%q, want %q; %d sent", got, c.want, sent)
			}
		})
	}
}

// What of a write is wrong before its call is looked at.
func TestSubmissions(t *testing.T) {
	b := newBench(t)
	for _, c := range submissions(t) {
		claims := b.claims(c.raw)
		c.change(claims)
		if c.body == "" {
			c.body = rawBody(c.raw)
		}
		before := len(b.node.sent())
		got := reason(t, b.do(RPC, fmt.Sprint(chain), c.body, b.token(claims)))
		sent := b.node.sent()[before:]
		switch {
		case c.name == "a byte altered":
			if got == "" || len(sent) != 0 {
				t.Errorf("%s: passed", c.name)
			}
		case c.want == "" && (got != "" || len(sent) != 1 || sent[0] != strings.Replace(rawBody(c.raw), `"id":7`, `"id":1`, 1)):
			t.Errorf("%s: %q, sent %s", c.name, got, sent)
		case c.want != "" && (!strings.HasPrefix(got, "-32602 SVC_POLICY_VIOLATION: ") || !strings.Contains(got, c.want) || len(sent) != 0):
			t.Errorf("%s: %q, want %q; sent %s", c.name, got, c.want, sent)
		}
	}
}

// A submission's case: an attestation for raw that fits, and a body, that of raw unless another is given.
type submissionCase struct {
	name   string
	raw    []byte
	body   string
	change func(*attest.Claims)
	want   string
}

func submissions(t *testing.T) []submissionCase {
	raw := sign(t, dynamic(payee, 5, nil), chain)
	target := common.HexToAddress(payee)
	legacy := &types.LegacyTx{Nonce: 1, GasPrice: big.NewInt(1), Gas: 21_000, To: &target, Value: big.NewInt(5)}
	creation := dynamic(payee, 0, []byte{0x60})
	creation.To = nil
	otherChain := dynamic(payee, 5, nil)
	otherChain.ChainID = big.NewInt(1)
	body := func(params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"eth_sendRawTransaction","params":` + params + `}`
	}
	same := func(*attest.Claims) {}
	quoted := `"0x` + hex.EncodeToString(raw) + `"`
	return []submissionCase{
		{"EIP-1559", raw, rawBody(raw), same, ""},
		{"upper-case digits", raw, body(`["0x` + strings.ToUpper(hex.EncodeToString(raw)) + `"]`), same, ""},
		{"legacy", sign(t, legacy, chain), rawBody(sign(t, legacy, chain)), same, ""},
		{"EIP-2930", sign(t, &types.AccessListTx{ChainID: big.NewInt(chain), GasPrice: big.NewInt(1), Gas: 30_000, To: &target, Value: big.NewInt(5)}, chain), "", same, ""},
		{"no parameter", raw, body(`[]`), same, "exactly one raw transaction"},
		{"no params", raw, `{"jsonrpc":"2.0","id":7,"method":"eth_sendRawTransaction"}`, same, "exactly one raw transaction"},
		{"two parameters", raw, body(`[` + quoted + `,` + quoted + `]`), same, "exactly one raw transaction"},
		{"an object", raw, body(`[{}]`), same, "must be a string"},
		{"no prefix", raw, body(`["` + hex.EncodeToString(raw) + `"]`), same, "hexadecimal digits"},
		{"no bytes", nil, body(`["0x"]`), same, "the transaction is refused"},
		{"an empty string", raw, body(`[""]`), same, "it is not 0x and an even number"},
		{"half a prefix", raw, body(`["0"]`), same, "it is not 0x and an even number"},
		{"no hexadecimal digits", raw, body(`["0xzz"]`), same, "it is not 0x and an even number"},
		{"an odd digit", raw, body(`["0x` + hex.EncodeToString(raw) + `0"]`), same, "hexadecimal digits"},
		{"bytes behind", append(raw, 0), "", same, "can't be decoded"},
		{"a byte altered", raw, rawBody(flip(raw, 20)), same, ""}, // refused, however: see below
		{"before EIP-155", unprotected(t, legacy), "", same, "for chain 0"},
		{"another chain's", sign(t, otherChain, 1), "", same, "for chain 1, and this is chain 8453"},
		{"a contract's creation", sign(t, creation, chain), "", func(c *attest.Claims) { c.Intent.AmountBase = "0" }, "creates a contract"},
		{"blob", []byte{3, 0xc0}, "", same, "EIP-4844"},
		{"set-code", []byte{4, 0xc0}, "", same, "EIP-7702"},
		{"a blob's type alone", []byte{3}, "", same, "EIP-4844"},
		{"a set-code's type alone", []byte{4}, "", same, "EIP-7702"},
		{"an unknown type", []byte{5, 0xc0}, "", same, "can't be decoded"},
		{"an attestation for another chain", raw, rawBody(raw), func(c *attest.Claims) { c.ChainID = 1 }, "is for chain 1"},
		{"a tool's attestation", raw, rawBody(raw), func(c *attest.Claims) {
			c.Kind, c.Intent = attest.KindTool, attest.Intent{Action: "bash"}
		}, "kind tool (bash)"},
		{"a user operation's attestation", raw, rawBody(raw), func(c *attest.Claims) {
			c.TxCommit, c.UserOpHash, c.Intent.Action = "", "0x"+c.TxCommit, "erc4337.userop"
		}, "submit that at /bundler"},
		{"a user operation's action", raw, rawBody(raw), func(c *attest.Claims) { c.Intent.Action = "erc4337.userop" }, "submit that at /bundler"},
	}
}

// unprotected signs a transaction that binds itself to no chain.
func unprotected(t *testing.T, data types.TxData) []byte {
	t.Helper()
	key, _ := account(0)
	tx, err := types.SignNewTx(key, types.HomesteadSigner{}, data)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func flip(raw []byte, at int) []byte {
	altered := append([]byte(nil), raw...)
	altered[at] ^= 1
	return altered
}

// No byte of a transaction can change under its attestation.
func TestEveryByteIsBound(t *testing.T) {
	b := newBench(t)
	raw := sign(t, dynamic(payee, 5, nil), chain)
	token := b.token(b.claims(raw))
	for at := range raw {
		if got := reason(t, b.send(flip(raw, at), token)); got == "" {
			t.Fatalf("byte %d was altered, and it passed", at)
		}
	}
	if got := reason(t, b.send(raw, token)); got != "" || len(b.node.sent()) != 1 {
		t.Errorf("the unaltered one: %s; %d sent", got, len(b.node.sent()))
	}
}
