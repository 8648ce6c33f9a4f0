package store

import (
	"cmp"
	"crypto/rand"
	"errors"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/joining"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/state"
	"bailiff/runtime/retention"
)

// ReadingFlags are the flags of commands that copy the record from the database of SVC_STORE.
type ReadingFlags struct {
	Exported     string `help:"The folder of the files that SVC_EVENT_RETENTION has exported, of all slots, where it has dropped any of their records. Default: SVC_EVENT_EXPORT." placeholder:"DIR" type:"path"`
	NoCheckpoint bool   `help:"Copy the record from the database without looking at checkpoints in SVC_DATA_DIR; a database that has lost records is not noticed then."`
}

// A Reading reads the logs of a store, and holds them against the checkpoints of the instance whose data folder this is.
type Reading struct {
	flags    ReadingFlags
	settings *cmdsettings.Settings
	signer   *attest.Signer
	kept     map[int]attest.Checkpoint // by slot, of those that the instance has had
}

// Reading begins to read so many logs. While instances decide it has to come before the moment as of which the logs are read: later checkpoints may be of records that
// came after it.
func (f ReadingFlags) Reading(s *cmdsettings.Settings, signer *attest.Signer, logs int) (*Reading, error) {
	r := &Reading{f, s, signer, map[int]attest.Checkpoint{}}
	if f.NoCheckpoint {
		return r, nil
	}
	for slot := range logs {
		path := r.path(slot, logs)
		if cli.IsMissing(path) {
			continue
		}
		text, err := cli.ReadFile(path, attest.MaxCheckpointBytes)
		if err != nil {
			return nil, cli.Fail("%v", err)
		}
		if r.kept[slot], err = signer.CheckpointVerifier().Open(text); err != nil {
			return nil, cli.Fail("%s: %v", path, err)
		}
	}
	if len(r.kept) == 0 {
		return nil, cli.Fail("no checkpoint in %s is of the record in the database; set SVC_DATA_DIR to the folder of an instance that has decided lately, or, if the database can't have lost records, give --no-checkpoint", s.DataDir)
	}
	return r, nil
}

// path is where the checkpoint of a slot is.
func (r *Reading) path(slot, logs int) string {
	if logs == 1 {
		return r.settings.CheckpointPath()
	}
	return r.settings.SlotCheckpointPath(slot)
}

// Fits holds the logs against the checkpoints.
func (r *Reading) Fits(logs []commit.Log) error {
	for slot, log := range logs {
		if kept, ok := r.kept[slot]; ok {
			if err := r.fits(kept, slot, log); err != nil {
				return cli.Fail("%v (%s)", err, r.path(slot, len(logs)))
			}
		}
	}
	return nil
}

// fits holds the log of a slot against a checkpoint. It may be of what retention has dropped since, which is in an exported file then.
func (r *Reading) fits(kept attest.Checkpoint, slot int, log commit.Log) error {
	verifier := r.signer.CheckpointVerifier()
	chain, err := verified(log, kept.LSN, verifier)
	if err != nil {
		return cli.Fail("the record is not good, and nothing was copied: %v", err)
	}
	if folder := r.folder(); slot > 0 && folder != "" && kept.LSN < chain.Begins.After.LSN {
		_, err = client.LeadTo(&chain, cmdsettings.SlotFolder(folder, slot), verifier, kept.LSN)
	}
	if err == nil {
		err = client.Fits(chain, kept, false)
	}
	return err
}

// verified verifies a log, and that the service has signed what it begins with.
func verified(log commit.Log, at uint64, by *attest.CheckpointVerifier) (commit.Verified, error) {
	chain, err := commit.VerifyChain(log, at)
	if err == nil && chain.Begins.After.LSN > 0 {
		_, err = retention.VerifyBeginning(chain.Begins, by)
	}
	return chain, err
}

// folder is that of the files that retention has exported.
func (r *Reading) folder() string {
	return cmp.Or(r.flags.Exported, r.settings.EventExport)
}

// Join makes one log of those of all slots, which have to fit the checkpoints.
func (r *Reading) Join(store *pgledger.Store, logs []commit.Log, to commit.Log, told func(lsn uint64)) (*joining.Joined, error) {
	divided, err := store.Divided()
	if err != nil {
		return nil, err
	}
	joined, err := joining.Join(to, &joining.Options{
		From: logs, Divided: divided,
		Dropped: r.dropped(), At: clock.System()().UnixNano(), Random: rand.Reader, Told: told,
	})
	if errors.Is(err, ledger.ErrDropped) {
		err = cli.Fail("%v; give the folder with all files that SVC_EVENT_RETENTION has exported, as slot-N, with --exported", err)
	}
	return joined, err
}

// dropped reads the records that retention has dropped from the log of a slot from the files that it has exported.
func (r *Reading) dropped() func(int, ledger.Head, func(uint64, *state.Record) error) error {
	folder, leads := r.folder(), map[int][]retention.File{}
	return func(slot int, begins ledger.Head, visit func(uint64, *state.Record) error) error {
		if folder == "" {
			return nil
		}
		if _, known := leads[slot]; !known {
			lead, err := client.ExportedTo(cmdsettings.SlotFolder(folder, slot), begins, r.signer.CheckpointVerifier(), func(string, ledger.Head) {})
			if err != nil {
				return err
			}
			leads[slot] = lead
		}
		for _, f := range leads[slot] {
			if _, err := retention.Read(f.Path, visit, func(ledger.Head) {}); err != nil {
				return err
			}
		}
		return nil
	}
}
