package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"bailiff/compiler/frame"
	"bailiff/runtime/attest"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/slot"
)

// surelyAttestable is the size of a request, in bytes, up to which its attestation can't be too large: so much more
// than its shortest claims has room in a token. A test-run, which needs the claims for nothing else, looks no further.
const surelyAttestable = 1024

// precheck prepares the claims of a decision that may be allowed, and refuses a request whose attestation could
// not be issued before anything is recorded for it. It returns no claims where none can be needed, and none where
// there is no signer: in a simulation.
func (a *Decider) precheck(r *Request) (*attest.Claims, *service.Failure) {
	if a.Signer == nil || r.TestRun && len(r.body) <= surelyAttestable || r.plan.Pass.Decision == ledger.Denied && !r.observe {
		return nil, nil
	}
	id, err := attest.NewTokenID(a.Random)
	if err != nil {
		return nil, service.NoRandomness()
	}
	claims := r.claims(a.Issuer, id)
	if err := a.Signer.Check(claims); err != nil {
		message := "the attestation of this intent can't be issued: " + err.Error()
		if errors.Is(err, attest.ErrTooLarge) {
			message = "the attestation of this intent would be too large; shorten agentId, to or token"
		}
		return nil, service.Fail(errcode.ValidationSchema, message)
	}
	return claims, nil
}

// claims says of the intent what its attestation will (decisions, section 4). Mode is set when the decision is known. It is
// issued now by the clock, and not at the time of the key: where a clock that was ahead has been put right, that is still
// ahead, and so would be the end of the attestation's 60 seconds.
func (r *Request) claims(issuer string, id attest.TokenID) *attest.Claims {
	hash := r.in.Hash(r.policy.Binding.Tokens())
	claims := &attest.Claims{
		Issuer: issuer, Subject: evmaddr.FoldLiterals(r.in.Text(slot.AgentID)), ID: id, IssuedAt: r.now.Unix(),
		TxCommit: r.in.Text(slot.TxCommit), UserOpHash: r.in.Text(slot.UserOpHash),
		PolicyHash: r.policy.Hash, Framework: r.in.Text(slot.Framework), KeyID: r.key.ID.String(),
		Kind: r.result.Class.String(), IntentHash: hex.EncodeToString(hash[:]),
		Intent: attest.Intent{Action: r.in.Text(slot.Action)},
	}
	if chain, ok := r.in.ChainID(); ok {
		claims.ChainID = uint64(chain)
	}
	if r.result.Class == vm.EVM {
		r.claimEVM(&claims.Intent)
	}
	return claims
}

// claimEVM adds what a gateway holds a transaction against.
func (r *Request) claimEVM(claimed *attest.Intent) {
	value, decimals := r.amount()
	claimed.AmountBase = value.String()
	claimed.TargetAddress = r.in.Text(slot.TargetAddress)
	if claimed.Token = r.in.TokenName(r.policy.Binding.Tokens()); claimed.Token != "" && r.result.Amounts[0].Set {
		claimed.Decimals = new(int(decimals))
	}
	for to := range r.in.Recipients() {
		claimed.To.List = append(claimed.To.List, to)
	}
	to, _ := r.in.Value("to", intent.Agent)
	claimed.To.Array = to.Kind == vm.List
	if fee := r.fee(); fee.Declared {
		claimed.MaxFeeBase = fee.Amount.String()
	}
	if calldata := r.in.Text(slot.Calldata); calldata != "" {
		claimed.CalldataHash = calldataHash(calldata)
	}
}

// amount returns the declared amount in base units. What is missing, and what only OBSERVE lets through without
// being readable, counts as zero.
func (r *Request) amount() (value amount.Amount, decimals uint8) {
	if register := r.result.Amounts[0]; register.Set {
		return register.Value, register.Decimals
	}
	text := r.in.Text(slot.Amount)
	switch {
	case r.in.AmountInBaseUnits():
		value, _ = amount.ParseBase(text)
	case !r.in.Has(slot.Token):
		value, _ = amount.Parse(text, frame.NativeDecimals)
	}
	return value, frame.NativeDecimals
}

// fee returns the most that the intent says gas may cost. What only OBSERVE lets through without being readable counts as
// not declared: a gateway then holds the gas to its own limit.
func (r *Request) fee() ledger.Fee {
	value, err := amount.Parse(r.in.Text(slot.MaxFee), frame.NativeDecimals)
	return ledger.Fee{Declared: err == nil, Amount: value}
}

// calldataHash is the SHA-256 of call data given as 0x and an even number of hex digits, which the decoder checked.
func calldataHash(text string) string {
	raw, _ := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// mode is the claim `mode`.
func mode(observed bool) string {
	if observed {
		return attest.ModeObserve
	}
	return ""
}
