package suite

import (
	"errors"
	"math"
	"strings"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

func testEndings(f *fixture) {
	allowed := f.allow(f.plan())
	if allowed.LSN == 0 || allowed.Reservation != -1 || allowed.Now != f.at {
		f.Fatalf("outcome of an ALLOWED: %+v", allowed)
	}
	denied := f.want(f.denied(), ledger.Passed, ledger.Denied)
	if denied.Code != errcode.BlockedCommand || denied.Rule != "tool_calls.bash.blocked_commands" || denied.LSN <= allowed.LSN {
		f.Fatalf("outcome of a DENIED: %+v", denied)
	}
	if got := f.usage(); got != 1 {
		f.Fatalf("usage is %d: only the ALLOWED counts", got)
	}
}

func testEpochs(f *fixture) {
	p := f.plan()
	p.Epoch++
	if got := f.want(p, ledger.Stale, ledger.NoDecision); got.LSN != 0 {
		f.Fatalf("a stale plan was recorded: %+v", got)
	}
	p = f.plan()
	p.Key = ledgertest.ID('k', 99)
	f.want(p, ledger.KeyRevoked, ledger.NoDecision)
	before := len(f.events())
	revoked, err := f.l.RevokeKey(f.Context(), f.key.ID, f.at)
	if err != nil || revoked.Epoch != f.key.Epoch+1 || revoked.Revoked != f.at {
		f.Fatalf("RevokeKey: %+v, %v", revoked, err)
	}
	p = f.plan()
	f.want(p, ledger.KeyRevoked, ledger.NoDecision)
	p.Epoch = revoked.Epoch
	f.want(p, ledger.KeyRevoked, ledger.NoDecision)
	if got := len(f.events()); got != before+1 {
		f.Fatalf("%d events after the revocation, %d before", got, before)
	}
}

func testInvalid(f *fixture) {
	for name, spoil := range map[string]func(*ledger.Plan){
		"time":        func(p *ledger.Plan) { p.At = -1 },
		"late time":   func(p *ledger.Plan) { p.At = math.MaxInt64 },
		"decision":    func(p *ledger.Plan) { p.Pass.Decision = ledger.Pending },
		"operation":   func(p *ledger.Plan) { p.Reservations[0].Op = 4 },
		"window":      func(p *ledger.Plan) { p.Reservations[0].Counter.Window = 0 },
		"limit name":  func(p *ledger.Plan) { p.Reservations[0].Counter.Limit = strings.Repeat("l", ledger.MaxLimitName+1) },
		"rule":        func(p *ledger.Plan) { p.Reservations[0].Rule = strings.Repeat("r", ledger.MaxRule+1) },
		"many":        func(p *ledger.Plan) { p.Reservations = make([]ledger.Reservation, ledger.MaxReservations+1) },
		"denied":      func(p *ledger.Plan) { p.Pass.Decision = ledger.Denied },
		"agent":       func(p *ledger.Plan) { p.Event.AgentID = strings.Repeat("a", ledger.MaxEventText+1) },
		"hold ending": func(p *ledger.Plan) { p.Hold.Pending.Decision = ledger.Allowed },
		"no hold id":  func(p *ledger.Plan) { p.Hold.Candidate = ledger.ID{} },
		"lifetime":    func(p *ledger.Plan) { p.Hold.Lifetime = -1 },
		"intent":      func(p *ledger.Plan) { p.Hold.Intent = make([]byte, ledger.MaxIntent+1) },
	} {
		p := f.held(1, count("n", ledger.Day, "", 1))
		spoil(p)
		ticket := f.l.Submit(p)
		if err := ticket.Wait(f.Context()); !errors.Is(err, ledger.ErrInvalid) || ticket.Outcome().Result != ledger.Unknown {
			f.Errorf("%s: %v, %+v", name, err, ticket.Outcome())
		}
		if got := f.l.Peek(p); got.Result != ledger.Unknown {
			f.Errorf("%s: Peek: %+v", name, got)
		}
	}
	f.allow(f.plan())
}

func testCounterLimits(f *fixture) {
	n := count("calls", ledger.Day, "", 3)
	for i := uint64(0); i < 3; i++ {
		f.allow(f.plan(n))
		f.wantCounter(n, i+1)
	}
	got := f.refuse(f.plan(n))
	if got.Code != n.Code || got.Rule != n.Rule || got.Reservation != 0 || got.Used != amount.FromUint64(3) {
		f.Fatalf("refusal: %+v", got)
	}
	f.allow(f.plan(count("calls", ledger.Day, "other", 3)))
	f.allow(f.plan(count("calls", ledger.Hour, "", 3)))
	f.allow(f.plan(count("other", ledger.Day, "", 3)))

	s := sum("eth", ledger.Day, "", 6, 10)
	f.allow(f.plan(s))
	f.refuse(f.plan(s))
	s.Amount = amount.FromUint64(4)
	f.allow(f.plan(s))
	f.wantCounter(s, 10)
	s.Amount = amount.Amount{}
	f.allow(f.plan(s))

	huge := sum("huge", ledger.Day, "", 1, 0)
	huge.Limit = amount.FromBytes32([32]byte(allOnes()))
	huge.Amount = huge.Limit
	f.allow(f.plan(huge))
	huge.Amount = amount.FromUint64(1)
	f.refuse(f.plan(huge)) // the sum does not fit into 256 bits
}

// testLongGroups has an agent name groups of any length: they count, and are recorded short.
func testLongGroups(f *fixture) {
	long := strings.Repeat("g", 100_000)
	a, b := count("n", ledger.Day, long+"a", 1), count("n", ledger.Day, long+"b", 1)
	f.allow(f.plan(a))
	f.refuse(f.plan(a))
	f.allow(f.plan(b))
	f.wantCounter(a, 1)
	events := f.events()
	if got := events[len(events)-1].Counters[0].Counter.Group; len(got) > ledger.MaxGroupText || !strings.HasPrefix(got, "sha256:") {
		f.Fatalf("recorded a group of %d bytes", len(got))
	}
}

func allOnes() []byte { return []byte(strings.Repeat("\xff", 32)) }

func testAtomicity(f *fixture) {
	a, b, c := count("a", ledger.Day, "", 5), count("b", ledger.Day, "", 1), count("c", ledger.Day, "", 5)
	f.allow(f.plan(a, b, c))
	got := f.refuse(f.plan(a, b, c))
	if got.Reservation != 1 || got.Rule != b.Rule {
		f.Fatalf("refused by %d, %s", got.Reservation, got.Rule)
	}
	for _, r := range []ledger.Reservation{a, b, c} {
		f.wantCounter(r, 1)
	}
	if got := f.usage(); got != 1 {
		f.Fatalf("usage is %d after a refusal", got)
	}
}

func testSameCounterTwice(f *fixture) {
	n := count("n", ledger.Day, "", 3)
	f.allow(f.plan(n, n))
	f.wantCounter(n, 2)
	if got := f.refuse(f.plan(n, n)); got.Reservation != 1 || got.Used != amount.FromUint64(3) {
		f.Fatalf("refusal: %+v", got)
	}
	f.wantCounter(n, 2)
}

func testWindows(f *fixture) {
	h, d, task := count("h", ledger.Hour, "", 1), count("d", ledger.Day, "", 1), count("t", ledger.Task, "task-1", 1)
	midnight := (ledgertest.Start/day + 1) * day
	steps := []struct {
		at     int64
		r      ledger.Reservation
		result ledger.Result
	}{
		{ledgertest.Start, h, ledger.Passed},
		{ledgertest.Start + 30*hour/60 - 1, h, ledger.Refused}, // the last nanosecond of the hour
		{ledgertest.Start + 30*hour/60, h, ledger.Passed},
		{ledgertest.Start + hour, d, ledger.Passed},
		{midnight - 1, d, ledger.Refused},
		{midnight, d, ledger.Passed},
		{midnight, task, ledger.Passed},
		{midnight + int64(ledger.TaskIdle) - 1, task, ledger.Refused},
		{midnight + int64(ledger.TaskIdle) + hour, task, ledger.Passed},
		{midnight + int64(ledger.TaskIdle) + hour, task, ledger.Refused},
	}
	for i, s := range steps {
		f.at = s.at
		if got := f.submit(f.plan(s.r)); got.Result != s.result {
			f.Fatalf("step %d: %s, want %s", i, got.Result, s.result)
		}
	}
}

func testTimeBackwards(f *fixture) {
	h := count("h", ledger.Hour, "", 1)
	f.at = ledgertest.Start + 2*hour
	f.allow(f.plan(h))
	f.at = ledgertest.Start
	if got := f.refuse(f.plan(h)); got.Now != ledgertest.Start+2*hour {
		f.Fatalf("the key's time went back to %d", got.Now)
	}
	other := f.newKey(2)
	p := f.plan(h)
	p.Key = other.ID
	if got := f.allow(p); got.Now != ledgertest.Start {
		f.Fatalf("another key's time is %d", got.Now)
	}
}

func testObserve(f *fixture) {
	n, m := count("n", ledger.Day, "", 5), count("m", ledger.Day, "", 1)
	observe := func(p *ledger.Plan) *ledger.Plan { p.Observe = true; return p }
	if got := f.allow(observe(f.plan(n, m))); got.Observed {
		f.Fatal("an intent that the policy allows is not observed")
	}
	got := f.want(observe(f.plan(n, m)), ledger.Refused, ledger.Allowed)
	if !got.Observed || got.Code != m.Code || got.Rule != m.Rule {
		f.Fatalf("observed refusal: %+v", got)
	}
	f.wantCounter(n, 1)
	got = f.want(observe(f.denied()), ledger.Passed, ledger.Allowed)
	if !got.Observed || got.Code != errcode.BlockedCommand {
		f.Fatalf("observed denial: %+v", got)
	}
	f.want(observe(f.held(1)), ledger.Held, ledger.Pending)
	if got := f.usage(); got != 3 {
		f.Fatalf("usage is %d: observed approvals count", got)
	}
	for _, e := range f.events()[2:4] {
		if !e.Observed || e.Ending.Decision != ledger.Allowed || e.Ending.Code == "" {
			f.Fatalf("event: %+v", e)
		}
	}
}

func testQuota(f *fixture) {
	n := count("n", ledger.Task, "t", 10)
	quota := func(p *ledger.Plan) *ledger.Plan { p.Quota = 2; return p }
	f.allow(quota(f.plan(n)))
	f.allow(quota(f.plan(n)))
	before := len(f.events())
	if got := f.want(quota(f.plan(n)), ledger.QuotaExceeded, ledger.NoDecision); got.LSN != 0 {
		f.Fatalf("recorded: %+v", got)
	}
	observed := quota(f.denied())
	observed.Observe = true
	f.want(observed, ledger.QuotaExceeded, ledger.NoDecision)
	f.wantCounter(n, 2)
	if got := len(f.events()); got != before {
		f.Fatalf("%d events, %d before", got, before)
	}
	f.want(quota(f.denied()), ledger.Passed, ledger.Denied)
	f.want(quota(f.plan(count("zero", ledger.Day, "", 0))), ledger.Refused, ledger.Denied)
	f.want(quota(f.held(1)), ledger.Held, ledger.Pending)
	f.at = ledgertest.Start + 13*day // the first of December
	f.allow(quota(f.plan(n)))
	usage, err := f.l.Usage(f.Context(), f.key.ID)
	if err != nil {
		f.Fatal(err)
	}
	f.equal("usage", usage, []ledger.Usage{{Month: 12*2026 + 10, Count: 2}, {Month: 12*2026 + 11, Count: 1}})
}

func testTestRun(f *fixture) {
	n := count("n", ledger.Hour, "", 1)
	dry := func(p *ledger.Plan) *ledger.Plan { p.TestRun = true; return p }
	f.at = ledgertest.Start + 5*hour // must not move the key's time
	f.want(dry(f.plan(n)), ledger.Passed, ledger.Allowed)
	f.want(dry(f.plan(n)), ledger.Passed, ledger.Allowed)
	if got := f.want(dry(f.held(1)), ledger.Held, ledger.Pending); !got.Hold.IsZero() || got.HoldOpened {
		f.Fatalf("a test-run opened a hold: %+v", got)
	}
	f.want(dry(f.denied()), ledger.Passed, ledger.Denied)
	f.at = ledgertest.Start
	if got := f.allow(f.plan(n)); got.Now != ledgertest.Start {
		f.Fatalf("a test-run moved the key's time to %d", got.Now)
	}
	f.want(dry(f.plan(n)), ledger.Refused, ledger.Denied)
	if got := f.usage(); got != 1 {
		f.Fatalf("usage is %d", got)
	}
	f.allow(f.plan()) // the record of the last test-run rides along with this one
	runs := 0
	for _, e := range f.events() {
		if e.Ending.Decision == ledger.TestRun {
			runs++
		}
	}
	if runs != 5 {
		f.Fatalf("%d test-runs recorded, want 5", runs)
	}
}

func testPeek(f *fixture) {
	n := count("n", ledger.Day, "", 1)
	for range 3 {
		if got := f.l.Peek(f.plan(n)); got.Result != ledger.Passed || got.LSN != 0 {
			f.Fatalf("Peek: %+v", got)
		}
	}
	f.allow(f.plan(n))
	if got := f.l.Peek(f.plan(n)); got.Result != ledger.Refused || got.Used != amount.FromUint64(1) {
		f.Fatalf("Peek at a full counter: %+v", got)
	}
	if got := len(f.events()); got != 2 {
		f.Fatalf("%d events", got)
	}
}

// testMalformed: a request that was not decided leaves an event and nothing else, whatever the epoch that its caller knows.
func testMalformed(f *fixture) {
	p := f.plan()
	p.Malformed, p.TestRun, p.Epoch = true, true, f.key.Epoch+7
	p.Pass = ledger.Ending{Decision: ledger.Denied, Code: errcode.ValidationSchema}
	p.Event = ledger.Event{Endpoint: "/v1/authorize", RequestID: "r-1", Detail: "intent.amount"}
	ticket := f.l.Submit(p)
	if out := ticket.Outcome(); out.Result != ledger.Unknown || out.Decision != ledger.NoDecision {
		f.Fatalf("the outcome is %+v", out)
	}
	if err := ticket.Wait(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.allow(f.plan()) // with whose group it is written
	all := f.events()
	f.equal("malformed", all[1], ledger.LoggedEvent{
		LSN: 2, Kind: ledger.RequestMalformed, Key: f.key.ID, At: f.at, Plan: p.ID, Ending: ledger.Ending{Code: errcode.ValidationSchema}, Event: p.Event,
	})
	for _, wrong := range []func(*ledger.Plan){
		func(p *ledger.Plan) { p.TestRun = false },
		func(p *ledger.Plan) { p.Pass.Decision = ledger.Allowed },
	} {
		q := *p
		wrong(&q)
		if err := f.l.Submit(&q).Wait(f.Context()); !errors.Is(err, ledger.ErrInvalid) {
			f.Errorf("a malformed plan that is something else: %v", err)
		}
	}
}
