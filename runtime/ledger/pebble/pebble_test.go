package pebbleledger

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

func TestConformance(t *testing.T) {
	var fs vfs.FS
	open := func(t *testing.T) ledger.Ledger {
		l, err := Open("ledger", Options{FS: fs, Random: rand.Reader, Errorf: t.Logf, SnapshotEvery: 3, IndexEvery: 3})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	suite.Run(t, suite.Suite{
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
	verify := func() (commit.Verified, error) { return VerifyChain("ledger", options, checkpoint.LSN) }
	want := commit.Verified{Head: head, Records: 4, Groups: 4, At: checkpoint.Hash, Ends: true, Streams: [][16]byte{head.Stream}}
	for range 2 { // verifying changes nothing
		if got, err := verify(); err != nil || !reflect.DeepEqual(got, want) {
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
	if want.Head, want.Records, want.Groups, want.Torn = got.Head, 3, 3, true; err != nil || !reflect.DeepEqual(got, want) || got.Head.LSN != 3 {
		t.Fatalf("the last group altered: %+v, %v", got, err)
	}
	alter(2)
	if got, err := verify(); !errors.Is(err, ledger.ErrCorrupt) || !strings.Contains(err.Error(), "group 2") || got.Groups != 1 || got.Torn {
		t.Fatalf("an altered group: %+v, %v", got, err)
	}
}

// TestVerifySnapshot verifies a directory with a snapshot, with one that was edited, and with one that can't be read.
func TestVerifySnapshot(t *testing.T) {
	options := Options{FS: vfs.NewMem(), Random: rand.Reader, SnapshotEvery: 1}
	l, err := Open("ledger", options)
	if err != nil {
		t.Fatal(err)
	}
	key := ledgertest.NewKey(1)
	if err := l.CreateKey(context.Background(), key); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, err := options.FS.Stat(SnapshotPath("ledger")); err == nil {
			break
		}
	}
	l.Close()
	for _, c := range []struct {
		what    string
		edit    func([]byte)
		covers  uint64
		changed bool
	}{
		{"as it was written", func([]byte) {}, 1, false},
		{"another e-mail address", func(b []byte) { b[bytes.Index(b, []byte(key.Email))] ^= 1 }, 0, true},
		{"another version", func(b []byte) { b[0] ^= 1 }, 0, false},
	} {
		editSnapshot(t, options, c.edit)
		chain, err := VerifyChain("ledger", options, 0)
		if err != nil || chain.Snapshot != c.covers || chain.SnapshotChanged != c.changed || chain.Records != 1 {
			t.Errorf("%s: %+v, %v", c.what, chain, err)
		}
	}
}

// editSnapshot edits the snapshot, and puts a good checksum under it.
func editSnapshot(t *testing.T, options Options, edit func([]byte)) {
	t.Helper()
	log, err := openLog("ledger", options)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b, err := log.LoadSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	edit(b)
	sum := sha256.Sum256(b[:len(b)-sha256.Size])
	if err := log.SaveSnapshot(append(b[:len(b)-sha256.Size], sum[:]...)); err != nil {
		t.Fatal(err)
	}
}
