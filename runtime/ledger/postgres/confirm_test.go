package pgledger

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/runtime/ledger"
)

// TestConfirm: an owner confirms what it answers, and one that was replaced does not, though it has not heard of that yet.
func TestConfirm(t *testing.T) {
	each(t, func(t *testing.T, fresh func(string) database) {
		db := unclosed{fresh("")}
		first := open(t, db, "a", "1", hour) // hears nothing for ten minutes
		defer first.Close()
		must(t, first.Confirm(first.Mark()))
		mark := first.Mark()
		second, err := take(db, instance{id: "2", name: "b"}, newLife(time.Nanosecond), nil)
		must(t, err)
		defer second.Close()
		if err := first.Confirm(mark); !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(first.Health(), errTaken) {
			t.Errorf("an owner that was replaced confirms (%v), and is in health: %v", err, first.Health())
		}
		must(t, second.Confirm(second.Mark()))
	})
}

// asked counts the questions.
type asked struct {
	database
	mu    sync.Mutex
	n     int
	fails int // of the next questions
	held  chan struct{}
}

func (a *asked) confirm(slot int, me instance) (bool, error) {
	a.mu.Lock()
	a.n++
	fails := a.fails > 0
	a.fails--
	a.mu.Unlock()
	if a.held != nil {
		<-a.held
	}
	if fails {
		return false, errLost
	}
	return a.database.confirm(slot, me)
}

// TestRounds: a group that was kept confirms the marks before it, one question serves all who wait, a question without an answer is
// asked again, and a mark of the log before is never good.
func TestRounds(t *testing.T) {
	db := &asked{database: newTwin(1)}
	l := open(t, db, "a", "1", hour)
	mark := l.Mark()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
	must(t, l.Append(1, sealed(rng, 1, 1)))
	if must(t, l.Confirm(mark)); db.n != 0 {
		t.Errorf("asked %d times after a group was kept", db.n)
	}
	if must(t, l.Confirm(l.Mark())); db.n != 1 {
		t.Errorf("asked %d times, want once", db.n)
	}
	db.fails, db.held = 2, make(chan struct{}, 8)
	var all sync.WaitGroup
	for range 32 {
		mark := l.Mark()
		all.Go(func() { must(t, l.Confirm(mark)) })
	}
	for range 8 {
		db.held <- struct{}{}
	}
	all.Wait()
	if db.n < 4 || db.n > 9 {
		t.Errorf("asked %d times for 32 who waited, after 2 failures", db.n-1)
	}
	db.held = nil
	mark = l.Mark()
	must(t, l.Close())
	again, err := take(db, instance{id: "2", name: "a"}, l.life, nil)
	must(t, err)
	defer again.Close()
	must(t, again.Append(2, sealed(rng, 2, 1)))
	if err := again.Confirm(mark); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a mark from before the log was taken again: %v", err)
	}
	must(t, again.Confirm(again.Mark()))
}

// TestReplacedPrimary: a primary whose standby was promoted confirms nothing, though it answers what only reads. That is the fault which is
// planted.
func TestReplacedPrimary(t *testing.T) {
	primary, standby := pgtest.StartPair(t)
	db := connect(t, primary.URL())
	f := newLife(hour)
	f.patience = 300 * time.Millisecond
	db.asking.patience = f.patience
	l, err := take(db, instance{id: "1", name: "a"}, f, nil)
	must(t, err)
	must(t, l.Confirm(l.Mark()))
	standby.Promote()
	if end, err := db.last(0); err != nil {
		t.Fatalf("the old primary does not answer what only reads: %+v, %v", end, err)
	}
	if err := l.Confirm(l.Mark()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a primary that was replaced confirms: %v", err)
	}
}

// TestIdleConnections: a connection that was idle while the primary hung, was replaced and came back is used no more: what the primary that was
// replaced knows is of an earlier state.
func TestIdleConnections(t *testing.T) {
	primary, standby := pgtest.StartPair(t)
	db := connect(t, pgtest.Both(primary, standby))
	places := func() (n int64) {
		t.Helper()
		must(t, db.query(func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, "SELECT count(*) FROM bailiff.places").Scan(&n)
		}))
		return n
	}
	if places() != 0 {
		t.Fatal("there is a place")
	}
	thaw := primary.Freeze()
	standby.Promote()
	db.writing.close()
	for deadline := time.Now().Add(20 * time.Second); db.writing.keep(sqlPlace, "a", "b") != nil; { // the primary that was found last is asked first
		if time.Now().After(deadline) {
			t.Fatal("the new primary is not found")
		}
	}
	thaw()
	if places() != 1 {
		t.Error("the primary that was replaced is read")
	}
	single := same(t, primary.URL())
	single.find.highest.Store(db.find.highest.Load())
	if _, err := single.asking.number("SELECT 1"); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("the only host is a primary that was replaced: %v", err)
	}
}
