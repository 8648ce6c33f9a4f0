package gateway

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/vm/address"
)

// Terms is what a gateway has to know of a policy beside its hash.
type Terms struct {
	Hash   string // policyHash, 64 lower-case hexadecimal digits
	EVM    bool   // the policy has `## evm`
	tokens []tokenRule
}

type tokenRule struct {
	symbol    string
	addresses []string // lower case
}

// ParseTerms reads a policy's terms from its text.
func ParseTerms(text []byte) (*Terms, error) {
	compiled, found := compiler.Compile(grammar.NewSource("warranty.md", text))
	if found.HasErrors() {
		return nil, fmt.Errorf("the policy does not compile any more: %s", found[0].Message)
	}
	terms := &Terms{Hash: compiled.Hash, EVM: compiled.Policy.EVM != nil}
	if terms.EVM {
		for _, rule := range compiled.Policy.EVM.Tokens {
			terms.tokens = append(terms.tokens, tokenRule{rule.Symbol, pinned(rule)})
		}
	}
	return terms, nil
}

func pinned(rule *compiler.Token) (addresses []string) {
	if rule.Addresses != nil {
		for _, item := range rule.Addresses.Items {
			addresses = append(addresses, strings.ToLower(item.Text))
		}
	}
	return addresses
}

// pins reports whether the rule that a token matches pins a contract. A token given by address matches the rule that
// pins it; one given by symbol matches without regard to case (decisions, section 2, "Amounts and tokens").
func (t *Terms) pins(token, target string) bool {
	for _, rule := range t.tokens {
		matches := strings.EqualFold(rule.symbol, token)
		if address.IsLiteral(token) {
			matches = strings.ToLower(token) == target
		}
		if matches && slices.Contains(rule.addresses, target) {
			return true
		}
	}
	return false
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
