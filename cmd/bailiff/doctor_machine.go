package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	pebbleledger "bailiff/runtime/ledger/pebble"
)

// Free space on the disk of the data below which the doctor warns, and below which it is a problem.
const (
	scarceBytes = 1 << 30
	noBytes     = 128 << 20
)

// freeBytes is how much is free on the disk of a folder.
func freeBytes(dir string) (uint64, error) {
	var disk syscall.Statfs_t
	err := syscall.Statfs(dir, &disk)
	return disk.Bavail * uint64(disk.Bsize), err
}

// examineDisk looks at what is free where the data is.
func (p *patient) examineDisk() {
	dir := p.settings["SVC_DATA_DIR"]
	for dir != filepath.Dir(dir) { // of a folder that is not there yet, the one above
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		p.add(trouble, "disk", "%s: %v", dir, err)
		return
	}
	free := disk.Bavail * uint64(disk.Bsize)
	switch {
	case free < noBytes:
		p.add(trouble, "disk", "only %d MiB are free at %s, and a full disk stops every decision; make room", free>>20, dir)
	case free < scarceBytes:
		p.add(doubt, "disk", "only %d MiB are free at %s; make room", free>>20, dir)
	case disk.Files > 0 && disk.Ffree < 1000:
		p.add(trouble, "disk", "only %d more files can be made at %s; make room", disk.Ffree, dir)
	default:
		p.add(sound, "disk", "%d MiB are free at %s", free>>20, dir)
	}
}

// clockAhead is how far a recorded time may lie ahead of the clock.
const clockAhead = 5 * time.Second

// examineClock holds the clock against times that have certainly passed, and asks the system whether it is kept in step.
func (p *patient) examineClock() {
	now := p.clock()
	before := len(p.findings)
	if built := thisBuild().Time; now.Before(built) {
		p.add(trouble, "clock", "it says %s, before this build was made (%s); set it", now.UTC().Format(time.RFC3339), built.Format(time.RFC3339))
	}
	if info, err := os.Stat(p.settings.checkpointPath()); err == nil && info.ModTime().Sub(now) > clockAhead {
		p.add(trouble, "clock", "it says %s, and the last checkpoint was written at %s; set it", now.UTC().Format(time.RFC3339), info.ModTime().UTC().Format(time.RFC3339))
	}
	if synchronised, known := clock.Synchronised(); known && !synchronised {
		p.add(doubt, "clock", "nothing keeps it in step, as far as the system knows; attestations live for 60 seconds, so run a time service such as chrony")
	}
	if before == len(p.findings) {
		p.add(sound, "clock", "%s, kept in step", now.UTC().Format(time.RFC3339))
	}
}

// examineRecord verifies the record's chain against the last checkpoint, where no service has it open.
func (p *patient) examineRecord() {
	s := p.settings
	if p.running {
		p.add(sound, "record", "the service has it open; bailiff events verify reads it when that is stopped, or a copy")
		return
	}
	if isMissing(s.ledgerPath()) {
		if !isMissing(s.checkpointPath()) {
			p.add(trouble, "record", "%s is gone, and %s says that there was one; restore the data from a backup", s.ledgerPath(), s.checkpointPath())
		}
		return
	}
	signer, err := existingSigner(s)
	if err != nil {
		p.add(doubt, "record", "it is not verified, for there are no signing keys that can be used to verify the checkpoint with")
		return
	}
	kept, err := readCheckpoint(s.checkpointPath(), signer.CheckpointVerifier())
	alone := errors.Is(err, fs.ErrNotExist)
	if alone && !isMissing(s.signerPath()) {
		p.add(trouble, "record", "%s is gone, so missing records cannot be ruled out; put it back, or start with bailiff serve --checkpoint FILE, a copy that was kept elsewhere; if no record can be missing, start once with bailiff serve --no-checkpoint", s.checkpointPath())
		return
	}
	if err != nil && !alone {
		p.add(trouble, "record", "%s: %v; hold the record against one that you kept: bailiff events verify --checkpoint FILE", s.checkpointPath(), err)
		return
	}
	chain, err := pebbleledger.VerifyChain(s.ledgerPath(), pebbleledger.Options{AdminSocket: s.adminSocket()}, kept.LSN)
	if err == nil {
		err = fits(chain, kept, alone)
	}
	switch {
	case errors.Is(err, ledger.ErrLocked):
		p.add(doubt, "record", "it is not verified: %v", err)
		return
	case ofTheSystem(err):
		p.add(trouble, "record", "it can't be read, so it is not verified: %v; run doctor as the service's user, and look after the disk", err)
		return
	case err != nil:
		p.add(trouble, "record", "%v; restore the data from a backup, and find out who changed it", err)
		return
	case chain.SnapshotChanged:
		p.add(trouble, "record", "the chain of %d records is whole, but its snapshot is not what it comes to; remove %s, and find out who changed it",
			chain.Records, pebbleledger.SnapshotPath(s.ledgerPath()))
		return
	case chain.IndexChanged:
		p.add(trouble, "record", "the chain of %d records is whole, but its index of keys is not what it comes to; remove %s, and find out who changed it",
			chain.Records, pebbleledger.IndexPath(s.ledgerPath()))
		return
	}
	p.add(sound, "record", "the chain of %d records is whole, and fits the last checkpoint", chain.Records)
}
