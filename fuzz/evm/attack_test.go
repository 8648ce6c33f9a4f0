package evm

import (
	"crypto/rand"
	"flag"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/attest"
)

var plans = flag.Int("plans", 0, "try so many plans at each door with fresh seeds, instead of the usual number")

// The usual numbers of plans at each door.
const (
	fixedPlans = 4000
	freshPlans = 1000
	fixedSeed  = 1
)

// found begins what the attack says of a find. The mutants of the gateway are sought by it.
const found = "more was lost than was attested: "

var testSigner = sync.OnceValues(func() (*attest.Signer, error) {
	dir, err := os.MkdirTemp("", "bailiff-evm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return attest.LoadOrCreate(dir, rand.Reader)
})

// world returns the chain and the signer of the tests.
func world(t *testing.T) (*Chain, *attest.Signer) {
	t.Helper()
	chain, err := NewChain()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := testSigner()
	if err != nil {
		t.Fatal(err)
	}
	return chain, signer
}

// wanted is how many plans -plans or BAILIFF_PLANS asks for, or 0.
func wanted(t *testing.T) int {
	text := os.Getenv("BAILIFF_PLANS")
	if *plans > 0 || text == "" {
		return *plans
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		t.Fatalf("BAILIFF_PLANS=%q is not a positive number", text)
	}
	return n
}

// TestAttack: whatever is forwarded takes no more than was attested. It runs the same plans every time, and fresh ones.
func TestAttack(t *testing.T) {
	for _, door := range []Door{Authorize, Attest} {
		t.Run(door.Name, func(t *testing.T) {
			n := wanted(t)
			if n == 0 {
				t.Run("fixed", func(t *testing.T) { attack(t, door, fixedSeed, fixedPlans) })
				n = freshPlans
			}
			t.Run("fresh", func(t *testing.T) { attack(t, door, uint64(seed.Value(t)), n) })
		})
	}
}

func attack(t *testing.T, door Door, seed uint64, n int) {
	chain, signer := world(t)
	stats, find, err := Attack(chain, signer, door, seed, n)
	if err != nil {
		t.Fatal(err)
	}
	if find != nil {
		t.Fatalf("%s%s", found, find)
	}
	t.Logf("%d plans: %d forwarded, %d of them operations; %d executed, %d lost something", stats.Plans, stats.Forwarded, stats.Operations, stats.Executed, stats.Losing)
	var kinds []string
	for kind := range stats.Refusals {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(x, y string) int { return stats.Refusals[y] - stats.Refusals[x] })
	for _, kind := range kinds[:min(len(kinds), 40)] {
		t.Logf("%6d × %s", stats.Refusals[kind], kind)
	}
	if stats.Forwarded*20 < n || stats.Executed*2 < stats.Forwarded || stats.Losing*5 < stats.Executed || stats.Operations*10 < stats.Forwarded {
		t.Errorf("of %d plans too few come through to say anything: %+v", n, stats)
	}
}
