package e2e

import (
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// slotsStatus is what store status tells of slots.
type slotsStatus struct {
	Slots []struct {
		Slot  int
		Owner string
	}
}

// maxFailoverKeys is how many keys clients have at most.
const maxFailoverKeys = 16

// owned returns which instance has each slot, as soon as each has one.
func (f *failover) owned() (owners []string) {
	f.t.Helper()
	f.await("each slot has an owner", func() bool {
		text, _, code := f.run("store", "status", "--json")
		var status slotsStatus
		if code != 0 || json.Unmarshal([]byte(text), &status) != nil {
			return false
		}
		owners = nil
		for _, slot := range status.Slots {
			owners = append(owners, slot.Owner)
		}
		return true
	})
	return owners
}

// share waits until each instance has no more than its share of the slots, and is ready.
func (f *failover) share() {
	f.t.Helper()
	f.await("the slots are shared", func() bool {
		counts := map[string]int{}
		owners := f.owned()
		for _, owner := range owners {
			counts[owner]++
		}
		for _, i := range f.instances {
			if n := counts[i.name]; n == 0 || n > (len(owners)+len(f.instances)-1)/len(f.instances) {
				return false
			}
			if status, _, _ := (&running{site: f.site, base: i.address()}).get("/readyz"); status != 200 {
				return false
			}
		}
		return true
	})
}

// TestSlots: over a store of several slots any instance answers any request as the one does that has the key's slot.
func TestSlots(t *testing.T) {
	t.Parallel()
	f := newFailoverOf(t, true, 4, "a", "b", "c")
	defer f.end()
	origin := f.reached()
	var keys []registered
	for n := range 8 {
		keys = append(keys, f.second(f.instances[n%3]))
	}
	at := func(n int) *running { return &running{site: f.site, base: f.instances[n%3].address()} }
	for k, key := range keys {
		for n := range taskLimit + 2 {
			body := strings.Replace(tool("bash", `"command":"ls","task_id":"limited"`), strings.Repeat("ab", 32), fmt.Sprintf("%064x", 1000*k+n), 1)
			got := at(k+n).ask("/v1/authorize", key.APIKey, body)
			if want := map[bool]string{true: "ALLOWED", false: "DENIED"}[n < taskLimit]; got.Status != want {
				t.Errorf("request %d of key %d: %d %s, and not %s", n, k, got.HTTP, got.Raw, want)
			}
		}
	}
	f.backsUpSlots(keys)
	f.consoles(keys, origin)
	if _, err := f.on(f.instances[1], "keys", "revoke", keys[0].KeyID); err != nil {
		t.Error(err)
	}
	for n := range 3 {
		if got := at(n).ask("/v1/authorize", keys[0].APIKey, tool("bash", `"command":"ls"`)); got.HTTP != 401 {
			t.Errorf("a key that was revoked: %d %s", got.HTTP, got.Raw)
		}
		if got := at(n).ask("/v1/authorize", "sk_svc_"+strings.Repeat("0", 64), tool("bash", `"command":"ls"`)); got.HTTP != 401 {
			t.Errorf("a key that is none: %d %s", got.HTTP, got.Raw)
		}
	}
	began := time.Now()
	if _, err := f.on(f.instances[2], "freeze", "--reason", "drill"); err != nil {
		t.Error(err)
	}
	t.Logf("the freeze took %v", time.Since(began))
	for k, key := range keys[1:] {
		if got := at(k).ask("/v1/authorize", key.APIKey, tool("bash", `"command":"ls"`)); got.Code != "SVC_FROZEN" {
			t.Errorf("key %d of a frozen service: %d %s", k+1, got.HTTP, got.Raw)
		}
	}
	f.readsSlots(keys)
	f.verifiesSlots()
}

// readsSlots: each instance tells the same of all slots, and of a key's log.
func (f *failover) readsSlots(keys []registered) {
	f.t.Helper()
	log, _, err := readLog(f.path("data-a/admin.sock"), "0")
	decided, freezes := map[string]int{}, 0
	for i, e := range log {
		switch {
		case e.Event == "decision":
			decided[e.KeyID]++
		case e.Event == "service.frozen":
			freezes++
		}
		if i > 0 && e.Timestamp[:19] < log[i-1].Timestamp[:19] {
			f.t.Errorf("an event of %s comes after one of %s", e.Timestamp, log[i-1].Timestamp)
		}
	}
	if err != nil || freezes != 1 {
		f.t.Errorf("%d freezes: %v", freezes, err)
	}
	for k, key := range keys {
		if decided[key.KeyID] < taskLimit+2 {
			f.t.Errorf("there are %d events of key %d", decided[key.KeyID], k)
		}
		var heads []string
		for _, i := range f.instances {
			got, err := (&running{site: f.site, base: i.address()}).try("GET", "/v1/events/checkpoint", key.APIKey, "")
			if lines := strings.SplitN(got.body, "\n", 4); err == nil && k > 0 && len(lines) == 4 {
				heads = append(heads, lines[0]+" "+lines[1]+" "+lines[2])
			}
		}
		if k > 0 && (len(heads) != len(f.instances) || len(slices.Compact(heads)) != 1) {
			f.t.Errorf("checkpoints of key %d: %q", k, heads)
		}
		list, err := f.on(f.instances[k%3], "keys", "list")
		if err != nil || !strings.Contains(list, key.KeyID) {
			f.t.Errorf("key %d is not listed: %v", k, err)
		}
	}
}

// verifiesSlots: each log verifies, by the checkpoints that instances keep of them, and what works over one log is refused.
func (f *failover) verifiesSlots() {
	f.t.Helper()
	for _, i := range f.instances {
		f.awaitCheckpoint(i)
		said, err := f.on(i, "events", "verify")
		if err != nil || strings.Count(said, "verified: ") != f.slots || !strings.Contains(said, "fits; ") {
			f.t.Errorf("the record is not verified on the machine of %s: %v\n%s", i.name, err, said)
		}
	}
	for command, say := range map[string]string{
		"store export --to elsewhere": "stop every instance first", "events verify --checkpoint x": "--checkpoint is of one log",
		"store import --from .": "has records already", "store restored": "stop every instance first",
	} {
		if _, err := f.on(f.instances[0], strings.Fields(command)...); err == nil || !strings.Contains(err.Error(), say) {
			f.t.Errorf("bailiff %s: %v", command, err)
		}
	}
	unset := *f.site
	unset.env = append(slices.Clone(f.env), "SVC_STORE=", "SVC_DATA_DIR="+f.path("data-a"))
	unset.fails("where it copies the record, set SVC_STORE", "backup", "unset")
}

// TestSlotsConform holds three instances of a store of several slots to the oracle, behind a balancer that knows nothing of them.
func TestSlotsConform(t *testing.T) {
	t.Parallel()
	f := newFailoverOf(t, true, 4, "a", "b", "c")
	defer f.end()
	f.share()
	f.balance()
	text, said, code := f.conform(f.front, "data-b/admin.sock", *conformCases, "--level", "Core,Limits,Holds,Attestation")
	t.Log(text)
	if code != 0 || !strings.Contains(text, " 0 divergences") {
		t.Errorf("exit %d: %s", code, said)
	}
}

// allGoOn waits until clients are answered for each key again, and returns the longest time for which a key was not since this was called
// last.
func (f *failover) allGoOn() (silent time.Duration) {
	f.t.Helper()
	f.mu.Lock()
	before := f.byKey
	f.mu.Unlock()
	f.await("decisions go on for each key", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for k := range f.keys {
			if f.byKey[k].number < before[k].number+3 {
				return false
			}
		}
		return true
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.keys {
		silent = max(silent, f.byKey[k].silent)
		f.byKey[k].silent = 0
	}
	return silent
}

// TestSlotsFailover ends instances of a store of several slots in every way, and then the primary, while clients decide: nothing that they
// were told is lost, no limit is exceeded, and nothing is decided twice.
func TestSlotsFailover(t *testing.T) {
	failovers(t, 3, func(t *testing.T, n int, random *mathrand.Rand) { slotsFailOver(t, random, n%2 == 1) })
}

func slotsFailOver(t *testing.T, random *mathrand.Rand, balanced bool) {
	f := newFailoverOf(t, true, 4, "a", "b", "c")
	defer f.end()
	f.differ()
	f.share()
	if balanced {
		f.balance()
	}
	t.Logf("a balancer is in front for every other client: %t", balanced)
	for range 8 {
		f.keys = append(f.keys, f.second(f.instances[0]).APIKey)
	}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	end := sync.OnceFunc(func() { close(stop); clients.Wait() })
	defer end()
	for client := range 8 {
		clients.Go(func() { f.decides(client, stop) })
	}
	f.allGoOn()
	f.mu.Lock()
	f.silent, f.errors = 0, 0 // of the start
	f.mu.Unlock()
	faults := f.slotFaults()
	random.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	primary := []slotFault{{name: "primary lost", do: func(*instance) { f.lostPrimary() }}, {name: "primary hung, and back later", do: func(*instance) { f.frozePrimary() }}}
	faults = append(faults[:min(len(faults), times(t, "BAILIFF_FAULTS", 3))], primary[random.IntN(len(primary))])
	for _, fault := range faults {
		i := f.instances[random.IntN(len(f.instances))]
		if fault.of != nil {
			i = fault.of
		}
		fault.do(i)
		silent := f.allGoOn()
		f.mu.Lock()
		t.Logf("%s (instance %s): at most %v without an answer for a key, and %v for all of them; %d requests without one",
			fault.name, i.name, silent.Round(time.Millisecond), f.silent.Round(time.Millisecond), f.errors)
		f.silent, f.errors = 0, 0
		f.mu.Unlock()
		f.await("all instances run", func() bool {
			return !slices.ContainsFunc(f.instances, func(i *instance) bool { return i.address() == "" })
		})
		f.onStandby(fault.name)
		if t.Failed() {
			break
		}
	}
	if !slices.ContainsFunc(faults, func(fault slotFault) bool { return fault.of != nil }) { // a record that may be ahead of time is not restored
		service, _ := f.backUpBeside(&f.mu, &f.told)
		if err := service.stop(); err != nil {
			t.Error(err)
		}
	}
	end()
	log := f.hold("all of it")
	f.canaries(log)
	t.Logf("%d decisions told, %d events", len(f.told.decisions), len(log))
}
