package gateway

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// Operations as viem 2 sends them to a bundler, in the gateway's order of members, with the hash that viem computes on chain 8453. Those
// of TestOperationsAgreeWithViem are drawn, and need viem; these have every member that a version has.
var knownOperations = []struct {
	version    Version
	entryPoint string
	rpc        string
	packed     string // as the contract takes it; none for 0.6
	hash       string
}{
	{
		V06, "0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789",
		`{"sender":"0x00000000000000000000000000000000000000bb","nonce":"0x1","callData":"0x02","callGasLimit":"0x3","verificationGasLimit":"0x4",` +
			`"preVerificationGas":"0x5","maxFeePerGas":"0x6","maxPriorityFeePerGas":"0x7","initCode":"0x00000000000000000000000000000000000000cc01",` +
			`"paymasterAndData":"0x00000000000000000000000000000000000000dd08","signature":"0x09"}`,
		"",
		"3dd612284bf4ea6cb87050bdf8b5b890d7476ec3bcc72d7fef3528cbbc81c5cb",
	},
	{
		V07, entryPoint07,
		`{"sender":"0x00000000000000000000000000000000000000bb","nonce":"0x1","callData":"0x02","callGasLimit":"0xf0000000000000000000000000000003",` +
			`"verificationGasLimit":"0xf0000000000000000000000000000004","preVerificationGas":"0x5","maxFeePerGas":"0xf0000000000000000000000000000006",` +
			`"maxPriorityFeePerGas":"0xf0000000000000000000000000000007","factory":"0x00000000000000000000000000000000000000cc","factoryData":"0x01",` +
			`"paymaster":"0x00000000000000000000000000000000000000dd","paymasterVerificationGasLimit":"0xf000000000000000000000000000000a",` +
			`"paymasterPostOpGasLimit":"0xf000000000000000000000000000000b","paymasterData":"0x08","signature":"0x09"}`,
		`{"sender":"0x00000000000000000000000000000000000000bb","nonce":"0x1","initCode":"0x00000000000000000000000000000000000000cc01","callData":"0x02",` +
			`"accountGasLimits":"0xf0000000000000000000000000000004f0000000000000000000000000000003","preVerificationGas":"0x5",` +
			`"gasFees":"0xf0000000000000000000000000000007f0000000000000000000000000000006",` +
			`"paymasterAndData":"0x00000000000000000000000000000000000000ddf000000000000000000000000000000af000000000000000000000000000000b08","signature":"0x09"}`,
		"684545db03564fec38f4d6fff21c2f7da93d720019ab73e82bfb21b1e99e822e",
	},
	{
		V08, entryPoint08,
		`{"sender":"0x00000000000000000000000000000000000000bb","nonce":"0x1","callData":"0x02","callGasLimit":"0x3","verificationGasLimit":"0x4",` +
			`"preVerificationGas":"0x5","maxFeePerGas":"0x6","maxPriorityFeePerGas":"0x7","factory":"0x7702","factoryData":"0x01",` +
			`"eip7702Auth":{"chainId":"0x2105","address":"0x00000000000000000000000000000000000000ee","nonce":"0xc","yParity":"0x1",` +
			`"r":"0x000000000000000000000000000000000000000000000000000000000000000d","s":"0x000000000000000000000000000000000000000000000000000000000000000e"},"signature":"0x09"}`,
		`{"sender":"0x00000000000000000000000000000000000000bb","nonce":"0x1","initCode":"0x770200000000000000000000000000000000000001","callData":"0x02",` +
			`"accountGasLimits":"0x0000000000000000000000000000000400000000000000000000000000000003","preVerificationGas":"0x5",` +
			`"gasFees":"0x0000000000000000000000000000000700000000000000000000000000000006","paymasterAndData":"0x",` +
			`"eip7702Auth":{"chainId":"0x2105","address":"0x00000000000000000000000000000000000000ee","nonce":"0xc","yParity":"0x1",` +
			`"r":"0x000000000000000000000000000000000000000000000000000000000000000d","s":"0x000000000000000000000000000000000000000000000000000000000000000e"},"signature":"0x09"}`,
		"3aef7ec9b15b5aca122e591fb3199557428fcef0bd3e872e3f7e706989e30a06",
	},
	{
		V08, entryPoint08,
		`{"sender":"0x00000000000000000000000000000000000000bb","nonce":"0x1","callData":"0x02","callGasLimit":"0x3","verificationGasLimit":"0x4",` +
			`"preVerificationGas":"0x5","maxFeePerGas":"0x6","maxPriorityFeePerGas":"0x7","factory":"0x00000000000000000000000000000000000000cc","factoryData":"0x",` +
			`"signature":"0x09"}`,
		`{"sender":"0x00000000000000000000000000000000000000bb","nonce":"0x1","initCode":"0x00000000000000000000000000000000000000cc","callData":"0x02",` +
			`"accountGasLimits":"0x0000000000000000000000000000000400000000000000000000000000000003","preVerificationGas":"0x5",` +
			`"gasFees":"0x0000000000000000000000000000000700000000000000000000000000000006","paymasterAndData":"0x","signature":"0x09"}`,
		"4e1dc8435224e7ef03adc8d1df83ae0862ec93fca38db4a164208686997d7370",
	},
}

// TestKnownOperations: an operation in either form has the hash that viem computes, and goes to the bundler as viem would send it.
func TestKnownOperations(t *testing.T) {
	for _, c := range knownOperations {
		for _, text := range []string{c.rpc, c.packed} {
			if text == "" {
				continue
			}
			op, err := DecodeUserOperation([]byte(text), c.version)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if got := op.Hash(common.HexToAddress(c.entryPoint), chain); hex.EncodeToString(got[:]) != c.hash {
				t.Errorf("%s of %s has the hash %x, want %s", c.version, text, got, c.hash)
			}
			if got := string(op.AppendJSON(nil)); got != c.rpc {
				t.Errorf("%s\nis sent as %s\nwant        %s", text, got, c.rpc)
			}
		}
	}
}

// TestPackedOperations: a member of the packed form that another reader could take in another way is refused.
func TestPackedOperations(t *testing.T) {
	good, delegated := knownOperations[1].packed, knownOperations[2].packed
	for _, c := range []struct {
		name, text, old, now, want string
	}{
		{"a byte of the gas limits missing", good, `"0xf0000000000000000000000000000004`, `"0x0000000000000000000000000004`, "accountGasLimits must have 32 bytes"},
		{"a byte of the fees more", good, `f0000000000000000000000000000006"`, `f000000000000000000000000000000600"`, "gasFees must have 32 bytes"},
		{"no fees", good, `"gasFees":`, `"gasFee":`, "gasFees is missing"},
		{"no gas limits", good, `"accountGasLimits":`, `"accountGasLimit":`, "accountGasLimits is missing"},
		{"init code without a factory", good, `"0x00000000000000000000000000000000000000cc01"`, `"0x000000000000000000000000000000000000cc"`, "initCode must be empty, or an address"},
		{"a paymaster without its gas", good, `ddf000000000000000000000000000000af000000000000000000000000000000b08"`, `dd"`, "paymasterAndData must be"},
		{"a paymaster and most of its gas", good, `0b08"`, `"`, "paymasterAndData must be"},
		{"a paymaster without data", good, `0b08"`, `0b"`, ""},
		{"a member of the other form", good, `"signature"`, `"callGasLimit":"0x1","signature"`, "callGasLimit is not a member"},
		{"a delegation without its marker", delegated, `"0x770200000000000000000000000000000000000001"`, `"0x00000000000000000000000000000000000000cc01"`, "initCode must begin with " + marker7702Long},
		{"a marker that is cut off", delegated, `"0x770200000000000000000000000000000000000001"`, `"0x77020000000000000000000000000000000000"`, "initCode must begin with " + marker7702Long},
		{"a delegation that is not given", delegated, `"eip7702Auth":`, `"eip7702Auths":`, "eip7702Auth is missing"},
	} {
		changed := strings.Replace(c.text, c.old, c.now, 1)
		if changed == c.text {
			t.Fatalf("%s: nothing was changed", c.name)
		}
		_, err := DecodeUserOperation([]byte(changed), V08)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestNotOperations: anything but one object with its members, and an entry point, is refused with the reason.
func TestNotOperations(t *testing.T) {
	for _, text := range []string{``, ` `, `null`, `[]`, `"0x"`, `{`, `{}{}`, `{"sender":1,"sender":2}`} {
		if op, err := DecodeUserOperation([]byte(text), V07); err == nil || op != nil || !strings.Contains(err.Error(), "it is not a JSON object") {
			t.Errorf("%q is read as %+v, %v", text, op, err)
		}
	}
	b := newBench(t)
	op := operation(execute(payee, 5, nil))
	hash := op.Hash(common.HexToAddress(entryPoint07), chain)
	body := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"eth_sendUserOperation","params":` + params + `}`
	}
	good := string(op.AppendJSON(nil))
	for params, want := range map[string]string{
		`[]`:             "params has 0 members; give exactly one user operation and its entry point",
		`[` + good + `]`: "params has 1 members",
		`[` + good + `,"` + entryPoint07 + `",{}]`: "params has 3 members",
		`[[],"` + entryPoint07 + `"]`:              "the user operation is refused: it is not a JSON object",
		`[{},"` + entryPoint07 + `"]`:              "the user operation is refused: sender is missing",
		`[` + good + `,1]`:                         "the entry point must be an address",
		`[` + good + `,"0x"]`:                      "the entry point must be an address",
		`["` + entryPoint07 + `",` + good + `]`:    "the entry point must be an address",
	} {
		got := reason(t, b.do(Bundler, "8453", body(params), b.token(b.opClaims(hash))))
		if !strings.HasPrefix(got, "-32602 SVC_POLICY_VIOLATION: ") || !strings.Contains(got, want) || len(b.node.sent()) != 0 {
			t.Errorf("%s: %q, want %q; sent %q", params, got, want, b.node.sent())
		}
	}
}
