// Package seed gives every property test one way to be seeded: a fresh seed that is printed, or the one
// that the environment variable BAILIFF_SEED names, so that any failure can be run again.
package seed

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/leanovate/gopter"
)

// Variable is the environment variable that fixes the seed of every property test (a decimal int64).
const Variable = "BAILIFF_SEED"

// Value returns the seed for t and logs it. A Variable that is set but is not an integer fails the test,
// since silently running another seed would hide the failure that somebody wants to see again.
func Value(t testing.TB) int64 {
	t.Helper()
	seed := time.Now().UnixNano()
	if text := os.Getenv(Variable); text != "" {
		parsed, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%q is not a decimal integer: %v", Variable, text, err)
		}
		seed = parsed
	}
	t.Logf("seed: %s=%d", Variable, seed)
	return seed
}

// Parameters returns gopter's parameters with the seed of Value and n successful runs required.
func Parameters(t testing.TB, n int) *gopter.TestParameters {
	t.Helper()
	parameters := gopter.DefaultTestParametersWithSeed(Value(t))
	parameters.MinSuccessfulTests = n
	return parameters
}
