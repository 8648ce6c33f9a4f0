package slot

// A Chain is one that a request can name (specification, "Intent").
type Chain struct {
	ID    string   // as RFC 8785 writes numbers
	Names []string // by which people call it, in lower case
}

var chains = []Chain{
	{"1", []string{"ethereum", "mainnet", "eth"}},
	{"10", []string{"optimism", "op"}},
	{"56", []string{"bsc", "bnb"}},
	{"137", []string{"polygon", "matic"}},
	{"999", []string{"hyperevm", "hyperliquid"}},
	{"8453", []string{"base"}},
	{"42161", []string{"arbitrum"}},
}

// chainIDs are the ids of the chains, in the order of the table.
var chainIDs = func() []string {
	ids := make([]string, len(chains))
	for i, c := range chains {
		ids[i] = c.ID
	}
	return ids
}()

// ChainIDs returns the ids of the chains that a request can name. The list must not be changed.
func ChainIDs() []string { return chainIDs }

// Chains returns the table of chains.
func Chains() []Chain { return append([]Chain(nil), chains...) }

// methods are the methods of typed HTTP intents, exact (decisions, section 3).
var methods = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}

// Methods returns the methods that a request can name. The list must not be changed.
func Methods() []string { return methods }
