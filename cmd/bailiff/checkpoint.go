package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
)

// errMissing says that the ledger is not, or not all of, what the last checkpoint signed: records are missing, whether
// the disk lost them or somebody took them away. Limits would count anew, and revoked keys be good again, so a service
// refuses to go on until its operator has decided.
var errMissing = errors.New("records are missing")

// keepCheckpoint signs how far the ledger has come and keeps that in the data folder, where it has moved. The error wraps
// errMissing where the ledger does not reach the checkpoint that is there. One that can't be verified, since other keys
// signed it, is put aside; one that can't even be read stays, since it may say that records are missing.
func (r *service) keepCheckpoint(ctx context.Context) error {
	if err := r.ledger.Flush(ctx); err != nil { // so that nothing can be cut off that rides along only
		return err
	}
	head, err := r.ledger.Head(ctx)
	if err != nil {
		return err
	}
	path := r.settings.checkpointPath()
	kept, err := readCheckpoint(path, r.signer.CheckpointVerifier())
	var unread *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &unread):
		return fmt.Errorf("the last checkpoint can't be read, so nobody knows whether records are missing: %w; see who owns it, or move it elsewhere to go on without it", err)
	case err != nil:
		aside := fmt.Sprintf("%s-%d", path, r.clock().Unix())
		r.log.Error("the last checkpoint can't be verified; it is put aside", "as", aside, "error", err)
		if err := os.Rename(path, aside); err != nil {
			return err
		}
	case kept.Stream != head.Stream || kept.LSN > head.LSN || kept.LSN == head.LSN && kept.Hash != head.Hash:
		return fmt.Errorf("%w: %s, signed at %s, is of record %d of the log %x, and the ledger ends at %d of %x; restore a newer backup, or move that file elsewhere to go on without them",
			errMissing, path, kept.At.Format(time.RFC3339), kept.LSN, kept.Stream, head.LSN, head.Stream)
	case kept.LSN == head.LSN:
		return nil
	}
	if head.LSN == 0 {
		return nil
	}
	return r.writeCheckpoint(path, head)
}

// writeCheckpoint writes a checkpoint whole or not at all. Nobody else writes there, so that the unfinished file of a run
// that was killed is the next one's to write over.
func (r *service) writeCheckpoint(path string, head ledger.Head) error {
	signed, err := r.signer.SignCheckpoint(attest.Checkpoint{Stream: head.Stream, LSN: head.LSN, Hash: head.Hash, At: r.clock()})
	if err != nil {
		return err
	}
	unfinished := path + ".new"
	file, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(signed)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

// readCheckpoint reads and verifies a signed checkpoint.
func readCheckpoint(path string, verifier *attest.CheckpointVerifier) (attest.Checkpoint, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return attest.Checkpoint{}, err
	}
	return verifier.Open(text)
}
