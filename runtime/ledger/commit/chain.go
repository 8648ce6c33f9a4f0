package commit

import (
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// A Chain follows groups of a log, from a place in it.
type Chain struct {
	Head   ledger.Head // where the chain has come to
	record state.Record
}

// Next checks that a group follows the chain, and calls visit with each of its records. Errors name the fault of the group.
func (c *Chain) Next(group []byte, visit func(lsn uint64, r *state.Record) error) error {
	s, err := follow(&c.Head, c.Head.LSN+1, group)
	if err != nil {
		return err
	}
	return s.each(&c.record, func(lsn uint64) error { return visit(lsn, &c.record) })
}
