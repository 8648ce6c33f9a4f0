package commit_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

// logOf is a log of groups.
func logOf(groups [][]byte) *memory.Log {
	log := memory.NewLog()
	first := uint64(1)
	for _, g := range groups {
		last, err := commit.LastOf(g)
		if err != nil {
			panic(err)
		}
		_ = log.Append(first, g) // it has memory
		first = last + 1
	}
	return log
}

// A careless log keeps another group than it is given, or none.
type careless struct {
	*memory.Log
	spoil func(group []byte) []byte // nil: the group is not kept
	at    uint64                    // the first LSN of that group
}

// Append implements commit.Log.
func (c careless) Append(first uint64, group []byte) error {
	if first == c.at {
		if group = c.spoil(slices.Clone(group)); group == nil {
			return nil
		}
	}
	return c.Log.Append(first, group)
}

// TestCopy copies a log byte for byte, and notices a group that is missing, and one that is another, on either side.
func TestCopy(t *testing.T) {
	groups, head := backedUp(t)
	nothing := func(uint64) {}
	to := memory.NewLog()
	if end, err := commit.Copy(logOf(groups), to, rand.Reader, nothing); err != nil || end.Head != head || end.Groups != len(groups) || end.Bytes == 0 || end.Keys == 0 {
		t.Fatalf("copied up to %+v, of %+v: %v", end, head, err)
	}
	l := open(t, to)
	defer l.Close()
	if again, _ := groupsOf(t, l); !slices.EqualFunc(groups, again, bytes.Equal) {
		t.Error("the groups are others")
	}
	if state, err := l.Head(context.Background()); err != nil || state != head {
		t.Errorf("the copy ends at %+v, %v", state, err)
	}
	if _, err := commit.Copy(logOf(groups), to, rand.Reader, nothing); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("copied over another log: %v", err)
	}

	at, err := commit.LastOf(groups[2])
	if err != nil {
		t.Fatal(err)
	}
	flip := func(g []byte) []byte { g[len(g)-6] ^= 1; return g }
	for what, log := range map[string]commit.Log{
		"a group that is not kept":     careless{memory.NewLog(), func([]byte) []byte { return nil }, at + 1},
		"a group that is kept changed": careless{memory.NewLog(), flip, at + 1},
	} {
		if _, err := commit.Copy(logOf(groups), log, rand.Reader, nothing); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, bad := range map[string][][]byte{
		"a missing group": slices.Delete(slices.Clone(groups), 2, 3),
		"a changed group": slices.Concat(groups[:2], [][]byte{flip(slices.Clone(groups[2]))}, groups[3:]),
	} {
		if _, err := commit.Copy(logOf(bad), memory.NewLog(), rand.Reader, nothing); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	torn := slices.Clone(groups)
	torn[len(torn)-1] = flip(slices.Clone(torn[len(torn)-1]))
	if end, err := commit.Copy(logOf(torn), memory.NewLog(), rand.Reader, nothing); err != nil || end.LSN >= head.LSN {
		t.Errorf("a last group that was never acknowledged: copied up to %d of %d, %v", end.LSN, head.LSN, err)
	}
}
