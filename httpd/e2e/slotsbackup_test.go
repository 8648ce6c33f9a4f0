package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// backUpBeside takes a backup on the machine of an instance that has signed how far a slot has come, while clients decide, and makes a data folder of it, for a service without a database, whose limits
// continue. The record there verifies, and has what clients were told before. The service runs.
func (f *failover) backUpBeside(mu sync.Locker, tell *told) (service *running, log []logged) {
	f.t.Helper()
	i := f.awaitCheckpoint(f.instances...)
	mu.Lock()
	before := told{groups: tell.groups, decisions: maps.Clone(tell.decisions)}
	mu.Unlock()
	dir, began := f.path("backup-"+fmt.Sprint(f.serial.Add(1))), time.Now()
	said, err := f.on(i, "backup", dir)
	took := time.Since(began)
	if want := fmt.Sprintf("has the record of %d slots up to ", f.slots-1); err != nil || !strings.Contains(said, want) {
		f.t.Fatalf("a backup: %v: %s", err, said)
	}
	mu.Lock()
	during := len(tell.decisions) - len(before.decisions)
	mu.Unlock()
	if len(before.decisions) == 0 || during == 0 {
		f.t.Errorf("%d decisions before a backup, and %d during it: the test shows too little", len(before.decisions), during)
	}
	f.t.Logf("the backup took %v, with %d decisions before it, and %d meanwhile", took.Round(time.Millisecond), len(before.decisions), during)
	alone := *f.site
	alone.env = append(slices.Clone(f.env), "SVC_STORE=", "SVC_DATA_DIR="+dir+"-data")
	alone.must("restore", "--check", dir)
	alone.must("restore", "--keep-counters", "--thawed", dir)
	if said := alone.must("events", "verify"); !strings.Contains(said, "fits; 0 records came after it") {
		f.t.Errorf("the restored record: %s", said)
	}
	service = alone.start()
	log, _, err = readLog(dir+"-data/admin.sock", "0")
	if err != nil {
		f.t.Fatal(err)
	}
	mu.Lock() // of the groups
	defer mu.Unlock()
	others := func(e logged) bool { return before.groups[e.Commitment] == "" }
	if found := before.problems(slices.DeleteFunc(slices.Clone(log), others)); len(found) > 0 {
		f.t.Errorf("%d problems with the restored record, such as %s", len(found), found[0])
	}
	return service, log
}

// awaitCheckpoint waits until one of some instances has signed how far a slot has come, which no one does of an empty log.
func (f *failover) awaitCheckpoint(of ...*instance) (has *instance) {
	f.t.Helper()
	f.await("checkpoints are written", func() bool {
		for _, has = range of {
			if kept, err := filepath.Glob(f.path("data-" + has.name + "/checkpoint-*")); err == nil && len(kept) > 0 {
				return true
			}
		}
		return false
	})
	return has
}

// A sequence is what a client was told, one thing after the other.
type sequence []string

// gap returns the first thing that a record lacks although it has a later one; "" where there is none.
func (s sequence) gap(log []logged) (lacks string) {
	has := map[string]bool{}
	for _, e := range log {
		has[e.Commitment] = true
	}
	for _, commitment := range s {
		switch {
		case !has[commitment] && lacks == "":
			lacks = commitment
		case has[commitment] && lacks != "":
			return lacks
		}
	}
	return ""
}

// backsUpSlots takes a backup while clients ask with one key after the other, at one instance after the other. It is of one moment: where it has a decision, it
// has all those that the client was told before. The limits of keys continue in the restored record, and the store itself decides on.
func (f *failover) backsUpSlots(keys []registered) {
	f.t.Helper()
	f.awaitCheckpoint(f.instances...)
	tell := told{groups: map[string]string{}, decisions: map[string]string{}}
	sequences := make([]sequence, 3)
	var mu sync.Mutex
	var clients sync.WaitGroup
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop); clients.Wait() })
	defer end()
	for c := range sequences {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				k := (c + n) % len(keys)
				sum := sha256.Sum256(fmt.Append(nil, "backup", f.serial.Add(1)))
				commitment := hex.EncodeToString(sum[:])
				body := strings.Replace(tool("bash", `"command":"ls","task_id":"meanwhile"`), strings.Repeat("ab", 32), commitment, 1)
				mu.Lock()
				tell.groups[commitment] = fmt.Sprintf("%d-meanwhile", k)
				mu.Unlock()
				got, err := (&running{site: f.site, base: f.instances[n%3].address()}).post("/v1/authorize", keys[k].APIKey, body)
				if got.Code == "SVC_LIMIT_STORE_UNAVAILABLE" { // nothing was told
					time.Sleep(20 * time.Millisecond)
					continue
				}
				if err != nil || got.Status != "ALLOWED" && got.Status != "DENIED" {
					f.t.Errorf("beside a backup: %v: %d %s", err, got.HTTP, got.Raw)
					return
				}
				mu.Lock()
				tell.decisions[commitment], sequences[c] = got.Status, append(sequences[c], commitment)
				mu.Unlock()
			}
		})
	}
	f.await("clients decide", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(tell.decisions) > 100 || f.t.Failed()
	})
	service, log := f.backUpBeside(&mu, &tell)
	defer service.stop()
	end()
	for c, s := range sequences {
		if lacks := s.gap(log); lacks != "" {
			f.t.Errorf("client %d was told of %s before something that the backup has, and the backup lacks it", c, lacks)
		}
	}
	at := &running{site: f.site, base: f.instances[0].address()}
	for _, key := range keys {
		service.decides(f.t, "restored, at the limit", key.APIKey, tool("bash", `"command":"ls","task_id":"limited"`), "DENIED SVC_LOOP_LIMIT_EXCEEDED")
		service.decides(f.t, "restored", key.APIKey, tool("bash", `"command":"ls","task_id":"restored"`), "ALLOWED")
		at.decides(f.t, "at the store", key.APIKey, tool("bash", `"command":"ls","task_id":"after"`), "ALLOWED")
	}
}

// TestGap is the canary of sequence.gap.
func TestGap(t *testing.T) {
	log := []logged{{Commitment: "a"}, {Commitment: "c"}}
	for want, s := range map[string]sequence{"": {"a", "c", "d"}, "b": {"a", "b", "c"}, "x": {"x", "a"}} {
		if got := s.gap(log); got != want {
			t.Errorf("%v: %q, want %q", s, got, want)
		}
	}
}
