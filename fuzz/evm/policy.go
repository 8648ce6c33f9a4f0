package evm

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/runtime/attest"
	"bailiff/runtime/gateway"
	"bailiff/vm/amount"
)

// A Policy is a policy's text with what it means for the wallets.
type Policy struct {
	Text            string
	V24             bool                        // it is of version 2.4, and may say what only that can
	Native          *big.Int                    // the most native currency a transaction may move
	Tokens          map[common.Address]*big.Int // the most of each token that is pinned on the chain
	Fee             *big.Int                    // evm.max_fee_eth; nil: none
	AccountCalls    bool                        // evm.account_calls: allow: what runs inside calls is not limited
	IgnorePaymaster bool                        // evm.paymaster_fees: ignore
	FeeSetting      *big.Int                    // SVC_MAX_FEE_8453; nil: the default of one unit, zero: none
}

// symbols are the tokens as policies call them, and decimals what their units are.
var (
	symbols  = map[common.Address]string{usdc: "USDC", dai: "DAI", weth: "WETH"}
	decimals = map[common.Address]int{usdc: 6, dai: 18, weth: 18}
)

// NewPolicy returns a policy with limits.
func NewPolicy(r *rand.Rand) *Policy {
	p := &Policy{Native: new(big.Int), Tokens: map[common.Address]*big.Int{}}
	version := []string{"2.0.0", "2.1.0", "2.3.0", "2.4.0", "2.4.0"}[r.IntN(5)]
	p.V24 = version == "2.4.0"
	var text strings.Builder
	fmt.Fprintf(&text, "version: %s\n\n## evm\nallowed_chains: 1, %d\n", version, ChainID)
	text.WriteString("allowed_actions: wallet.transfer, contract.call, token.approve, erc4337.userop, vault.deposit\n")
	if r.IntN(5) > 0 {
		p.Native = new(big.Int).Div(ether, big.NewInt(2))
		text.WriteString("max_transaction_eth: 0.5\n")
	}
	for _, token := range tokens {
		p.addToken(r, &text, token)
	}
	if p.V24 {
		p.addFees(r, &text)
	}
	switch r.IntN(6) {
	case 0:
		p.FeeSetting = new(big.Int)
	case 1:
		p.FeeSetting = new(big.Int).Div(ether, big.NewInt(100))
	}
	p.Text = text.String()
	return p
}

// addToken writes the rule of a token: 250 units of it, pinned on the chain, on another one, or not at all.
func (p *Policy) addToken(r *rand.Rand, text *strings.Builder, token common.Address) {
	pin := spell(token)
	switch choice := r.IntN(8); {
	case choice == 0:
		return
	case choice == 1:
		pin = ""
	case choice == 2 && p.V24:
		pin = "1:" + pin
	case choice == 3 && p.V24:
		pin = fmt.Sprintf("%d:%s", ChainID, pin)
	}
	fmt.Fprintf(text, "token.%s.decimals: %d\ntoken.%s.max_transaction: 250\n", symbols[token], decimals[token], symbols[token])
	if pin == "" {
		return
	}
	fmt.Fprintf(text, "token.%s.addresses: %s\n", symbols[token], pin)
	if !strings.HasPrefix(pin, "1:") {
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals[token])), nil)
		p.Tokens[token] = unit.Mul(unit, big.NewInt(250))
	}
}

func (p *Policy) addFees(r *rand.Rand, text *strings.Builder) {
	if r.IntN(3) == 0 {
		p.Fee = new(big.Int).Div(ether, big.NewInt(50))
		text.WriteString("max_fee_eth: 0.02\n")
	}
	if r.IntN(2) == 0 {
		p.IgnorePaymaster = true
		text.WriteString("paymaster_fees: ignore\n")
	}
	if r.IntN(6) == 0 {
		p.AccountCalls = true
		text.WriteString("account_calls: allow\n")
	}
}

// feeLimit is the most that gas may cost under claims; nil: whatever it may.
func (p *Policy) feeLimit(claims *attest.Intent) *big.Int {
	if claims.MaxFeeBase != "" {
		claimed, _ := new(big.Int).SetString(claims.MaxFeeBase, 10)
		return claimed
	}
	switch {
	case p.FeeSetting == nil:
		return ether
	case p.FeeSetting.Sign() == 0:
		return nil
	}
	return p.FeeSetting
}

// Violations says what of the losses was not attested. paid says that a paymaster was to pay for gas, judged that authorize
// has held what was declared to the policy's limits.
func (p *Policy) Violations(claims *attest.Intent, l *Losses, paid, judged bool) (found []string) {
	say := func(what string, lost, limit *big.Int) {
		if limit != nil && lost.Cmp(limit) > 0 {
			found = append(found, fmt.Sprintf("%s: %s, attested %s", what, lost, limit))
		}
	}
	if !paid || !p.IgnorePaymaster {
		say("gas", l.Fee, p.feeLimit(claims))
	}
	if p.AccountCalls {
		return found
	}
	declared, _ := new(big.Int).SetString(claims.AmountBase, 10)
	native := declared
	if claims.Token != "" {
		native = new(big.Int)
	}
	say("native currency", l.Native, native)
	if judged {
		say("native currency, over the maximum", l.Native, p.Native)
	}
	for token, most := range p.Tokens {
		say("the victim's "+symbols[token], l.Victim[token], new(big.Int))
		named := strings.EqualFold(claims.Token, symbols[token]) || strings.EqualFold(claims.Token, spell(token))
		if named {
			say(symbols[token]+", as declared", l.Tokens[token], declared)
		}
		if judged || !named {
			say(symbols[token], l.Tokens[token], most)
		}
	}
	return found
}

// maxFees are the gateways' settings.
func (p *Policy) maxFees() gateway.MaxFees {
	if p.FeeSetting == nil {
		return nil
	}
	return gateway.MaxFees{ChainID: amount.FromBytes32([32]byte(wordOf(p.FeeSetting)))}
}
