// Package ledgertest compares ledgers with a naive model over random histories with crashes. It also has helpers for other tests
// of ledgers. The conformance suite, which every ledger passes, is in its folder suite.
package ledgertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// ModelGroups is how many live groups the keys of Model may have.
const ModelGroups = 8

// A World is a ledger's surroundings, which the model can make fail. Each history has a World of its own.
type World interface {
	// Open opens what is there, with ModelGroups as its MaxGroups.
	Open() (ledger.Ledger, error)
	// Crash cuts the power under l, which is not used any more: what was not synced is lost, as far as luck says,
	// a number from 0 (all of it) to 100 (none).
	Crash(l ledger.Ledger, luck int)
	// Break makes all writes fail from now on.
	Break()
	// Mend closes l and makes writes work again.
	Mend(l ledger.Ledger, luck int)
}

// outcomes are the kinds of outcome to which the histories of Model have to lead.
var outcomes = []string{
	"passed", "held", "hold denied", "refused", "quota exceeded", "stale", "key revoked",
	"replayed", "default policy", "default policy refused", "default policy again", "too many groups", "made room", "observed", "hold used", "write failed", "refused after failure", "lost by a crash", "kept by a crash", "hold expired",
	"deploying: <nil>", "deploying: " + ledger.ErrOperator.Error(), "deploying: " + ledger.ErrRollback.Error(),
	"deploying: " + ledger.ErrStorage.Error(), "deploying: " + ledger.ErrUsed.Error(), "deploying: " + ledger.ErrExpired.Error(),
	"using: <nil>", "using: " + ledger.ErrUsed.Error(), "using: " + ledger.ErrStale.Error(),
	"settled: done true, again false, disabled false", "settled: done false, again true, disabled false",
	"halted", "halting: <nil>", "halting: " + ledger.ErrStatementSerial.Error(), "rotating: <nil>", "rotating: " + ledger.ErrOperator.Error(), "using: " + ledger.ErrHalted.Error(),
	"tool pinned", "tool changed", "tool accepted", "tool forgotten", "pins refused",
	"webhook enabled", "webhook refused", "settled: done false, again false, disabled false", "settled: done false, again false, disabled true",
}

// Model runs random histories, of which the environment variable of package seed fixes the seed, and compares the
// ledger with a naive model after each step, and after each crash with what the model says must have survived:
// nothing acknowledged is lost, nothing comes from nowhere, no limit is exceeded. It fails, too, where 100 histories or more
// did not lead to every kind of outcome; a few of them are rare, so that it runs as many histories again, up to four times.
func Model(t *testing.T, histories int, world func() World) {
	reached, parameters := map[string]int{}, seed.Parameters(t, histories)
	missed := outcomes
	complete := histories >= 100
	for round := 0; round < 4 && len(missed) > 0 && !t.Failed() && (complete || round == 0); round++ {
		properties := gopter.NewProperties(parameters)
		properties.Property("the ledger does what the model does", prop.ForAll(check(world, reached), words))
		properties.TestingRun(t)
		missed = slices.DeleteFunc(slices.Clone(outcomes), func(outcome string) bool { return reached[outcome] > 0 })
	}
	if t.Logf("reached: %v", reached); complete && len(missed) > 0 && !t.Failed() {
		t.Errorf("no history led to %q", missed)
	}
}

// Caught plays histories until the model says of one what says matches, and returns all that it said, and whether one
// matched. It is the canary of Model: a fault that is planted in the world or in the ledger shows itself in several ways, of
// which the seed decides the first.
func Caught(t *testing.T, histories int, says *regexp.Regexp, world func() World) (said []string, caught bool) {
	play := check(world, map[string]int{})
	property := prop.ForAllNoShrink(func(words []uint32) bool {
		text := play(words)
		if text != "" {
			said = append(said, text)
		}
		return text == "" || !says.MatchString(text)
	}, words)
	result := property.Check(seed.Parameters(t, histories))
	if result.Error != nil {
		said = append(said, result.Error.Error())
	}
	return said, !result.Passed()
}

// words generates histories. Each word is one step.
var words = gen.SliceOfN(60, gen.UInt32())

// check returns the property: "" where a history goes well.
func check(world func() World, reached map[string]int) func([]uint32) string {
	return func(words []uint32) string {
		if err := play(world(), words, reached); err != nil {
			return err.Error()
		}
		return ""
	}
}

// play plays one history. It starts with a key, since without one nothing happens.
func play(w World, words []uint32, reached map[string]int) error {
	l, err := w.Open()
	if err != nil {
		return err
	}
	h := &history{world: w, at: Start, reached: reached, checkedParts: checkParts(l, Checks{Groups: ModelGroups, Reached: reached})}
	defer func() { h.whole.Close() }()
	if err := cmp.Or(h.changeKey(0), h.changeOther()); err != nil {
		return err
	}
	for i, word := range words {
		if err := cmp.Or(h.step(word), h.violation()); err != nil {
			return fmt.Errorf("step %d of %d: %w", i, len(words), err)
		}
	}
	if err := h.reopen(func() { h.world.Crash(h.whole, 0) }); err != nil {
		return fmt.Errorf("crash at the end: %w", err)
	}
	h.at += 400 * day
	if err := h.deliver(0); err != nil { // whatever was to be delivered is due by then
		return fmt.Errorf("after the crash at the end: %w", err)
	}
	return nil
}

// A history is a ledger under test and the model beside it.
type history struct {
	turns  int    // how often time went backwards
	figure uint64 // that the next part reports
	world  World
	*checkedParts
	at    int64
	ids   uint64
	holds []ledger.ID

	reached map[string]int // outcomes, over all histories
}

// step takes one step. The word's low bits choose it, the others its parameters.
func (h *history) step(word uint32) error {
	kind, arg := word%52, word/52
	switch {
	case kind < 12:
		return h.submit(h.plan(arg), arg%4 != 0)
	case kind < 17:
		p := h.plan(arg)
		h.hold(p, arg)
		return h.submit(p, arg%4 != 0)
	case kind == 17:
		p := h.plan(arg)
		p.Pass, p.Reservations = ledger.Ending{Decision: ledger.Denied, Code: errcode.BlockedPath, Rule: "r"}, nil
		return h.submit(p, true)
	case kind == 18:
		p := h.plan(arg)
		p.TestRun = true
		return h.submit(p, true)
	case kind == 19:
		return h.changeKey(arg)
	case kind < 23:
		return h.resolve(arg)
	case kind < 26:
		h.at += []int64{1, hour / 3, hour, day - hour/2, day, int64(ledger.TaskIdle)}[arg%6]
	case kind == 26:
		h.at, h.turns = max(h.at-2*hour, 0), h.turns+1
	case kind == 27:
		return h.breakWrites(arg)
	case kind == 28 && arg%2 == 0 && h.moves():
		return h.move(arg / 2)
	case kind == 28:
		return h.reopen(func() { h.whole.Close() })
	case kind < 31:
		return h.reopen(func() { h.world.Crash(h.whole, []int{0, 50, 100}[arg%3]) })
	}
	switch {
	case kind < 35:
		return h.deploy(arg)
	case kind < 38:
		return h.use(arg)
	case kind < 40:
		return h.expire(arg)
	case kind < 43:
		return h.hook(arg)
	case kind < 46:
		return h.deliver(arg)
	case kind < 48:
		return h.bindDefault(arg)
	case kind < 50:
		return h.meet(arg)
	case kind == 50 && arg%8 == 7:
		return h.rotate(arg / 8)
	case kind == 50:
		return h.halt(arg)
	}
	return h.compare()
}

var modelCounters = []ledger.Counter{
	{Limit: "calls", Window: ledger.Hour}, {Limit: "calls", Window: ledger.Day},
	{Limit: "calls", Window: ledger.Task, Group: "t"}, {Limit: "eth", Window: ledger.Day, Group: "g"},
}

// modelTasks are groups that a plan has one of: more than a key may have.
var modelTasks = func() (counters []ledger.Counter) {
	for n := range 2 * ModelGroups {
		counters = append(counters, ledger.Counter{Limit: "steps", Window: ledger.Task, Group: fmt.Sprint(n)})
	}
	return counters
}()

// plan returns a plan with some reservations.
func (h *history) plan(arg uint32) *ledger.Plan {
	h.ids++
	key := ID('k', uint64(arg%8/7)) // seldom the second key
	known, _, _ := h.of(key).model.key(key)
	p := &ledger.Plan{
		ID: ID('p', h.ids), At: h.at, Key: key, Epoch: known.Epoch, Pass: ledger.Ending{Decision: ledger.Allowed},
		Observe: arg>>3%8 == 0, TooManyGroups: errcode.AggregateLimit,
	}
	if arg>>6%8 == 0 {
		p.Quota = 5
	}
	if arg>>9%16 == 0 {
		p.Epoch++
	}
	if arg>>27%4 == 0 {
		p.Default = [32]byte{byte(arg >> 29 % 4)}
	}
	for i, c := range modelCounters {
		if arg>>(13+2*i)%4 < 2 {
			r := ledger.Reservation{Counter: c, Op: ledger.Count, Limit: amount.FromUint64(4), Code: errcode.LoopLimitExceeded, Rule: c.Limit}
			if c.Limit == "eth" {
				r.Op, r.Amount = ledger.Sum, amount.FromUint64(uint64(arg>>20%4))
			}
			p.Reservations = append(p.Reservations, r)
		}
	}
	if arg>>11%2 == 0 {
		p.Reservations = append(p.Reservations, ledger.Reservation{Counter: modelTasks[int(arg>>15)%len(modelTasks)],
			Op: ledger.Count, Limit: amount.FromUint64(2), Code: errcode.LoopLimitExceeded, Rule: "steps"})
	}
	if arg>>8%4 == 0 {
		h.repeatable(p, arg)
	}
	if arg>>21%4 == 0 {
		h.report(p, uint64(arg>>23%8))
	}
	return p
}

// report has a plan report a figure and, mostly, a limit on it.
func (h *history) report(p *ledger.Plan, figure uint64) {
	c := ledger.Counter{Limit: "tokens", Window: ledger.Task, Group: "t"}
	p.Seen = []ledger.Sighting{{Counter: c, Value: amount.FromUint64(figure)}}
	if figure == 7 {
		part := ledger.Counter{Limit: "input", Window: ledger.Task, Group: "t"}
		p.Seen = append([]ledger.Sighting{{Counter: part, Value: amount.FromUint64(h.figure)}}, p.Seen...)
		p.Seen[1].Parts = []ledger.Counter{part}
		h.figure = (h.figure + 3) % 11
	}
	if figure == 4 {
		p.Reservations = append(p.Reservations, ledger.Reservation{Counter: ledger.Counter{Limit: "input", Window: ledger.Task, Group: "t"},
			Op: ledger.Max, Limit: amount.FromUint64(9), Code: errcode.ModelTokens, Unseen: errcode.ModelUsage, Rule: "input"})
	}
	if figure%4 != 0 {
		p.Reservations = append(p.Reservations, ledger.Reservation{Counter: c, Op: ledger.Max, Amount: amount.FromUint64(figure),
			Limit: amount.FromUint64(5), Code: errcode.ModelTokens, Rule: "tokens"})
	}
}

func (h *history) hold(p *ledger.Plan, arg uint32) {
	p.Hold = &ledger.HoldRequest{
		Candidate: ID('h', h.ids), IntentHash: [32]byte{byte(arg >> 21 % 2)},
		Pending: ledger.Ending{Decision: ledger.Pending, Code: errcode.HoldConsensus, Rule: "c"},
		Denied:  ledger.Ending{Decision: ledger.Denied, Code: errcode.HoldDenied, Rule: "c"},
	}
	if fee := arg >> 23 % 4; fee > 0 {
		p.Hold.Fee = ledger.Fee{Declared: true, Amount: amount.FromUint64(uint64(fee))}
	}
	h.holds = append(h.holds, p.Hold.Candidate)
}

// submit submits a plan.
func (h *history) submit(p *ledger.Plan, wait bool) error {
	ticket := h.of(p.Key).Submit(p)
	if !wait {
		return nil
	}
	if err := ticket.Wait(context.Background()); err != nil {
		return fmt.Errorf("waiting: %w", err)
	}
	outcome := ticket.Outcome()
	if outcome.LSN != 0 && !p.TestRun {
		h.of(p.Key).Acknowledge("a plan", int(outcome.LSN))
	}
	if outcome.Result == ledger.Replayed {
		_, err := h.of(p.Key).Replay(context.Background(), p.Key, outcome.LSN)
		return err
	}
	return nil
}

// changeKey revokes a key, or creates it where it is missing.
func (h *history) changeKey(arg uint32) error {
	n := uint64(arg % 8 / 7)
	key := modelKey(n)
	known, _, ok := h.of(key.ID).model.key(key.ID)
	switch {
	case !ok:
		return h.of(key.ID).CreateKey(context.Background(), key)
	case known.Revoked == 0 && arg>>3%8 == 0:
		_, err := h.of(key.ID).RevokeKey(context.Background(), key.ID, h.at)
		return err
	}
	return nil
}

// resolve resolves one of the last holds, which may be gone.
func (h *history) resolve(arg uint32) error {
	if len(h.holds) == 0 {
		return nil
	}
	id, key := h.holds[len(h.holds)-1-int(arg>>4)%min(len(h.holds), 4)], ID('k', uint64(arg%8/7))
	_, _ = h.of(key).ResolveHold(context.Background(), ledger.Resolution{Key: key, Hold: id, Allow: arg>>3%2 == 0, At: h.at})
	return nil
}

// breakWrites has the disk fail, checks that the ledger admits it and refuses, and opens it again.
func (h *history) breakWrites(arg uint32) error {
	h.world.Break()
	for range 3 {
		p := h.plan(arg)
		ticket := h.of(p.Key).Submit(p)
		err := ticket.Wait(context.Background())
		outcome := ticket.Outcome()
		switch recorded := outcome.LSN != 0 && outcome.Result != ledger.Replayed && !p.TestRun; {
		case outcome.Result == ledger.Unknown:
			asked := h.slots != nil && errors.Is(err, ledger.ErrUnknown) // another instance, which has failed meanwhile
			if !errors.Is(err, ledger.ErrUnavailable) && !asked || h.of(p.Key).Health() == nil {
				return fmt.Errorf("refused with %v, health %v", err, h.of(p.Key).Health())
			}
			if _, err := h.of(p.Key).Usage(context.Background(), p.Key); !errors.Is(err, ledger.ErrUnavailable) {
				return fmt.Errorf("a failed ledger answers reads: %v", err)
			}
		case recorded && err == nil:
			return errors.New("acknowledged although nothing can be written")
		case recorded:
			h.reached["write failed"]++
		}
	}
	return h.reopen(func() { h.world.Mend(h.whole, []int{0, 50, 100}[arg%3]) })
}

// reopen ends the ledger in some way, opens what is left, and takes over what has survived.
func (h *history) reopen(end func()) error {
	end()
	l, err := h.world.Open()
	if err != nil {
		return fmt.Errorf("opening again: %w", err)
	}
	if err := h.restarted(l); err != nil {
		return err
	}
	return h.compare()
}

// compare compares everything that can be read.
func (h *history) compare() error {
	ctx := context.Background()
	for n := range uint64(modelKeys) {
		id := ID('k', n)
		at := h.of(id)
		key, now, ok := at.model.key(id)
		if !ok {
			continue
		}
		now = max(now, h.at)
		got, found := at.LookupKey(key.Hash)
		if !found || *got != key {
			return fmt.Errorf("key %+v, the model says %+v", got, key)
		}
		for _, c := range slices.Concat(modelCounters, modelTasks) {
			value, err := at.Counter(ctx, id, c, h.at)
			if want := at.model.counter(id, c, now); err != nil || number(value).Cmp(want) != 0 {
				return fmt.Errorf("counter %v is %s (%v), the model says %s", c, value, err, want)
			}
		}
		if err := h.compareHolds(id, now); err != nil {
			return err
		}
		if err := h.compareService(id); err != nil {
			return err
		}
		if err := h.comparePins(id); err != nil {
			return err
		}
		if err := CompareEvents(at, id); err != nil {
			return err
		}
	}
	return h.compareUsage()
}

func (h *history) compareHolds(key ledger.ID, now int64) error {
	got, err := h.of(key).Holds(context.Background(), key, h.at)
	if err != nil {
		return err
	}
	var seen []naiveHold
	for _, g := range got {
		seen = append(seen, naiveHold{g.ID, g.IntentHash, g.PolicyHash, g.Fee, g.Expires, g.State})
	}
	if unlike := diff.Diff(h.of(key).model.holds(key, now), seen, diff.AllowUnexported(naiveHold{}), diff.Transformer("nil", func(h []naiveHold) string { return fmt.Sprint(h) })); unlike != "" {
		return fmt.Errorf("holds (-model +ledger):\n%s", unlike)
	}
	return nil
}

func (h *history) compareUsage() error {
	want, got := new(big.Int), new(big.Int)
	for _, part := range h.parts {
		for _, e := range part.model.log {
			if e.allowed {
				want.Add(want, big.NewInt(1))
			}
		}
	}
	for n := range uint64(modelKeys) {
		usage, err := h.whole.Usage(context.Background(), ID('k', n))
		if err != nil {
			return err
		}
		for _, u := range usage {
			got.Add(got, new(big.Int).SetUint64(u.Count))
		}
	}
	if got.Cmp(want) != 0 {
		return fmt.Errorf("usage is %s, the model says %s", got, want)
	}
	return nil
}
