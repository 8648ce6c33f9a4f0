package pgledger

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
)

// The faults that are planted in the fence.
const (
	noTerm = "no term"
	noLink = "no group before"
)

// flawed returns a statement that appends with a fault in its fence.
func flawed(t *testing.T, statement, flaw string) string {
	t.Helper()
	planted := map[string]*strings.Replacer{
		"":     strings.NewReplacer(),
		noTerm: strings.NewReplacer("AND term = $2", "AND $2::bigint > 0", "AND a.term = s.term", ""),
		noLink: strings.NewReplacer("WHERE $7::bigint = 0", "WHERE $7::bigint >= 0", "WHERE a.before_last = 0", "WHERE a.before_last >= 0"),
	}[flaw].Replace(statement)
	if flaw != "" && planted == statement {
		t.Fatalf("the fault %q is not planted", flaw)
	}
	return planted
}

// TestStatements carries out the same random statements in the twin and in PostgreSQL: each has the same answer.
func TestStatements(t *testing.T) {
	db := connect(t, pgtest.Shared(t).URL())
	rng := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
	const (
		rounds = 10
		steps  = 150
	)
	for range rounds {
		both := []database{newTwin(1), connectAgain(t, db)}
		if step, answers := differ(rng, both, steps); step != "" {
			t.Fatalf("%s: the twin says %s, PostgreSQL %s", step, answers[0], answers[1])
		}
	}
	for what, plant := range map[string]func(*twin){
		"an append": func(t *twin) { t.noTerm = true }, "a claim": func(t *twin) { t.noTurn = true },
	} {
		planted := newTwin(1)
		plant(planted)
		if step, _ := differ(rng, []database{planted, connectAgain(t, db)}, 10*steps); step == "" {
			t.Errorf("a twin that does not look at the term of %s was not found", what)
		}
	}
}

// connectAgain empties the tables.
func connectAgain(t *testing.T, db *postgres) *postgres {
	t.Helper()
	_, err := db.writing.exec("TRUNCATE bailiff.groups, bailiff.instances, bailiff.snapshots, bailiff.marks, bailiff.lists")
	must(t, err)
	_, err = db.writing.exec("UPDATE bailiff.slots SET term = 0, owner = NULL, owner_name = NULL, held = NULL")
	must(t, err)
	return db
}

// differ returns the first step that two databases answer in different ways.
func differ(rng *rand.Rand, both []database, steps int) (step string, answers [2]string) {
	known := []group{{}}
	term := int64(1)
	for range steps {
		me := []instance{{"a1", "a", "a:1"}, {"a2", "a", ""}, {"b1", "b", "b:1"}}[rng.IntN(3)]
		before, at := known[len(known)-1], max(0, term-int64(rng.IntN(2)))
		if rng.IntN(4) == 0 {
			before = known[rng.IntN(len(known))]
		}
		data := sealed(rng, before.last+1, 1+rng.Uint32N(3))
		g := group{first: before.last + 1, last: before.last + uint64(data[31]), hash: sha256.Sum256(data), data: data}
		from := rng.Uint64N(known[len(known)-1].last + 2)
		lease := hour * time.Duration(rng.IntN(2))
		kind := rng.IntN(12)
		var kept bool
		for i, db := range both {
			asked := question{kind, me, lease, at, from, before.end(), g}
			var n int64
			if step, answers[i], n, kept = asked.of(db); n > 0 {
				term = n
			}
		}
		if kept {
			known = append(known, g)
		}
		if answers[0] != answers[1] {
			return fmt.Sprintf("%s with term %d of %d, before %d", step, at, term, before.last), answers
		}
	}
	return "", answers
}

// A question is a statement.
type question struct {
	kind      int
	me        instance
	lease     time.Duration
	term      int64
	from      uint64
	before, g group
}

// of returns the statement's name, a database's answer, a term that it gave, and whether it kept a group.
func (q question) of(db database) (step, answer string, term int64, kept bool) {
	switch q.kind {
	case 0:
		heard, err := db.beat(0, q.me)
		return "beat", fmt.Sprint(heard.owner, heard.term, heard.held, heard.end, err), 0, false
	case 1:
		var after []string
		if q.from%3 == 0 {
			after = []string{q.me.id}
		}
		n, err := db.claim(0, q.me, q.lease, after, q.term)
		return "claim", fmt.Sprint(n, err), n, false
	case 2:
		n, err := db.again(0, q.me, q.term)
		return "again", fmt.Sprint(n, err), n, false
	case 3:
		mine, err := db.confirm(0, q.me)
		return "confirm", fmt.Sprint(mine, err), 0, false
	case 4:
		if q.from%4 == 0 {
			return "release", fmt.Sprint(db.release(q.me)), 0, false
		}
	case 5, 6:
		page, err := db.read(0, q.from, 1+int(q.from%5))
		return "read", fmt.Sprint(page, err), 0, false
	}
	if q.kind < 8 {
		end, err := db.last(0)
		return "last", fmt.Sprint(end, err), 0, false
	}
	kept, err := db.add(0, q.term, q.before, q.g)
	return "add", fmt.Sprint(kept, err != nil), 0, kept
}

// TestReads reads a log over several pages from every place.
func TestReads(t *testing.T) {
	each(t, func(t *testing.T, fresh func(string) database) {
		rng := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
		l := open(t, fresh(""), "a", "1", hour)
		defer l.Close()
		var want [][]byte
		firsts := []uint64{}
		for first := uint64(1); len(want) < 2*pageGroups+3; {
			records := 1 + rng.Uint32N(3)
			data := sealed(rng, first, records)
			must(t, l.Append(first, data))
			want, firsts = append(want, data), append(firsts, first)
			first += uint64(records)
		}
		for from := uint64(0); from <= firsts[len(firsts)-1]+3; from += 1 + rng.Uint64N(9) {
			at := 0
			for i, first := range firsts {
				if first <= from {
					at = i
				}
			}
			end := firsts[len(firsts)-1] + uint64(want[len(want)-1][31])
			if from >= end {
				at = len(want)
			}
			must(t, l.Read(from, func(first uint64, data []byte) bool {
				if first != firsts[at] || !bytes.Equal(data, want[at]) {
					t.Fatalf("from %d: group %d instead of %d", from, first, firsts[at])
				}
				at++
				return true
			}))
			if at != len(want) {
				t.Fatalf("from %d: %d groups instead of %d", from, at, len(want))
			}
		}
	})
}
