package laws_test

import (
	"crypto/rand"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/gen"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/laws"
	"bailiff/runtime/attest"
)

// law is one law with how many batches it takes, of how many requests, and what makes them.
type law struct {
	name     string
	batches  int
	requests int
	check    func(*laws.House, *gen.Batch) string
	focused  bool // the batches try how values are spelled
}

// make returns the batch of a seed.
func (l *law) make(seed int64) *gen.Batch {
	if l.focused {
		return gen.NewFocused(seed, l.requests)
	}
	return gen.NewBatch(seed, l.requests)
}

// draw returns the generator of its batches.
func (l *law) draw() gopter.Gen {
	if l.focused {
		return gen.FocusedBatches(l.requests)
	}
	return gen.Batches(l.requests)
}

// oneForm is the law whose planted faults are one for each form.
const oneForm = "a value that rules are about has one form"

var all = []law{
	{"one more denial lets nothing through", 1000, 25, (*laws.House).MoreDenials, false},
	{"a higher limit denies nothing", 1000, 25, (*laws.House).HigherLimits, false},
	{"the spelling of a request changes nothing", 700, 25, (*laws.House).RequestSpelling, false},
	{"a value has one form", 500, 25, (*laws.House).Respelling, false},
	{oneForm, 900, 25, (*laws.House).Respelling, true},
	{"the spelling of a rule changes nothing", 500, 25, (*laws.House).RuleSpelling, false},
	{"the spelling of a rule about a form changes nothing", 800, 25, (*laws.House).RuleSpelling, true},
	{"a part of an address is found in any case", 300, 0, (*laws.House).DeniedParts, false},
	{"a list around an object escapes no denial", 600, 25, (*laws.House).Lists, true},
	{"a list of paths passes nothing that one of them does not", 700, 20, (*laws.House).SeveralPaths, true},
	{"of a list of paths each is judged by every list", 700, 20, (*laws.House).SeveralPaths, false},
	{"an amount in base units has one hash", 200, 25, (*laws.House).IntegerAmounts, false},
	{"the spelling of a policy and the order of lists change nothing", 700, 25, (*laws.House).PolicySpelling, false},
	{"the order of lines changes no status", 700, 25, (*laws.House).LineOrder, false},
	{"formatting changes no program", 400, 0, (*laws.House).Formatting, false},
	{"compiling twice gives the same bytes", 300, 0, (*laws.House).CompilesTheSame, false},
	{"any text compiles or does not", 800, 0, (*laws.House).AnyText, false},
	{"any bytes run or do not", 400, 0, (*laws.House).AnyProgram, false},
}

func TestLaws(t *testing.T) {
	house := laws.NewHouse()
	for _, law := range all {
		t.Run(law.name, func(t *testing.T) {
			properties := gopter.NewProperties(seed.Parameters(t, law.batches))
			properties.Property(law.name, prop.ForAll(func(b *gen.Batch) string { return law.check(house, b) }, law.draw()))
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

// TestClaims: what clients, relying parties and operators are told of an intent is the same for all its spellings.
func TestClaims(t *testing.T) {
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	properties := gopter.NewProperties(seed.Parameters(t, 250))
	for _, batches := range []gopter.Gen{gen.Batches(20), gen.FocusedBatches(20)} {
		properties.Property("a respelling gets the same claims and the same hold", prop.ForAll(func(b *gen.Batch) string {
			return laws.ClaimsOfSpellings(b, signer, (*laws.Service).Authorize, seen)
		}, batches))
	}
	properties.TestingRun(t)
	t.Log(seen)
	for _, statuses := range []string{"ALLOWED ALLOWED", "DENIED DENIED", "PENDING PENDING"} {
		if seen[statuses] < 100 {
			t.Errorf("%s occurred %d times: the law is hardly tested", statuses, seen[statuses])
		}
	}
}

// TestUsage: several reports of a task count as one of the highest parts.
func TestUsage(t *testing.T) {
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	properties := gopter.NewProperties(seed.Parameters(t, 300))
	properties.Property("of several reports the highest parts count", prop.ForAll(func(n int64) string {
		return laws.UsageParts(n, signer, (*laws.Service).Authorize, seen)
	}, gopterInt64()))
	properties.TestingRun(t)
	t.Log(seen)
	if seen["ALLOWED"] < 50 || seen["DENIED"] < 50 {
		t.Errorf("%v: the law is hardly tested", seen)
	}
}

// gopterInt64 draws any integer, which is a seed.
func gopterInt64() gopter.Gen {
	return func(p *gopter.GenParameters) *gopter.GenResult {
		return gopter.NewGenResult(p.NextInt64(), gopter.NoShrinker)
	}
}

// kept is how many of a hundred respellings of an allowed request are allowed at least: a product that denies whatever
// is not in normal spelling would hold the law, and serve nobody.
const kept = 80

// TestRespellingsPass counts, form by form, how often values are respelled and how often that alone denies.
func TestRespellingsPass(t *testing.T) {
	house := laws.NewHouse()
	total, allowed := map[string]int{}, map[string]int{}
	for n := range int64(1500) {
		house.Respellings(gen.NewFocused(n, 25), func(pair *laws.Respelled) bool {
			if len(pair.Changed) == 1 && pair.Was.Status == "ALLOWED" {
				total[pair.Changed[0]]++
				if pair.Is.Status == "ALLOWED" {
					allowed[pair.Changed[0]]++
				}
			}
			return true
		})
	}
	for _, form := range gen.Forms() {
		t.Logf("%s: %d of %d respellings are allowed", form, allowed[form], total[form])
		if total[form] < 10 {
			t.Errorf("%s is hardly ever respelled", form)
		} else if allowed[form]*100 < total[form]*kept {
			t.Errorf("%s: %d of %d respellings of what is allowed are denied", form, total[form]-allowed[form], total[form])
		}
	}
}
