package evm

import (
	"crypto/ecdsa"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// ChainID is the chain on which everything happens.
const ChainID = 8453

//go:embed testdata/contracts.json
var contractsJSON []byte

// codes are the contracts' codes by name.
var codes = func() map[string][]byte {
	var compiled map[string]struct{ Code string }
	if err := json.Unmarshal(contractsJSON, &compiled); err != nil {
		panic(err)
	}
	codes := make(map[string][]byte, len(compiled))
	for name, contract := range compiled {
		codes[name] = common.FromHex(contract.Code)
	}
	return codes
}()

// Who and what there is. The agent's wallets are signer, fresh, safe and account; it holds the keys of the first two,
// which own the others, and the paymaster pays with its money too.
var (
	signerKey, signer        = keyOf(1) // an EOA that is delegated to delegate
	freshKey, fresh          = keyOf(2) // an EOA without code
	_, bundler               = keyOf(3)
	safe                     = common.HexToAddress("0x5afe000000000000000000000000000000000001")
	account                  = common.HexToAddress("0xacc0000000000000000000000000000000000001")
	paymaster                = common.HexToAddress("0x9a9a000000000000000000000000000000000001")
	payee                    = common.HexToAddress("0x00000000000000000000000000000000000aa001")
	stranger                 = common.HexToAddress("0x00000000000000000000000000000000000bb001")
	victim                   = common.HexToAddress("0x00000000000000000000000000000000000cc001")
	delegate                 = common.HexToAddress("0xe6Cae83BdE06E4c305530e199D7217f42808555B")
	usdc                     = common.HexToAddress("0x833589fcd6edb6e08f4c7c32d4f71b54bda02913")
	dai                      = common.HexToAddress("0x50c5725949a6f0c72e6c4a641f24049a917db0cb")
	weth                     = common.HexToAddress("0x4200000000000000000000000000000000000006")
	entryPoint6              = common.HexToAddress("0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789")
	entryPoint7              = common.HexToAddress("0x0000000071727de22e5e9d8baf0edac6f37da032")
	entryPoint8              = common.HexToAddress("0x4337084d9e255ff0702461cf8895ce9e3b5ff108")
	wallets                  = []common.Address{signer, fresh, safe, account, paymaster}
	others                   = []common.Address{payee, stranger, victim, bundler, delegate, usdc, dai, weth, entryPoint6, entryPoint7, entryPoint8}
	tokens                   = []common.Address{usdc, dai, weth}
	entryPoints              = []common.Address{entryPoint6, entryPoint7, entryPoint8}
	ether                    = new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)
	wealth                   = new(big.Int).Mul(big.NewInt(1000), ether) // of each wallet, in native currency and of each token
	unlimited                = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	baseFee                  = big.NewInt(params.GWei)
	blockGas          uint64 = 100_000_000
)

func keyOf(n int64) (*ecdsa.PrivateKey, common.Address) {
	key, err := crypto.ToECDSA(common.LeftPadBytes(big.NewInt(n).Bytes(), 32))
	if err != nil {
		panic(err)
	}
	return key, crypto.PubkeyToAddress(key.PublicKey)
}

// The block in which everything happens, by the newest rules.
var (
	chainConfig        = configOf(*params.MergedTestChainConfig)
	blockNumber        = big.NewInt(1)
	blockTime   uint64 = 1
)

func configOf(c params.ChainConfig) params.ChainConfig {
	c.ChainID = big.NewInt(ChainID)
	return c
}

// A Chain is a state from which transactions are executed, each on a copy of its own.
type Chain struct{ base *state.StateDB }

// NewChain returns a chain on which the wallets are rich.
func NewChain() (*Chain, error) {
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		return nil, err
	}
	for a, name := range map[common.Address]string{
		safe: "Safe", account: "Account", delegate: "Account", usdc: "Token", dai: "Token", weth: "Token",
		entryPoint6: "EntryPoint", entryPoint7: "EntryPoint", entryPoint8: "EntryPoint",
	} {
		db.SetCode(a, codes[name], tracing.CodeChangeUnspecified)
	}
	db.SetCode(signer, types.AddressToDelegation(delegate), tracing.CodeChangeUnspecified)
	for _, owned := range []common.Address{safe, account} {
		db.SetState(owned, common.Hash{}, common.BytesToHash(signer[:]))
	}
	rich := uint256.MustFromBig(wealth)
	for _, a := range append(append([]common.Address{bundler, victim, weth}, wallets...), entryPoints...) {
		db.SetBalance(a, rich, tracing.BalanceChangeUnspecified)
	}
	for _, token := range tokens {
		for _, holder := range append([]common.Address{victim}, wallets...) {
			db.SetState(token, mappingSlot(holder, 0), common.BigToHash(wealth))
		}
		for _, wallet := range wallets {
			db.SetState(token, allowanceSlot(victim, wallet), common.BigToHash(unlimited))
		}
	}
	for _, at := range entryPoints {
		db.SetState(at, mappingSlot(paymaster, 0), common.BigToHash(wealth))
		db.SetState(at, mappingSlot(account, 0), common.BigToHash(ether))
	}
	db.Finalise(chainConfig.Rules(blockNumber, true, blockTime))
	return &Chain{db}, nil
}

// mappingSlot is where a mapping in a slot keeps what it has for an address.
func mappingSlot(key common.Address, slot int64) common.Hash {
	return crypto.Keccak256Hash(common.LeftPadBytes(key[:], 32), wordOf(big.NewInt(slot)))
}

func allowanceSlot(owner, spender common.Address) common.Hash {
	inner := mappingSlot(owner, 1)
	return crypto.Keccak256Hash(common.LeftPadBytes(spender[:], 32), inner[:])
}

// Losses is what an execution cost.
type Losses struct {
	Failed bool                        // it was reverted: only gas was spent
	Native *big.Int                    // of the wallets, gas excepted; negative where they gained
	Fee    *big.Int                    // what the wallets and their paymaster paid for gas
	Tokens map[common.Address]*big.Int // of the wallets, with allowances that others have now and had not before
	Victim map[common.Address]*big.Int // of the victim's tokens
}

// Transaction executes a signed transaction.
func (c *Chain) Transaction(raw []byte) (*Losses, error) {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	message, err := core.TransactionToMessage(tx, types.LatestSignerForChainID(big.NewInt(ChainID)), baseFee)
	if err != nil {
		return nil, err
	}
	return c.execute(message, func(_ *state.StateDB, result *core.ExecutionResult) *big.Int {
		return new(big.Int).Mul(message.GasPrice.ToBig(), new(big.Int).SetUint64(result.UsedGas))
	})
}

// Operation executes a user operation as a bundler does that got it in the form of ERC-7769.
func (c *Chain) Operation(text []byte, entryPoint common.Address) (*Losses, error) {
	data, authorization, err := handleOps(text, entryPoint)
	if err != nil {
		return nil, err
	}
	none := new(uint256.Int)
	message := &core.Message{
		To: &entryPoint, From: bundler, Value: none, GasLimit: params.MaxTxGas, GasPrice: uint256.MustFromBig(baseFee),
		GasFeeCap: uint256.MustFromBig(baseFee), GasTipCap: none, Data: data,
	}
	if authorization != nil {
		message.SetCodeAuthorizations = []types.SetCodeAuthorization{*authorization}
	}
	return c.execute(message, func(db *state.StateDB, _ *core.ExecutionResult) *big.Int {
		return db.GetState(entryPoint, common.BigToHash(big.NewInt(1))).Big()
	})
}

// execute applies a message to a copy of the state. fee says what the wallets paid for gas.
func (c *Chain) execute(message *core.Message, fee func(*state.StateDB, *core.ExecutionResult) *big.Int) (*Losses, error) {
	db := c.base.Copy()
	random := common.Hash{1}
	machine := vm.NewEVM(vm.BlockContext{
		CanTransfer: core.CanTransfer, Transfer: core.Transfer, GetHash: func(uint64) common.Hash { return common.Hash{} },
		GasLimit: blockGas, BlockNumber: blockNumber, Time: blockTime, Difficulty: new(big.Int), BaseFee: baseFee, BlobBaseFee: big.NewInt(1), Random: &random,
	}, db, &chainConfig, vm.Config{})
	result, err := core.ApplyMessage(machine, message, core.NewGasPool(blockGas))
	if err != nil {
		return nil, err
	}
	l := &Losses{Failed: result.Failed(), Fee: fee(db, result), Native: new(big.Int), Tokens: map[common.Address]*big.Int{}, Victim: map[common.Address]*big.Int{}}
	l.Native.Sub(holdings(c.base), holdings(db)).Sub(l.Native, l.Fee)
	for _, token := range tokens {
		l.Tokens[token] = new(big.Int).Sub(tokenHoldings(c.base, token), tokenHoldings(db, token))
		held := func(db *state.StateDB) *big.Int { return db.GetState(token, mappingSlot(victim, 0)).Big() }
		l.Victim[token] = new(big.Int).Sub(held(c.base), held(db))
	}
	return l, nil
}

// holdings is what the wallets have of the native currency, deposits at entry points included.
func holdings(db *state.StateDB) *big.Int {
	sum := new(big.Int)
	for _, wallet := range wallets {
		sum.Add(sum, db.GetBalance(wallet).ToBig())
		for _, at := range entryPoints {
			sum.Add(sum, db.GetState(at, mappingSlot(wallet, 0)).Big())
		}
	}
	return sum
}

// tokenHoldings is what the wallets have of a token, less what others may take of it.
func tokenHoldings(db *state.StateDB, token common.Address) *big.Int {
	sum := new(big.Int)
	for _, wallet := range wallets {
		sum.Add(sum, db.GetState(token, mappingSlot(wallet, 0)).Big())
		for _, other := range others {
			sum.Sub(sum, db.GetState(token, allowanceSlot(wallet, other)).Big())
		}
	}
	return sum
}

// spell returns an address as intents spell it.
func spell(a common.Address) string { return "0x" + hex.EncodeToString(a[:]) }
