package decision

import (
	"slices"
	"strings"

	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/runtime/service"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// appendActionHint says which action was probably meant, where a rule that grants actions denies.
func (r *Request) appendActionHint(text []byte, rule *vm.Rule) []byte {
	if !sections.Grants(rule.Name) {
		return text
	}
	meant := r.meantAction()
	if meant == "" {
		return text
	}
	if r.result.Class == vm.Tool && slices.Contains(slot.CoreEVMActions(), meant) {
		text = append(text, "; no such EVM action"...)
	}
	return append(append(append(text, "; did you mean "...), meant...), '?')
}

// meantAction returns the action that was probably meant, another than the intent's, or "".
func (r *Request) meantAction() string {
	action := r.in.ActionLower()
	candidates := slices.Concat(r.policy.Actions, slot.CoreEVMActions())
	if slices.Contains(candidates, action) {
		return ""
	}
	for _, candidate := range candidates {
		_, last, dotted := strings.Cut(candidate, ".")
		if plain(candidate) == plain(action) || dotted && plain(last) == plain(action) {
			return candidate
		}
	}
	return grammar.Closest(action, candidates)
}

// plain returns a name in lower case without what parts its words.
func plain(name string) string {
	return strings.ToLower(wordBreaks.Replace(name))
}

var wordBreaks = strings.NewReplacer(".", "", "_", "", "-", "", ":", "", "/", "")

// rejected is the answer where the request is valid in itself but not under the policy. It names every field that is not
// for intents of this kind.
func (r *Request) rejected() *service.Failure {
	program, found := r.policy.Program, &r.result.Violations[0]
	rule := program.Rule(found.Rule)
	fault := service.Fail(errcode.Code(rule.Code), r.misplaced(rule.Message))
	fault.Faults = append(fault.Faults, service.Fault{Code: fault.Code, Field: rule.Name, Message: fault.Message})
	for pc := int(found.PC) + 1; pc+1 < program.Len() && len(fault.Faults) < intent.MaxFaults; pc += 2 {
		test, reject := program.Instruction(uint16(pc)), program.Instruction(uint16(pc+1))
		if test.Op != vm.OpKind || reject.Op != vm.OpReject {
			break
		}
		if kind := r.frame[test.B].Kind; kind != vm.Missing && kind != vm.Null {
			rule := program.Rule(reject.C)
			fault.Faults = append(fault.Faults, service.Fault{Code: errcode.Code(rule.Code), Field: rule.Name, Message: rule.Message})
		}
	}
	return fault
}

// misplaced returns the message about a field that only EVM intents may have: most likely the action is wrong, not the field.
// It has the action that was probably meant or, where none is near, the EVM actions of every policy.
func (r *Request) misplaced(message string) string {
	before, evm := strings.CutSuffix(message, "; leave it out")
	if !evm || r.result.Class != vm.Tool {
		return message
	}
	advice := "; leave it out, or send one of " + strings.Join(slot.CoreEVMActions(), ", ")
	if meant := r.meantAction(); meant != "" {
		advice = "; did you mean " + meant + "?"
	}
	return before + ", and " + string(appendQuoted(nil, r.in.Text(slot.Action))) + " is not an EVM action" + advice
}
