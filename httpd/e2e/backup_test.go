package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An age identity that this test alone uses, and its recipient.
const (
	backupIdentity  = "AGE-SECRET-KEY-1UWE7Q57MVTC38A0LUWHRTQFAEZQMD5GUAKSGPDA6ZVRD6RQDNR8QN3M987"
	backupRecipient = "age17tuewj2mjx8mxpxa8p2unp7nj20veee3m555r680328jcvaxkeaq5zzl5j"
)

// backupPolicy allows commands by the hundred a day, and has one held.
const backupPolicy = "version: 2.4.0\n\n## tool_calls\nallowed: bash\nbash.require_approval: git push\n\n## soft_limits\ncap.calls.max_count: 100000\ncap.calls.window: day\ncap.calls.action: bash\n"

// elsewhere is a site with another data folder, without data.
func (s *site) elsewhere(name string) *site {
	other := *s
	other.env = append(append([]string(nil), s.env...), "SVC_DATA_DIR="+s.path(name))
	return &other
}

// workUntil has clients ask until ended is called, which returns how many intents were allowed.
func (r *running) workUntil(key string) (ended func() int64) {
	var workers sync.WaitGroup
	var allowed atomic.Int64
	done := make(chan struct{})
	for range 4 {
		workers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if a, err := r.post("/v1/authorize", key, evenBody("")); err != nil || a.Status != "ALLOWED" {
					r.t.Errorf("%v, %s", err, a.Raw)
					return
				}
				allowed.Add(1)
			}
		})
	}
	return func() int64 {
		close(done)
		workers.Wait()
		return allowed.Load()
	}
}

// callsOf returns what a key has used of the daily cap.
func (s *site) callsOf(keyID string) string {
	s.t.Helper()
	var view struct {
		Limits []struct{ Counter, Used, Left string }
	}
	if err := json.Unmarshal([]byte(s.must("limits", keyID, "--json")), &view); err != nil || len(view.Limits) != 1 {
		s.t.Fatalf("%v: %+v", err, view)
	}
	return view.Limits[0].Used + " used, " + view.Limits[0].Left + " left"
}

// TestBackup: a backup of a running service contains everything that was acknowledged before it. The restored record verifies. The
// service is frozen until the operator thaws it; then open limits are used up, earlier holds are gone, and new intents are decided.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := newSite(t, backupPolicy)
	s.write("identity", "# made for a test\n"+backupIdentity+"\n")
	var made struct {
		Key string `json:"api_key"`
		ID  string `json:"key_id"`
	}
	if err := json.Unmarshal([]byte(s.must("keys", "create", "--email", "agent@example.com", "--full-grant", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	service := s.start()
	held := service.ask("/v1/authorize", made.Key, strings.Replace(evenBody(""), `"even"`, `"git push"`, 1))
	if held.Status != "PENDING" {
		t.Fatalf("%s", held.Raw)
	}
	ended := service.workUntil(made.Key)
	time.Sleep(300 * time.Millisecond)
	said := s.must("backup", "backup", "--with-keys", backupRecipient)
	if !strings.Contains(said, "has the record up to ") {
		t.Errorf("backup says %s", said)
	}
	if ended() == 0 {
		t.Error("nothing was decided during the backup")
	}
	for _, file := range []string{"log", "checkpoint", "warranty.md", "signing-keys.age"} {
		if info, err := os.Stat(s.path("backup/" + file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if text := s.must("restore", "--check", "backup"); !strings.Contains(text, "is good") {
		t.Error(text)
	}
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	if _, refusal, code := s.run("restore", "backup"); code == 0 || !strings.Contains(refusal, "is there already") {
		t.Errorf("over data that is there: %d %s", code, refusal)
	}
	if _, refusal, code := s.elsewhere("without").run("restore", "backup"); code == 0 || !strings.Contains(refusal, "put the key file back, or give --identity") {
		t.Errorf("without signing keys: %d %s", code, refusal)
	}
	s.restoredGoesOn(made.Key, made.ID, held.HoldID)
	kept := s.elsewhere("kept")
	kept.must("restore", "backup", "--identity", "identity", "--keep-counters", "--thawed")
	kept.must("events", "verify")
	service = kept.start()
	if a := service.ask("/v1/authorize", made.Key, evenBody("")); a.Status != "ALLOWED" {
		t.Errorf("with the counters kept: %s", a.Raw)
	}
	if err := service.stop(); err != nil {
		t.Error(err)
	}
}

// restoredGoesOn restores the backup into another folder, and follows what comes of it.
func (s *site) restoredGoesOn(key, keyID, holdID string) {
	t := s.t
	t.Helper()
	other := s.elsewhere("restored")
	said := other.must("restore", "backup", "--identity", "identity")
	if !strings.Contains(said, "bailiff thaw --key operator.key") {
		t.Errorf("restore says %s", said)
	}
	before, after := s.must("keys", "list"), other.must("keys", "list")
	if before != after {
		t.Errorf("the keys are\n%sand were\n%s", after, before)
	}
	service := other.start()
	if a := service.ask("/v1/authorize", key, evenBody("")); a.Code != "SVC_FROZEN" || !strings.Contains(a.Message, "restored from a backup") {
		t.Errorf("before a thaw: %s", a.Raw)
	}
	other.must("thaw", "--key", "operator.key")
	if a := service.ask("/v1/authorize", key, evenBody("")); a.Code != "SVC_AGGREGATE_LIMIT_EXCEEDED" || strings.Contains(a.Message, "1157") {
		t.Errorf("on the day of the restoration: %s", a.Raw)
	}
	if got := other.callsOf(keyID); got != "100000 used, 0 left" {
		t.Errorf("the limit has %s", got)
	}
	if list := other.must("holds", "list"); strings.Contains(list, holdID) {
		t.Errorf("the hold of before is listed: %s", list)
	}
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	if text := other.must("events", "verify"); !strings.Contains(text, "verified") {
		t.Error(text)
	}
	if text := other.must("events", "verify", "--checkpoint", "backup/checkpoint"); !strings.Contains(text, "fits") {
		t.Errorf("the checkpoint of the backup: %s", text)
	}
	if events := other.must("events", "--json"); !strings.Contains(events, `"service.restored"`) {
		t.Error("no event tells of the restoration")
	}
	again := s.elsewhere("again") // a backup of the restored record
	other.must("backup", "second")
	again.env = append(again.env, "SVC_KEY_DIR="+s.path("data/keys"))
	again.must("restore", "second")
	again.must("events", "verify", "--no-checkpoint")
}

// TestCopyIsNotServed: a copy of a data folder is not served, until the operator says that the original is not either.
func TestCopyIsNotServed(t *testing.T) {
	t.Parallel()
	s := newSite(t, backupPolicy)
	key := s.apiKey()
	service := s.start()
	if a := service.ask("/v1/authorize", key, evenBody("")); a.Status != "ALLOWED" {
		t.Fatalf("%s", a.Raw)
	}
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	s.copied("data", "copy")
	other := s.elsewhere("copy")
	if _, refusal, code := other.run("serve"); code != 1 || !strings.Contains(refusal, "[Svc] ") || !strings.Contains(refusal, "is a copy of the data of a service") {
		t.Fatalf("a copy: %d %s", code, refusal)
	}
	if said, _, code := other.run("doctor"); code == 0 || !strings.Contains(said, "is a copy of the data of a service") {
		t.Errorf("doctor: %d %s", code, said)
	}
	service = other.launch("serve", "--moved")
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	service = other.start()
	if a := service.ask("/v1/authorize", key, evenBody("")); a.Status != "ALLOWED" {
		t.Errorf("claimed: %s", a.Raw)
	}
}

// TestHaltsSurviveFailover: a standby that takes the data folder over stays frozen, and suspended keys stay so after a thaw.
func TestHaltsSurviveFailover(t *testing.T) {
	t.Parallel()
	s := newSite(t, backupPolicy)
	suspended, id := s.newKey()
	key, _ := s.newKey()
	service := s.start()
	for _, k := range []string{suspended, key} {
		if a := service.ask("/v1/authorize", k, evenBody("")); a.Status != "ALLOWED" {
			t.Fatalf("%s", a.Raw)
		}
	}
	s.must("keys", "suspend", id)
	s.must("freeze", "--reason", "drill")
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	s.copied("data", "standby")
	standby := s.elsewhere("standby")
	service = standby.launch("serve", "--moved")
	for _, k := range []string{suspended, key} {
		if a := service.ask("/v1/authorize", k, evenBody("")); a.Code != "SVC_FROZEN" || !strings.Contains(a.Message, "drill") {
			t.Errorf("on the standby: %s", a.Raw)
		}
	}
	standby.must("thaw", "--key", "operator.key")
	if a := service.ask("/v1/authorize", suspended, evenBody("")); a.Code != "SVC_KEY_SUSPENDED" {
		t.Errorf("the suspended key after a thaw: %s", a.Raw)
	}
	if a := service.ask("/v1/authorize", key, evenBody("")); a.Status != "ALLOWED" {
		t.Errorf("another key after a thaw: %s", a.Raw)
	}
	standby.must("keys", "resume", id, "--key", "operator.key")
	if a := service.ask("/v1/authorize", suspended, evenBody("")); a.Status != "ALLOWED" {
		t.Errorf("the key after it was resumed: %s", a.Raw)
	}
}

// TestBackupRefuses: a backup that was edited, cut short, extended or mixed with another is not restored, and nothing of it stays.
func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, backupPolicy)
	key := s.apiKey()
	service := s.start()
	s.must("backup", "early")
	for range 20 {
		service.ask("/v1/authorize", key, evenBody(""))
	}
	s.must("backup", "late")
	if _, refusal, code := s.run("backup", "late"); code == 0 || !strings.Contains(refusal, "is there already") {
		t.Errorf("into a folder that is there: %d %s", code, refusal)
	}
	if _, refusal, code := s.run("backup", "x", "--with-keys", "age1nothing"); code == 0 || !strings.Contains(refusal, "not an age recipient") {
		t.Errorf("a wrong recipient: %d %s", code, refusal)
	}
	log := s.text("late/log")
	for name, row := range map[string]struct{ log, checkpoint, says string }{
		"edited":                  {log[:len(log)/2] + string(log[len(log)/2]^1) + log[len(log)/2+1:], "late", "records before that are intact"},
		"cut short":               {log[:len(log)/2], "late", "cut short"},
		"without its end":         {log[:len(log)-4], "late", "cut short"},
		"extended":                {log + "x", "late", "something follows its end"},
		"older":                   {s.text("early/log"), "late", "records are missing or were exchanged"},
		"newer":                   {log, "early", "records are missing or were exchanged"},
		"differs from the record": {"hello\n", "late", "does not begin with"},
		"with a large group":      {log[:strings.Index(log, "\n")+1] + "\xff\xff\xff\xff", "late", "of at most"},
	} {
		if err := os.MkdirAll(s.path("bad"), 0o700); err != nil {
			t.Fatal(err)
		}
		s.write("bad/log", row.log)
		s.write("bad/checkpoint", s.text(row.checkpoint+"/checkpoint"))
		other := s.elsewhere("refused")
		other.env = append(other.env, "SVC_KEY_DIR="+s.path("data/keys"))
		for _, arguments := range [][]string{{"restore", "bad"}, {"restore", "--check", "bad"}} {
			if _, refusal, code := other.run(arguments...); code == 0 || !strings.Contains(refusal, row.says) {
				t.Errorf("%s, %s: %d %s", name, arguments, code, refusal)
			}
		}
		if left, _ := filepath.Glob(s.path("refused/ledger*")); len(left) > 0 {
			t.Errorf("%s leaves %s", name, left)
		}
	}
}

// text reads a file of the site.
func (s *site) text(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// TestBackupIsKilled: a backup and a restoration that are killed at any moment leave nothing that looks like one, and work when they
// are tried again.
func TestBackupIsKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t, backupPolicy)
	key := s.apiKey()
	service := s.start()
	for range 300 {
		service.ask("/v1/authorize", key, evenBody(""))
	}
	began := time.Now()
	s.must("backup", "whole")
	took := time.Since(began)
	whole := map[bool]int{}
	for n := range 20 {
		name := fmt.Sprintf("killed%d", n)
		s.killed(rand.N(took+took/4), "backup", name)
		_, err := os.Stat(s.path(name))
		if whole[err == nil]++; err == nil {
			s.must("restore", "--check", name)
		}
	}
	t.Logf("of 20 backups that were to be killed, %d were whole", whole[true])
	other := s.elsewhere("restored")
	other.env = append(other.env, "SVC_KEY_DIR="+s.path("data/keys"))
	began = time.Now()
	other.must("restore", "whole")
	took = time.Since(began)
	restored := map[bool]int{}
	for range 20 {
		if err := os.RemoveAll(s.path("restored")); err != nil {
			t.Fatal(err)
		}
		other.killed(rand.N(took+took/4), "restore", "whole")
		_, err := os.Stat(s.path("restored/ledger"))
		if restored[err == nil]++; err != nil {
			other.must("restore", "whole")
		}
		other.must("events", "verify", "--no-checkpoint")
	}
	t.Logf("of 20 restorations that were to be killed, %d were whole", restored[true])
}

// killed runs a subcommand, and kills it after a time.
func (s *site) killed(after time.Duration, arguments ...string) {
	s.t.Helper()
	command := exec.Command(program(s.t), arguments...)
	command.Env, command.Dir = s.env, s.dir
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(after)
	_ = command.Process.Kill()
	_ = command.Wait() // it was killed, or had ended
}
