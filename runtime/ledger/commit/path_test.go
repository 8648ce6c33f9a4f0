package commit_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

// TestPath: a path begins with the group of its record, has as many groups as fit, and ends where it says. A log that was altered
// after the path has none.
func TestPath(t *testing.T) {
	log := memory.NewLog()
	l := open(t, log)
	defer l.Close()
	ctx := context.Background()
	must(t, l.CreateKey(ctx, ledgertest.NewKey(1)))
	for n := range 9 { // a group each
		p := plan()
		p.ID, p.Event.AgentID = ledgertest.ID('d', uint64(n+1)), agent(n)
		must(t, l.Submit(p).Wait(ctx))
	}
	head, err := l.Head(ctx)
	must(t, err)
	for lsn := uint64(1); lsn <= 10; lsn++ {
		whole, err := l.Path(ctx, lsn, 1<<20)
		must(t, err)
		r, end, err := commit.VerifyPath(whole.Groups, lsn)
		if err != nil || end != head || whole.End != head || uint64(len(whole.Groups)) != 11-lsn || lsn > 1 && r.Event.AgentID != agent(int(lsn-2)) {
			t.Errorf("the path from %d has %d groups and ends at %v, %v, %v", lsn, len(whole.Groups), end, whole.End, err)
		}
		short, err := l.Path(ctx, lsn, 0)
		must(t, err)
		if _, end, err := commit.VerifyPath(short.Groups, lsn); err != nil || len(short.Groups) != 1 || end.LSN != lsn || end != short.End {
			t.Errorf("the short path from %d has %d groups and ends at %v, %v", lsn, len(short.Groups), end, err)
		}
	}
	for _, lsn := range []uint64{0, 11} {
		if _, err := l.Path(ctx, lsn, 1); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("the path from %d: %v", lsn, err)
		}
	}
	whole, err := l.Path(ctx, 2, 1<<20)
	must(t, err)
	for name, groups := range map[string][][]byte{
		"none":        nil,
		"a gap":       {whole.Groups[0], whole.Groups[2]},
		"twice":       {whole.Groups[0], whole.Groups[0]},
		"cut short":   {whole.Groups[0][:len(whole.Groups[0])-1]},
		"a header":    {whole.Groups[0][:60]},
		"another one": {whole.Groups[3]},
	} {
		if _, _, err := commit.VerifyPath(groups, 2); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	altered := bytes.Clone(whole.Groups[4])
	altered[len(altered)-1] ^= 1
	must(t, log.Truncate(6))
	must(t, log.Append(6, altered))
	for i, group := range whole.Groups[5:] {
		must(t, log.Append(uint64(7+i), group))
	}
	if _, err := l.Path(ctx, 2, 1); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("the path of a log whose later groups were altered: %v", err)
	}
}
