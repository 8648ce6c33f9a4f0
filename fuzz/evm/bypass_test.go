package evm

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// half is a policy that limits a transaction to 0.5 ETH and 250 USDC.
func half() *Policy {
	unit := big.NewInt(250_000_000)
	return &Policy{
		Native: new(big.Int).Div(ether, big.NewInt(2)), Tokens: map[common.Address]*big.Int{usdc: unit},
		Text: "version: 2.1.0\n\n## evm\nallowed_chains: 8453\nallowed_actions: wallet.transfer, contract.call, token.approve, erc4337.userop\n" +
			"max_transaction_eth: 0.5\ntoken.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: " + spell(usdc) + "\n",
	}
}

// signed returns a transaction of the signer that makes a move, declared as it is, at a price for its gas.
func signed(t *testing.T, move Move, price *big.Int) *Plan {
	t.Helper()
	tx := types.MustSignNewTx(signerKey, types.LatestSignerForChainID(big.NewInt(ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(ChainID), GasTipCap: price, GasFeeCap: price, Gas: 1_000_000, To: &move.Target, Value: move.Value, Data: move.Data,
	})
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	p := transactionOf(raw)
	p.Made = move
	p.Intent = Intent{Action: "contract.call", TargetAddress: spell(move.Target), Amount: move.Value.String(), AmountUnit: "base", Calldata: hexOf(move.Data)}
	return p
}

// operated returns an operation of the account that makes a move, declared as it is.
func operated(t *testing.T, move Move, change func(map[string]any)) *Plan {
	t.Helper()
	op := map[string]any{
		"sender": spell(account), "nonce": "0x0", "callData": hexOf(Encode("execute(address,uint256,bytes)", move.Target, move.Value, move.Data)),
		"callGasLimit": "0x100000", "verificationGasLimit": "0x20000", "preVerificationGas": "0xc000", "maxFeePerGas": "0x77359400",
		"maxPriorityFeePerGas": "0x1", "signature": "0x01",
	}
	change(op)
	p := &Plan{EntryPoint: entryPoint7, Made: move}
	p.commit(op, versionOf(entryPoint7))
	p.Intent = Intent{Action: "erc4337.userop", TargetAddress: spell(move.Target), Amount: move.Value.String(), AmountUnit: "base", Calldata: hexOf(move.Data)}
	return p
}

// A bypass is something that once took more than was attested.
type bypass struct {
	name string
	plan *Plan
	// takes is what it would take, to be found where it is executed; nothing has to be refused for it.
	takes string
}

func bypasses(t *testing.T) []bypass {
	gwei, none, hundred := big.NewInt(2_000_000_000), new(big.Int), new(big.Int).Mul(ether, big.NewInt(100))
	m := &mover{rand.New(rand.NewPCG(1, 1)), signer}
	pay := Move{Target: payee, Value: hundred}
	batch := Encode("executeBatch((address,uint256,bytes)[])", List{Dynamic{payee, hundred, []byte{}}})
	same := func(map[string]any) {}
	call := func(target common.Address, data []byte) Move { return Move{Target: target, Value: none, Data: data} }
	send := Encode("transfer(address,uint256)", payee, big.NewInt(1_000_000_000))
	free := signed(t, Move{Target: payee, Value: none}, new(big.Int).Mul(gwei, big.NewInt(50_000)))
	free.Intent.Action, free.Intent.Calldata = "wallet.transfer", ""
	return []bypass{
		{"executeBatch of a delegated wallet to itself", signed(t, call(signer, batch), gwei), "native currency"},
		{"execute of the account on itself", operated(t, call(account, batch), same), "native currency"},
		{"handleOps", signed(t, call(entryPoint7, operationsOf(account, pay)), gwei), "native currency"},
		{"execute of an account that the signer owns", signed(t, call(account, Encode("execute(address,uint256,bytes)", payee, hundred, []byte{})), gwei), "native currency"},
		{"execTransaction of a Safe that the signer owns", signed(t, call(safe, safeCall(pay)), gwei), "native currency"},
		{"a transfer of nothing at any price", free, "gas"},
		{"any preVerificationGas", operated(t, Move{Target: payee, Value: none}, func(op map[string]any) { op["preVerificationGas"] = "0x77359400" }), "gas"},
		{"transferFrom of somebody else", signed(t, call(usdc, Encode("transferFrom(address,address,uint256)", victim, payee, big.NewInt(1))), gwei), "victim"},
		{"a permit", signed(t, call(usdc, Encode("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", signer, payee, unlimited, 0, 27, signer, 0)), gwei), "USDC"},
		{"an authorization", signed(t, call(usdc, Encode("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
			signer, payee, wealth, 0, 0, 0, append(common.LeftPadBytes(signer[:], 32), make([]byte, 33)...))), gwei), "USDC"},
		{"multicall", signed(t, call(usdc, Encode("multicall(bytes[])", List{send})), gwei), "USDC"},
		{"a method that only this token has", signed(t, call(usdc, Encode("sweep(address)", payee)), gwei), "USDC"},
		{"ERC-777", signed(t, call(usdc, Encode("authorizeOperator(address)", payee)), gwei), "USDC"},
		{"noise", signed(t, call(payee, m.noise()), gwei), ""},
	}
}

// safeCall has a Safe make a move.
func safeCall(move Move) []byte {
	return Encode("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
		move.Target, move.Value, move.Data, 0, 0, 0, 0, common.Address{}, common.Address{}, make([]byte, 65))
}

// TestBypasses: what once took more than was attested is forwarded through neither door, and would take it.
func TestBypasses(t *testing.T) {
	chain, signer := world(t)
	policy := half()
	service, err := NewService(policy, signer)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	for _, b := range bypasses(t) {
		for _, door := range []Door{Authorize, Attest} {
			_, write, refusal := service.Forward(b.plan, door.attest)
			if (write == nil) != (b.takes != "") {
				t.Errorf("%s, through %s: forwarded %t %s", b.name, door.Name, write != nil, refusal)
			}
		}
		write := b.plan.Raw
		if b.plan.Op != nil {
			write = b.plan.Op
		}
		losses, err := chain.Run(b.plan, write)
		if err != nil || losses.Failed {
			t.Errorf("%s fails on the chain: %v", b.name, err)
			continue
		}
		claims := b.plan.Claims()
		found := strings.Join(policy.Violations(&claims, losses, false, true), "; ")
		if (b.takes == "") != (found == "") || !strings.Contains(found, b.takes) {
			t.Errorf("%s takes %q on the chain, want %q", b.name, found, b.takes)
		}
	}
}

// TestHonest: everyday payments are forwarded, and take exactly what they declare.
func TestHonest(t *testing.T) {
	chain, signer := world(t)
	policy := half()
	service, err := NewService(policy, signer)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	gwei, tenth, ten := big.NewInt(2_000_000_000), new(big.Int).Div(ether, big.NewInt(10)), big.NewInt(10_000_000)
	pay := Move{Target: payee, Value: tenth}
	token := Move{Target: usdc, Value: new(big.Int), Data: Encode("transfer(address,uint256)", payee, ten)}
	approve := Move{Target: usdc, Value: new(big.Int), Data: Encode("approve(address,uint256)", payee, ten)}
	as := func(p *Plan, i Intent) *Plan { p.Intent = i; return p }
	same := func(map[string]any) {}
	native := Intent{Action: "wallet.transfer", TargetAddress: spell(payee), Amount: "0.1"}
	usdcOf := func(action string) Intent {
		return Intent{Action: action, TargetAddress: spell(usdc), Token: "USDC", Amount: "10", To: spell(payee)}
	}
	asOperation := native
	asOperation.Action = "erc4337.userop"
	for _, c := range []struct {
		name          string
		plan          *Plan
		native, token *big.Int
	}{
		{"ether", as(signed(t, pay, gwei), native), tenth, new(big.Int)},
		{"a token", as(signed(t, token, gwei), usdcOf("wallet.transfer")), new(big.Int), ten},
		{"an approval", as(signed(t, approve, gwei), usdcOf("token.approve")), new(big.Int), ten},
		{"a token, as a call", signed(t, token, gwei), new(big.Int), ten},
		{"ether of an account", as(operated(t, pay, same), asOperation), tenth, new(big.Int)},
		{"a token of an account", as(operated(t, token, same), usdcOf("erc4337.userop")), new(big.Int), ten},
	} {
		_, write, refusal := service.Forward(c.plan, Authorize.attest)
		if refusal != "" {
			t.Errorf("%s is refused: %s", c.name, refusal)
			continue
		}
		losses, err := chain.Run(c.plan, write)
		if err != nil || losses.Failed || losses.Native.Cmp(c.native) != 0 || losses.Tokens[usdc].Cmp(c.token) != 0 || losses.Fee.Sign() <= 0 {
			t.Errorf("%s: %+v %v", c.name, losses, err)
		}
	}
}
