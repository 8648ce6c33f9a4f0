package pgledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/vm/amount"
)

// The objects of a world of ledgers, of each of which the answers have to be those of some order.
const (
	counts   = iota // a counter with a limit: "count" is allowed or denied, "read" shows it
	policies        // the policy of a key: "deploy" replaces it, "look" shows it
	holds           // "resolve" succeeds once
	tokens          // attestations: "use" succeeds once
)

const (
	orderLimit   = 3
	orderObjects = 4 // of each kind, but one policy
	orderClients = 6
	unanswered   = -1 // the answer of what may have been done or not
	no, yes      = 0, 1
)

// An object is what an operation is about.
type object struct{ kind, n int }

// An act is an operation.
type act struct {
	object
	reads bool
	value int // that is deployed
}

// ordered is the model of an object: its state is a count, the number of a policy, or whether it was used.
var ordered = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{0} },
	Step: func(state, input, output any) []any {
		s, a, said := state.(int), input.(act), output.(int)
		if a.reads {
			if said == s {
				return []any{s}
			}
			return nil
		}
		done, possible := s+1, s < orderLimit
		switch a.kind {
		case policies:
			done, possible = a.value, true
		case holds, tokens:
			possible = s == 0
		}
		var next []any
		if possible && said != no {
			next = append(next, done)
		}
		if said == unanswered || said == no && !possible {
			next = append(next, s)
		}
		return next
	},
}).ToModel()

// A serving is a ledger that an instance serves from.
type serving struct {
	*commit.Ledger
	log *log
}

// An orders is a world whose instances have ledgers, which clients ask.
type orders struct {
	*simulation
	hosts [3]*host
	serve [3]atomic.Pointer[serving]

	tick atomic.Int64
	mu   sync.Mutex
	all  map[object][]porcupine.Operation
	said map[string]int // how many answers of each kind
}

// serves has instances of one machine open the log and serve until the world ends.
func (o *orders) serves(n int) {
	h := o.hosts[n]
	for i := 1; ; i++ {
		at := &line{database: h.db, host: h, id: fmt.Sprint(h.name, i), n: map[string]int{}}
		process := newLife(worldLease)
		l, err := take(at, instance{id: at.id, name: h.name}, process, h.stop)
		if errors.Is(err, ErrStopped) {
			return
		}
		var s *commit.Ledger
		if err == nil {
			if s, err = commit.Open(l, commit.Options{Random: rand.Reader}); err != nil {
				_ = l.Close()
			}
		}
		if err != nil {
			h.doubts(err)
			if !o.rests(h) {
				return
			}
			continue
		}
		o.serve[n].Store(&serving{s, l})
		ends := time.After(time.Duration(h.random.Int64N(int64(worldTime / 2))))
		for failed := false; !failed; {
			select {
			case <-h.stop:
				failed = true
			case <-ends:
				failed = true
				at.dead.Store(h.random.IntN(2) == 0)
			case <-time.After(20 * time.Millisecond):
				failed = s.Health() != nil
			}
		}
		_ = s.Close() // clients may ask it still
		if !o.rests(h) {
			return
		}
	}
}

// rests waits for a while. It reports false when the world has ended.
func (o *orders) rests(h *host) bool {
	select {
	case <-o.stop:
		return false
	case <-time.After(time.Duration(h.random.Int64N(int64(worldLease)))):
		return true
	}
}

// asks has a client ask one instance after the other.
func (o *orders) asks(client int) {
	random := o.draws("client", client)
	for {
		select {
		case <-o.stop:
			return
		case <-time.After(time.Duration(random.Int64N(int64(200 * time.Millisecond)))):
		}
		n := random.IntN(len(o.hosts))
		if s := o.serve[n].Load(); s != nil {
			o.ask(o.hosts[n], s, client, random)
		}
	}
}

// ask asks a ledger for something, and notes the answer.
func (o *orders) ask(h *host, s *serving, client int, random *mathrand.Rand) {
	a := act{object: object{random.IntN(4), random.IntN(orderObjects)}, reads: random.IntN(3) == 0}
	if a.kind == policies {
		a.n = 0
	}
	a.reads = a.reads && a.kind <= policies
	called := o.tick.Add(1)
	a.value = int(called)
	h.gate(time.Microsecond)
	mark := s.log.Mark()
	said, err := s.does(a)
	if err == nil && o.flaw != unconfirmed {
		err = s.log.Confirm(mark)
	}
	h.gate(time.Microsecond)
	returned := o.tick.Add(1)
	if err != nil {
		said, returned = unanswered, math.MaxInt64
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said[fmt.Sprintf("%d reads %t: %t", a.kind, a.reads, err == nil)]++
	if err != nil && a.reads {
		return
	}
	o.all[a.object] = append(o.all[a.object], porcupine.Operation{ClientId: client, Input: a, Call: called, Output: said, Return: returned})
}

// does carries an operation out. An error says that it is not known whether it was.
func (s *serving) does(a act) (said int, err error) {
	ctx, mine, policy := context.Background(), ledgertest.ID('k', 1), ledgertest.ID('k', 2)
	counter := ledger.Counter{Limit: "calls", Window: ledger.Task, Group: fmt.Sprint(a.n)}
	once := func(err, again error) (int, error) {
		if errors.Is(err, again) {
			return no, nil
		}
		return yes, err
	}
	switch {
	case a.kind == counts && a.reads:
		value, err := s.Counter(ctx, mine, counter, ledgertest.Start)
		return int(value.Bytes32()[31]), err
	case a.kind == counts:
		ticket := s.Submit(&ledger.Plan{
			At: ledgertest.Start, Key: mine, Epoch: 1, Pass: ledger.Ending{Decision: ledger.Allowed},
			Reservations: []ledger.Reservation{{Counter: counter, Op: ledger.Count, Limit: amount.FromUint64(orderLimit)}},
		})
		if err := ticket.Wait(ctx); err != nil || ticket.Outcome().Reservation >= 0 {
			return no, err
		}
		return yes, nil
	case a.kind == policies && a.reads:
		key, _ := s.LookupKeyID(policy)
		return int(key.PolicyHash[0])<<16 | int(key.PolicyHash[1])<<8 | int(key.PolicyHash[2]), nil
	case a.kind == policies:
		hash := [32]byte{byte(a.value >> 16), byte(a.value >> 8), byte(a.value)} //nolint:gosec // parts of it
		_, err := s.Deploy(ctx, &ledger.Deployment{Key: policy, At: ledgertest.Start, Operator: [32]byte{'o'}, PolicyHash: hash, PolicyVersion: "2", Text: []byte("t"), Program: []byte("p"), Machine: 3})
		return yes, err
	case a.kind == holds:
		_, err := s.ResolveHold(ctx, ledger.Resolution{Key: mine, Hold: ledgertest.ID('h', uint64(a.n+1)), Allow: true, At: ledgertest.Start, Resolved: ledgertest.Start / 1e9, Operator: [32]byte{'o'}}) //nolint:gosec // small
		return once(err, ledger.ErrHoldResolved)
	}
	return once(s.UseOnce(ctx, &ledger.Use{
		Key: mine, Epoch: 1, Token: ledgertest.ID('t', uint64(a.n+1)), Issued: ledgertest.Start, Expires: ledgertest.Start + int64(time.Hour), At: ledgertest.Start, //nolint:gosec // small
	}), ledger.ErrUsed)
}

// begin makes the keys and the holds of a world.
func (o *orders) begin() error {
	l, err := take(o.db, instance{id: "0", name: "a"}, newLife(hour), nil)
	if err != nil {
		return err
	}
	s, err := commit.Open(l, commit.Options{Random: rand.Reader})
	if err != nil {
		return err
	}
	ctx := context.Background()
	err = errors.Join(s.CreateKey(ctx, ledgertest.NewKey(1)), s.CreateKey(ctx, ledgertest.NewKey(2)))
	for n := range uint64(orderObjects) {
		err = errors.Join(err, s.Submit(&ledger.Plan{
			At: ledgertest.Start, Key: ledgertest.ID('k', 1), Epoch: 1, Pass: ledger.Ending{Decision: ledger.Allowed}, Event: ledger.Event{Action: "bash"},
			Hold: &ledger.HoldRequest{
				Candidate: ledgertest.ID('h', n+1), IntentHash: [32]byte{1, byte(n)}, Method: "bash", Intent: []byte(`{"action":"bash"}`),
				Pending: ledger.Ending{Decision: ledger.Pending, Rule: "r"}, Denied: ledger.Ending{Decision: ledger.Denied, Rule: "r"},
			},
		}).Wait(ctx))
	}
	return errors.Join(err, s.Close())
}

// live lets the world run.
func (o *orders) live() error {
	if err := o.begin(); err != nil {
		return err
	}
	var running sync.WaitGroup
	for n, name := range []string{"a", "b", "c"} {
		o.hosts[n] = o.host(name)
		running.Go(func() { o.serves(n) })
	}
	for client := range orderClients {
		running.Go(func() { o.asks(client) })
	}
	time.Sleep(worldTime + worldsPeace)
	close(o.stop)
	running.Wait()
	time.Sleep(latest + worldLease)
	return o.wrong
}

// needed leaves out requests without an answer that no order needs: it may have them do nothing. A deployment that was never seen is such a one.
// Of other requests no more can have been done than the limit leaves beside those that were answered so; an order that has done one can have
// done another in its place that was sent before it, so that the first ones sent are enough.
func needed(of object, all []porcupine.Operation) []porcupine.Operation {
	left, seen := map[int]int{counts: orderLimit, policies: len(all), holds: 1, tokens: 1}[of.kind], map[int]bool{}
	for _, one := range all {
		switch {
		case one.Input.(act).reads:
			seen[one.Output.(int)] = true
		case of.kind != policies && one.Output.(int) == yes:
			left--
		}
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return slices.DeleteFunc(all, func(one porcupine.Operation) bool {
		if one.Output.(int) != unanswered {
			return false
		}
		if of.kind == policies {
			return !seen[one.Input.(act).value]
		}
		left--
		return left < 0
	})
}

// explained returns of which objects no order explains the answers.
func (o *orders) explained() (wrong []object, err error) {
	for of, all := range o.all {
		all = needed(of, all)
		switch porcupine.CheckOperationsTimeout(ordered, all, 20*time.Second) {
		case porcupine.Illegal:
			wrong = append(wrong, of)
		case porcupine.Unknown:
			err = fmt.Errorf("%d answers of %v are too many to order", len(all), of)
		}
	}
	return wrong, err
}

// orderedWorld runs a world, and returns how many answers it had, and whether some order explains them.
func orderedWorld(t *testing.T, from uint64, planted flaw) (answers map[string]int, wrong []object) {
	t.Helper()
	var o *orders
	synctest.Test(t, func(t *testing.T) {
		o = &orders{simulation: newSimulation(from, planted), all: map[object][]porcupine.Operation{}, said: map[string]int{}}
		if err := o.live(); err != nil && planted == sound {
			t.Errorf("world %d: %v", from, err)
		}
	})
	wrong, err := o.explained()
	if err != nil {
		t.Errorf("world %d: %v", from, err)
	}
	return o.said, wrong
}

// TestNeeded: the requests without an answer that are left out change nothing of whether some order explains a history.
func TestNeeded(t *testing.T) {
	random := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 6)) //nolint:gosec // a test's
	explained, out := map[bool]int{}, 0
	for range 3000 {
		of := object{kind: random.IntN(4)}
		var all []porcupine.Operation
		for n := range int64(1 + random.IntN(9)) {
			one := porcupine.Operation{ClientId: int(n), Input: act{object: of, reads: of.kind <= policies && random.IntN(3) == 0, value: int(n + 1)}, Call: n}
			one.Return = n + random.Int64N(4)
			switch a := one.Input.(act); {
			case a.reads:
				one.Output = random.IntN(4)
			case of.kind == policies, random.IntN(2) == 0:
				one.Output = yes
			default:
				one.Output = no
			}
			if !one.Input.(act).reads && random.IntN(2) == 0 {
				one.Output, one.Return = unanswered, math.MaxInt64
			}
			all = append(all, one)
		}
		few := needed(of, all)
		was, is := porcupine.CheckOperations(ordered, all), porcupine.CheckOperations(ordered, few)
		if was != is {
			t.Fatalf("%v: explained %t, and %t without some of %v", of, was, is, all)
		}
		explained[was]++
		out += len(all) - len(few)
	}
	if explained[true] < 500 || explained[false] < 500 || out < 500 {
		t.Errorf("histories that are explained, and not: %v; %d requests left out", explained, out)
	}
}

// TestOrders has clients ask three instances with ledgers over one database, while statements are lost, late or doubled, and instances
// paused, cut off and killed. Counters, policies, holds and attestations answer as some order of the requests explains. Planted faults are
// found.
func TestOrders(t *testing.T) {
	if *oneWorld != 0 {
		if said, wrong := orderedWorld(t, *oneWorld, sound); len(wrong) > 0 {
			t.Errorf("no order of the requests explains the answers of %v: %v", wrong, said)
		}
		return
	}
	worlds := *simulated
	from, said := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 5)), map[string]int{} //nolint:gosec // a test's
	for range worlds {
		s := from.Uint64()
		answers, wrong := orderedWorld(t, s, sound)
		for what, n := range answers {
			said[what] += n
		}
		if len(wrong) > 0 {
			t.Errorf("world %d: no order of the requests explains the answers of %v; \nrun it again: make owners SEED=%[1]d", s, wrong)
		}
	}
	t.Logf("%d worlds: %v", worlds, said)
	for planted, name := range map[flaw]string{premature: "answers before appends", unconfirmed: "unconfirmed answers"} {
		found := 0
		for n := 0; n < 500 && found == 0; n++ {
			if _, wrong := orderedWorld(t, from.Uint64(), planted); len(wrong) > 0 {
				found = n + 1
			}
		}
		if t.Logf("%s: found in world %d", name, found); found == 0 {
			t.Errorf("%s: not found in 500 worlds", name)
		}
	}
}
