package commit_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

// A healedLog fails one append, and is opened again at once.
type healedLog struct {
	*memory.Log
	fails   bool
	reading func()        // called before each group is read
	open    chan struct{} // closed when it is open again
}

func (l *healedLog) Append(first uint64, group []byte) error {
	if l.fails {
		return io.ErrUnexpectedEOF
	}
	return l.Log.Append(first, group)
}

func (l *healedLog) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	return l.Log.Read(from, func(first uint64, group []byte) bool {
		l.reading()
		return yield(first, group)
	})
}

func (l *healedLog) Current() commit.Log { return l }

func (l *healedLog) Reopen(_ error, leave func(), resume func() error) bool {
	leave()
	l.fails = false
	if resume() == nil {
		close(l.open)
	}
	return true
}

func (l *healedLog) Finish(end func() error) error { return end() }

func (l *healedLog) Health() error { return nil }

func (l *healedLog) Close() error { return nil }

// TestKeysWhileOpening looks keys up while the ledger is opened again: one is revoked and one has its policy all the time, though the log
// has their registrations before that.
func TestKeysWhileOpening(t *testing.T) {
	log := &healedLog{Log: memory.NewLog(), reading: func() {}, open: make(chan struct{})}
	l := open(t, log)
	ctx, mine, revoked := context.Background(), ledgertest.NewKey(1), ledgertest.NewKey(2)
	must(t, l.CreateKey(ctx, mine))
	must(t, l.CreateKey(ctx, revoked))
	_, err := l.Deploy(ctx, deployment(1))
	must(t, err)
	_, err = l.RevokeKey(ctx, revoked.ID, ledgertest.Start)
	must(t, err)
	looks := 0
	log.reading = func() {
		looks++
		if key, _ := l.LookupKey(mine.Hash); key.PolicyHash == [32]byte{} {
			t.Error("the key is seen without its policy")
		}
		if key, _ := l.LookupKey(revoked.Hash); key.Revoked == 0 {
			t.Error("the key is seen as it was before it was revoked")
		}
	}
	log.fails = true
	if err := l.CreateKey(ctx, ledgertest.NewKey(3)); err == nil {
		t.Fatal("the log does not fail")
	}
	<-log.open
	if looks == 0 {
		t.Error("nothing was read")
	}
	if _, err := l.RevokeKey(ctx, revoked.ID, ledgertest.Start); errors.Is(err, io.ErrUnexpectedEOF) || err == nil {
		t.Errorf("the second revocation: %v", err)
	}
	must(t, l.Close())
}
