package store

import (
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/retention"
	"bailiff/runtime/system"
)

// dropped adds keys over two slots, and has retention drop the old records of each, into slot-N of a folder. It returns the slots of which something
// was dropped.
func (s *site) dropped(exported string) (of []int) {
	s.Helper()
	settings, err := cmdsettings.Load(os.Environ())
	s.must(err)
	calls := system.Real(clock.System())
	options, err := settings.StoreOptions(calls)
	s.must(err)
	stop := make(chan struct{})
	options.Stop = stop
	store, err := pgledger.NewStore(options)
	s.must(err)
	defer store.Close()
	l, _, err := store.Alone(slots.Options{Commit: commit.Options{Random: rand.Reader}, Log: slog.New(slog.DiscardHandler), Go: calls.Go, Timers: calls.Timers})
	s.must(err)
	signer, err := attest.LoadOrCreate(s.keys, rand.Reader)
	s.must(err)
	for n := range uint64(8) {
		s.must(l.CreateKey(s.Context(), ledgertest.NewKey(100+n)))
	}
	at := ledgertest.Start + int64(2*time.Hour)
	for n := range uint64(8) {
		plan := ledgertest.Counted(ledgertest.ID('k', 100+n), n, 9)
		plan.At = at
		s.must(l.Submit(plan).Wait(s.Context()))
	}
	for slot, log := range l.Here() {
		if slot == 0 {
			continue
		}
		folder := filepath.Join(exported, "slot-"+strconv.Itoa(slot))
		s.must(os.MkdirAll(folder, 0o700))
		drops, err := retention.Drop(s.Context(), retention.Config{Ledger: log, Signer: signer, Clock: func() time.Time { return time.Unix(0, at) }, Age: time.Hour, Folder: folder})
		if s.must(err); len(drops) > 0 {
			of = append(of, slot)
		}
	}
	close(stop)
	s.must(l.Close())
	return of
}

// TestExportDropped exports slots from which retention has dropped records: these come from the files that it has exported, if all of them are there, in
// the folders of their slots, and signed by the service.
func TestExportDropped(t *testing.T) {
	s := newSite(t)
	count, exported, back := 2, t.TempDir(), filepath.Join(t.TempDir(), "back")
	s.must(s.run(&initCommand{Slots: &count}))
	s.must(s.run(&importCommand{From: s.data}))
	of := s.dropped(exported)
	if len(of) != 2 {
		t.Fatalf("records of the slots %v are dropped", of)
	}
	name := func(slot int) string { return filepath.Join(exported, "slot-"+strconv.Itoa(slot)) }
	exporting := &exportCommand{To: back, ReadingFlags: ReadingFlags{Exported: exported}}
	s.fails("--exported", &exportCommand{To: back})
	s.must(os.Rename(name(1), exported+"/elsewhere"))
	s.fails("--exported", exporting)
	s.must(os.Rename(name(2), name(1)))
	s.fails("--exported", exporting)
	s.must(os.Rename(name(1), name(2)))
	s.must(os.Rename(exported+"/elsewhere", name(1)))
	files, err := retention.Folder(name(2))
	s.must(err)
	text, err := os.ReadFile(files[0])
	s.must(err)
	s.must(os.WriteFile(files[0], []byte(strings.Replace(string(text), "\n— ", "\n- ", 1)), 0o600))
	s.fails("is NOT what was exported", exporting)
	s.must(os.WriteFile(files[0], text, 0o600))
	t.Setenv("SVC_EVENT_EXPORT", exported)
	t.Setenv("SVC_EVENT_RETENTION", "1h")
	s.must(s.run(&exportCommand{To: back}))
	chain, err := pebbleledger.VerifyChain(filepath.Join(back, "ledger"), pebbleledger.Options{}, 0)
	if err != nil || chain.Records != 30+1+16 || !strings.Contains(s.said.String(), "with 38 keys") {
		t.Errorf("%+v, %v: %s", chain, err, s.said.String())
	}
	if text, err := os.ReadFile(filepath.Join(back, "ledger", "joined")); err != nil || strings.Count(string(text), "\n") != 3 {
		t.Errorf("the ends of the logs: %s, %v", text, err)
	}
}
