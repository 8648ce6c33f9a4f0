package laws_test

import (
	"crypto/rand"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/gen"
	"bailiff/fuzz/laws"
	"bailiff/fuzz/seed"
	"bailiff/runtime/attest"
)

// law is one law with how many batches it takes, and of how many requests.
type law struct {
	name     string
	batches  int
	requests int
	check    func(*laws.House, *gen.Batch) string
}

var all = []law{
	{"one more denial lets nothing through", 1000, 25, (*laws.House).MoreDenials},
	{"a higher limit denies nothing", 1000, 25, (*laws.House).HigherLimits},
	{"the spelling of a request changes nothing", 700, 25, (*laws.House).RequestSpelling},
	{"the spelling of a policy and the order of lists change nothing", 700, 25, (*laws.House).PolicySpelling},
	{"the order of lines changes no status", 700, 25, (*laws.House).LineOrder},
	{"formatting changes no program", 400, 0, (*laws.House).Formatting},
	{"compiling twice gives the same bytes", 300, 0, (*laws.House).CompilesTheSame},
	{"any text compiles or does not", 800, 0, (*laws.House).AnyText},
	{"any bytes run or do not", 400, 0, (*laws.House).AnyProgram},
}

func TestLaws(t *testing.T) {
	house := laws.NewHouse()
	for _, law := range all {
		t.Run(law.name, func(t *testing.T) {
			properties := gopter.NewProperties(seed.Parameters(t, law.batches))
			properties.Property(law.name, prop.ForAll(func(b *gen.Batch) string { return law.check(house, b) }, gen.Batches(law.requests)))
			properties.TestingRun(t)
		})
	}
}

// TestTestRun: a simulation says what the service does, and changes nothing that the next answer depends on.
func TestTestRun(t *testing.T) {
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	properties := gopter.NewProperties(seed.Parameters(t, 400))
	properties.Property("a test-run says what authorize says", prop.ForAll(func(b *gen.Batch) string {
		return laws.TestRunSaysTheSame(b, signer, (*laws.Service).Decide, seen)
	}, gen.Batches(30)))
	properties.TestingRun(t)
	t.Log(seen)
	for _, status := range []string{"ALLOWED", "DENIED", "PENDING", "SVC_VALIDATION_ERROR_SCHEMA"} {
		if seen[status] < 20 {
			t.Errorf("%s occurred %d times: the law is hardly tested", status, seen[status])
		}
	}
}
