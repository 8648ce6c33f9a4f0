package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// logged is one event as the service lists it.
type logged struct {
	LSN                                                                uint64
	Slot                                                               int
	Event, Decision, HoldID, HoldStatus, KeyID, Commitment, PolicyHash string
	Code                                                               string `json:"errorCode"`
	Rule                                                               string `json:"matchedRule"`
	Timestamp                                                          string
}

// eventList is a page of events.
type eventList struct {
	Events []json.RawMessage
	Next   string
	More   bool
}

// raw is all events, a line each.
func (l eventList) raw() string {
	var text strings.Builder
	for _, e := range l.Events {
		text.Write(e)
		text.WriteByte('\n')
	}
	return text.String()
}

// page asks for events.
func (r *running) page(t *testing.T, key, query string) (list eventList, events []logged) {
	t.Helper()
	list = read[eventList](t, r.send("GET", "/v1/events"+query, key, ""), 200)
	for _, raw := range list.Events {
		var e logged
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return list, events
}

// paged asks for all events, two at a time.
func (r *running) paged(t *testing.T, key string) (all []logged) {
	t.Helper()
	for query, more := "?limit=2", true; more; {
		list, events := r.page(t, key, query)
		if len(events) > 2 {
			t.Fatalf("a page of %d events", len(events))
		}
		all, more, query = append(all, events...), list.More, "?limit=2&after="+list.Next
	}
	return all
}

// summary is a line for each event: its decision with its rule, or what it is.
func summary(events []logged) string {
	var lines []string
	for _, e := range events {
		line := e.Event
		if e.Event == "decision" {
			line = strings.TrimSpace(e.Decision + " " + e.Rule)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

// TestEvents lists what happened to a key by everything that can be asked for, and never what happened to another.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newHosted(t)
	service := s.start()
	me, mine := service.register(), newOperator(t)
	key, other := me.APIKey, service.register().APIKey
	for _, k := range []string{key, other} {
		service.deploy(k, mine, mailPolicy)
	}
	service.decides(t, "allowed", key, listing, "ALLOWED")
	service.decides(t, "another key's", other, removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
	service.decides(t, "denied", key, removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
	middle := time.Now().UTC()
	time.Sleep(2 * time.Millisecond)
	service.ask("/v1/authorize/test-run", key, removing)
	hold := service.decides(t, "held", key, mailing, pendingMail)
	service.resolve(key, mine, hold.HoldID, "DENIED").wants(t, "resolved", "200")
	const blocked, held = "tool_calls.bash.blocked_commands", "tool_calls.email.require_approval"
	early, late := "key.created, policy.deployed, ALLOWED, DENIED "+blocked, "TEST_RUN "+blocked+", PENDING "+held+", hold.resolved"
	at := url.QueryEscape(middle.Format(time.RFC3339Nano))
	for query, want := range map[string]string{
		"":                                     early + ", " + late,
		"?to=" + at:                            early,
		"?from=" + at:                          late,
		"?decision=ALLOWED":                    "ALLOWED",
		"?decision=DENIED":                     "DENIED " + blocked,
		"?decision=TEST_RUN":                   "TEST_RUN " + blocked,
		"?rule=" + held:                        "PENDING " + held,
		"?rule=" + blocked + "&from=" + at:     "TEST_RUN " + blocked,
		"?decision=ALLOWED&rule=" + blocked:    "",
		"?decision=PENDING&limit=1&from=" + at: "PENDING " + held,
	} {
		_, events := service.page(t, key, query)
		if got := summary(events); got != want {
			t.Errorf("%q: %s\nand not %s", query, got, want)
		}
		for _, e := range events {
			if e.KeyID != me.KeyID {
				t.Errorf("%q shows an event of the key %s", query, e.KeyID)
			}
		}
	}
	if got := summary(service.paged(t, key)); got != early+", "+late {
		t.Errorf("page by page: %s", got)
	}
	for _, query := range []string{"?limit=0", "?limit=1001", "?limit=two", "?after=-1", "?from=yesterday", "?decision=MAYBE", "?key=x", "?limit=1&limit=2"} {
		service.send("GET", "/v1/events"+query, key, "").wants(t, query, "400 SVC_VALIDATION_ERROR_SCHEMA")
	}
	if got := s.must("events", "--url", service.base, "--api-key", key, "--decision", "PENDING", "--json"); strings.Count(got, "\n") != 1 || !strings.Contains(got, hold.HoldID) {
		t.Errorf("bailiff events: %s", got)
	}
	if got := s.must("events"); strings.Count(got, "\n") < 10 {
		t.Errorf("the operator's events of all keys: %s", got)
	}
}

// verify runs the command that verifies the record, over a copy of the data, with more arguments.
func (s *site) verify(data string, arguments ...string) (said string, code int) {
	s.t.Helper()
	copied := &site{t: s.t, dir: s.dir, env: append(slices.Clone(s.env), "SVC_DATA_DIR="+data)}
	out, problem, code := copied.run(append([]string{"events", "verify"}, arguments...)...)
	return out + problem, code
}

// copied copies a data folder of the site.
func (s *site) copied(from, to string) (path string) {
	s.t.Helper()
	if err := os.CopyFS(s.path(to), os.DirFS(s.path(from))); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(s.path(to+"/keys/attestation-keys.pem"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.path(to)
}

// TestEventsVerify verifies a record as it was written, and finds what was changed, cut off, or exchanged.
func TestEventsVerify(t *testing.T) {
	t.Parallel()
	s := newHosted(t)
	service := s.start()
	key, mine := service.register().APIKey, newOperator(t)
	service.deploy(key, mine, mailPolicy)
	work := func() {
		for i := range 50 {
			service.decides(t, "work", key, strings.Replace(listing, "agent-1", fmt.Sprintf("evidence-%d", i), 1), "ALLOWED")
		}
	}
	work()
	if said, code := s.verify(s.path("data")); code == 0 {
		t.Errorf("while the service runs: %s", said)
	}
	note := service.send("GET", "/v1/events/checkpoint", key, "")
	s.write("early", note.body)
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	early := s.copied("data", "early-data")
	service = s.start()
	work()
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	data := s.path("data")
	for name, arguments := range map[string][]string{"its own checkpoint": nil, "an early checkpoint": {"--checkpoint", s.path("early")}, "no checkpoint": {"--no-checkpoint"}} {
		if said, code := s.verify(data, arguments...); code != 0 || !strings.Contains(said, "verified: ") {
			t.Errorf("with %s: exit %d, %s", name, code, said)
		}
	}
	late := s.path("data/checkpoint")
	if said, code := s.verify(early, "--checkpoint", late); code == 0 || !strings.Contains(said, "MISSING") {
		t.Errorf("cut off: exit %d, %s", code, said)
	}
	if said, code := s.verify(early, "--no-checkpoint"); code != 0 {
		t.Errorf("what was cut off does not show without a checkpoint: exit %d, %s", code, said)
	}
	s.write("forged", strings.Replace(note.body, "\n", "x\n", 1))
	if said, code := s.verify(data, "--checkpoint", s.path("forged")); code == 0 {
		t.Errorf("a forged checkpoint: %s", said)
	}
	s.serveRefuses(early, late)
	edits(t, s)
}

// serveRefuses starts the service on data that lacks records which a checkpoint proves.
func (s *site) serveRefuses(data, checkpoint string) {
	s.t.Helper()
	text, err := os.ReadFile(checkpoint)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "checkpoint"), text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	short := &site{t: s.t, dir: s.dir, env: append(slices.Clone(s.env), "SVC_DATA_DIR="+data)}
	if _, problem, code := short.run("serve", "--moved"); code != 1 || !strings.HasPrefix(problem, "[Svc] records are missing") {
		s.t.Errorf("on data that lacks records: exit %d, %s", code, problem)
	}
}

// edits changes one byte of the record at a time, wherever its text is in the files.
func edits(t *testing.T, s *site) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(s.path("data/ledger"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, needle := range []string{"evidence-7", "evidence-31"} {
			at := bytes.Index(text, []byte(needle))
			if at < 0 {
				continue
			}
			found++
			edited := bytes.Clone(text)
			edited[at] ^= 1
			copied := s.copied("data", fmt.Sprintf("edited-%d", found))
			if said, code := s.verify(copied); code != 0 {
				t.Errorf("the copy itself: exit %d, %s", code, said)
			}
			name, _ := filepath.Rel(s.path("data"), path)
			if err := os.WriteFile(filepath.Join(copied, name), edited, 0o600); err != nil {
				return err
			}
			if said, code := s.verify(copied); code == 0 {
				t.Errorf("a byte of %s was changed, and %s", name, said)
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Fatalf("%d places were changed, %v", found, err)
	}
}
