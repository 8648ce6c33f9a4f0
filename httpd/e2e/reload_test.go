package e2e

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bailiff/grammar"
)

var reloads = flag.Int("reloads", 20, "how many policies TestReloadUnderLoad puts in force, with a broken one after each")

// reloadable is the text of the policy of a serial. One with an even serial allows the command even, the others odd.
func reloadable(serial int) string {
	return fmt.Sprintf("version: 2.4.0\n\n## tool_calls\nallowed: bash\nbash.allowed_commands: %s\n\n## deployment\nkeys: *\nserial: %d\n", parity(serial), serial)
}

func parity(serial int) string { return [2]string{"even", "odd"}[serial%2] }

// evenBody is a request for the command even.
func evenBody(nonce string) string {
	return fmt.Sprintf(`{"framework":"custom","agentId":"a","chainId":1,"txCommit":"%s","request_nonce":"%s","intent":{"action":"bash","command":"even"}}`,
		strings.Repeat("ab", 32), nonce)
}

// hangUp has the service reload its policy, and waits until the log has as many lines of a kind as it has to have by then.
func (r *running) hangUp(line string, times int) {
	r.t.Helper()
	if err := r.command.Process.Signal(syscall.SIGHUP); err != nil {
		r.t.Fatal(err)
	}
	r.awaitLog(line, times)
}

func (r *running) awaitLog(line string, times int) {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); strings.Count(r.log.String(), line) < times; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("the log does not say %q %d times:\n%s", line, times, r.log)
		}
	}
}

// The log lines of reloads.
const (
	replacedLine  = "the default policy was replaced"
	unchangedLine = "the default policy is the one in force already"
	refusedLine   = "the default policy was not replaced; the one in force stays"
)

// prepare signs a policy, and returns its text and hash.
func (s *site) prepare(name, text string) (signed, hash string) {
	s.t.Helper()
	s.write(name, text)
	s.must("sign", "--force", "--key", s.path("operator.key"), s.path(name))
	content, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	framed, _ := grammar.Split(grammar.NewSource(name, content))
	return string(content), grammar.PolicyHash(framed.Body)
}

// install puts a text where the service reads its policy, whole.
func (s *site) install(text string) {
	s.t.Helper()
	s.write("next.md", text)
	if err := os.Rename(s.path("next.md"), s.path("warranty.md")); err != nil {
		s.t.Fatal(err)
	}
}

// broken are policies that are not to be put in force, made from a good one of a serial, and what the log says of each.
func (s *site) broken(serial int, signed string) []struct{ text, why string } {
	s.t.Helper()
	unsigned, _, _ := strings.Cut(signed, "## signature")
	lower, _ := s.prepare("lower.md", reloadable(serial-1)+"# of another text\n")
	unknown, _ := s.prepare("unknown.md", reloadable(serial+1)+"\n## nonsense\nx: y\n")
	return []struct{ text, why string }{
		{strings.Replace(signed, "allowed: bash", "allowed: bash, deploy", 1), "does not verify"},
		{unsigned, "has no `## signature` block"},
		{lower, "goes back"},
		{unknown, "nonsense"},
		{signed[:len(signed)/2], "has no `## signature` block"},
		{"", ""},
	}
}

// A policyLog knows the policies that were put in force, and which may be in force at a moment.
type policyLog struct {
	serials      sync.Map     // by hash
	asked, heard atomic.Int64 // the serial that the service was last told of, and the one that it last said it has
}

// check returns what is wrong with an answer to the command even: it has to be by a policy that was in force between the
// request's start, when heard was before, and now.
func (p *policyLog) check(a *answer, before int64) string {
	found, known := p.serials.Load(a.PolicyHash)
	if !known {
		return fmt.Sprintf("HTTP %d by the policy %q, which never was in force: %s", a.HTTP, a.PolicyHash, a.Raw)
	}
	serial := int64(found.(int))
	if after := p.asked.Load(); serial < before || serial > after {
		return fmt.Sprintf("decided by serial %d, and serials %d to %d were in force meanwhile", serial, before, after)
	}
	if want := [2]string{"ALLOWED", "DENIED"}[serial%2]; a.Status != want {
		return fmt.Sprintf("%s by serial %d, which says %s: %s", a.Status, serial, want, a.Raw)
	}
	return ""
}

// load asks for the command even until done is closed, every other time with the same nonce, so that what was allowed may be
// answered again.
func (r *running) load(worker int, key string, policies *policyLog, done <-chan struct{}) (asked int) {
	for ; ; asked++ {
		select {
		case <-done:
			return asked
		default:
		}
		nonce := fmt.Sprintf("w%d", worker)
		if asked%2 == 0 {
			nonce = fmt.Sprintf("w%d-%d", worker, asked)
		}
		before := policies.heard.Load()
		a, err := r.post("/v1/authorize", key, evenBody(nonce))
		if err != nil {
			r.t.Errorf("a request was lost: %v", err)
			return asked
		}
		if wrong := policies.check(&a, before); wrong != "" {
			r.t.Error(wrong)
			return asked
		}
	}
}

// TestReloadUnderLoad reloads good and broken policies while clients ask: no request is lost, and each is decided by the
// policy before or the one after, as that policy says, and by none but the one after once the log has said so.
func TestReloadUnderLoad(t *testing.T) {
	s := newSite(t, reloadable(1))
	first, hash := s.prepare("first.md", reloadable(1))
	s.install(first)
	key := s.apiKey()
	service := s.start()
	policies := &policyLog{}
	policies.serials.Store(hash, 1)
	policies.asked.Store(1)
	policies.heard.Store(1)
	var workers sync.WaitGroup
	var answered atomic.Int64
	done := make(chan struct{})
	for worker := range 4 {
		workers.Go(func() { answered.Add(int64(service.load(worker, key, policies, done))) })
	}
	for n := range *reloads {
		serial := n + 2
		signed, hash := s.prepare("good.md", reloadable(serial))
		policies.serials.Store(hash, serial)
		s.install(signed)
		policies.asked.Store(int64(serial))
		service.hangUp(replacedLine, n+1)
		policies.heard.Store(int64(serial))
		bad := s.broken(serial, signed)
		one := bad[n%len(bad)]
		s.write("warranty.md", one.text)
		service.hangUp(refusedLine, n+1)
		if lines := strings.Split(service.log.String(), refusedLine); !strings.Contains(lines[len(lines)-1], one.why) {
			t.Errorf("of a policy that should be refused with %q the log says %s", one.why, lines[len(lines)-1])
		}
		if t.Failed() {
			break
		}
	}
	close(done)
	workers.Wait()
	if answered.Load() < int64(*reloads) {
		t.Errorf("%d requests during %d reloads are no load", answered.Load(), 2**reloads)
	}
	t.Logf("%d requests during %d reloads", answered.Load(), 2**reloads)
	if err := service.stop(); err != nil {
		t.Error(err)
	}
}

// TestReloadHosted: a hosted service has no policy to reload, and reloads its settings.
func TestReloadHosted(t *testing.T) {
	service := newSite(t, reloadable(1), "SVC_HOSTED=true").start()
	service.hangUp(reloadedLine, 1)
	if err := service.stop(); err != nil {
		t.Error(err)
	}
}

// TestReload: what is wrong with the file leaves the policy in force; the same policy again is no change; and the next start
// and the record agree with what the reloads came to.
func TestReload(t *testing.T) {
	s := newSite(t, reloadable(1))
	key := s.apiKey()
	service := s.start()
	ask := func() string {
		return service.ask("/v1/authorize", key, evenBody("")).Status
	}
	service.hangUp(unchangedLine, 1)
	if got := ask(); got != "DENIED" {
		t.Fatalf("serial 1 answers %s", got)
	}
	if err := os.Remove(s.path("warranty.md")); err != nil {
		t.Fatal(err)
	}
	service.hangUp(refusedLine, 1)
	if err := os.Mkdir(s.path("warranty.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	service.hangUp(refusedLine, 2)
	if got := ask(); got != "DENIED" {
		t.Errorf("without its file serial 1 answers %s", got)
	}
	if err := os.Remove(s.path("warranty.md")); err != nil {
		t.Fatal(err)
	}
	second, hash := s.prepare("second.md", reloadable(2))
	s.install(second)
	service.hangUp(replacedLine, 1)
	if got := ask(); got != "ALLOWED" {
		t.Errorf("serial 2 answers %s", got)
	}
	lsn := regexp.MustCompile(`"lsn": ?"?(\d+)`).FindStringSubmatch(s.must("events", "--decision", "ALLOWED", "--json"))
	if lsn == nil {
		t.Fatal("no event tells its lsn")
	}
	if bundle := s.must("events", "export", lsn[1]); !strings.Contains(bundle, "serial: 2") {
		t.Errorf("the evidence of a decision has not the policy that was reloaded: %.2000s", bundle)
	}
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	if events := s.must("events", "verify"); events == "" {
		t.Error("the record is not verified")
	}
	service = s.start()
	if a := service.ask("/v1/authorize", key, evenBody("")); a.Status != "ALLOWED" || a.PolicyHash != hash {
		t.Errorf("after a restart: %s by %s", a.Status, a.PolicyHash)
	}
}

// TestReloadOnce: the file is read once, since a pipe gives what is in it once; and one that nothing writes to keeps the
// service neither from answering nor from ending.
func TestReloadOnce(t *testing.T) {
	s := newSite(t, reloadable(2))
	key := s.apiKey()
	service := s.start()
	third, hash := s.prepare("third.md", reloadable(3))
	if err := os.Remove(s.path("warranty.md")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(s.path("warranty.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(s.path("warranty.md"), []byte(third), 0o600) }()
	service.hangUp(replacedLine, 1)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if a := service.ask("/v1/authorize", key, evenBody("")); a.Status != "DENIED" || a.PolicyHash != hash {
		t.Errorf("by a policy from a pipe: %s by %s", a.Status, a.PolicyHash)
	}
	if err := service.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if a := service.ask("/v1/authorize", key, evenBody("")); a.Status != "DENIED" {
		t.Errorf("while the policy is read: %s", a.Status)
	}
	if err := service.stop(); err != nil {
		t.Errorf("while the policy is read: %v", err)
	}
}
