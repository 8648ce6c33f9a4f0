// Package pgledger keeps a ledger's log in PostgreSQL, so that another machine goes on where one is lost. One instance at a time
// owns the log and decides; others wait. A group is told as kept after a transaction that found the owner's term in place, and the
// group before it: an owner that was paused, cut off or replaced appends nothing. Nothing leads to this package from a setting yet.
package pgledger

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"bailiff/runtime/ledger/commit"
)

// defaultLease is how long an owner may be silent before another instance takes over.
const defaultLease = 2 * time.Second

// Options say which database, and who asks.
type Options struct {
	URL  string // several hosts are allowed; the primary is found
	Name string // of the instance: one that is started again under its name takes over from itself at once
	// Lease is how long an owner may be silent, by the database's clock; 0 means defaultLease. All instances have the same.
	Lease time.Duration
	// Trust takes a database without a synchronous standby, as one that copies what it keeps below SQL.
	Trust bool
	// Random gives the id of the process.
	Random io.Reader
	// Stop ends waiting for the owner where it is closed; nil for never.
	Stop <-chan struct{}
}

// A Log is a commit.Log that is closed by its ledger.
type Log interface {
	commit.Log
	io.Closer
}

// Init makes the tables in a database that has none of them.
func Init(url string) error {
	find, err := newFinder(url)
	if err != nil {
		return err
	}
	db := newPostgres(find, defaultLease)
	defer db.close()
	if err := db.create(); err != nil {
		return fmt.Errorf("ledger: making the tables, which a database has once: %w", err)
	}
	return nil
}

// Open waits until no other instance owns the log, and takes it. Its Close hands it over at once.
func Open(o Options) (Log, error) {
	if o.Name == "" {
		return nil, errors.New("ledger: the instance has no name")
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	find, err := newFinder(o.URL)
	if err != nil {
		return nil, err
	}
	db := newPostgres(find, o.Lease)
	l, err := openOver(db, &o)
	if err != nil {
		db.close()
		return nil, err
	}
	return l, nil
}

func openOver(db *postgres, o *Options) (*log, error) {
	if !o.Trust {
		if err := db.replicated(); err != nil {
			return nil, err
		}
	}
	var id [16]byte
	if _, err := io.ReadFull(o.Random, id[:]); err != nil {
		return nil, fmt.Errorf("ledger: reading randomness for the id of the instance: %w", err)
	}
	return take(db, instance{id: hex.EncodeToString(id[:]), name: o.Name}, o.Lease, o.Stop)
}
