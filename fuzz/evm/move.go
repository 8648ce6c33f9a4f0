package evm

import (
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
)

// A Move is one call that a wallet makes.
type Move struct {
	Target common.Address
	Value  *big.Int
	Data   []byte
	pays   *payment // what the data does with a token, where it is of the token's everyday methods
}

// A payment is what an everyday method of a token does.
type payment struct {
	approval  bool
	amount    *big.Int
	recipient common.Address
}

// A mover makes moves of a wallet.
type mover struct {
	*rand.Rand
	wallet common.Address
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (m *mover) anybody() common.Address {
	return pick(m.Rand, payee, payee, stranger, stranger, victim, signer, fresh, safe, account, usdc, weth, entryPoint7)
}

// amount is in base units of something with 6 or 18 decimals: nothing, what a policy allows, a little or a lot more.
func (m *mover) amount(decimals int) *big.Int {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	switch m.IntN(8) {
	case 0:
		return new(big.Int)
	case 1:
		return unit.Mul(unit, big.NewInt(100))
	case 2:
		return unit.Mul(unit, big.NewInt(250))
	case 3:
		return unit.Add(unit.Mul(unit, big.NewInt(250)), big.NewInt(1))
	case 4:
		return unit.Mul(unit, big.NewInt(900))
	case 5:
		return new(big.Int).Set(unlimited)
	}
	return unit.Div(unit.Mul(unit, big.NewInt(m.Int64N(50))), big.NewInt(100))
}

// native is an amount of the native currency, most often none.
func (m *mover) native() *big.Int {
	if m.IntN(3) > 0 {
		return new(big.Int)
	}
	return m.amount(18)
}

// move makes a call: a payment, something that a token can do, a call that runs others, or anything.
func (m *mover) move(depth int) Move {
	switch n := m.IntN(20); {
	case n < 3:
		return Move{Target: m.anybody(), Value: m.amount(18)}
	case n < 8:
		return m.everyday()
	case n < 14:
		return m.tokenCall()
	case n < 18 && depth > 0:
		return m.nested(depth)
	case n == 18:
		return Move{Target: m.anybody(), Value: m.native(), Data: m.noise()}
	}
	move := m.tokenCall() // a token's data to anybody
	move.Target, move.pays = m.anybody(), nil
	return move
}

func (m *mover) noise() []byte {
	data := make([]byte, m.IntN(70))
	for i := range data {
		data[i] = byte(m.Uint32())
	}
	return data
}

// everyday makes a call of the methods by which intents name tokens.
func (m *mover) everyday() Move {
	token := pick(m.Rand, tokens...)
	p := &payment{amount: m.amount(decimals[token]), recipient: m.anybody()}
	var data []byte
	switch m.IntN(6) {
	case 0, 1, 2:
		data = Encode("transfer(address,uint256)", p.recipient, p.amount)
	case 3:
		data = Encode("transferFrom(address,address,uint256)", pick(m.Rand, m.wallet, m.wallet, victim), p.recipient, p.amount)
	case 4:
		p.approval, data = true, Encode("approve(address,uint256)", p.recipient, p.amount)
	default:
		p.approval, data = true, Encode("increaseAllowance(address,uint256)", p.recipient, p.amount)
	}
	if m.IntN(20) == 0 {
		data = append(data, m.noise()...)
	}
	value := new(big.Int)
	if m.IntN(12) == 0 {
		value = m.amount(18)
	}
	return Move{token, value, data, p}
}

// tokenMethods are the methods of contracts.sol's Token beside the everyday ones. Letters say what its arguments are: a
// wallet that signs (s), whoever owns (o), a recipient (r), an amount (n), zero (0), true or false (t), a signature's parts
// (v r s, as VRS), its bytes (S), bytes (b).
var tokenMethods = []struct{ signature, arguments string }{
	{"increaseApproval(address,uint256)", "rn"},
	{"decreaseAllowance(address,uint256)", "rn"},
	{"decreaseApproval(address,uint256)", "rn"},
	{"permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", "srn0VRS"},
	{"permit(address,address,uint256,uint256,bytes)", "srn0B"},
	{"permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)", "sr00tVRS"},
	{"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", "srn00WVRS"},
	{"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", "srn00WB"},
	{"receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", "srn00WVRS"},
	{"receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", "srn00WB"},
	{"transferAndCall(address,uint256)", "rn"},
	{"transferAndCall(address,uint256,bytes)", "rnb"},
	{"transferFromAndCall(address,address,uint256)", "orn"},
	{"transferFromAndCall(address,address,uint256,bytes)", "ornb"},
	{"approveAndCall(address,uint256)", "rn"},
	{"approveAndCall(address,uint256,bytes)", "rnb"},
	{"send(address,uint256,bytes)", "rnb"},
	{"operatorSend(address,address,uint256,bytes,bytes)", "ornbb"},
	{"authorizeOperator(address)", "r"},
	{"burn(uint256)", "n"},
	{"burn(uint256,bytes)", "nb"},
	{"burnFrom(address,uint256)", "on"},
	{"operatorBurn(address,uint256,bytes,bytes)", "onbb"},
	{"push(address,uint256)", "rn"},
	{"move_(address,address,uint256)", "orn"},
	{"sweep(address)", "r"},
	{"approve(address)", "r"},
	{"deposit()", ""},
	{"withdraw(uint256)", "n"},
}

// tokenCall makes a call of a token's further methods.
func (m *mover) tokenCall() Move {
	token, method := pick(m.Rand, tokens...), pick(m.Rand, tokenMethods...)
	signing := common.Address{}
	var arguments []any
	for _, letter := range method.arguments {
		switch letter {
		case 's':
			signing = pick(m.Rand, wallets...)
			arguments = append(arguments, signing)
		case 'o':
			arguments = append(arguments, pick(m.Rand, m.wallet, m.wallet, victim))
		case 'r':
			arguments = append(arguments, m.anybody())
		case 'n':
			arguments = append(arguments, m.amount(decimals[token]))
		case '0':
			arguments = append(arguments, 0)
		case 't':
			arguments = append(arguments, m.IntN(2) == 0)
		case 'V', 'S', 'W':
			arguments = append(arguments, 27)
		case 'R':
			arguments = append(arguments, signing)
		case 'B':
			arguments = append(arguments, append(common.LeftPadBytes(signing[:], 32), make([]byte, 33)...))
		case 'b':
			arguments = append(arguments, m.noise())
		}
	}
	value := new(big.Int)
	if method.signature == "deposit()" {
		value = m.amount(18)
	}
	return Move{Target: token, Value: value, Data: Encode(method.signature, arguments...)}
}

// nested makes a call that runs others: an account's, a Safe's, an entry point's, a token's multicall.
func (m *mover) nested(depth int) Move {
	inner := &mover{m.Rand, pick(m.Rand, signer, safe, account)}
	switch m.IntN(4) {
	case 0:
		move := m.everyday()
		if m.IntN(2) == 0 {
			move = m.tokenCall()
		}
		return Move{Target: move.Target, Value: m.native(), Data: m.multicall(move)}
	case 1:
		inner.wallet = safe
		return Move{Target: safe, Value: m.native(), Data: m.safeCall(inner.move(depth - 1))}
	case 2:
		at := pick(m.Rand, entryPoints...)
		if m.IntN(2) == 0 {
			most := new(big.Int).Div(ether, big.NewInt(2))
			return Move{Target: at, Value: new(big.Int), Data: Encode("withdrawTo(address,uint256)", payee, most)}
		}
		return Move{Target: at, Value: m.native(), Data: m.operations(at, depth-1)}
	}
	target := pick(m.Rand, m.wallet, m.wallet, signer, account)
	inner.wallet = target
	return Move{Target: target, Value: m.native(), Data: m.batch(inner.move(depth-1), inner.move(depth-1))}
}

func (m *mover) multicall(move Move) []byte {
	if m.IntN(2) == 0 {
		return Encode("multicall(bytes[])", List{move.Data})
	}
	return Encode("multicall(uint256,bytes[])", 1, List{move.Data, move.Data})
}

func (m *mover) safeCall(move Move) []byte {
	switch m.IntN(3) {
	case 0:
		return Encode("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
			move.Target, move.Value, move.Data, m.IntN(2), 0, 0, 0, common.Address{}, common.Address{}, make([]byte, 65))
	case 1:
		return Encode("execTransactionFromModule(address,uint256,bytes,uint8)", move.Target, move.Value, move.Data, m.IntN(2))
	}
	return Encode("execTransactionFromModuleReturnData(address,uint256,bytes,uint8)", move.Target, move.Value, move.Data, m.IntN(2))
}

// single is the mode of execute(bytes32,bytes) for one call, several that for a batch.
var single, several = [32]byte{}, [32]byte{1}

// batch makes an account's call of one or two moves.
func (m *mover) batch(one, two Move) []byte {
	calls := List{Dynamic{one.Target, one.Value, one.Data}, Dynamic{two.Target, two.Value, two.Data}}
	if m.IntN(2) == 0 {
		calls = calls[:1]
	}
	switch m.IntN(9) {
	case 7, 8:
		return Encode("together((address,uint256,bytes)[])", calls)
	case 0:
		return Encode("execute(address,uint256,bytes)", one.Target, one.Value, one.Data)
	case 1:
		return Encode("execute(bytes32,bytes)", several, encodeAll([]any{calls}))
	case 2:
		packed := append(append(append([]byte(nil), one.Target[:]...), wordOf(one.Value)...), one.Data...)
		return Encode("execute(bytes32,bytes)", single, packed)
	case 3:
		return Encode("executeBatch(address[],bytes[])", List{one.Target}, List{one.Data})
	case 4:
		return Encode("executeBatch(address[],uint256[],bytes[])", List{one.Target, two.Target}, List{one.Value, two.Value}, List{one.Data, two.Data})
	case 5:
		return Encode("execTransactionFromModule(address,uint256,bytes,uint8)", one.Target, one.Value, one.Data, 0)
	}
	return Encode("executeBatch((address,uint256,bytes)[])", calls)
}

// operations makes an entry point's call with an operation of one of the wallets.
func (m *mover) operations(at common.Address, depth int) []byte {
	inner := &mover{m.Rand, pick(m.Rand, signer, account)}
	move := inner.move(depth)
	op := operationOf(inner.wallet, move)
	aggregated := m.IntN(3) == 0
	switch {
	case at == entryPoint6 && aggregated:
		return Encode(handleAggre06, List{Dynamic{List{op.packed06()}, common.Address{}, []byte{}}}, payee)
	case at == entryPoint6:
		return Encode(handleOps06, List{op.packed06()}, payee)
	case aggregated:
		return Encode(handleAggre07, List{Dynamic{List{op.packed07()}, common.Address{}, []byte{}}}, payee)
	}
	return Encode(handleOps07, List{op.packed07()}, payee)
}

// operationOf returns an operation of a wallet that makes a move.
func operationOf(wallet common.Address, move Move) *sentOperation {
	return &sentOperation{
		Sender: spell(wallet), CallData: hexOf(Encode("execute(address,uint256,bytes)", move.Target, move.Value, move.Data)),
		CallGasLimit: "0x80000", VerificationGasLimit: "0x20000", PreVerificationGas: "0x1000", MaxFeePerGas: "0x3b9aca00",
		MaxPriorityFeePerGas: "0x1",
	}
}

// operationsOf is the data by which anybody has an entry point execute an operation.
func operationsOf(wallet common.Address, move Move) []byte {
	return Encode(handleOps07, List{operationOf(wallet, move).packed07()}, payee)
}
