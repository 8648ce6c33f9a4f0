package gateway

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/runtime/attest"
	"bailiff/vm/form/calldata"
)

// selectorOf returns the selector of a method of the table.
func selectorOf(t testing.TB, signature string) []byte {
	t.Helper()
	selector, err := calldata.ParseSelector(signature)
	if err != nil || calldata.Lookup(selector) == nil {
		t.Fatalf("%s is not in the table: %v", signature, err)
	}
	return selector[:]
}

const (
	signatureTransferFrom = "transferFrom(address,address,uint256)"
	signaturePermit       = "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"
	signatureAuthorized   = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
)

// dataOf encodes the call of a method of the table.
func dataOf(t testing.TB, signature string, words ...any) []byte {
	return append(selectorOf(t, signature), tokenData("0x", words...)...)
}

// A judgedCall is a call of a contract.call or an operation that declares all of it, so that whatever is refused is refused
// for what it does.
type judgedCall struct {
	name      string
	target    string
	data      []byte
	operation bool
	want      string // of the reason; empty: it fits
}

func judgedCalls(t *testing.T) []judgedCall {
	self := spell(fitSigner)
	most := 250_000_000
	calls := []judgedCall{
		{"an unknown method of any contract", payee, []byte{1, 2, 3, 4}, false, ""},
		{"multicall of a router", payee, selectorOf(t, "multicall(bytes[])"), false, ""},
		{"multicall of a token", usdc, selectorOf(t, "multicall(bytes[])"), false, "multicall(bytes[]), which runs further calls"},
		{"an unknown method of a token", usdc, []byte{1, 2, 3, 4}, false, "method 0x01020304 is not one whose amount"},
		{"a selector's beginning", usdc, []byte{1, 2, 3}, false, "evm.token.USDC.methods"},
		{"a token's permit", usdc, dataOf(t, signaturePermit, self, payee, most, 0, 27, 0, 0), false, ""},
		{"a token's permit of more", usdc, dataOf(t, signaturePermit, self, payee, most+1, 0, 27, 0, 0), false, "is of 250.000001 USDC, and at most 250 is allowed"},
		{"cut off", usdc, dataOf(t, signaturePermit, self, payee), false, "are cut off"},
		{"an empty call of a token", usdc, nil, false, ""},
		{"the same of an unpinned contract", payee, dataOf(t, signaturePermit, self, payee, most+1, 0, 27, 0, 0), false, ""},

		{"data to the sender", self, []byte{1, 2, 3, 4}, false, "goes to the sender " + self + " itself"},
		{"a byte to the sender", self, []byte{0}, false, "the sender " + self + " itself and has data (bytes: 1)"},
		{"nothing to the sender", self, nil, false, ""},
		{"data of an operation to its sender", stranger, []byte{1, 2, 3, 4}, true, "goes to the sender " + stranger},
		{"data of an operation to an entry point", entryPoint07, []byte{1, 2, 3, 4}, true, "operation calls the entry point"},
		{"a byte of an operation to an entry point", entryPoint07, []byte{0}, true, "operation calls the entry point"},
		{"nothing of an operation to an entry point", entryPoint07, nil, true, ""},
		{"data of a transaction to an entry point", entryPoint07, []byte{1, 2, 3, 4}, false, ""},

		{"transferFrom of somebody", payee, dataOf(t, signatureTransferFrom, stranger, self, 1), false, "takes from " + stranger},
		{"transferFrom of the sender", payee, dataOf(t, signatureTransferFrom, self, payee, 1), false, ""},
		{"transferFrom, cut off", payee, dataOf(t, signatureTransferFrom, self), false, "whose tokens it moves"},
		{"transferFrom of an operation's account", payee, dataOf(t, signatureTransferFrom, stranger, payee, 1), true, ""},
		{"transferFrom of the owner of the account", payee, dataOf(t, signatureTransferFrom, self, payee, 1), true, "takes from " + self},
		{"operatorBurn of somebody", usdc, dataOf(t, "operatorBurn(address,uint256,bytes,bytes)", stranger, 1, 128, 128), false, "takes from " + stranger},
		{"what somebody signed", usdc, dataOf(t, signatureAuthorized, stranger, payee, 1, 0, 0, 0, 27, 0, 0), false, ""},
	}
	for _, m := range calldata.Methods() {
		if m.Kind == calldata.Runs {
			calls = append(calls, judgedCall{m.Signature, payee, append(selectorOf(t, m.Signature), 1), false, m.Signature + ", which runs further calls"})
		}
	}
	return calls
}

// submitCall submits a call, declared byte by byte under a policy of the tests, and returns what is answered.
func submitCall(t *testing.T, b *bench, c *judgedCall, change func(*attest.Claims)) string {
	t.Helper()
	declare := func(claims *attest.Claims) string {
		claims.Intent.TargetAddress, claims.Intent.AmountBase = c.target, "0"
		if len(c.data) > 0 {
			claims.Intent.CalldataHash = hashOf(c.data)
		}
		change(claims)
		return b.token(claims)
	}
	if c.operation {
		op := operation(execute(c.target, 0, c.data))
		return reason(t, b.do(Bundler, "8453", opBody(op, entryPoint07), declare(b.opClaims(op.Hash(common.HexToAddress(entryPoint07), chain)))))
	}
	raw := sign(t, dynamic(c.target, 0, c.data), chain)
	claims := b.claims(raw)
	claims.Intent.Action = "contract.call"
	return reason(t, b.send(raw, declare(claims)))
}

// A call that is declared byte by byte is refused for what it can do.
func TestCalls(t *testing.T) {
	b := newBench(t)
	for _, c := range judgedCalls(t) {
		got := submitCall(t, b, &c, func(*attest.Claims) {})
		if c.want == "" && got != "" || c.want != "" && (!strings.HasPrefix(got, "-32602 SVC_POLICY_VIOLATION: ") || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What authorize let through because it observes is not held to the policy's limits, but to the sender.
func TestObservedCalls(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Observe = true })
	for _, c := range judgedCalls(t) {
		sender := strings.Contains(c.want, "sender") || strings.Contains(c.want, "entry point") || strings.Contains(c.want, "takes from") || strings.Contains(c.want, "whose tokens")
		got := submitCall(t, b, &c, func(claims *attest.Claims) { claims.Mode = attest.ModeObserve })
		if sender != (got != "") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// The keys of version 2.4 open calls, methods and chains, and nothing beside them.
func TestOpenedCalls(t *testing.T) {
	const before = "version: 2.4.0\n\n## evm\nallowed_chains: 1, 8453\nallowed_actions: contract.call, erc4337.userop\n" +
		"token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\n"
	const pinned = "token.USDC.addresses: " + usdc + "\n"
	self := spell(fitSigner)
	batch := append(selectorOf(t, "executeBatch((address,uint256,bytes)[])"), 1)
	mint := judgedCall{name: "a named method", target: usdc, data: dataOf(t, "multicall(bytes[])", 1)}
	tooMuch := judgedCall{name: "too much", target: usdc, data: dataOf(t, signaturePermit, self, payee, 250_000_001, 0, 27, 0, 0)}
	for _, c := range []struct {
		name, keys string
		call       judgedCall
		want       string
	}{
		{"closed", "account_calls: deny\n" + pinned, judgedCall{target: payee, data: batch}, "runs further calls"},
		{"open", "account_calls: allow\n" + pinned, judgedCall{target: payee, data: batch}, ""},
		{"open to the sender", "account_calls: allow\n" + pinned, judgedCall{target: self, data: batch}, ""},
		{"open to the sender of an operation", "account_calls: allow\n" + pinned, judgedCall{target: stranger, data: batch, operation: true}, ""},
		{"not to an entry point", "account_calls: allow\n" + pinned, judgedCall{target: entryPoint07, data: batch, operation: true}, "calls the entry point"},
		{"not transferFrom", "account_calls: allow\n" + pinned, judgedCall{target: payee, data: dataOf(t, signatureTransferFrom, stranger, self, 1)}, "takes from"},
		{"not a token's multicall", "account_calls: allow\n" + pinned, mint, "evm.token.USDC.methods"},
		{"nor without", "token.USDC.methods: multicall(bytes[])\n" + pinned, mint, "runs further calls"},
		{"unless it is named", "account_calls: allow\ntoken.USDC.methods: multicall(bytes[])\n" + pinned, mint, ""},
		{"a named selector", "token.USDC.methods: 0x01020304\n" + pinned, judgedCall{target: usdc, data: []byte{1, 2, 3, 4, 5}}, ""},
		{"another selector", "token.USDC.methods: 0x01020304\n" + pinned, judgedCall{target: usdc, data: []byte{1, 2, 3, 5}}, "evm.token.USDC.methods"},
		{"pinned here", "token.USDC.addresses: 8453:" + usdc + "\n", tooMuch, "at most 250 is allowed"},
		{"pinned elsewhere", "token.USDC.addresses: 1:" + usdc + "\n", tooMuch, ""},
	} {
		b := newBench(t, func(config *Config) { config.BootPolicy = []byte(before + c.keys) })
		c.call.target = strings.ToLower(c.call.target)
		got := submitCall(t, b, &c.call, func(claims *attest.Claims) { claims.PolicyHash = b.gateway.boot.Load().Hash })
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestIsEntryPoint: an operation may call neither an entry point of the setting nor a canonical one.
func TestIsEntryPoint(t *testing.T) {
	set := newBench(t, func(c *Config) { c.EntryPoints = EntryPoints{common.HexToAddress(payee): V07} }).gateway
	for address, want := range map[string]bool{payee: true, entryPoint07: true, entryPoint08: true, stranger: false} {
		if got := set.isEntryPoint(common.HexToAddress(address)); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}

// A token that is pinned on another chain can't be submitted here.
func TestPinsOfChains(t *testing.T) {
	terms, err := ParseTerms([]byte("version: 2.4.0\n\n## evm\nallowed_chains: 1, 8453\nallowed_actions: wallet.transfer\n" +
		"token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 8453:" + usdc + ", 1:" + payee + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		token, target string
		chain         uint64
		want          bool
	}{
		{"USDC", usdc, 8453, true}, {"usdc", usdc, 8453, true}, {usdc, usdc, 8453, true}, {"USDC", payee, 1, true},
		{"USDC", usdc, 1, false}, {"USDC", payee, 8453, false}, {payee, usdc, 8453, false}, {"DAI", usdc, 8453, false},
	} {
		if got := terms.pins(c.token, c.target, c.chain); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
