package gen_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/leanovate/gopter"

	"bailiff/compiler"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/kit/seed"
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

// TestSameSeedSameBytes holds the package to its first promise: across runs by a hash of what one seed gives, which
// changes with every change of the generators and is then to be copied here.
func TestSameSeedSameBytes(t *testing.T) {
	n := seed.Value(t)
	if first, second := gen.NewBatch(n, 20).String(), gen.NewBatch(n, 20).String(); first != second {
		t.Errorf("two batches of one seed differ:\n%s\n%s", first, second)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(gen.NewBatch(1, 1000).String()))); sum != wantSum {
		t.Errorf("seed 1 gives %s", sum)
	}
	if gen.NewBatch(n, 5).String() == gen.NewBatch(n+1, 5).String() {
		t.Error("two seeds give the same batch")
	}
}

// wantSum is the hash of the batch of seed 1 with a thousand requests.
const wantSum = "a186b29c4223ee2f6ccc1bd2eb963e3fb7dd42faee998963e07c4f22681b3df0"

// TestRevision holds the revision of the compiler to what it makes of texts: stored programs of an earlier one are used
// as long as it stays. Where the generators alone have changed, the hash is copied here as it is.
func TestRevision(t *testing.T) {
	r := gen.NewRand(1)
	sum := sha256.New()
	for range 300 {
		result, _ := compiler.Compile(grammar.NewSource("policy", []byte(gen.NewPolicy(r).Text())))
		if result.Program != nil {
			hash := result.Program.Hash()
			sum.Write(hash[:])
		}
	}
	if got := fmt.Sprintf("%d %x", compiler.Revision, sum.Sum(nil)); got != wantPrograms {
		t.Errorf("seed 1 compiles to %s: raise compiler.Revision, and copy that", got)
	}
}

// wantPrograms is the revision of the compiler, and the hash of what it makes of 300 texts.
const wantPrograms = "5 9afea278974a5978bc9f71a150b263e8e9596049c28d8274f9c266eb2f5b885b"

// TestNoiseIsJSON: white space, the order of members and escapes leave the same value.
func TestNoiseIsJSON(t *testing.T) {
	n := seed.Value(t)
	r := gen.NewRand(n)
	for _, c := range gen.NewBatch(n, 300).Cases {
		plain, noisy := c.Bytes(), c.Body.NoisyAppend(nil, r)
		was, err := tokens(plain)
		is, errNoisy := tokens(noisy)
		if err != nil || errNoisy != nil || !slices.Equal(was, is) {
			t.Fatalf("noise changed more than white space, order and escapes: %v %v\n%s\n%s", err, errNoisy, plain, noisy)
		}
	}
}

// tokens returns the tokens of a JSON text, in order of their text.
func tokens(text []byte) (all []string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			slices.Sort(all)
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, fmt.Sprintf("%T %v", token, token))
	}
}

// TestGenerators: what gopter draws follows from its seed, and what it shrinks to gets smaller.
func TestGenerators(t *testing.T) {
	n := seed.Value(t)
	draw := func() (*gen.Policy, *gen.Batch) {
		parameters := gopter.DefaultGenParameters().CloneWithSeed(n)
		policy, _ := gen.Policies()(parameters).Retrieve()
		batch, _ := gen.Batches(3)(parameters).Retrieve()
		return policy.(*gen.Policy), batch.(*gen.Batch)
	}
	policy, batch := draw()
	if again, other := draw(); again.Text() != policy.Text() || other.String() != batch.String() {
		t.Error("two draws of one seed differ")
	}
	shrink := gen.Policies()(gopter.DefaultGenParameters().CloneWithSeed(n)).Shrinker(policy)
	for less, ok := shrink(); ok; less, ok = shrink() {
		if len(less.(*gen.Policy).Text()) >= len(policy.Text()) {
			t.Fatalf("shrunk, this is no smaller:\n%s\nthan this:\n%s", less.(*gen.Policy).Text(), policy.Text())
		}
	}
}

// TestSmallerIsSmaller: shrinking comes to an end, because each step has less to write.
func TestSmallerIsSmaller(t *testing.T) {
	batch := gen.NewBatch(seed.Value(t), 3)
	for range 10 {
		smaller := batch.Smaller()
		if len(smaller) == 0 {
			return
		}
		if len(smaller[0].String()) >= len(batch.String()) {
			t.Fatalf("no smaller than\n%s\n:\n%s", batch, smaller[0])
		}
		batch = smaller[0]
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
