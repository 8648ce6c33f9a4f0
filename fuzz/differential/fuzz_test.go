package differential_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
)

// FuzzDifferential lets the fuzzer choose the seeds: eight bytes for the policy and the requests that go with it, and
// the rest of the bytes as seeds of more requests.
func FuzzDifferential(f *testing.F) {
	for n := range uint64(8) {
		f.Add(binary.LittleEndian.AppendUint64(nil, n))
		f.Add(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, n), ^n))
	}
	judge := differential.NewJudge()
	f.Fuzz(func(t *testing.T, data []byte) {
		var word [8]byte
		copy(word[:], data)
		r := gen.NewRand(int64(binary.LittleEndian.Uint64(word[:])))
		policy := gen.NewPolicy(r)
		subject, err := differential.NewSubject([]byte(policy.Text()))
		if errors.Is(err, differential.ErrInvalid) {
			t.Skip(err)
		} else if err != nil {
			t.Fatalf("%v\n%s", err, policy.Text())
		}
		writer := gen.NewWriter(policy)
		for len(data) > 0 {
			n := copy(word[:], data)
			data = data[n:]
			c := writer.Case(gen.NewRand(int64(binary.LittleEndian.Uint64(word[:]))))
			machine, oracle, invalid := judge.Pair(subject, c)
			if invalid != nil {
				continue
			}
			if what := machine.Difference(oracle); what != "" {
				t.Errorf("the verdicts differ in their %s\n%s\n%s\nthe machine says: %s\nthe oracle says:  %s", what, policy.Text(), c, machine, oracle)
			}
		}
	})
}
