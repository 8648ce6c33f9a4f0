package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/kit/wire"
)

// storeRole is the role of instances, which may not change kept records.
const storeRole = "bailiff"

// failoverLease is the lease of instances in tests.
const failoverLease = 2 * time.Second

// A failover is instances over a primary and its synchronous standby, each of which is started again when it ends, clients that
// decide with whichever answers, and what they were told.
type failover struct {
	*site
	primary, standby *pgtest.Server
	old              *pgtest.Server // the primary before; nil before it was replaced
	instances        []*instance
	slots            int      // of the store, the first of several included
	key              string   // of clients; several have keys
	keys             []string // of a store of several slots
	serial           atomic.Int64
	answers          atomic.Int64 // decisions that were told
	ending           atomic.Bool
	passing          bool   // instances pass requests on, and clients ask any of them
	front            string // the address of a balancer that every other client asks, or ""

	mu     sync.Mutex
	frozen time.Time // since when no instance may allow anything; zero where they may
	alone  time.Time // since when nothing may be told, since the primary has no standby; zero where it has
	early  int       // decisions that were told all the same
	told   told
	silent time.Duration // the longest time without an answer
	last   time.Time     // an answer came
	byKey  [maxFailoverKeys]answered
	errors int // requests that were not answered
}

// An answered is what clients were told of a key.
type answered struct {
	number int
	silent time.Duration // the longest time without an answer
	last   time.Time     // one came
}

func newFailover(t *testing.T, passing bool, names ...string) *failover {
	t.Helper()
	return newFailoverOf(t, passing, 1, names...)
}

// newFailoverOf is newFailover over a store of so many slots.
func newFailoverOf(t *testing.T, passing bool, slots int, names ...string) *failover {
	t.Helper()
	f := &failover{passing: passing, slots: 1, told: told{groups: map[string]string{}, decisions: map[string]string{}}, last: time.Now()}
	f.primary, f.standby = pgtest.StartPair(t)
	f.site = newSite(t, fmt.Sprintf(toolPolicy, taskLimit), "SVC_STORE="+pgtest.Both(f.primary, f.standby), "SVC_STORE_LEASE="+failoverLease.String())
	f.env = append(append(f.env, f.trustShim()...), "SVC_KEY_DIR="+f.path("keys"), "SVC_STORE_SYNC=require")
	f.primary.NewRole(storeRole)
	for _, f.release = range slices.Compact([]string{previous(), ""}) { // as for an update
		f.await("the store is made", func() bool { // which gives up on a slow machine
			_, said, code := f.run("store", "init", "--role", storeRole, "--slots", strconv.Itoa(slots))
			if code != 0 {
				t.Log(said)
			}
			return code == 0
		})
	}
	f.env = append(f.env, "SVC_STORE="+pgtest.As(storeRole, pgtest.Both(f.primary, f.standby)))
	if slots == 1 {
		f.key = f.apiKey() // before any instance runs
	} else {
		f.slots = slots + 1
	}
	peers := f.certify(names...)
	for _, name := range names {
		i := &instance{f: f, name: name, program: binary, ended: make(chan struct{}), env: append(slices.Clone(f.env), append(peers[name], "SVC_DATA_DIR="+f.path("data-"+name), "SVC_INSTANCE="+name)...)}
		i.wire()
		f.instances = append(f.instances, i)
	}
	t.Cleanup(f.end)
	for _, i := range f.instances {
		go i.supervise()
		f.await("an instance starts", func() bool { return i.address() != "" })
	}
	return f
}

// certify makes certificates for instances that pass requests on, and returns the settings of each.
func (f *failover) certify(names ...string) map[string][]string {
	f.t.Helper()
	settings := map[string][]string{}
	if !f.passing {
		return settings
	}
	var status struct{ ID string }
	text, said, _ := f.run("store", "status", "--json")
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		f.t.Fatalf("%v: %s", err, said)
	}
	hosts := map[string]string{}
	for _, name := range names {
		hosts[name] = name + "." + status.ID + ".bailiff.internal"
	}
	if err := certificate.Make(f.dir, "authority", slices.Collect(maps.Values(hosts))...); err != nil {
		f.t.Fatal(err)
	}
	for name, host := range hosts {
		settings[name] = []string{"SVC_PEER_LISTEN=127.0.0.1:0", "SVC_PEER_CERT=" + f.path(host+".pem"), "SVC_PEER_KEY=" + f.path(host+".key"), "SVC_PEER_CA=" + f.path("authority.pem")}
	}
	return settings
}

// end ends the instances.
func (f *failover) end() {
	f.ending.Store(true)
	for _, i := range f.instances {
		i.signal(syscall.SIGKILL)
		select {
		case <-i.ended:
		case <-time.After(10 * time.Second):
		}
		if f.t.Failed() {
			f.t.Logf("the log of %s, which ended with %v:\n%s", i.name, i.exits, i.log.String())
		}
	}
}

// await waits until something is so.
func (f *failover) await(what string, so func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// restart has each instance, one after the other, end in order and start again.
func (f *failover) restart() {
	f.t.Helper()
	for _, i := range f.instances {
		i.mu.Lock()
		ends := len(i.exits)
		i.mu.Unlock()
		i.signal(syscall.SIGTERM)
		f.await("an instance starts again", func() bool {
			i.mu.Lock()
			defer i.mu.Unlock()
			return len(i.exits) > ends && i.base != ""
		})
	}
}

// owner returns the instance that decides, and another one.
func (f *failover) owner() (owner, other *instance) {
	f.t.Helper()
	f.await("an instance decides", func() bool {
		text, _, code := f.run("store", "status", "--json")
		var status struct{ Owner string }
		if code != 0 || json.Unmarshal([]byte(text), &status) != nil {
			return false
		}
		owner, other = nil, nil
		for _, i := range f.instances {
			if i.name == status.Owner {
				owner = i
			} else {
				other = i
			}
		}
		return owner != nil
	})
	return owner, other
}

// decides has a client decide, with the instance that answered last or the other one, until stop is closed.
func (f *failover) decides(client int, stop <-chan struct{}) {
	at := client
	web := &http.Client{Timeout: failoverLease + time.Second}
	defer web.CloseIdleConnections()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		if f.passing {
			at = int(f.serial.Load())
		}
		base, began := f.instances[at%len(f.instances)].address(), time.Now()
		if f.front != "" && client%2 == 0 {
			base = f.front
		}
		sum := sha256.Sum256(fmt.Append(nil, f.serial.Add(1)))
		commitment, task, key, of := hex.EncodeToString(sum[:]), fmt.Sprintf("t-%d", n/60*4+client%4), f.key, &f.byKey[0]
		if len(f.keys) > 0 {
			k := client % len(f.keys)
			key, of, task = f.keys[k], &f.byKey[k], fmt.Sprintf("%d-%s", k, task)
		}
		body := strings.Replace(tool("bash", fmt.Sprintf(`"command":%q,"task_id":%q`, []string{"ls", "ls", "rm -rf /"}[n%3], task)), strings.Repeat("ab", 32), commitment, 1)
		f.mu.Lock()
		f.told.groups[commitment] = task
		f.mu.Unlock()
		got, err := answer{}, error(nil)
		if base != "" {
			got, err = (&running{base: base}).postBy(web, "/v1/authorize", key, body)
		}
		if base == "" || err != nil || got.PolicyHash == "" || got.Code == "SVC_LIMIT_STORE_UNAVAILABLE" {
			at++
			if base != "" {
				f.mu.Lock()
				f.errors++
				f.mu.Unlock()
			}
			time.Sleep(20 * time.Millisecond)
			continue
		}
		f.answers.Add(1)
		f.mu.Lock()
		f.told.decisions[commitment] = got.Status
		if got.Status == "ALLOWED" && !f.frozen.IsZero() && began.After(f.frozen) {
			f.t.Errorf("%s is allowed, although the service was frozen before it was asked", commitment)
		}
		if !f.alone.IsZero() && began.After(f.alone) {
			f.early++
		}
		f.silent, f.last = max(f.silent, time.Since(f.last)), time.Now()
		of.number++
		of.silent, of.last = max(of.silent, time.Since(of.last)), time.Now()
		f.mu.Unlock()
	}
}

// goesOn waits until clients are answered again, and returns the longest time for which none was.
func (f *failover) goesOn() time.Duration {
	f.t.Helper()
	before := f.answers.Load()
	f.await("decisions go on", func() bool { return f.answers.Load() > before+50 })
	f.mu.Lock()
	defer f.mu.Unlock()
	silent := f.silent
	f.silent = 0
	return silent
}

// hold holds the whole log against what clients were told.
func (f *failover) hold(after string) []logged {
	f.t.Helper()
	var log []logged
	f.await("the log is read", func() bool {
		owner, _ := f.owner()
		var err error
		log, _, err = readLog(f.path("data-"+owner.name+"/admin.sock"), "0")
		return err == nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.told.problems(log)
	if len(found) > 0 {
		f.t.Errorf("after %s: %d problems, such as %s", after, len(found), found[0])
	}
	return log
}

// TestFailover ends the instance that decides in every way, and then the primary, while clients decide: nothing that they were told is
// lost, no limit is exceeded, and nothing is decided twice.
func TestFailover(t *testing.T) {
	failovers(t, 2, func(t *testing.T, n int, random *mathrand.Rand) { failOver(t, random, n%2 == 0) })
}

// failovers runs as many rounds as BAILIFF_FAILOVERS says, or usual ones, each as a test of its own, which leaves nothing behind.
func failovers(t *testing.T, usual int, round func(t *testing.T, n int, random *mathrand.Rand)) {
	random := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 2))
	for n := range times(t, "BAILIFF_FAILOVERS", usual) {
		own := mathrand.New(mathrand.NewPCG(random.Uint64(), 0))
		t.Run(fmt.Sprint("round ", n+1), func(t *testing.T) {
			t.Parallel()
			round(t, n, own)
		})
	}
}

func failOver(t *testing.T, random *mathrand.Rand, passing bool) {
	f := newFailover(t, passing, "a", "b")
	t.Logf("requests are passed on: %t", f.passing)
	defer f.end()
	if f.passing {
		f.passesMeanwhile()
	} else {
		f.refusesMeanwhile()
	}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	end := sync.OnceFunc(func() { close(stop); clients.Wait() })
	defer end()
	for client := range 8 {
		clients.Go(func() { f.decides(client, stop) })
	}
	f.goesOn()
	f.restart()
	t.Logf("each asked to end in turn: %v without an answer", f.goesOn().Round(time.Millisecond))
	drawn := f.faults(random)
	for _, fault := range drawn {
		what := fault()
		silent := f.goesOn()
		f.mu.Lock()
		t.Logf("%s: %v without an answer, %d requests without one", what, silent.Round(time.Millisecond), f.errors)
		f.errors = 0
		f.mu.Unlock()
		if t.Failed() {
			break
		}
		f.await("one instance decides, and the other one waits", func() bool {
			owner, other := f.owner()
			return !owner.isWaiting() && other.isWaiting()
		})
		f.onStandby(what)
	}
	end()
	log := f.hold("all of it")
	f.backUp()
	f.canaries(log)
	f.wentBack()
	t.Logf("%d decisions told, %d events", len(f.told.decisions), len(log))
}

// faults draws what happens to instances and their wires, and to the primary after it.
func (f *failover) faults(random *mathrand.Rand) (drawn []func() string) {
	draw := func(n int, from ...func() string) {
		random.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		drawn = append(drawn, from[:min(n, len(from))]...)
	}
	each := times(f.t, "BAILIFF_FAULTS", 3) / 2
	draw(each, f.killed, f.asked, f.paused, f.restarted)
	wires := []func() string{f.slowStore, f.lostStore(wire.Holds), f.lostStore(wire.Answers), f.lostStore(wire.Requests), f.lostStore(wire.Cut), f.frozeStandby, f.cancelledWaits}
	if f.passing {
		wires = append(wires, f.lostPeer(wire.Holds), f.lostPeer(wire.Answers), f.lostPeer(wire.Requests), f.lostPeer(wire.Cut))
	}
	draw(each, wires...)
	random.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	draw(1, f.lostPrimary, f.frozePrimary)
	return drawn
}

// replaced ends the owner by a signal, and has it started again when the other one decides. Before that it would take the record itself.
func (f *failover) replaced(by syscall.Signal) {
	f.t.Helper()
	owner, other := f.owner()
	owner.held.Store(true)
	defer owner.held.Store(false)
	owner.signal(by)
	f.await("the other instance decides", func() bool { now, _ := f.owner(); return now == other })
}

// killed loses the owner with its machine.
func (f *failover) killed() string {
	f.replaced(syscall.SIGKILL)
	return "owner lost"
}

// asked asks the owner to end.
func (f *failover) asked() string {
	f.replaced(syscall.SIGTERM)
	return "owner asked to end"
}

// restarted kills the owner, which is started again at once.
func (f *failover) restarted() string {
	owner, _ := f.owner()
	owner.signal(syscall.SIGKILL)
	f.await("it is started again", func() bool { return owner.address() == "" })
	return "owner killed and started again"
}

// paused stops the owner's process for longer than its lease. Once it runs again it must not answer from memory: a key that was revoked
// in the meantime still counts there.
func (f *failover) paused() string {
	f.t.Helper()
	owner, other := f.owner()
	base := owner.address()
	key := f.second(owner)
	owner.signal(syscall.SIGSTOP)
	f.await("the other instance decides", func() bool { now, _ := f.owner(); return now == other })
	f.await("a key is revoked", func() bool {
		_, err := f.on(other, "keys", "revoke", key.KeyID)
		return err == nil
	})
	asked := make(chan answer, 8)
	for range cap(asked) {
		go func() {
			got, _ := (&running{base: base}).postBy(&http.Client{Timeout: 10 * time.Second}, "/v1/authorize/test-run", key.APIKey, tool("bash", `"command":"ls"`))
			asked <- got
		}()
	}
	time.Sleep(100 * time.Millisecond) // they have been sent
	owner.signal(syscall.SIGCONT)
	for range cap(asked) {
		if got := <-asked; got.HTTP != 0 && got.HTTP != http.StatusServiceUnavailable && got.HTTP != http.StatusUnauthorized {
			f.t.Errorf("an instance that was paused answers from its memory: %d %s", got.HTTP, got.Raw)
		}
	}
	return "owner paused"
}

// second makes another key.
func (f *failover) second(owner *instance) (key registered) {
	f.t.Helper()
	text, err := f.on(owner, "keys", "create", "--email", "second@example.com", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(text), &key)
	}
	if err != nil {
		f.t.Fatalf("a second key: %v", err)
	}
	return key
}

// on runs a command on the machine of an instance.
func (f *failover) on(i *instance, arguments ...string) (string, error) {
	at := *f.site
	at.env = i.env
	text, said, code := at.run(arguments...)
	if code != 0 {
		return "", fmt.Errorf("exit %d: %s", code, said)
	}
	return text, nil
}

// refusesMeanwhile: while an instance waits it is alive, not ready, and decides nothing; commands say where to go.
func (f *failover) refusesMeanwhile() {
	f.t.Helper()
	owner, other := f.owner()
	waiting := &running{site: f.site, base: other.address()}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/v1/warranty": 503, "/.well-known/jwks.json": 503} {
		if status, _, body := waiting.get(path); status != want {
			f.t.Errorf("%s of an instance that waits: %d %s", path, status, body)
		}
	}
	if got := waiting.ask("/v1/authorize", f.key, tool("bash", `"command":"ls"`)); got.HTTP != 503 || got.Code != "SVC_STORE_UNAVAILABLE" {
		f.t.Errorf("an instance that waits: %d %s", got.HTTP, got.Raw)
	}
	if _, err := f.on(other, "keys", "list"); err == nil || !strings.Contains(err.Error(), "the instance "+owner.name+" decides") {
		f.t.Errorf("a command where an instance waits: %v", err)
	}
}

// passesMeanwhile: an instance that waits is ready, and answers as the one that decides does.
func (f *failover) passesMeanwhile() {
	f.t.Helper()
	owner, other := f.owner()
	waiting, deciding := &running{site: f.site, base: other.address()}, &running{site: f.site, base: owner.address()}
	f.await("the instance that waits passes requests on", func() bool { status, _, _ := waiting.get("/readyz"); return status == 200 })
	for _, path := range []string{"/v1/warranty", "/.well-known/jwks.json", "/openapi.json", "/nowhere"} {
		wantStatus, _, want := deciding.get(path)
		if status, _, body := waiting.get(path); status != wantStatus || body != want {
			f.t.Errorf("%s of an instance that passes it on: %d %s; of the other one: %d %s", path, status, body, wantStatus, want)
		}
	}
	got := waiting.ask("/v1/authorize", f.key, tool("bash", `"command":"ls","task_id":"passed"`))
	if got.HTTP != 200 || got.Status != "ALLOWED" {
		f.t.Errorf("an instance that passes it on: %d %s", got.HTTP, got.Raw)
	}
	f.signsWhereItCame(waiting, deciding)
	other.signal(syscall.SIGHUP)
	f.await("an instance that waits reads its certificates again", func() bool { return strings.Contains(other.log.String(), "the certificates were read again") })
	key := f.second(owner)
	if _, err := f.on(owner, "keys", "revoke", key.KeyID); err != nil {
		f.t.Errorf("revoking a key: %v", err)
	}
	if got := waiting.ask("/v1/authorize", key.APIKey, tool("bash", `"command":"ls"`)); got.HTTP != 401 {
		f.t.Errorf("a key that was revoked, at the instance that waits: %d %s", got.HTTP, got.Raw)
	}
}

// backUp copies the record while an instance decides, and makes a data folder of the copy, for a service without a database.
func (f *failover) backUp() {
	f.t.Helper()
	owner, _ := f.owner()
	dir := f.path("backup-" + fmt.Sprint(f.serial.Load()))
	if _, err := f.on(owner, "backup", dir); err != nil {
		f.t.Errorf("a backup: %v", err)
		return
	}
	alone := *f.site
	alone.env = append(slices.Clone(f.env), "SVC_STORE=", "SVC_DATA_DIR="+dir+"-data")
	if said, fault, code := alone.run("restore", dir); code != 0 {
		f.t.Errorf("a restoration: exit %d: %s%s", code, said, fault)
	}
	if said, fault, code := alone.run("events", "verify"); code != 0 {
		f.t.Errorf("what was restored: exit %d: %s%s", code, said, fault)
	}
}

// canaries plants faults in the log, and has the checks find them.
func (f *failover) canaries(log []logged) {
	f.t.Helper()
	allowed := slices.IndexFunc(log, func(e logged) bool { return f.told.decisions[e.Commitment] == "ALLOWED" })
	if allowed < 0 {
		f.t.Fatal("nothing was allowed: the test shows too little")
	}
	again := log[allowed]
	again.LSN = log[len(log)-1].LSN + 1
	over := slices.Clone(log)
	for n := range taskLimit {
		e := again
		e.Commitment, e.LSN = fmt.Sprintf("more-%d", n), again.LSN+uint64(n)
		f.told.groups[e.Commitment] = f.told.groups[again.Commitment]
		over = append(over, e)
	}
	for what, planted := range map[string][]logged{
		"a lost decision":      slices.Delete(slices.Clone(log), allowed, allowed+1),
		"a decision twice":     append(slices.Clone(log), again),
		"a limit that is over": over,
	} {
		if len(f.told.problems(planted)) == 0 {
			f.t.Errorf("%s is not noticed", what)
		}
	}
}
