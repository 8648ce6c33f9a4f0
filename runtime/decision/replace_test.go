package decision

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
)

const (
	lsPolicy  = "version: 2.4.0\n\n## tool_calls\nallowed: bash\nbash.allowed_commands: ls\n\n## deployment\nkeys: *\nserial: 2\n"
	catPolicy = "version: 2.4.0\n\n## tool_calls\nallowed: bash\nbash.allowed_commands: cat\n\n## deployment\nkeys: *\nserial: 3\n"
)

// A bindingLedger has a say in how default policies are bound.
type bindingLedger struct {
	ledger.Ledger
	bind      func(context.Context, *ledger.DefaultPolicy) (ledger.BoundDefault, error) // nil: as ever
	submitted atomic.Int32
}

func (l *bindingLedger) Submit(p *ledger.Plan) ledger.Ticket {
	defer l.submitted.Add(1)
	return l.Ledger.Submit(p)
}

func (l *bindingLedger) BindDefault(ctx context.Context, d *ledger.DefaultPolicy) (ledger.BoundDefault, error) {
	if l.bind != nil {
		return l.bind(ctx, d)
	}
	return l.Ledger.BindDefault(ctx, d)
}

// newReplacing returns a self-hosted authority under lsPolicy, its ledger, and an API key.
func newReplacing(t *testing.T) (*town, *bindingLedger, *ledger.Key) {
	t.Helper()
	var store *bindingLedger
	h := newTown(t, func(c *Config) {
		store = &bindingLedger{Ledger: c.Service.Ledger}
		c.Service.Ledger, c.Service.Hosted, c.Policies.Default = store, false, compiled(t, lsPolicy)
	})
	if err := h.BindDefault(t.Context()); err != nil {
		t.Fatal(err)
	}
	view, err := h.admin().CreateKey(t.Context(), accounts.NewKey{Email: "a@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	return h, store, h.key(view.APIKey)
}

func compiled(t *testing.T, text string) *policies.Policy {
	t.Helper()
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// decided asks for ls under a nonce, and returns the status and the policy of the answer.
func (h *town) decided(key *ledger.Key, nonce string) string {
	h.t.Helper()
	answer := new(Answer)
	if fault := h.Decide(context.Background(), key, []byte(nonced(nonce, bashIntent)), Call{}, answer); fault != nil {
		return string(fault.Code) + " " + fault.Message
	}
	return answer.Status + " by " + answer.PolicyHash
}

// TestReplaceDefault: the policy is in force from then on, and nothing that the one before has allowed is answered again.
func TestReplaceDefault(t *testing.T) {
	h, _, key := newReplacing(t)
	ls, cat := h.DefaultPolicy(), compiled(t, catPolicy)
	if got := h.decided(key, "n"); got != "ALLOWED by "+ls.Hash {
		t.Fatal(got)
	}
	installed := false
	changed, err := h.ReplaceDefault(t.Context(), cat, func() { installed = h.DefaultPolicy() == ls })
	if !changed || err != nil || !installed || h.DefaultPolicy() != cat {
		t.Fatalf("changed %t, %v, installed before it was in force %t", changed, err, installed)
	}
	if got := h.decided(key, "n"); got != "DENIED by "+cat.Hash {
		t.Errorf("the same request under the new policy: %s", got)
	}
	if changed, err := h.ReplaceDefault(t.Context(), compiled(t, catPolicy), func() { t.Error("installed") }); changed || err != nil {
		t.Errorf("the same text again: changed %t, %v", changed, err)
	}
}

// TestReplaceDefaultRefused: on any error the policy in force stays.
func TestReplaceDefaultRefused(t *testing.T) {
	h, store, key := newReplacing(t)
	ls := h.DefaultPolicy()
	gone := func(context.Context, *ledger.DefaultPolicy) (ledger.BoundDefault, error) {
		return ledger.BoundDefault{}, ledger.ErrUnavailable
	}
	refused := compiled(t, catPolicy)
	refused.Refused = &policies.InvalidPolicy{}
	for name, row := range map[string]struct {
		policy *policies.Policy
		bind   func(context.Context, *ledger.DefaultPolicy) (ledger.BoundDefault, error)
		want   string
	}{
		"a lower serial":     {compiled(t, strings.Replace(catPolicy, "serial: 3", "serial: 1", 1)), nil, "goes back"},
		"the same serial":    {compiled(t, strings.Replace(catPolicy, "serial: 3", "serial: 2", 1)), nil, "goes back"},
		"no serial":          {compiled(t, strings.Replace(catPolicy, "serial: 3\n", "", 1)), nil, "goes back"},
		"a text with errors": {refused, nil, "errors"},
		"no policy":          {nil, nil, "hosted"},
		"no ledger":          {compiled(t, catPolicy), gone, "could not be recorded"},
	} {
		store.bind = row.bind
		changed, err := h.ReplaceDefault(t.Context(), row.policy, func() { t.Errorf("%s: installed", name) })
		if changed || err == nil || !strings.Contains(err.Error(), row.want) || h.DefaultPolicy() != ls {
			t.Errorf("%s: changed %t, %v, want %q", name, changed, err, row.want)
		}
		if got := h.decided(key, name); got != "ALLOWED by "+ls.Hash {
			t.Errorf("%s: then a request is answered %s", name, got)
		}
	}
}

// TestReplaceDefaultWaits: what was judged by the policy before, and comes to the ledger when another one is recorded, waits
// until that is in force, and is decided by it.
func TestReplaceDefaultWaits(t *testing.T) {
	h, store, key := newReplacing(t)
	cat := compiled(t, catPolicy)
	recorded, inForce := make(chan struct{}), make(chan struct{})
	store.bind = func(ctx context.Context, d *ledger.DefaultPolicy) (ledger.BoundDefault, error) {
		bound, err := store.Ledger.BindDefault(ctx, d)
		close(recorded)
		<-inForce
		return bound, err
	}
	replaced := make(chan error, 1)
	go func() {
		_, err := h.ReplaceDefault(context.Background(), cat, func() {})
		replaced <- err
	}()
	<-recorded
	answers := make(chan string, 8)
	for range cap(answers) {
		go func() { answers <- h.decided(key, "n") }()
	}
	for store.submitted.Load() < int32(cap(answers)) { // all of them were judged by the policy before
		time.Sleep(time.Millisecond)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	answer := new(Answer)
	if fault := h.Decide(ended, key, []byte(nonced("m", bashIntent)), Call{}, answer); fault == nil {
		t.Errorf("a request that does not wait is answered %s by %s", answer.Status, answer.PolicyHash)
	}
	close(inForce)
	if err := <-replaced; err != nil {
		t.Fatal(err)
	}
	for range cap(answers) {
		if got := <-answers; got != "DENIED by "+cat.Hash {
			t.Errorf("a request meanwhile: %s", got)
		}
	}
}

// TestReplaceDefaultUnknown: where it is unknown whether a policy was recorded, it is found out.
func TestReplaceDefaultUnknown(t *testing.T) {
	h, store, key := newReplacing(t)
	cat := compiled(t, catPolicy)
	asked := 0
	store.bind = func(ctx context.Context, d *ledger.DefaultPolicy) (ledger.BoundDefault, error) {
		switch asked++; asked {
		case 1:
			if _, err := store.Ledger.BindDefault(ctx, d); err != nil {
				t.Error(err)
			}
			return ledger.BoundDefault{}, ledger.ErrUnknown
		case 2:
			return ledger.BoundDefault{}, ledger.ErrUnavailable
		}
		return store.Ledger.BindDefault(ctx, d)
	}
	if changed, err := h.ReplaceDefault(t.Context(), cat, func() {}); !changed || err != nil || asked != 3 {
		t.Fatalf("changed %t, %v, asked %d times", changed, err, asked)
	}
	if got := h.decided(key, "n"); got != "DENIED by "+cat.Hash {
		t.Error(got)
	}
	// The service ends before that is known.
	store.bind = func(context.Context, *ledger.DefaultPolicy) (ledger.BoundDefault, error) {
		return ledger.BoundDefault{}, ledger.ErrUnknown
	}
	ended, end := context.WithCancel(t.Context())
	end()
	next := compiled(t, strings.Replace(catPolicy, "serial: 3", "serial: 4", 1))
	if changed, err := h.ReplaceDefault(ended, next, func() {}); changed || !errors.Is(err, ledger.ErrUnknown) || h.DefaultPolicy() != cat {
		t.Errorf("changed %t, %v", changed, err)
	}
}
