package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a client may wait for an answer while the disk is full: the service's own deadline, and some.
const patience = 8 * time.Second

// mountSmall makes a file system of some megabytes in memory, below the site, or skips the test.
func mountSmall(t *testing.T, s *site, name string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a small file system can be mounted by root alone")
	}
	if err := os.Mkdir(s.path(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", s.path(name), "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(s.path(name), syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill takes all the space that is left, and returns what gives it back.
func fill(t *testing.T, path string) (release func()) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, size := range []int{1 << 16, 1 << 9, 1} {
		for err = nil; err == nil; {
			_, err = io.WriteString(file, strings.Repeat("x", size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// shortage is what clients see while the disk is full.
type shortage struct {
	mu       sync.Mutex
	answers  map[string]int
	decided  []string // commitments of decisions that were answered as such
	slowest  time.Duration
	unserved int // requests without an answer: the process had ended
	serial   int
}

// unavailable reports whether an answer is one of the two that the specification has for a store that fails.
func unavailable(a answer) bool {
	return a.HTTP == 503 && a.Code == "SVC_STORE_UNAVAILABLE" && a.Attestation == "" ||
		a.HTTP == 403 && a.Code == "SVC_LIMIT_STORE_UNAVAILABLE" && a.Rule == "" && a.Attestation == ""
}

// ask sends one intent.
func (s *shortage) ask(t *testing.T, service *running, key string) (refused bool) {
	s.mu.Lock()
	s.serial++
	commitment := fmt.Sprintf("%064x", s.serial)
	s.mu.Unlock()
	began := time.Now()
	got, err := service.post("/v1/authorize", key, strings.Replace(listing, strings.Repeat("ab", 32), commitment, 1))
	took := time.Since(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slowest = max(s.slowest, took)
	switch {
	case err != nil:
		s.unserved++
	case got.Status == "ALLOWED" && got.Attestation != "":
		s.decided = append(s.decided, commitment)
	case !unavailable(got):
		t.Errorf("an answer that nobody promised: %d %s", got.HTTP, got.Raw)
	}
	if err == nil {
		s.answers[fmt.Sprint(got.HTTP, " ", got.Code)]++
	}
	return err != nil || unavailable(got)
}

// until has eight clients ask until enough of them have been refused in a row (or served, where that is wanted).
func (s *shortage) until(t *testing.T, service *running, key string, refused bool) bool {
	t.Helper()
	end := time.Now().Add(slowness * 40 * time.Second)
	var wait sync.WaitGroup
	var mu sync.Mutex
	reached := false
	for range 8 {
		wait.Go(func() {
			for row := 0; row < 5 && time.Now().Before(end); row++ {
				if s.ask(t, service, key) != refused {
					row = -1
				}
				if refused || row < 0 {
					time.Sleep(10 * time.Millisecond) // the time in which the service heals, or a disk fills
				}
				if service.ended() {
					return
				}
				mu.Lock()
				reached = reached || row == 4
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return reached
}

// ended reports whether the process has ended by itself.
func (r *running) ended() bool {
	select {
	case err := <-r.exited:
		r.exited <- err
		return true
	default:
		return false
	}
}

// TestFullDisk fills the disk below a working service: nothing is allowed that is not kept, every answer comes in time
// with a code for it, and when there is space again the service works as before, or has ended with a failure and works
// when it is started again. Nothing that was acknowledged is lost.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newHosted(t)
	mountSmall(t, s, "disk")
	s.env = append(s.env, "SVC_DATA_DIR="+s.path("disk/data"))
	service := s.start()
	me, mine := service.register(), newOperator(t)
	s.must("keys", "set-plan", me.KeyID, "growth")
	service.deploy(me.APIKey, mine, mailPolicy)
	seen := &shortage{answers: map[string]int{}}
	for cycle := range 2 {
		for range 20 {
			seen.ask(t, service, me.APIKey)
		}
		release := fill(t, s.path("disk/ballast"))
		if !seen.until(t, service, me.APIKey, true) && !service.ended() {
			t.Fatalf("cycle %d: the full disk is not noticed: %v", cycle, seen.answers)
		}
		if !service.ended() {
			refusals(t, service, me.APIKey, mine)
		}
		release()
		if !seen.until(t, service, me.APIKey, false) {
			if !service.ended() {
				t.Fatalf("cycle %d: with space again, the service neither works nor has ended: %v\n%s", cycle, seen.answers, service.log)
			}
			if status := service.command.ProcessState.ExitCode(); status == 0 {
				t.Error("the service ended because of the disk, and with success")
			}
			service = s.start()
		}
		t.Logf("cycle %d: %v, slowest %v, %d without an answer", cycle, seen.answers, seen.slowest, seen.unserved)
	}
	if seen.slowest > slowness*patience {
		t.Errorf("an answer took %v", seen.slowest)
	}
	nothingLost(t, service, me.APIKey, seen.decided)
	if err := service.stop(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	if said, code := s.verify(s.path("disk/data")); code != 0 {
		t.Errorf("the record: exit %d, %s", code, said)
	}
	fill(t, s.path("disk/ballast"))
	if err := os.RemoveAll(s.path("disk/data/ledger")); err == nil { // a first start without space
		fill(t, s.path("disk/more"))
		if _, problem, code := s.run("serve"); code != 1 || !strings.Contains(problem, "[Svc]") {
			t.Errorf("a start without space: exit %d, %s", code, problem)
		}
	}
}

// usedDisk returns a site with a small disk of its own, on which a service has decided once and has ended.
func usedDisk(t *testing.T) *site {
	t.Helper()
	s := newSite(t, mailPolicy)
	mountSmall(t, s, "disk")
	s.env = append(s.env, "SVC_DATA_DIR="+s.path("disk/data"))
	service, key := s.start(), s.apiKey()
	service.decides(t, "with room", key, listing, "ALLOWED")
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStartOnFullDisk starts a service whose disk has become full meanwhile: it says what is wrong, ends when it is asked to,
// and serves as soon as there is room.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	s := usedDisk(t)
	release := fill(t, s.path("disk/ballast"))
	var log lockedBuffer
	begin := func() (command *exec.Cmd, ended chan error) {
		command, ended = exec.Command(program(t), "serve"), make(chan error, 1)
		command.Env, command.Dir, command.Stderr = s.env, s.dir, &log
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- command.Wait() }()
		return command, ended
	}
	says := func(what string, within time.Duration) {
		t.Helper()
		for end := time.Now().Add(slowness * within); !strings.Contains(log.String(), what); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the log does not say %q: %s", what, log.String())
			}
		}
	}
	command, ended := begin()
	defer command.Process.Kill()
	says("its disk is full; make room", 20*time.Second)
	_ = command.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(slowness * 5 * time.Second):
		t.Fatal("SIGTERM does not end a service that starts")
	}
	says("[Svc] asked to end while starting", time.Second)
	if code := command.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	command, ended = begin()
	defer command.Process.Kill()
	release()
	says("msg=serving", 20*time.Second)
	_ = command.Process.Signal(syscall.SIGTERM)
	if err := <-ended; err != nil {
		t.Errorf("%v: %s", err, log.String())
	}
}

// TestReadOnlyDisk: that a record can't be read says nothing about who changed it.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	s := usedDisk(t)
	if err := syscall.Mount("", s.path("disk"), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("the disk can't be made read-only here: %v", err)
	}
	for _, arguments := range [][]string{{"events", "verify"}, {"doctor"}} {
		out, problem, code := s.run(arguments...)
		said := out + problem
		if code != 1 || !strings.Contains(said, "can't be read, so") || strings.Contains(said, "CHANGED") || strings.Contains(said, "who changed it") {
			t.Errorf("%v: exit %d, %s", arguments, code, said)
		}
	}
}

// refusals asks for everything that writes, while nothing can be written.
func refusals(t *testing.T, service *running, key string, mine operator) {
	t.Helper()
	for path, body := range map[string]string{
		"/v1/keys/register": `{"email":"agent@example.com"}`, "/v1/warranty/deploy": mine.deployment(taskPolicy), "/v1/authorize": mailing,
		"/v1/webhooks": `{"url":"https://93.184.216.34/","events":["intent.denied"]}`,
	} {
		began := time.Now()
		got, err := service.try("POST", path, key, body)
		if err != nil && service.ended() {
			continue
		}
		var a answer
		if err != nil || json.Unmarshal([]byte(got.body), &a) != nil {
			t.Errorf("%s: %v %s", path, err, got.body)
			continue
		}
		a.HTTP = got.status
		if !unavailable(a) || time.Since(began) > slowness*patience {
			t.Errorf("%s with a full disk, after %v: %d %s", path, time.Since(began), got.status, got.body)
		}
	}
	if got := service.send("GET", "/healthz", "", ""); got.status != 200 {
		t.Errorf("healthz: %d %s", got.status, got.body)
	}
	if status, body := service.awaitReady(t, 503); status == 503 && !strings.Contains(body, `{"name":"disk","ready":false`) {
		t.Errorf("readyz: %s", body)
	}
}

// nothingLost looks for decisions among the events.
func nothingLost(t *testing.T, service *running, key string, decided []string) {
	t.Helper()
	recorded := map[string]bool{}
	for query, more := "?limit=1000", true; more; {
		list, events := service.page(t, key, query)
		for _, e := range events {
			recorded[e.Commitment] = true
		}
		query, more = "?limit=1000&after="+list.Next, list.More
	}
	lost := func(decided []string) (list []string) {
		return slices.DeleteFunc(slices.Clone(decided), func(commitment string) bool { return recorded[commitment] })
	}
	if list := lost(decided); len(list) > 0 {
		t.Errorf("%d decisions were answered and are lost, such as %s", len(list), list[0])
	}
	if len(decided) < 40 || len(lost(append(decided, "planted"))) != 1 {
		t.Errorf("%d decisions: the test shows too little", len(decided))
	}
}
