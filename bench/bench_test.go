package bench

import (
	"os"
	"testing"
)

// examplePolicy is the policy that the product's first run signs.
const examplePolicy = "../cmd/bailiff/policy/example/warranty.md"

// A body is what a benchmark repeats. Preparing it is not measured.
type body struct {
	name    string
	prepare func(testing.TB) (step func() error)
}

// run measures bodies one after the other.
func run(b *testing.B, bodies []body) {
	for _, one := range bodies {
		b.Run(one.name, func(b *testing.B) {
			step := one.prepare(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := step(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestBodies runs each benchmark's body a few times, so that none can rot.
func TestBodies(t *testing.T) {
	for name, bodies := range map[string][]body{
		"compile": compileBodies, "run": runBodies, "decode": decodeBodies, "commit": commitBodies, "attest": attestBodies,
		"decide": decideBodies, "sections": sectionBodies(t), "lists": listBodies(), "normal": normalBodies,
	} {
		for _, one := range bodies {
			t.Run(name+"/"+one.name, func(t *testing.T) {
				step := one.prepare(t)
				for range 3 {
					if err := step(); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}
