package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/testbin"
)

// releaseBefore builds this release without its latest form of records, as a release before it had been.
func (s *site) releaseBefore() string {
	s.t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		s.t.Fatal(err)
	}
	kinds := filepath.Join(root, "runtime/ledger/state/kinds.go")
	text, err := os.ReadFile(kinds)
	if err != nil {
		s.t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "\t\t\t{\n\t\t\t\tnumber: 51,")
	_, after, whole := strings.Cut(rest, "\t\t\t},\n")
	if !found || !whole {
		s.t.Fatal("the form 51 is not in its place")
	}
	s.write("kinds.go", before+after)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {kinds: s.path("kinds.go")}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("overlay.json", string(overlay))
	if err := testbin.Command(s.path("before"), "-overlay", s.path("overlay.json")); err != nil {
		s.t.Fatal(err)
	}
	return s.path("before")
}

// TestMixedReleases updates two instances one after the other. As long as the level of the store is that of the release before, its
// instances and the new ones take over from each other, since no record has more than the old one reads; then the level is raised.
func TestMixedReleases(t *testing.T) {
	if os.Getenv("BAILIFF_MIXED") == "" {
		t.Skip("it builds another release; make failover sets BAILIFF_MIXED")
	}
	s := newSite(t, approvalsPolicy)
	s.release = s.releaseBefore()
	s.overStore()
	key, _ := s.newKey()
	before, now := s.instance("before"), s.instance("now")
	now.release = ""
	starts := func(s *site) *running {
		t.Helper()
		r := s.start()
		r.awaitReady(t, 200)
		return r
	}
	n := 0
	wants := func(r *running, eth, status string) {
		t.Helper()
		n++
		intent := `{"framework":"custom","agentId":"trader-1","chainId":8453,"txCommit":"%064x","intent":{"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":%q}}`
		if a := r.ask("/v1/authorize", key, fmt.Sprintf(intent, n, eth)); a.Status != status && a.Code != status {
			t.Fatalf("a transfer of %s: %s, want %s", eth, a.Raw, status)
		}
	}
	const small = "0.1" // a hold of more has the amount as it was sent, which is in form 51

	old := starts(before)
	wants(old, small, "ALLOWED")
	wants(old, "0.5", "PENDING")
	waiting := now.start()
	old.kill()
	waiting.awaitReady(t, 200)
	wants(waiting, small, "ALLOWED")
	wants(waiting, "0.6", "PENDING")
	again := before.start()
	now.fails(`do not read records of the level 51: ["before"]`, "store", "level", "51")
	if err := waiting.stop(); err != nil {
		t.Fatal(err)
	}
	again.awaitReady(t, 200) // and reads what the new one has written
	wants(again, small, "ALLOWED")
	if err := again.stop(); err != nil {
		t.Fatal(err)
	}

	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) { // the one that was killed is remembered for a minute
		said, fault, code := now.run("store", "level", "51")
		if code == 0 {
			t.Log(strings.TrimSpace(said))
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the level can't be raised: %s", fault)
		}
	}
	latest := starts(now)
	wants(latest, "0.7", "PENDING")
	before.fails("this release reads records up to 50", "serve")
}
