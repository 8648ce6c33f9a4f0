package state

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// TestOpenHolds: so many holds may be pending, of which those count at the limit that have not expired.
func TestOpenHolds(t *testing.T) {
	table := &holdTable{}
	open := func(n int, expires int64) error {
		return table.add(1, &Record{Hold: HoldEffect{Action: HoldOpened, ID: ledger.ID{byte(n), byte(n >> 8), 1}, Expires: expires, IntentHash: [32]byte{byte(n)}}})
	}
	for n := range ledger.MaxOpenHolds {
		if err := open(n, 10+int64(n%2)*10); err != nil {
			t.Fatal(err)
		}
	}
	for now, want := range map[int64]int{9: ledger.MaxOpenHolds, 10: ledger.MaxOpenHolds / 2, 19: ledger.MaxOpenHolds / 2, 20: 0} {
		if got := table.open(now); got != want {
			t.Errorf("at %d, %d are open, want %d", now, got, want)
		}
	}
	if err := open(ledger.MaxOpenHolds, 10); err == nil || !strings.Contains(err.Error(), " 1000 ") {
		t.Errorf("one more: %v", err)
	}
	if err := table.resolve(&Record{Now: 10, Hold: HoldEffect{ID: ledger.ID{1, 0, 1}, State: ledger.HoldAllowed}}); err != nil || table.open(10) != ledger.MaxOpenHolds/2-1 {
		t.Errorf("%d are open after one is resolved, %v", table.open(10), err)
	}
	table.sweep(10)
	if len(table.byID) != ledger.MaxOpenHolds/2 || table.pending != ledger.MaxOpenHolds/2-1 || table.nextExpiry != 20 {
		t.Errorf("%d are left, %d of them pending, the next expires at %d", len(table.byID), table.pending, table.nextExpiry)
	}
	if table.sweep(20); len(table.byID) != 0 || len(table.byIntent) != 0 || table.pending != 0 || table.nextExpiry != never {
		t.Errorf("%d are left, of %d intents, %d pending, the next expires at %d", len(table.byID), len(table.byIntent), table.pending, table.nextExpiry)
	}
}

// TestHoldsOfIntent: what an intent finds is left when another hold of it has expired.
func TestHoldsOfIntent(t *testing.T) {
	table, intent := &holdTable{}, holdIntent{}
	for n := range int64(3) {
		if err := table.add(uint64(n), &Record{Hold: HoldEffect{Action: HoldOpened, ID: ledger.ID{byte(n + 1)}, Expires: 10 * (n + 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	table.sweep(10)
	if got := table.byIntent[intent]; !slices.Equal(got, []ledger.ID{{2}, {3}}) {
		t.Errorf("holds %s are left", got)
	}
	if id, _, ok := table.find(intent, ledger.Fee{}, 20); !ok || id != (ledger.ID{3}) {
		t.Errorf("%s is found, %t", id, ok)
	}
}

// TestHoldsEnd: a restore ends the holds that may still be used.
func TestHoldsEnd(t *testing.T) {
	table := &holdTable{byID: map[ledger.ID]hold{}, nextExpiry: 20}
	for state := ledger.HoldPending; state <= ledger.HoldUsed; state++ {
		table.byID[ledger.ID{byte(state), 1}] = hold{state: state, expires: 20}
		table.byID[ledger.ID{byte(state), 2}] = hold{state: state, expires: 10}
		table.byID[ledger.ID{byte(state), 3}] = hold{state: state, expires: 9}
	}
	table.end(10)
	for id, h := range table.byID {
		want := map[byte]int64{1: 20, 2: 10, 3: 9}[id[1]]
		if h.state == ledger.HoldPending || h.state == ledger.HoldAllowed {
			want = min(want, 10)
		}
		if h.expires != want {
			t.Errorf("a hold that is %s expires at %d, want %d", h.state, h.expires, want)
		}
	}
	if table.nextExpiry != 10 {
		t.Errorf("the next expires at %d", table.nextExpiry)
	}
}

// TestExpiriesInOrder: the earliest hold expires first, of those of one time that of the lower key, then of the lower id.
func TestExpiriesInOrder(t *testing.T) {
	order := []expiry{
		{1, holdRef{ledger.ID{9}, ledger.ID{9}}}, {2, holdRef{ledger.ID{1}, ledger.ID{7}}}, {2, holdRef{ledger.ID{1}, ledger.ID{8}}}, {2, holdRef{ledger.ID{5}, ledger.ID{1}}},
	}
	for i := range order {
		for k := range order {
			if got := order[i].Before(order[k]); got != (i < k) {
				t.Errorf("%v before %v: %t", order[i], order[k], got)
			}
		}
	}
}

// TestPendingHolds counts those whose expiry is not recorded, also of what their keys have forgotten.
func TestPendingHolds(t *testing.T) {
	c := newCrowd(t, 2)
	if n, oldest := c.s.PendingHolds(); n != 0 || oldest != 0 {
		t.Errorf("%d are pending, since %d", n, oldest)
	}
	first := c.opens(ledger.ID{5})
	first.Hold.Expires = c.now + int64(ledger.HoldLifetime)
	c.apply(first)
	created := c.now
	c.now = first.Hold.Expires
	c.apply(c.opens(ledger.ID{6})) // forgets the first
	if n, oldest := c.s.PendingHolds(); n != 2 || oldest != created {
		t.Errorf("%d are pending, since %d, want 2, since %d", n, oldest, created)
	}
	c.apply(Record{Kind: ledger.HoldExpired, Key: busyKey, Now: c.now, Hold: HoldEffect{ID: ledger.ID{5}}})
	if n, oldest := c.s.PendingHolds(); n != 1 || oldest != c.now {
		t.Errorf("%d are pending, since %d, want 1, since %d", n, oldest, c.now)
	}
}

// TestWebhookLimit: a key has so many webhooks.
func TestWebhookLimit(t *testing.T) {
	c := newCrowd(t, 2)
	for n := range byte(ledger.MaxWebhooks) {
		c.apply(c.hooks(ledger.Webhook{ID: ledger.ID{n}, Topics: 1}))
	}
	more := c.hooks(ledger.Webhook{ID: ledger.ID{200}, Topics: 1})
	if c.s.Apply(c.lsn+1, &more) == nil {
		t.Error("one more is applied")
	}
	var r Record
	more.Webhook.URL, more.Webhook.Secret = "https://example.com/", make([]byte, 32)
	if err := c.s.CreateWebhook(more.Webhook, &r); !errors.Is(err, ledger.ErrTooMany) || !strings.Contains(err.Error(), " 20 ") {
		t.Errorf("one more: %v", err)
	}
}

// TestOutbox: so many events wait for the webhooks of a key; beyond that each has its share, and the rest is dropped.
func TestOutbox(t *testing.T) {
	share := map[uint64]delivery{}
	for n := range uint64(ledger.OutboxShare) {
		share[1000+n] = delivery{}
	}
	full, empty := &hook{Webhook: ledger.Webhook{ID: ledger.ID{1}, Topics: 1}, queue: share}, &hook{Webhook: ledger.Webhook{ID: ledger.ID{2}, Topics: 1}}
	for _, c := range []struct {
		waiting     int
		full, empty bool
	}{{ledger.MaxOutbox - 2, false, false}, {ledger.MaxOutbox - 1, false, false}, {ledger.MaxOutbox, true, false}} {
		k := &keyState{hooks: &hookTable{list: []*hook{full, empty}, waiting: c.waiting}}
		r := Record{Kind: ledger.Decided, Ending: allowedEnding}
		k.tell(&r)
		if len(r.Outbox) != 2 || r.Outbox[0].Dropped != c.full || r.Outbox[1].Dropped != c.empty {
			t.Errorf("with %d that wait: %+v", c.waiting, r.Outbox)
		}
	}
	both := &keyState{hooks: &hookTable{list: []*hook{full, full}, waiting: ledger.MaxOutbox - 1}}
	r := Record{Kind: ledger.Decided, Ending: allowedEnding}
	if both.tell(&r); r.Outbox[0].Dropped || !r.Outbox[1].Dropped {
		t.Errorf("with one place: %+v", r.Outbox)
	}
	s := New(Secret{})
	if s.applyOutbox(&keyState{hooks: &hookTable{list: []*hook{full}, waiting: ledger.MaxOutbox}}, 1, &Record{Kind: ledger.Decided, Ending: allowedEnding, Outbox: []OutboxEffect{{Webhook: full.ID}}}) == nil {
		t.Error("an event is put into an outbox that is full")
	}
}

// TestOutboxCounts: what waits is counted, and is gone with its webhook.
func TestOutboxCounts(t *testing.T) {
	c := busy(t)
	if got := c.s.Outbox(); got != 1 {
		t.Fatalf("%d events wait", got)
	}
	waits := Waiting{Key: busyKey, Webhook: hookOfAll, LSN: toldAt}
	if !c.s.Waits(waits) || string(c.s.Delivery(waits).Webhook.Secret) != "secret" || c.s.Delivery(waits).Topic != ledger.IntentAllowed {
		t.Errorf("waits: %t", c.s.Waits(waits))
	}
	for name, w := range map[string]Waiting{
		"of another key": {revokedKey, hookOfAll, toldAt, 0, 0}, "of an unknown key": {unknownID, hookOfAll, toldAt, 0, 0}, "for another webhook": {busyKey, hookOfDenied, toldAt, 0, 0},
		"of another event": {busyKey, hookOfAll, toldAt + 1, 0, 0}, "after an attempt": {busyKey, hookOfAll, toldAt, 0, 1},
	} {
		if c.s.Waits(w) {
			t.Errorf("a delivery waits %s", name)
		}
	}
	c.s.Delivery(waits).Webhook.Secret[0]++
	c.s.Webhooks(busyKey)[0].Secret[0]++
	if got := c.s.Webhooks(busyKey)[0]; got.URL != "https://example.com" || string(got.Secret) != "secret" {
		t.Errorf("a webhook changed with one that was shown: %+v", got)
	}
	c.apply(c.told(hookOfAll))
	if got := c.s.Outbox(); got != 2 {
		t.Errorf("%d events wait, want 2", got)
	}
	for i, id := range []ledger.ID{hookOfAll, hookDisabled, hookOfDenied} {
		c.apply(c.changesHook(ledger.WebhookRemoved, id))
		if got := c.s.Outbox(); got != 0 || len(c.s.Webhooks(busyKey)) != 2-i {
			t.Errorf("%d events wait for %d webhooks", got, len(c.s.Webhooks(busyKey)))
		}
	}
	if c.s.keys[busyKey].hooks != nil {
		t.Error("without webhooks there is an outbox")
	}
}

// TestDeliverySettled: what came of an attempt is recorded as what it was.
func TestDeliverySettled(t *testing.T) {
	for want, q := range map[SettleAction]ledger.DeliveryResult{
		DeliveryDone: {Delivered: true}, DeliveryAgain: {Next: 5}, DeliveryGivenUp: {}, DeliveryDisables: {Disable: true},
	} {
		c := busy(t)
		q.Key, q.Webhook, q.LSN = busyKey, hookOfAll, toldAt
		var r Record
		if err := c.s.SettleDelivery(&q, &r); err != nil || r.Settled.Action != want || (want == DeliveryAgain) != (r.Settled.Attempts == 1) || (want == DeliveryDisables) != (r.Now == c.now) {
			t.Errorf("%+v, %v", r.Settled, err)
		}
		c.apply(r)
		if hooks := c.s.Webhooks(busyKey); (hooks[0].Disabled != 0) != (want == DeliveryDisables) || (hooks[0].Dropped != 0) != (want == DeliveryGivenUp) {
			t.Errorf("after %d: %+v", want, hooks[0])
		}
		if left := c.s.Outbox(); (left == 1) != (want == DeliveryAgain) {
			t.Errorf("after %d, %d events wait", want, left)
		}
	}
	k := &keyState{hooks: &hookTable{list: []*hook{{Webhook: ledger.Webhook{ID: hookOfAll}, queue: map[uint64]delivery{1: {}}}}}}
	s := New(Secret{})
	s.keys[busyKey] = k
	var r Record
	if err := s.SettleDelivery(&ledger.DeliveryResult{Key: busyKey, Webhook: hookOfAll, LSN: 1, Disable: true}, &r); err != nil || r.Now != 1 {
		t.Errorf("a webhook disabled at the time 0 is so since %d, %v", r.Now, err)
	}
	if r.Now = 0; s.Apply(2, &r) == nil {
		t.Error("a webhook is disabled since 0, and so not at all")
	}
	if r.Now = 1; s.Apply(2, &r) != nil || k.hooks.list[0].Disabled != 1 {
		t.Errorf("a webhook disabled at 1 is so since %d", k.hooks.list[0].Disabled)
	}
}

// TestZeroTimes: a key that is revoked at the time 0 is revoked, and one of the time 0 has used nothing up.
func TestZeroTimes(t *testing.T) {
	c := &crowd{TB: t, s: New(Secret{1, 2})}
	c.apply(Record{Kind: ledger.KeyCreated, Key: busyKey, Created: ledger.Key{ID: busyKey, Epoch: 1}})
	for at, want := range map[int64]amount.Amount{0: {}, 1: ledger.UsedUp} {
		if c.s.usedUp = at; c.s.Counter(busyKey, busyCounter, 2) != want {
			t.Errorf("restored at %d, a counter is %s", at, c.s.Counter(busyKey, busyCounter, 2))
		}
	}
	var r Record
	if err := c.s.RevokeKey(busyKey, 0, &r); err != nil || r.Now != 1 {
		t.Errorf("revoked at %d, %v", r.Now, err)
	}
}

// TestUnknownKeys have nothing.
func TestUnknownKeys(t *testing.T) {
	c := busy(t)
	key, known := c.s.Key(busyKey)
	other, unknown := c.s.Key(unknownID)
	if !known || key.ID != busyKey || unknown || other != (ledger.Key{}) {
		t.Errorf("%+v %t, %+v %t", key, known, other, unknown)
	}
	if c.s.LSN(unknownID) != 0 || !c.s.Counter(unknownID, busyCounter, c.now).IsZero() || c.s.Usage(unknownID) != nil || c.s.Webhooks(unknownID) != nil || c.s.Pins(unknownID, "") != nil {
		t.Error("an unknown key has something")
	}
}
