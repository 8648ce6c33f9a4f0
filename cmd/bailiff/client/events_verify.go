package client

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/approvals"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/retention"
	"bailiff/runtime/system"
)

// CheckpointKeys say by which keys a checkpoint is verified: the service's own, unless two documents are given.
type CheckpointKeys struct {
	JWKS    string `name:"jwks" help:"File of the Ed25519 key set (/.well-known/jwks.json) instead of the service's own keys." placeholder:"FILE"`
	PQCKeys string `name:"pqc-keys" help:"File of the ML-DSA-65 key set (/v1/pqc-keys), with --jwks." placeholder:"FILE"`
}

type eventsVerifyCommand struct {
	Files      []string `arg:"" optional:"" help:"Exported files to verify by themselves, instead of the record." type:"path"`
	Exported   string   `help:"The folder of the exported files that lead to where the record begins, instead of SVC_EVENT_EXPORT." placeholder:"DIR" type:"path"`
	Checkpoint string   `help:"The signed checkpoint; without it the one in SVC_DATA_DIR, which an attacker who changed the record could have replaced by an older one." placeholder:"FILE"`
	CheckpointKeys
	cli.ProgressFlag
	NoCheckpoint bool     `help:"Verify the chain alone, without a checkpoint: truncation at its end is not found then."`
	Approvals    bool     `help:"Verify also each decision by passkey, and what the operator has signed about approvers."`
	OperatorKeys []string `name:"operator-key" help:"A further operator's public key whose statements about approvers count, beside SVC_OPERATOR_PUBLIC_KEY." placeholder:"KEY"`
	PublicURLs   []string `name:"public-url" help:"A further address at which browsers have reached the service, beside SVC_PUBLIC_URL." placeholder:"URL"`
}

// Help says what is verified.
func (c *eventsVerifyCommand) Help() string {
	return `Reads every record below SVC_DATA_DIR (default: data), which no service may have open: stop it, or verify a copy. In the
database of SVC_STORE instances may go on deciding.
Edits, gaps and exchanged records break the chain of hashes; a signed checkpoint that was kept elsewhere shows also
whether records were cut off, or the whole chain made anew. Nothing is changed.

Where retention has dropped the oldest records, the state that the record begins with has to be the one that the service has
signed, and exported files are verified as far as they are there.`
}

// Run verifies the chain and holds it against the checkpoint.
func (c *eventsVerifyCommand) Run(std cli.Streams) error {
	s, err := cmdsettings.Load(os.Environ())
	if err != nil {
		return cli.Usage("%v", err)
	}
	if len(c.Files) > 0 {
		return c.verifyFiles(std, s)
	}
	if s.Store == "" && DialAdmin(s.AdminSocket()) != nil {
		return cli.Fail("a service runs on %s; stop it first, or verify a copy of its data", s.DataDir)
	}
	slots, divided, err := slotsOf(s)
	switch {
	case err != nil:
		return cli.Fail("the record can't be read, so nothing is known of it: %v", err)
	case slots > 1:
		return c.verifySlots(std, s, slots, divided)
	}
	path := c.Checkpoint
	if path == "" {
		path = s.CheckpointPath()
	}
	if err := Moved(s); err != nil {
		return err
	}
	return c.verifyLog(std, part{Settings: s}, path)
}

// A part is the log of a slot of the record; of a record without slots it is all there is.
type part struct {
	*cmdsettings.Settings
	slot    int
	divided uint64 // of a slot that begins after a record of slot 0's log: that record
	unkept  bool   // there is no checkpoint
}

// slotsOf returns in how many slots of keys the record is, and after which record it was divided, 0 for none.
func slotsOf(s *cmdsettings.Settings) (n int, divided uint64, err error) {
	if s.Store == "" {
		return 1, 0, nil
	}
	store, _, err := CommandStore(s, system.Real(clock.System()))
	if err != nil {
		return 0, 0, err
	}
	defer store.Close()
	if n, err = store.Count(); err == nil {
		divided, err = store.Divided()
	}
	return n, divided, err
}

// verifySlots verifies the log of each slot, by those checkpoints that this instance has kept.
func (c *eventsVerifyCommand) verifySlots(std cli.Streams, s *cmdsettings.Settings, slots int, divided uint64) error {
	if c.Checkpoint != "" {
		return cli.Usage("--checkpoint is of one log, and the store has one for each of its %d slots, by the checkpoints in SVC_DATA_DIR", slots)
	}
	without := 0
	for slot := range slots + 1 {
		one, path := *c, s.SlotCheckpointPath(slot)
		log := part{Settings: s, slot: slot}
		if slot > 0 {
			log.divided = divided
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && !c.NoCheckpoint {
			log.unkept = true
			without++
		}
		if folder := cmp.Or(c.Exported, s.EventExport); folder != "" && slot > 0 { // nothing was exported from slot 0 since it is one
			one.Exported = cmdsettings.SlotFolder(folder, slot)
		}
		fmt.Fprintf(std.Out, "slot %d\n", slot)
		if err := one.verifyLog(std, log, path); err != nil {
			return err
		}
	}
	if without > 0 {
		fmt.Fprintf(std.Out, "of %d logs there is no checkpoint in %s, since this instance has not had their slots: verify on the other machines, too\n", without, s.DataDir)
	}
	return nil
}

// verifyLog verifies a part of the record, and holds it against the checkpoint at a path.
func (c *eventsVerifyCommand) verifyLog(std cli.Streams, s part, path string) error {
	kept, verifier, err := c.checkpoint(s, path)
	if err != nil {
		return err
	}
	working := c.Start(std, "verifying the record")
	done := working.Working()
	chain, err := verifyRecord(s, kept.LSN)
	done()
	switch {
	case s.Store != "" && err != nil && !errors.Is(err, ledger.ErrCorrupt):
		return cli.Fail("the record can't be read, so nothing is known of it: %v", err)
	case errors.Is(err, fs.ErrNotExist) && cli.IsMissing(s.LedgerPath()): // otherwise it is one of the record's files that is gone
		return cli.Fail("there is no data in %s; go to the service's folder, or set SVC_DATA_DIR", s.DataDir)
	case errors.Is(err, ledger.ErrLocked):
		return cli.Fail("a service has %s open; stop it first, or verify a copy of its data", s.LedgerPath())
	case cli.OfTheSystem(err):
		return cli.Fail("the record can't be read, so nothing is known of it: %v; run this as the owner of the data, or on a copy that can be written to", err)
	case err != nil:
		return cli.Fail("the record was CHANGED: %v (the %d records before that are intact)", err, chain.Head.LSN)
	}
	done = working.Working()
	lead, err := c.readExported(s.Settings, verifier, &chain, kept.LSN)
	done()
	if err != nil {
		return err
	}
	if err := Fits(chain, kept, c.NoCheckpoint || s.unkept); err != nil {
		return err
	}
	if err := s.continues(std, &chain, lead); err != nil {
		return err
	}
	if chain.SnapshotChanged && s.Store != "" {
		return cli.Fail("the snapshot was CHANGED: it differs from the record, which is intact; stop the instances, run DELETE FROM bailiff.snapshots, " +
			"and find out who changed it: limits may have been exceeded since")
	}
	if chain.SnapshotChanged {
		return cli.Fail("the snapshot was CHANGED: it differs from the record, which is intact; remove %s, which the service makes anew, "+
			"and find out who changed it: limits may have been exceeded since", pebbleledger.SnapshotPath(s.LedgerPath()))
	}
	if chain.IndexChanged {
		return cli.Fail("the index of keys was CHANGED: it differs from the record, which is intact; remove %s, which the service makes anew, "+
			"and find out who changed it: pages of a key's events may have missed some since", pebbleledger.IndexPath(s.LedgerPath()))
	}
	c.tell(std, s, &chain, kept, lead)
	if c.Approvals {
		return c.verifyApprovals(std, s, lead)
	}
	return nil
}

// continues holds the log of a slot against slot 0's, where the record was divided: it continues that one, or exported files do that lead to it.
func (s part) continues(std cli.Streams, chain *commit.Verified, lead []retention.File) error {
	from := chain.Begins.After
	if len(lead) > 0 {
		from = lead[0].From
	}
	switch {
	case s.divided == 0:
		return nil
	case from.LSN < s.divided:
		return cli.Fail("records are MISSING: the record was divided after record %d of slot 0, and this log begins with %d", s.divided, from.LSN+1)
	case from.LSN > s.divided: // the files that would lead there are not at hand
		return nil
	}
	first := part{Settings: s.Settings}
	if err := readRecord(first, func(log commit.Log) error { return commit.VerifyDivided(log, s.slot, from) }); err != nil {
		return cli.Fail("the record does NOT continue that of slot 0: %v", err)
	}
	fmt.Fprintf(std.Out, "it continues slot 0 after record %d, where the record was divided\n", from.LSN)
	if len(lead) == 0 {
		chain.Begins = ledger.Beginning{} // nothing was dropped
	}
	return nil
}

// verifyRecord verifies the record, and finds the group that ends with a record.
func verifyRecord(s part, at uint64) (chain commit.Verified, err error) {
	err = readRecord(s, func(log commit.Log) (err error) {
		chain, err = commit.VerifyChain(log, at)
		if err == nil && chain.Torn && s.Store != "" { // a database keeps a group whole or not at all
			err = commit.ErrUnfinished
		}
		return err
	})
	return chain, err
}

// readRecord calls use with a part of the record, wherever it is. In a database it may grow meanwhile.
func readRecord(s part, use func(commit.Log) error) error {
	if s.Store == "" {
		return pebbleledger.Reading(s.LedgerPath(), pebbleledger.Options{AdminSocket: s.AdminSocket()}, use)
	}
	store, _, err := CommandStore(s.Settings, system.Real(clock.System()))
	if err != nil {
		return err
	}
	defer store.Close()
	return store.Look(s.slot, use)
}

// tell says how much was verified, and against what.
func (c *eventsVerifyCommand) tell(std cli.Streams, s part, chain *commit.Verified, kept attest.Checkpoint, lead []retention.File) {
	fmt.Fprintf(std.Out, "verified: %d records in %d groups, stream %x, head %x\n", chain.Records, chain.Groups, chain.Head.Stream, chain.Head.Hash)
	tellBeginning(std, chain.Begins, lead, s.divided)
	if chain.Torn {
		fmt.Fprintln(std.Out, "behind them is an unfinished group, as a crash leaves one; it was never acknowledged")
	}
	if chain.Snapshot > 0 {
		fmt.Fprintf(std.Out, "the snapshot is what the first %d records come to\n", chain.Snapshot)
	}
	if chain.Index > 0 {
		fmt.Fprintf(std.Out, "the index of keys is what the first %d records come to\n", chain.Index)
	}
	if !c.NoCheckpoint && kept.LSN > 0 {
		fmt.Fprintf(std.Out, "the checkpoint of %s at record %d fits; %d records came after it\n", kept.At.Format(time.RFC3339), kept.LSN, chain.Head.LSN-kept.LSN)
	}
}

// verifyApprovals verifies the decisions by passkey.
func (c *eventsVerifyCommand) verifyApprovals(std cli.Streams, s part, lead []retention.File) error {
	checker := approvals.Checker{PublicURLs: c.PublicURLs, Environment: s.Environment, Issuer: string(s.Issuer)}
	if s.PublicURL != "" {
		checker.PublicURLs = append(checker.PublicURLs, string(s.PublicURL))
	}
	for _, text := range append(c.OperatorKeys, s.OperatorKey) {
		if text == "" {
			continue
		}
		key, err := attest.ParseOperatorKey(text)
		if err != nil {
			return cli.Usage("%v", err)
		}
		checker.Operators = append(checker.Operators, [32]byte(key))
	}
	done := c.Start(std, "verifying the approvals").Working()
	err := checkRecords(s, &checker, lead)
	done()
	if err != nil && !errors.Is(err, commit.ErrUnfinished) {
		return cli.Fail("approvals are NOT as they were signed: %v", err)
	}
	if err := checker.End(); err != nil {
		return cli.Fail("approvals are NOT as they were signed: %v", err)
	}
	if checker.Rotations > 0 {
		fmt.Fprintf(std.Out, "the operator's key was replaced %d times, as the record says\n", checker.Rotations)
	}
	_, err = fmt.Fprintf(std.Out, "approvals: %d statements about approvers and %d decisions by passkey verify\n", checker.Statements, checker.Decisions)
	return err
}

// Fits holds a whole chain against a checkpoint.
func Fits(chain commit.Verified, kept attest.Checkpoint, alone bool) error {
	switch {
	case alone:
		return nil
	case kept.LSN < chain.Begins.After.LSN && !chain.Ends:
		return cli.Fail("the checkpoint of %s is of record %d, and the record begins at %d: give the files that retention has exported before, with --exported", kept.At.Format(time.RFC3339), kept.LSN, chain.Begins.After.LSN+1)
	case chain.Head.LSN < kept.LSN:
		return cli.Fail("records are MISSING: the chain ends at %d, and the checkpoint of %s is of %d", chain.Head.LSN, kept.At.Format(time.RFC3339), kept.LSN)
	case !slices.Contains(chain.Streams, kept.Stream):
		return cli.Fail("the record is ANOTHER: its stream is %x, the checkpoint's %x", chain.Head.Stream, kept.Stream)
	case !chain.Ends || chain.At != kept.Hash:
		return cli.Fail("the record was CHANGED: its first %d records fit together, but are not those that the checkpoint of %s signed", kept.LSN, kept.At.Format(time.RFC3339))
	}
	return nil
}

// checkpoint reads and verifies the checkpoint, and returns what it was verified by: nil with --no-checkpoint.
func (c *eventsVerifyCommand) checkpoint(s part, path string) (kept attest.Checkpoint, verifier *attest.CheckpointVerifier, err error) {
	if c.NoCheckpoint {
		return kept, nil, nil
	}
	if verifier, err = c.Verifier(s.Settings); err != nil || s.unkept {
		return kept, verifier, err
	}
	if c.Checkpoint == "" && s.Store != "" && cli.IsMissing(path) {
		return kept, nil, cli.Fail("there is no %s, since this instance has not decided: verify on the machine of one that has, or give --no-checkpoint", path)
	}
	text, err := cli.ReadFile(path, attest.MaxCheckpointBytes)
	if err != nil {
		return kept, nil, err
	}
	if kept, err = verifier.Open(text); err != nil {
		return kept, nil, cli.Fail("%s: %v", path, err)
	}
	return kept, verifier, nil
}

// Verifier has the service's own keys, or those of the two documents.
func (c *CheckpointKeys) Verifier(s *cmdsettings.Settings) (*attest.CheckpointVerifier, error) {
	switch {
	case c.JWKS == "" && c.PQCKeys == "":
		signer, err := ExistingSigner(s)
		if err != nil {
			return nil, cli.Fail("%v, or give --jwks and --pqc-keys", err)
		}
		return signer.CheckpointVerifier(), nil
	case c.JWKS == "" || c.PQCKeys == "":
		return nil, cli.Usage("give --jwks and --pqc-keys together")
	}
	jwks, err := cli.ReadFile(c.JWKS, maxKeySetBytes)
	if err != nil {
		return nil, err
	}
	pqcKeys, err := cli.ReadFile(c.PQCKeys, maxKeySetBytes)
	if err != nil {
		return nil, err
	}
	return attest.NewCheckpointVerifier(jwks, pqcKeys)
}

// ExistingSigner reads the service's signing keys, and makes none.
func ExistingSigner(s *cmdsettings.Settings) (*attest.Signer, error) {
	if s.SigningKeyFile == "" {
		switch _, err := os.Stat(s.SigningKeyPath()); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, cli.Fail("there are no signing keys in %s; set SVC_KEY_DIR or SVC_SIGNING_KEY_FILE to those of the service", s.KeyDir)
		case err != nil:
			return nil, cli.Fail("the signing keys can't be read: %v", err)
		}
		return attest.LoadOrCreate(s.KeyDir, rand.Reader)
	}
	return attest.Load(s.SigningKeyFile)
}
