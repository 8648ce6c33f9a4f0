package commit

import (
	"errors"

	"bailiff/runtime/ledger"
)

// A Verified is what VerifyChain has found.
type Verified struct {
	Head            ledger.Head // the end of the whole part
	Records, Groups uint64

	// Begins says where the chain begins, if groups were dropped. Its signature is for the caller to verify.
	Begins ledger.Beginning

	// At is the SHA-256 of the group that ends with the record that was asked for, and Ends whether one does. A
	// checkpoint fits the log where Ends holds, its stream is one of Streams, and its hash is At.
	At   [32]byte
	Ends bool

	// Streams are the ids of the log: one, and one for each time that it was restored from a backup, or that logs of slots became part of it.
	Streams [][16]byte

	// Torn says that a last group follows whose checksum is wrong: a write that was cut off and never acknowledged, or an
	// alteration. Opening the ledger removes it.
	Torn bool

	// Snapshot is the LSN up to which the snapshot is what the log comes to, 0 where there is none. SnapshotChanged says
	// that there is one, and that it is something else.
	Snapshot        uint64
	SnapshotChanged bool

	// Index is the LSN up to which the index of keys is what the log comes to, 0 where there is none. IndexChanged says that
	// there is one, and that it is something else.
	Index        uint64
	IndexChanged bool
}

// VerifyChain walks a whole log that no ledger has open: every group's checksum, place, and hash of the group before, and the form of
// every record, and what they come to beside the snapshot and the index. It changes nothing. Its errors wrap ledger.ErrCorrupt,
// with the group's number, where the log is not what was written; the result then is of what comes before.
func VerifyChain(log Log, at uint64) (chain Verified, err error) {
	last := uint64(0)
	chain.Head, err = VerifyLog(log, func(from ledger.Beginning) error {
		chain.Begins, last = from, from.After.LSN
		if from.After.LSN != 0 {
			chain.noteAt(from.After, at)
			chain.Streams = append(chain.Streams, from.After.Stream)
		}
		return nil
	}, func(head ledger.Head) error {
		chain.Groups++
		chain.Records += head.LSN - last
		last = head.LSN
		if n := len(chain.Streams); n == 0 || chain.Streams[n-1] != head.Stream {
			chain.Streams = append(chain.Streams, head.Stream)
		}
		chain.noteAt(head, at)
		return nil
	})
	if errors.Is(err, ErrUnfinished) {
		chain.Torn, err = true, nil
	}
	if err != nil {
		return chain, err
	}
	chain.Snapshot, err = VerifySnapshot(log)
	if errors.Is(err, ErrSnapshotChanged) {
		chain.SnapshotChanged, err = true, nil
	}
	if err != nil {
		return chain, err
	}
	chain.Index, err = VerifyIndex(log)
	if errors.Is(err, ErrIndexChanged) {
		chain.IndexChanged, err = true, nil
	}
	return chain, err
}

// noteAt notes the hash of a place in the chain, where it is the one that was asked for.
func (c *Verified) noteAt(head ledger.Head, at uint64) {
	if head.LSN == at {
		c.At, c.Ends = head.Hash, true
	}
}
