package laws_test

import (
	"crypto/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/gen"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/laws"
	"bailiff/runtime/attest"
)

// batch returns the batch of a seed for a law.
func batch(l *laws.Law, seed int64) *gen.Batch {
	if l.Focused {
		return gen.NewFocused(seed, l.Requests)
	}
	return gen.NewBatch(seed, l.Requests)
}

// draw returns the generator of the batches of a law.
func draw(l *laws.Law) gopter.Gen {
	if l.Focused {
		return gen.FocusedBatches(l.Requests)
	}
	return gen.Batches(l.Requests)
}

// says returns what the law of a name says.
func says(t *testing.T, name string) string {
	t.Helper()
	i := slices.IndexFunc(laws.Table, func(l laws.Law) bool { return l.Name == name })
	if i < 0 {
		t.Fatalf("the table has no law %s", name)
	}
	return laws.Table[i].Says
}

func TestLaws(t *testing.T) {
	house := laws.NewHouse()
	for _, law := range laws.Table {
		if law.Check == nil {
			continue // of a service: TestTestRun, TestClaims, TestUsage
		}
		t.Run(law.Says, func(t *testing.T) {
			properties := gopter.NewProperties(seed.Parameters(t, law.Batches))
			properties.Property(law.Says, prop.ForAll(func(b *gen.Batch) string { return law.Check(house, b) }, draw(&law)))
			properties.TestingRun(t)
		})
	}
}

// ofServices are the tests of the laws that are about a service.
var ofServices = map[string]func(*testing.T){"TestRunSaysTheSame": TestTestRun, "ClaimsOfSpellings": TestClaims, "UsageParts": TestUsage}

// TestTable holds the table to the laws that there are: the methods of a house of that form, and those that are about a service.
func TestTable(t *testing.T) {
	for _, problem := range missing(laws.Table) {
		t.Error(problem)
	}
	if len(missing(laws.Table[1:])) != 1 || len(missing(laws.Table[:len(laws.Table)-1])) != 1 {
		t.Error("a law that is not in the table is not noticed")
	}
}

// missing returns what a table lacks, or has beyond the laws that there are.
func missing(table []laws.Law) (problems []string) {
	rows := map[string]bool{} // by name, whether the law is about a house
	for _, law := range table {
		rows[law.Name] = law.Check != nil
	}
	house := reflect.TypeFor[*laws.House]()
	for i := range house.NumMethod() {
		method := house.Method(i)
		if method.Type != reflect.TypeFor[func(*laws.House, *gen.Batch) string]() {
			continue
		}
		if !rows[method.Name] {
			problems = append(problems, "the table lacks "+method.Name)
		}
		delete(rows, method.Name)
	}
	for name := range ofServices {
		if _, has := rows[name]; !has {
			problems = append(problems, "the table lacks "+name)
		}
		delete(rows, name)
	}
	for name := range rows {
		problems = append(problems, "there is no law, or no test of it, for the row "+name)
	}
	return problems
}

// TestTestRun: a simulation says what the service does, and changes nothing that the next answer depends on.
func TestTestRun(t *testing.T) {
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	properties := gopter.NewProperties(seed.Parameters(t, 400))
	properties.Property(says(t, "TestRunSaysTheSame"), prop.ForAll(func(b *gen.Batch) string {
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
		properties.Property(says(t, "ClaimsOfSpellings"), prop.ForAll(func(b *gen.Batch) string {
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
	properties.Property(says(t, "UsageParts"), prop.ForAll(func(n int64) string {
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
