package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"bailiff/compiler"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/form/calldata"
	"bailiff/vm/form/evmaddr"
)

// Terms is what a gateway has to know of a policy beside its hash.
type Terms struct {
	Hash            string // policyHash, 64 lower-case hexadecimal digits
	EVM             bool   // the policy has `## evm`
	accountCalls    bool   // evm.account_calls: allow
	ignorePaymaster bool   // evm.paymaster_fees: ignore
	tokens          []tokenRule
	keys            []string // the ids of the API keys that it is for; none for every key
}

// A tokenRule is the rule of one token.
type tokenRule struct {
	symbol   string
	decimals uint8
	most     amount.Amount // max_transaction, in base units
	pins     []vm.Pin
	methods  map[calldata.Selector]bool // token.<SYM>.methods
}

// ParseTerms reads a policy's terms from its text.
func ParseTerms(text []byte) (*Terms, error) {
	compiled, found := compiler.CompileInForce(grammar.NewSource("warranty.md", text))
	if found.HasErrors() {
		return nil, fmt.Errorf("the policy does not compile any more: %s", found[0].Message)
	}
	terms := &Terms{Hash: compiled.Hash, EVM: compiled.Policy.EVM != nil, keys: compiled.Policy.Deployment.KeyIDs()}
	if terms.EVM {
		terms.read(compiled.Policy.EVM)
	}
	return terms, nil
}

// read takes what there is to know out of `## evm`.
func (t *Terms) read(policy *sections.EVM) {
	t.accountCalls = policy.AccountCalls != nil && policy.AccountCalls.On
	t.ignorePaymaster = policy.PaymasterFees != nil && !policy.PaymasterFees.On
	for _, token := range policy.Tokens {
		rule := tokenRule{symbol: token.Symbol, decimals: uint8(token.Decimals.N), most: token.MaxTransaction.Amount, pins: token.Pins()}
		if token.Methods != nil {
			rule.methods = make(map[calldata.Selector]bool, len(token.Methods.Items))
			for _, item := range token.Methods.Items {
				selector, _ := calldata.ParseSelector(item.Text) // the compiler has made it from one
				rule.methods[selector] = true
			}
		}
		t.tokens = append(t.tokens, rule)
	}
}

// pinsOn reports whether the rule pins a contract on a chain.
func (r *tokenRule) pinsOn(target string, chain uint64) bool {
	return slices.ContainsFunc(r.pins, func(pin vm.Pin) bool {
		return pin.Address == target && (pin.Chain == "" || pin.Chain == strconv.FormatUint(chain, 10))
	})
}

// ruleOf returns the rule that pins a contract on a chain, or nil.
func (t *Terms) ruleOf(target string, chain uint64) *tokenRule {
	for i := range t.tokens {
		if t.tokens[i].pinsOn(target, chain) {
			return &t.tokens[i]
		}
	}
	return nil
}

// pins reports whether the rule that a token matches pins a contract on a chain. A token given by address matches the rule
// that pins it; one given by symbol matches without regard to case (decisions, section 2, "Amounts and tokens").
func (t *Terms) pins(token, target string, chain uint64) bool {
	rule := t.ruleOf(target, chain)
	if rule == nil {
		return false
	}
	if evmaddr.IsLiteral(token) {
		return strings.ToLower(token) == target
	}
	return strings.EqualFold(rule.symbol, token)
}

// maxTerms bounds how many policies' terms are remembered. They are small, and made again in a millisecond or two.
const maxTerms = 4096

// termsByHash remembers terms. Texts never change under their hash.
type termsByHash struct {
	mu    sync.RWMutex
	known map[string]*Terms
}

func (c *termsByHash) get(hash string) *Terms {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.known[hash]
}

func (c *termsByHash) put(terms *Terms) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxTerms {
		c.known = make(map[string]*Terms)
	}
	c.known[terms.Hash] = terms
}
