package slots

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

var errStopped = errors.New("asked to end")

// A world is a store in memory: the logs of its slots, which of its instances has which, and what they have in common.
type world struct {
	logs    []*begun
	divided uint64 // the LSN after which the others than the first begin

	mu          sync.Mutex
	owner       []*instance
	changed     *sync.Cond
	keys        map[ledger.ID]place
	hashes      map[[32]byte]ledger.ID
	activations map[[32]byte]int
	followed    []uint64
	deaf        bool // planted: it says that every slot has copied everything

	remote bool         // instances ask each other
	cut    atomic.Bool  // answers between them are lost
	asked  atomic.Int64 // questions between them
	broken atomic.Bool  // nothing is appended any more, or without an answer
	early  bool         // planted: such an append is answered as if it were made
}

type place struct {
	slot int
	hash [32]byte
}

func newWorld(slots int) *world {
	w := &world{
		owner: make([]*instance, slots), followed: make([]uint64, slots), keys: map[ledger.ID]place{}, hashes: map[[32]byte]ledger.ID{}, activations: map[[32]byte]int{},
	}
	w.changed = sync.NewCond(&w.mu)
	for range slots {
		w.logs = append(w.logs, &begun{Log: memory.NewLog()})
	}
	return w
}

// An instance is a process with a ledger over the slots that it is given.
type instance struct {
	*world
	*Ledger
	stop   chan struct{}
	ending sync.Once
	held   []*held
}

// A held is a slot as an instance has it.
type held struct {
	*instance
	number int
	wanted bool // the instance may take it
	leave  chan struct{}
}

// start starts an instance that may take some of the slots.
func (w *world) start(t *testing.T, may ...int) *instance {
	t.Helper()
	i, err := w.begin(Options{Every: 20 * time.Millisecond, GlobalPatience: time.Second, Commit: commit.Options{Random: rand.Reader}}, may...)
	must(t, err)
	t.Cleanup(func() { _ = i.Close() })
	return i
}

// begin is start with some of the options.
func (w *world) begin(o Options, may ...int) (*instance, error) { //nolint:gocritic // as Open takes them
	i := &instance{world: w, stop: make(chan struct{})}
	o.Store, o.Stop, o.Patience, o.Log, o.Divided = w, i.stop, 2*time.Second, slog.New(slog.DiscardHandler), w.divided
	if w.remote {
		o.Remote = w.pass
	}
	for n := range w.logs {
		s := &held{i, n, slices.Contains(may, n), make(chan struct{}, 1)}
		i.held, o.Slots = append(i.held, s), append(o.Slots, s)
	}
	var err error
	i.Ledger, err = Open(o)
	return i, err
}

// Second implements Store.
func (w *world) Second(use func(commit.Log) error) error { return use(w.logs[1]) }

// pass asks the instance that has a slot.
func (w *world) pass(ctx context.Context, slot int, question []byte) ([]byte, error) {
	w.mu.Lock()
	owner := w.owner[slot]
	w.mu.Unlock()
	if owner == nil {
		return nil, ErrElsewhere
	}
	w.asked.Add(1)
	answer, err := owner.Answer(ctx, slot, question)
	if err == nil && w.cut.Load() {
		return nil, errors.New("planted: the answer is lost")
	}
	return answer, err
}

// Close ends the instance.
func (i *instance) Close() error {
	i.ending.Do(func() {
		close(i.stop)
		i.mu.Lock()
		i.changed.Broadcast()
		i.mu.Unlock()
	})
	return i.Ledger.Close()
}

// serve has the instance serve without a default policy, and waits until it has its slots.
func (i *instance) serve(t *testing.T) {
	t.Helper()
	close(i.policy.bound)
	for _, s := range i.held {
		if s.wanted {
			i.has(t, s.number, true)
		}
	}
}

// has waits until a slot is served by the instance, or is not any more.
func (i *instance) has(t *testing.T, number int, want bool) {
	t.Helper()
	must(t, i.waits(number, want))
}

// waits is has with an error.
func (i *instance) waits(number int, want bool) error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Microsecond) {
		if _, err := i.at(number); (err == nil) == want {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("slot %d is here: %t", number, !want)
		}
	}
}

// move has an instance hand a slot over to another one.
func (i *instance) move(t *testing.T, number int, to *instance) {
	t.Helper()
	must(t, i.hands(number, to))
}

// hands is move with an error.
func (i *instance) hands(number int, to *instance) error {
	i.mu.Lock()
	i.held[number].wanted, to.held[number].wanted = false, true
	i.mu.Unlock()
	i.held[number].leave <- struct{}{}
	return errors.Join(i.waits(number, false), to.waits(number, true))
}

// Open implements Slot.
func (s *held) Open(options commit.Options, stop <-chan struct{}) (l *commit.Ledger, failed <-chan struct{}, err error) {
	go func() {
		<-stop
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.wanted || s.owner[s.number] != nil {
		select {
		case <-stop:
			return nil, nil, errStopped
		default:
		}
		s.changed.Wait()
	}
	if s.broken.Load() {
		return nil, nil, errBroken
	}
	s.owner[s.number] = s.instance
	if l, err = commit.Open(&owned{s.logs[s.number], s}, options); err != nil {
		s.owner[s.number] = nil
	}
	return l, nil, err
}

// Leaves implements Slot.
func (s *held) Leaves() <-chan struct{} { return s.leave }

// Leaving implements Slot.
func (*held) Leaving() {}

// An owned is a log that somebody else can have when it is closed.
type owned struct {
	*begun
	by *held
}

var errBroken = errors.New("planted: nothing is written")

// Append implements commit.Log.
func (o *owned) Append(first uint64, group []byte) error {
	switch broken := o.by.broken.Load(); {
	case broken && o.by.early:
		return nil
	case broken && first%2 == 0:
		return errBroken
	case broken:
		return errors.Join(o.begun.Append(first, group), errBroken)
	}
	return o.begun.Append(first, group)
}

// Close implements io.Closer.
func (o *owned) Close() error {
	o.by.mu.Lock()
	defer o.by.mu.Unlock()
	o.by.owner[o.by.number] = nil
	o.by.changed.Broadcast()
	return nil
}

// KeySlot implements Store.
func (w *world) KeySlot(key ledger.ID) (int, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.keys[key]
	return p.slot, ok, nil
}

// EnterKey implements Store.
func (w *world) EnterKey(key ledger.ID, hash [32]byte, slot int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	entered, known := w.keys[key]
	if id, taken := w.hashes[hash]; known && entered.hash != hash || taken && id != key {
		return fmt.Errorf("%w: %s", ledger.ErrKeyExists, key)
	}
	w.keys[key], w.hashes[hash] = place{slot, hash}, key
	return nil
}

// EnterActivation implements Store.
func (w *world) EnterActivation(id [32]byte, slot int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if in, known := w.activations[id]; known && in != slot {
		return ledger.ErrUsed
	}
	w.activations[id] = slot
	return nil
}

// Read implements Store.
func (w *world) Read(from uint64, yield func(uint64, []byte) bool) error {
	return w.logs[0].Read(from, yield)
}

// End implements Store.
func (w *world) End() (last uint64, err error) {
	head, err := w.logs[0].Head()
	if err == nil && head > 0 {
		err = w.logs[0].Read(head, func(_ uint64, group []byte) bool {
			last, err = commit.LastOf(group)
			return err == nil
		})
	}
	return last, err
}

// Seen implements Store.
func (w *world) Seen() uint64 {
	last, err := w.End()
	if err != nil {
		panic(err)
	}
	return last
}

// NoteFollowed implements Store.
func (w *world) NoteFollowed(slot int, lsn uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followed[slot] = max(w.followed[slot], lsn)
	return nil
}

// Listen implements Store.
func (*world) Listen(int, bool) {}

// Behind implements Store.
func (w *world) Behind(lsn uint64) (behind []int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := 1; n < len(w.logs) && !w.deaf; n++ {
		if w.owner[n] != nil && w.followed[n] < lsn {
			behind = append(behind, n)
		}
	}
	return behind, nil
}

// all are the numbers of a world's slots.
func (w *world) all() (numbers []int) {
	for n := range w.logs {
		numbers = append(numbers, n)
	}
	return numbers
}
