// Package memory is a ledger without a disk, for tests and for evaluating policies: what is durable lasts as long as
// the process. It decides exactly as every other ledger does, and all counters start at zero.
package memory

import (
	"crypto/rand"
	"slices"
	"sort"
	"sync"

	"bailiff/runtime/ledger/commit"
)

// New returns an empty ledger. Close ends its goroutine.
func New() *commit.Ledger {
	l, err := commit.Open(NewLog(), commit.Options{Random: rand.Reader})
	if err != nil {
		panic("memory: an empty log cannot be corrupt: " + err.Error())
	}
	return l
}

// A Log is a commit.Log in memory.
type Log struct {
	mu     sync.RWMutex
	groups []entry
}

type entry struct {
	first uint64
	bytes []byte
}

// NewLog returns an empty log.
func NewLog() *Log { return &Log{} }

// Append implements commit.Log.
func (l *Log) Append(first uint64, group []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.groups = append(l.groups, entry{first, slices.Clone(group)})
	return nil
}

// Read implements commit.Log.
func (l *Log) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	l.mu.RLock()
	groups := l.groups
	l.mu.RUnlock()
	start := sort.Search(len(groups), func(i int) bool { return groups[i].first > from })
	for _, g := range groups[max(start-1, 0):] {
		if !yield(g.first, g.bytes) {
			return nil
		}
	}
	return nil
}

// Truncate implements commit.Log.
func (l *Log) Truncate(from uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := sort.Search(len(l.groups), func(i int) bool { return l.groups[i].first >= from })
	l.groups = slices.Clone(l.groups[:end])
	return nil
}

// Head implements commit.Log.
func (l *Log) Head() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.groups) == 0 {
		return 0, nil
	}
	return l.groups[len(l.groups)-1].first, nil
}
