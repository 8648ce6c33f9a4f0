package pgledger

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/runtime/ledger"
)

// A twin is the database's statements in memory, with the faults that are planted in it.
type twin struct {
	mu     sync.Mutex
	now    func() time.Time
	seen   map[string]time.Time
	peers  map[string]string
	names  map[string]string
	slots  map[int]*twinSlot
	keys   map[ledger.ID]int // their slots
	noTerm bool              // the fence does not look at the term
	noLink bool              // the fence does not look at the group before
	noTurn bool              // a claim does not look at the term that was heard
	moves  []string          // which instance got a slot, or gave it up, and when
}

type twinSlot struct {
	term   int64
	owner  instance
	held   string
	groups []group

	followed uint64 // the record of the first slot's log up to which it has copied that
}

// find returns where the group is that begins with a record, or would be, and whether it is there.
func (s *twinSlot) find(first uint64) (at int, there bool) {
	return slices.BinarySearchFunc(s.groups, first, func(g group, first uint64) int { return cmp.Compare(g.first, first) })
}

func newTwin(slots int) *twin {
	t := &twin{now: time.Now, seen: map[string]time.Time{}, peers: map[string]string{}, names: map[string]string{}, slots: map[int]*twinSlot{}, keys: map[ledger.ID]int{}}
	for i := range slots {
		t.slots[i] = &twinSlot{}
	}
	return t
}

func (t *twin) with(slot int, f func(*twinSlot)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.slots[slot]; s != nil {
		f(s)
	}
}

func (t *twin) time() (time.Time, error) { return t.now(), nil }

func (t *twin) beat(slot int, me instance) (heard pulse, err error) {
	t.with(slot, func(s *twinSlot) {
		heard = pulse{at: t.now(), sure: true, owner: s.owner, term: s.term, held: s.held}
		heard.owner.peer = t.peers[s.owner.id]
		if heard.silent = 1e15 * time.Microsecond; !t.seen[s.owner.id].IsZero() {
			heard.silent = heard.at.Sub(t.seen[s.owner.id])
		}
		t.seen[me.id] = heard.at
		t.names[me.id] = me.name
		if _, known := t.peers[me.id]; !known {
			t.peers[me.id] = me.peer
		}
		if n := len(s.groups); n > 0 {
			heard.end = s.groups[n-1].end()
		}
	})
	return heard, nil
}

func (t *twin) claim(slot int, me instance, lease time.Duration, after []string, heard int64) (term int64, err error) {
	t.with(slot, func(s *twinSlot) {
		if s.term != heard && !t.noTurn {
			return
		}
		if after != nil && !slices.Contains(after, s.held) {
			return
		}
		if s.owner.id == "" || s.owner.name == me.name || !t.seen[s.owner.id].After(t.now().Add(-lease)) {
			s.term++
			t.moved("%s takes slot %d, term %d, after %q", me.id, slot, s.term, s.held)
			s.owner, s.held, term = me, me.id, s.term
		}
	})
	return term, nil
}

func (t *twin) moved(how string, args ...any) {
	t.moves = append(t.moves, t.now().Format("04:05.000 ")+fmt.Sprintf(how, args...))
}

// lastMoves tells the last moves of slots.
func (t *twin) lastMoves() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.moves[max(0, len(t.moves)-60):], "\n\t")
}

func (t *twin) again(slot int, me instance, term int64) (next int64, err error) {
	t.with(slot, func(s *twinSlot) {
		if s.owner.id == me.id && s.term >= term {
			s.term++
			next = s.term
		}
	})
	return next, nil
}

func (t *twin) confirm(slot int, me instance) (mine bool, err error) {
	t.with(slot, func(s *twinSlot) { mine = s.owner.id == me.id })
	return mine, nil
}

func (t *twin) release(me instance) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, s := range t.slots {
		if s.owner.id == me.id {
			t.moved("%s gives up slot %d, term %d", me.id, n, s.term)
			s.term++
			s.owner = instance{}
		}
	}
	delete(t.seen, me.id)
	delete(t.peers, me.id)
	delete(t.names, me.id)
	return nil
}

func (t *twin) add(slot int, term int64, before, g group) (kept bool, err error) {
	t.with(slot, func(s *twinSlot) {
		after, there := s.find(before.first)
		linked := t.noLink || before.last == 0 || there && before.is(s.groups[after])
		if s.term != term && !t.noTerm || !linked {
			return
		}
		at, taken := s.find(g.first)
		if taken {
			err = errors.New("duplicate key")
			return
		}
		g.data = slices.Clone(g.data)
		s.groups = slices.Insert(s.groups, at, g)
		kept = true
	})
	return kept, err
}

func (t *twin) beats(all []presence) (heard []pulse, err error) {
	for _, one := range all {
		h, _ := t.beat(one.slot, one.me)
		heard = append(heard, h)
	}
	return heard, nil
}

func (t *twin) confirms(all []presence) (mine []bool, err error) {
	for _, one := range all {
		is, _ := t.confirm(one.slot, one.me)
		mine = append(mine, is)
	}
	return mine, nil
}

func (t *twin) adds(all []addition) (kept []bool, err error) {
	for _, one := range all {
		is, wrong := t.add(one.slot, one.term, one.before, one.g)
		kept, err = append(kept, is), errors.Join(err, wrong)
	}
	if err != nil { // all, or none
		for i, one := range all {
			t.with(one.slot, func(s *twinSlot) {
				if at, there := s.find(one.g.first); there && kept[i] {
					s.groups = slices.Delete(slices.Clone(s.groups), at, at+1)
				}
			})
		}
	}
	return kept, err
}

func (t *twin) live(name string, lease time.Duration) (company, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	owned := map[string]int{name: 0}
	for id, seen := range t.seen {
		if seen.After(t.now().Add(-lease)) {
			owned[t.names[id]] = 0
		}
	}
	for _, s := range t.slots {
		if _, live := owned[s.owner.name]; live && s.owner.id != "" {
			owned[s.owner.name]++
		}
	}
	return company{len(owned), slices.Min(slices.Collect(maps.Values(owned)))}, nil
}

func (t *twin) last(slot int) (g group, err error) {
	t.with(slot, func(s *twinSlot) {
		if n := len(s.groups); n > 0 {
			g = s.groups[n-1].end()
		}
	})
	return g, nil
}

func (t *twin) read(slot int, from uint64, limit int) (page []group, err error) {
	t.with(slot, func(s *twinSlot) {
		at := slices.IndexFunc(s.groups, func(g group) bool { return g.last >= from })
		if at >= 0 {
			page = slices.Clone(s.groups[at:min(at+limit, len(s.groups))])
		}
	})
	return page, nil
}

// goBack takes the groups from an LSN on out of a database, as a restoration to an older state does.
func goBack(t *testing.T, db database, from uint64) {
	t.Helper()
	if twin, ok := db.(*twin); ok {
		twin.with(0, func(s *twinSlot) {
			s.groups = slices.DeleteFunc(s.groups, func(g group) bool { return g.first >= from })
		})
		return
	}
	_, err := db.(*postgres).copying.exec("DELETE FROM bailiff.groups WHERE first >= $1", int64(from)) //nolint:gosec // a test's
	must(t, err)
}

func (t *twin) close() {}

var errLost = errors.New("planted: the wire was cut")

// A wire leads to a database. It loses statements, or their answers, and carries some out twice.
type wire struct {
	database
	mu    sync.Mutex
	rng   *rand.Rand
	loses int  // of a hundred statements that write
	kind  int  // how many statements after a lost one arrive for certain
	left  int  // of these
	down  bool // all are lost, some after they were carried out
	early bool // add answers before it is carried out
}

// over carries a statement out, or not, and loses its answer, or not.
func (w *wire) over(statement func() error) error {
	w.mu.Lock()
	lost, done, twice := w.down || w.left <= 0 && w.rng.IntN(100) < w.loses, w.rng.IntN(2) == 0, w.rng.IntN(100) < w.loses
	if w.left--; lost {
		w.left = w.kind
	}
	w.mu.Unlock()
	if lost && !done {
		return errLost
	}
	err := statement()
	if twice {
		statement() // the first answer counts
	}
	if lost {
		return errLost
	}
	return err
}

func (w *wire) set(down bool) {
	w.mu.Lock()
	w.down = down
	w.mu.Unlock()
}

func (w *wire) again(slot int, me instance, term int64) (next int64, err error) {
	err = w.over(func() (err error) { next, err = w.database.again(slot, me, term); return err })
	return next, err
}

func (w *wire) add(slot int, term int64, before, g group) (kept bool, err error) {
	if w.early {
		go w.over(func() error { _, err := w.database.add(slot, term, before, g); return err }) // that is the fault
		return true, nil
	}
	first := true
	err = w.over(func() error {
		k, err := w.database.add(slot, term, before, g)
		if first {
			kept, first = k, false
		}
		return err
	})
	return kept && err == nil, err
}

func (w *wire) release(me instance) error {
	return w.over(func() error { return w.database.release(me) })
}
