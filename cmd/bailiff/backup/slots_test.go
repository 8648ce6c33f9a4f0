package backup

import (
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/cmd/bailiff/store"
	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/groupfile"
	pebbleledger "bailiff/runtime/ledger/pebble"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/retention"
	"bailiff/runtime/system"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// A slotted is a store of several slots, all of which an instance has that runs in the test.
type slotted struct {
	*testing.T
	*slots.Ledger
	dir    string
	signer *attest.Signer
	said   strings.Builder
}

// keysOver is how many keys a slotted has, over all slots.
const keysOver = 9

// newSlotted starts an instance over a store of three slots, which has some keys.
func newSlotted(t *testing.T) *slotted {
	t.Helper()
	s := &slotted{T: t, dir: t.TempDir()}
	for name, value := range map[string]string{
		"SVC_STORE": pgtest.Start(t).URL(), "SVC_STORE_SYNC": "trust", "SVC_INSTANCE": "a", "SVC_DATA_DIR": filepath.Join(s.dir, "data"), "SVC_KEY_DIR": filepath.Join(s.dir, "keys"), "SVC_HOSTED": "true",
	} {
		t.Setenv(name, value)
	}
	s.must(os.Mkdir(filepath.Join(s.dir, "data"), 0o700))
	var err error
	s.signer, err = attest.LoadOrCreate(filepath.Join(s.dir, "keys"), rand.Reader)
	s.must(err)
	calls := system.Real(clock.System())
	options, err := s.settings().StoreOptions(calls)
	s.must(err)
	stop := make(chan struct{})
	options.Stop = stop
	db, err := pgledger.NewStore(options)
	s.must(err)
	_, err = db.Init(pgledger.Setup{Slots: 3})
	s.must(err)
	s.Ledger, _, err = db.Alone(slots.Options{Commit: commit.Options{Random: rand.Reader}, Log: slog.New(slog.DiscardHandler), Go: calls.Go, Timers: calls.Timers})
	s.must(err)
	t.Cleanup(func() {
		close(stop)
		s.must(s.Close())
		db.Close()
	})
	for n := range uint64(keysOver) {
		s.must(s.CreateKey(t.Context(), ledgertest.NewKey(1+n)))
	}
	return s
}

func (s *slotted) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *slotted) settings() *cmdsettings.Settings {
	s.Helper()
	settings, err := cmdsettings.Load(os.Environ())
	s.must(err)
	return settings
}

// signs writes the checkpoint of a slot as the instance does, but that change is made to it.
func (s *slotted) signs(slot int, change func(*attest.Checkpoint)) {
	s.Helper()
	for n, log := range s.Here() {
		if n != slot {
			continue
		}
		head, err := log.Head(s.Context())
		s.must(err)
		c := attest.Checkpoint{Stream: head.Stream, LSN: head.LSN, Hash: head.Hash, At: clock.System()().Truncate(time.Second)}
		change(&c)
		signed, err := s.signer.SignCheckpoint(c)
		s.must(err)
		s.must(os.WriteFile(s.settings().SlotCheckpointPath(slot), signed, 0o600))
		return
	}
	s.Fatalf("slot %d is not here", slot)
}

func asItIs(*attest.Checkpoint) {}

// run runs a command.
func (s *slotted) run(command interface{ Run(cli.Streams) error }) error {
	s.said.Reset()
	return command.Run(cli.Streams{Out: &s.said, Err: io.Discard})
}

// refuses runs a backup that has to fail, to say something, and to leave nothing behind.
func (s *slotted) refuses(say string, flags store.ReadingFlags) {
	s.Helper()
	dir := filepath.Join(s.dir, "refused")
	if err := s.run(&backupCommand{Dir: dir, ReadingFlags: flags}); err == nil || !strings.Contains(err.Error(), say) {
		s.Errorf("it does not say %q: %v", say, err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, ".bailiff-*")); exists(dir) || len(left) > 0 {
		s.Errorf("%q: a backup that was refused leaves %v", say, left)
	}
}

// restores makes the record of a backup, and opens it.
func (s *slotted) restores(backup string, how restoreCommand) *commit.Ledger {
	s.Helper()
	s.must(s.run(&restoreCommand{Dir: backup, Check: true}))
	s.Setenv("SVC_STORE", "")
	s.Setenv("SVC_DATA_DIR", filepath.Join(s.dir, "restored"))
	how.Dir = backup
	s.must(s.run(&how))
	l, err := pebbleledger.Open(filepath.Join(s.dir, "restored", "ledger"), pebbleledger.Options{Random: rand.Reader})
	s.must(err)
	return l
}

func keyOf(n uint64) ledger.ID { return ledgertest.NewKey(1 + n).ID }

// use is the use of the attestation of a key.
func use(n uint64, at int64) *ledger.Use {
	token := ledgertest.ID('t', n)
	return &ledger.Use{
		Key: keyOf(n), Epoch: 1, Token: token, Expires: at + int64(time.Minute), At: at, Issued: at,
		Event: ledger.Event{Endpoint: "/rpc", AgentID: "agent", Action: "wallet.transfer"},
	}
}

// asks asks with key 0 for an intent that is held until it is allowed, and then allowed once.
func (s *slotted) asks(l ledger.Ledger, n uint64, at int64) ledger.Decision {
	s.Helper()
	plan := &ledger.Plan{
		ID: ledgertest.ID('q', n), At: at, Key: keyOf(0), Epoch: 1, Pass: ledger.Ending{Decision: ledger.Allowed},
		Event: ledger.Event{Endpoint: "/v1/authorize", AgentID: "agent", Action: "bash"},
		Hold: &ledger.HoldRequest{
			Candidate: ledgertest.ID('h', n), IntentHash: [32]byte{1},
			Pending: ledger.Ending{Decision: ledger.Pending, Code: errcode.HoldConsensus, Rule: "c"},
			Denied:  ledger.Ending{Decision: ledger.Denied, Code: errcode.HoldDenied, Rule: "c"},
		},
	}
	ticket := l.Submit(plan)
	s.must(ticket.Wait(s.Context()))
	return ticket.Outcome().Decision
}

// counts has each key count one.
func (s *slotted) counts(l ledger.Ledger, series byte, at int64) {
	s.Helper()
	for n := range uint64(keysOver) {
		plan := ledgertest.Counted(keyOf(n), n, 99)
		plan.ID, plan.At = ledgertest.ID(series, n), at
		s.must(l.Submit(plan).Wait(s.Context()))
	}
}

// TestBackupOfSlots: a backup is taken while an instance decides. It has everything that was told before, counters continue, and nothing that is usable
// once is usable again, whether it was used before the backup or after.
func TestBackupOfSlots(t *testing.T) {
	s := newSlotted(t)
	now := clock.System()().UnixNano()
	s.counts(s, 'a', now)
	for n := range uint64(keysOver - 1) {
		s.must(s.UseOnce(t.Context(), use(n, now)))
	}
	if got := s.asks(s, 1, now); got != ledger.Pending {
		t.Fatalf("a hold: %v", got)
	}
	_, err := s.ResolveHold(t.Context(), ledger.Resolution{Key: keyOf(0), Hold: ledgertest.ID('h', 1), Allow: true, At: now, Resolved: now / 1e9})
	s.must(err)
	for slot := 1; slot <= 3; slot++ {
		s.signs(slot, asItIs)
	}
	reached = func(at step) error {
		if at == backupLog { // the logs are read by now
			if got := s.asks(s, 2, now); got != ledger.Allowed {
				t.Errorf("a hold that was allowed: %v", got)
			}
			s.counts(s, 'b', now)
			s.must(s.UseOnce(t.Context(), use(keysOver-1, now)))
			for slot := 1; slot <= 3; slot++ {
				s.signs(slot, asItIs)
			}
		}
		return nil
	}
	defer func() { reached = func(step) error { return nil } }()
	whole := filepath.Join(s.dir, "whole")
	s.must(s.run(&backupCommand{Dir: whole}))
	if said := s.said.String(); !strings.Contains(said, "has the record of 3 slots up to 29") {
		t.Error(said)
	}
	if files, err := os.ReadDir(whole); err != nil || len(files) != 2 {
		t.Errorf("the backup has %v: %v", files, err)
	}
	s.counts(s, 'c', now) // the store itself decides on
	l := s.restores(whole, restoreCommand{KeepCounters: true, Thawed: true})
	defer l.Close()
	for n := range uint64(keysOver) {
		key := keyOf(n)
		if used, err := l.Counter(t.Context(), key, ledgertest.Counting, now); err != nil || used != amount.FromUint64(1) {
			t.Errorf("the counter of key %d is at %s: %v", n, used, err)
		}
		if err := l.UseOnce(t.Context(), use(n, now)); !errors.Is(err, ledger.ErrExpired) {
			t.Errorf("the attestation of key %d is used again: %v", n, err)
		}
	}
	if got := s.asks(l, 3, clock.System()().UnixNano()); got != ledger.Pending {
		t.Errorf("a hold that was used after the backup: %v", got)
	}
	s.counts(l, 'd', clock.System()().UnixNano())
}

// TestBackupOfSlotsRefused: each reason not to take a backup has its words, and nothing is left.
func TestBackupOfSlotsRefused(t *testing.T) {
	s := newSlotted(t)
	none := store.ReadingFlags{}
	s.refuses("give --no-checkpoint", none)
	s.signs(2, func(c *attest.Checkpoint) { c.LSN++ }) // as of a database that went back
	s.refuses("records are MISSING", none)
	s.signs(2, func(c *attest.Checkpoint) { c.Stream[0]++ })
	s.refuses("the record is ANOTHER", none)
	s.signs(2, func(c *attest.Checkpoint) { c.Hash[0]++ })
	s.refuses("the record was CHANGED", none)
	s.must(os.WriteFile(s.settings().SlotCheckpointPath(2), []byte("no checkpoint"), 0o600))
	s.refuses("checkpoint-2", none)
	s.signs(2, asItIs)
	at := ledgertest.Start + int64(2*time.Hour)
	s.counts(s, 'p', at)
	whole := filepath.Join(s.dir, "whole")
	exported := s.dropped(at)
	s.refuses("--exported", none)
	s.must(s.run(&backupCommand{Dir: whole, ReadingFlags: store.ReadingFlags{Exported: exported}}))
	s.must(s.run(&restoreCommand{Dir: whole, Check: true}))
	if err := s.run(&backupCommand{Dir: whole, ReadingFlags: store.ReadingFlags{Exported: exported}}); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("into a folder that is there: %v", err)
	}
	s.must(s.SetClock(t.Context(), at-1))
	s.must(s.run(&backupCommand{Dir: whole + "-right", ReadingFlags: store.ReadingFlags{Exported: exported}}))
	s.must(s.run(&restoreCommand{Dir: whole + "-right", Check: true}))
	t.Setenv("SVC_KEY_DIR", t.TempDir())
	s.refuses("set SVC_KEY_DIR", none)
}

// dropped has retention drop the old records of each slot, and returns the folder of what it has exported.
func (s *slotted) dropped(at int64) (exported string) {
	s.Helper()
	exported = s.TempDir()
	for slot, log := range s.Here() {
		if slot == 0 {
			continue
		}
		folder := filepath.Join(exported, "slot-"+strconv.Itoa(slot))
		s.must(os.MkdirAll(folder, 0o700))
		drops, err := retention.Drop(s.Context(), retention.Config{Ledger: log, Signer: s.signer, Clock: func() time.Time { return time.Unix(0, at) }, Age: time.Hour, Folder: folder})
		if err == nil && len(drops) == 0 {
			err = errors.New("nothing was dropped")
		}
		s.must(err)
	}
	return exported
}

// TestBackupOfSlotsFails: a backup that fails at any step leaves none with its name but a whole one, and nothing else.
func TestBackupOfSlotsFails(t *testing.T) {
	s := newSlotted(t)
	s.signs(1, asItIs)
	defer func() { reached = func(step) error { return nil } }()
	for _, failing := range steps {
		if !strings.HasPrefix(string(failing), "backup: ") || failing == backupNamed {
			continue
		}
		reached = func(at step) error {
			if at == failing {
				return errPlanted
			}
			return nil
		}
		s.refuses(errPlanted.Error(), store.ReadingFlags{})
	}
}

// TestCopyMade: a log that was made is copied as a service sends its own, also where it begins with a base.
func TestCopyMade(t *testing.T) {
	for _, how := range []string{"make", "make exported"} {
		dir := t.TempDir()
		p := place{t, filepath.Join(dir, "data"), filepath.Join(dir, "keys")}
		p.must(how)
		whole := filepath.Join(dir, "whole")
		p.must("backup " + whole)
		sent, err := os.ReadFile(filepath.Join(whole, logFile))
		if err != nil {
			t.Fatal(err)
		}
		err = pebbleledger.Reading(filepath.Join(p.data, "ledger"), pebbleledger.Options{}, func(log commit.Log) error {
			return writeLog(dir, func(file io.Writer) (*groupfile.Writer, error) { return copyMade(log, file, time.Unix(0, 0)) })
		})
		if err != nil {
			t.Fatal(err)
		}
		copied, err := os.ReadFile(filepath.Join(dir, logFile))
		title, rest, _ := strings.Cut(string(sent), "\n")
		ours, same, _ := strings.Cut(string(copied), "\n")
		if err != nil || same != rest || ours[:len(titleBegun)] != title[:len(titleBegun)] {
			t.Errorf("%s: %q with %d bytes, and %q with %d: %v", how, ours, len(same), title, len(rest), err)
		}
	}
}
