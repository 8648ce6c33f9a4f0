package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	pebbleledger "bailiff/runtime/ledger/pebble"
)

type eventsVerifyCommand struct {
	Checkpoint   string `help:"The signed checkpoint; without it the one in SVC_DATA_DIR, which whoever changed the record could have changed back to an older one." placeholder:"FILE"`
	JWKS         string `name:"jwks" help:"File of the Ed25519 key set (/.well-known/jwks.json) instead of the service's own keys." placeholder:"FILE"`
	PQCKeys      string `name:"pqc-keys" help:"File of the ML-DSA-65 key set (/v1/pqc-keys), with --jwks." placeholder:"FILE"`
	NoCheckpoint bool   `help:"Verify the chain alone; what was cut off at its end is not found then."`
}

// Help says what is verified.
func (c *eventsVerifyCommand) Help() string {
	return `Reads every record below SVC_DATA_DIR (default: data), which no service may have open: stop it, or verify a copy.
Edits, gaps and exchanged records break the chain of hashes; a signed checkpoint that was kept elsewhere shows also
whether records were cut off, or the whole chain made anew. Nothing is changed.`
}

// Run verifies the chain and holds it against the checkpoint.
func (c *eventsVerifyCommand) Run(std streams) error {
	s, err := readSettings(os.Environ())
	if err != nil {
		return usage("%v", err)
	}
	if dialAdmin(s.adminSocket()) != nil {
		return fail("a service runs on %s; stop it first, or verify a copy of its data", s["SVC_DATA_DIR"])
	}
	kept, err := c.checkpoint(s)
	if err != nil {
		return err
	}
	chain, err := pebbleledger.VerifyChain(s.ledgerPath(), pebbleledger.Options{AdminSocket: s.adminSocket()}, kept.LSN)
	switch {
	case errors.Is(err, fs.ErrNotExist) && isMissing(s.ledgerPath()): // otherwise it is one of the record's files that is gone
		return fail("there is no data in %s; go to the service's folder, or set SVC_DATA_DIR", s["SVC_DATA_DIR"])
	case errors.Is(err, ledger.ErrLocked):
		return fail("a service has %s open; stop it first, or verify a copy of its data", s.ledgerPath())
	case ofTheSystem(err):
		return fail("the record can't be read, so nothing is known of it: %v; run this as the owner of the data, or on a copy that can be written to", err)
	case err != nil:
		return fail("the record is NOT what was written: %v (%d records before that are whole)", err, chain.Head.LSN)
	}
	if err := fits(chain, kept, c.NoCheckpoint); err != nil {
		return err
	}
	if chain.SnapshotChanged {
		return fail("the snapshot was CHANGED: the record is whole, and comes to something else; remove %s, which the service makes anew, "+
			"and find out who changed it: limits may have been exceeded since", pebbleledger.SnapshotPath(s.ledgerPath()))
	}
	if chain.IndexChanged {
		return fail("the index of keys was CHANGED: the record is whole, and comes to something else; remove %s, which the service makes anew, "+
			"and find out who changed it: pages of a key's events may have missed some since", pebbleledger.IndexPath(s.ledgerPath()))
	}
	fmt.Fprintf(std.out, "verified: %d records in %d groups, stream %x, head %x\n", chain.Records, chain.Groups, chain.Head.Stream, chain.Head.Hash)
	if chain.Torn {
		fmt.Fprintln(std.out, "behind them is an unfinished group, as a crash leaves one; it was never acknowledged")
	}
	if chain.Snapshot > 0 {
		fmt.Fprintf(std.out, "the snapshot is what the first %d records come to\n", chain.Snapshot)
	}
	if chain.Index > 0 {
		fmt.Fprintf(std.out, "the index of keys is what the first %d records come to\n", chain.Index)
	}
	if !c.NoCheckpoint {
		fmt.Fprintf(std.out, "the checkpoint of %s at record %d fits; %d records came after it\n", kept.At.Format(time.RFC3339), kept.LSN, chain.Head.LSN-kept.LSN)
	}
	return nil
}

// isMissing reports whether nothing is at a path.
func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// ofTheSystem reports whether an error is the system's, of files that may be as they were written.
func ofTheSystem(err error) bool {
	for _, cause := range []error{fs.ErrPermission, syscall.EROFS, syscall.EIO, syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// fits holds a whole chain against a checkpoint.
func fits(chain pebbleledger.Chain, kept attest.Checkpoint, alone bool) error {
	switch {
	case alone:
		return nil
	case chain.Head.LSN < kept.LSN:
		return fail("records are MISSING: the chain ends at %d, and the checkpoint of %s is of %d", chain.Head.LSN, kept.At.Format(time.RFC3339), kept.LSN)
	case chain.Head.Stream != kept.Stream:
		return fail("the record is ANOTHER: its stream is %x, the checkpoint's %x", chain.Head.Stream, kept.Stream)
	case !chain.Ends || chain.At != kept.Hash:
		return fail("the record was CHANGED: up to %d it is whole, and not what the checkpoint of %s signed", kept.LSN, kept.At.Format(time.RFC3339))
	}
	return nil
}

// checkpoint reads and verifies the checkpoint.
func (c *eventsVerifyCommand) checkpoint(s settings) (attest.Checkpoint, error) {
	if c.NoCheckpoint {
		return attest.Checkpoint{}, nil
	}
	verifier, err := c.verifier(s)
	if err != nil {
		return attest.Checkpoint{}, err
	}
	path := c.Checkpoint
	if path == "" {
		path = s.checkpointPath()
	}
	text, err := readFile(path, attest.MaxCheckpointBytes)
	if err != nil {
		return attest.Checkpoint{}, err
	}
	kept, err := verifier.Open(text)
	if err != nil {
		return kept, fail("%s: %v", path, err)
	}
	return kept, nil
}

// verifier has the service's own keys, or those of the two documents.
func (c *eventsVerifyCommand) verifier(s settings) (*attest.CheckpointVerifier, error) {
	switch {
	case c.JWKS == "" && c.PQCKeys == "":
		signer, err := existingSigner(s)
		if err != nil {
			return nil, err
		}
		return signer.CheckpointVerifier(), nil
	case c.JWKS == "" || c.PQCKeys == "":
		return nil, usage("give --jwks and --pqc-keys together")
	}
	jwks, err := readFile(c.JWKS, maxKeySetBytes)
	if err != nil {
		return nil, err
	}
	pqcKeys, err := readFile(c.PQCKeys, maxKeySetBytes)
	if err != nil {
		return nil, err
	}
	return attest.NewCheckpointVerifier(jwks, pqcKeys)
}

// existingSigner reads the service's signing keys, and makes none.
func existingSigner(s settings) (*attest.Signer, error) {
	if s["SVC_SIGNING_KEY_FILE"] == "" {
		switch _, err := os.Stat(s.signingKeyPath()); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fail("there are no signing keys in %s; give --jwks and --pqc-keys", s["SVC_KEY_DIR"])
		case err != nil:
			return nil, fail("the signing keys can't be read: %v", err)
		}
		return attest.LoadOrCreate(s["SVC_KEY_DIR"], rand.Reader)
	}
	return attest.Load(s["SVC_SIGNING_KEY_FILE"])
}
