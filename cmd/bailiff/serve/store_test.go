package serve

import (
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/reopen"
	"bailiff/runtime/policies"
	"bailiff/runtime/system"
)

func TestStoreSettings(t *testing.T) {
	const store = "SVC_STORE=postgres:///b?host=/run/postgresql"
	checkSettings(t, []settingRow{
		{store, ""},
		{"SVC_STORE=postgres://u:hush@db.example/b", "sslmode=verify-full"},
		{"SVC_STORE=postgres://u:hush@db.example/b?sslmode=verify-full", ""},
		{"SVC_STORE=postgres://u:hush@db.example:x/b", "SVC_STORE is not good"},
		{store + " SVC_STORE_SYNC=maybe", "it can be require or trust"},
		{store + " SVC_STORE_LEASE=10ms", "from 1s to 1m0s"},
		{store + " SVC_STORE_LEASE=soon", "from 1s to 1m0s"},
		{store + " SVC_STORE_LEASE=5s SVC_INSTANCE=a", ""},
		{store + " SVC_PEER_LISTEN=127.0.0.1:1", ""},
		{store + " SVC_PEER_LISTEN=10.0.0.1:1", "API keys would travel without TLS"},
		{store + " SVC_PEER_LISTEN=127.0.0.1:1 SVC_PEER_ADDRESS=a.example:1", "API keys would travel without TLS"},
		{store + " SVC_PEER_LISTEN=10.0.0.1:1 SVC_PEER_CERT=a SVC_PEER_KEY=b", "SVC_PEER_CA"},
		{store + " SVC_PEER_LISTEN=10.0.0.1:1 SVC_INSTANCE=a SVC_PEER_CERT=a SVC_PEER_KEY=b SVC_PEER_CA=c", ""},
		{store + " SVC_PEER_LISTEN=0.0.0.0:1 SVC_INSTANCE=a SVC_PEER_CERT=a SVC_PEER_KEY=b SVC_PEER_CA=c", "set SVC_PEER_ADDRESS"},
		{store + " SVC_PEER_LISTEN=0.0.0.0:1 SVC_PEER_ADDRESS=a:1 SVC_INSTANCE=a.example-1 SVC_PEER_CERT=a SVC_PEER_KEY=b SVC_PEER_CA=c", ""},
		{store + " SVC_PEER_LISTEN=10.0.0.1:1 SVC_INSTANCE=a_b SVC_PEER_CERT=a SVC_PEER_KEY=b SVC_PEER_CA=c", "letters, digits, hyphens and dots"},
		{store + " SVC_PEER_ADDRESS=a:1", "SVC_PEER_LISTEN is not"},
		{"SVC_PEER_LISTEN=127.0.0.1:1", "SVC_STORE is not"},
		{store + " SVC_INSTANCE=a\tb", "printable ASCII"},
		{store + " SVC_INSTANCE=" + strings.Repeat("x", 65), "at most 64"},
		{store + " SVC_EVENT_RETENTION=90d SVC_EVENT_EXPORT=x", ""},
		{store + " SVC_OTLP_LOGS=http://127.0.0.1:1/v1/logs", ""},
		{store + " SVC_INTERNAL_LISTEN=127.0.0.1:1 SVC_INTERNAL_CERT=a SVC_INTERNAL_KEY=b SVC_INTERNAL_CA=c", ""},
		{store + " SVC_ENV=test SVC_MIRROR_URL=https://a SVC_MIRROR_CERT=a SVC_MIRROR_KEY=b SVC_MIRROR_CA=c", ""},
	})
}

// TestSignersOfStore: an instance makes no keys where others sign already, and does not start with other keys than theirs.
func TestSignersOfStore(t *testing.T) {
	server := pgtest.Start(t)
	first := storeService(t, server)
	if _, err := first.store.Init(pgledger.Setup{}); err != nil {
		t.Fatal(err)
	}
	var err error
	if first.signer, err = first.readSigner(); err != nil {
		t.Fatal(err)
	}
	if err := first.sameSigner(); err != nil {
		t.Errorf("no keys have signed, and the keys are refused: %v", err)
	}
	if err := first.noteSigner(); err != nil {
		t.Fatal(err)
	}
	if err := first.sameSigner(); err != nil {
		t.Errorf("its own keys: %v", err)
	}
	second := storeService(t, server)
	if _, err := second.readSigner(); err == nil || !strings.Contains(err.Error(), "copy their folder SVC_KEY_DIR") {
		t.Errorf("without keys, where others sign: %v", err)
	}
	if _, err := os.Stat(second.settings.SigningKeyPath()); err == nil {
		t.Error("keys were made though others sign")
	}
	if second.signer, err = attest.LoadOrCreate(second.settings.KeyDir, rand.Reader); err != nil {
		t.Fatal(err)
	}
	if err := second.sameSigner(); err == nil || !strings.Contains(err.Error(), "relying parties") {
		t.Errorf("with other keys: %v", err)
	}
}

// storeService is a service over a database, with a data folder of its own, as far as its keys are concerned.
func storeService(t *testing.T, server *pgtest.Server) *service {
	t.Helper()
	s, err := settings.Read([]string{"SVC_STORE=" + server.URL(), "SVC_STORE_SYNC=trust", "SVC_INSTANCE=" + filepath.Base(t.TempDir()), "SVC_DATA_DIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r := &service{settings: s, log: slog.New(slog.DiscardHandler), calls: system.Real(clock.System())}
	if r.store, err = r.newStore(nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.store.Close)
	return r
}

// TestOtherPolicies: an instance says which others have another default policy, until they have the same.
func TestOtherPolicies(t *testing.T) {
	server := pgtest.Start(t)
	first, second := storeService(t, server), storeService(t, server)
	var said strings.Builder
	second.log = slog.New(slog.NewTextHandler(&said, nil))
	if _, err := first.store.Init(pgledger.Setup{}); err != nil {
		t.Fatal(err)
	}
	one, two := &policies.Policy{Hash: "1111"}, &policies.Policy{Hash: "2222"}
	if err := first.notePolicy(one); err != nil {
		t.Fatal(err)
	}
	second.comparePolicy(two)
	if n := second.policies.count(); n != 0 {
		t.Errorf("%d others are found while none is heard", n)
	}
	l, err := first.store.Ledger(commit.Options{Random: first.calls.Random}, reopen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 2 { // it is said once
		second.comparePolicy(two)
	}
	if n, text := second.policies.count(), said.String(); n != 1 || strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, first.store.Name()+" 1111") {
		t.Errorf("%d others have another default policy, want 1: %s", n, text)
	}
	second.comparePolicy(one)
	if n, text := second.policies.count(), said.String(); n != 0 || !strings.Contains(text, "have the default policy of this one") {
		t.Errorf("%d others have another default policy, want none: %s", n, text)
	}
	restarted := &service{store: first.store}
	if err := restarted.notePolicy(nil); err != nil {
		t.Fatal(err)
	}
	second.comparePolicy(one)
	if n, text := second.policies.count(), said.String(); n != 1 || !strings.Contains(text, first.store.Name()+" none") {
		t.Errorf("%d others have another default policy when one was started again without: %s", n, text)
	}
	second.comparePolicy(nil)
	if n := second.policies.count(); n != 0 {
		t.Errorf("%d others have another default policy where none has any", n)
	}
}

// TestStandByFirst: an instance that starts reports the fault of its store before it writes anything there, and continues if it cannot note
// its policy.
func TestStandByFirst(t *testing.T) {
	server := pgtest.Start(t)
	r := storeService(t, server)
	var said strings.Builder
	r.log = slog.New(slog.NewTextHandler(&said, nil))
	r.boot.Policy = &policies.Policy{Hash: "1111"}
	if err := r.standBy(nil); err == nil || !strings.Contains(err.Error(), "make them with: bailiff store init") || said.Len() != 0 {
		t.Errorf("without tables: %v %s", err, said.String())
	}
	if _, err := r.store.Init(pgledger.Setup{}); err != nil {
		t.Fatal(err)
	}
	r.settings.TLSCert, r.settings.TLSKey = "/nowhere/certificate", "/nowhere/key" // which it reads after that
	r.settings.Store += "&default_transaction_read_only=on"
	err := r.folder.Close()
	if err == nil {
		r.store, err = r.newStore(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.store.Close)
	if err := r.standBy(nil); err == nil || !strings.Contains(err.Error(), "/nowhere/") || !strings.Contains(said.String(), "can't be noted") || r.policies.known {
		t.Errorf("over a database that takes no notes: %v %s", err, said.String())
	}
}

// TestOwnRecord: a data folder that has a record is not used beside a database, nor by commands that know the folder alone.
func TestOwnRecord(t *testing.T) {
	s, err := settings.Read([]string{"SVC_STORE=postgres:///b?host=/nowhere", "SVC_DATA_DIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.LedgerPath(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := (&service{settings: s}).newStore(nil); err == nil || !strings.Contains(err.Error(), "has a record of its own") {
		t.Errorf("%v", err)
	}
	t.Setenv("SVC_STORE", "postgres:///b?host=/nowhere")
	err = (&quickstartCommand{}).Run(cli.Streams{Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "quickstart works on SVC_DATA_DIR alone") {
		t.Errorf("quickstart: %v", err)
	}
}

// TestCheckpointOfOtherStore: a checkpoint of a log that the store never had is told from one of a log that it had before it was restored.
func TestCheckpointOfOtherStore(t *testing.T) {
	r := storeService(t, pgtest.Start(t))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.store.Init(pgledger.Setup{})
	must(err)
	r.signer, err = r.readSigner()
	must(err)
	head := func() ledger.Head {
		l, err := r.store.Ledger(commit.Options{Random: rand.Reader}, reopen.Options{Random: rand.Reader})
		must(err)
		must(l.CreateKey(t.Context(), ledgertest.NewKey(uint64(time.Now().UnixNano()))))
		head, err := l.Head(t.Context())
		must(errors.Join(err, l.Close()))
		return head
	}
	before := head()
	must(r.store.Continue(func(now time.Time, to *pgledger.Filling) error {
		one, err := commit.Continue(to.Logs()[0], rand.Reader)
		if err == nil {
			_, err = one.Finish(ledger.Restoration{At: now.UnixNano(), Taken: now.Unix(), Thawed: true}, rand.Reader)
		}
		return err
	}))
	after, other := head(), before
	other.Stream[0]++
	path := r.settings.CheckpointPath()
	for _, c := range []struct {
		kept ledger.Head
		want error
	}{{after, nil}, {before, errMissing}, {other, errOtherStore}} {
		signed, err := r.signer.SignCheckpoint(attest.Checkpoint{Stream: c.kept.Stream, LSN: c.kept.LSN, Hash: c.kept.Hash, At: time.Unix(1, 0)})
		must(err)
		must(os.WriteFile(path, signed, 0o600))
		if err := r.compare(path, 0, after); !errors.Is(err, c.want) || misfits(err) != (c.want != nil) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
