package policies

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"bailiff/compiler"
	"bailiff/compiler/lint"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/vm"
)

// The ways in which a policy can't be put in force (specification, modes.5).
var (
	// errUnsigned: the policy has no signature block.
	errUnsigned = errors.New("the policy has no `## signature` block")
	// ErrSignature: the signature does not verify.
	ErrSignature = errors.New("the signature does not verify against the operator public key: the file was modified, signed with another key, or its signature block was edited")
)

// InvalidPolicy says that a policy's text does not compile. The diagnostics say what is wrong where.
type InvalidPolicy struct {
	Source      *grammar.Source
	Diagnostics grammar.Diagnostics
}

// Error counts the errors.
func (e *InvalidPolicy) Error() string {
	errors := 0
	for _, d := range e.Diagnostics {
		if d.Severity == grammar.Error {
			errors++
		}
	}
	if errors == 1 {
		return "the policy has an error"
	}
	return fmt.Sprintf("the policy has %d errors", errors)
}

// Policy is a policy ready to judge: its program, bound to the fields of a request. It never changes, but for who uses it.
type Policy struct {
	Hash     string              // policyHash: SHA-256 of the signed bytes, lower-case hex
	Version  string              // of the policy format
	Warnings grammar.Diagnostics // of a policy that has just been compiled
	Refused  *InvalidPolicy      // why the text could not be put in force now; nil where it could
	Text     []byte              // the signed text, of a default policy alone
	Earlier  bool                // an operator key has signed it that was replaced since: it may be in force, and not come into force

	Digest  [sha256.Size]byte  // policyHash as bytes
	Keys    map[ledger.ID]bool // the keys that it is for; nil where it is for every key
	named   bool               // it says which keys it is for, all of them or those in Keys
	serial  uint64             // 0 where it has none
	Program *vm.Program
	Binding *intent.Binding // of the program's fields to those of requests
	Effort  compiler.Effort // of judging a request
	Using   using           // how many requests are judged by it
	// Response are the response rules, where the policy was compiled and not loaded as a program.
	Response []byte

	// For answers.
	Actions      []string // that the policy grants by name
	CounterLines []int    // the line of each counter's rule
}

// counterLines returns the line of the policy that each counter comes from.
func counterLines(program *vm.Program) []int {
	lines := make([]int, program.Counters())
	for pc := range program.Len() {
		if in := program.Instruction(uint16(pc)); in.Op == vm.OpReserve && lines[in.C] == 0 {
			lines[in.C] = int(program.Span(uint16(pc)).Line)
		}
	}
	return lines
}

// Memory returns about how many bytes the policy keeps live.
func (p *Policy) Memory() int { return p.Program.Memory() + len(p.Response) }

// Places returns the rules that a verdict can name, each at its line, in the order of lines and names.
func (p *Policy) Places() []Place {
	var places []Place
	for pc := range p.Program.Len() {
		if rule, names := p.names(uint16(pc)); names {
			places = append(places, Place{p.Program.Rule(rule).Name, int(p.Program.Span(uint16(pc)).Line)})
		}
	}
	slices.SortFunc(places, func(a, b Place) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule)) })
	return slices.Compact(places)
}

// names returns the rule that the instruction at pc denies, holds, notes or counts by.
func (p *Policy) names(pc uint16) (rule uint16, ok bool) {
	switch in := p.Program.Instruction(pc); in.Op {
	case vm.OpDeny, vm.OpHold, vm.OpNote:
		return in.C, true
	case vm.OpReserve:
		return p.Program.Counter(in.C).Rule, true
	}
	return 0, false
}

// Find returns the first instruction of that operation about a rule or, of vm.OpReserve, a counter; 0 where there is none.
func (p *Policy) Find(op vm.Op, index uint16) (pc uint16) {
	for pc := range p.Program.Len() {
		if in := p.Program.Instruction(uint16(pc)); in.Op == op && in.C == index {
			return uint16(pc)
		}
	}
	return 0
}

// Line returns the line of the policy that such an instruction was made from, 0 where it is not known.
func (p *Policy) Line(op vm.Op, index uint16) int {
	return int(p.Program.Span(p.Find(op, index)).Line)
}

// LoadPolicy compiles a policy that must be signed by one of the operators. The errors are errUnsigned, ErrSignature and
// *InvalidPolicy.
func LoadPolicy(src *grammar.Source, operators ...ed25519.PublicKey) (*Policy, error) {
	framed, found := grammar.Split(src)
	switch {
	case found.HasErrors():
		return nil, &InvalidPolicy{src, found.Sorted()}
	case !framed.Signed:
		return nil, errUnsigned
	case !slices.ContainsFunc(operators, func(o ed25519.PublicKey) bool { return attest.VerifyPolicy(o, framed.Body, framed.Signature) == nil }):
		return nil, ErrSignature
	}
	return CompilePolicy(src)
}

// LoadDefaultPolicy is LoadPolicy for a text that may be in force already: where that is what it takes, Refused says why.
// [Policies.BindDefault] refuses it if it is not. One that an earlier key of the operator's has signed may be in force as well, and
// nothing else: Earlier says so.
func LoadDefaultPolicy(src *grammar.Source, operator ed25519.PublicKey, earlier ...ed25519.PublicKey) (*Policy, error) {
	policy, err := loadDefault(src, operator)
	if errors.Is(err, ErrSignature) && len(earlier) > 0 {
		if policy, err = loadDefault(src, earlier...); err == nil {
			policy.Earlier = true
		}
	}
	return policy, err
}

func loadDefault(src *grammar.Source, operators ...ed25519.PublicKey) (*Policy, error) {
	policy, err := LoadPolicy(src, operators...)
	var refused *InvalidPolicy
	if !errors.As(err, &refused) {
		if err == nil {
			policy.Text = src.Text
		}
		return policy, err
	}
	inForce, _, deferred := compilePolicy(src, compiler.CompileInForce)
	if deferred != nil {
		return nil, err
	}
	inForce.Refused, inForce.Text = refused, src.Text
	return inForce, nil
}

// CompilePolicy compiles a policy whether it is signed or not, for its author to try. The error is *InvalidPolicy.
func CompilePolicy(src *grammar.Source) (*Policy, error) {
	policy, _, err := compilePolicy(src, lint.Compile)
	return policy, err
}

// compilePolicy is CompilePolicy by one of the compiler's ways, with what the policy says.
func compilePolicy(src *grammar.Source, compile func(*grammar.Source) (*compiler.Compiled, grammar.Diagnostics)) (*Policy, *compiler.Compiled, error) {
	compiled, found := compile(src)
	if found.HasErrors() {
		return nil, nil, &InvalidPolicy{src, found}
	}
	policy, err := newPolicy(compiled.Program, sha256.Sum256(compiled.File.Framed.Body))
	if err != nil {
		return nil, nil, err
	}
	if policy.Response, err = EncodeRules(compiled.Policy); err != nil {
		return nil, nil, err
	}
	policy.Warnings = found
	policy.bind(compiled.Policy.Deployment)
	return policy, compiled, nil
}

// bind takes over what a text says of its deployment.
func (p *Policy) bind(d *sections.Deployment) {
	p.named, p.serial = d.NamesKeys(), d.Number()
	for _, name := range d.KeyIDs() {
		if p.Keys == nil {
			p.Keys = map[ledger.ID]bool{}
		}
		id, _ := ledger.ParseID(name) // the compiler has checked its form
		p.Keys[id] = true
	}
}

// isFor reports whether the policy may govern a key.
func (p *Policy) isFor(key ledger.ID) bool { return p.Keys == nil || p.Keys[key] }

// maxMeant bounds the actions that a denied one is compared with.
const maxMeant = 64

// grantedActions returns the actions that the policy grants by name, as far as its program knows them in words.
func grantedActions(program *vm.Program) (actions []string) {
	for pc := range program.Len() {
		in := program.Instruction(uint16(pc))
		if in.Op != vm.OpDeny || !sections.Grants(program.Rule(in.C).Name) {
			continue
		}
		if list := program.Words(uint16(pc)); list != nil {
			actions = append(actions, list.Texts...)
		}
	}
	slices.Sort(actions)
	actions = slices.Compact(actions)
	return actions[:min(len(actions), maxMeant)]
}

// Place is a rule at its line in the policy.
type Place struct {
	Rule string
	Line int
}
