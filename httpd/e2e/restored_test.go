package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
)

// putBack ends the instances, and returns the site of the first one over the primary that was replaced.
func (f *failover) putBack() *site {
	f.ending.Store(true)
	for _, i := range f.instances {
		i.signal(syscall.SIGTERM)
		<-i.ended
	}
	f.old.Alone()
	at := *f.site
	at.env = append(slices.Clone(f.instances[0].env), "SVC_STORE="+f.old.URL(), "SVC_STORE_SYNC=trust")
	return &at
}

// TestRestoredStore puts the database of several slots back to an older state. Instances refuse it until it is said that this was meant; then
// what may have been used since is taken back in each slot, and the service is frozen.
func TestRestoredStore(t *testing.T) {
	t.Parallel()
	f := newFailoverOf(t, true, 4, "a")
	defer f.end()
	f.share()
	var keys []string
	for range 6 {
		keys = append(keys, f.second(f.instances[0]).APIKey)
	}
	commitments := 0
	decides := func(r *running, task, want string) {
		t.Helper()
		for _, key := range keys {
			commitments++
			body := strings.Replace(tool("bash", fmt.Sprintf(`"command":"ls","task_id":%q`, task)), strings.Repeat("ab", 32), fmt.Sprintf("%064x", commitments), 1)
			r.decides(t, task, key, body, want)
		}
	}
	first := &running{site: f.site, base: f.instances[0].address()}
	decides(first, "before", "ALLOWED")
	checkpoints := func(kind string) int {
		all, _ := filepath.Glob(f.path("data-a/checkpoint-?" + kind))
		return len(all)
	}
	f.await("checkpoints are written", func() bool { return checkpoints("") > 0 })
	f.lostPrimary()
	f.await("decisions go on", func() bool {
		return first.ask("/v1/authorize", keys[0], tool("bash", `"command":"ls","task_id":"probe"`)).Status == "ALLOWED"
	})
	decides(first, "lost", "ALLOWED")
	at, kept := f.putBack(), checkpoints("")
	at.fails("records are MISSING", "keys", "create", "--email", "late@example.com")
	f.restored(at)
	if verified := at.must("events", "verify", "--no-checkpoint"); strings.Count(verified, "verified: ") != 5 {
		t.Errorf("what was restored: %s", verified)
	}
	at.fails("checkpoint", "serve")
	service := at.launch("serve", "--no-checkpoint")
	service.awaitReady(t, 200)
	if got := service.ask("/v1/authorize", keys[0], tool("bash", `"command":"ls"`)); got.Code != "SVC_FROZEN" || !strings.Contains(got.Message, "restored from a backup") {
		t.Errorf("before a thaw: %s", got.Raw)
	}
	f.await("the service is thawed", func() bool {
		_, _, code := at.run("thaw", "--key", "operator.key")
		return code == 0
	})
	decides(service, "before", "DENIED SVC_LOOP_LIMIT_EXCEEDED")
	decides(service, "after", "ALLOWED")
	at.fails("stop every instance first", "store", "restored")
	service.stop()
	if n := checkpoints(".before"); n < kept {
		t.Errorf("%d checkpoints were set aside, of %d", n, kept)
	}
	decides(at.launch("serve"), "again", "ALLOWED")
}

// restored waits until no lease of the state before is left, and has the state of a site accepted.
func (f *failover) restored(at *site) {
	f.t.Helper()
	f.await("the leases of the state before end", func() bool {
		text, fault, code := at.run("store", "restored")
		if code == 0 && !(strings.Contains(text, "logs: 5, ") && strings.Contains(text, "the service is frozen")) || code != 0 && !strings.Contains(fault, "stop every instance first") {
			f.t.Fatalf("exit %d: %s%s", code, text, fault)
		}
		return code == 0
	})
}

// asksInTurn asks both instances in turn for each key.
func (r *running) asksInTurn(keys []string, task string) (answers []answer) {
	for n, key := range keys {
		got, err := r.instances()[n%2].post("/v1/authorize", key, tool("bash", fmt.Sprintf(`"command":"ls","task_id":%q`, task)))
		if err != nil {
			got = answer{Raw: []byte(err.Error())} // it has ended, as one does that finds its checkpoint ahead of the log
		}
		answers = append(answers, got)
	}
	return answers
}

// TestWentBackMeanwhile: instances that share slots refuse all that concerns them once a copy of the database is the primary that lacks what it had
// confirmed, as where somebody promotes an asynchronous standby or puts a backup there.
func TestWentBackMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t, fmt.Sprintf(toolPolicy, taskLimit))
	database := s.storeOf("4")
	one := s.start()
	var keys []string
	for range 6 {
		key, _ := s.newKey()
		keys = append(keys, key)
	}
	allowed := func(task string) {
		for _, got := range one.asksInTurn(keys, task) {
			if got.Status != "ALLOWED" {
				t.Fatalf("%s: %s", task, got.Raw)
			}
		}
	}
	allowed("before")
	older := database.NewStandby()
	older.Kill()
	for _, r := range one.instances() {
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
	s.env, s.partner = append(s.env, "SVC_STORE="+pgtest.Both(database, older)), nil
	one = s.start()
	allowed("confirmed")
	time.Sleep(time.Second) // a lease, in which each instance hears how far the logs have come
	database.Kill()
	older.Alone()
	older.Promote()
	refused := 0
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		for _, got := range one.asksInTurn(keys, "after") {
			if got.PolicyHash != "" && got.Code != "SVC_LIMIT_STORE_UNAVAILABLE" {
				t.Fatalf("over a database that lacks what was confirmed: %d %s", got.HTTP, got.Raw)
			}
			if got.HTTP == 503 {
				refused++
			}
		}
	}
	said := one.log.String() + s.partner.log.String()
	if refused == 0 || !strings.Contains(said, "the database has lost records that it had confirmed") {
		t.Errorf("%d requests are refused, and the logs say:\n%s", refused, said)
	}
}
