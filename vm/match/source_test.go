package match

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
)

// check tests a property with n random sources.
func check(t *testing.T, n int, property func(r *rand.Rand) string) {
	t.Helper()
	properties := gopter.NewProperties(seed.Parameters(t, n))
	properties.Property(t.Name(), prop.ForAll(func(n int64) string {
		return property(rand.New(rand.NewSource(n)))
	}, gen.Int64()))
	properties.TestingRun(t)
}

// A source makes entries and texts of few letters, so that tests often hold.
type source struct{ *rand.Rand }

func (g source) oneOf(texts ...string) string { return texts[g.Intn(len(texts))] }

// prepared returns a set of entries, ready for tests by by.
func prepared(t testing.TB, by By, style GlobStyle, entries ...Entry) *Set {
	t.Helper()
	s := &Set{}
	s.Load(entries, style)
	s.Load(entries, style) // as each test of a set does
	if _, err := s.Prepare(by); err != nil {
		t.Fatal(err)
	}
	return s
}

// BenchmarkSearch shows what many texts cost in a long one.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{4, 8, 16, 1000} {
		var entries []Entry
		for i := range n {
			entries = append(entries, Entry{Text: fmt.Sprintf("needle-%d-%d", i*7919%n, i)})
		}
		s := prepared(b, Inside, 0, entries...)
		hay := fmt.Sprintf("%01000d", 7)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(hay)))
			for b.Loop() {
				s.Contains(hay)
			}
		})
	}
}
