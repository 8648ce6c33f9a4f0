package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"bailiff/cmd/bailiff/client"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/retention"
)

// errMissing says that the ledger is not, or not all of, what the last checkpoint signed: records are missing, whether
// the disk lost them or somebody took them away. Limits would count anew, and revoked keys be good again, so a service
// refuses to go on until its operator has decided.
var errMissing = errors.New("records are missing")

// errOtherStore says that the checkpoint is of a log that the store does not have.
var errOtherStore = errors.New("the last checkpoint in the data folder is not of this store")

// misfits reports whether an error says that the ledger is not what a checkpoint signed.
func misfits(err error) bool { return errors.Is(err, errMissing) || errors.Is(err, errOtherStore) }

// proof says by what a start sees that no records are missing. The zero proof is the checkpoint in the data folder.
type proof struct {
	file string // a checkpoint that was kept elsewhere
	none bool   // the operator has decided that none are
}

// checkRecord holds the ledger and the signing keys against what the last run signed, and signs how far the ledger has
// come. What the last run left behind and is not there any more, or is not what it left, stops the start: records may be
// missing then (decisions, section 7).
func (r *service) checkRecord(ctx context.Context, by proof) error {
	if err := r.checkSigner(); err != nil {
		return err
	}
	if r.many != nil { // each slot is held against its checkpoint when it comes
		if by.file != "" {
			return errors.New("--checkpoint: the store has a log for each of its slots, each with a checkpoint in SVC_DATA_DIR; put the one there that is missing")
		}
		if by.none {
			if err := r.setCheckpointsAside(); err != nil {
				return err
			}
		}
		return r.recordSigner()
	}
	head, err := r.durableHead(ctx)
	if err != nil {
		return err
	}
	if !by.none {
		if _, err := retention.VerifyBeginning(r.ledger.Beginning(), r.signer.CheckpointVerifier()); err != nil {
			return fmt.Errorf("%w; put back the signing keys that signed it, as retired-SECONDS.pem beside the present ones, or restore a backup; if the data was only ever here, start once with serve --no-checkpoint", err)
		}
		path := by.file
		if path == "" {
			path = r.settings.CheckpointPath()
		}
		if err := r.compare(path, 0, head); err != nil && (by.file != "" || !errors.Is(err, fs.ErrNotExist) || r.servedBefore()) {
			return err
		}
	}
	return r.writeCheckpoint(head)
}

// setCheckpointsAside gives the checkpoints of all slots another name: those of slots that do not come now would be held against them later.
func (r *service) setCheckpointsAside() error {
	for slot := range r.many.Slots() {
		path := r.settings.SlotCheckpointPath(slot)
		if err := os.Rename(path, path+".before"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// servedBefore reports whether a service has run on this data before, which left a checkpoint then.
func (r *service) servedBefore() bool {
	_, err := os.Stat(r.settings.SignerPath())
	return !errors.Is(err, fs.ErrNotExist)
}

// remedy says how a service starts whose checkpoint is not there, or not good.
func (r *service) remedy() string {
	if r.many != nil {
		return "put it back; if an instance of another store had the folder, set SVC_DATA_DIR to a new one; if no record can be missing, start once with serve --no-checkpoint"
	}
	return "put it back, or start with serve --checkpoint FILE, a copy that was kept elsewhere; if no record can be missing, start once with serve --no-checkpoint"
}

// compare holds the head of the ledger, or of a slot's log, against a checkpoint. The error wraps errMissing where the ledger does not reach
// it, errOtherStore where the store has no such log, and fs.ErrNotExist where there is none.
func (r *service) compare(path string, slot int, head ledger.Head) error {
	kept, err := ReadCheckpoint(path, r.signer.CheckpointVerifier())
	var unread *fs.PathError
	switch {
	case errors.As(err, &unread):
		return fmt.Errorf("the last checkpoint can't be read, so missing records cannot be ruled out: %w; %s", err, r.remedy())
	case err != nil:
		return fmt.Errorf("the last checkpoint, %s, was altered or is another service's, so missing records cannot be ruled out: %w; %s", path, err, r.remedy())
	case r.store != nil && kept.Stream != head.Stream && r.never(slot, kept.Stream):
		return fmt.Errorf("%w: %s, signed at %s, is of record %d of the log %x, which the store does not have; if an instance of another store had the folder, "+
			"set SVC_DATA_DIR to a new one; if the database was put back to a state from before that log began, find the one that has it",
			errOtherStore, path, kept.At.Format(time.RFC3339), kept.LSN, kept.Stream)
	case !client.Reaches(head, kept):
		without := "restore a newer backup, or start once with serve --no-checkpoint to go on without them"
		if r.store != nil {
			without = "if an instance of another store had the folder, whose record came here by export and import, set SVC_DATA_DIR to a new one; otherwise find the database that has them; where they are lost, say so once with bailiff store restored, and start each instance once with serve --no-checkpoint"
		}
		return fmt.Errorf("%w: %s, signed at %s, is of record %d of the log %x, and the ledger ends at %d of %x; %s",
			errMissing, path, kept.At.Format(time.RFC3339), kept.LSN, kept.Stream, head.LSN, head.Stream, without)
	}
	return nil
}

// never reports whether the log of a slot is, and was before each time that it was restored, another one than a checkpoint is of.
func (r *service) never(slot int, stream [16]byte) bool {
	found := false
	err := r.store.Look(slot, func(log commit.Log) error {
		_, err := commit.VerifyLog(log, func(from ledger.Beginning) error {
			found = found || from.After.Stream == stream
			return nil
		}, func(head ledger.Head) error {
			found = found || head.Stream == stream
			return nil
		})
		return err
	})
	return err == nil && !found
}

// durableHead returns the end of the ledger, after everything in it has been made durable: what is deferred could be cut
// off otherwise.
func (r *service) durableHead(ctx context.Context) (ledger.Head, error) {
	if err := r.ledger.Flush(ctx); err != nil {
		return ledger.Head{}, err
	}
	return r.ledger.Head(ctx)
}

// keepCheckpoint signs how far the ledger has come while the service runs. The error is one of misfits where the ledger
// does not reach the checkpoint that is there. One that has vanished, or can't be verified, is replaced.
func (r *service) keepCheckpoint(ctx context.Context) error {
	if r.many != nil {
		return r.keepSlotCheckpoints(ctx)
	}
	head, err := r.durableHead(ctx)
	if err != nil {
		return err
	}
	err = r.compare(r.settings.CheckpointPath(), 0, head)
	switch {
	case misfits(err):
		return err
	case err != nil && r.signed[r.settings.CheckpointPath()].LSN > 0:
		r.log.Error("the checkpoint was removed or changed while the service ran; it is written again", "path", r.settings.CheckpointPath(), "error", err)
		delete(r.signed, r.settings.CheckpointPath())
	}
	return r.writeCheckpoint(head)
}

// writeCheckpoint signs the head of the ledger.
func (r *service) writeCheckpoint(head ledger.Head) error {
	now := r.clock()
	if err := r.signHead(r.settings.CheckpointPath(), head, now); err != nil {
		return err
	}
	r.checkpointed.Store(now.UnixNano())
	return nil
}

// signHead signs the head of a log, and records by which keys. It does nothing where that head is signed already, or the log is empty.
func (r *service) signHead(path string, head ledger.Head, now time.Time) error {
	if head.LSN == 0 || r.signed[path] == head {
		return nil
	}
	signed, err := r.signer.SignCheckpoint(attest.Checkpoint{Stream: head.Stream, LSN: head.LSN, Hash: head.Hash, At: now})
	if err != nil {
		return err
	}
	if err := atomicfile.ReplacePrivate(path, signed); err != nil {
		return err
	}
	if err := r.recordSigner(); err != nil {
		return err
	}
	r.signed[path] = head
	return nil
}

// checkSigner holds the signing keys against those that signed last, which may have been retired since.
func (r *service) checkSigner() error {
	path := r.settings.SignerPath()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("which keys signed last can't be read: %w; make it readable for the service's user", err)
	}
	ids := strings.Fields(string(text))
	if len(ids) != 2 || !r.signer.Lists(ids[0], ids[1]) {
		return fmt.Errorf("the signing keys are %s and %s, and this data was signed last with %q (%s): relying parties would not know them; "+
			"restore the key file, keep the old pair beside the new one as retired-SECONDS.pem, or remove %s if the keys were exchanged on purpose",
			r.signer.KeyID(), r.signer.PQCKeyID(), clip(strings.Join(ids, " ")), path, path)
	}
	return nil
}

// clip shortens what a file contains for a message.
func clip(text string) string { return text[:min(len(text), 200)] }

// signsAs returns the ids of a signer, as they are noted.
func signsAs(signer *attest.Signer) string { return signer.KeyID() + "\n" + signer.PQCKeyID() + "\n" }

// noteSigner notes for other instances which keys sign.
func (r *service) noteSigner() error {
	if r.store == nil {
		return nil
	}
	if noted, err := r.store.Signer(); err != nil || noted == signsAs(r.signer) {
		return err
	}
	return r.store.NoteSigner(signsAs(r.signer))
}

// recordSigner records which keys sign, where that has changed.
func (r *service) recordSigner() error {
	if err := r.noteSigner(); err != nil {
		return err
	}
	path, ids := r.settings.SignerPath(), signsAs(r.signer)
	if text, err := os.ReadFile(path); err == nil && string(text) == ids {
		return nil
	}
	return atomicfile.ReplacePrivate(path, []byte(ids))
}

// ReadCheckpoint reads and verifies a signed checkpoint.
func ReadCheckpoint(path string, verifier *attest.CheckpointVerifier) (attest.Checkpoint, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return attest.Checkpoint{}, err
	}
	return verifier.Open(text)
}

// slotOpened holds the log of a slot that has come against the checkpoint that this instance keeps of it, if it had the slot before. Where
// records are missing the instance ends, as one with a log of its own does.
func (r *service) slotOpened(slot int, l *commit.Ledger) error {
	if r.proof.none {
		return nil
	}
	if _, err := retention.VerifyBeginning(l.Beginning(), r.signer.CheckpointVerifier()); err != nil {
		return err
	}
	head, err := l.Head(context.Background())
	if err != nil {
		return err
	}
	err = r.compare(r.settings.SlotCheckpointPath(slot), slot, head)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("slot %d: %w", slot, err)
		r.fails(err)
	}
	return err
}

// fails has the service end.
func (r *service) fails(err error) {
	select {
	case r.failed <- err:
	default: // it ends already
	}
}

// keepSlotCheckpoints signs how far the logs have come of the slots that are here.
func (r *service) keepSlotCheckpoints(ctx context.Context) error {
	now, all := r.clock(), true
	for slot, l := range r.many.Here() {
		err := l.Flush(ctx)
		var head ledger.Head
		if err == nil {
			head, err = l.Head(ctx)
		}
		if err != nil { // it is being lost, which is said elsewhere
			all = false
			continue
		}
		if err := r.signHead(r.settings.SlotCheckpointPath(slot), head, now); err != nil {
			return fmt.Errorf("slot %d: %w", slot, err)
		}
	}
	if all {
		r.checkpointed.Store(now.UnixNano())
	}
	return nil
}
