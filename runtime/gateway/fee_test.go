package gateway

import (
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"bailiff/runtime/attest"
)

func gwei(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(1_000_000_000)) }

// costing returns a transaction whose gas costs at most so many gwei.
func costing(n int64) *types.DynamicFeeTx {
	tx := dynamic(payee, 5, nil)
	tx.Gas, tx.GasFeeCap = 100_000, new(big.Int).Div(gwei(n), big.NewInt(100_000))
	return tx
}

// What gas may cost is held to the claim, and where there is none to the setting of the chain.
func TestFees(t *testing.T) {
	const unit = 1_000_000_000 // a native unit in gwei
	limit := func(text string) func(*Config) {
		return func(c *Config) {
			most, err := ParseMaxFee(text)
			if err != nil {
				t.Fatal(err)
			}
			c.MaxFees = MaxFees{chain: most, 1: {}}
		}
	}
	same := func(*Config) {}
	for _, c := range []struct {
		name    string
		cost    int64 // in gwei
		claimed string
		setting func(*Config)
		want    string
	}{
		{"one unit", unit, "", same, ""},
		{"more than one unit", unit + 1, "", same, "the gas may cost up to 1.000000001, and without maxFee at most 1 is let through on chain 8453 (SVC_MAX_FEE_8453)"},
		{"as claimed", 7, "7000000000", same, ""},
		{"more than claimed", 8, "7000000000", same, "the gas may cost up to 0.000000008, and the intent's maxFee is 0.000000007"},
		{"nothing claimed to be spent", 1, "0", same, "the intent's maxFee is 0;"},
		{"claimed above the setting", 5 * unit, "5000000000000000000", same, ""},
		{"as set", unit / 2, "", limit("0.5"), ""},
		{"more than set", unit/2 + 1, "", limit("0.5"), "at most 0.5 is let through"},
		{"lifted", 500 * unit, "", limit("0"), ""},
		{"lifted, but claimed", 8, "7000000000", limit("0"), "maxFee is 0.000000007"},
	} {
		b := newBench(t, c.setting)
		legacy := costing(c.cost)
		for _, data := range []types.TxData{legacy, &types.LegacyTx{GasPrice: legacy.GasFeeCap, Gas: legacy.Gas, To: legacy.To, Value: legacy.Value}} {
			raw := sign(t, data, chain)
			claims := b.claims(raw)
			claims.Intent.MaxFeeBase = c.claimed
			got := reason(t, b.send(raw, b.token(claims)))
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
	if polygon, ethereum := defaultMaxFee(137), defaultMaxFee(1); polygon.Format(nativeDecimals) != "100" || ethereum.Format(nativeDecimals) != "1" {
		t.Errorf("%s on Polygon, %s on Ethereum", polygon, ethereum)
	}
	for _, text := range []string{"", "-1", "1e3", "0.0000000000000000001", "one"} {
		if _, err := ParseMaxFee(text); err == nil {
			t.Errorf("%q is a limit", text)
		}
	}
}

// A prefund is what the contract of the operation's version computes: callGas 10, verification 100, preVerification 1000,
// and from 0.7 on 20,000 and 300,000 for a paymaster.
func TestPrefund(t *testing.T) {
	gas := func(n int64) []byte { return common.LeftPadBytes(big.NewInt(n).Bytes(), 16) }
	paying := func(who common.Address) []byte { return join(who[:], gas(20_000), gas(300_000)) }
	payer := common.HexToAddress(payee)
	for _, c := range []struct {
		name      string
		version   Version
		paymaster []byte
		want      int64
		pays      bool
	}{
		{"0.6", V06, nil, 1_110, false},
		{"0.6 with a paymaster", V06, payer[:], 1_310, true},
		{"0.6 with the address zero", V06, make([]byte, 20), 1_110, false},
		{"0.7", V07, nil, 1_110, false},
		{"0.7 with a paymaster", V07, paying(payer), 321_110, true},
		{"0.8 with the address zero", V08, paying(common.Address{}), 321_110, false},
	} {
		op := operation(execute(payee, 5, nil))
		op.Version, op.PaymasterAndData, op.MaxFee = c.version, c.paymaster, big.NewInt(3)
		op.CallGas, op.VerificationGas, op.PreVerification = big.NewInt(10), big.NewInt(100), big.NewInt(1000)
		if got := op.Prefund(); got.Int64() != c.want*3 || (op.paymaster() != nil) != c.pays {
			t.Errorf("%s: %s, want %d; %v", c.name, got, c.want*3, op.paymaster())
		}
	}
}

// TestTermsOfFees: what a paymaster pays is ignored where the policy says so, and nowhere else.
func TestTermsOfFees(t *testing.T) {
	for line, want := range map[string]bool{"": false, "paymaster_fees: count\n": false, "paymaster_fees: ignore\n": true} {
		terms, err := ParseTerms([]byte("version: 2.4.0\n\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\n" + line))
		if err != nil || terms.ignorePaymaster != want || terms.accountCalls {
			t.Errorf("%q: %+v, %v", line, terms, err)
		}
	}
}

// The prefund of an operation is held to the claim, whichever account pays: the policy may say otherwise of a paymaster that is not the
// sender.
func TestFeesOfOperations(t *testing.T) {
	b := newBench(t)
	ignoring := &Terms{Hash: b.terms.Hash, EVM: true, ignorePaymaster: true}
	huge := new(big.Int).Lsh(big.NewInt(1), 200)
	for _, c := range []struct {
		name      string
		paymaster string
		claimed   string
		terms     *Terms
		want      string
	}{
		{"a huge preVerificationGas", "", "", b.terms, "the gas may cost up to 16069"},
		{"claimed", "", "1000", b.terms, "maxFee is 0.000000000000001;"},
		{"a paymaster's", payee, "", b.terms, "SVC_MAX_FEE_8453"},
		{"a paymaster's, ignored", payee, "", ignoring, ""},
		{"the sender as its own paymaster", stranger, "", ignoring, "SVC_MAX_FEE_8453"},
		{"nobody as the paymaster", "0x" + strings.Repeat("0", 40), "", ignoring, "SVC_MAX_FEE_8453"},
		{"the sender's, ignored or not", "", "", ignoring, "SVC_MAX_FEE_8453"},
	} {
		op := operation(execute(payee, 5, nil))
		if op.PreVerification = huge; c.paymaster != "" {
			op.PaymasterAndData = join(common.FromHex(c.paymaster), make([]byte, 32))
		}
		s := &submission{sender: op.Sender, cost: spending{op.Prefund(), op.paymaster()}}
		err := b.gateway.checkFee(s, &attest.Intent{MaxFeeBase: c.claimed}, chain, c.terms)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	op := operation(execute(payee, 5, nil))
	op.PreVerification = huge
	claims := b.opClaims(op.Hash(common.HexToAddress(entryPoint07), chain))
	if got := reason(t, b.do(Bundler, "8453", opBody(op, entryPoint07), b.token(claims))); !strings.Contains(got, "the gas may cost up to") {
		t.Errorf("submitted: %q", got)
	}
	op.PreVerification, op.MaxFee = huge, new(big.Int).Lsh(big.NewInt(1), 100)
	claims = b.opClaims(op.Hash(common.HexToAddress(entryPoint07), chain))
	if got := reason(t, b.do(Bundler, "8453", opBody(op, entryPoint07), b.token(claims))); !strings.Contains(got, "up to 2^256 wei and more") {
		t.Errorf("beyond 256 bits: %q", got)
	}
}
