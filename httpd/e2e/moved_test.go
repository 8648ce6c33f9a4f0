package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/pgtest"
)

// TestMoved: a record goes from a data folder into a database and back, byte for byte. Limits go on, a key stays, what was used stays used,
// and what could be served in two places is served in one.
func TestMoved(t *testing.T) {
	t.Parallel()
	folder := newSite(t, fmt.Sprintf(toolPolicy, 6), "SVC_KEY_DIR=")
	folder.env = append(folder.env, "SVC_KEY_DIR="+folder.path("keys"))
	key := folder.apiKey()
	ask := tool("bash", `"command":"ls","task_id":"one"`)
	decided := 0
	decides := func(r *running, n int) {
		t.Helper()
		for range n {
			if got := r.ask("/v1/authorize", key, ask); got.Status != "ALLOWED" {
				t.Fatalf("decision %d: %d %s", decided, got.HTTP, got.Raw)
			}
			decided++
		}
	}
	service := folder.start()
	decides(service, 2)
	service.stop()
	before := folder.must("events", "list", "--json")

	server := pgtest.Start(t)
	stored := *folder
	stored.env = append(slices.Clone(folder.env), "SVC_STORE="+server.URL(), "SVC_STORE_SYNC=trust", "SVC_INSTANCE=a")
	importing := []string{"store", "import", "--from", folder.path("data")}
	stored.fails("bailiff store init", importing...)
	stored.must("store", "init")
	service = folder.start()
	stored.fails("stop it first", importing...)
	service.stop()
	said := stored.must(importing...)
	t.Log(strings.TrimSpace(said))
	if after := stored.must("events", "list", "--json"); after != before {
		t.Errorf("the events were\n%s\nand are\n%s", before, after)
	}
	if _, said, code := folder.run("serve"); code == 0 || !strings.Contains(said, "was imported into a database") {
		t.Errorf("a service on the folder whose record was imported: exit %d: %s", code, said)
	}
	service = stored.start()
	decides(service, 2)
	stored.fails("decides; stop every instance first", "store", "export", "--to", folder.path("back"))
	if verified := stored.must("events", "verify"); !strings.Contains(verified, "verified: ") {
		t.Errorf("a store in use: %s", verified)
	}
	service.stop()
	stored.must("events", "verify")
	stored.fails("has records already", "store", "import", "--from", folder.path("data"))

	stored.must("store", "export", "--to", folder.path("back"))
	stored.fails("store export --undo", "serve")
	back := *folder
	back.env = append(slices.Clone(folder.env), "SVC_DATA_DIR="+folder.path("back"))
	if verified := back.must("events", "verify"); !strings.Contains(verified, "verified: ") {
		t.Errorf("the folder that was exported: %s", verified)
	}
	service = back.start()
	decides(service, 2)
	if got := service.ask("/v1/authorize", key, ask); got.Status != "DENIED" {
		t.Errorf("the limit of 6 after %d decisions in three places: %s", decided, got.Raw)
	}
	service.stop()
	var events []json.RawMessage
	for line := range strings.Lines(before) {
		events = append(events, json.RawMessage(line))
	}
	if all := back.must("events", "list", "--json"); !strings.Contains(all, strings.TrimSpace(string(events[0]))) {
		t.Errorf("the first event is not as it was:\n%s", all)
	}
	if _, err := os.Stat(folder.path("data/ledger.imported")); err != nil {
		t.Errorf("the record that was imported: %v", err)
	}
}

// fails runs a command that has to fail, and to say something.
func (s *site) fails(say string, arguments ...string) {
	s.t.Helper()
	if out, said, code := s.run(arguments...); code == 0 || !strings.Contains(said+out, say) {
		s.t.Errorf("bailiff %s: exit %d, which does not say %q: %s%s", strings.Join(arguments, " "), code, say, out, said)
	}
}
