package evm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"bailiff/runtime/attest"
)

// plansPerPolicy is how many plans are tried against one policy.
const plansPerPolicy = 50

// Stats is what an attack came to.
type Stats struct {
	Plans, Forwarded, Executed, Losing, Operations int
	Refusals                                       map[string]int
}

// A Find is a write that was forwarded and took more than was attested.
type Find struct {
	Policy     *Policy
	Plan       *Plan
	Claims     *attest.Claims
	Violations []string
}

// String shows the find.
func (f *Find) String() string {
	return fmt.Sprintf("%s\n%s\n  attested %+v\n%s", strings.Join(f.Violations, "\n"), f.Plan, f.Claims.Intent, f.Policy.Text)
}

// Attack tries n plans through a door, and stops at the first find.
func Attack(chain *Chain, signer *attest.Signer, door Door, seed uint64, n int) (*Stats, *Find, error) {
	stats := &Stats{Refusals: map[string]int{}}
	for batch := uint64(0); stats.Plans < n; batch++ {
		r := rand.New(rand.NewPCG(seed, batch))
		policy := NewPolicy(r)
		service, err := NewService(policy, signer)
		if err != nil {
			return stats, nil, fmt.Errorf("%w\n%s", err, policy.Text)
		}
		for range min(plansPerPolicy, n-stats.Plans) {
			find, err := Try(chain, service, door, policy, NewPlan(r, policy), stats)
			if find != nil || err != nil {
				service.Close()
				return stats, find, err
			}
		}
		service.Close()
	}
	return stats, nil, nil
}

// Try takes a plan through a door and the gateway, executes what is forwarded, and compares.
func Try(chain *Chain, service *Service, door Door, policy *Policy, p *Plan, stats *Stats) (*Find, error) {
	stats.Plans++
	claims, write, refusal := service.Forward(p, door.attest)
	if refusal != "" {
		kind := kindOf(refusal)
		stats.Refusals[kind]++
		if door.judges && claims != nil && !p.Lied && !only.MatchString(kind) {
			return &Find{policy, p, claims, []string{"authorize attests what the gateway refuses: " + kind}}, nil
		}
		return nil, nil
	}
	stats.Forwarded++
	losses, err := chain.Run(p, write)
	if err != nil {
		stats.Refusals["on chain: "+kindOf(err.Error())]++
		return nil, nil
	}
	if !losses.Failed {
		stats.Executed++
	}
	if p.Op != nil {
		stats.Operations++
	}
	if losses.lost() {
		stats.Losing++
	}
	if found := policy.Violations(&claims.Intent, losses, p.Paid, door.judges); len(found) > 0 {
		return &Find{policy, p, claims, found}, nil
	}
	return nil, nil
}

// Run executes what was forwarded for a plan.
func (c *Chain) Run(p *Plan, write []byte) (*Losses, error) {
	if p.Op == nil {
		return c.Transaction(write)
	}
	return c.Operation(write, p.EntryPoint)
}

// lost reports whether something beside gas was lost.
func (l *Losses) lost() bool {
	lost := l.Native.Sign() > 0
	for _, amount := range l.Tokens {
		lost = lost || amount.Sign() > 0
	}
	return lost
}

// only matches the refusals of what only the gateway sees: the fee, the sender, an operation's outer call, the native value of
// a token intent, and data that was not declared; and of tokens whose rules pin no contract, of which the compiler warns.
var only = regexp.MustCompile(`^the gas may cost|goes to the sender|calls the entry point|takes from|call can't be told|carries no native value|` +
	`has to be declared|not exactly the arguments|pins no contract`)

// literals are what two refusals of one kind differ in.
var literals = regexp.MustCompile(`0x[0-9a-f]*|[0-9a-f]{64}|[0-9]+`)

// kindOf returns what a refusal has in common with others.
func kindOf(refusal string) string {
	var body struct {
		Error struct{ Data struct{ Reason string } }
	}
	if json.Unmarshal([]byte(refusal), &body) == nil && body.Error.Data.Reason != "" {
		refusal = body.Error.Data.Reason
	}
	return fmt.Sprintf("%.100s", literals.ReplaceAllString(refusal, "#"))
}
