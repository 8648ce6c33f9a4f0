package slots

import (
	"crypto/rand"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/joining"
	"bailiff/runtime/ledger/memory"
	"bailiff/vm/amount"
)

// joined makes one log of those of a world.
func (w *world) joined(t *testing.T) *memory.Log {
	t.Helper()
	made := &begun{Log: memory.NewLog()}
	o := joining.Options{Divided: w.divided, At: ledgertest.Start, Random: rand.Reader, Told: func(uint64) {}}
	for _, log := range w.logs {
		o.From = append(o.From, log)
	}
	result, err := joining.Join(made, &o)
	must(t, err)
	if chain, err := commit.VerifyChain(made, w.divided); err != nil || chain.Head != result.Head {
		t.Errorf("%+v, %v", chain, err)
	}
	if _, err := commit.VerifySnapshot(made); err != nil {
		t.Error(err)
	}
	return made.Log
}

// divide makes a world of a log.
func divide(t *testing.T, log *memory.Log, slots int) *world {
	t.Helper()
	w := newWorld(slots)
	d := commit.Division{
		At: ledgertest.Start, Ended: func(int, ledger.Head) {}, Random: rand.Reader, Told: func(uint64) {},
		Enter: func(key *ledger.Key, slot int) { must(t, w.EnterKey(key.ID, key.Hash, slot)) },
		Sign:  func(*ledger.Drop) ([]byte, error) { return []byte("signed"), nil },
	}
	for _, to := range w.logs {
		d.To = append(d.To, to)
	}
	copied, err := commit.Divide(log, &d)
	must(t, err)
	w.divided = copied.LSN
	return w
}

// TestConformanceJoined runs the suite with a ledger over slots first. Each time that it is opened again, the logs of the slots were made one, or
// that one was divided over another number of slots.
func TestConformanceJoined(t *testing.T) {
	const lsns = "records have other LSNs"
	without := maps.Clone(suite.Several)
	without["Reopen"], without["Replays"] = lsns, lsns
	alone := map[ledger.Ledger]*memory.Log{}
	over := func(t *testing.T, w *world) ledger.Ledger {
		t.Helper()
		i := w.start(t, w.all()...)
		i.serve(t)
		return i
	}
	slots := 5
	suite.Run(t, suite.Suite{
		Without: without,
		Open:    func(t *testing.T) ledger.Ledger { return over(t, newWorld(slots)) },
		Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
			if log, one := alone[l]; one {
				delete(alone, l)
				must(t, l.(*commit.Ledger).Close())
				slots = 3 + slots%4
				return over(t, divide(t, log, slots))
			}
			i := l.(*instance)
			must(t, i.Close())
			log := divide(t, i.world.joined(t), 2+slots%3).joined(t) // also of a log that was divided
			one, err := commit.Open(log, commit.Options{Random: rand.Reader})
			must(t, err)
			alone[one] = log
			return one
		},
	})
}

// busyWorld is a world of which an instance has been asked what concerns the whole service, and each key a few things.
func busyWorld(t *testing.T) (w *world, i *instance, keys []ledger.Key, at int64) {
	t.Helper()
	w, at = newWorld(4), ledgertest.Start
	i = w.start(t, w.all()...)
	i.serve(t)
	for n := range uint64(6) {
		keys = append(keys, ledgertest.NewKey(1+n))
		must(t, i.CreateKey(t.Context(), keys[n]))
		hook := ledger.Webhook{ID: ledgertest.ID('w', n), Key: keys[n].ID, URL: "https://example.com/", Topics: ledger.AllTopics, Secret: make([]byte, ledger.MinWebhookSecret), Created: at}
		must(t, i.CreateWebhook(t.Context(), hook))
	}
	_, err := i.BindDefault(t.Context(), &ledger.DefaultPolicy{At: at, PolicyHash: [32]byte{7}, Serial: 3})
	must(t, err)
	at++
	must(t, i.StateApprover(t.Context(), &ledger.ApproverStatement{
		Action: ledger.ConfirmApprover, Serial: 1, Name: "alice", Credential: []byte("c"), Grant: ledger.Grant{PublicKey: []byte("p"), Sections: []string{"evm"}, Expires: at/1e9 + 3600},
	}, at))
	must(t, i.Halt(t.Context(), &ledger.Halt{Stop: true, At: at, Reason: "why"}))
	must(t, i.Halt(t.Context(), &ledger.Halt{At: at + 1}))
	at += 2
	useAndTell(t, i, keys, at)
	must(t, i.Halt(t.Context(), &ledger.Halt{Key: keys[2].ID, Stop: true, At: at, Reason: "stolen"}))
	must(t, i.Halt(t.Context(), &ledger.Halt{Stop: true, At: at, Reason: "again"}))
	return w, i, keys, at
}

// TestJoinedService: what concerns the whole service is as it was in the slots, nothing is used twice, and what waits to be told is told, by an id that
// no other event has: also where the log is divided again, and the logs of those slots become one.
func TestJoinedService(t *testing.T) {
	w, i, keys, at := busyWorld(t)
	frozen, operators := i.Frozen(), i.Operators()
	approvers, serial, err := i.Approvers(t.Context())
	must(t, errors.Join(err, i.Close()))
	streams := map[[16]byte]bool{}
	for range 2 {
		log := w.joined(t)
		l, err := commit.Open(log, commit.Options{Random: rand.Reader})
		must(t, err)
		now, latest, err := l.Approvers(t.Context())
		if must(t, err); !cmp.Equal(now, approvers) || latest != serial || len(now) != 1 || l.Frozen() != frozen || !frozen.Stopped() || !cmp.Equal(l.Operators(), operators) {
			t.Errorf("approvers %v, serial %d, frozen %+v, operators %+v", now, latest, l.Frozen(), l.Operators())
		}
		if bound, err := l.BindDefault(t.Context(), &ledger.DefaultPolicy{At: at, PolicyHash: [32]byte{8}, Serial: 3}); err == nil {
			t.Errorf("a default policy with a serial that was used: %+v", bound)
		}
		if key, found := l.LookupKeyID(keys[2].ID); !found || key.Halt.Reason != "stolen" {
			t.Errorf("a suspended key: %+v", key)
		}
		must(t, l.Halt(t.Context(), &ledger.Halt{At: at + 1}))
		at += 2
		usedAlready(t, l, keys, at)
		due, _, err := l.Due(t.Context(), at+int64(time.Hour), 99)
		if must(t, err); len(due) != len(keys) {
			t.Errorf("%d deliveries wait", len(due))
		}
		for _, d := range due {
			if d.Renumbered == [16]byte{} || d.Event.LSN != d.LSN || d.Event.Plan[0] != waits {
				t.Errorf("the delivery of %+v", d)
			}
			streams[d.Renumbered] = true
		}
		must(t, l.Halt(t.Context(), &ledger.Halt{Stop: true, At: at, Reason: "again"}))
		frozen = l.Frozen()
		must(t, l.Close())
		w = divide(t, log, 6)
		i = w.start(t, w.all()...)
		i.serve(t)
		due, _, err = i.Due(t.Context(), at+int64(time.Hour), 99)
		if must(t, err); len(due) != len(keys) || !streams[due[0].Renumbered] {
			t.Errorf("%d deliveries wait where the log was divided: %+v", len(due), due)
		}
		must(t, i.Close())
	}
	if len(streams) != 1 {
		t.Errorf("the ids of deliveries that wait became others: %v", streams)
	}
}

// waits is the series of the plans of which a webhook is told that does not answer.
const waits = 'q'

// use is the use of a key's attestation.
func use(key ledger.Key, at int64) *ledger.Use {
	token := key.ID
	token[0] = 't'
	return &ledger.Use{Key: key.ID, Epoch: 1, Token: token, Expires: ledgertest.Start + int64(time.Hour), At: at, Issued: at, Event: ledger.Event{Endpoint: "/rpc", AgentID: "agent", Action: "wallet.transfer"}}
}

// useAndTell has each key decide twice, of which its webhook takes the first, and use an attestation.
func useAndTell(t *testing.T, l *instance, keys []ledger.Key, at int64) {
	t.Helper()
	for n, key := range keys {
		for _, series := range []byte{'p', waits} {
			plan := ledgertest.Counted(key.ID, uint64(n), 99)       //nolint:gosec // it is small
			plan.ID, plan.At = ledgertest.ID(series, uint64(n)), at //nolint:gosec // it is small
			must(t, l.Submit(plan).Wait(t.Context()))
		}
		must(t, l.UseOnce(t.Context(), use(key, at)))
	}
	due, _, err := l.Due(t.Context(), at, 99)
	must(t, err)
	for _, d := range due {
		q := ledger.DeliveryResult{Key: d.Webhook.Key, Webhook: d.Webhook.ID, LSN: d.LSN, At: at, Delivered: d.Event.Plan[0] != waits, Next: at + int64(time.Minute)}
		must(t, l.SettleDelivery(q))
	}
	if must(t, l.Flush(t.Context())); len(due) != 2*len(keys) {
		t.Errorf("%d deliveries", len(due))
	}
}

// usedAlready finds the attestations used, and the counters where they were.
func usedAlready(t *testing.T, l ledger.Ledger, keys []ledger.Key, at int64) {
	t.Helper()
	for n, key := range keys {
		if err := l.UseOnce(t.Context(), use(key, at)); !errors.Is(err, ledger.ErrUsed) && n != 2 {
			t.Errorf("an attestation of key %d is used again: %v", n, err)
		}
		if used, err := l.Counter(t.Context(), key.ID, ledgertest.Counting, at); err != nil || used != amount.FromUint64(2) {
			t.Errorf("the counter of key %d stands at %s: %v", n, used, err)
		}
	}
}

// counts has a key count one.
func counts(t *testing.T, l ledger.Ledger, key ledger.Key, at int64) {
	t.Helper()
	n := uint64(at) + uint64(key.ID[15]) //nolint:gosec // it is a name
	plan := ledgertest.Counted(key.ID, n, 99)
	plan.ID, plan.At = ledgertest.ID('c', n), at
	must(t, l.Submit(plan).Wait(t.Context()))
}

// usesNew uses an attestation that a key got just then.
func usesNew(t *testing.T, l ledger.Ledger, key ledger.Key, at int64) error {
	t.Helper()
	token := ledgertest.ID('u', uint64(at)+uint64(key.ID[15])) //nolint:gosec // it is a name
	return l.UseOnce(t.Context(), &ledger.Use{Key: key.ID, Epoch: 1, Token: token, Expires: at + int64(time.Minute), At: at, Issued: at, Event: ledger.Event{Endpoint: "/rpc"}})
}

// jumpedWorld is a world whose clock has jumped by a year, and was set back then: for all slots, or for that of the first key alone, whose keys count
// twice in all.
func jumpedWorld(t *testing.T, all bool) (w *world, keys []ledger.Key, at int64) {
	t.Helper()
	const year = int64(365 * 24 * time.Hour)
	w, at = newWorld(4), ledgertest.Start
	i := w.start(t, w.all()...)
	i.serve(t)
	for n := range uint64(6) {
		keys = append(keys, ledgertest.NewKey(1+n))
		must(t, i.CreateKey(t.Context(), keys[n]))
		counts(t, i, keys[n], at)
	}
	for n := range int64(8) { // each has others forgotten
		for _, key := range keys {
			must(t, usesNew(t, i, key, at+year+n*int64(time.Hour)))
		}
	}
	must(t, i.Halt(t.Context(), &ledger.Halt{Stop: true, At: at + 2*year}))
	must(t, i.Halt(t.Context(), &ledger.Halt{At: at + 2*year}))
	first := i.Of(keys[0].Hash)
	for number, slot := range i.Here() { // none is exactly when another is
		if all || number == first {
			must(t, slot.SetClock(t.Context(), at+int64(number)))
		}
	}
	at += int64(time.Second)
	for _, key := range keys {
		if all || i.Of(key.Hash) == first {
			counts(t, i, key, at)
		}
	}
	must(t, i.Close())
	return w, keys, at
}

// TestJoinedClock: a clock that was set back for the keys of one slot is so for them alone where the logs are one, and attestations are good
// again once it was set back for all.
func TestJoinedClock(t *testing.T) {
	for _, all := range []bool{false, true} {
		w, keys, at := jumpedWorld(t, all)
		for _, slots := range []int{3, 6} {
			log := w.joined(t) // which holds each key against its slot
			l, err := commit.Open(log, commit.Options{Random: rand.Reader})
			must(t, err)
			latest, err := l.Latest(t.Context())
			if must(t, err); (latest <= at) != all {
				t.Errorf("all %v: the latest time is %d, and now is %d", all, latest, at)
			}
			for _, key := range keys {
				with := func(slots int) bool { return ledger.SlotOf(key.Hash, slots+1) == ledger.SlotOf(keys[0].Hash, slots+1) }
				var want uint64 // the window of the first was over
				switch {
				case all || with(3):
					want = 2
				case slots == 6 && with(2): // its clock was set back as well then
					want = 1
				}
				if used, err := l.Counter(t.Context(), key.ID, ledgertest.Counting, at); err != nil || used != amount.FromUint64(want) {
					t.Errorf("all %v: the counter of %s stands at %s, want %d: %v", all, key.ID, used, want, err)
				}
			}
			at++
			if err := usesNew(t, l, keys[0], at); (err == nil) != all || !all && !errors.Is(err, ledger.ErrExpired) && !errors.Is(err, ledger.ErrHalted) {
				t.Errorf("all %v: an attestation of now: %v", all, err)
			}
			must(t, l.Close())
			w = divide(t, log, slots)
			w.setClock(t, keys[0], at) // while the others have nothing but what they had before the division
		}
	}
}

// setClock sets back the clock of the slot of a key, and that of the first one, which has the time of the division.
func (w *world) setClock(t *testing.T, key ledger.Key, at int64) {
	t.Helper()
	i := w.start(t, w.all()...)
	i.serve(t)
	for number, slot := range i.Here() {
		if number == 0 || number == i.Of(key.Hash) {
			must(t, slot.SetClock(t.Context(), at))
		}
	}
	must(t, i.Close())
}
