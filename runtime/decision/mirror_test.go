package decision

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// wire is a mirror that asks another authority in this process, by way of the JSON.
type wire struct {
	production *town
	asked      atomic.Int64
	broken     error
	edit       func(*policies.MirrorRecord)
	slow       chan struct{} // closed when answers may come; nil: at once
}

func (w *wire) Fetch(ctx context.Context, hash [32]byte) (*policies.MirrorRecord, error) {
	w.asked.Add(1)
	if w.slow != nil {
		<-w.slow
	}
	if w.broken != nil {
		return nil, w.broken
	}
	record, fault := w.production.MirrorRecord(ctx, hash)
	if fault != nil {
		return nil, fmt.Errorf("%w: %s", policies.ErrNotMirrored, fault.Message)
	}
	copied := new(policies.MirrorRecord)
	if err := json.Unmarshal(must(json.Marshal(record)), copied); err != nil {
		return nil, err
	}
	if w.edit != nil {
		w.edit(copied)
	}
	return copied, nil
}

// twins are a production service and a test environment that mirrors it.
func twins(t *testing.T) (production, test *town, between *wire) {
	production = newTown(t)
	between = &wire{production: production}
	test = newTown(t, func(c *Config) { c.Service.Environment, c.Policies.Mirror = service.Test, between })
	return production, test, between
}

// TestMirror: the first use of a live key brings it and its policy along; afterwards the two know nothing of each other.
func TestMirror(t *testing.T) {
	production, test, between := twins(t)
	secret, by := production.register(), newOperator(t)
	production.mustDeploy(secret, by, bashPolicy)
	if _, err := production.admin().SetPlan(context.Background(), production.key(secret).ID.String(), "growth"); err != nil {
		t.Fatal(err)
	}
	between.slow = make(chan struct{})
	var group sync.WaitGroup
	for range 32 { // at once; production is asked once
		group.Go(func() {
			key, fault := test.Authenticate([]byte(secret), ledger.ScopeAuthorize)
			if fault != nil {
				t.Error(fault)
				return
			}
			if answer, fault := test.ask(key, bashIntent); fault != nil || answer.Status != "ALLOWED" {
				t.Errorf("%+v %v", answer, fault)
			}
		})
	}
	time.Sleep(10 * time.Millisecond)
	close(between.slow)
	group.Wait()
	if n := between.asked.Load(); n != 1 {
		t.Errorf("production was asked %d times", n)
	}
	here, there := test.key(secret), production.key(secret)
	if here.ID != there.ID || here.Environment != service.Test || here.Tier != "growth" || here.Scopes != there.Scopes || here.Email != there.Email ||
		here.Operator != there.Operator || here.PolicyHash != there.PolicyHash {
		t.Errorf("%+v is mirrored as %+v", there, here)
	}
	if used, err := production.ledger.Usage(context.Background(), there.ID); err != nil || len(used) != 0 {
		t.Errorf("%v %v", used, err)
	}
	production.mustDeploy(secret, by, "version: 2.0.0\n\n## tool_calls\nallowed: http\n")
	if _, err := production.ledger.RevokeKey(context.Background(), there.ID, noon.UnixNano()); err != nil {
		t.Fatal(err)
	}
	if answer, fault := test.ask(test.key(secret), bashIntent); fault != nil || answer.Status != "ALLOWED" {
		t.Errorf("not isolated: %+v %v", answer, fault)
	}
	if _, fault := test.deploy(secret, newOperator(t), bashPolicy); codeOf(fault) != errcode.WarrantyOperator {
		t.Errorf("not pinned: %v", fault)
	}
}

// TestMirrorWithoutPolicy: such a key is mirrored without one.
func TestMirrorWithoutPolicy(t *testing.T) {
	production, test, between := twins(t)
	secret := production.register()
	_, fault := test.ask(test.key(secret), bashIntent)
	want(t, fault, errcode.NoPolicy)
	test.key(secret)
	if n := between.asked.Load(); n != 1 {
		t.Errorf("production was asked %d times", n)
	}
}

// TestMirrorMissing: what production does not have is not asked for at once again, and answered like every bad key.
func TestMirrorMissing(t *testing.T) {
	production, test, between := twins(t)
	revoked := production.register()
	if _, err := production.ledger.RevokeKey(context.Background(), production.key(revoked).ID, noon.UnixNano()); err != nil {
		t.Fatal(err)
	}
	unknown := livePrefix + strings.Repeat("1", 64)
	for range 3 {
		for _, token := range []string{unknown, revoked} {
			_, fault := test.Authenticate([]byte(token), 0)
			if codeOf(fault) != errcode.APIKeyInvalid || fault.Message != service.BadKey().Message {
				t.Error(fault)
			}
		}
	}
	if n := between.asked.Load(); n != 2 {
		t.Errorf("production was asked %d times", n)
	}
	for _, token := range []string{"", "x", testPrefix + strings.Repeat("1", 64), livePrefix + strings.Repeat("1", 300)} {
		_, fault := test.Authenticate([]byte(token), 0)
		want(t, fault, errcode.APIKeyInvalid)
	}
	if n := between.asked.Load(); n != 2 {
		t.Errorf("production was asked for what can't be a live key")
	}
	test.pass(policies.MissingFor)
	test.Authenticate([]byte(unknown), 0)
	if n := between.asked.Load(); n != 3 {
		t.Errorf("production was asked %d times", n)
	}
	for i := range 2 * policies.MaxMissing {
		test.Authenticate(fmt.Appendf([]byte(livePrefix), "%064d", i), 0)
	}
	if n := len(test.Mirrored.Missing); n > policies.MaxMissing {
		t.Errorf("%d missing keys are remembered", n)
	}
}

// TestMirrorFails: trouble on the way is no refusal of the key, and a record that is not sound is not taken over.
func TestMirrorFails(t *testing.T) {
	production, test, between := twins(t)
	secret, by := production.register(), newOperator(t)
	production.mustDeploy(secret, by, bashPolicy)
	between.broken = errors.New("no route to production")
	_, fault := test.Authenticate([]byte(secret), 0)
	want(t, fault, errcode.StoreUnavailable)
	between.broken = nil
	for name, edit := range map[string]func(*policies.MirrorRecord){
		"no id":            func(r *policies.MirrorRecord) { r.KeyID = "" },
		"unknown scope":    func(r *policies.MirrorRecord) { r.Scopes = []string{"admin"} },
		"no scopes":        func(r *policies.MirrorRecord) { r.Scopes = nil },
		"another operator": func(r *policies.MirrorRecord) { r.Operator = newOperator(t).public },
		"no operator":      func(r *policies.MirrorRecord) { r.Operator = "" },
		"another policy":   func(r *policies.MirrorRecord) { r.WarrantyMD[20]++ },
		"no email":         func(r *policies.MirrorRecord) { r.Email = "" },
	} {
		between.edit = edit
		if _, fault := test.Authenticate([]byte(secret), 0); codeOf(fault) != errcode.StoreUnavailable {
			t.Errorf("%s: %v", name, fault)
		}
	}
	if _, found := test.ledger.LookupKey(sha256.Sum256([]byte(secret))); found {
		t.Error("a key was made")
	}
	between.edit = nil
	if answer, fault := test.ask(test.key(secret), bashIntent); fault != nil || answer.Status != "ALLOWED" {
		t.Errorf("%+v %v", answer, fault)
	}
}

// TestMirrorUnfinished: a service that ended between key and policy fetches the policy with the next request.
func TestMirrorUnfinished(t *testing.T) {
	production, test, _ := twins(t)
	secret, by := production.register(), newOperator(t)
	production.mustDeploy(secret, by, bashPolicy)
	there := production.key(secret)
	half := ledger.Key{
		ID: there.ID, Hash: there.Hash, Email: there.Email, Environment: service.Test, Tier: there.Tier, Scopes: there.Scopes, Operator: there.Operator, Created: noon.UnixNano(),
	}
	if err := test.ledger.CreateKey(context.Background(), half); err != nil {
		t.Fatal(err)
	}
	if answer, fault := test.ask(test.key(secret), bashIntent); fault != nil || answer.Status != "ALLOWED" {
		t.Errorf("%+v %v", answer, fault)
	}
}

// TestMirrorBusy: only so many keys are asked for at once.
func TestMirrorBusy(t *testing.T) {
	_, test, between := twins(t)
	between.slow = make(chan struct{})
	var group sync.WaitGroup
	var busy atomic.Int64
	for i := range 2 * policies.MaxLookups {
		group.Go(func() {
			if _, fault := test.Authenticate(fmt.Appendf([]byte(livePrefix), "%064d", i), 0); codeOf(fault) == errcode.StoreUnavailable {
				if busy.Add(1) == policies.MaxLookups {
					close(between.slow)
				}
			}
		})
	}
	group.Wait()
	if n := between.asked.Load(); n != policies.MaxLookups {
		t.Errorf("%d lookups at once", n)
	}
}
