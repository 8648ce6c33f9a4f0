package evm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"bailiff/runtime/attest"
	"bailiff/runtime/gateway"
)

// A Plan is what an agent tries: a write, and what it declares of it.
type Plan struct {
	Raw        []byte         // a signed transaction; nil: an operation
	Op         []byte         // a user operation in the form of ERC-7769
	EntryPoint common.Address // of Op
	Paid       bool           // Op names a paymaster other than its sender
	Commitment string         // txCommit or userOpHash
	Intent     Intent
	Made       Move // the call that the wallet makes itself
	Lied       bool // Intent is not what the write does
}

// An Intent is what is declared.
type Intent struct {
	Action        string `json:"action"`
	TargetAddress string `json:"targetAddress,omitempty"`
	Token         string `json:"token,omitempty"`
	Amount        string `json:"amount,omitempty"`
	AmountUnit    string `json:"amount_unit,omitempty"`
	To            string `json:"to,omitempty"`
	Calldata      string `json:"calldata,omitempty"`
	MaxFee        string `json:"maxFee,omitempty"`
}

// String shows the plan.
func (p *Plan) String() string {
	intent, _ := json.Marshal(p.Intent)
	write := "transaction"
	if p.Op != nil {
		write = fmt.Sprintf("operation %s at %s", p.Op, spell(p.EntryPoint))
	}
	return fmt.Sprintf("%s\n  calls %s with %s wei and %s\n  declared as %s", write, spell(p.Made.Target), p.Made.Value, hexOf(p.Made.Data), intent)
}

// Body returns the request to authorize.
func (p *Plan) Body() []byte {
	commitment := "txCommit"
	if p.Op != nil {
		commitment = "userOpHash"
	}
	body, err := json.Marshal(map[string]any{"framework": "custom", "agentId": "attacker", commitment: p.Commitment, "chainId": ChainID, "intent": p.Intent})
	if err != nil {
		panic(err)
	}
	return body
}

// Claims are those of an attestation for whatever the plan declares.
func (p *Plan) Claims() attest.Intent {
	i := attest.Intent{
		Action: p.Intent.Action, AmountBase: p.Intent.Amount, TargetAddress: p.Intent.TargetAddress, Token: p.Intent.Token,
	}
	if i.AmountBase == "" {
		i.AmountBase = "0"
	}
	if i.Token != "" {
		six := 6
		i.Decimals = &six
	}
	if p.Intent.To != "" {
		i.To.List = []string{p.Intent.To}
	}
	if p.Intent.Calldata != "" {
		sum := sha256.Sum256(common.FromHex(p.Intent.Calldata))
		i.CalldataHash = hex.EncodeToString(sum[:])
	}
	if p.Intent.MaxFee != "" {
		i.MaxFeeBase = base(p.Intent.MaxFee)
	}
	return i
}

// base returns a decimal of ether with 18 fraction digits in wei.
func base(decimal string) string {
	n, ok := new(big.Rat).SetString(decimal)
	if !ok {
		panic(decimal)
	}
	return new(big.Int).Div(n.Mul(n, new(big.Rat).SetInt(ether)).Num(), n.Denom()).String()
}

func hexOf(data []byte) string { return "0x" + hex.EncodeToString(data) }

// NewPlan makes a plan against a policy: a transaction or an operation, declared as it is more often than not.
func NewPlan(r *rand.Rand, policy *Policy) *Plan {
	var p *Plan
	var fee *big.Int
	var move Move
	if r.IntN(5) < 3 {
		move = (&mover{r, signer}).move(2)
		p, fee = newTransaction(r, move)
	} else {
		p, fee, move = newOperation(r)
	}
	p.Made = move
	p.declare(r, move)
	p.declareFee(r, policy, fee)
	for r.IntN(3) == 0 {
		p.lie(r)
	}
	return p
}

// gasPrice is one that a block takes, now and then one that costs ethers.
func gasPrice(r *rand.Rand) *big.Int {
	gwei := big.NewInt(1_000_000_000)
	switch r.IntN(10) {
	case 0:
		return gwei.Mul(gwei, big.NewInt(100+r.Int64N(2_000_000)))
	case 1:
		return gwei.Mul(gwei, big.NewInt(5+r.Int64N(5000)))
	}
	return gwei.Mul(gwei, big.NewInt(2+r.Int64N(3)))
}

// newTransaction signs a transaction of the signer, and returns the most that its gas can cost.
func newTransaction(r *rand.Rand, move Move) (*Plan, *big.Int) {
	price, gas := gasPrice(r), uint64(1_500_000)
	var data types.TxData = &types.DynamicFeeTx{
		ChainID: big.NewInt(ChainID), GasTipCap: price, GasFeeCap: price, Gas: gas, To: &move.Target, Value: move.Value, Data: move.Data,
	}
	if r.IntN(4) == 0 {
		data = &types.LegacyTx{GasPrice: price, Gas: gas, To: &move.Target, Value: move.Value, Data: move.Data}
	}
	tx, err := types.SignNewTx(signerKey, types.LatestSignerForChainID(big.NewInt(ChainID)), data)
	if err != nil {
		panic(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return transactionOf(raw), new(big.Int).Mul(price, new(big.Int).SetUint64(gas))
}

func transactionOf(raw []byte) *Plan {
	sum := sha256.Sum256(raw)
	return &Plan{Raw: raw, Commitment: hex.EncodeToString(sum[:])}
}

// newOperation makes an operation of one of the accounts, and returns the most that its gas can cost.
func newOperation(r *rand.Rand) (*Plan, *big.Int, Move) {
	sender := pick(r, account, account, signer, fresh)
	m := &mover{r, sender}
	move := m.move(2)
	callData := Encode("execute(address,uint256,bytes)", move.Target, move.Value, move.Data)
	if r.IntN(12) == 0 {
		callData = m.batch(move, m.move(1))
	}
	version := pick(r, gateway.V06, gateway.V07, gateway.V08)
	if sender == fresh {
		version = gateway.V08
	}
	op := map[string]any{
		"sender": spell(sender), "nonce": "0x0", "callData": hexOf(callData), "signature": "0x01", "maxPriorityFeePerGas": "0x1",
		"callGasLimit": pick(r, "0x100000", "0x40000"), "verificationGasLimit": pick(r, "0x20000", "0x200000"),
		"preVerificationGas": pick(r, "0xc000", "0xc000", "0xc000", "0xc000", "0x3b9aca00", "0x10000000000"),
	}
	if r.IntN(40) == 0 {
		op["preVerificationGas"] = "0x1" + fmt.Sprintf("%050d", 0) // 2^200
	}
	price := gasPrice(r)
	op["maxFeePerGas"] = "0x" + price.Text(16)
	if version == gateway.V06 {
		op["initCode"], op["paymasterAndData"] = "0x", "0x"
	}
	if sender == fresh {
		op["factory"], op["factoryData"], op["eip7702Auth"] = "0x7702", "0x", delegation()
	}
	p := &Plan{EntryPoint: entryPoints[version-gateway.V06]}
	gas := gasOf(op, "callGasLimit", "verificationGasLimit", "preVerificationGas")
	if r.IntN(3) == 0 {
		payer := pick(r, paymaster, paymaster, sender, sender, common.Address{})
		p.Paid = payer == paymaster
		gas.Add(gas, pay(r, op, version, payer))
	}
	p.commit(op, version)
	return p, gas.Mul(gas, price), move
}

// pay has a paymaster pay for an operation, and returns the gas that it adds.
func pay(r *rand.Rand, op map[string]any, version gateway.Version, payer common.Address) *big.Int {
	if version == gateway.V06 {
		op["paymasterAndData"] = spell(payer)
		return gasOf(op, "verificationGasLimit", "verificationGasLimit")
	}
	op["paymaster"], op["paymasterData"] = spell(payer), "0x"
	op["paymasterVerificationGasLimit"], op["paymasterPostOpGasLimit"] = "0x8000", pick(r, "0x8000", "0x8000", "0x80000000")
	return gasOf(op, "paymasterVerificationGasLimit", "paymasterPostOpGasLimit")
}

// versionOf returns the version of an entry point.
func versionOf(at common.Address) gateway.Version {
	return gateway.V06 + gateway.Version(slices.Index(entryPoints, at))
}

func gasOf(op map[string]any, names ...string) *big.Int {
	sum := new(big.Int)
	for _, name := range names {
		sum.Add(sum, number(op[name].(string)))
	}
	return sum
}

// delegation is the authorization by which the fresh wallet becomes an account.
func delegation() map[string]any {
	signed, err := types.SignSetCode(freshKey, types.SetCodeAuthorization{ChainID: *uint256.NewInt(ChainID), Address: delegate})
	if err != nil {
		panic(err)
	}
	return map[string]any{
		"chainId": "0x2105", "address": spell(delegate), "nonce": "0x0", "yParity": fmt.Sprintf("0x%x", signed.V), "r": signed.R.Hex(), "s": signed.S.Hex(),
	}
}

// commit writes the operation down and computes its hash.
func (p *Plan) commit(op map[string]any, version gateway.Version) {
	text, err := json.Marshal(op)
	if err != nil {
		panic(err)
	}
	read, err := gateway.DecodeUserOperation(text, version)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	hash := read.Hash(p.EntryPoint, ChainID)
	p.Op, p.Commitment = text, hexOf(hash[:])
}

// declare describes the move, in one of the ways in which it can be.
func (p *Plan) declare(r *rand.Rand, move Move) {
	i := &p.Intent
	*i = Intent{TargetAddress: spell(move.Target), Amount: move.Value.String(), AmountUnit: "base"}
	i.Action = pick(r, "contract.call", "contract.call", "vault.deposit")
	switch named := move.pays != nil && symbols[move.Target] != ""; {
	case len(move.Data) == 0 && r.IntN(8) > 0:
		i.Action = "wallet.transfer"
	case named && r.IntN(4) > 0:
		i.Token, i.Amount, i.To = symbols[move.Target], move.pays.amount.String(), spell(move.pays.recipient)
		if i.Action = "wallet.transfer"; move.pays.approval {
			i.Action = "token.approve"
		}
		if r.IntN(3) > 0 {
			break
		}
		fallthrough
	case symbols[move.Target] != "" && r.IntN(4) == 0:
		if i.Token == "" {
			i.Token, i.Amount = symbols[move.Target], (&mover{r, signer}).amount(decimals[move.Target]).String()
		}
		fallthrough
	default:
		i.Calldata = hexOf(move.Data)
	}
	if p.Op != nil {
		i.Action = "erc4337.userop"
	}
}

// declareFee declares what gas costs, where that is asked for.
func (p *Plan) declareFee(r *rand.Rand, policy *Policy, fee *big.Int) {
	if policy.Fee == nil && r.IntN(3) == 0 {
		return
	}
	if fee.Cmp(policy.most()) > 0 || r.IntN(10) == 0 {
		fee = policy.most()
	}
	if p.Intent.MaxFee = new(big.Rat).SetFrac(fee, ether).FloatString(18); r.IntN(3) == 0 {
		p.Intent.MaxFee = part(r, p.Intent.MaxFee)
	}
}

// most is a fee that the policy allows.
func (p *Policy) most() *big.Int {
	if p.Fee != nil {
		return p.Fee
	}
	return ether
}

// lie changes something of what is declared.
func (p *Plan) lie(r *rand.Rand) {
	i := &p.Intent
	p.Lied = true
	switch r.IntN(9) {
	case 0:
		i.Amount = "0"
	case 1:
		i.Amount = (&mover{r, signer}).amount(18).String()
	case 2:
		i.Calldata = ""
	case 3:
		i.Calldata = hexOf((&mover{r, signer}).everyday().Data)
	case 4:
		i.To = spell(payee)
	case 5:
		i.Token = pick(r, "", "USDC", "WETH", spell(usdc), spell(weth))
	case 6:
		i.TargetAddress = spell(pick(r, usdc, weth, payee, safe, account))
	case 7:
		i.MaxFee = pick(r, "", "0", "0.001", part(r, i.MaxFee))
	case 8:
		if p.Op == nil {
			i.Action = pick(r, "wallet.transfer", "token.approve", "contract.call", "vault.deposit")
		}
	}
}

// part is a part of a fee.
func part(r *rand.Rand, fee string) string {
	whole, ok := new(big.Rat).SetString(fee)
	if !ok {
		return fee
	}
	return whole.Mul(whole, big.NewRat(1+r.Int64N(7), 8)).FloatString(18)
}
