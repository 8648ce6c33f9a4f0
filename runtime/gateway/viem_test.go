package gateway

import (
	"crypto/ecdsa"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/go-cmp/cmp"
	"github.com/holiman/uint256"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/attest"
	"bailiff/runtime/gateway/peer"
)

// generator makes random transactions and operations.
type generator struct{ *rand.Rand }

func (g generator) hex(n int) string {
	raw := make([]byte, n)
	g.Read(raw)
	return "0x" + hex.EncodeToString(raw)
}

func (g generator) address() string { return g.hex(20) }

// data is of any length, often none.
func (g generator) data() string {
	return g.hex([]int{0, 0, 1, 31, 32, 33, 68, g.Intn(500)}[g.Intn(8)])
}

// quantity has up to bits bits, small ones as often as large.
func (g generator) quantity(bits int) string {
	n := new(big.Int).Rand(g.Rand, new(big.Int).Lsh(big.NewInt(1), uint(1+g.Intn(bits))))
	return "0x" + n.Text(16)
}

func (g generator) transaction(kind string) map[string]any {
	tx := map[string]any{
		"type": kind, "nonce": g.Intn(1 << 30), "gas": fmt.Sprint(200_000 + g.Intn(1<<20)), "value": g.quantity(200), "data": g.data(),
		"to": g.address(), "chainId": []int{1, 8453, 137, 1 << 40}[g.Intn(4)],
	}
	if kind != "eip1559" {
		tx["gasPrice"] = g.quantity(60)
	} else {
		tip := g.Int63n(1 << 40)
		tx["maxPriorityFeePerGas"], tx["maxFeePerGas"] = fmt.Sprint(tip), fmt.Sprint(tip+g.Int63n(1<<50))
	}
	if kind != "legacy" {
		list := []any{}
		for range g.Intn(3) {
			keys := []string{}
			for range g.Intn(3) {
				keys = append(keys, g.hex(32))
			}
			list = append(list, map[string]any{"address": g.address(), "storageKeys": keys})
		}
		tx["accessList"] = list
	}
	return tx
}

// Decoding and txCommit agree with what viem signed, 1,000 transactions of each type.
func TestTransactionsAgreeWithViem(t *testing.T) {
	viem := peer.InstallViem(t)
	g := generator{rand.New(rand.NewSource(seed.Value(t)))}
	q := peer.Question{PrivateKey: g.hex(32)}
	for _, kind := range []string{"legacy", "eip2930", "eip1559"} {
		for range 1000 {
			q.Transactions = append(q.Transactions, g.transaction(kind))
		}
	}
	answer := viem.Ask(t, q)
	for i, signed := range answer.Transactions {
		asked := q.Transactions[i]
		tx, err := DecodeTransaction(common.FromHex(signed.Raw))
		if err != nil {
			t.Fatalf("%v: %v", asked, err)
		}
		value, _ := new(big.Int).SetString(asked["value"].(string), 0)
		got := map[string]any{
			"sha256": "0x" + hex.EncodeToString(tx.Commitment[:]), "chain": tx.ChainID, "sender": spell(tx.Sender), "to": spell(tx.Target),
			"value": tx.Value.String(), "data": "0x" + hex.EncodeToString(tx.Data), "creation": tx.Creation,
		}
		want := map[string]any{
			"sha256": signed.SHA256, "chain": uint64(asked["chainId"].(int)), "sender": strings.ToLower(answer.Address), "to": asked["to"],
			"value": value.String(), "data": asked["data"], "creation": false,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v: viem (-) and this (+)\n%s", asked, diff)
		}
	}
}

func (g generator) operation(version Version) peer.Operation {
	fields := map[string]any{
		"sender": g.address(), "nonce": g.quantity(256), "callData": g.data(), "preVerificationGas": g.quantity(256), "signature": g.data(),
	}
	bits := 128
	if version == V06 {
		bits = 256
		fields["initCode"], fields["paymasterAndData"] = "0x", "0x"
		if g.Intn(2) == 0 {
			fields["initCode"] = g.hex(20 + g.Intn(100))
		}
		if g.Intn(2) == 0 {
			fields["paymasterAndData"] = g.hex(20 + g.Intn(100))
		}
	}
	for _, name := range []string{"callGasLimit", "verificationGasLimit", "maxFeePerGas", "maxPriorityFeePerGas"} {
		fields[name] = g.quantity(bits)
	}
	if version != V06 {
		g.addFactory(fields, version)
		if g.Intn(2) == 0 {
			fields["paymaster"], fields["paymasterData"] = g.address(), g.data()
			fields["paymasterVerificationGasLimit"], fields["paymasterPostOpGasLimit"] = g.quantity(128), g.quantity(128)
		}
	}
	return peer.Operation{Version: version.String(), EntryPoint: g.address(), ChainID: uint64(1 + g.Intn(1<<40)), Fields: fields}
}

func (g generator) addFactory(fields map[string]any, version Version) {
	switch choice := g.Intn(3); {
	case choice == 0:
		fields["factory"], fields["factoryData"] = g.address(), g.data()
	case choice == 1 && version == V08:
		fields["factory"], fields["factoryData"] = "0x7702", g.data()
		fields["authorization"] = map[string]any{
			"address": g.address(), "chainId": 1 + g.Intn(1<<30), "nonce": g.Intn(1 << 30), "r": g.hex(32), "s": g.hex(32), "yParity": g.Intn(2),
		}
	}
}

// userOpHash agrees with viem on 1,000 operations of each version, in each form in which they come; and what goes to
// the bundler is what viem would send.
func TestOperationsAgreeWithViem(t *testing.T) {
	viem := peer.InstallViem(t)
	g := generator{rand.New(rand.NewSource(seed.Value(t)))}
	q := peer.Question{PrivateKey: g.hex(32)}
	for version := V06; version <= V08; version++ {
		for range 1000 {
			q.Operations = append(q.Operations, g.operation(version))
		}
	}
	for i, answer := range viem.Ask(t, q).Operations {
		asked := q.Operations[i]
		forms := []json.RawMessage{answer.RPC}
		if answer.Packed != nil {
			forms = append(forms, answer.Packed)
		}
		for _, form := range forms {
			op, err := DecodeUserOperation(form, versionOf(asked.Version))
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			hash := op.Hash(common.HexToAddress(asked.EntryPoint), asked.ChainID)
			if spelled := "0x" + hex.EncodeToString(hash[:]); spelled != answer.Hash {
				t.Fatalf("%s %s: hash %s, and viem has %s", asked.Version, form, spelled, answer.Hash)
			}
			if diff := cmp.Diff(comparable(t, answer.RPC), comparable(t, op.AppendJSON(nil))); diff != "" {
				t.Fatalf("viem (-) and this (+) send\n%s", diff)
			}
		}
	}
}

// comparable returns an operation with its quantities in their shortest form, and without what is empty.
func comparable(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	shorten(fields)
	if fields["factoryData"] == "0x" {
		delete(fields, "factoryData")
	}
	return fields
}

func shorten(fields map[string]any) {
	for name, value := range fields {
		switch value := value.(type) {
		case map[string]any:
			shorten(value)
		case string:
			if strings.HasSuffix(name, "Parity") || name == "chainId" || name == "nonce" || strings.Contains(name, "Gas") {
				n, _ := new(big.Int).SetString(value, 0)
				fields[name] = n.String()
			}
		}
	}
}

var testAuthorization = map[string]any{"address": payee, "chainId": "0x1", "nonce": "0x0", "r": "0x1", "s": "0x1", "yParity": "0x0"}

// authorizationWith is testAuthorization with another value of one member.
func authorizationWith(name string, value any) map[string]any {
	changed := maps.Clone(testAuthorization)
	changed[name] = value
	return changed
}

// refusedOperations are changes to a good operation of a version, and what is said of them; nothing: it stays good.
var refusedOperations = []struct {
	version Version
	set     map[string]any // nil removes
	want    string
}{
	{V07, nil, ""},
	{V06, nil, ""},
	{V07, map[string]any{"factory": payee}, ""},
	{V07, map[string]any{"paymaster": payee}, ""},
	{V07, map[string]any{"sender": nil}, "sender is missing"},
	{V07, map[string]any{"sender": "0x12"}, "sender must be an address"},
	{V07, map[string]any{"sender": "0x833589fcD6eDb6E08f4c7C32D4f71b54bdA02913"}, "sender must be an address"},
	{V07, map[string]any{"nonce": 1}, "nonce must be"},
	{V07, map[string]any{"nonce": "0x"}, "nonce must be"},
	{V07, map[string]any{"nonce": "1"}, "nonce must be"},
	{V07, map[string]any{"nonce": "0x-1"}, "nonce must be"},
	{V07, map[string]any{"nonce": "0x" + strings.Repeat("0", 65)}, "nonce must be"},
	{V07, map[string]any{"nonce": "0x" + strings.Repeat("f", 64)}, ""},
	{V07, map[string]any{"nonce": "0xg"}, "nonce must be"},
	{V07, map[string]any{"callGasLimit": "0x1" + strings.Repeat("0", 32)}, "callGasLimit must be a number of up to 128 bits"},
	{V06, map[string]any{"callGasLimit": "0x1" + strings.Repeat("0", 32)}, ""},
	{V07, map[string]any{"callData": "0x0"}, "callData must be"},
	{V07, map[string]any{"extra": "0x0"}, "extra is not a member"},
	{V07, map[string]any{"initCode": "0x"}, "initCode is not a member"},
	{V07, map[string]any{"accountGasLimits": "0x" + strings.Repeat("0", 64)}, "is missing"},
	{V07, map[string]any{"factoryData": "0x"}, "factory is missing"},
	{V07, map[string]any{"paymasterData": "0x01"}, "paymaster is missing"},
	{V07, map[string]any{"paymasterPostOpGasLimit": "0x1"}, "paymaster is missing"},
	{V07, map[string]any{"paymasterVerificationGasLimit": "0x1"}, "paymaster is missing"},
	{V07, map[string]any{"paymaster": payee, "paymasterPostOpGasLimit": "0x1" + strings.Repeat("0", 32)}, "paymasterPostOpGasLimit must be a number of up to 128 bits"},
	{V07, map[string]any{"paymaster": payee, "paymasterPostOpGasLimit": "0x" + strings.Repeat("f", 32)}, ""},
	{V07, map[string]any{"paymasterPostOpGasLimit": "0x0", "paymasterVerificationGasLimit": "0x0", "paymasterData": "0x"}, ""},
	{V07, map[string]any{"factory": "0x7702"}, "eip7702Auth is missing"},
	{V08, map[string]any{"factory": "0x7702"}, "eip7702Auth is missing"},
	{V08, map[string]any{"factory": marker7702Long}, "eip7702Auth is missing"},
	{V08, map[string]any{"factory": marker7702Long, "eip7702Auth": testAuthorization}, ""},
	{V08, map[string]any{"factory": "0x12"}, "factory must be an address"},
	{V08, map[string]any{"factory": payee, "factoryData": "0x1"}, "factoryData must be 0x and an even number"},
	{V08, map[string]any{"factory": payee, "factoryData": 1}, "factoryData must be a string"},
	{V08, map[string]any{"paymaster": "0x12"}, "paymaster must be an address"},
	{V08, map[string]any{"paymaster": payee, "paymasterData": "0x1"}, "paymasterData must be 0x and an even number"},
	{V08, map[string]any{"eip7702Auth": testAuthorization}, "factory is missing"},
	{V08, map[string]any{"factory": payee, "eip7702Auth": testAuthorization}, "factory must be 0x7702"},
	{V07, map[string]any{"factory": "0x7702", "eip7702Auth": testAuthorization}, "bound by EntryPoint 0.8 only"},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": testAuthorization}, ""},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": []any{}}, "eip7702Auth must be an object"},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": map[string]any{}}, "eip7702Auth.chainId is missing"},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("nonce", "0xffffffffffffffff")}, ""},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("nonce", "0x10000000000000000")}, "nonce must be a number of up to 64 bits"},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("yParity", "0x2")}, "yParity must be a number of up to 1 bits"},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("extra", "0x2")}, "extra is not a member of an authorization"},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("v", "0x0")}, ""},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("v", "0x1b")}, ""},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("v", "0x1")}, "v differs from yParity"},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("v", "0x1c")}, "v differs from yParity"},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("v", "0xff")}, "v differs from yParity"},
	{V08, map[string]any{"factory": "0x7702", "eip7702Auth": authorizationWith("v", "0x100")}, "v must be a number of up to 8 bits"},
	{V06, map[string]any{"factory": payee}, "factory is not a member"},
	{V06, map[string]any{"initCode": "0x12"}, "initCode must be empty"},
	{V06, map[string]any{"initCode": "0x" + strings.Repeat("12", 19)}, "initCode must be empty"},
	{V06, map[string]any{"initCode": payee}, ""},
	{V06, map[string]any{"initCode": marker7702Long}, "eip7702Auth is missing"},
	{V06, map[string]any{"paymasterAndData": "0x12"}, "paymasterAndData must be empty, or have at least 20 bytes"},
	{V06, map[string]any{"paymasterAndData": "0x" + strings.Repeat("12", 19)}, "paymasterAndData must be empty"},
	{V06, map[string]any{"paymasterAndData": payee}, ""},
	{V06, map[string]any{"eip7702Auth": testAuthorization}, "bound by EntryPoint 0.8 only"},
}

// What an operation's reader refuses, member by member.
func TestOperationsRefused(t *testing.T) {
	g := generator{rand.New(rand.NewSource(1))}
	base := func(version Version) map[string]any {
		op := g.operation(version).Fields
		for _, name := range []string{"factory", "factoryData", "authorization", "paymaster", "paymasterData", "paymasterVerificationGasLimit", "paymasterPostOpGasLimit"} {
			delete(op, name)
		}
		return op
	}
	for _, c := range refusedOperations {
		fields := base(c.version)
		for name, value := range c.set {
			if fields[name] = value; value == nil {
				delete(fields, name)
			}
		}
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		_, err = DecodeUserOperation(text, c.version)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %v: %v, want %q", c.version, c.set, err, c.want)
		}
	}
}

// execute encodes execute(address,uint256,bytes).
func execute(to string, value int64, data []byte) []byte {
	encoded := append(append([]byte(nil), executeSelector...), tokenData("0x", to, value, 96, int64(len(data)))...)
	return append(append(encoded, data...), make([]byte, (32-len(data)%32)%32)...)
}

// operation returns a user operation whose account makes one call.
func operation(callData []byte) *UserOperation {
	one := big.NewInt(1)
	return &UserOperation{
		Version: V07, Sender: common.HexToAddress(stranger), Nonce: one, CallData: callData, CallGas: one, VerificationGas: one,
		PreVerification: one, MaxFee: one, MaxPriorityFee: one, Signature: []byte{1},
	}
}

const entryPoint07, entryPoint08 = "0x0000000071727de22e5e9d8baf0edac6f37da032", "0x4337084d9e255ff0702461cf8895ce9e3b5ff108"

func opBody(op *UserOperation, entryPoint string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"eth_sendUserOperation","params":[` + string(op.AppendJSON(nil)) + `,"` + entryPoint + `"]}`
}

// A userOperationCase is an operation with one call, and an attestation for it that fits, but for what the name says.
type userOperationCase struct {
	name     string
	callData []byte
	change   func(*UserOperation) // after the attestation was issued
	intent   func(*bench, *attest.Claims)
	want     string
}

func userOperationCases() []userOperationCase {
	same := func(*UserOperation) {}
	return []userOperationCase{
		{"native", execute(payee, 5, nil), same, nil, ""},
		{"declared data", execute(payee, 5, []byte{1, 2, 3}), same, func(_ *bench, c *attest.Claims) { c.Intent.CalldataHash = hashOf([]byte{1, 2, 3}) }, ""},
		{"token", execute(usdc, 0, tokenData(selTransfer, payee, 7)), same, usdcOp, ""},
		{"token, transferFrom the account", execute(usdc, 0, tokenData(selTransferFrom, stranger, payee, 7)), same, usdcOp, ""},
		{"token, too much", execute(usdc, 0, tokenData(selTransfer, payee, 8)), same, usdcOp, "moves 8"},
		{"token, approve", execute(usdc, 0, tokenData(selApprove, payee, 7)), same, usdcOp, "has to be declared"},
		{"token, approve, declared", execute(usdc, 0, tokenData(selApprove, payee, 7)), same, func(b *bench, c *attest.Claims) {
			usdcOp(b, c)
			c.Intent.CalldataHash = hashOf(tokenData(selApprove, payee, 7))
		}, ""},
		{"token, other data than declared", execute(usdc, 0, tokenData(selTransfer, stranger, 7)), same, func(b *bench, c *attest.Claims) {
			usdcOp(b, c)
			c.Intent.CalldataHash = hashOf(tokenData(selTransfer, payee, 7))
		}, "not the calldata"},
		{"token, value beside", execute(usdc, 1, tokenData(selTransfer, payee, 7)), same, usdcOp, "carries no native value"},
		{"token, transferFrom another", execute(usdc, 0, tokenData(selTransferFrom, payee, payee, 7)), same, usdcOp, "takes from"},
		{"more value", execute(payee, 6, nil), same, nil, "value is 6"},
		{"another target", execute(stranger, 5, nil), same, nil, "goes to"},
		{"undeclared data", execute(payee, 5, []byte{1}), same, nil, "declared no calldata"},
		{"altered", execute(payee, 5, nil), func(op *UserOperation) { op.Nonce = big.NewInt(2) }, nil, "userOpHash is"},
		{"another signature", execute(payee, 5, nil), func(op *UserOperation) { op.Signature = []byte{2} }, nil, ""}, // which the hash is what is signed of
		{"no call", nil, same, nil, "call can't be told"},
		{"a batch", append([]byte{0x34, 0xfc, 0xd5, 0xbe}, make([]byte, 128)...), same, nil, "call can't be told"},
		{"a byte more", append(execute(payee, 5, nil), 0), same, nil, "call can't be told"},
		{"cut", execute(payee, 5, nil)[:130], same, nil, "call can't be told"},
		{"dirty padding", flip(execute(payee, 5, []byte{1}), 4+4*32+31), same, func(_ *bench, c *attest.Claims) { c.Intent.CalldataHash = hashOf([]byte{1}) }, "call can't be told"},
		{"an address with more than 20 bytes", flip(execute(payee, 5, nil), 4+11), same, nil, "call can't be told"},
		{"a size beyond any request", flip(execute(payee, 5, nil), 4+3*32), same, nil, "call can't be told"},
		{"another offset", flip(execute(payee, 5, nil), 4+3*32-1), same, nil, "call can't be told"},
		{"a transaction's attestation", execute(payee, 5, nil), same, func(b *bench, c *attest.Claims) {
			c.TxCommit, c.UserOpHash, c.Intent.Action = c.UserOpHash[2:], "", "wallet.transfer"
		}, "submit that at /rpc"},
		{"a transaction's commitment", execute(payee, 5, nil), same, func(_ *bench, c *attest.Claims) {
			c.TxCommit, c.UserOpHash = c.UserOpHash[2:], ""
		}, "submit that at /rpc"},
		{"a transaction's action", execute(payee, 5, nil), same, func(_ *bench, c *attest.Claims) { c.Intent.Action = "wallet.transfer" }, "submit that at /rpc"},
		{"another chain", execute(payee, 5, nil), same, func(_ *bench, c *attest.Claims) { c.ChainID = 1 }, "is for chain 1"},
	}
}

// A user operation is held to its hash and, by the one call inside, to the intent.
func TestUserOperations(t *testing.T) {
	for _, c := range userOperationCases() {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			op := operation(c.callData)
			claims := b.opClaims(op.Hash(common.HexToAddress(entryPoint07), chain))
			if c.intent != nil {
				c.intent(b, claims)
			}
			c.change(op)
			got, sent := reason(t, b.do(Bundler, "8453", opBody(op, entryPoint07), b.token(claims))), len(b.node.sent())
			if c.want == "" && (got != "" || sent != 1) || c.want != "" && (!strings.HasPrefix(got, "-32602 ") || !strings.Contains(got, c.want) || sent != 0) {
				t.Errorf("%q, want %q; %d sent", got, c.want, sent)
			}
		})
	}
}

func usdcOp(_ *bench, c *attest.Claims) {
	six := 6
	c.Intent.AmountBase, c.Intent.TargetAddress, c.Intent.Token, c.Intent.Decimals = "7", usdc, "USDC", &six
}

// An operation that can't be decoded passes only under a policy without `## evm`, and there only in OBSERVE mode.
func TestOpaqueOperationWithoutLimits(t *testing.T) {
	const tools = "version: 2.0.0\n\n## tool_calls\nallowed: bash\n"
	b := newBench(t, func(c *Config) { c.BootPolicy, c.Observe = []byte(tools), true })
	op := operation([]byte{1, 2, 3, 4})
	claims := b.opClaims(op.Hash(common.HexToAddress(entryPoint07), chain))
	claims.Mode, claims.PolicyHash = "OBSERVE", b.gateway.boot.Load().Hash
	if got := reason(t, b.do(Bundler, "8453", opBody(op, entryPoint07), b.token(claims))); got != "" {
		t.Error(got)
	}
}

func TestEntryPoints(t *testing.T) {
	b := newBench(t)
	op := operation(execute(payee, 5, nil))
	for _, c := range []struct{ entryPoint, want string }{
		{entryPoint08, "userOpHash is"}, // another version's hash
		{payee, "is not on the list"},
		{"0x12", "must be an address"},
		{strings.ToUpper(entryPoint07), "must be an address"},
	} {
		claims := b.opClaims(op.Hash(common.HexToAddress(entryPoint07), chain))
		if got := reason(t, b.do(Bundler, "8453", opBody(op, c.entryPoint), b.token(claims))); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.entryPoint, got, c.want)
		}
	}
	for text, want := range map[string]int{
		"": 3, "0.7:" + payee: 1, "0.6:" + payee + ", 0.8:" + stranger: 2,
		"0.7:" + payee + ",0.8:" + payee: 0, "0.9:" + payee: 0, payee: 0, "0.7:0x12": 0, ",": 0, ":" + payee: 0,
	} {
		var points EntryPoints
		err := points.UnmarshalText([]byte(text))
		if len(points) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, %v", text, points, err)
		}
	}
}

// simple7702 is to what viem's toSimple7702SmartAccount delegates with EntryPoint 0.8.
const simple7702 = "0xe6cae83bde06e4c305530e199d7217f42808555b"

// A delegation is the sender's own, for this chain, and to code whose calls mean what they say.
func TestDelegations(t *testing.T) {
	key, sender := account(5)
	for _, c := range []struct {
		name     string
		chain    uint64
		by       *ecdsa.PrivateKey
		delegate string
		want     string
	}{
		{"its own", chain, key, simple7702, ""},
		{"for another chain", 1, key, simple7702, "is for chain 1"},
		{"for every chain", 0, key, simple7702, "is for chain 0"},
		{"by somebody else", chain, func() *ecdsa.PrivateKey { k, _ := account(6); return k }(), simple7702, "not signed by the sender"},
		{"to unknown code", chain, key, payee, "delegates the wallet (EIP-7702) to the code at " + payee},
		{"taken back", chain, key, "0x" + strings.Repeat("0", 40), "delegates the wallet"},
	} {
		b := newBench(t)
		signed, err := types.SignSetCode(c.by, types.SetCodeAuthorization{ChainID: *uint256.NewInt(c.chain), Address: common.HexToAddress(c.delegate), Nonce: 3})
		if err != nil {
			t.Fatal(err)
		}
		op := operation(execute(payee, 5, nil))
		op.Version, op.Sender = V08, sender
		op.Authorization = &Authorization{
			ChainID: new(big.Int).SetUint64(c.chain), Delegate: signed.Address, Nonce: signed.Nonce, YParity: signed.V, R: signed.R.ToBig(), S: signed.S.ToBig(),
		}
		claims := b.opClaims(op.Hash(common.HexToAddress(entryPoint08), chain))
		got := reason(t, b.do(Bundler, "8453", opBody(op, entryPoint08), b.token(claims)))
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if crypto.PubkeyToAddress(key.PublicKey) != sender {
		t.Fatal("the account of the tests is not its key's")
	}
}

// What decodes is written and read again as the same operation, and hashes alike.
func FuzzUserOperation(f *testing.F) {
	g := generator{rand.New(rand.NewSource(1))}
	for version := V06; version <= V08; version++ {
		text, err := json.Marshal(g.operation(version).Fields)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint8(version-V06))
	}
	delegated := operation(execute(payee, 5, []byte{1}))
	delegated.Version, delegated.Authorization = V08, &Authorization{ChainID: big.NewInt(1), R: big.NewInt(1), S: big.NewInt(1)}
	f.Add(delegated.AppendJSON(nil), uint8(V08-V06))
	f.Fuzz(func(t *testing.T, text []byte, v uint8) {
		version := V06 + Version(v)%3
		op, err := DecodeUserOperation(text, version)
		if err != nil {
			return
		}
		again, err := DecodeUserOperation(op.AppendJSON(nil), version)
		if err != nil {
			t.Fatalf("%s: %v", op.AppendJSON(nil), err)
		}
		if at := common.HexToAddress(entryPoint07); op.Hash(at, 1) != again.Hash(at, 1) {
			t.Fatalf("%s hashes differently when it is read again", text)
		}
		if c, err := op.Call(); err == nil && len(c.Data) > len(op.CallData) {
			t.Fatal("the call inside is larger than what holds it")
		}
	})
}
