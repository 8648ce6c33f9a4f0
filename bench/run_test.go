package bench

import (
	"fmt"
	"strings"
	"testing"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/vm"
	"bailiff/vm/amount"
)

// runBodies judge the two intents of the benchmarks by the example policy: the machine, and beside it the same rules
// written by hand over the same decoded fields, which is the floor.
var runBodies = []body{
	{"allowed", machine(AllowedIntent, vm.Allowed)},
	{"denied", machine(DeniedIntent, vm.Denied)},
	{"by-hand/allowed", byHand(AllowedIntent, vm.Allowed)},
	{"by-hand/denied", byHand(DeniedIntent, vm.Denied)},
}

// BenchmarkRun is vm.Run of the example policy. Its targets: under 150 ns, no allocations.
func BenchmarkRun(b *testing.B) { run(b, runBodies) }

// TestRunAllocatesNothing holds the machine, the decoder and the binding to what they promise. Time is not tested:
// on a shared machine it would fail for no reason.
func TestRunAllocatesNothing(t *testing.T) {
	for _, one := range append(runBodies[:2:2], decodeBodies...) {
		step := one.prepare(t)
		if got := testing.AllocsPerRun(100, func() { _ = step() }); got != 0 {
			t.Errorf("%s: %v allocations", one.name, got)
		}
	}
}

// compiled returns the program of the example policy and how it takes its fields from an intent.
func compiled(tb testing.TB) (*vm.Program, *intent.Binding) {
	tb.Helper()
	result, found := compiler.Compile(grammar.NewSource(examplePolicy, read(tb, examplePolicy)))
	if result.Program == nil {
		tb.Fatalf("the example policy has errors: %v", found)
	}
	binding, err := intent.NewBinding(result.Program.Fields(), result.Program.Tokens())
	if err != nil {
		tb.Fatal(err)
	}
	return result.Program, binding
}

func decoded(tb testing.TB, text string) *intent.Intent {
	tb.Helper()
	in, err := intent.NewDecoder(intent.Options{}).Decode([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return in
}

// frameOf returns the frame of an intent for a program.
func frameOf(program *vm.Program, binding *intent.Binding, in *intent.Intent) []vm.Value {
	frame := make([]vm.Value, len(program.Fields()))
	binding.Fill(in, intent.Agent, program.Needs(in.ActionLower()), frame)
	return frame
}

func machine(text string, want vm.Status) func(testing.TB) func() error {
	return func(tb testing.TB) func() error {
		program, binding := compiled(tb)
		frame := frameOf(program, binding, decoded(tb, text))
		var machine vm.Machine
		return func() error {
			if result := machine.Run(program, frame, vm.First); result.Status != want {
				return fmt.Errorf("the machine says %v, not %v", result.Status, want)
			}
			return nil
		}
	}
}

// fields are what the rules of the example policy look at, for intents like those of the benchmarks.
type fields struct {
	action, chain, token, target, amount, fee vm.Value
	environment, desk                         vm.Value
	text                                      vm.Value // every text of the request, joined
}

func byHand(text string, want vm.Status) func(testing.TB) func() error {
	return func(tb testing.TB) func() error {
		in := decoded(tb, text)
		take := func(name string) vm.Value {
			value, err := in.Value(name, intent.Agent)
			if err != nil {
				tb.Fatal(err)
			}
			return value
		}
		request := &fields{
			action: take("action"), chain: take("chainId"), token: take("token"), target: take("targetAddress"),
			amount: take("amount"), fee: take("maxFee"), environment: take("metadata.environment"), desk: take("metadata.desk"),
			text: take("@text"),
		}
		return func() error {
			if got := request.judge(); got != want {
				return fmt.Errorf("by hand it is %v, not %v", got, want)
			}
			return nil
		}
	}
}

// The numbers of the example policy, in base units.
var (
	maxTransaction = mustAmount("0.5", 18)
	maxFee         = mustAmount("0.01", 18)
	consensus      = mustAmount("0.25", 18)
	maxUSDC        = mustAmount("250", 6)
)

func mustAmount(text string, decimals uint8) amount.Amount {
	a, err := amount.Parse(text, decimals)
	if err != nil {
		panic(err)
	}
	return a
}

// judge is the example policy for EVM intents as a Go programmer would write it down, without tables and without
// saying which rule it was. It knows less than the machine: no lists, no base units, no collected violations.
func (f *fields) judge() vm.Status {
	if f.environment.Text == "production" {
		return vm.Denied
	}
	if strings.Contains(f.text.Text, "BEGIN OPENSSH PRIVATE KEY") {
		return vm.Denied
	}
	if f.chain.Text != "1" && f.chain.Text != "8453" {
		return vm.Denied
	}
	if f.action.Text != "wallet.transfer" && f.action.Text != "contract.call" {
		return vm.Denied
	}
	status := f.judgeAmount()
	if status == vm.Denied || !f.judgeFee() {
		return vm.Denied
	}
	if f.action.Text == "wallet.transfer" && f.desk.Text != "desk-1" && f.desk.Text != "desk-2" {
		return vm.Denied
	}
	if f.action.Text == "contract.call" && f.target.Text != "0x4200000000000000000000000000000000000006" {
		return vm.Denied
	}
	return status
}

func (f *fields) judgeAmount() vm.Status {
	if f.token.Kind != vm.Missing {
		return f.judgeToken()
	}
	if f.amount.Kind == vm.Missing {
		return vm.Denied
	}
	value, err := amount.Parse(f.amount.Text, 18)
	switch {
	case err != nil || value.Cmp(maxTransaction) > 0:
		return vm.Denied
	case value.Cmp(consensus) >= 0:
		return vm.Pending
	}
	return vm.Allowed
}

// judgeFee reports whether the fee is within its maximum. The floor looks at no call data, which its intents do not have.
func (f *fields) judgeFee() bool {
	value, err := amount.Parse(f.fee.Text, 18)
	return err == nil && value.Cmp(maxFee) <= 0
}

func (f *fields) judgeToken() vm.Status {
	pinned := f.chain.Text == "1" && f.target.Text == "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48" ||
		f.chain.Text == "8453" && f.target.Text == "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	value, err := amount.Parse(f.amount.Text, 6)
	if !strings.EqualFold(f.token.Text, "USDC") || !pinned || err != nil || value.Cmp(maxUSDC) > 0 {
		return vm.Denied
	}
	return vm.Allowed
}
