package ratelimit

import (
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxName is the longest name, in bytes.
	maxName = 256
	// maxShards is how many locks there are at most.
	maxShards = 64
	// namesPerShard is how many names a shard has at least. Fewer would be spread too unevenly: a shard is full when its
	// share of the names is, whatever room others have.
	namesPerShard = 256
	// stampsPerName is how many times of requests are kept on average, over all names that a store may hold. Most names
	// have few, and a busy one as many as its limit.
	stampsPerName = 64
	// minStamps is how many times of requests a store keeps at least: 8 MiB of them.
	minStamps = 1 << 20
)

// A Memory is a store in memory. A name is given back once all its requests have left their window.
type Memory struct {
	seed   maphash.Seed
	stamps atomic.Int64 // room for times of requests that may still be allotted
	shards []shard
}

var _ Store = (*Memory)(nil)

// NewMemory returns a store that holds at most maxNames names at once, and of all names together at most 64 times as
// many requests (but not less than a million), eight bytes each.
func NewMemory(maxNames int) *Memory {
	maxNames = max(maxNames, 1)
	count := min(max(maxNames/namesPerShard, 1), maxShards)
	m := &Memory{seed: maphash.MakeSeed(), shards: make([]shard, count)}
	m.stamps.Store(max(int64(maxNames)*stampsPerName, minStamps))
	for i := range m.shards {
		m.shards[i].init(maxNames/count, &m.stamps)
	}
	return m
}

// Take implements Store. For a name that it holds it allocates nothing, except for room as the name gets busier.
func (m *Memory) Take(name string, w Window, now time.Time) (Result, error) {
	switch {
	case w.Limit == 0:
		return Result{Allowed: true, Remaining: unlimited}, nil
	case w.Limit < 0 || w.Per <= 0:
		return Result{}, fmt.Errorf("%w: a window of %d requests per %v", errInvalid, w.Limit, w.Per)
	case len(name) > maxName:
		return Result{}, fmt.Errorf("%w: a name of %d bytes: at most %d", errInvalid, len(name), maxName)
	}
	s := m.shardOf(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(name, w, now.UnixNano())
}

// Names returns how many names are held. Those whose requests have all left their window count until their shard is
// asked for something.
func (m *Memory) Names() int {
	n := 0
	for i := range m.shards {
		n += m.shards[i].names()
	}
	return n
}

func (m *Memory) shardOf(name string) *shard {
	return &m.shards[maphash.String(m.seed, name)%uint64(len(m.shards))]
}

// A shard is a part of the names under one lock.
type shard struct {
	mu      sync.Mutex
	now     int64 // of the latest request: time does not run backwards
	max     int   // names
	stamps  *atomic.Int64
	index   map[string]int32 // place in entries
	entries []entry
	free    int32   // first of the unused entries, linked by next; none at the end
	queues  []queue // one per length of window in use
	_       [64]byte
}

// none is the end of a list of entries.
const none = int32(-1)

// An entry is a name and the times at which it was allowed something.
type entry struct {
	name       string
	ring       ring
	queue      int // in which it is
	prev, next int32
}

// A queue is the entries with windows of one length, in the order of their latest request: the first is the first to
// have left its window.
type queue struct {
	per         int64
	first, last int32
}

func (s *shard) init(maxNames int, stamps *atomic.Int64) {
	s.max, s.stamps, s.free = maxNames, stamps, none
	s.now = -1 << 63
	s.index = make(map[string]int32)
}

func (s *shard) names() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.index)
}

// take is Take under the lock.
func (s *shard) take(name string, w Window, now int64) (Result, error) {
	s.now = max(s.now, now)
	s.giveBack()
	i, held := s.index[name]
	if !held {
		return s.takeFirst(name, w)
	}
	e, start := &s.entries[i], s.now-int64(w.Per)
	e.ring.dropUntil(start)
	if e.ring.n >= w.Limit {
		return Result{Reset: time.Duration(e.ring.at(e.ring.n-w.Limit) - start)}, nil
	}
	if !e.ring.push(s.now, s.stamps) {
		return Result{}, fmt.Errorf("%w: no room for the time of another request", ErrFull)
	}
	s.requeue(i, w)
	return Result{Allowed: true, Remaining: w.Limit - e.ring.n, Reset: time.Duration(e.ring.at(0) - start)}, nil
}

// takeFirst takes under a name that is not held.
func (s *shard) takeFirst(name string, w Window) (Result, error) {
	i, err := s.add(name)
	if err != nil {
		return Result{}, err
	}
	s.entries[i].queue = s.queueOf(w)
	s.enqueue(i)
	return Result{Allowed: true, Remaining: w.Limit - 1, Reset: w.Per}, nil
}
