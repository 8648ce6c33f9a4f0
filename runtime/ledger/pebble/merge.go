package pebbleledger

import (
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// Each flush makes a table of two megabytes, and since the keys of groups ascend, no two tables overlap. Pebble's own
// compactions would move such tables down one by one and never merge them. So they are switched off for the log, and the
// oldest tables of level 0 are merged whenever there are many: each group is written once more, and that is all. Pebble
// cannot merge tables of the lowest level, so those that an earlier release moved there stay as they are.
const (
	// mergeTables is how many tables are merged at once.
	mergeTables = 32
	// recentTables is how many tables are left as they are.
	recentTables = 16
	// mergedBytes is the size of a merged table.
	mergedBytes = 64 << 20
)

// A merger merges old tables.
type merger struct {
	ctx  context.Context // ended by stop
	stop context.CancelFunc
	wake chan struct{} // one token: there may be enough tables
	done chan struct{}
}

func newMerger() *merger {
	m := &merger{wake: make(chan struct{}, 1), done: make(chan struct{})}
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.wake <- struct{}{} // it looks at what an earlier process has left
	return m
}

// flushed notes that there is one table more.
func (m *merger) flushed() {
	if m == nil {
		return
	}
	select {
	case m.wake <- struct{}{}:
	default: // it has been woken and has not looked yet
	}
}

// mergeAll is the merger's goroutine.
func (l *log) mergeAll() {
	m := l.merging
	defer close(m.done)
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.wake:
		}
		for m.ctx.Err() == nil && l.mergeOldest(m.ctx) {
		}
	}
}

// mergeOldest merges the oldest tables, and reports whether there may be more to merge. Pebble tells of errors as of any
// background error; the next attempt is made after the next flush.
func (l *log) mergeOldest(ctx context.Context) (merged bool) {
	var err error
	defer l.recovered(&err)
	levels, err := l.db.SSTables()
	if err != nil || len(levels[0]) < mergeTables+recentTables {
		return false
	}
	tables := levels[0]
	slices.SortFunc(tables, func(a, b pebble.SSTableInfo) int {
		return pebble.DefaultComparer.Compare(a.Smallest.UserKey, b.Smallest.UserKey)
	})
	err = l.db.Compact(ctx, tables[0].Smallest.UserKey, tables[mergeTables-1].Largest.UserKey, false)
	return err == nil
}
