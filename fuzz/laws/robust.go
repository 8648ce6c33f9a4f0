package laws

import (
	"bytes"
	"fmt"

	"bailiff/fuzz/gen"
	"bailiff/vm"
)

// AnyText holds that no text of a policy makes the compiler panic, and what compiles is within the bounds of cost.
func (h *House) AnyText(b *gen.Batch) (problem string) {
	r := gen.NewRand(b.Seed)
	text := []byte(b.Policy.NoisyText(r))
	for range 4 {
		mutated := mutate(r, text)
		if problem := h.compiles(mutated); problem != "" {
			return fmt.Sprintf("%s\nthe text: %q", problem, mutated)
		}
	}
	return ""
}

func (h *House) compiles(text []byte) (problem string) {
	defer func() {
		if cause := recover(); cause != nil {
			problem = fmt.Sprint("the compiler panics: ", cause)
		}
	}()
	bound, err := h.Compile(text)
	if err != nil {
		return ""
	}
	return beyondBounds(bound.Compiled.Program)
}

// beyondBounds holds a program to the limits of the machine: steps that go forward only, and a cost that is bounded.
func beyondBounds(p *vm.Program) string {
	cost := p.Cost()
	if p.Len() > vm.MaxInstructions || cost.Fixed > vm.MaxFixed || cost.PerByte > vm.MaxPerByte {
		return fmt.Sprintf("a program of %d instructions costs %+v, which is beyond the limits", p.Len(), cost)
	}
	for pc := range p.Len() {
		if in := p.Instruction(uint16(pc)); in.D != 0 && int(in.D) <= pc {
			return fmt.Sprintf("instruction %d jumps back to %d", pc, in.D)
		}
	}
	return ""
}

// AnyProgram holds that no bytes of a program make the decoder or the machine panic; what decodes is canonical, within the bounds
// of cost, and runs over any frame to a verdict.
func (h *House) AnyProgram(b *gen.Batch) string {
	bound, err := h.Compile([]byte(b.Policy.Text()))
	if err != nil {
		return ""
	}
	data, err := bound.Compiled.Program.MarshalBinary()
	if err != nil {
		return err.Error()
	}
	r := gen.NewRand(b.Seed)
	for i := range 20 {
		mutated := data
		if i > 0 {
			mutated = mutate(r, data)
		}
		if problem := h.runs(r, mutated); problem != "" {
			return fmt.Sprintf("%s\nthe bytes: %x", problem, mutated)
		}
	}
	return ""
}

func (h *House) runs(r *gen.Rand, data []byte) (problem string) {
	defer func() {
		if cause := recover(); cause != nil {
			problem = fmt.Sprint("the machine panics: ", cause)
		}
	}()
	program, err := h.Decode(data)
	if err != nil {
		return ""
	}
	if again, err := program.MarshalBinary(); err != nil || !bytes.Equal(again, data) {
		return "a program that was decoded has other bytes"
	}
	if problem := beyondBounds(program); problem != "" {
		return problem
	}
	frame := make([]vm.Value, r.N(len(program.Fields())+2))
	for i := range frame {
		frame[i] = anyValue(r, 2)
	}
	var machine vm.Machine
	for _, mode := range []vm.Mode{vm.First, vm.All} {
		result := machine.Run(program, frame, mode)
		if denied := result.Status == vm.Denied || result.Status == vm.Rejected; denied != (len(result.Violations) > 0) {
			return fmt.Sprintf("a run ends in %s with %d violations", result.Status, len(result.Violations))
		}
	}
	return ""
}

// anyValue returns a value of any kind, whether a request could have it or not.
func anyValue(r *gen.Rand, depth int) vm.Value {
	kinds := []vm.Kind{vm.Missing, vm.Null, vm.Invalid, vm.String, vm.Number, vm.Bool, vm.List, vm.Object, 255}
	v := vm.Value{Kind: gen.One(r, kinds), BaseUnits: r.Chance(20)}
	v.Text = r.Pick("", "1", "0.5", "wallet.transfer", "bash", "mcp.x.y", "/etc", "\xff", "true", string(make([]byte, 5000)))
	for range r.N(3) * depth {
		v.Elems = append(v.Elems, anyValue(r, depth-1))
	}
	return v
}

// mutate changes a few bytes: flips, deletions, repetitions, and pieces from elsewhere.
func mutate(r *gen.Rand, data []byte) []byte {
	mutated := bytes.Clone(data)
	for range 1 + min(r.N(4), r.N(4)) {
		if len(mutated) == 0 {
			return mutated
		}
		at := r.N(len(mutated))
		to := min(len(mutated), at+1+r.N(8))
		switch r.N(6) {
		case 0:
			mutated[at] ^= 1 << r.N(8)
		case 1:
			mutated[at] = byte(r.N(256))
		case 2:
			mutated = append(mutated[:at:at], mutated[to:]...)
		case 3:
			mutated = append(mutated[:to:to], mutated[at:]...)
		case 4:
			copy(mutated[at:], mutated[r.N(at+1):])
		default:
			insertion := r.Pick("\n## ", "[action=", "\"", ",,", ": ", "99999999999999999999", "(((((", "\x00", "{1000}", "<!--")
			mutated = append(mutated[:at:at], append([]byte(insertion), mutated[at:]...)...)
		}
	}
	return mutated
}
