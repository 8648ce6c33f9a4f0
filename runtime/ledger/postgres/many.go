package pgledger

import (
	"sync"
	"time"
)

// A presence is an instance at a slot.
type presence struct {
	slot int
	me   instance
}

// An addition is a group that is appended to a slot's log, behind another one, under a term.
type addition struct {
	slot      int
	term      int64
	before, g group
}

// A manifold database carries out the same statement for several slots at once, in one transaction. Its answers are in the order of what
// it was asked, and each is what the statement alone would have answered. After an error each was carried out, or none.
type manifold interface {
	database
	beats(all []presence) ([]pulse, error)
	confirms(all []presence) ([]bool, error)
	adds(all []addition) ([]bool, error)
	// live returns which instances were heard in a lease, with the one that asks.
	live(name string, lease time.Duration) (company, error)
}

// A company is the instances that share the slots.
type company struct {
	number int
	least  int // slots that the one owns that has the fewest
}

// A gathered database is that of the logs of one process: what they ask while a statement of the kind is under way goes together in the next
// one. A database has more work with a transaction than with a slot in it.
type gathered struct {
	manifold
	beating    *gathering[presence, pulse]
	confirming *gathering[presence, bool]
	adding     *gathering[addition, bool]
}

func gather(db manifold) *gathered {
	at := func(p presence) int { return p.slot }
	return &gathered{db, newGathering(db.beats, at), newGathering(db.confirms, at), newGathering(db.adds, func(a addition) int { return a.slot })}
}

func (g *gathered) beat(slot int, me instance) (pulse, error) {
	return g.beating.ask(presence{slot, me})
}

func (g *gathered) confirm(slot int, me instance) (bool, error) {
	return g.confirming.ask(presence{slot, me})
}

func (g *gathered) add(slot int, term int64, before, last group) (bool, error) {
	return g.adding.ask(addition{slot, term, before, last})
}

// close leaves the connections to the other logs.
func (*gathered) close() {}

// A gathering asks what several callers want to know in one go.
type gathering[Q, A any] struct {
	all  func([]Q) ([]A, error)
	of   func(Q) int   // of the questions of one round no two have the same: answers are found by it
	turn chan struct{} // has a value between two rounds

	mu   sync.Mutex
	next *round[Q, A] // whose questions are not asked yet; nil where there are none
}

// A round has the questions that are asked in one go.
type round[Q, A any] struct {
	questions []Q
	of        map[int]bool
	answers   []A
	err       error
	done      chan struct{} // closed with the answers
}

func newGathering[Q, A any](all func([]Q) ([]A, error), of func(Q) int) *gathering[Q, A] {
	g := &gathering[Q, A]{all: all, of: of, turn: make(chan struct{}, 1)}
	g.turn <- struct{}{}
	return g
}

// ask returns the answer to one question. The first caller of a round asks for all of it, when the round before has ended.
func (g *gathering[Q, A]) ask(question Q) (answer A, err error) {
	of := g.of(question)
	g.mu.Lock()
	r := g.next
	for r != nil && r.of[of] {
		g.mu.Unlock()
		<-r.done
		g.mu.Lock()
		r = g.next
	}
	first := r == nil
	if first {
		r = &round[Q, A]{of: map[int]bool{}, done: make(chan struct{})}
		g.next = r
	}
	r.of[of] = true
	at := len(r.questions)
	r.questions = append(r.questions, question)
	g.mu.Unlock()
	if first {
		<-g.turn
		g.mu.Lock()
		g.next = nil
		g.mu.Unlock()
		r.answers, r.err = g.all(r.questions)
		g.turn <- struct{}{}
		close(r.done)
	}
	<-r.done
	if r.err != nil {
		return answer, r.err
	}
	return r.answers[at], nil
}
