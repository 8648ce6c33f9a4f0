package pgledger

import (
	"errors"
	"fmt"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/system"
)

// calls start goroutines and timers.
type calls struct {
	Go     func(task func())
	timers system.Timers
}

// machine starts those of the machine.
var machine = calls{Go: system.Go}

// A group is a row of the log.
type group struct {
	first, last uint64
	hash        [32]byte // SHA-256 of data
	data        []byte
}

// end is what the log ends with: a group without its data, the zero value where there is none.
func (g group) end() group { return group{first: g.first, last: g.last, hash: g.hash} }

func (g group) is(other group) bool {
	return g.first == other.first && g.last == other.last && g.hash == other.hash
}

// An instance is a process that decides or waits. Its id is drawn each time that it takes the log; a process that is started again
// has its name. peer is the address at which it takes requests from others; "" for none.
type instance struct{ id, name, peer string }

// A pulse is what an instance hears when it says that it lives.
type pulse struct {
	at     time.Time     // by the database's clock
	owner  instance      // of the slot; zero where there is none
	silent time.Duration // since the owner was heard
	term   int64         // of the slot
	held   string        // id of the instance that owned the slot last; "" where none has
	end    group         // of the slot's log
	sure   bool          // end is kept for certain
}

// A database answers the statements of a log. Each is one transaction. PostgreSQL does, and a twin in memory, which one suite
// holds to the same answers. After an error a statement was carried out or not.
type database interface {
	// time returns the database's time.
	time() (time.Time, error)
	// beat notes that an instance lives.
	beat(slot int, me instance) (pulse, error)
	// claim makes an instance the owner of a slot whose owner has not been heard of for a lease, or has the same name, and returns
	// the slot's new term; 0 where the owner lives, where the slot has another term than was heard, or where after is not nil and the last
	// owner's id is not in it.
	claim(slot int, me instance, lease time.Duration, after []string, heard int64) (term int64, err error)
	// again moves the term of a slot that an instance owns, so that nothing under way can be kept any more. It returns 0 where
	// the instance is not the owner, or the slot's term is below the one given.
	again(slot int, me instance, term int64) (next int64, err error)
	// confirm reports whether an instance owns a slot, when the database has made sure that no other one is the primary.
	confirm(slot int, me instance) (bool, error)
	// release gives up the slots of an instance, and forgets it.
	release(me instance) error
	// add appends a group behind another one. It reports false, and keeps nothing, where the slot has another term, or does
	// not have that other group.
	add(slot int, term int64, before, g group) (kept bool, err error)
	// last returns the end of a slot's log.
	last(slot int) (group, error)
	// read returns the groups from the one on that holds an LSN, or the first after it, at most limit of them.
	read(slot int, from uint64, limit int) ([]group, error)
	// close gives up the connections.
	close()
}

// ErrStopped says that a process was asked to end while it waited for the log.
var ErrStopped = errors.New("ledger: asked to end while another instance decides")

// The reasons for which a log fails.
var (
	errTaken    = errors.New("ledger: another instance decides")
	errDeposed  = fmt.Errorf("%w: another instance has decided since this one had the log; start this one again, and it waits until that one ends", ledger.ErrLocked)
	errReplaced = fmt.Errorf("%w, which has the name of this instance; give each instance a name of its own with SVC_INSTANCE", ledger.ErrLocked)
	errWentBack = errors.New("ledger: the database has lost records that it had confirmed: it was restored to an older state, or a standby took over that did not have everything; stop all instances, and find out which database has everything before one is started again")
	errSilent   = errors.New("ledger: the database does not answer")
	errClock    = errors.New("ledger: the clock of this machine and that of the database differ")
	errChanged  = fmt.Errorf("%w: a group is not as it was written, and the database keeps a group whole or not at all: somebody has changed it", ledger.ErrCorrupt)
)
