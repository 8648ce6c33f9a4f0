package retention_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/vm/amount"
)

// story has everything in it that lives on when its record is old.
func (w *world) story(t *testing.T, l ledger.Ledger) *ledger.Key {
	t.Helper()
	ctx := t.Context()
	must(t, l.CreateKey(ctx, ledgertest.NewKey(1)))
	must(t, l.CreateKey(ctx, ledgertest.NewKey(2)))
	stop := func(key ledger.ID, serial uint64, stop bool) {
		must(t, l.Halt(ctx, &ledger.Halt{Key: key, Stop: stop, At: w.at, Reason: "drill", Signed: &ledger.HaltStatement{Serial: serial, At: w.at / 1e9, Signature: [64]byte{1}}}))
	}
	stop(ledgertest.ID('k', 2), 3, true)
	stop(ledger.ID{}, 7, true)
	stop(ledger.ID{}, 8, false)
	w.at += int64(2 * time.Second) // attestations from the second of a halt are void
	id := ledgertest.ID('k', 1)
	deploy := func(n byte) {
		_, err := l.Deploy(ctx, &ledger.Deployment{Key: id, At: w.at, Operator: [32]byte{'o'}, PolicyHash: [32]byte{n}, PolicyVersion: "2", Text: []byte{'t', n}, Program: []byte{n}, Machine: 3})
		must(t, err)
	}
	deploy(1)
	deploy(2)
	must(t, l.CreateWebhook(ctx, ledger.Webhook{ID: ledgertest.ID('w', 1), Key: id, URL: "https://example.com", Topics: ledger.TopicHoldResolved | ledger.PolicyDeployed, Secret: []byte(strings.Repeat("s", 24)), Created: w.at}))
	deploy(3) // waits for the webhook
	key, _ := l.LookupKeyID(id)
	plan := func(n byte) *ledger.Plan {
		return &ledger.Plan{ID: ledgertest.ID('q', uint64(n)), At: w.at, Key: id, Epoch: key.Epoch, Pass: ledger.Ending{Decision: ledger.Allowed}, Event: ledger.Event{Action: "bash"}}
	}
	held := plan(1)
	held.Hold = &ledger.HoldRequest{
		Candidate: ledgertest.ID('h', 1), IntentHash: [32]byte{1}, Method: "bash", Intent: []byte(`{"action":"bash"}`), AmountSent: `"1.50"`,
		Pending: ledger.Ending{Decision: ledger.Pending, Rule: "evm.x"}, Denied: ledger.Ending{Decision: ledger.Denied, Rule: "evm.x"},
	}
	counted := plan(2)
	counted.Reservations = []ledger.Reservation{{Counter: ledger.Counter{Limit: "calls", Window: ledger.Task, Group: "g"}, Op: ledger.Count, Limit: amount.FromUint64(9)}}
	again := plan(3)
	again.Replay = &ledger.Replay{ID: [32]byte{5}, Nonce: "n", Expires: w.at + int64(ledger.ReplayLife), Claims: []byte("{}")}
	for _, p := range []*ledger.Plan{held, counted, again} {
		must(t, l.Submit(p).Wait(ctx))
	}
	must(t, l.UseOnce(ctx, &ledger.Use{Key: id, Epoch: key.Epoch, Token: ledgertest.ID('t', 1), Issued: w.at, Expires: w.at + int64(time.Hour), At: w.at}))
	for _, definition := range []string{"one", "two"} {
		must(t, l.MeetTools(ctx, &ledger.ToolList{Key: id, Server: "files", At: w.at, Tools: []ledger.ListedTool{{Name: "read", Definition: []byte(definition)}}}))
	}
	must(t, l.StateApprover(ctx, &ledger.ApproverStatement{
		Action: ledger.ConfirmApprover, Serial: 1, SignedAt: w.at / 1e9, Operator: [32]byte{'o'}, Name: "ann", Credential: []byte("device"),
		Grant: ledger.Grant{PublicKey: []byte("public"), Sections: []string{"evm"}, Expires: w.at/1e9 + 1e6},
	}, w.at))
	must(t, l.RotateOperator(ctx, &ledger.Rotation{From: [32]byte{'o'}, To: [32]byte{'p'}, At: w.at, Signed: &ledger.HaltStatement{Serial: 5, At: w.at / 1e9, Signature: [64]byte{1}}}))
	key, _ = l.LookupKeyID(id)
	return key
}

// told is all that a ledger tells of what lives.
func (w *world) told(t *testing.T, l ledger.Ledger) map[string]any {
	t.Helper()
	ctx, id, all := t.Context(), ledgertest.ID('k', 1), map[string]any{}
	put := func(name string, value any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = value
	}
	policy, err := l.Policy(ctx, id)
	put("policy", policy, err)
	deployments, err := l.Deployments(ctx, id)
	put("deployments", deployments, err)
	holds, err := l.Holds(ctx, id, w.at)
	put("holds", holds, err)
	hold, err := l.Hold(ctx, id, ledgertest.ID('h', 1), w.at)
	put("hold", hold, err)
	pin, err := l.Pin(ctx, id, "files", "read")
	put("pin", pin, err)
	value, err := l.Counter(ctx, id, ledger.Counter{Limit: "calls", Window: ledger.Task, Group: "g"}, w.at)
	put("counter", value, err)
	hooks, err := l.Webhooks(ctx, id)
	put("webhooks", hooks, err)
	usage, err := l.Usage(ctx, id)
	put("usage", usage, err)
	approvers, serial, err := l.Approvers(ctx)
	put("approvers", approvers, err)
	put("serial", serial, nil)
	suspended, _ := l.LookupKeyID(ledgertest.ID('k', 2))
	put("a suspended key", suspended.Halt, nil)
	put("the service", l.Frozen(), nil)
	put("the operator", l.Operators(), nil)
	if err := l.UseOnce(ctx, &ledger.Use{Key: id, Epoch: policyEpoch(l, id), Token: ledgertest.ID('t', 1), Issued: w.at, Expires: w.at + int64(time.Hour), At: w.at}); !errors.Is(err, ledger.ErrUsed) {
		t.Fatalf("a used attestation: %v", err)
	}
	return all
}

func policyEpoch(l ledger.Ledger, id ledger.ID) uint64 {
	key, _ := l.LookupKeyID(id)
	return key.Epoch
}

// over runs a test with a ledger in a folder, and with one in a database.
func over(t *testing.T, test func(t *testing.T, w *world)) {
	for _, stored := range []bool{false, true} {
		t.Run(map[bool]string{false: "folder", true: "store"}[stored], func(t *testing.T) {
			w, err := newWorld(t.TempDir())
			must(t, err)
			if stored {
				w.overStore(t)
			}
			test(t, w)
		})
	}
}

// TestLive drops, twice and across opening again, the records of everything that lives on, and wants all of it to be told as before.
func TestLive(t *testing.T) { over(t, live) }

func live(t *testing.T, w *world) {
	w.age = 5 * time.Minute // attestations and answers that can be repeated live longer
	l, err := w.open()
	must(t, err)
	key := w.story(t, l)
	must(t, w.decide(l, key, 400))
	want := w.told(t, l)
	begins := uint64(0)
	for round := range 3 {
		drops, err := w.drop(l)
		must(t, err)
		if len(drops) == 0 || drops[0].Through.LSN <= begins {
			t.Fatalf("round %d: dropped %+v", round, drops)
		}
		begins = drops[len(drops)-1].Through.LSN
		for _, again := range []bool{false, true} {
			if again {
				must(t, l.Close())
				_, err := w.check()
				must(t, err)
				l, err = w.open()
				must(t, err)
			}
			if got := w.told(t, l); !cmp.Equal(got, want) {
				t.Errorf("round %d, opened again %v: %s", round, again, cmp.Diff(want, got))
			}
		}
		w.wantPages(t, l, begins)
		must(t, w.decide(l, key, 60))
		want = w.told(t, l)
	}
	due, _, err := l.Due(t.Context(), w.at, 10)
	must(t, err)
	if len(due) != 1 || due[0].Event.Kind != ledger.PolicyBound || due[0].LSN > begins {
		t.Errorf("what waits for the webhook: %+v", due)
	}
	must(t, l.Close())
}

// wantPages reads events from the beginning, from within what was dropped, and behind it.
func (w *world) wantPages(t *testing.T, l *commit.Ledger, begins uint64) {
	t.Helper()
	for _, key := range []ledger.ID{{}, ledgertest.ID('k', 1)} {
		for _, after := range []uint64{0, begins - 1, begins, begins + 3} {
			page, err := l.Events(context.Background(), ledger.EventQuery{After: after, Key: key, Limit: 5})
			must(t, err)
			dropped := uint64(0)
			if after < begins {
				dropped = begins
			}
			first := max(after, begins) + 1
			if page.Dropped != dropped || len(page.Events) == 0 || page.Events[0].LSN != first {
				t.Fatalf("events of %v after %d, where the log begins after %d: dropped %d, %d events from %d on", key, after, begins, page.Dropped, len(page.Events), page.Next)
			}
		}
	}
	if _, err := l.Path(context.Background(), begins, 1); !errors.Is(err, ledger.ErrDropped) {
		t.Errorf("the path of a record that was dropped: %v", err)
	}
	if _, _, err := l.Groups(context.Background(), begins-1, 1); !errors.Is(err, ledger.ErrDropped) {
		t.Errorf("groups that were dropped: %v", err)
	}
}

// TestNothingOld drops nothing where nothing is old, and where records of drops alone are.
func TestNothingOld(t *testing.T) { over(t, nothingOld) }

func nothingOld(t *testing.T, w *world) {
	l, err := w.open()
	must(t, err)
	defer l.Close()
	key := w.story(t, l)
	want := func(n int) {
		t.Helper()
		if drops, err := w.drop(l); err != nil || len(drops) != n {
			t.Fatalf("%d drops, %v; want %d", len(drops), err, n)
		}
	}
	want(0)
	must(t, w.decide(l, key, 10))
	want(0)
	w.at += int64(2 * time.Hour)
	want(1)
	w.at += int64(2 * time.Hour)
	want(0)
	if names, _ := filepath.Glob(filepath.Join(w.exports, "*")); len(names) != 1 {
		t.Errorf("the exported files are %v", names)
	}
}

// dropped returns a world whose ledger has dropped its oldest records, and the paths of its base and of the file that has them.
func dropped(t *testing.T) (w *world, base, export string) {
	w, err := newWorld(t.TempDir())
	must(t, err)
	l, err := w.open()
	must(t, err)
	key := w.story(t, l)
	must(t, w.decide(l, key, 100))
	w.at += int64(2 * time.Hour)
	must(t, w.decide(l, key, 10))
	_, err = w.drop(l)
	must(t, err)
	must(t, l.Close())
	bases, _ := filepath.Glob(filepath.Join(w.ledger, "base-*"))
	exports, _ := filepath.Glob(filepath.Join(w.exports, "events-*"))
	if len(bases) != 1 || len(exports) != 1 {
		t.Fatal(bases, exports)
	}
	return w, bases[0], exports[0]
}

// TestRefusals spoils what a log begins with: it does not open, or does not verify, and says why.
func TestRefusals(t *testing.T) {
	w, base, export := dropped(t)
	other, err := newWorld(t.TempDir())
	must(t, err)
	flip := func(path string, at int) func() {
		return func() {
			text, err := os.ReadFile(path)
			must(t, err)
			text = slices.Clone(text)
			text[at] ^= 1
			must(t, os.WriteFile(path, text, 0o600))
		}
	}
	for _, row := range []struct {
		name  string
		spoil func()
		says  string
		opens bool
	}{
		{"no base", func() { must(t, os.Remove(base)) }, "the base of its retention checkpoint can't be read", false},
		{"an edited state", flip(base, 200), "is not the one that the service has signed", false},
		{"no export", func() { must(t, os.Remove(export)) }, "do not lead from record 1", true},
		{"an edited export", flip(export, 400), "group", true},
		{"another service's keys", func() { w.signer = other.signer }, "its retention checkpoint is not good", true},
	} {
		kept := map[string][]byte{base: nil, export: nil}
		for path := range kept {
			kept[path], err = os.ReadFile(path)
			must(t, err)
		}
		signer := w.signer
		row.spoil()
		if _, err := w.check(); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: verifying says %v", row.name, err)
		}
		l, err := w.open()
		if (err == nil) != row.opens || err != nil && (!errors.Is(err, ledger.ErrCorrupt) || !strings.Contains(err.Error(), "the log begins at record")) {
			t.Errorf("%s: opening says %v", row.name, err)
		}
		if err == nil {
			must(t, l.Close())
		}
		w.signer = signer
		for path, text := range kept {
			must(t, os.WriteFile(path, text, 0o600))
		}
	}
	_, err = w.check()
	must(t, err)
}
