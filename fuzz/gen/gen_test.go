package gen_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"bailiff/compiler"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/seed"
	"bailiff/grammar"
)

// TestPoliciesCompile counts how many drafts compile: those that do not test nothing but diagnostics.
func TestPoliciesCompile(t *testing.T) {
	const drafts, least = 1500, 95
	r := gen.NewRand(seed.Value(t))
	compiled, problems := 0, map[grammar.Code]int{}
	for range drafts {
		policy := gen.NewPolicy(r)
		src := grammar.NewSource("policy", []byte(policy.Text()))
		result, found := compiler.Compile(src)
		if result.Program != nil {
			compiled++
			continue
		}
		for _, d := range found {
			if d.Severity == grammar.Error {
				if problems[d.Code]++; problems[d.Code] == 1 {
					t.Log(src.Render(d))
				}
			}
		}
	}
	t.Logf("%d of %d compile; errors of the others: %v", compiled, drafts, problems)
	if compiled*100 < drafts*least {
		t.Errorf("%d of %d drafts compile, less than %d %%", compiled, drafts, least)
	}
}

// TestSameSeedSameBytes holds the package to its first promise, with bytes that every machine has to give.
func TestSameSeedSameBytes(t *testing.T) {
	n := seed.Value(t)
	if first, second := gen.NewBatch(n, 20).String(), gen.NewBatch(n, 20).String(); first != second {
		t.Errorf("two batches of one seed differ:\n%s\n%s", first, second)
	}
	if gen.NewBatch(n, 5).String() == gen.NewBatch(n+1, 5).String() {
		t.Error("two seeds give the same batch")
	}
}

// TestNoiseIsJSON: white space and the order of members leave the same value.
func TestNoiseIsJSON(t *testing.T) {
	n := seed.Value(t)
	r := gen.NewRand(n)
	for _, c := range gen.NewBatch(n, 300).Cases {
		plain, noisy := c.Bytes(), c.Body.NoisyAppend(nil, r)
		if !json.Valid(plain) || !json.Valid(noisy) {
			t.Fatalf("no JSON:\n%s\n%s", plain, noisy)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, noisy); err != nil || compact.Len() != len(plain) {
			t.Fatalf("noise changed more than white space and order: %v\n%s\n%s", err, plain, noisy)
		}
	}
}

// TestSmallerIsSmaller: shrinking comes to an end, because each step has less to write.
func TestSmallerIsSmaller(t *testing.T) {
	batch := gen.NewBatch(seed.Value(t), 3)
	for range 10 {
		for _, less := range batch.Smaller() {
			if len(less.String()) >= len(batch.String()) {
				t.Fatalf("no smaller than\n%s\n:\n%s", batch, less)
			}
			batch = less
			break
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	r := gen.NewRand(1)
	var body []byte
	writer := gen.NewWriter(gen.NewPolicy(r))
	for i := 0; b.Loop(); i++ {
		if i%50 == 0 {
			writer = gen.NewWriter(gen.NewPolicy(r))
		}
		body = writer.Case(r).Body.Append(body[:0])
	}
}
