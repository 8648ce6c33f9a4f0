package simulate

import (
	"fmt"
	"slices"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// A disk keeps the groups of a log, and fails.
type disk struct {
	k        *kernel
	groups   []stored
	snapshot []byte
	durable  uint64 // LSN of the last record of the groups

	calls  int // that were made
	failAt int // the call that fails; 0: none does
	broken bool
	errors int // calls that were made to fail

	misdirect bool     // the next write lands on another group
	lost      []stored // the groups as they would be without the write that landed on another
	current   *handle
}

type stored struct {
	first uint64
	count uint32
	bytes []byte
}

// A handle is a disk that a life of the service has open. It is a commit.Log that keeps snapshots.
type handle struct {
	*disk
	life    *life
	failed  bool // nothing is written any more
	first   uint64
	pending []byte // a group that is being written, from this record on
}

var (
	_ commit.Log       = (*handle)(nil)
	_ commit.Snapshots = (*handle)(nil)
)

// open opens the disk for a life.
func (d *disk) open(l *life) (commit.Log, error) {
	if l.over {
		return nil, errOver
	}
	if err := d.call("open"); err != nil {
		return nil, err
	}
	d.current = &handle{disk: d, life: l}
	return d.current, nil
}

// call counts a call, and returns why it fails.
func (d *disk) call(what string) error {
	d.calls++
	if d.calls == d.failAt || d.broken {
		d.errors++
		d.k.note("the disk fails call %d, %s", d.calls, what)
		return fmt.Errorf("%s: %w", what, ledgertest.ErrDisk)
	}
	return nil
}

// errOver is what calls of a life that is over fail with.
var errOver = fmt.Errorf("the machine is off: %w", ledgertest.ErrDisk)

func (h *handle) usable(what string) error {
	if h.life.over {
		return errOver
	}
	return h.call(what)
}

// Append implements commit.Log. Between what a caller sees of it, others go on, twice: before and after the group is durable.
func (h *handle) Append(first uint64, group []byte) error {
	h.first, h.pending = first, group
	h.life.gate("the disk writes")
	h.pending = nil
	err := h.usable("append")
	switch {
	case h.life.over:
		return errOver
	case h.failed:
		return fmt.Errorf("append after a failure: %w", ledgertest.ErrDisk)
	case err != nil:
		if h.failed = true; h.k.chance(2) {
			h.keep(first, group) // it is there all the same
		}
		return err
	}
	h.keep(first, group)
	h.life.gate("the disk has written")
	if h.life.over {
		return errOver
	}
	return nil
}

// keep has a group durable, or puts it in the place of another one.
func (d *disk) keep(first uint64, group []byte) {
	g := stored{first, countOf(group), slices.Clone(group)}
	d.durable = first + uint64(g.count) - 1
	if d.lost != nil {
		d.lost = append(d.lost, g)
	}
	if n := len(d.groups); d.misdirect && n > 1 {
		d.misdirect, d.lost = false, append(slices.Clone(d.groups), g)
		at := d.k.rand.IntN(n - 1)
		d.k.note("the write of group %d lands on group %d", first, d.groups[at].first)
		d.groups = slices.Clone(d.groups)
		d.groups[at].bytes = g.bytes
		return
	}
	d.groups = append(d.groups, g)
}

// crash leaves of a group that is being written nothing, a part or all of it.
func (d *disk) crash() {
	h := d.current
	if h == nil || h.pending == nil || h.failed {
		return
	}
	group := h.pending
	switch d.k.rand.IntN(3) {
	case 0:
		d.k.note("group %d is torn", h.first)
		d.groups = append(d.groups, stored{h.first, 0, slices.Clone(group[:d.k.rand.IntN(len(group))])})
	case 1:
		d.k.note("group %d is there", h.first)
		d.keep(h.first, group)
	}
}

// restore puts a disk right that a write has landed wrong on, as an operator does with a backup.
func (d *disk) restore() { d.groups, d.lost, d.misdirect = d.lost, nil, false }

// crashSnapshot damages the snapshot, which is a copy and never the truth.
func (d *disk) crashSnapshot() {
	if len(d.snapshot) > 0 {
		d.snapshot = slices.Clone(d.snapshot)
		d.snapshot[d.k.rand.IntN(len(d.snapshot))] ^= 1
		d.k.note("the snapshot is damaged")
	}
}

// countOf returns how many records a sealed group has.
func countOf(group []byte) uint32 {
	return uint32(group[28])<<24 | uint32(group[29])<<16 | uint32(group[30])<<8 | uint32(group[31])
}

// Read implements commit.Log.
func (h *handle) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	if err := h.usable("read"); err != nil {
		return err
	}
	groups := h.groups
	start := 0
	for i, g := range groups {
		if g.first <= from {
			start = i
		}
	}
	for _, g := range groups[start:] {
		if !yield(g.first, g.bytes) {
			break
		}
	}
	return nil
}

// Truncate implements commit.Log.
func (h *handle) Truncate(from uint64) error {
	if err := h.usable("truncate"); err != nil {
		return err
	}
	for i, g := range h.groups {
		if g.first >= from {
			h.k.note("groups from %d on are removed", from)
			h.groups = slices.Clone(h.groups[:i])
			break
		}
	}
	return nil
}

// Head implements commit.Log.
func (h *handle) Head() (uint64, error) {
	if err := h.usable("head"); err != nil {
		return 0, err
	}
	if len(h.groups) == 0 {
		return 0, nil
	}
	return h.groups[len(h.groups)-1].first, nil
}

// SaveSnapshot implements commit.Snapshots.
func (h *handle) SaveSnapshot(snapshot []byte) error {
	h.life.gate("the disk keeps a snapshot")
	if err := h.usable("save snapshot"); err != nil {
		return err
	}
	h.snapshot = slices.Clone(snapshot)
	return nil
}

// LoadSnapshot implements commit.Snapshots.
func (h *handle) LoadSnapshot() ([]byte, error) {
	if err := h.usable("load snapshot"); err != nil {
		return nil, err
	}
	return h.snapshot, nil
}

// A copied log has some groups, and takes no more.
type copied []stored

// Append implements commit.Log.
func (copied) Append(uint64, []byte) error { return ledger.ErrUnavailable }

// Truncate implements commit.Log.
func (copied) Truncate(uint64) error { return nil }

// Read implements commit.Log.
func (c copied) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	for i, g := range c {
		if (i+1 == len(c) || c[i+1].first > from) && !yield(g.first, g.bytes) {
			break
		}
	}
	return nil
}

// Head implements commit.Log.
func (c copied) Head() (uint64, error) {
	if len(c) == 0 {
		return 0, nil
	}
	return c[len(c)-1].first, nil
}
