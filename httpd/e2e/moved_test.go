package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/pgtest"
)

// TestMoved: a record goes from a data folder into a database and back, byte for byte. Limits continue, keys stay, and no record can be
// served in two places.
func TestMoved(t *testing.T) {
	t.Parallel()
	folder := newSite(t, fmt.Sprintf(toolPolicy, 6), "SVC_KEY_DIR=")
	folder.env = append(folder.env, "SVC_KEY_DIR="+folder.path("keys"))
	key := folder.apiKey()
	ask := tool("bash", `"command":"ls","task_id":"one"`)
	decides := func(r *running) {
		t.Helper()
		for range 2 {
			if got := r.ask("/v1/authorize", key, ask); got.Status != "ALLOWED" {
				t.Fatalf("%d %s", got.HTTP, got.Raw)
			}
		}
	}
	service := folder.start()
	decides(service)
	service.stop()
	before := folder.must("events", "list", "--json")
	folder.write("data/otlp", "1") // up to there events were sent to a collector

	server := pgtest.Start(t)
	stored := *folder
	stored.env = append(slices.Clone(folder.env), "SVC_STORE="+server.URL(), "SVC_STORE_SYNC=trust", "SVC_INSTANCE=a")
	importing := []string{"store", "import", "--from", folder.path("data")}
	stored.fails("bailiff store init", importing...)
	stored.must("store", "init")
	service = folder.start()
	stored.fails("stop it first", importing...)
	service.stop()
	t.Log(strings.TrimSpace(stored.must(importing...)))
	if after := stored.must("events", "list", "--json"); after != before {
		t.Errorf("the events were\n%s\nand are\n%s", before, after)
	}
	if _, said, code := folder.run("serve"); code == 0 || !strings.Contains(said, "was imported into a database") {
		t.Errorf("a service on the folder whose record was imported: exit %d: %s", code, said)
	}
	service = stored.start()
	service.awaitReady(t, 200) // it says that it serves a moment before it takes over from its standby
	decides(service)
	stored.fails("decides; stop every instance first", "store", "export", "--to", folder.path("back"))
	if verified := stored.must("events", "verify"); !strings.Contains(verified, "verified: ") {
		t.Errorf("a store in use: %s", verified)
	}
	service.stop()
	stored.must("events", "verify")
	stored.fails("has records already", "store", "import", "--from", folder.path("data"))

	stored.must("store", "export", "--to", folder.path("back"))
	stored.fails("store export --undo", "serve")
	if back, _ := os.ReadFile(folder.path("back/otlp")); string(back) != "1" {
		t.Errorf("events were sent up to %q in the folder that was exported", back)
	}
	folder.goneBack(before, func(r *running) {
		t.Helper()
		decides(r)
		if got := r.ask("/v1/authorize", key, ask); got.Status != "DENIED" {
			t.Errorf("the limit of 6 after as many decisions in three places: %s", got.Raw)
		}
	})
}

// ofSlot is what an event over several slots says beside what it says otherwise.
var ofSlot = regexp.MustCompile(`"slot":\d+,`)

// TestMovedOverSlots divides the record of a data folder over the slots of a store: limits continue, events are as they were, those from before
// are proved as those that came later, and each log is verified.
func TestMovedOverSlots(t *testing.T) {
	t.Parallel()
	folder := newSite(t, fmt.Sprintf(toolPolicy, 4), "SVC_KEY_DIR=")
	folder.env = append(folder.env, "SVC_KEY_DIR="+folder.path("shared-keys"))
	var keys, ids []string
	for range 6 {
		key, id := folder.newKey()
		keys, ids = append(keys, key), append(ids, id)
	}
	decides := func(r *running, what string) {
		t.Helper()
		for _, key := range keys {
			for range 2 {
				r.decides(t, what, key, tool("bash", `"command":"ls","task_id":"one"`), "ALLOWED")
			}
		}
	}
	service := folder.start()
	decides(service, "in the folder")
	service.stop()
	before := folder.must("events", "list", "--json")

	stored := *folder
	stored.storeOf("4")
	t.Log(strings.TrimSpace(stored.must("store", "import", "--from", folder.path("data"))))
	service = stored.start()
	stored.awaitShares()
	decides(service, "over slots")
	for _, key := range keys {
		service.decides(t, "above the limit", key, tool("bash", `"command":"ls","task_id":"one"`), "DENIED SVC_LOOP_LIMIT_EXCEEDED")
	}
	after := ofSlot.ReplaceAllString(stored.must("events", "list", "--json"), "")
	for line := range strings.Lines(before) {
		if !strings.Contains(after, line) {
			t.Errorf("an event from before is gone, or is another one now: %s", line)
		}
	}
	for _, id := range ids {
		stored.proves(id, 6)
	}
	service.stop()
	verified := stored.must("events", "verify")
	if strings.Count(verified, "it continues slot 0 after record 19, where the record was divided") != 4 || strings.Count(verified, "verified: ") != 5 {
		t.Errorf("it is not said that each slot begins where the record was divided:\n%s", verified)
	}
	stored.fails("the instance two decides", "store", "export", "--to", folder.path("back"))
	stored.partner.stop()
	if said := stored.must("store", "export", "--to", folder.path("back")); !strings.Contains(said, "exported from 4 slots: 38 records") {
		t.Error(said)
	}
	stored.fails("store export --undo", "serve")
	folder.joinedFrom(before, after, ids, keys)
	folder.overOther("7", keys)
}

// overOther imports the folder that was exported from slots into a store with another number of slots, where the limits of keys stay used up, and stay so in a
// backup of that store.
func (s *site) overOther(count string, keys []string) {
	s.t.Helper()
	other := *s
	other.env = append(slices.Clone(s.env), "SVC_DATA_DIR="+s.path("other"))
	other.storeOf(count)
	other.must("store", "import", "--from", s.path("back"))
	service := other.start()
	other.awaitShares()
	for _, key := range keys {
		service.decides(s.t, "over other slots", key, tool("bash", `"command":"ls","task_id":"one"`), "DENIED SVC_LOOP_LIMIT_EXCEEDED")
	}
	other.must("backup", "--no-checkpoint", "backup") // it has just begun
	service.stop()
	other.must("events", "verify")
	alone := *s
	alone.env = append(slices.Clone(s.env), "SVC_DATA_DIR="+s.path("restored"))
	alone.must("restore", "--keep-counters", "--thawed", "backup")
	alone.must("events", "verify")
	service = alone.start()
	for _, key := range keys {
		service.decides(s.t, "restored from slots", key, tool("bash", `"command":"ls","task_id":"one"`), "DENIED SVC_LOOP_LIMIT_EXCEEDED")
	}
	service.stop()
}

// joinedFrom serves the folder that was exported from slots, whose record continues that of before, and has the events that the slots had.
func (s *site) joinedFrom(before, after string, ids, keys []string) {
	s.t.Helper()
	withoutLSN := func(events string) (lines []string) {
		for line := range strings.Lines(eventLSN.ReplaceAllString(events, "")) {
			if !strings.Contains(line, `"store.`) && !strings.Contains(line, `"policy.default"`) {
				lines = append(lines, line)
			}
		}
		slices.Sort(lines)
		return lines
	}
	s.goneBack(before, func(r *running) {
		s.t.Helper()
		back := *s
		back.env = append(slices.Clone(s.env), "SVC_DATA_DIR="+s.path("back"))
		listed := back.must("events", "list", "--json")
		if now := withoutLSN(listed); !slices.Equal(now, withoutLSN(after)) {
			s.t.Errorf("the events were\n%s\nand are\n%s", after, listed)
		}
		for n, key := range keys {
			r.decides(s.t, "back in a folder", key, tool("bash", `"command":"ls","task_id":"one"`), "DENIED SVC_LOOP_LIMIT_EXCEEDED")
			back.proves(ids[n], 7)
		}
	})
}

// proves lists the events of a key, of which four are ALLOWED, and verifies bundles of the first decision and of the last.
func (s *site) proves(id string, events int) {
	s.t.Helper()
	list := s.must("events", "list", "--json", "--key-id", id)
	lsns := eventLSN.FindAllStringSubmatch(list, -1)
	if len(lsns) != events || strings.Count(list, "ALLOWED") != 4 {
		s.t.Fatalf("events of key %s:\n%s", id, list)
	}
	for _, lsn := range [][]string{lsns[1], lsns[len(lsns)-1]} {
		s.write("bundle", s.must("events", "export", lsn[1], "--key-id", id))
		s.must("events", "verify-bundle", s.path("bundle"))
	}
}

var eventLSN = regexp.MustCompile(`"lsn":(\d+)`)

// goneBack serves the folder that was exported, whose events began as those before.
func (s *site) goneBack(before string, use func(*running)) {
	s.t.Helper()
	back := *s
	back.env = append(slices.Clone(s.env), "SVC_DATA_DIR="+s.path("back"))
	if verified := back.must("events", "verify"); !strings.Contains(verified, "verified: ") {
		s.t.Errorf("the folder that was exported: %s", verified)
	}
	service := back.start()
	use(service)
	service.stop()
	first, _, _ := strings.Cut(before, "\n")
	if all := back.must("events", "list", "--json"); !strings.Contains(all, first) {
		s.t.Errorf("the first event is not as it was:\n%s", all)
	}
	if _, err := os.Stat(s.path("data/ledger.imported")); err != nil {
		s.t.Errorf("the record that was imported: %v", err)
	}
}

// overStore has a site's record in a database of its own.
func (s *site) overStore() *site {
	s.t.Helper()
	server := pgtest.Start(s.t)
	s.env = append(s.env, "SVC_STORE="+server.URL(), "SVC_STORE_SYNC=trust", "SVC_STORE_LEASE=1s", "SVC_KEY_DIR="+s.path("keys"))
	s.must("store", "init")
	return s
}

// instance is the site as another machine of its store has it.
func (s *site) instance(name string) *site {
	other := *s
	other.env = append(slices.Clone(s.env), "SVC_INSTANCE="+name, "SVC_DATA_DIR="+s.path("data-"+name))
	return &other
}

// fails runs a command that has to fail, and to say something.
func (s *site) fails(say string, arguments ...string) {
	s.t.Helper()
	if out, said, code := s.run(arguments...); code == 0 || !strings.Contains(said+out, say) {
		s.t.Errorf("bailiff %s: exit %d, which does not say %q: %s%s", strings.Join(arguments, " "), code, say, out, said)
	}
}
