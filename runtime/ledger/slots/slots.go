// Package slots is a ledger over the slots of a store, which several instances share. A slot is a part of the API keys, with a log of its
// own that one instance at a time owns. Calls about one key go to the ledger of its slot: here, or at the instance that has it. Where that
// can't be asked they are refused with [ErrElsewhere]. Records that concern the whole service are written to the first slot's log, and
// copied into each of the others: they are in force in all of them when the call that asked for one returns.
package slots

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/ledger/remote"
	"bailiff/runtime/system"
)

// ErrElsewhere is a ledger.ErrUnavailable: another instance owns the slot, or none does at the moment.
var ErrElsewhere = fmt.Errorf("%w: the slot is not this instance's", ledger.ErrUnavailable)

// errSeveral is a ledger.ErrInvalid: the logs of several slots have no common order.
var errSeveral = fmt.Errorf("%w: the store has a log for each of its slots, and this is for one log: name an API key, whose log is meant, or back the database up by its own means", ledger.ErrInvalid)

// A Slot opens the ledger of a slot of the store.
type Slot interface {
	// Open waits until the slot is this instance's, and opens its ledger, whose Close hands the slot over. failed is closed when its log has
	// failed: it is not opened again in place, since records that were missed have to be copied first. It returns an error when stop is
	// closed. An error that wraps ledger.ErrLocked says that another process has the name of this instance.
	Open(options commit.Options, stop <-chan struct{}) (l *commit.Ledger, failed <-chan struct{}, err error)
	// Leaves gets a value when the instance owns more than its share. Leaving says that this slot is handed over for that.
	Leaves() <-chan struct{}
	Leaving()
}

// A Store is what the slots of a store have in common.
type Store interface {
	// KeySlot returns in which slot a key is; false where no such key was created.
	KeySlot(key ledger.ID) (slot int, ok bool, err error)
	// EnterKey notes in which slot a key is that is to be created. It wraps ledger.ErrKeyExists where the id or the hash is another key's.
	EnterKey(key ledger.ID, hash [32]byte, slot int) error
	// EnterActivation notes in which slot an activation is used, if anywhere. It wraps ledger.ErrUsed where that is another one.
	EnterActivation(id [32]byte, slot int) error

	// Read reads the log of the first slot.
	commit.Source
	// Seen returns the LSN of the last record of the first slot's log, as far as this instance has heard.
	Seen() uint64
	// End returns the LSN of the last record of the first slot's log, as it is for certain.
	End() (uint64, error)
	// NoteFollowed notes up to which record of the first slot's log a slot of this instance has copied it.
	NoteFollowed(slot int, lsn uint64) error
	// Behind returns the slots that an instance owns, and that were not noted to have copied a record.
	Behind(lsn uint64) ([]int, error)
}

// Options are what a ledger over slots is made of. Slots, Store, Log and Stop are required.
type Options struct {
	Slots  []Slot
	Store  Store
	Commit commit.Options // of the ledger of each slot
	// Remote asks the instance that has a slot, whose Answer answers; nil where no other instance is asked. An error that wraps ErrElsewhere
	// says that nothing was done: it is asked again, for RemotePatience, as where a slot is being handed over.
	Remote         func(ctx context.Context, slot int, question []byte) (answer []byte, err error)
	RemotePatience time.Duration
	Log            *slog.Logger
	// Stop ends waiting for slots where it is closed.
	Stop <-chan struct{}
	// Every is the pause between two looks at the first slot's log.
	Every time.Duration
	// Patience is how long a slot that is handed over waits for the requests inside.
	Patience time.Duration
	// GlobalPatience is how long a service-wide record may take to be in all slots.
	GlobalPatience time.Duration
	// Bound is called when the default policy is in force in a slot that has come; nil for nothing.
	Bound func(slot int, bound ledger.BoundDefault)
	// Refused is called where a slot has refused the default policy, and returns that in the words of the policy's; nil for as it is. The
	// instance gives up all slots then, until BindDefault is called again: one with the policy that counts takes them.
	Refused func(err error) error
	// Replaced is called where another process has the name of this instance. This one has to end.
	Replaced func(err error)
	// Unbound has slots serve without a default policy: nothing is decided.
	Unbound bool
	// Opened is called with the ledger of a slot that has come, before it serves; after an error it does not. nil for nothing.
	Opened func(slot int, l *commit.Ledger) error

	Go     func(task func())
	Timers system.Timers
}

// A Ledger is a ledger.Ledger over the slots that are this instance's.
type Ledger struct {
	options Options
	slots   []*slot
	globals *commit.Ledger // of several slots: the service-wide records, as far as this instance has heard of them
	places  sync.Map       // the slot of a key, by its id
	told    chan struct{}

	moving struct { // slots that are leaving
		sync.Mutex
		number int
		none   sync.Cond
	}
	doubts   atomic.Uint64 // what can't be confirmed: slots that were lost, keys that could not be looked up
	resolved atomic.Pointer[func(*ledger.Hold)]

	giving struct { // up all slots
		sync.Mutex
		err  error
		up   chan struct{} // closed when they are given up, or Options.Stop is
		back chan struct{} // closed when they may be taken again
	}

	policy struct {
		sync.Mutex
		current *ledger.DefaultPolicy // nil until BindDefault was called
		bound   chan struct{}         // closed then
	}

	keepers sync.WaitGroup
	ended   chan struct{} // closed when the keepers have ended
}

var _ ledger.Ledger = (*Ledger)(nil)

// A slot is one of the store's, as this instance sees it.
type slot struct {
	number  int
	here    atomic.Pointer[commit.Ledger] // nil while it is not this instance's
	there   *remote.Ledger                // of another instance; nil where none is asked
	poke    chan struct{}                 // one token: the first slot's log has grown
	opening atomic.Uint64                 // how often it has come
	doubts  atomic.Uint64                 // keys of it that could not be looked up

	mu     sync.Mutex
	guests *guests // of here; nil when it is about to leave
	noted  uint64  // up to where it was noted to have copied the first slot's log
}

// guests are the requests that Enter has let in while a slot is here.
type guests struct {
	mu     sync.Mutex
	number int
	going  chan struct{} // closed when the slot is about to leave
	gone   chan struct{} // closed then, when none is inside any more
}

func (g *guests) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.number += n
	g.judge()
}

// judge closes gone where it is time. The caller has the lock.
func (g *guests) judge() {
	select {
	case <-g.going:
	default:
		return
	}
	if g.number == 0 {
		close(g.gone)
	}
}

// Open takes the slots that are this instance's share, as they come. It returns when it knows the service-wide records.
func Open(o Options) (*Ledger, error) {
	l := &Ledger{options: o, told: make(chan struct{}, 1), ended: make(chan struct{})}
	l.policy.bound = make(chan struct{})
	if o.Unbound {
		close(l.policy.bound)
	}
	l.moving.none.L = &l.moving
	l.giving.up, l.giving.back = make(chan struct{}), make(chan struct{})
	if o.Go == nil {
		l.options.Go = system.Go
	}
	if len(o.Slots) > 1 {
		l.globals = memory.New()
		end, err := o.Store.End()
		if err == nil {
			err = l.globals.Follow(context.Background(), o.Store, end)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reading the service-wide records: %w", err), l.globals.Close())
		}
	}
	for n := range o.Slots {
		s := &slot{number: n, poke: make(chan struct{}, 1)}
		if o.Remote != nil {
			s.there = remote.New(func(ctx context.Context, question []byte) ([]byte, error) { return l.askOther(ctx, s, question) })
		}
		l.slots = append(l.slots, s)
	}
	for n := range o.Slots {
		l.keepers.Add(1)
		l.options.Go(func() {
			defer l.keepers.Done()
			l.keep(l.slots[n], o.Slots[n])
		})
	}
	if l.globals != nil {
		l.keepers.Add(1)
		l.options.Go(func() { defer l.keepers.Done(); l.followGlobals() })
	}
	l.options.Go(func() {
		select {
		case <-o.Stop:
			l.giveUp(ledger.ErrClosed)
		case <-l.ended:
		}
	})
	l.options.Go(func() {
		defer close(l.ended)
		if l.keepers.Wait(); l.globals != nil {
			_ = l.globals.Close() // it is in memory
		}
	})
	return l, nil
}

// OnResolved has a function called with each hold that another instance has had resolved here.
func (l *Ledger) OnResolved(told func(*ledger.Hold)) { l.resolved.Store(&told) }

// Of returns the slot of the key whose secret has a SHA-256 hash: 0 where there is one slot, and otherwise not the first, which has the
// service-wide records.
func (l *Ledger) Of(hash [32]byte) int {
	keyed := uint64(len(l.slots) - 1)
	if keyed == 0 {
		return 0
	}
	return 1 + int(binary.BigEndian.Uint64(hash[:8])%keyed) //nolint:gosec // it is below the number of slots
}

// Slots returns how many slots there are, the first of several included.
func (l *Ledger) Slots() int { return len(l.slots) }

// Whole reports whether all slots are here.
func (l *Ledger) Whole() bool {
	for _, s := range l.slots {
		if s.here.Load() == nil {
			return false
		}
	}
	return true
}

// Here calls visit with the ledger of each slot that is here, until it returns an error.
func (l *Ledger) Here(visit func(slot int, of *commit.Ledger) error) error {
	for _, s := range l.slots {
		if here := s.here.Load(); here != nil {
			if err := visit(s.number, here); err != nil {
				return err
			}
		}
	}
	return nil
}

// A Stay is a request's time in a slot that is here. It confirms what the request has seen of the slot.
type Stay struct {
	of     *commit.Ledger
	slot   *slot
	doubts uint64
	guests *guests
}

// Given reports whether it is one; the zero value is none.
func (y Stay) Given() bool { return y.slot != nil }

// Mark implements commit.Confirmer.
func (y Stay) Mark() uint64 { return y.of.Mark() }

// Confirm implements commit.Confirmer.
func (y Stay) Confirm(mark uint64) error {
	if err := y.of.Confirm(mark); err != nil {
		return err
	}
	if y.slot.doubts.Load() != y.doubts {
		return fmt.Errorf("%w: a key could not be looked up", ErrElsewhere)
	}
	return nil
}

// Going is closed when the slot is about to leave: a request that waits for something should end.
func (y Stay) Going() <-chan struct{} { return y.guests.going }

// Leave says that the request is answered.
func (y Stay) Leave() { y.guests.add(-1) }

// Enter lets a request in that is of a slot, and reports false where the slot is not here, its log has failed, or it is about to leave. The
// slot is here until Leave is called, unless that takes longer than Options.Patience or the instance is replaced.
func (l *Ledger) Enter(number int) (Stay, bool) {
	s := l.slots[number]
	s.mu.Lock()
	defer s.mu.Unlock()
	here := s.here.Load()
	if s.guests == nil || here.Health() != nil {
		return Stay{}, false
	}
	s.guests.add(1)
	return Stay{here, s, s.doubts.Load(), s.guests}, true
}

// leaves has no request let in any more, and returns a channel that is closed when those that are inside have left.
func (s *slot) leaves() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests
	s.guests = nil
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.going)
	g.judge()
	return g.gone
}

// serve has the ledger of the slot asked from now on. It has copied the first slot's log up to a record.
func (s *slot) serve(l *commit.Ledger, noted uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening.Add(1)
	s.here.Store(l)
	s.guests, s.noted = &guests{going: make(chan struct{}), gone: make(chan struct{})}, noted
}

// saidAgain is how long a slot may stay lost for one reason before the log says so again.
const saidAgain = time.Minute

// keep opens the ledger of a slot when it is this instance's, and closes it when it is to be handed over, until the instance ends.
func (l *Ledger) keep(s *slot, source Slot) {
	select {
	case <-l.policy.bound: // before it is ready an instance takes nothing from those that are
	case <-l.options.Stop:
		return
	}
	said, silent := "", time.Duration(0)
	for {
		up, back, refused := l.given()
		var err error
		if refused == nil {
			err = l.hold(s, source, up)
		}
		select {
		case <-l.options.Stop:
			return
		default:
		}
		switch {
		case errors.Is(err, ledger.ErrLocked):
			l.options.Replaced(err)
			return
		case refused != nil || l.refusal() != nil:
			select {
			case <-back:
			case <-l.options.Stop:
				return
			}
			continue
		case err == nil:
			continue
		}
		if silent += l.options.Every; err.Error() != said || silent >= saidAgain {
			l.options.Log.Warn("a slot is not this instance's any more, or can't be opened", "slot", s.number, "reason", err)
			said, silent = err.Error(), 0
		}
		pause := l.options.Timers.Alarm(l.options.Every)
		select {
		case <-l.options.Stop:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// hold opens the ledger of a slot, and has it serve.
func (l *Ledger) hold(s *slot, source Slot, up <-chan struct{}) error {
	opened, failed, err := source.Open(l.options.Commit, up)
	if err != nil {
		return err
	}
	if err := l.prepare(s, opened); err != nil {
		return errors.Join(err, opened.Close())
	}
	return l.serves(s, source, opened, failed, up)
}

// given returns the channels that are closed when the slots are given up and when they may be taken again, and why they are given up already.
func (l *Ledger) given() (up, back <-chan struct{}, err error) {
	l.giving.Lock()
	defer l.giving.Unlock()
	return l.giving.up, l.giving.back, l.giving.err
}

// refusal returns why the slots are given up, nil where they are not.
func (l *Ledger) refusal() error {
	_, _, err := l.given()
	return err
}

// giveUp gives up all slots.
func (l *Ledger) giveUp(err error) {
	l.giving.Lock()
	defer l.giving.Unlock()
	if l.giving.err == nil {
		l.giving.err = err
		close(l.giving.up)
	}
}

// takeAgain has slots taken that were given up.
func (l *Ledger) takeAgain() {
	l.giving.Lock()
	defer l.giving.Unlock()
	if l.giving.err == nil || errors.Is(l.giving.err, ledger.ErrClosed) {
		return
	}
	l.giving.err = nil
	close(l.giving.back)
	l.giving.up, l.giving.back = make(chan struct{}), make(chan struct{})
}

// prepare copies the service-wide records into the ledger of a slot, and has it serve then.
func (l *Ledger) prepare(s *slot, opened *commit.Ledger) error {
	ctx, end := context.Background(), uint64(0)
	if l.options.Opened != nil {
		if err := l.options.Opened(s.number, opened); err != nil {
			return err
		}
	}
	if s.number > 0 {
		var err error
		if end, err = l.options.Store.End(); err == nil {
			err = opened.Follow(ctx, l.options.Store, end)
		}
		if err == nil {
			err = l.options.Store.NoteFollowed(s.number, end)
		}
		if err != nil {
			return fmt.Errorf("following the first slot: %w", err)
		}
	}
	l.policy.Lock()
	defer l.policy.Unlock()
	if l.policy.current != nil && (s.number > 0 || len(l.slots) == 1) {
		bound, err := opened.BindDefault(ctx, l.policy.current)
		switch {
		case errors.Is(err, ledger.ErrUnavailable), errors.Is(err, ledger.ErrUnknown):
			return fmt.Errorf("the default policy: %w", err)
		case err != nil:
			return l.refused(s.number, err)
		case l.options.Bound != nil:
			l.options.Bound(s.number, bound)
		}
	}
	s.serve(opened, end)
	return nil
}

// refused gives up all slots, since one has refused the default policy.
func (l *Ledger) refused(slot int, err error) error {
	if l.options.Refused != nil {
		err = l.options.Refused(err)
	}
	if l.refusal() == nil {
		l.options.Log.Error("this instance decides nothing: its default policy is refused", "slot", slot, "reason", err)
	}
	l.giveUp(fmt.Errorf("the default policy is refused: %w", err))
	return err
}

// serves has requests ask a ledger until it is to be handed over, is lost, or the instance ends; then it closes it.
func (l *Ledger) serves(s *slot, source Slot, opened *commit.Ledger, failed, up <-chan struct{}) (err error) {
	left := make(chan struct{})
	defer close(left)
	if s.number > 0 {
		l.options.Go(func() {
			l.follow(s.poke, left, func(upto uint64) {
				if err := l.copy(s, opened, upto); err != nil && opened.Health() == nil {
					l.options.Log.Warn("service-wide records are not in force in a slot yet", "slot", s.number, "error", err)
				}
			})
		})
	}
	l.options.Go(func() {
		for {
			select {
			case <-opened.Outboxed():
				l.tell()
			case <-left:
				return
			}
		}
	})
	select {
	case <-source.Leaves():
		source.Leaving()
	case <-failed:
		err = opened.Health()
	case <-up:
	}
	late := l.options.Timers.Alarm(l.options.Patience)
	select {
	case <-s.leaves():
	case <-late.C:
	}
	late.Stop()
	l.leave(s, opened)
	return errors.Join(err, opened.Close())
}

// leave has a slot's ledger not asked any more. Where it may not have been this instance's to the last, nothing is confirmed that was seen
// meanwhile.
func (l *Ledger) leave(s *slot, opened *commit.Ledger) {
	l.moving.Lock()
	l.moving.number++
	s.here.Store(nil)
	l.moving.Unlock()
	lost := opened.Confirm(opened.Mark()) != nil
	l.moving.Lock()
	defer l.moving.Unlock()
	if lost {
		l.doubts.Add(1)
	}
	l.moving.number--
	l.moving.none.Broadcast()
}

// Mark implements commit.Confirmer, for what is seen of several slots.
func (l *Ledger) Mark() uint64 { return l.doubts.Load() }

// Confirm implements commit.Confirmer. Each slot that is here proves that it is, none was lost since the mark, and each key was looked up
// that was asked for.
func (l *Ledger) Confirm(mark uint64) error {
	var all sync.WaitGroup
	faults := make([]error, len(l.slots))
	for i, s := range l.slots {
		if here := s.here.Load(); here != nil {
			all.Add(1)
			l.options.Go(func() { defer all.Done(); faults[i] = here.Confirm(here.Mark()) })
		}
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return err
	}
	l.moving.Lock()
	defer l.moving.Unlock()
	for l.moving.number > 0 { // it may be lost
		l.moving.none.Wait()
	}
	if l.doubts.Load() != mark {
		return fmt.Errorf("%w: a slot was lost meanwhile, or could not be asked", ErrElsewhere)
	}
	return nil
}

// askPause is the pause before the instance that has a slot is looked for again.
const askPause = 20 * time.Millisecond

// askOther asks the instance that has a slot, or the slot itself where it comes here meanwhile.
func (l *Ledger) askOther(ctx context.Context, s *slot, question []byte) (answer []byte, err error) {
	late := l.options.Timers.Alarm(l.options.RemotePatience)
	defer late.Stop()
	for {
		if s.here.Load() != nil {
			answer, err = l.Answer(ctx, s.number, question)
		} else {
			answer, err = l.options.Remote(ctx, s.number, question)
		}
		if !errors.Is(err, ErrElsewhere) {
			return answer, err
		}
		again := l.options.Timers.Alarm(askPause)
		select {
		case <-again.C:
			continue
		case <-late.C:
		case <-ctx.Done():
		}
		again.Stop()
		return nil, err
	}
}

func (l *Ledger) tell() {
	select {
	case l.told <- struct{}{}:
	default: // it has been told and has not looked yet
	}
}

// follow calls copy with the LSN of the last service-wide record as it is known, again and again, until left or Options.Stop is closed. A
// value of poke has it look at once.
func (l *Ledger) follow(poke, left <-chan struct{}, copy func(upto uint64)) {
	for {
		pause := l.options.Timers.Alarm(l.options.Every)
		select {
		case <-l.options.Stop:
			pause.Stop()
			return
		case <-left:
			pause.Stop()
			return
		case <-poke:
		case <-pause.C:
		}
		pause.Stop()
		seen := l.options.Store.Seen()
		if zero := l.slots[0].here.Load(); zero != nil {
			if head, err := zero.Head(context.Background()); err == nil {
				seen = max(seen, head.LSN)
			}
		}
		copy(seen)
	}
}

// followGlobals has this instance know the service-wide records as they come.
func (l *Ledger) followGlobals() {
	l.follow(nil, nil, func(upto uint64) {
		if err := l.globals.Follow(context.Background(), l.options.Store, upto); err != nil {
			l.options.Log.Warn("service-wide records can't be read", "error", err)
		}
	})
}

// copy copies the service-wide records into a slot's ledger, up to one.
func (l *Ledger) copy(s *slot, here *commit.Ledger, upto uint64) error {
	s.mu.Lock()
	noted := s.noted
	s.mu.Unlock()
	if err := here.Follow(context.Background(), l.options.Store, upto); err != nil || upto <= noted {
		return err
	}
	if err := l.options.Store.NoteFollowed(s.number, upto); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted = upto
	return nil
}

// everywhere has the instance that has the first slot write a service-wide record to it, and returns when it is in force in all slots.
func (l *Ledger) everywhere(ctx context.Context, record func(asked) error) error {
	at, err := l.ask(0)
	if err != nil {
		return err
	}
	if first, here := at.(*commit.Ledger); here {
		return l.spread(ctx, first, record)
	}
	return record(at)
}

// spread writes a service-wide record to the first slot, which is here, and returns when it is in force in all slots.
func (l *Ledger) spread(ctx context.Context, first *commit.Ledger, record func(asked) error) error {
	if err := record(first); err != nil || len(l.slots) == 1 {
		return err
	}
	head, err := first.Head(ctx)
	if err != nil {
		return fmt.Errorf("%w: %v", ledger.ErrUnknown, err) //nolint:errorlint // it is recorded
	}
	late := l.options.Timers.Alarm(l.options.GlobalPatience)
	defer late.Stop()
	for {
		for _, s := range l.slots {
			select {
			case s.poke <- struct{}{}:
			default: // it is awake, or not here
			}
		}
		behind, err := l.options.Store.Behind(head.LSN)
		if err == nil && len(behind) == 0 {
			return nil
		}
		again := l.options.Timers.Alarm(min(l.options.Every, 20*time.Millisecond))
		select {
		case <-again.C:
			continue
		case <-ctx.Done():
			err = errors.Join(err, ctx.Err())
		case <-late.C:
		}
		again.Stop()
		return fmt.Errorf("%w: it is recorded, and not in force in the slots %v yet: %v", ledger.ErrUnknown, behind, err) //nolint:errorlint // as above
	}
}
