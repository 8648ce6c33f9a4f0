package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed policy
var policies embed.FS

// The lists that all policies share. The policies have PAYEES and CONTRACTS in their place.
var (
	payees    = addresses("a", 8)
	contracts = addresses("c", 3)
	usdc      = map[int]string{1: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", 8453: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}
)

// The most of a transaction, in millionths of ether and of USDC. Amounts have six digits, because the peers compute with
// doubles and 64 bits.
const (
	mostEther = 500_000
	mostUSDC  = 250_000_000
)

func addresses(letter string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("0x%s%039x", letter, 0x4e59b44847b37957+i))
	}
	return list
}

// writePolicy writes a policy of this folder to a file, with the lists in their place, each element between quotes.
func writePolicy(name, path, quote string) error {
	text, err := policies.ReadFile("policy/" + name)
	if err != nil {
		return err
	}
	list := func(all []string) string { return quote + strings.Join(all, quote+", "+quote) + quote }
	filled := strings.NewReplacer("PAYEES", list(payees), "CONTRACTS", list(contracts)).Replace(string(text))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(filled), 0o600)
}

// A question is an intent, as all servers are asked about it.
type question struct {
	Action string `json:"action"`
	Chain  int    `json:"chain"`
	Token  string `json:"token"`  // "": ether
	Target string `json:"target"` // the payee of ether, the contract of a call, the token's contract
	Payee  string `json:"payee"`  // of a token
	Amount int64  `json:"amount"` // in millionths
}

// allowed is the answer that all servers have to give.
func (q *question) allowed() bool {
	among := slices.Contains[[]string]
	if q.Chain != 1 && q.Chain != 8453 {
		return false
	}
	switch q.Action {
	case "wallet.transfer":
		return q.Token == "" && among(payees, q.Target) && q.Amount <= mostEther
	case "contract.call":
		return q.Token == "" && among(contracts, q.Target) && q.Amount <= mostEther
	case "token.transfer":
		return q.Token == "USDC" && q.Target == usdc[q.Chain] && among(payees, q.Payee) && q.Amount <= mostUSDC
	}
	return false
}

// The two that are measured: the second one's amount is too much, which every server asks last.
var (
	allowedQuestion = question{Action: "token.transfer", Chain: 8453, Token: "USDC", Target: usdc[8453], Payee: payees[5], Amount: 125_500_000}
	deniedQuestion  = question{Action: "token.transfer", Chain: 8453, Token: "USDC", Target: usdc[8453], Payee: payees[5], Amount: 250_000_001}
)

// generate makes a question: one that is allowed, with none, one or two parts drawn anew.
func generate(random *rand.Rand) *question {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	q := &question{Action: pick("wallet.transfer", "contract.call", "token.transfer"), Chain: []int{1, 8453}[random.IntN(2)]}
	most := int64(mostEther)
	switch q.Action {
	case "wallet.transfer":
		q.Target = pick(payees...)
	case "contract.call":
		q.Target = pick(contracts...)
	default:
		q.Token, q.Target, q.Payee, most = "USDC", usdc[q.Chain], pick(payees...), mostUSDC
	}
	q.Amount = []int64{1, most, most - 1, random.Int64N(most) + 1}[random.IntN(4)]
	stranger := addresses("a", 9)[8]
	for range random.IntN(3) {
		switch random.IntN(6) {
		case 0:
			q.Action = pick("wallet.transfer", "contract.call", "token.transfer", "token.approve")
		case 1:
			q.Chain = []int{1, 8453, 10, 137}[random.IntN(4)]
		case 2:
			q.Token = pick("", "USDC", "DAI")
		case 3:
			q.Target = pick(payees[0], contracts[0], usdc[1], usdc[8453], stranger)
		case 4:
			q.Payee = pick(payees[1], contracts[1], stranger)
		case 5:
			q.Amount = []int64{most + 1, most, mostEther + 1, random.Int64N(4 * most)}[random.IntN(4)] + 1
		}
	}
	return q
}

type object = map[string]any

// Each server's own way to ask.

func (q *question) forBailiff() []byte {
	in := object{"action": q.Action, "targetAddress": q.Target, "amount": fmt.Sprintf("%d.%06d", q.Amount/1_000_000, q.Amount%1_000_000)}
	if q.Token != "" {
		in["token"] = q.Token
	}
	if q.Payee != "" {
		in["metadata"] = object{"payee": q.Payee}
	}
	return encode(object{
		"framework": "agent-hooks", "agentId": "treasury-7", "chainId": q.Chain, "intent": in,
		"txCommit": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	})
}

func (q *question) forOPA() []byte { return encode(object{"input": q}) }

func (q *question) forCerbos() []byte {
	return encode(object{
		"principal": object{"id": "treasury-7", "roles": []string{"agent"}},
		"resources": []object{{"actions": []string{q.Action}, "resource": object{"kind": "intent", "id": "1", "attr": q}}},
	})
}

// way is the object of OpenFGA's relation: the action on its chain, and for tokens the token and its contract.
func (q *question) way() (way, user string) {
	way, user = fmt.Sprintf("way:%s/%d", q.Action, q.Chain), q.Target
	if q.Token != "" {
		way, user = way+"/"+q.Token+"/"+q.Target, q.Payee
	}
	if user == "" {
		user = "none"
	}
	return way, "address:" + user
}

func (q *question) forOpenFGA(model string) []byte {
	way, user := q.way()
	return encode(object{
		"authorization_model_id": model, "context": object{"amount": q.Amount},
		"tuple_key": object{"user": user, "relation": "payee", "object": way},
	})
}

// tuples are what OpenFGA has in its store: everybody who may be paid in each way, and the most.
func tuples() (list []object) {
	for _, chain := range []int{1, 8453} {
		add := func(q question, most int) {
			way, user := q.way()
			list = append(list, object{
				"user": user, "relation": "payee", "object": way,
				"condition": object{"name": "at_most", "context": object{"limit": most}},
			})
		}
		for _, payee := range payees {
			add(question{Action: "wallet.transfer", Chain: chain, Target: payee}, mostEther)
			add(question{Action: "token.transfer", Chain: chain, Token: "USDC", Target: usdc[chain], Payee: payee}, mostUSDC)
		}
		for _, contract := range contracts {
			add(question{Action: "contract.call", Chain: chain, Target: contract}, mostEther)
		}
	}
	return list
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and numbers can always be written
	}
	return text
}
