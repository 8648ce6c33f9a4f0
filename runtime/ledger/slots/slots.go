// Package slots is a ledger over the slots of a store, which several instances share. A slot is a part of the API keys, with a log of its
// own that one instance at a time owns. Calls about one key go to the ledger of its slot: here, or at the instance that has it. Where that
// can't be asked they are refused with [ErrElsewhere]. Records that concern the whole service are written to the first slot's log, and
// copied into each of the others: they are in force in all of them when the call that asked for one returns.
package slots

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/remote"
	"bailiff/runtime/system"
)

// ErrElsewhere is a ledger.ErrUnavailable: another instance owns the slot, or none does at the moment.
var ErrElsewhere = fmt.Errorf("%w: the slot is not this instance's", ledger.ErrUnavailable)

// errSeveral is a ledger.ErrInvalid: the logs of several slots have no common order.
var errSeveral = fmt.Errorf("%w: the store has a log for each of its slots, and this works over one log; where it takes an API key, name one, and where it copies the record, set SVC_STORE as the service has it", ledger.ErrInvalid)

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
	// Second calls use with the log of the second slot, which begins after [Options.Divided].
	Second(use func(commit.Log) error) error
	// Seen returns the LSN of the last record of the first slot's log, as far as this instance has heard.
	Seen() uint64
	// End returns the LSN of the last record of the first slot's log, as it is for certain.
	End() (uint64, error)
	// NoteFollowed notes up to which record of the first slot's log a slot of this instance has copied it.
	NoteFollowed(slot int, lsn uint64) error
	// Listen has the owner of a slot heard that this instance does not wait for, or not any more.
	Listen(slot int, on bool)
	// Behind returns the slots that an instance owns, and that were not noted to have copied a record.
	Behind(lsn uint64) ([]int, error)
}

// Options are what a ledger over slots is made of. Slots, Store, Log and Stop are required.
type Options struct {
	Slots  []Slot
	Store  Store
	Commit commit.Options // of the ledger of each slot
	// Divided is the LSN up to which the first slot's log has the records of all keys; those of the other slots begin after it. 0 where they
	// begin with record 1.
	Divided uint64
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
	// slot is left to other instances then, until BindDefault is called again.
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

	policy struct {
		sync.Mutex
		current *ledger.DefaultPolicy // nil until BindDefault was called
		bound   chan struct{}         // closed then
		changed chan struct{}         // closed with the next call
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
	refuses atomic.Bool                   // the instance's default policy

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
	l.policy.bound, l.policy.changed = make(chan struct{}), make(chan struct{})
	if o.Unbound {
		close(l.policy.bound)
	}
	l.moving.none.L = &l.moving
	if o.Go == nil {
		l.options.Go = system.Go
	}
	if len(o.Slots) > 1 {
		var err error
		if l.globals, err = openGlobals(&o); err != nil {
			return nil, fmt.Errorf("reading the service-wide records: %w", err)
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
		defer close(l.ended)
		if l.keepers.Wait(); l.globals != nil {
			_ = l.globals.Close() // it is in memory
		}
	})
	return l, nil
}

// OnResolved has a function called with each hold that another instance has had resolved here.
func (l *Ledger) OnResolved(told func(*ledger.Hold)) { l.resolved.Store(&told) }

// Of returns the slot of the key whose secret has a SHA-256 hash.
func (l *Ledger) Of(hash [32]byte) int { return ledger.SlotOf(hash, len(l.slots)) }

// Divided returns [Options.Divided].
func (l *Ledger) Divided() uint64 { return l.options.Divided }

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

// Here are the ledgers of the slots that are here, by their numbers.
func (l *Ledger) Here() iter.Seq2[int, *commit.Ledger] {
	return func(yield func(int, *commit.Ledger) bool) {
		for _, s := range l.slots {
			if here := s.here.Load(); here != nil && !yield(s.number, here) {
				return
			}
		}
	}
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

// Mark implements commit.Confirmer, for answers from several slots.
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
