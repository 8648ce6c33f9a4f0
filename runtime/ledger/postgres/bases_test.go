package pgledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// beginning is what a log begins with after an LSN, as far as the log looks at it (ledger/commit, begin.go).
func beginning(after group) []byte {
	b := append([]byte("blg4"), make([]byte, 16)...)
	b = binary.BigEndian.AppendUint64(b, after.last)
	b = append(append(b, after.hash[:]...), make([]byte, 32)...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

func reached(ledger.RetentionStep) error { return nil }

// TestBases keeps a base of several parts, and reads it from any place on.
func TestBases(t *testing.T) {
	db := connect(t, pgtest.Shared(t).URL())
	k := &kept{log: open(t, unclosed{db}, "a", "1", hour), db: db}
	defer k.Close()
	want := make([]byte, 2*partBytes+5)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(want)
	if _, err := k.OpenBase(7); err == nil || !strings.Contains(err.Error(), "not in the database") {
		t.Errorf("a base that is not there: %v", err)
	}
	must(t, k.SaveBase(7, func(w io.Writer) error {
		for rest := want; len(rest) > 0; {
			n := min(3<<20, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	}, reached))
	b, err := k.OpenBase(7)
	must(t, err)
	size, err := b.Size()
	if must(t, err); size != int64(len(want)) {
		t.Fatalf("%d bytes of %d", size, len(want))
	}
	for _, at := range []int64{0, 5, partBytes - 3, 2*partBytes - 1, size - 1} {
		got := make([]byte, min(partBytes+9, size-at))
		if n, err := b.ReadAt(got, at); err != nil || !bytes.Equal(got[:n], want[at:at+int64(n)]) || n != len(got) {
			t.Errorf("%d bytes from %d on: %v", n, at, err)
		}
	}
	if n, err := b.ReadAt(make([]byte, 9), size-4); n != 4 || err != io.EOF {
		t.Errorf("behind the end: %d bytes, %v", n, err)
	}
}

// base writes a base.
func base(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write([]byte(text))
		return err
	}
}

// TestDropReplaced has an owner that was replaced drop groups: none go, and the base of the one that decides stays.
func TestDropReplaced(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
	db := connect(t, pgtest.Shared(t).URL())
	var groups []group
	append3 := func(l *log) {
		for range 3 {
			first := uint64(len(groups) + 1)
			must(t, l.Append(first, sealed(rng, first, 1)))
			groups = append(groups, l.at)
		}
	}
	holds := func(want string, first, count int) {
		t.Helper()
		page, err := db.read(0, 0, 99)
		must(t, err)
		if len(page) != count || page[0].first != uint64(first) { //nolint:gosec // small
			t.Errorf("%s: %d groups from %d on", want, len(page), page[0].first)
		}
	}
	first := &kept{log: open(t, unclosed{db}, "a", "1", hour), db: db}
	defer first.Close()
	append3(first.log)
	must(t, first.SaveBase(2, base("first"), reached))

	second := &kept{log: open(t, unclosed{db}, "a", "2", hour), db: db}
	defer second.Close()
	append3(second.log)
	must(t, second.SaveBase(2, base("second"), reached))
	if err := first.Drop(2, beginning(groups[1]), reached); err == nil || !strings.Contains(err.Error(), "another instance decides") {
		t.Errorf("an owner that was replaced drops groups: %v", err)
	}
	for what, upto := range map[string]uint64{"the whole log": 6, "records that are not there": 99} {
		must(t, second.SaveBase(upto, base("second"), reached))
		if err := second.Drop(upto, beginning(group{last: upto}), reached); !errors.Is(err, commit.ErrNotDropped) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, second.SaveBase(2, base("second"), reached))
	holds("after drops that were refused", 1, 6)
	must(t, first.Free(0, reached))

	must(t, second.Drop(2, beginning(groups[1]), reached))
	holds("after the drop", 2, 5)
	must(t, first.SaveBase(2, base("late"), reached)) // it is another one
	must(t, second.Free(2, reached))
	b, err := second.OpenBase(2)
	must(t, err)
	text := make([]byte, 6)
	if _, err := b.ReadAt(text, 0); err != nil || string(text) != "second" {
		t.Errorf("the log begins with the base %q: %v", text, err)
	}
	n, err := db.copying.number(`SELECT count(*) FROM bailiff.bases`)
	if must(t, err); n != 1 {
		t.Errorf("%d bases are there", n)
	}
	append3(second.log)
	holds("after more", 2, 8)
	seenBefore(t, db, groups)
}

// seenBefore has instances that were away meanwhile look for the groups that they had seen, of which the first two were dropped.
func seenBefore(t *testing.T, db database, groups []group) {
	t.Helper()
	for _, seen := range []int{0, 1, 4} {
		f := newLife(hour)
		f.saw(groups[seen])
		must(t, f.missing(db, 0))
	}
	other := newLife(hour)
	other.saw(group{first: 2, last: 2, hash: [32]byte{1}})
	if err := other.missing(db, 0); err == nil {
		t.Error("the log begins after another record than the one that was seen")
	}
}

// TestDropAbandoned: a drop that hangs ends when the log fails, since the log is opened again only after that: one whose statement hangs, and
// one whose commit waits for a standby.
func TestDropAbandoned(t *testing.T) {
	primary, standby := pgtest.StartPair(t)
	db := connect(t, primary.URL())
	for _, hanging := range []struct {
		what  string
		hangs func(context.Context, pgx.Tx) error
	}{
		{"a statement", func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT pg_sleep(300)")
			return err
		}},
		{"a commit", func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, sqlPlace, "a", "b")
			t.Cleanup(standby.Freeze())
			return err
		}},
	} {
		k := &kept{log: open(t, unclosed{db}, "a", hanging.what, hour), db: db}
		began := time.Now()
		err := k.alone(func(ctx context.Context, tx pgx.Tx) error {
			time.AfterFunc(200*time.Millisecond, func() { k.fail(errSilent) })
			return hanging.hangs(ctx, tx)
		})
		if took := time.Since(began); err == nil || took > time.Minute {
			t.Errorf("%s ended after %s: %v", hanging.what, took, err)
		}
		close(k.ended)
	}
}
