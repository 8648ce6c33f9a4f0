package decision

import (
	"context"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
	"bailiff/runtime/turns"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// slowPattern takes 1.2 s on the largest request.
const slowPattern = "version: 2.0.0\n## custom\ndeny_if.metadata.note matches N?.{0,300}.{0,180}xN$\n"

// slowishPolicy takes more than 5 ms on a request of some KiB, and less than 50 on the largest one.
const slowishPolicy = "version: 2.0.0\n## tool_calls\nallowed: bash\n## custom\ndeny_if.context matches .{0,200}xN$\n"

// hourly lets a key deploy ten times an hour.
func hourly(c *Config) { c.Policies.Deployments = ratelimit.Window{Limit: 10, Per: time.Hour} }

// TestDeploymentsAnHour holds that a key deploys ten times an hour; a policy that is refused counts where it was compiled.
func TestDeploymentsAnHour(t *testing.T) {
	h := newTown(t, hourly)
	secret, by := h.register(), newOperator(t)
	for range 20 { // not compiled
		_, fault := h.Deploy(context.Background(), h.key(secret), body(t, "warranty_md", bashPolicy, "operator_public_key", by.public))
		want(t, fault, errcode.WarrantySignature)
	}
	for i := range 10 {
		if i%2 == 0 {
			h.mustDeploy(secret, by, bashPolicy)
		} else {
			_, fault := h.deploy(secret, by, "version: 2.0.0\n## tool_calls\n")
			want(t, fault, errcode.WarrantyInvalid)
		}
		if warned := strings.Contains(h.log.String(), "80 %"); warned != (i >= 7) {
			t.Errorf("after %d deployments the log says %q", i+1, h.log.String())
		}
	}
	_, fault := h.deploy(secret, by, bashPolicy)
	want(t, fault, errcode.WarrantyRate)
	if fault.RetryAfter <= 0 || fault.RetryAfter > time.Hour {
		t.Errorf("again after %v", fault.RetryAfter)
	}
	h.mustDeploy(h.register(), by, bashPolicy) // another key
	h.pass(fault.RetryAfter)
	h.mustDeploy(secret, by, bashPolicy)
}

// TestDeploymentsWarn holds that the log has one line about a key that has used four fifths of its deployments, or more where
// they have no fifth.
func TestDeploymentsWarn(t *testing.T) {
	for most, first := range map[int]int{1: 1, 2: 2, 4: 4, 7: 6, 10: 8, 12: 10} {
		h := newTown(t, func(c *Config) { c.Policies.Deployments = window(most) })
		secret, by := h.register(), newOperator(t)
		for n := 1; n <= most; n++ {
			h.mustDeploy(secret, by, fmt.Sprintf("%s# %d\n", bashPolicy, n))
			if lines := strings.Count(h.log.String(), "80 %"); (lines == 1) != (n >= first) || lines > 1 {
				t.Errorf("after %d of %d deployments the log has %d lines", n, most, lines)
			}
		}
	}
}

func window(n int) ratelimit.Window { return ratelimit.Window{Limit: n, Per: time.Hour} }

// TestHeavyDeployment holds that what weighs too much has a code of its own, and that nothing of it is kept.
func TestHeavyDeployment(t *testing.T) {
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	_, fault := h.deploy(secret, by, slowPattern)
	want(t, fault, errcode.WarrantyHeavy)
	if !strings.Contains(string(fault.Diagnostics), "E2082") || h.key(secret).PolicyHash != [32]byte{} {
		t.Errorf("%s", fault.Diagnostics)
	}
}

// TestCompileTime holds that compiling stops half a second after it began.
func TestCompileTime(t *testing.T) {
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	begin, asked := h.Clock(), 0
	clock := h.Clock
	h.Decider.Clock = func() time.Time {
		if asked++; asked > 100 {
			h.pass(20 * time.Millisecond)
		}
		return clock()
	}
	_, fault := h.deploy(secret, by, "version: 2.0.0\n## custom\n"+strings.Repeat("deny_if.metadata.note matches (a{1,9}|b)c\n", 5000))
	want(t, fault, errcode.WarrantyTime)
	if took := clock().Sub(begin); took < policies.CompileTime || took > policies.CompileTime+100*time.Millisecond {
		t.Errorf("it stopped after %v", took)
	}
}

// TestOneCompilation holds that a key has one policy compiled at a time, and all together few.
func TestOneCompilation(t *testing.T) {
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	key := h.key(secret)
	done, ok := h.Compiles.Take(context.Background(), key.ID)
	if !ok {
		t.Fatal("no turn")
	}
	_, fault := h.deploy(secret, by, bashPolicy)
	want(t, fault, errcode.WarrantyBusy)
	if fault.RetryAfter != service.ComeAgain {
		t.Errorf("again after %v", fault.RetryAfter)
	}
	var others []func()
	for range turns.HalfOf() - 1 {
		other, _ := h.Compiles.Take(context.Background(), h.key(h.register()).ID)
		others = append(others, other)
	}
	_, fault = h.deploy(h.register(), by, bashPolicy) // waits for a place, and finds none
	want(t, fault, errcode.WarrantyBusy)
	done()
	h.mustDeploy(secret, by, bashPolicy)
	for _, other := range others {
		other()
	}
	if n := h.Compiles.UnderWay(); n != 0 {
		t.Errorf("%d are under way", n)
	}
}

// TestHeavyTurns holds that of a key whose requests take long one is judged at a time, that some wait and others are told
// to come again, and that no other key waits.
func TestHeavyTurns(t *testing.T) {
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	h.mustDeploy(secret, by, slowishPolicy)
	key := h.key(secret)
	long := []byte(strings.Replace(string(request(bashIntent)), `"chainId"`, `"context":"`+strings.Repeat("a", 4000)+`","chainId"`, 1))
	ask := func(body []byte) *service.Failure {
		return h.Decide(context.Background(), key, body, Call{}, new(Answer))
	}
	if fault := ask(long); fault != nil {
		t.Fatal(fault)
	}
	other := h.register()
	h.mustDeploy(other, by, bashPolicy)
	done, _ := h.heavy.Take(context.Background(), key.ID)
	var group sync.WaitGroup
	var judged, refused atomic.Int32
	for range turns.MaxWaiting + 5 {
		group.Go(func() {
			if fault := ask(long); fault == nil {
				judged.Add(1)
			} else if fault.Code == errcode.EvaluationBusy && fault.RetryAfter > 0 {
				refused.Add(1)
			}
		})
	}
	for end := time.Now().Add(10 * time.Second); refused.Load() < 5; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d are refused, and %d judged", refused.Load(), judged.Load())
		}
	}
	if judged.Load() != 0 {
		t.Error("a request did not wait for its turn")
	}
	if fault := ask(request(bashIntent)); fault != nil {
		t.Errorf("a short request of the same key: %v", fault)
	}
	if _, fault := h.ask(h.key(other), bashIntent); fault != nil {
		t.Errorf("another key: %v", fault)
	}
	done()
	group.Wait()
	if judged.Load() != turns.MaxWaiting || refused.Load() != 5 {
		t.Errorf("%d judged, %d refused", judged.Load(), refused.Load())
	}
	if log := h.log.String(); !strings.Contains(log, "80 %") || !strings.Contains(log, "budget=evaluating") || !strings.Contains(log, "used up;") {
		t.Errorf("the log says %q", log)
	}
}

// sized returns a policy whose program takes about so many bytes for each text.
func sized(t *testing.T, texts int) *policies.Policy {
	t.Helper()
	var b strings.Builder
	b.WriteString("version: 2.0.0\n## custom\n")
	for i := range texts {
		fmt.Fprintf(&b, "deny_string: secret number %d of them all\n", i)
	}
	policy, err := policies.CompilePolicy(grammar.NewSource("", []byte(b.String())))
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// TestIdlePrograms holds what programs take that wait for a request: 64 MiB in all, and large ones half of it, so that they
// do not drive out the others.
func TestIdlePrograms(t *testing.T) {
	h := newTown(t, func(c *Config) { c.Service.Metrics = metrics.New() })
	large, small := sized(t, 2000), sized(t, 1)
	get := func(kind byte, i int, policy *policies.Policy) {
		hash := [32]byte{kind, byte(i), byte(i >> 8)}
		got, err := h.Programs.Get(hash, int64(i), func() (*policies.Policy, error) { return policy, nil })
		if got != policy || err != nil {
			t.Fatalf("%v %v", got, err)
		}
	}
	for i := range 100 {
		get('s', i, small)
	}
	for i := range 40 {
		get('l', 1000+i, large)
	}
	if h.Programs.Large > policies.MaxIdle/2 || h.Programs.Large < policies.MaxIdle/2-2*large.Memory() {
		t.Errorf("large programs take %d bytes", h.Programs.Large)
	}
	for i := range 100 {
		get('s', i, nilUnless(t, small, h, i))
	}
	for i := range 3 * policies.MaxIdle / small.Memory() {
		get('x', i, small)
		if h.Programs.Kept() > policies.MaxIdle {
			t.Fatalf("programs take %d bytes", h.Programs.Kept())
		}
	}
	bytes := 0
	for _, l := range h.Programs.All {
		bytes += l.Bytes
	}
	if bytes != h.Programs.Kept() {
		t.Errorf("%d bytes are counted, and %d loaded", h.Programs.Kept(), bytes)
	}
	if log := h.log.String(); !strings.Contains(log, "budget=programs") {
		t.Errorf("the log says %q", log)
	}
}

// nilUnless returns the policy if the small one of that number is still loaded, and fails otherwise.
func nilUnless(t *testing.T, policy *policies.Policy, h *town, i int) *policies.Policy {
	t.Helper()
	if h.Programs.All[[32]byte{'s', byte(i), byte(i >> 8)}] == nil {
		t.Errorf("small program %d was driven out by large ones", i)
	}
	return policy
}

// TestSupersededGoes holds that a program goes with the last request that it judges once it is superseded.
func TestSupersededGoes(t *testing.T) {
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	h.mustDeploy(secret, by, bashPolicy)
	if _, fault := h.ask(h.key(secret), bashIntent); fault != nil {
		t.Fatal(fault)
	}
	if w := h.requests.Get().(*Request); w.policy != nil {
		t.Error("a request that is closed keeps a policy")
	}
	gone := make(chan struct{})
	hash := h.key(secret).PolicyHash
	runtime.AddCleanup(h.Programs.All[hash].Policy, func(gone chan struct{}) { close(gone) }, gone)
	h.mustDeploy(secret, by, strings.Replace(bashPolicy, "\n", "\n# another\n", 1))
	for range 20 {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("a superseded program is still there")
}

// TestTurnAfterPanic holds that judging gives its turn back where it panics: the key, and in the end all of them, would
// wait for good otherwise.
func TestTurnAfterPanic(t *testing.T) {
	h := newTown(t)
	heavy, err := policies.CompilePolicy(grammar.NewSource("", []byte(slowishPolicy)))
	if err != nil {
		t.Fatal(err)
	}
	w := &Request{key: h.key(h.register()), policy: &policies.Policy{Effort: heavy.Effort}, body: make([]byte, 4000)} // it has no program
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		_, _ = h.judgeInTurn(context.Background(), w)
	}()
	if n := h.heavy.UnderWay(); n != 0 {
		t.Errorf("%d are under way", n)
	}
}

// A slowCounter calls a function while it reads a counter.
type slowCounter struct {
	ledger.Ledger
	reading func()
}

func (s slowCounter) Counter(ctx context.Context, key ledger.ID, c ledger.Counter, at int64) (amount.Amount, error) {
	s.reading()
	return s.Ledger.Counter(ctx, key, c, at)
}

// TestExplanationInTurn holds that a request that is explained, however light its policy is, keeps its turn until it was:
// explaining judges again.
func TestExplanationInTurn(t *testing.T) {
	const limit = "## execution_limits\nmax_tool_calls_per_hour: 100\n"
	long := strings.Replace(string(request(bashIntent)), `"chainId"`, `"context":"`+strings.Repeat("a", 4000)+`","chainId"`, 1)
	for _, c := range []struct{ policy, request string }{{slowishPolicy, long}, {bashPolicy, string(request(bashIntent))}} {
		h := newTown(t)
		secret := h.register()
		h.mustDeploy(secret, newOperator(t), c.policy+limit)
		key := h.key(secret)
		done, _ := h.heavy.Take(context.Background(), key.ID)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		want(t, h.Decide(ended, key, []byte(c.request), Call{TestRun: true, Explain: true}, new(Answer)), errcode.EvaluationBusy)
		done()
		during := -1
		h.Decider.Ledger = slowCounter{h.ledger, func() { during = h.heavy.UnderWay() }}
		if fault := h.Decide(context.Background(), key, []byte(c.request), Call{TestRun: true, Explain: true}, new(Answer)); fault != nil {
			t.Fatal(fault)
		}
		if after := h.heavy.UnderWay(); during != 1 || after != 0 {
			t.Errorf("%d turns are taken while it is explained, %d afterwards", during, after)
		}
	}
}

// TestLargeExplanationInTurn holds that a large body that is to be explained is decoded in its key's turn, whatever its policy
// takes, that the turn ends with the request, one that is refused as well, and that without an explanation none is needed.
func TestLargeExplanationInTurn(t *testing.T) {
	h := newTown(t)
	secret := h.register()
	h.mustDeploy(secret, newOperator(t), bashPolicy)
	key := h.key(secret)
	large := []byte(strings.Replace(string(request(bashIntent)), `"chainId"`, `"metadata":{"a":"`+strings.Repeat("a", largeExplained)+`"},"chainId"`, 1))
	wrong := append([]byte("!"), large...)
	done, _ := h.heavy.Take(context.Background(), key.ID)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, body := range map[string][]byte{"large": large, "wrong": wrong} {
		if fault := h.Decide(ended, key, body, Call{TestRun: true, Explain: true}, new(Answer)); fault == nil || fault.Code != errcode.EvaluationBusy {
			t.Errorf("%s: %v, and its turn had not come", name, fault)
		}
	}
	if fault := h.Decide(context.Background(), key, wrong, Call{TestRun: true}, new(Answer)); fault == nil || fault.Code == errcode.EvaluationBusy {
		t.Errorf("without an explanation a large body waits: %v", fault)
	}
	done()
	for name, body := range map[string][]byte{"large": large, "wrong": wrong} {
		if fault := h.Decide(context.Background(), key, body, Call{TestRun: true, Explain: true}, new(Answer)); fault != nil && fault.Code == errcode.EvaluationBusy {
			t.Errorf("%s: %v", name, fault)
		}
		if n := h.heavy.UnderWay(); n != 0 {
			t.Errorf("%s: %d turns are taken afterwards", name, n)
		}
	}
}

// TestStorage holds that a free key of a hosted service keeps 20 MiB of deployments at most, 82 of some 252,750 bytes, with a WARN at 80 %, and that
// paid plans have no such limit.
func TestStorage(t *testing.T) {
	h := newTown(t, func(c *Config) { c.Service.Metrics = metrics.New() })
	secret, by := h.register(), newOperator(t)
	var fault *service.Failure
	n := 0
	for ; fault == nil && n < 200; n++ {
		policy := fmt.Sprintf("%s# %d\n%s", bashPolicy, n, strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 250))
		_, fault = h.deploy(secret, by, policy)
		if warned := strings.Contains(h.log.String(), "80 %"); fault == nil && warned != (n >= 66) {
			t.Fatalf("after %d deployments the log says %q", n+1, h.log.String())
		}
	}
	want(t, fault, errcode.WarrantyStorage)
	if n != 83 || strings.Count(h.log.String(), "80 %") != 1 || !strings.Contains(fault.Message, "20971520") {
		t.Errorf("deployment %d is refused with %q, the log says %q", n, fault.Message, h.log.String())
	}
	if got := scraped(h, `bailiff_budget_exceeded_total{budget="storage"}`); got != "1" {
		t.Errorf("the budget was exceeded %s times", got)
	}
	key := h.key(secret)
	if views, err := h.ledger.Deployments(context.Background(), key.ID); err != nil || len(views) != n-1 {
		t.Errorf("%d deployments, %v", len(views), err)
	}
	key.Tier = "growth"
	if most := h.Storage(key); most != 0 {
		t.Errorf("a paid plan has %d bytes", most)
	}
}

// scraped returns the value of a metric, as it is read.
func scraped(h *town, name string) string {
	answer := httptest.NewRecorder()
	h.Metrics.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	_, rest, _ := strings.Cut(answer.Body.String(), "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}
