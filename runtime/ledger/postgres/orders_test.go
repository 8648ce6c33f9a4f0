package pgledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
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
	policies        // the policy of a key and its epoch: "deploy" replaces both, "look" shows them, a plan of an epoch is allowed while it counts
	holds           // "resolve" succeeds once, and then the action passes once
	tokens          // attestations: "use" succeeds once
	keys            // "revoke" succeeds once, and from then on plans are refused
	kinds
)

const (
	orderLimit   = 3
	orderObjects = 4  // of each kind
	orderClients = 6  // of one log, and twice as many of several
	unanswered   = -1 // the answer of what may have been done or not
	no, yes      = 0, 1
	pending      = 2 // the answer to an action whose hold waits
)

// An object is what an operation is about.
type object struct{ kind, n int }

// key returns the number of the key that an object belongs to. Policies and revocations have keys of their own: other plans would be refused for them.
func (o object) key() uint64 {
	switch o.kind {
	case policies:
		return uint64(10 + o.n) //nolint:gosec // small
	case keys:
		return uint64(20 + o.n) //nolint:gosec // small
	}
	return uint64(1 + o.n) //nolint:gosec // small
}

// An act is an operation.
type act struct {
	object
	reads  bool
	second bool // of a policy, the plan of an epoch; of a hold, the action
	value  int  // that is deployed, or the epoch of the plan
}

// A reply is what came of an act.
type reply struct {
	said  int // what was read, or yes, no, pending, unanswered
	epoch int // of a policy that was deployed or read
}

// A standing is the state of an object.
type standing struct{ value, epoch int }

// shows reports whether a state explains what a reading act said.
func (s standing) shows(a act, said reply) bool {
	switch {
	case a.kind == policies && a.second:
		return (s.epoch == a.value) == (said.said == yes)
	case a.kind == policies:
		return said == reply{s.value, s.epoch}
	}
	return said.said == s.value
}

// after returns the state after an act that succeeds, and whether it can.
func (s standing) after(a act) (done standing, possible bool) {
	switch {
	case a.kind == policies:
		return standing{a.value, s.epoch + 1}, true
	case a.kind == counts:
		possible = s.value < orderLimit
	case a.kind == holds && a.second:
		possible = s.value == 1
	default:
		possible = s.value == 0
	}
	return standing{s.value + 1, s.epoch}, possible
}

// refuses reports whether a state explains that an act was refused so.
func (s standing) refuses(a act, said int) bool {
	if a.kind == holds && a.second {
		return said == pending && s.value == 0 || said == no && s.value == 2
	}
	_, possible := s.after(a)
	return said == no && !possible
}

// ordered is the model of an object.
var ordered = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{standing{0, 1}} },
	Step: func(state, input, output any) (next []any) {
		s, a, said := state.(standing), input.(act), output.(reply)
		if a.reads {
			if s.shows(a, said) {
				next = append(next, s)
			}
			return next
		}
		done, possible := s.after(a)
		if possible && (said.said == unanswered || said.said == yes && (a.kind != policies || said.epoch == done.epoch)) {
			next = append(next, done)
		}
		if said.said == unanswered || s.refuses(a, said.said) {
			next = append(next, s)
		}
		return next
	},
}).ToModel()

// A serving is a ledger that an instance serves from.
type serving struct {
	ledger.Ledger
	process *process // of several slots; nil where there is one log
	// enter returns what confirms an answer about a key, and is to be called after it.
	enter func(hash [32]byte) (commit.Confirmer, func())
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
		o.serve[n].Store(&serving{s, nil, func([32]byte) (commit.Confirmer, func()) { return s, func() {} }})
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
	random, epochs := o.draws("client", client), map[int]int{}
	for {
		select {
		case <-o.stop:
			return
		case <-time.After(time.Duration(random.Int64N(int64(200 * time.Millisecond)))):
		}
		n := random.IntN(len(o.hosts))
		if _, paused := o.hosts[n].paused.until(time.Now()); paused && random.IntN(8) > 0 {
			continue // otherwise all clients would wait for it
		}
		if s := o.serve[n].Load(); s != nil {
			o.ask(o.hosts[n], s, client, random, epochs)
		}
	}
}

// draw draws an act. epochs are those of policies that the client has read.
func draw(random *mathrand.Rand, epochs map[int]int) act {
	a := act{object: object{random.IntN(kinds + 3), random.IntN(orderObjects)}, reads: random.IntN(3) == 0, second: random.IntN(2) == 0}
	if a.kind >= kinds { // it is told from memory
		a.kind, a.reads = policies, a.reads || a.second
	}
	switch a.kind {
	case policies:
		if a.second = a.second && random.IntN(2) == 0 && a.reads; a.second {
			a.value = max(1, epochs[a.n])
		}
	case holds:
		a.reads = false
	default:
		a.reads, a.second = a.reads && a.kind != tokens, false
	}
	if a.kind == keys && !a.reads { // there is one revocation of a key
		a.reads = random.IntN(8) > 0
	}
	return a
}

// ask asks a ledger for something, and notes the answer.
func (o *orders) ask(h *host, s *serving, client int, random *mathrand.Rand, epochs map[int]int) {
	a := draw(random, epochs)
	called := o.tick.Add(1)
	if a.kind == policies && !a.reads {
		a.value = int(called)
	}
	h.gate(time.Microsecond)
	confirmer, leave := s.enter(ledgertest.NewKey(a.key()).Hash)
	mark := confirmer.Mark()
	said, err := s.does(a, uint64(called)) //nolint:gosec // counted up
	nothing := errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrUnknown)
	if err == nil && o.flaw != unconfirmed {
		err = confirmer.Confirm(mark)
	}
	leave()
	h.gate(time.Microsecond)
	returned := o.tick.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said[fmt.Sprintf("%d reads %t: %t", a.kind, a.reads, err == nil)]++
	if err != nil {
		if a.reads || nothing {
			return
		}
		said, returned = reply{said: unanswered}, math.MaxInt64
	}
	if a.kind == policies && err == nil && !a.second {
		epochs[a.n] = said.epoch
	}
	o.all[a.object] = append(o.all[a.object], porcupine.Operation{ClientId: client, Input: a, Call: called, Output: said, Return: returned})
}

// planned is a plan of the key of an object, which counts and holds nothing.
func (o object) planned(n uint64, epoch int) *ledger.Plan {
	return &ledger.Plan{ID: ledgertest.ID('p', n), At: ledgertest.Start, Key: ledgertest.ID('k', o.key()), Epoch: uint64(epoch), Pass: ledger.Ending{Decision: ledger.Allowed}} //nolint:gosec // small
}

// held is a plan that a hold of an object covers.
func (o object) held(n uint64, candidate ledger.ID) *ledger.Plan {
	p := o.planned(n, 1)
	p.Event = ledger.Event{Action: "bash"}
	p.Hold = &ledger.HoldRequest{
		Candidate: candidate, IntentHash: [32]byte{1, byte(o.n)}, Method: "bash", Intent: []byte(`{"action":"bash"}`),
		Pending: ledger.Ending{Decision: ledger.Pending, Rule: "r"}, Denied: ledger.Ending{Decision: ledger.Denied, Rule: "r"},
	}
	return p
}

// hold is the hold of an object that is there from the beginning.
func (o object) hold() ledger.ID { return ledgertest.ID('h', uint64(o.n+1)) } //nolint:gosec // small

// decides has a plan decided.
func (s *serving) decides(p *ledger.Plan) (ledger.Outcome, error) {
	ticket := s.Submit(p)
	return ticket.Outcome(), ticket.Wait(context.Background())
}

// does carries an operation out, which has a number of its own. An error says that it is not known whether it was, or that it was not.
func (s *serving) does(a act, number uint64) (said reply, err error) {
	ctx, mine := context.Background(), ledgertest.ID('k', a.key())
	counter := ledger.Counter{Limit: "calls", Window: ledger.Task, Group: fmt.Sprint(a.n)}
	once := func(err, again error) (reply, error) {
		if errors.Is(err, again) {
			return reply{said: no}, nil
		}
		return reply{said: yes}, err
	}
	switch {
	case a.kind == counts && a.reads:
		value, err := s.Counter(ctx, mine, counter, ledgertest.Start)
		return reply{said: int(value.Bytes32()[31])}, err
	case a.kind == counts:
		p := a.planned(number, 1)
		p.Reservations = []ledger.Reservation{{Counter: counter, Op: ledger.Count, Limit: amount.FromUint64(orderLimit)}}
		out, err := s.decides(p)
		return reply{said: map[bool]int{true: yes, false: no}[out.Reservation < 0]}, err
	case a.kind == policies:
		return s.governs(a, number)
	case a.kind == holds && a.second:
		out, err := s.decides(a.held(number, ledgertest.ID('i', number)))
		switch {
		case out.Result == ledger.Passed:
			return reply{said: yes}, err
		case out.Hold == a.hold():
			return reply{said: pending}, err
		}
		return reply{said: no}, err
	case a.kind == holds:
		_, err := s.ResolveHold(ctx, ledger.Resolution{Key: mine, Hold: a.hold(), Allow: true, At: ledgertest.Start, Resolved: ledgertest.Start / 1e9, Operator: [32]byte{'o'}})
		return once(err, ledger.ErrHoldResolved)
	case a.kind == keys && a.reads:
		out, err := s.decides(a.planned(number, 1))
		return reply{said: map[bool]int{true: yes, false: no}[out.Result == ledger.KeyRevoked]}, err
	case a.kind == keys:
		_, err := s.RevokeKey(ctx, mine, ledgertest.Start)
		return once(err, ledger.ErrKeyRevoked)
	}
	return once(s.UseOnce(ctx, &ledger.Use{
		Key: mine, Epoch: 1, Token: ledgertest.ID('t', uint64(a.n+1)), Issued: ledgertest.Start, Expires: ledgertest.Start + int64(time.Hour), At: ledgertest.Start, //nolint:gosec // small
	}), ledger.ErrUsed)
}

// errUnfound is the error of a key that can't be looked up.
var errUnfound = errors.New("the key is not found")

// governs is does for policies.
func (s *serving) governs(a act, number uint64) (said reply, err error) {
	mine := ledgertest.ID('k', a.key())
	switch {
	case a.second:
		out, err := s.decides(a.planned(number, a.value))
		return reply{said: map[bool]int{true: yes, false: no}[out.Result == ledger.Passed]}, err
	case a.reads:
		key, ok := s.LookupKeyID(mine)
		if !ok {
			return said, errUnfound
		}
		return reply{int(key.PolicyHash[0])<<16 | int(key.PolicyHash[1])<<8 | int(key.PolicyHash[2]), int(key.Epoch)}, nil //nolint:gosec // small
	}
	hash := [32]byte{byte(a.value >> 16), byte(a.value >> 8), byte(a.value)} //nolint:gosec // parts of it
	done, err := s.Deploy(context.Background(), &ledger.Deployment{Key: mine, At: ledgertest.Start, Operator: [32]byte{'o'}, PolicyHash: hash, PolicyVersion: "2", Text: []byte("t"), Program: []byte("p"), Machine: 3})
	return reply{yes, int(done.Key.Epoch)}, err //nolint:gosec // small
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
	return errors.Join((&serving{Ledger: s}).fill(), s.Close())
}

// fill makes the keys and the holds.
func (s *serving) fill() (err error) {
	for n := range orderObjects {
		for _, kind := range []int{counts, policies, keys} {
			err = errors.Join(err, s.CreateKey(context.Background(), ledgertest.NewKey(object{kind, n}.key())))
		}
		of := object{holds, n}
		_, fault := s.decides(of.held(uint64(1e9+n), of.hold())) //nolint:gosec // small
		err = errors.Join(err, fault)
	}
	return err
}

// live lets a world run that begin has filled, with instances that serve from it.
func (o *orders) live(begin func() error, serves func(n int)) error {
	if err := begin(); err != nil {
		return err
	}
	var running sync.WaitGroup
	for n, name := range []string{"a", "b", "c"} {
		o.hosts[n] = o.host(name)
		running.Go(func() { serves(n) })
	}
	for client := range min(len(o.books), 2) * orderClients {
		running.Go(func() { o.asks(client) })
	}
	time.Sleep(worldTime + worldsPeace)
	close(o.stop)
	running.Wait()
	time.Sleep(latest + worldLease)
	return o.wrong
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
	return orderedSlots(t, from, planted, 1)
}

// orderedSlots is orderedWorld with several slots, the first included.
func orderedSlots(t *testing.T, from uint64, planted flaw, slots int) (answers map[string]int, wrong []object) {
	t.Helper()
	var o *orders
	synctest.Test(t, func(t *testing.T) {
		o = &orders{simulation: newSlots(from, planted, slots), all: map[object][]porcupine.Operation{}, said: map[string]int{}}
		begin, serves := o.begin, o.serves
		if slots > 1 {
			begin, serves = o.beginSlots, o.servesSlots
		}
		if err := o.live(begin, serves); err != nil && planted == sound {
			t.Errorf("world %d: %v", from, err)
		}
	})
	wrong, err := o.explained()
	if err != nil {
		t.Errorf("world %d: %v", from, err)
	}
	return o.said, wrong
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
