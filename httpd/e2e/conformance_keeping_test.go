package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pebbleledger "bailiff/runtime/ledger/pebble"
)

// TestNothingSecretIsKept lives the life of a key, looks through everything that the service has written, and finds
// neither the API key nor the operator's private key; what must be there, it finds.
func TestNothingSecretIsKept(t *testing.T) {
	t.Parallel()
	s := newHosted(t)
	service := s.start()
	me, mine := service.register(), newOperator(t)
	service.deploy(me.APIKey, mine, mailPolicy)
	service.decides(t, "allowed", me.APIKey, listing, "ALLOWED")
	held := service.decides(t, "held", me.APIKey, mailing, pendingMail)
	service.resolve(me.APIKey, mine, held.HoldID, "ALLOWED").wants(t, "resolved", "200")
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	sum, seed := sha256.Sum256([]byte(me.APIKey)), mine.private.Seed()
	needles := map[string]struct {
		bytes []byte
		kept  bool
	}{
		"the API key":               {[]byte(me.APIKey), false},
		"the operator's key":        {seed, false},
		"the operator's key, text":  {[]byte(base64.RawURLEncoding.EncodeToString(seed)), false},
		"the operator's key, digit": {[]byte(hex.EncodeToString(seed)), false},
		"the hash of the API key":   {sum[:], true},
		"the operator's public key": {mine.private[32:], true},
		"the e-mail address":        {[]byte("agent@example.com"), true},
		"the signed policy":         {[]byte(mailPolicy), true},
	}
	var written bytes.Buffer
	err := filepath.WalkDir(s.path("data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		written.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = pebbleledger.Records(s.path("data/ledger"), pebbleledger.Options{}, nil, func(_ uint64, record string) error {
		written.WriteString(record)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	written.WriteString(service.log.String())
	for name, needle := range needles {
		if bytes.Contains(written.Bytes(), needle.bytes) != needle.kept {
			t.Errorf("%s: is it kept? it should be %v", name, needle.kept)
		}
	}
}

// TestTestEnvironment decides, simulates and sends webhooks in the test environment, which meters nothing.
func TestTestEnvironment(t *testing.T) {
	t.Parallel()
	service := newHosted(t, "SVC_ENV=test", "SVC_WEBHOOK_ALLOW_PRIVATE=true").start()
	key, id, _ := service.customer(mailPolicy)
	all := newReceiver(t, nil)
	secret := service.hook(key, all.URL, allTopics).Secret
	service.decides(t, "allowed", key, listing, "ALLOWED")
	service.decides(t, "denied", key, removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
	if got := service.ask("/v1/authorize/test-run", key, listing); got.HTTP != 200 || got.Status != "ALLOWED" || !got.TestRun {
		t.Errorf("test-run: %d %s", got.HTTP, got.Raw)
	}
	got := all.await(t, 2, 10*time.Second)
	if len(got) != 2 {
		t.Errorf("%d deliveries of 2 decisions: %+v", len(got), got)
	}
	for _, d := range got {
		if err := d.check(secret); err != nil {
			t.Error(err)
		}
	}
	if table := service.must("usage", "--format", "csv"); !strings.Contains(table, id+",agent@example.com,test,growth,") || !strings.Contains(table, ",0.000,0.000,0.000") {
		t.Errorf("usage: %s", table)
	}
}

// TestJudgingReachesNothing lists what the compiler, the machine and the reading of requests are built of: nothing with
// which a model, or anybody else, could be asked.
func TestJudgingReachesNothing(t *testing.T) {
	t.Parallel()
	output, err := exec.Command("go", "list", "-deps", "bailiff/grammar", "bailiff/compiler", "bailiff/vm/...", "bailiff/runtime/intent").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(output))
	if !slices.Contains(packages, "regexp") { // so that the list is one
		t.Fatalf("%d packages", len(packages))
	}
	for _, reaching := range []string{"net/http", "net/rpc", "net/smtp", "crypto/tls", "os/exec", "plugin"} {
		if slices.Contains(packages, reaching) {
			t.Errorf("%s is in what judges", reaching)
		}
	}
}
