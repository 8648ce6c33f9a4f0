package suite

import (
	"errors"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// reporting returns a plan of an intent that reports n tokens of its task, under a budget.
func (f *fixture) reporting(n, budget uint64) *ledger.Plan {
	counter := ledger.Counter{Limit: "tokens", Window: ledger.Task, Group: "task-1"}
	p := f.plan(ledger.Reservation{Counter: counter, Op: ledger.Max, Amount: amount.FromUint64(n),
		Limit: amount.FromUint64(budget), Code: errcode.ModelTokens, Rule: "execution_limits.max_model_tokens_per_task"})
	p.Seen = []ledger.Sighting{{Counter: counter, Value: amount.FromUint64(n)}}
	return p
}

// testParts: a total is never less than the sum of the highest of its parts.
func testParts(f *fixture) {
	of := func(name string) ledger.Counter {
		return ledger.Counter{Limit: name, Window: ledger.Task, Group: "task-1"}
	}
	report := func(input, output, total, budget uint64) *ledger.Plan {
		p := f.reporting(total, budget)
		p.Seen[0].Parts = []ledger.Counter{of("input"), of("output")}
		p.Seen = append([]ledger.Sighting{{Counter: of("input"), Value: amount.FromUint64(input)},
			{Counter: of("output"), Value: amount.FromUint64(output)}}, p.Seen...)
		return p
	}
	tokens := f.reporting(0, 0).Reservations[0]
	f.allow(report(60, 1, 61, 100))
	f.wantCounter(tokens, 61)
	if got := f.refuse(report(1, 41, 42, 100)); got.Code != errcode.ModelTokens || got.Used != amount.FromUint64(101) {
		f.Fatalf("refusal: %+v", got)
	}
	f.wantCounter(tokens, 101)
	f.refuse(report(1, 1, 0, 100)) // nothing is taken back
	f.allow(report(0, 0, 500, 1000))
	f.wantCounter(tokens, 500)
}

// testUnseen: a plan that says nothing of what a limit is about is judged by what was seen, once some was.
func testUnseen(f *fixture) {
	silent := func(budget uint64) *ledger.Plan {
		p := f.reporting(0, budget)
		p.Seen, p.Reservations[0].Unseen = nil, errcode.ModelUsage
		return p
	}
	if got := f.refuse(silent(10)); got.Code != errcode.ModelUsage {
		f.Fatalf("nothing was seen: %+v", got)
	}
	f.allow(f.reporting(7, 10))
	f.allow(silent(10))
	if got := f.refuse(silent(6)); got.Code != errcode.ModelTokens || got.Used != amount.FromUint64(7) {
		f.Fatalf("above: %+v", got)
	}
}

// testSightings: the highest figure of a task stays, whatever comes of the plans that report it.
func testSightings(f *fixture) {
	p := f.reporting(10, 10)
	tokens := p.Reservations[0]
	f.allow(p)
	f.wantCounter(tokens, 10)
	f.allow(f.reporting(3, 10)) // a smaller figure takes nothing back
	f.wantCounter(tokens, 10)
	if got := f.refuse(f.reporting(3, 9)); got.Code != errcode.ModelTokens || got.Used != amount.FromUint64(10) {
		f.Fatalf("refusal: %+v", got)
	}
	f.refuse(f.reporting(12, 10)) // beyond the budget, and kept
	f.wantCounter(tokens, 12)
	f.refuse(f.reporting(1, 10))

	p = f.denied()
	p.Seen = f.reporting(20, 0).Seen
	f.want(p, ledger.Passed, ledger.Denied)
	f.wantCounter(tokens, 20)

	p = f.held(1)
	p.Seen = f.reporting(21, 0).Seen
	f.want(p, ledger.Held, ledger.Pending)
	f.wantCounter(tokens, 21)

	p = f.reporting(30, 100)
	p.TestRun = true
	f.allow(p)
	f.wantCounter(tokens, 21)

	p = f.reporting(30, 5)
	p.Observe = true
	if got := f.submit(p); got.Decision != ledger.Allowed || !got.Observed {
		f.Fatalf("observed: %+v", got)
	}
	f.wantCounter(tokens, 30)

	calls := count("calls", ledger.Day, "", 0)
	p = f.reporting(40, 100)
	p.Reservations = append(p.Reservations, calls)
	f.refuse(p) // by another limit
	f.wantCounter(tokens, 40)
	f.wantCounter(calls, 0)

	p = f.reporting(40, 100)
	p.Reservations[0].Op = ledger.Sum
	if err := f.l.Submit(p).Wait(f.Context()); !errors.Is(err, ledger.ErrInvalid) {
		f.Fatalf("a sum of what was seen: %v", err)
	}
}
