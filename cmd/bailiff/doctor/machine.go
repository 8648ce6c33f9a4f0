package doctor

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/cmd/bailiff/serve"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	pebbleledger "bailiff/runtime/ledger/pebble"
)

// examineDisk looks at what is free where the data is.
func (p *Patient) examineDisk() {
	dir := p.settings.DataDir
	for dir != filepath.Dir(dir) { // of a folder that is not there yet, the one above
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		p.Add(Trouble, "disk", "%s: %v", dir, err)
		return
	}
	free := disk.Bavail * uint64(disk.Bsize)
	switch {
	case free < serve.NoBytes:
		p.Add(Trouble, "disk", "only %d MiB are free at %s, and a full disk stops every decision; make room", free>>20, dir)
	case free < serve.ScarceBytes:
		p.Add(Doubt, "disk", "only %d MiB are free at %s; make room", free>>20, dir)
	case disk.Files > 0 && disk.Ffree < 1000:
		p.Add(Trouble, "disk", "only %d more files can be made at %s; make room", disk.Ffree, dir)
	default:
		p.Add(Sound, "disk", "%d MiB are free at %s", free>>20, dir)
	}
}

// clockAhead is how far a recorded time may lie ahead of the clock.
const clockAhead = 5 * time.Second

// examineClock holds the clock against times that have certainly passed, and asks the system whether it is kept in step.
func (p *Patient) examineClock() {
	now := p.Clock()
	before := len(p.Findings)
	if built := cli.ThisBuild().Time; now.Before(built) {
		p.Add(Trouble, "clock", "it says %s, before this build was made (%s); set it", now.UTC().Format(time.RFC3339), built.Format(time.RFC3339))
	}
	if info, err := os.Stat(p.settings.CheckpointPath()); err == nil && info.ModTime().Sub(now) > clockAhead {
		p.Add(Trouble, "clock", "it says %s, and the last checkpoint was written at %s; set it", now.UTC().Format(time.RFC3339), info.ModTime().UTC().Format(time.RFC3339))
	}
	if synchronised, known := clock.Synchronised(); known && !synchronised {
		p.Add(Doubt, "clock", "nothing keeps it in step, as far as the system knows; attestations live for 60 seconds, so run a time service such as chrony")
	}
	if before == len(p.Findings) {
		p.Add(Sound, "clock", "%s, kept in step", now.UTC().Format(time.RFC3339))
	}
}

// examineRecord verifies the record's chain against the last checkpoint, where no service has it open.
func (p *Patient) examineRecord() {
	s := p.settings
	if s.Store != "" {
		return // examineStore asks for it
	}
	if p.running {
		p.Add(Sound, "record", "the service has it open; bailiff events verify reads it when that is stopped, or a copy")
		return
	}
	if cli.IsMissing(s.LedgerPath()) {
		if err := cmp.Or(client.Moved(s), client.Gone(s)); err != nil {
			p.Add(Trouble, "record", "%v", err)
		}
		return
	}
	signer, err := client.ExistingSigner(s)
	if err != nil {
		p.Add(Doubt, "record", "it is not verified, for there are no signing keys that can be used to verify the checkpoint with")
		return
	}
	kept, err := serve.ReadCheckpoint(s.CheckpointPath(), signer.CheckpointVerifier())
	alone := errors.Is(err, fs.ErrNotExist)
	if alone && !cli.IsMissing(s.SignerPath()) {
		p.Add(Trouble, "record", "%s is gone, so missing records cannot be ruled out; put it back, or start with bailiff serve --checkpoint FILE, a copy that was kept elsewhere; if no record can be missing, start once with bailiff serve --no-checkpoint", s.CheckpointPath())
		return
	}
	if err != nil && !alone {
		p.Add(Trouble, "record", "%s: %v; hold the record against one that you kept: bailiff events verify --checkpoint FILE", s.CheckpointPath(), err)
		return
	}
	done := p.working()
	chain, err := pebbleledger.VerifyChain(s.LedgerPath(), pebbleledger.Options{AdminSocket: s.AdminSocket()}, kept.LSN)
	done()
	if err == nil {
		err = client.Fits(chain, kept, alone)
	}
	switch {
	case errors.Is(err, ledger.ErrLocked):
		p.Add(Doubt, "record", "it is not verified: %v", err)
		return
	case cli.OfTheSystem(err):
		p.Add(Trouble, "record", "it can't be read, so it is not verified: %v; run doctor as the service's user, and look after the disk", err)
		return
	case err != nil:
		p.Add(Trouble, "record", "%v; restore the data from a backup, and find out who changed it", err)
		return
	case chain.SnapshotChanged:
		p.Add(Trouble, "record", "the chain of %d records is whole, but its snapshot is not what it comes to; remove %s, and find out who changed it",
			chain.Records, pebbleledger.SnapshotPath(s.LedgerPath()))
		return
	case chain.IndexChanged:
		p.Add(Trouble, "record", "the chain of %d records is whole, but its index of keys is not what it comes to; remove %s, and find out who changed it",
			chain.Records, pebbleledger.IndexPath(s.LedgerPath()))
		return
	}
	p.Add(Sound, "record", "the chain of %d records is whole, and fits the last checkpoint", chain.Records)
}
