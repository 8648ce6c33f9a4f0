package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/kit/seed"
)

// taskLimit is how many calls a task may make while the service is being killed.
const taskLimit = 30

// ordeal is a hosted service that is killed again and again while clients do everything that it is for, and what they
// were told.
type ordeal struct {
	t        *testing.T
	s        *site
	random   *mathrand.Rand
	mine     operator
	receiver *receiver
	// deciders works at a limit, hooked has a webhook, deployer deploys, holder has intents approved, subscriber registers
	// and removes webhooks.
	deciders, hooked, deployer, holder, subscriber registered
	serial                                         atomic.Int64

	mu   sync.Mutex
	told told
	log  []logged
	at   string // cursor of the log
}

// told is what clients sent and what they were told.
type told struct {
	groups      map[string]string // commitment → what it counts for: a task, or an intent that a person approves
	decisions   map[string]string // commitment → decision
	deployments []string          // policy hashes, in order
	deploying   map[string]bool   // policy hashes that were sent
	approved    map[string]string // hold → intent
	keys        []string
	revoked     map[string]bool   // keys; false where it is unknown
	subscribed  map[string]string // webhook → "there", "gone", or "unknown"
	hooked      string            // id of the key with the webhook
}

func (o *ordeal) tell(add func(*told)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	add(&o.told)
}

// newOrdeal makes the keys, and does everything once.
func newOrdeal(t *testing.T) *ordeal {
	t.Helper()
	o := &ordeal{
		t: t, s: newHosted(t, "SVC_WEBHOOK_ALLOW_PRIVATE=true", "SVC_RATE_LIMIT_MANAGE=0"), mine: newOperator(t), receiver: newReceiver(t, nil), at: "0",
		random: mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 1)),
		told:   told{groups: map[string]string{}, decisions: map[string]string{}, deploying: map[string]bool{}, approved: map[string]string{}, revoked: map[string]bool{}, subscribed: map[string]string{}},
	}
	service := o.s.start()
	for _, row := range []struct {
		key    *registered
		policy string
	}{
		{&o.deciders, fmt.Sprintf(toolPolicy, taskLimit)}, {&o.hooked, fmt.Sprintf(toolPolicy, taskLimit)},
		{&o.deployer, mailPolicy}, {&o.holder, mailPolicy}, {&o.subscriber, mailPolicy},
	} {
		*row.key = service.register()
		o.s.must("keys", "set-plan", row.key.KeyID, "growth")
		service.deploy(row.key.APIKey, o.mine, row.policy)
	}
	o.told.hooked = o.hooked.KeyID
	service.hook(o.hooked.APIKey, o.receiver.URL, `["intent.allowed","intent.denied"]`)
	_, err := o.decide(service, o.hooked.APIKey, "w", tool("bash", `"command":"ls","task_id":"w"`))
	if !o.deploy(service) || !o.approve(service) || err != nil { // of each, so that there is something to lose
		t.Fatal("before the first kill nothing works", err)
	}
	service.kill()
	return o
}

// decide sends one intent, for a group, and keeps what the answer says.
func (o *ordeal) decide(service *running, key, group, body string) (got answer, err error) {
	sum := sha256.Sum256(fmt.Append(nil, o.serial.Add(1)))
	commitment := hex.EncodeToString(sum[:])
	o.tell(func(t *told) { t.groups[commitment] = group })
	if got, err = service.post("/v1/authorize", key, strings.Replace(body, strings.Repeat("ab", 32), commitment, 1)); err == nil && got.PolicyHash != "" {
		o.tell(func(t *told) { t.decisions[commitment] = got.Status })
	}
	return got, err
}

// work has many clients at it, until the service is gone.
func (o *ordeal) work(service *running, round int) (wait *sync.WaitGroup) {
	wait = new(sync.WaitGroup)
	for client := range 10 {
		wait.Go(func() {
			key, task := o.deciders.APIKey, fmt.Sprintf("t-%d-%d", round, client%4)
			if client >= 8 {
				key, task = o.hooked.APIKey, fmt.Sprintf("w-%d-%d", round, client)
			}
			for i := 0; ; i++ {
				body := tool("bash", fmt.Sprintf(`"command":%q,"task_id":%q`, []string{"ls", "ls", "rm -rf /"}[i%3], task))
				if _, err := o.decide(service, key, task, body); err != nil {
					return
				}
			}
		})
	}
	wait.Go(func() { o.deploys(service) })
	wait.Go(func() {
		for o.approve(service) {
		}
	})
	wait.Go(func() { o.registers(service) })
	wait.Go(func() { o.subscribes(service) })
	return wait
}

// registers registers keys, and revokes every second one.
func (o *ordeal) registers(service *running) {
	socket := o.socket()
	defer socket.CloseIdleConnections()
	for i := 0; ; i++ {
		got, err := service.try("POST", "/v1/keys/register", "", `{"email":"agent@example.com"}`)
		var made registered
		if err != nil || json.Unmarshal([]byte(got.body), &made) != nil || made.APIKey == "" {
			return
		}
		o.tell(func(t *told) { t.keys = append(t.keys, made.APIKey) })
		if i%2 == 0 {
			continue
		}
		o.tell(func(t *told) { t.revoked[made.APIKey] = false })
		request, err := http.NewRequest(http.MethodDelete, "http://admin/keys/"+made.KeyID, http.NoBody)
		if err != nil {
			o.t.Error(err)
			return
		}
		response, err := socket.Do(request)
		if err != nil {
			return
		}
		if response.Body.Close(); response.StatusCode == 200 {
			o.tell(func(t *told) { t.revoked[made.APIKey] = true })
		}
	}
}

// subscribes registers webhooks that nothing is sent to, and removes them.
func (o *ordeal) subscribes(service *running) {
	key := o.subscriber.APIKey
	for range 20 {
		got, err := service.try("POST", "/v1/webhooks", key, fmt.Sprintf(`{"url":%q,"events":["hold.expired"]}`, o.receiver.URL))
		var hook webhook
		if err != nil || json.Unmarshal([]byte(got.body), &hook) != nil || hook.ID == "" {
			return
		}
		o.tell(func(t *told) { t.subscribed[hook.ID] = "there" })
		if hook.ID[0] < '8' {
			if some, err := service.subscriptions(key); err == nil && len(some) < 10 {
				continue // half of them stay, as long as there are few
			}
		}
		o.tell(func(t *told) { t.subscribed[hook.ID] = "unknown" })
		if got, err = service.try("DELETE", "/v1/webhooks/"+hook.ID, key, ""); err != nil || got.status != 204 {
			return
		}
		o.tell(func(t *told) { t.subscribed[hook.ID] = "gone" })
	}
}

// subscriptions are the webhooks of a key.
func (r *running) subscriptions(key string) (ids map[string]bool, err error) {
	got, err := r.try("GET", "/v1/webhooks", key, "")
	var hooks []webhook
	if err == nil {
		err = json.Unmarshal([]byte(got.body), &hooks)
	}
	if err != nil {
		return nil, fmt.Errorf("%d %s: %w", got.status, got.body, err)
	}
	ids = map[string]bool{}
	for _, hook := range hooks {
		ids[hook.ID] = true
	}
	return ids, nil
}

// deploys deploys one policy after the other. A hosted service takes sixty a minute.
func (o *ordeal) deploys(service *running) {
	for range 50 {
		if !o.deploy(service) {
			return
		}
	}
}

// deploy deploys a policy with a text of its own, and reports whether there was an answer.
func (o *ordeal) deploy(service *running) bool {
	policy := fmt.Sprintf("version: 2.0.0\n# %d\n## tool_calls\nallowed: bash\n", o.serial.Add(1))
	_, hash := o.mine.sign(policy)
	o.tell(func(t *told) { t.deploying[hash] = true })
	got, err := service.try("POST", "/v1/warranty/deploy", o.deployer.APIKey, o.mine.deployment(policy))
	switch {
	case err != nil:
		return false
	case got.status != 200:
		o.t.Errorf("a deployment: %s", got.body)
		return false
	}
	o.tell(func(t *told) { t.deployments = append(t.deployments, hash) })
	return true
}

// approve has an intent held, approves it, and asks more often than it may pass. It reports whether all was answered.
func (o *ordeal) approve(service *running) bool {
	group := fmt.Sprintf("mail-%d@example.com", o.serial.Add(1))
	mail := tool("email.send", fmt.Sprintf(`"to":%q`, group))
	first, err := o.decide(service, o.holder.APIKey, group, mail)
	if err != nil {
		return false
	}
	got, err := service.try("GET", "/v1/holds/"+first.HoldID, o.holder.APIKey, "")
	var h held
	if err != nil || json.Unmarshal([]byte(got.body), &h) != nil {
		return false
	}
	got, err = service.try("POST", "/v1/holds/"+h.HoldID+"/resolution", o.holder.APIKey, o.mine.resolution(h, "ALLOWED", time.Now()))
	if err != nil || got.status != 200 {
		return false
	}
	o.tell(func(t *told) { t.approved[h.HoldID] = group })
	for range 3 {
		if _, err := o.decide(service, o.holder.APIKey, group, mail); err != nil {
			return false
		}
	}
	return true
}

// socket returns a client of the operator's socket.
func (o *ordeal) socket() *http.Client { return socketClient(o.s.path("data/admin.sock")) }

func socketClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}, Timeout: 20 * time.Second}
}

// read fetches what the log has got since it was read last, of all keys, over the operator's socket.
func (o *ordeal) read() {
	o.t.Helper()
	got, next, err := readLog(o.s.path("data/admin.sock"), o.at)
	if err != nil {
		o.t.Fatal(err)
	}
	o.log, o.at = append(o.log, got...), next
}

// readLog fetches what the log has after a cursor, of all keys, over the operator's socket.
func readLog(socket, after string) (log []logged, next string, err error) {
	client := socketClient(socket)
	defer client.CloseIdleConnections()
	for more := true; more; {
		response, err := client.Get("http://admin/events?limit=1000&after=" + after)
		if err != nil {
			return nil, "", err
		}
		var page struct {
			Events []logged
			Next   string
			More   bool
		}
		err = json.NewDecoder(bufio.NewReader(response.Body)).Decode(&page)
		response.Body.Close()
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("the admin socket answers %d", response.StatusCode)
		}
		if err != nil {
			return nil, "", err
		}
		log, after, more = append(log, page.Events...), page.Next, page.More
	}
	return log, after, nil
}

// problems holds a log against what clients were told.
func (t *told) problems(log []logged) (found []string) {
	problem := func(format string, arguments ...any) { found = append(found, fmt.Sprintf(format, arguments...)) }
	recorded, allowed, resolved := map[string]string{}, map[string]int{}, map[string]bool{}
	var deployed []string
	last := map[int]uint64{} // by slot
	for _, e := range log {
		if e.LSN <= last[e.Slot] {
			problem("the event %d comes after %d of slot %d", e.LSN, last[e.Slot], e.Slot)
		}
		last[e.Slot] = e.LSN
		switch {
		case e.Event == "decision" && e.Decision != "TEST_RUN":
			if was, twice := recorded[e.Commitment]; twice {
				problem("%s was decided twice, %s and %s", e.Commitment, was, e.Decision)
			}
			if recorded[e.Commitment] = e.Decision; e.Decision == "ALLOWED" {
				allowed[t.groups[e.Commitment]]++
			}
		case e.Event == "hold.resolved":
			resolved[e.HoldID] = true
		case e.Event == "policy.deployed":
			if t.deploying[e.PolicyHash] {
				deployed = append(deployed, e.PolicyHash)
			}
		}
	}
	for commitment, decision := range t.decisions {
		if recorded[commitment] != decision {
			problem("a client was told %s for %s, and the log has %q", decision, commitment, recorded[commitment])
		}
	}
	for group, n := range allowed {
		if most := limitOf(group); n > most {
			problem("%s was allowed %d times, with a limit of %d", group, n, most)
		}
	}
	for hold, group := range t.approved {
		if !resolved[hold] {
			problem("the approval of %s for %s is lost", hold, group)
		}
	}
	for _, hash := range t.deployments {
		at := slices.Index(deployed, hash)
		if at < 0 {
			problem("the deployment of %s is lost, or comes before an earlier one", hash)
			continue
		}
		deployed = deployed[at+1:]
	}
	return found
}

// limitOf is how often a group may be allowed: a task up to its limit, an approved intent once.
func limitOf(group string) int {
	if strings.HasPrefix(group, "mail-") {
		return 1
	}
	return taskLimit
}

// undelivered compares the deliveries with the log: every decision at least once, and nothing that is not in the log.
func (t *told) undelivered(log []logged, deliveries []delivery) (found []string) {
	due := map[string]bool{}
	for _, e := range log {
		if e.Event == "decision" && e.KeyID == t.hooked {
			due[e.Commitment] = true
		}
	}
	seen := map[string]bool{}
	for i := range deliveries {
		commitment := deliveries[i].payload.Data.Commitment
		if seen[commitment] = true; !due[commitment] {
			found = append(found, "delivered and not in the log: "+commitment)
		}
	}
	for commitment := range due {
		if !seen[commitment] {
			found = append(found, "never delivered: "+commitment)
		}
	}
	return found
}

// after looks at a service that has just been started again.
func (o *ordeal) after(service *running, known *int) {
	o.t.Helper()
	o.read()
	for _, problem := range o.told.problems(o.log) {
		o.t.Error(problem)
	}
	for ; *known < len(o.told.keys); *known++ {
		key := o.told.keys[*known]
		got := service.send("POST", "/v1/authorize", key, listing).code()
		revoked, tried := o.told.revoked[key]
		const good, bad = "409 SVC_NO_POLICY_DEPLOYED", "401 SVC_API_KEY_INVALID"
		if got != good && !tried || got != bad && revoked || got != good && got != bad {
			o.t.Errorf("a key that was registered (revoked: %v, tried: %v): %s", revoked, tried, got)
		}
	}
	there, err := service.subscriptions(o.subscriber.APIKey)
	if err != nil {
		o.t.Fatal(err)
	}
	for id, state := range o.told.subscribed {
		if state != "unknown" && there[id] != (state == "there") {
			o.t.Errorf("the webhook %s should be %s", id, state)
		}
	}
	last := ""
	for i := range o.log {
		if o.log[i].Event == "policy.deployed" && o.log[i].KeyID == o.deployer.KeyID {
			last = o.log[i].PolicyHash
		}
	}
	if got := service.ask("/v1/authorize/test-run", o.deployer.APIKey, listing); got.PolicyHash != last {
		o.t.Errorf("the policy is %s, and the last that was deployed %s", got.PolicyHash, last)
	}
	o.unused(service)
}

// unused finds an approval of which no use is recorded: it is good for exactly one.
func (o *ordeal) unused(service *running) {
	o.t.Helper()
	used := map[string]bool{}
	for _, e := range o.log {
		if e.Decision == "ALLOWED" {
			used[o.told.groups[e.Commitment]] = true
		}
	}
	for _, group := range o.told.approved {
		if used[group] {
			continue
		}
		for _, want := range []string{"ALLOWED", "PENDING"} {
			got, err := o.decide(service, o.holder.APIKey, group, tool("email.send", fmt.Sprintf(`"to":%q`, group)))
			if err != nil || got.Status != want {
				o.t.Errorf("after the restart, %s is %s and not %s (%v)", group, got.Raw, want, err)
			}
		}
	}
}

// TestKillEverything kills the service at random points of everything that it does, and holds what is there afterwards
// against what clients were told. BAILIFF_KILLS says how often.
func TestKillEverything(t *testing.T) {
	o, known := newOrdeal(t), 0
	kills := times(t, "BAILIFF_KILLS", 15)
	for round := 0; round < kills && !t.Failed(); round++ {
		if o.random.IntN(5) == 0 { // while it starts
			starting := exec.Command(program(t), "serve")
			starting.Env, starting.Dir = o.s.env, o.s.dir
			if err := starting.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(o.random.IntN(100)) * time.Millisecond)
			_ = starting.Process.Kill()
			_ = starting.Wait() // killed
			round++
		}
		service := o.s.start()
		o.after(service, &known)
		busy := o.work(service, round)
		time.Sleep(slowness * time.Duration(10+o.random.IntN(400)) * time.Millisecond)
		service.kill()
		busy.Wait()
		if said, code := o.s.verify(o.s.path("data")); code != 0 {
			t.Errorf("round %d: the record: exit %d, %s", round, code, said)
		}
	}
	service := o.s.start()
	o.after(service, &known)
	o.log, o.at, known = nil, "0", 0
	o.after(service, &known) // all of it from the beginning
	var missing []string
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if missing = o.told.undelivered(o.log, o.receiver.deliveries()); len(missing) == 0 {
			break
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d problems with deliveries, such as %s", len(missing), missing[0])
	}
	o.canaries()
	t.Logf("%d kills, %d events, %d decisions told, %d deployments, %d approvals, %d keys, %d deliveries", kills, len(o.log),
		len(o.told.decisions), len(o.told.deployments), len(o.told.approved), len(o.told.keys), len(o.receiver.deliveries()))
}

// canaries plants each fault in the log, and has the checks find it. They also show that there was something to check.
func (o *ordeal) canaries() {
	o.t.Helper()
	find := func(what string, pick func(logged) bool) int {
		i := slices.IndexFunc(o.log, pick)
		if i < 0 {
			o.t.Fatalf("no %s in the log: the test shows too little", what)
		}
		return i
	}
	decided := find("decision that was told", func(e logged) bool { return o.told.decisions[e.Commitment] == "ALLOWED" })
	mail := find("use of an approval", func(e logged) bool {
		return e.Decision == "ALLOWED" && strings.HasPrefix(o.told.groups[e.Commitment], "mail-")
	})
	approval := find("approval", func(e logged) bool { return e.Event == "hold.resolved" && o.told.approved[e.HoldID] != "" })
	deployment := find("deployment", func(e logged) bool {
		return slices.Contains(o.told.deployments, e.PolicyHash) && e.Event == "policy.deployed"
	})
	again := o.log[mail]
	again.Commitment, again.LSN = "another", o.log[len(o.log)-1].LSN+1
	o.told.groups["another"] = o.told.groups[o.log[mail].Commitment]
	for what, log := range map[string][]logged{
		"a lost decision":   slices.Delete(slices.Clone(o.log), decided, decided+1),
		"a lost approval":   slices.Delete(slices.Clone(o.log), approval, approval+1),
		"a lost deployment": slices.Delete(slices.Clone(o.log), deployment, deployment+1),
		"a hold used twice": append(slices.Clone(o.log), again),
	} {
		if len(o.told.problems(log)) == 0 {
			o.t.Errorf("%s is not noticed", what)
		}
	}
	deliveries := o.receiver.deliveries()
	if len(deliveries) == 0 {
		o.t.Fatal("no deliveries: the test shows too little")
	}
	lost := deliveries[0].payload.Data.Commitment
	deliveries = slices.DeleteFunc(deliveries, func(d delivery) bool { return d.payload.Data.Commitment == lost })
	if len(o.told.undelivered(o.log, deliveries)) != 1 {
		o.t.Error("a lost delivery is not noticed")
	}
}
