package decision

import (
	"context"
	"strings"
	"sync"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// largeProgram is a policy whose program counts where it lingers; number makes it another one.
func largeProgram(number string) string {
	return "version: 2.0.0\n## tool_calls\nallowed: bash\n## custom\n" +
		`deny_if.action matches ^(?:\p{Lu}\p{Ll}\p{Lo}\pN\pP\pM\p{Greek}\p{Han}\p{Arabic}){90}x` + "\ndeny_if.metadata.x equals " + number + "\n"
}

// TestReplacedPrograms holds what programs take that were replaced and that requests still use: large ones are neither
// deployed nor loaded beyond 64 MiB, small ones are, and all of it is given back.
func TestReplacedPrograms(t *testing.T) {
	h := newTown(t, func(c *Config) { c.Service.Metrics = metrics.New() })
	by, ctx := newOperator(t), context.Background()
	secret, evicted, small := h.register(), h.register(), h.register()
	h.mustDeploy(evicted, by, largeProgram("evicted"))
	h.mustDeploy(small, by, bashPolicy)
	h.Programs.Forget(h.key(evicted).PolicyHash)
	var requests []*Request
	for i := 0; h.Programs.StillUsed() < policies.MaxLingering; i++ {
		h.mustDeploy(secret, by, largeProgram(strings.Repeat("x", i+1)))
		w := &Request{}
		policy, fault, _ := h.Of(ctx, h.key(secret), noon.UnixNano())
		if fault != nil || !policies.Counts(policy) || i > 100 {
			t.Fatalf("program %d: %v, %d bytes linger", i, fault, h.Programs.StillUsed())
		}
		h.judgeBy(w, policy)
		requests = append(requests, w)
		h.Programs.Drop(1 << 62)
	}
	_, fault := h.deploy(secret, by, largeProgram("refused"))
	want(t, fault, errcode.WarrantyBusy)
	if fault.RetryAfter != service.ComeAgain {
		t.Errorf("again after %v", fault.RetryAfter)
	}
	_, fault, _ = h.Of(ctx, h.key(evicted), noon.UnixNano())
	want(t, fault, errcode.EvaluationBusy)
	h.Programs.Known = nil // it is not known to be large before it is loaded
	_, fault, _ = h.Of(ctx, h.key(evicted), noon.UnixNano())
	want(t, fault, errcode.EvaluationBusy)
	if _, fault := h.ask(h.key(small), bashIntent); fault != nil {
		t.Error(fault)
	}
	h.mustDeploy(small, by, strings.Replace(bashPolicy, "\n", "\n# another\n", 1))
	if log := h.log.String(); !strings.Contains(log, `80 %" budget=replaced_programs`) || !strings.Contains(log, `dropped" budget=replaced_programs`) {
		t.Errorf("the log says %q", log)
	}
	for _, w := range requests {
		h.judgeBy(w, nil)
	}
	if n := h.Programs.StillUsed(); n != 0 {
		t.Errorf("%d bytes still linger", n)
	}
	if _, fault, _ := h.Of(ctx, h.key(evicted), noon.UnixNano()); fault != nil {
		t.Error(fault)
	}
}

// TestNothingLingers holds that requests give back what they use, in whichever way they end.
func TestNothingLingers(t *testing.T) {
	h := newTown(t)
	by, secret := newOperator(t), h.register()
	h.mustDeploy(secret, by, largeProgram("0"))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				_, _ = h.ask(h.key(secret), bashIntent)
				_, _ = h.ask(h.key(secret), `{"action":"wallet.transfer"}`)
			}
		})
	}
	for i := range 5 {
		h.mustDeploy(secret, by, largeProgram(strings.Repeat("x", i+1)))
	}
	group.Wait()
	policy, fault, _ := h.Of(context.Background(), h.key(secret), noon.UnixNano())
	if fault != nil || policy.Using.Requests != 0 || h.Programs.StillUsed() != 0 {
		t.Errorf("%v: %d requests, %d bytes", fault, policy.Using.Requests, h.Programs.StillUsed())
	}
}

// A slowStore calls a function while it stores a deployment.
type slowStore struct {
	ledger.Ledger
	storing func()
}

func (s slowStore) Deploy(ctx context.Context, d *ledger.Deployment) (ledger.Deployed, error) {
	s.storing()
	return s.Ledger.Deploy(ctx, d)
}

// TestDeploymentWaits holds that a deployment keeps its turn until it is stored: its program is in memory until then.
func TestDeploymentWaits(t *testing.T) {
	h := newTown(t)
	by, secret, during := newOperator(t), h.register(), -1
	h.Decider.Ledger = slowStore{h.ledger, func() { during = h.Compiles.UnderWay() }}
	h.mustDeploy(secret, by, bashPolicy)
	if after := h.Compiles.UnderWay(); during != 1 || after != 0 {
		t.Errorf("%d deployments are under way while one is stored, %d afterwards", during, after)
	}
}
