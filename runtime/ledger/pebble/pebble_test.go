package pebbleledger

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/ledgertest"
)

func TestConformance(t *testing.T) {
	var fs vfs.FS
	open := func(t *testing.T) ledger.Ledger {
		l, err := Open("ledger", Options{FS: fs, Random: rand.Reader, Errorf: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	ledgertest.Run(t, ledgertest.Suite{
		Open: func(t *testing.T) ledger.Ledger {
			fs = vfs.NewMem()
			return open(t)
		},
		Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t)
		},
	})
}

// TestVerifyChain verifies a directory that is held, one that is whole, and one whose groups were altered.
func TestVerifyChain(t *testing.T) {
	fs := vfs.NewMem()
	options := Options{FS: fs, Random: rand.Reader}
	if _, err := VerifyChain("ledger", options, 0); err == nil || errors.Is(err, ledger.ErrCorrupt) {
		t.Fatalf("nothing there: %v", err)
	}
	l, err := Open("ledger", options)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	checkpoint, err := l.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := l.Submit(benchPlan(1)).Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	head, _ := l.Head(context.Background())
	l.Close()
	verify := func() (Chain, error) { return VerifyChain("ledger", options, checkpoint.LSN) }
	want := Chain{Head: head, Records: 4, Groups: 4, At: checkpoint.Hash, Ends: true}
	for range 2 { // verifying changes nothing
		if got, err := verify(); err != nil || got != want {
			t.Fatalf("whole: %+v, %v", got, err)
		}
	}
	alter := func(first uint64) {
		log, err := openLog("ledger", options)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if _, err := VerifyChain("ledger", options, 0); !errors.Is(err, ledger.ErrLocked) {
			t.Fatalf("a directory that is held: %v", err)
		}
		var altered []byte
		log.Read(first, func(_ uint64, group []byte) bool {
			altered = append(altered, group...)
			return false
		})
		altered[80] ^= 1
		if err := log.Append(first, altered); err != nil {
			t.Fatal(err)
		}
	}
	alter(4)
	got, err := verify()
	if want.Head, want.Records, want.Groups, want.Torn = got.Head, 3, 3, true; err != nil || got != want || got.Head.LSN != 3 {
		t.Fatalf("the last group altered: %+v, %v", got, err)
	}
	alter(2)
	if got, err := verify(); !errors.Is(err, ledger.ErrCorrupt) || !strings.Contains(err.Error(), "group 2") || got.Groups != 1 || got.Torn {
		t.Fatalf("an altered group: %+v, %v", got, err)
	}
}
