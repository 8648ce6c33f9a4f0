package commit_test

import (
	"crypto/rand"
	"errors"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

// TestFollow copies the service-wide records of one log into another, also after that was opened again, and refuses a source that lacks a
// record, is damaged, or can't follow.
func TestFollow(t *testing.T) {
	open := func(log *memory.Log) *commit.Ledger {
		t.Helper()
		l, err := commit.Open(log, commit.Options{Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	source, target := memory.NewLog(), memory.NewLog()
	first, other := open(source), open(target)
	follow := func(l *commit.Ledger, from commit.Source, upto uint64, want error) {
		t.Helper()
		if err := l.Follow(t.Context(), from, upto); !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("up to record %d: %v, want %v", upto, err, want)
		}
	}
	rotate := func(from, to byte) {
		t.Helper()
		if err := first.RotateOperator(t.Context(), &ledger.Rotation{From: [32]byte{from}, To: [32]byte{to}, At: 5}); err != nil {
			t.Fatal(err)
		}
	}
	rotate(1, 2)
	if _, err := first.BindDefault(t.Context(), &ledger.DefaultPolicy{At: 5, PolicyHash: [32]byte{1}}); err != nil { // is not copied
		t.Fatal(err)
	}
	rotate(2, 3)
	follow(other, source, 3, nil)
	follow(other, source, 2, nil)
	follow(other, source, 4, ledger.ErrUnavailable)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	other = open(target)
	rotate(3, 4)
	follow(other, source, 4, nil)
	if keys := other.Operators().Keys; len(keys) != 4 || keys[3] != [32]byte{4} {
		t.Errorf("the operator had the keys %x", keys)
	}
	head, err := other.Head(t.Context())
	if err != nil || head.LSN != 3 {
		t.Errorf("%d records for 3: %v", head.LSN, err)
	}
	follow(open(memory.NewLog()), damaged{source}, 4, ledger.ErrCorrupt)
	foreign := memory.NewLog()
	ahead := open(foreign)
	if err := ahead.RotateOperator(t.Context(), &ledger.Rotation{From: [32]byte{8}, To: [32]byte{9}, At: 5}); err != nil {
		t.Fatal(err)
	}
	follow(ahead, source, 4, ledger.ErrCorrupt)
	follow(open(memory.NewLog()), unread{}, 4, ledger.ErrUnavailable)
}

// A damaged source has a bit of each group changed.
type damaged struct{ commit.Source }

func (d damaged) Read(from uint64, yield func(uint64, []byte) bool) error {
	return d.Source.Read(from, func(first uint64, group []byte) bool {
		changed := append([]byte(nil), group...)
		changed[len(changed)/2] ^= 1
		return yield(first, changed)
	})
}

// An unread source can't be read.
type unread struct{}

func (unread) Read(uint64, func(uint64, []byte) bool) error {
	return errors.New("planted: it is not there")
}

// A broken log keeps nothing any more.
type broken struct {
	*memory.Log
	down bool
}

func (b *broken) Append(first uint64, group []byte) error {
	if b.down {
		return errors.New("planted: the disk is gone")
	}
	return b.Log.Append(first, group)
}

// TestFollowUnkept: a record that was copied, and is not kept, is not taken for copied by a second attempt.
func TestFollowUnkept(t *testing.T) {
	source := memory.NewLog()
	first, err := commit.Open(source, commit.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := first.Halt(t.Context(), &ledger.Halt{Stop: true, At: 5}); err != nil {
		t.Fatal(err)
	}
	log := &broken{Log: memory.NewLog(), down: true}
	l, err := commit.Open(log, commit.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for attempt := range 2 {
		if err := l.Follow(t.Context(), source, 1); err == nil {
			t.Errorf("attempt %d: a copy that is not kept", attempt)
		}
	}
}
