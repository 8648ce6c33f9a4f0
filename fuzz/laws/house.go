package laws

import (
	"bytes"
	"fmt"

	"bailiff/compiler"
	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/vm"
)

// House is what the laws are about. Its parts are replaced one by one to see that the laws notice.
type House struct {
	Compile func(text []byte) (*differential.Bound, error)
	Judge   func(b *differential.Bound, body []byte, shim bool) (*differential.Verdict, error)
	// Hash is that of the intent in hexadecimal; BaseHash where the service reads amounts without a point as base units.
	Hash, BaseHash func(b *differential.Bound, body []byte) (string, error)

	Format func(src *grammar.Source) ([]byte, grammar.Diagnostics)
	Decode func(data []byte) (*vm.Program, error)
}

// NewHouse returns the real one, for one goroutine.
func NewHouse() *House {
	judge := differential.NewJudge()
	return &House{
		Compile: differential.Compile,
		Judge: func(b *differential.Bound, body []byte, shim bool) (*differential.Verdict, error) {
			return judge.Machine(b, body, differential.Provenance(shim))
		},
		Hash:     hasher(intent.Options{}),
		BaseHash: hasher(intent.Options{IntegerAmountsBase: true}),
		Format:   compiler.Format,
		Decode:   vm.Decode,
	}
}

// hasher returns the function that hashes intents which are read with those options.
func hasher(options intent.Options) func(*differential.Bound, []byte) (string, error) {
	decoder := intent.NewDecoder(options)
	return func(b *differential.Bound, body []byte) (string, error) {
		in, err := decoder.Decode(body)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%x", in.Hash(b.Tokens())), nil
	}
}

// compilePair compiles two texts. A policy of package gen that does not compile is nothing to judge, and neither is
// one whose change does not: then ok is false.
func (h *House) compilePair(before, after string) (one, other *differential.Bound, ok bool) {
	one, err := h.Compile([]byte(before))
	if err != nil {
		return nil, nil, false
	}
	other, err = h.Compile([]byte(after))
	return one, other, err == nil
}

// compare judges every request of a batch under two policies, and returns what problem says of the first pair of
// verdicts that it does not accept.
func (h *House) compare(b *gen.Batch, after *gen.Policy, problem func(was, is *differential.Verdict) string) string {
	one, other, ok := h.compilePair(b.Policy.Text(), after.Text())
	if !ok {
		return ""
	}
	for _, c := range b.Cases {
		body := c.Bytes()
		was, err := h.Judge(one, body, c.Shim)
		if err != nil {
			continue
		}
		is, err := h.Judge(other, body, c.Shim)
		if err != nil {
			return "the policy made a request unreadable: " + err.Error()
		}
		if wrong := problem(was, is); wrong != "" {
			return fmt.Sprintf("%s\nbefore: %s\nafter: %s\n%s\nthe policy after:\n%s", wrong, was, is, c, after.Text())
		}
	}
	return ""
}

// same accepts equal verdicts alone.
func same(was, is *differential.Verdict) string {
	if what := was.Difference(is); what != "" {
		return "the verdicts differ in their " + what
	}
	return ""
}

// CompilesTheSame holds that compiling twice gives the same bytes.
func (h *House) CompilesTheSame(b *gen.Batch) string {
	text := b.Policy.Text()
	one, other, ok := h.compilePair(text, text)
	if !ok {
		return ""
	}
	first, errFirst := one.Compiled.Program.MarshalBinary()
	second, errSecond := other.Compiled.Program.MarshalBinary()
	if errFirst != nil || errSecond != nil || !bytes.Equal(first, second) {
		return "two programs of the same text differ"
	}
	return ""
}
