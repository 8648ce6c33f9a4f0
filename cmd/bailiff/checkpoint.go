package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
)

// keepCheckpoint signs how far the ledger has come and keeps that in the data folder, where it has moved. A checkpoint
// that is there and that the ledger does not reach is evidence that records are missing: it is put aside, never replaced.
func (r *service) keepCheckpoint(ctx context.Context) error {
	head, err := r.ledger.Head(ctx)
	if err != nil || head.LSN == 0 {
		return err
	}
	path := r.settings.checkpointPath()
	kept, err := readCheckpoint(path, r.signer.CheckpointVerifier())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		if err := r.putAside(path, err.Error()); err != nil {
			return err
		}
	case kept.Stream != head.Stream || kept.LSN > head.LSN:
		problem := fmt.Sprintf("it is of the record %d of the log %x, and the ledger ends at %d of %x: records are missing, or the data was restored from a backup",
			kept.LSN, kept.Stream, head.LSN, head.Stream)
		if err := r.putAside(path, problem); err != nil {
			return err
		}
	case kept.LSN == head.LSN && kept.Hash == head.Hash:
		return nil
	}
	return r.writeCheckpoint(path, head)
}

// writeCheckpoint writes a checkpoint whole or not at all.
func (r *service) writeCheckpoint(path string, head ledger.Head) error {
	signed, err := r.signer.SignCheckpoint(attest.Checkpoint{Stream: head.Stream, LSN: head.LSN, Hash: head.Hash, At: r.clock()})
	if err != nil {
		return err
	}
	return replaceFile(path, signed)
}

// putAside keeps a checkpoint that does not fit, and says so as loudly as a log can.
func (r *service) putAside(path, problem string) error {
	aside := fmt.Sprintf("%s-%d", path, r.clock().Unix())
	r.log.Error("the last checkpoint does not fit the ledger; it is kept", "as", aside, "problem", problem)
	return os.Rename(path, aside)
}

// readCheckpoint reads and verifies a signed checkpoint.
func readCheckpoint(path string, verifier *attest.CheckpointVerifier) (attest.Checkpoint, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return attest.Checkpoint{}, err
	}
	return verifier.Open(text)
}
