package main

import (
	"fmt"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/vm"
	"bailiff/vm/match"
)

// compilePolicy takes one of Bailiff's policies from text to program, as a deployment does.
func compilePolicy(name string) (*vm.Program, error) {
	text, err := policyText(name)
	if err != nil {
		return nil, err
	}
	compiled, found := compiler.Compile(grammar.NewSource(name, []byte(text)))
	if compiled.Program == nil {
		return nil, fmt.Errorf("%s does not compile: %v", name, found)
	}
	return compiled.Program, nil
}

func compileTen() (judge, error) {
	program, err := compilePolicy("policy/ten.md")
	return runner(program, vm.First), err
}

// compileTenAll goes on after the first denial, as an explanation does.
func compileTenAll() (judge, error) {
	program, err := compilePolicy("policy/ten.md")
	return runner(program, vm.All), err
}

func assembleTen() (judge, error) {
	program, err := tenRules()
	return runner(program, vm.First), err
}

// runner asks a program about the frame of a request.
func runner(program *vm.Program, mode vm.Mode) judge {
	return func(r request) (question, error) {
		frame, err := frameOf(program, r.body)
		if err != nil {
			return nil, err
		}
		machine := new(vm.Machine)
		return func() (bool, error) { return machine.Run(program, frame, mode).Status == vm.Allowed, nil }, nil
	}
}

// frameOf decodes a request and fills the program's frame from it, as the service does for a shim's key.
func frameOf(program *vm.Program, body string) ([]vm.Value, error) {
	in, err := decode(body)
	if err != nil {
		return nil, err
	}
	binding, err := intent.NewBinding(program.Fields(), program.Tokens())
	if err != nil {
		return nil, err
	}
	frame := make([]vm.Value, len(program.Fields()))
	binding.Fill(in, intent.Shim, program.Needs(in.ActionLower()), frame)
	return frame, nil
}

// An assembler writes rules one after the other.
type assembler struct{ *vm.Builder }

// tenRules is the ten rules without what a compiled policy has beside them: kinds of intents, what a valid request is,
// the account of call data.
func tenRules() (*vm.Program, error) {
	a := assembler{vm.NewBuilder("2.1.0")}
	a.ensure("text", vm.OpContains, vm.Unless, "@text", a.texts("BEGIN PRIVATE KEY"))
	a.ensure("note", vm.OpContains, vm.Unless, "metadata.note", a.texts("internal"))
	a.ensure("command", vm.OpContains, vm.Unless, "command", a.texts("rm -rf", "mkfs", "curl"))
	a.ensure("domain", vm.OpHost, vm.Unless, "host", a.Hosts("evil.example", "pastebin.com", "169.254.169.254"))
	a.ensure("chain", vm.OpIn, vm.If, "chainId", a.texts("1", "10", "8453"))
	a.ensure("action", vm.OpIn, vm.If, "action", a.texts("wallet.transfer", "contract.call"))
	a.limit("native", "amount", a.Amount(maxNative, 18, "ETH"), 18)
	a.ensure("address", vm.OpIn, vm.If, "@evm.call.token", a.texts(usdc))
	a.limit("token", "@evm.call.amount", a.Amount(maxAmount, 6, "USDC"), 6)
	a.ensure("recipients", vm.OpEnds, vm.If|vm.Every, "to", a.texts("@example.com", "@example.org"))
	a.ensure("environment", vm.OpIn, vm.If, "metadata.env", a.texts("staging", "production"))
	a.End()
	return a.Program()
}

func (a assembler) texts(texts ...string) vm.Const {
	entries := make([]match.Entry, 0, len(texts))
	for _, text := range texts {
		entries = append(entries, match.Entry{Text: text})
	}
	return a.Texts(entries...)
}

func (a assembler) rule(name string) uint16 {
	return a.Rule(vm.Rule{Name: name, Code: "DENIED", Message: name})
}

// ensure denies by rule unless the test, which jumps over the denial, holds.
func (a assembler) ensure(name string, op vm.Op, when vm.When, field string, c vm.Const) {
	over := a.NewLabel()
	a.Test(op, when, a.Field(field), c, over)
	a.Deny(a.rule(name), vm.Blame{Slot: a.Field(field), Element: true}, over)
	a.Place(over)
}

// limit denies by rule what is no amount, or more than the limit.
func (a assembler) limit(name, field string, limit vm.Const, decimals uint8) {
	loaded, over := a.NewLabel(), a.NewLabel()
	a.Load(0, a.Field(field), decimals, loaded)
	a.Deny(a.rule(name), vm.Blame{Slot: a.Field(field)}, over)
	a.Place(loaded)
	a.Compare(vm.OpGreater, vm.Unless, 0, limit, over)
	a.Deny(a.rule(name), vm.Blame{Slot: a.Field(field)}, over)
	a.Place(over)
}
