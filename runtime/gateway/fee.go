package gateway

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/runtime/attest"
	"bailiff/vm/amount"
)

// nativeDecimals is how many fraction digits the native currency of every chain has.
const nativeDecimals = 18

// MaxFees has, by chain, the most in wei that the gas of a write may cost whose attestation claims no maxFeeBase
// (SVC_MAX_FEE_<chainId>). Zero lifts the limit; a chain that is missing has defaultMaxFee.
type MaxFees map[uint64]amount.Amount

// polygon is the chain whose native unit is worth so little that a fee of several is nothing unusual.
const polygon = 137

// defaultMaxFee returns the limit of a chain that has no setting, in wei: one native unit, as geth's own RPC server has it,
// and 100 on Polygon.
func defaultMaxFee(chain uint64) amount.Amount {
	units := uint64(1)
	if chain == polygon {
		units = 100
	}
	limit, _ := amount.Parse(fmt.Sprint(units), nativeDecimals)
	return limit
}

// ParseMaxFee reads a limit as SVC_MAX_FEE_<chainId> has it: a decimal of native units.
func ParseMaxFee(text string) (amount.Amount, error) {
	limit, err := amount.Parse(text, nativeDecimals)
	if err != nil {
		return limit, errors.New("it has to be a decimal of native units with up to 18 fraction digits, such as 0.5; 0 for no limit")
	}
	return limit, nil
}

// limit returns the most that gas may cost on a chain without a claim, and whether there is a limit.
func (m MaxFees) limit(chain uint64) (limit amount.Amount, limited bool) {
	limit, set := m[chain]
	if !set {
		limit = defaultMaxFee(chain)
	}
	return limit, !limit.IsZero()
}

// A spending is what the gas of a write may cost.
type spending struct {
	most *big.Int // in wei
	// paymaster is who pays where that is not the sender; nil: the sender does.
	paymaster *common.Address
}

// Prefund returns what the operation's EntryPoint asks for before it makes the call, in wei: the most that its gas costs.
// Version 0.6 may call a paymaster twice with the gas that verification has, and asks for it three times; from 0.7 on
// the paymaster has gas limits of its own.
func (op *UserOperation) Prefund() *big.Int {
	gas := new(big.Int).Add(op.CallGas, op.PreVerification)
	gas.Add(gas, op.VerificationGas)
	switch {
	case op.Version == V06 && op.paymaster() != nil:
		gas.Add(gas, new(big.Int).Lsh(op.VerificationGas, 1))
	case op.Version != V06 && len(op.PaymasterAndData) > 0:
		limits := op.PaymasterAndData[common.AddressLength:]
		gas.Add(gas, new(big.Int).SetBytes(limits[:wordBytes/2]))
		gas.Add(gas, new(big.Int).SetBytes(limits[wordBytes/2:wordBytes]))
	}
	return gas.Mul(gas, op.MaxFee)
}

// paymaster returns who pays for the operation, or nil where its sender does: EntryPoints take the address zero for no
// paymaster, and an account can be its own.
func (op *UserOperation) paymaster() *common.Address {
	if len(op.PaymasterAndData) == 0 {
		return nil
	}
	a := common.Address(op.PaymasterAndData[:common.AddressLength])
	if a == (common.Address{}) {
		return nil
	}
	return &a
}

// checkFee holds what a write's gas may cost to what was attested: to maxFeeBase, and where none is claimed to the limit of the
// chain (decisions, section 2, "Fees are spend").
func (g *Gateway) checkFee(s *submission, intent *attest.Intent, chain uint64, terms *Terms) error {
	if s.cost.paymaster != nil && *s.cost.paymaster != s.sender && terms.ignorePaymaster {
		return nil
	}
	if intent.MaxFeeBase != "" {
		claimed, err := amount.ParseBase(intent.MaxFeeBase)
		switch {
		case err != nil:
			return misfit("the attestation's maxFeeBase can't be read")
		case s.cost.most.Cmp(bigOf(claimed)) > 0:
			return misfitf("the gas may cost up to %s, and the intent's maxFee is %s; lower the gas limits or the fee per gas, or authorize with a higher maxFee",
				nativeUnits(s.cost.most), claimed.Format(nativeDecimals))
		}
		return nil
	}
	limit, limited := g.MaxFees.limit(chain)
	if limited && s.cost.most.Cmp(bigOf(limit)) > 0 {
		return misfitf("the gas may cost up to %s, and without maxFee at most %s is let through on chain %d (SVC_MAX_FEE_%d); lower the gas limits or the fee per gas, or authorize with maxFee",
			nativeUnits(s.cost.most), limit.Format(nativeDecimals), chain, chain)
	}
	return nil
}

// nativeUnits writes wei as a decimal of native units.
func nativeUnits(wei *big.Int) string {
	if wei.BitLen() > wordBits {
		return "2^256 wei and more"
	}
	return amount.FromBytes32([wordBytes]byte(word(wei))).Format(nativeDecimals)
}

func bigOf(a amount.Amount) *big.Int {
	b := a.Bytes32()
	return new(big.Int).SetBytes(b[:])
}
