package store

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/reopen"
	"bailiff/runtime/otlp"
	"bailiff/runtime/system"
)

// again says how a log is opened again.
var again = reopen.Options{Random: rand.Reader}

// A site is a data folder with a record, and a database without tables.
type site struct {
	*testing.T
	data, keys string
	said       strings.Builder
}

func newSite(t *testing.T) *site {
	t.Helper()
	server := pgtest.Start(t)
	s := &site{T: t, data: filepath.Join(t.TempDir(), "data"), keys: t.TempDir()}
	t.Setenv("SVC_STORE", server.URL())
	t.Setenv("SVC_STORE_SYNC", "trust")
	t.Setenv("SVC_INSTANCE", "a")
	t.Setenv("SVC_DATA_DIR", s.data)
	t.Setenv("SVC_KEY_DIR", s.keys)
	signer, err := attest.LoadOrCreate(s.keys, rand.Reader)
	s.must(err)
	l, err := pebbleledger.Open(filepath.Join(s.data, "ledger"), pebbleledger.Options{Random: rand.Reader})
	s.must(err)
	for i := range 30 {
		s.must(l.CreateKey(t.Context(), ledgertest.NewKey(uint64(i+1))))
	}
	head, err := l.Head(t.Context())
	s.must(errors.Join(err, l.Close()))
	signed, err := signer.SignCheckpoint(attest.Checkpoint{Stream: head.Stream, LSN: head.LSN, Hash: head.Hash, At: clock.System()().Truncate(time.Second)})
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.data, "checkpoint"), signed, 0o600))
	s.must(os.WriteFile(filepath.Join(s.data, "ledger", "signer"), []byte(signer.KeyID()+"\n"+signer.PQCKeyID()+"\n"), 0o600))
	return s
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// run runs a command.
func (s *site) run(command interface{ Run(cli.Streams) error }) error {
	s.said.Reset()
	return command.Run(cli.Streams{Out: &s.said, Err: io.Discard})
}

// fails runs a command that has to fail, and to say something.
func (s *site) fails(say string, command interface{ Run(cli.Streams) error }) {
	s.Helper()
	if err := s.run(command); err == nil || !strings.Contains(err.Error(), say) {
		s.Errorf("it does not say %q: %v", say, err)
	}
}

// served returns where a service would start: in the folders that have a record, and over the database where that has one.
func (s *site) served(folders ...string) (where []string) {
	s.Helper()
	for _, dir := range folders {
		if !cli.IsMissing(filepath.Join(dir, "ledger")) {
			where = append(where, filepath.Base(dir))
		}
	}
	settings, err := cmdsettings.Load(os.Environ())
	s.must(err)
	store, _, err := client.CommandStore(settings, system.Real(clock.System()))
	s.must(err)
	defer store.Close()
	l, err := store.Ledger(commit.Options{Random: rand.Reader}, again)
	if err != nil {
		return where
	}
	head, err := l.Head(s.Context())
	s.must(errors.Join(err, l.Close()))
	if head.LSN > 0 {
		where = append(where, "database")
	}
	return where
}

// failing has a command fail at a step.
func (s *site) failing(step string, command interface{ Run(cli.Streams) error }) {
	s.Helper()
	reached = func(at string) error {
		if at == step {
			return errors.New("a planted fault")
		}
		return nil
	}
	defer func() { reached = func(string) error { return nil } }()
	s.fails("a planted fault", command)
}

// interrupted has a command end at a step, as if it had been killed there, and then runs it again.
func (s *site) interrupted(step string, command interface{ Run(cli.Streams) error }) {
	s.Helper()
	planted := errors.New("a planted fault")
	reached = func(at string) error {
		if at == step {
			panic(planted)
		}
		return nil
	}
	defer func() {
		reached = func(string) error { return nil }
		if at := recover(); at != planted {
			s.Fatalf("%s: it ended with %v", step, at)
		}
	}()
	if err := s.run(command); err != nil {
		s.Error(err)
	}
}

// TestMoveInterrupted ends an import and an export at each step. The record is never served in two places, and a further run ends the one that
// was interrupted.
func TestMoveInterrupted(t *testing.T) {
	s := newSite(t)
	back := filepath.Join(t.TempDir(), "back")
	importing := &importCommand{From: s.data}
	is := func(want ...string) {
		t.Helper()
		if where := s.served(s.data, back); !slices.Equal(where, want) {
			t.Errorf("the record is served in %v, want %v", where, want)
		}
	}
	s.fails("bailiff store init", importing)
	s.must(s.run(&initCommand{}))
	is("data")
	s.interrupted("the folder's record is set aside", importing)
	is()
	s.must(s.run(importing))
	if said := s.said.String(); !strings.Contains(said, "imported: 30 records in ") || !strings.Contains(said, " with 30 keys") {
		t.Error(said)
	}
	is("database")
	s.fails("has records already", importing)

	exporting := &exportCommand{To: back}
	s.interrupted("the folder is made", exporting)
	is("database")
	alone, err := cmdsettings.Read([]string{"SVC_DATA_DIR=" + back})
	s.must(err)
	if _, err := client.OpenLedger(alone, system.Real(clock.System()), nil, nil, nil); err == nil || !strings.Contains(err.Error(), "was interrupted") || !cli.IsMissing(alone.LedgerPath()) {
		t.Errorf("a service on a folder to which an export was interrupted: %v", err)
	}
	s.must(os.WriteFile(filepath.Join(back, "otlp"), nil, 0o600))
	s.must(os.Chmod(back, 0o755))
	s.interrupted("the database has let go", exporting)
	is()
	s.fails("--undo", exporting)
	s.must(s.run(&exportCommand{Undo: true}))
	s.must(s.run(exporting))
	is("back")
	if info, err := os.Stat(back); err != nil || info.Mode().Perm() != 0o700 || !cli.IsMissing(filepath.Join(back, "otlp")) {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	s.fails("would be served twice", &exportCommand{Undo: true})
	if err := s.run(&statusCommand{}); err == nil || !strings.Contains(s.said.String(), "the record was exported to "+back) {
		t.Errorf("%v: %s", err, s.said.String())
	}
	if chain, err := pebbleledger.VerifyChain(filepath.Join(back, "ledger"), pebbleledger.Options{}, 0); err != nil || chain.Records != 30 || chain.Snapshot != 30 {
		t.Errorf("%+v, %v", chain, err)
	}
}

// TestUndoImported: an export is not undone where the record continues in another store, into which it was imported from the folder.
func TestUndoImported(t *testing.T) {
	s := newSite(t)
	back, first := filepath.Join(t.TempDir(), "back"), os.Getenv("SVC_STORE")
	s.must(s.run(&initCommand{}))
	s.must(s.run(&importCommand{From: s.data}))
	s.must(s.run(&exportCommand{To: back}))
	t.Setenv("SVC_STORE", pgtest.Start(t).URL())
	s.must(s.run(&initCommand{}))
	s.must(s.run(&importCommand{From: back}))
	t.Setenv("SVC_STORE", first)
	undo := &exportCommand{Undo: true}
	s.fails("and nothing has run on "+back, undo)
	place := filepath.Join(back, "ledger.imported", "place")
	s.must(os.WriteFile(place, nil, 0o600)) // as a service leaves it, also one that was killed
	s.fails("a service has run on "+back+", and what it has decided is not in this database", undo)
	s.must(os.Remove(place))
	if where := s.served(s.data, back); where != nil {
		t.Errorf("the record is served in %v, too", where)
	}
	s.must(os.RemoveAll(back))
	s.must(s.run(undo))
	if where := s.served(s.data, back); !slices.Equal(where, []string{"database"}) {
		t.Errorf("served in %v after the export was undone", where)
	}
}

// TestImportCopy: a copy of a data folder is imported only where it is said that no service runs on the original.
func TestImportCopy(t *testing.T) {
	s := newSite(t)
	s.must(s.run(&initCommand{}))
	place := filepath.Join(s.data, "ledger", "place")
	s.must(os.WriteFile(place, []byte("1 2.000000003\n"), 0o600)) // it is of another file
	s.fails("import it with --moved", &importCommand{From: s.data})
	if where := s.served(s.data); !slices.Equal(where, []string{"data"}) {
		t.Errorf("served in %v after an import was refused", where)
	}
	s.must(os.Rename(filepath.Join(s.data, "ledger"), filepath.Join(s.data, "ledger.imported"))) // as an interrupted import leaves it
	s.fails("import it with --moved", &importCommand{From: s.data})
	s.must(os.Rename(filepath.Join(s.data, "ledger.imported"), filepath.Join(s.data, "ledger")))
	s.must(s.run(&importCommand{From: s.data, Moved: true}))
}

// TestImportResumed: an import that was killed when the database had the record is ended by a further one into the same store, also where an
// instance has run on it meanwhile. No other store gets the record, before and after that.
func TestImportResumed(t *testing.T) {
	s := newSite(t)
	importing, first, slots := &importCommand{From: s.data}, os.Getenv("SVC_STORE"), 2
	s.must(s.run(&initCommand{Slots: &slots}))
	checkpoint := func(slot int) string {
		text, err := os.ReadFile(filepath.Join(s.data, "checkpoint-"+strconv.Itoa(slot)))
		if err != nil {
			return ""
		}
		return string(text)
	}
	s.interrupted("the database has the record", importing)
	if checkpoint(2) != "" {
		t.Fatal("it had ended")
	}
	other := pgtest.Start(t).URL()
	t.Setenv("SVC_STORE", other)
	s.must(s.run(&initCommand{}))
	s.fails("was interrupted, so that one may have it", importing)
	t.Setenv("SVC_STORE", first)
	s.interrupted("the checkpoints are signed", importing)
	second := checkpoint(2)
	s.must(os.Remove(filepath.Join(s.data, "checkpoint-1")))
	s.must(s.run(importing))
	if checkpoint(0) == "" || checkpoint(1) == "" || second == "" || checkpoint(2) != second {
		t.Errorf("the checkpoints: %q, %q, %q, which was %q", checkpoint(0), checkpoint(1), checkpoint(2), second)
	}
	s.fails("has records already", importing)
	t.Setenv("SVC_STORE", other)
	s.fails("was imported already", importing)
	if where := s.served(s.data); where != nil {
		t.Errorf("served in %v", where)
	}
	s.must(os.Remove(filepath.Join(s.data, "ledger.imported", "imported")))
	s.must(os.Remove(filepath.Join(s.data, "ledger.imported", "importing")))
	s.fails("the store (not known) was interrupted", importing)
}

// TestImportAgain: a record that is taken back as the service says is imported again as if for the first time, also where that is interrupted.
func TestImportAgain(t *testing.T) {
	s := newSite(t)
	importing, record := &importCommand{From: s.data}, filepath.Join(s.data, "ledger")
	s.must(s.run(&initCommand{}))
	s.must(s.run(importing))
	for _, step := range []string{"", "the folder's record is set aside", "the database has the record"} {
		s.must(os.Rename(record+".imported", record))
		t.Setenv("SVC_STORE", pgtest.Start(t).URL())
		s.must(s.run(&initCommand{}))
		if step != "" {
			s.interrupted(step, importing)
		}
		s.must(s.run(importing))
		if where := s.served(s.data); !slices.Equal(where, []string{"database"}) || cli.IsMissing(filepath.Join(record+".imported", "imported")) {
			t.Errorf("%q: served in %v", step, where)
		}
	}
}

// TestImportOther: a store that has another record is not taken for one that has the folder's, for which its import was begun.
func TestImportOther(t *testing.T) {
	s := newSite(t)
	s.must(s.run(&initCommand{}))
	s.interrupted("the folder's record is set aside", &importCommand{From: s.data})
	l, err := pebbleledger.Open(filepath.Join(s.keys, "ledger"), pebbleledger.Options{Random: rand.Reader})
	s.must(err)
	s.must(errors.Join(l.CreateKey(t.Context(), ledgertest.NewKey(1)), l.Close()))
	s.must(s.run(&importCommand{From: s.keys, NoCheckpoint: true}))
	s.fails("has records already", &importCommand{From: s.data})
}

// TestExportOfSlots exports the logs of slots: an instance's checkpoints are held against them, a collector gets what it has not got of any slot,
// and the folder is imported into a store with another number of slots.
func TestExportOfSlots(t *testing.T) {
	s := newSite(t)
	back := filepath.Join(t.TempDir(), "back")
	slots := 3
	s.must(s.run(&initCommand{Slots: &slots}))
	s.must(s.run(&importCommand{From: s.data}))
	settings, err := cmdsettings.Load(os.Environ())
	s.must(err)
	store, _, err := client.CommandStore(settings, system.Real(clock.System()))
	s.must(err)
	defer store.Close()
	for slot, place := range []uint64{31, 30, 30, 30} { // all that there is
		s.must(store.KeepPlace(pgledger.SentBySlot(slot), otlp.PlaceAt(ledger.Head{Stream: streamOf(t, store, slot), LSN: place})))
	}
	exporting := &exportCommand{To: back}
	third, err := os.ReadFile(settings.SlotCheckpointPath(3))
	s.must(err)
	for slot, bad := range map[int][]byte{1: []byte("no checkpoint"), 2: third} {
		path := settings.SlotCheckpointPath(slot)
		good, err := os.ReadFile(path)
		s.must(err)
		s.must(os.WriteFile(path, bad, 0o600))
		s.fails(path, exporting)
		s.must(os.WriteFile(path, good, 0o600))
	}
	s.interrupted("the folder is made", exporting)
	s.must(s.run(exporting))
	if said := s.said.String(); !strings.Contains(said, "exported from 3 slots: 31 records") || !strings.Contains(said, "with 30 keys") {
		t.Error(said)
	}
	head := func(dir string) ledger.Head {
		chain, err := pebbleledger.VerifyChain(filepath.Join(dir, "ledger"), pebbleledger.Options{}, 0)
		s.must(err)
		return chain.Head
	}
	if sent, err := os.ReadFile(filepath.Join(back, "otlp")); string(sent) != otlp.PlaceAt(head(back)) || err != nil {
		t.Errorf("sent up to %q of %+v: %v", sent, head(back), err)
	}
	t.Setenv("SVC_STORE", pgtest.Start(t).URL())
	slots = 5
	s.must(s.run(&initCommand{Slots: &slots}))
	s.must(s.run(&importCommand{From: back}))
	if said := s.said.String(); !strings.Contains(said, "imported: 31 records in ") || !strings.Contains(said, "the keys are in 5 slots") {
		t.Error(said)
	}
}

// TestSentUpTo: a collector has the events of a slot up to a place in its stream, and of another stream none since the division.
func TestSentUpTo(t *testing.T) {
	end := ledger.Head{Stream: [16]byte{1}, LSN: 9}
	for _, c := range []struct {
		place string
		slot  int
		want  uint64
	}{
		{otlp.PlaceAt(ledger.Head{Stream: [16]byte{1}, LSN: 7}), 1, 7}, {otlp.PlaceAt(ledger.Head{Stream: [16]byte{2}, LSN: 7}), 1, 5},
		{"", 1, 5}, {"nonsense", 1, 5}, {"", 0, 0}, {otlp.PlaceAt(ledger.Head{Stream: [16]byte{1}, LSN: 3}), 0, 3},
	} {
		if got := sentUpTo(c.place, end, c.slot, 5); got != c.want {
			t.Errorf("%q of slot %d: %d, want %d", c.place, c.slot, got, c.want)
		}
	}
}

// streamOf is the stream of a slot's log.
func streamOf(t *testing.T, store *pgledger.Store, slot int) (stream [16]byte) {
	t.Helper()
	err := store.Look(slot, func(log commit.Log) error {
		end, err := commit.EndOf(log)
		stream = end.Stream
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// TestMoveRefused: each reason not to move a record has its words, and nothing is moved.
func TestMoveRefused(t *testing.T) {
	s := newSite(t)
	back := filepath.Join(t.TempDir(), "back")
	s.must(s.run(&initCommand{}))
	importing := &importCommand{From: s.data}
	s.fails("there is no record in", &importCommand{From: t.TempDir()})
	t.Setenv("SVC_ENV", "test")
	s.fails("is of the environment production", importing)
	t.Setenv("SVC_ENV", "production")
	t.Setenv("SVC_KEY_DIR", t.TempDir())
	s.fails("set SVC_KEY_DIR or SVC_SIGNING_KEY_FILE", importing)
	other := t.TempDir()
	_, err := attest.LoadOrCreate(other, rand.Reader)
	s.must(err)
	t.Setenv("SVC_KEY_DIR", other)
	s.fails("checkpoint", importing)
	t.Setenv("SVC_KEY_DIR", s.keys)
	l, err := pebbleledger.Open(filepath.Join(s.data, "ledger"), pebbleledger.Options{Random: rand.Reader})
	s.must(err)
	s.fails("stop it first", importing)
	s.must(l.Close())
	settings, err := cmdsettings.Load(os.Environ())
	s.must(err)
	options, err := settings.StoreOptions(system.Real(clock.System()))
	s.must(err)
	instance, err := pgledger.NewStore(options)
	s.must(err)
	defer instance.Close()
	running, err := instance.Ledger(commit.Options{Random: rand.Reader}, again)
	s.must(err)
	s.fails("the instance a decides; stop every instance first", importing)
	s.fails("the instance a decides; stop every instance first", &exportCommand{To: back})
	if !cli.IsMissing(back) {
		t.Error("an export that was refused leaves a folder")
	}
	s.must(running.Close())
	checkpoint := filepath.Join(s.data, "checkpoint")
	s.must(os.Rename(checkpoint, checkpoint+".away"))
	s.fails("give --no-checkpoint", importing)
	s.must(os.Rename(checkpoint+".away", checkpoint))
	if where := s.served(s.data); !slices.Equal(where, []string{"data"}) {
		t.Fatalf("served in %v", where)
	}
	s.must(s.run(importing))
}

// TestExportRefused: an export that is refused, or fails, leaves nothing behind, and takes no folder that has something.
func TestExportRefused(t *testing.T) {
	s := newSite(t)
	back := filepath.Join(t.TempDir(), "back")
	s.must(s.run(&initCommand{}))
	s.must(s.run(&importCommand{From: s.data}))
	t.Setenv("SVC_DATA_DIR", t.TempDir())
	s.fails("--no-checkpoint", &exportCommand{To: back})
	t.Setenv("SVC_DATA_DIR", s.data)
	s.failing("the folder is made", &exportCommand{To: back})
	if !cli.IsMissing(back) {
		t.Error("an export that failed leaves a folder")
	}
	s.must(os.Mkdir(back, 0o700))
	s.failing("the folder is made", &exportCommand{To: back})
	s.must(os.Remove(back)) // it is empty
	t.Setenv("SVC_DATA_DIR", t.TempDir())
	s.fails("give --to", &exportCommand{})
	t.Setenv("SVC_DATA_DIR", s.data)
	s.must(os.MkdirAll(filepath.Join(back, "ledger"), 0o700))
	s.fails("is there already", &exportCommand{To: back})
	s.must(os.Rename(filepath.Join(back, "ledger"), filepath.Join(back, "other")))
	s.fails("is there already", &exportCommand{To: back})
}

// TestRestored says of a database that it was put back: its log is frozen and begins a stream, in which a collector gets what it has not got.
func TestRestored(t *testing.T) {
	s := newSite(t)
	s.must(s.run(&initCommand{}))
	s.fails("there is nothing to take back", &restoredCommand{})
	s.must(s.run(&importCommand{From: s.data}))
	settings, err := cmdsettings.Load(os.Environ())
	s.must(err)
	store, _, err := client.CommandStore(settings, system.Real(clock.System()))
	s.must(err)
	defer store.Close()
	head := func() (head ledger.Head, frozen string) {
		l, err := store.Ledger(commit.Options{Random: rand.Reader}, again)
		s.must(err)
		head, err = l.Head(t.Context())
		frozen = l.Frozen().Reason
		s.must(errors.Join(err, l.Close()))
		return head, frozen
	}
	before, _ := head()
	for _, place := range []uint64{7, 99} { // the latter is of a record that is gone
		s.must(store.KeepPlace(pgledger.SentByOTLP, otlp.PlaceAt(ledger.Head{Stream: before.Stream, LSN: place})))
		s.must(s.run(&restoredCommand{}))
		after, frozen := head()
		kept, err := store.Place(pgledger.SentByOTLP)
		if after.Stream == before.Stream || after.LSN != before.LSN+1 || !strings.HasPrefix(frozen, "restored from a backup of") || !strings.Contains(s.said.String(), "the service is frozen") {
			t.Errorf("%+v became %+v, frozen %q: %s", before, after, frozen, s.said.String())
		}
		if want := otlp.PlaceAt(ledger.Head{Stream: after.Stream, LSN: min(place, before.LSN)}); kept != want || err != nil {
			t.Errorf("sent up to %q, want %q: %v", kept, want, err)
		}
		before = after
	}
}

// TestImportForeign: a record of production does not become that of a test store, whose instances would refuse its keys.
func TestImportForeign(t *testing.T) {
	s := newSite(t)
	t.Setenv("SVC_ENV", "test")
	s.must(s.run(&initCommand{}))
	s.fails("30 keys of the folder are of the environment production, and the store's is test, so nothing was imported", &importCommand{From: s.data})
	if where := s.served(s.data); !slices.Equal(where, []string{"data"}) {
		t.Errorf("a service would start over %v", where)
	}
}
