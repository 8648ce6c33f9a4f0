package differential

import (
	"errors"
	"fmt"

	"bailiff/compiler"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/oracle"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/vm"
)

// Bound is a compiled policy whose program can be run over requests.
type Bound struct {
	Compiled *compiler.Compiled
	program  *vm.Program
	binding  *intent.Binding
}

// Subject is one policy, read by both.
type Subject struct {
	*Bound
	oracle *oracle.Policy
}

// ErrInvalid says that the compiler refuses the policy. There is nothing to compare then.
var ErrInvalid = errors.New("the policy does not compile")

// Compile compiles a policy and binds its program to the fields of requests.
func Compile(text []byte) (*Bound, error) {
	compiled, found := compiler.Compile(grammar.NewSource("policy", text))
	if compiled.Program == nil {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, firstError(found))
	}
	binding, err := intent.NewBinding(compiled.Program.Fields(), compiled.Program.Tokens())
	if err != nil {
		return nil, fmt.Errorf("the program asks for what no request has: %w", err)
	}
	return &Bound{compiled, compiled.Program, binding}, nil
}

// Tokens returns what the decoder needs of the policy to hash an intent.
func (b *Bound) Tokens() *intent.Tokens { return b.binding.Tokens() }

// NewSubject compiles a policy and gives it to the oracle. An error other than ErrInvalid is a divergence: the oracle or
// the decoder can't read what the compiler accepts.
func NewSubject(text []byte) (*Subject, error) {
	bound, err := Compile(text)
	if err != nil {
		return nil, err
	}
	read, err := oracle.Read(bound.Compiled.File)
	if err != nil {
		return nil, fmt.Errorf("the oracle can't read what the compiler accepts: %w", err)
	}
	return &Subject{bound, read}, nil
}

func firstError(found grammar.Diagnostics) string {
	for _, d := range found {
		if d.Severity == grammar.Error {
			return string(d.Code) + " " + d.Message
		}
	}
	return ""
}

// Judge is the memory with which pairs are judged, to be used again. The zero value is not ready; NewJudge makes one.
type Judge struct {
	decoder    *intent.Decoder
	first, all vm.Machine
	frame      []vm.Value
	body       []byte
}

// NewJudge returns a judge for one goroutine.
func NewJudge() *Judge { return &Judge{decoder: intent.NewDecoder(intent.Options{})} }

// Pair judges one request twice. Without a verdict, invalid says that no policy accepts the request.
func (j *Judge) Pair(s *Subject, c *gen.Case) (machine, oracle *Verdict, invalid error) {
	j.body = c.Body.Append(j.body[:0])
	return j.Body(s, j.body, Provenance(c.Shim))
}

// Body is Pair for a body as bytes.
func (j *Judge) Body(s *Subject, body []byte, from intent.Provenance) (machine, second *Verdict, invalid error) {
	in, err := j.decoder.Decode(body)
	if err != nil {
		return nil, nil, err
	}
	judged := s.oracle.Judge(body, oracle.Sender{Shim: from == intent.Shim})
	return j.machine(s.Bound, in, from), ofOracle(&judged), nil
}

// Machine is the machine's verdict alone. Without one, invalid says that no policy accepts the request.
func (j *Judge) Machine(b *Bound, body []byte, from intent.Provenance) (verdict *Verdict, invalid error) {
	in, err := j.decoder.Decode(body)
	if err != nil {
		return nil, err
	}
	return j.machine(b, in, from), nil
}

// machine runs the program as the service does, in both modes. Where mode all does not begin with what mode first says,
// that is the verdict, which no oracle shares.
func (j *Judge) machine(s *Bound, in *intent.Intent, from intent.Provenance) *Verdict {
	if n := len(s.program.Fields()); cap(j.frame) < n {
		j.frame = make([]vm.Value, n)
	} else {
		j.frame = j.frame[:n]
	}
	s.binding.Fill(in, from, s.program.Needs(in.ActionLower()), j.frame)
	first := j.first.Run(s.program, j.frame, vm.First)
	all := j.all.Run(s.program, j.frame, vm.All)
	if problem := modesDiffer(s.program, first, all); problem != "" {
		return &Verdict{Status: problem}
	}
	return ofMachine(s.program, j.frame, first)
}

func modesDiffer(p *vm.Program, first, all *vm.Result) string {
	switch {
	case first.Status != all.Status:
		return fmt.Sprintf("mode first says %s, mode all %s", first.Status, all.Status)
	case len(first.Violations) == 0:
		return ""
	case len(all.Violations) == 0:
		return "mode all has no violation"
	case first.Violations[0] != all.Violations[0]:
		return fmt.Sprintf("mode first says %s, mode all begins with %s", p.Rule(first.Violations[0].Rule).Name, p.Rule(all.Violations[0].Rule).Name)
	}
	return ""
}
