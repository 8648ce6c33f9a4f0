package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/heap"
)

// Encoding of a snapshot, version 6 to 8, in the terms of records (encode.go). What a state finds by one thing and by another
// is there once. Queues are as they are in memory, so that a state that was read goes on exactly as the one that
// was written would have.
//
// The version means what is forgotten when as well: verifying compares the bytes with those of a replay, so that with
// another order of sweeping an honest snapshot of before would pass for an edited one.
//
//	snapshot    = (6 | 7 | 8) secret n (key)*n tokens activations expiring n (default)*n replays halts   keys in the order of their creation
//	key         = id created-lsn created stored now lsn counters holds n (usage)*n n (deployment)*n kept hooks pins
//	stored      = operator organization created revoked policy-hash policy-lsn
//	counters    = next-death n (id dies order amount)*n
//	holds       = next-expiry n (id intent policy fee created expires resolved lsn version state)*n
//	kept        = bytes of the texts and programs of the deployments
//	deployment  = policy-hash at lsn rollback named serial
//	replays     = n (key id expires latest lsn epoch)*n
//	default     = lsn at default, as in a record
//	hooks       = 0 | 1 n (webhook disabled dropped n (lsn next attempts topic)*n)*n
//	pins        = n (server n (tool definition definition)*n)*n                 servers and tools in the order of their names
//	definition  = 0 | 1 hash at lsn size
//	halts       = from version 7 on, which a state has that was ever stopped: halt n (id halt)*n   keys in the order of their creation
//	halt        = since last serial reason
//	used-up     = after the halts in version 8, which a state has that was restored with its counters used up: when
//	tokens      = forgotten n (expires id)*n                           activations likewise
//	expiring    = n (at key id pending)*n
const (
	snapshotVersion   = 6
	snapshotWithHalts = 7
	snapshotUsedUp    = 8
)

var errSnapshot = errors.New("state: snapshot")

// AppendSnapshot appends all that s knows to b. Equal states have equal snapshots.
func (s *State) AppendSnapshot(b []byte) []byte {
	version := byte(snapshotVersion)
	switch {
	case s.usedUp != 0:
		version = snapshotUsedUp
	case s.everHalted():
		version = snapshotWithHalts
	}
	b = append(b, version)
	for _, half := range s.secret {
		b = binary.BigEndian.AppendUint64(b, half)
	}
	keys := s.inOrder()
	b = appendCount(b, len(keys))
	for _, k := range keys {
		b = k.appendSnapshot(b)
	}
	b = s.tokens.appendSnapshot(b, func(b []byte, id ledger.ID) []byte { return append(b, id[:]...) })
	b = s.activations.appendSnapshot(b, func(b []byte, id [32]byte) []byte { return append(b, id[:]...) })
	b = s.expiring.appendSnapshot(b)
	b = appendCount(b, len(s.defaults))
	for i := range s.defaults {
		d := &s.defaults[i]
		b = appendMoment(binary.AppendUvarint(b, d.lsn), d.At)
		e := DefaultEffect{PolicyHash: d.PolicyHash, Serial: d.Serial, Named: d.Named, Keys: d.Keys}
		b = e.append(b)
	}
	if b = s.replays.appendSnapshot(b); version >= snapshotWithHalts {
		b = s.appendHalts(b)
	}
	if version == snapshotUsedUp {
		b = appendMoment(b, s.usedUp)
	}
	return b
}

// inOrder returns the keys in the order of their creation.
func (s *State) inOrder() []*keyState {
	return slices.SortedFunc(maps.Values(s.keys), func(a, b *keyState) int { return cmp.Compare(a.created, b.created) })
}

// Keys calls yield with every key, in the order of their creation.
func (s *State) Keys(yield func(ledger.Key)) {
	for _, k := range s.inOrder() {
		yield(k.key)
	}
}

func appendCount(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendMoment(b []byte, at int64) []byte { return binary.AppendUvarint(b, uint64(at)) }

func (k *keyState) appendSnapshot(b []byte) []byte {
	b = append(b, k.key.ID[:]...)
	b = binary.AppendUvarint(b, k.created)
	b = appendKey(b, &k.key)
	b = append(b, k.key.Operator[:]...)
	b = appendText(b, k.key.Organization)
	b = appendMoment(appendMoment(b, k.key.Created), k.key.Revoked)
	b = append(b, k.key.PolicyHash[:]...)
	b = binary.AppendUvarint(b, k.key.PolicyLSN)
	b = appendMoment(b, k.now)
	b = binary.AppendUvarint(b, k.lsn)
	b = k.counters.appendSnapshot(b)
	b = k.holds.appendSnapshot(b)
	b = appendCount(b, len(k.usage))
	for _, u := range k.usage {
		b = appendUsage(b, u)
	}
	b = appendCount(b, len(k.deployments))
	for _, d := range k.deployments {
		b = appendMoment(append(b, d.PolicyHash[:]...), d.At)
		b = append(binary.AppendUvarint(b, d.LSN), bit(d.Rollback), bit(d.Named))
		b = binary.AppendUvarint(b, d.Serial)
	}
	b = binary.AppendUvarint(b, k.stored)
	return k.pins.appendSnapshot(k.hooks.appendSnapshot(b))
}

// everHalted reports whether anything was ever stopped.
func (s *State) everHalted() bool {
	if s.halt != (ledger.HaltState{}) {
		return true
	}
	for _, k := range s.keys {
		if k.key.Halt != (ledger.HaltState{}) {
			return true
		}
	}
	return false
}

func (s *State) appendHalts(b []byte) []byte {
	b = appendHalt(b, &s.halt)
	halted := slices.DeleteFunc(s.inOrder(), func(k *keyState) bool { return k.key.Halt == ledger.HaltState{} })
	b = appendCount(b, len(halted))
	for _, k := range halted {
		b = appendHalt(append(b, k.key.ID[:]...), &k.key.Halt)
	}
	return b
}

func (s *State) readHalts(d *decoder) {
	s.halt = readHalt(d)
	for range d.count() {
		var id ledger.ID
		d.copy(id[:])
		halt := readHalt(d)
		if k := s.keys[id]; k != nil {
			k.key.Halt = halt
		} else {
			d.fail("a halt of a key that is not there")
		}
	}
}

func appendHalt(b []byte, h *ledger.HaltState) []byte {
	return appendText(binary.AppendUvarint(appendMoment(appendMoment(b, h.Since), h.Last), h.Serial), h.Reason)
}

func readHalt(d *decoder) ledger.HaltState {
	return ledger.HaltState{Since: d.moment(), Last: d.moment(), Serial: d.uvarint(), Reason: strings.Clone(d.text(ledger.MaxHaltReason))}
}

func (t *counterTable) appendSnapshot(b []byte) []byte {
	b = appendCount(appendMoment(b, t.nextDeath), len(t.live))
	ids := slices.SortedFunc(maps.Keys(t.live), func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
	for _, id := range ids {
		c := t.live[id]
		for _, half := range id {
			b = binary.BigEndian.AppendUint64(b, half)
		}
		b = appendAmount(binary.AppendUvarint(appendMoment(b, c.dies), c.order), c.value)
	}
	return b
}

func (t *holdTable) appendSnapshot(b []byte) []byte {
	b = appendCount(appendMoment(b, t.nextExpiry), len(t.byID))
	ids := slices.SortedFunc(maps.Keys(t.byID), func(a, b ledger.ID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range ids {
		h := t.byID[id]
		b = append(b, id[:]...)
		b = append(b, h.intent.intentHash[:]...)
		b = append(b, h.intent.policyHash[:]...)
		b = appendFee(b, h.fee)
		b = appendMoment(appendMoment(appendMoment(b, h.created), h.expires), h.resolved)
		b = binary.AppendUvarint(binary.AppendUvarint(b, h.lsn), h.version)
		b = append(b, byte(h.state))
	}
	return b
}

func (t *hookTable) appendSnapshot(b []byte) []byte {
	b = append(b, bit(t != nil))
	if t == nil {
		return b
	}
	b = appendCount(b, len(t.list))
	for _, h := range t.list {
		b = appendWebhook(b, &h.Webhook)
		b = binary.AppendUvarint(appendMoment(b, h.Disabled), h.Dropped)
		b = appendCount(b, len(h.queue))
		for _, lsn := range slices.Sorted(maps.Keys(h.queue)) {
			d := h.queue[lsn]
			b = appendMoment(binary.AppendUvarint(b, lsn), d.next)
			b = append(binary.AppendUvarint(b, uint64(d.attempts)), byte(d.topic))
		}
	}
	return b
}

func (t *onceTable[K]) appendSnapshot(b []byte, id func([]byte, K) []byte) []byte {
	b = appendCount(appendMoment(b, t.forgotten), t.order.Len())
	for _, e := range t.order.Items() {
		b = id(appendMoment(b, e.expires), e.id)
	}
	return b
}

func (t *expiryTable) appendSnapshot(b []byte) []byte {
	b = appendCount(b, t.order.Len())
	for _, e := range t.order.Items() {
		b = append(appendMoment(b, e.at), e.hold.key[:]...)
		at, pending := t.pending[e.hold]
		b = append(append(b, e.hold.id[:]...), bit(pending && at == e.at))
	}
	return b
}

// ReadSnapshot returns the state of a snapshot. An error says what is wrong with it, and where. It takes what
// AppendSnapshot wrote; of anything else it does not promise that it is refused, so a snapshot needs a checksum.
func ReadSnapshot(b []byte) (*State, error) {
	d := decoder{data: string(b)}
	version := d.byte()
	d.check(version >= snapshotVersion && version <= snapshotUsedUp, "another version wrote it")
	s := New(Secret{d.half(), d.half()})
	for range d.count() {
		s.readKey(&d)
	}
	s.tokens.readSnapshot(&d, func(id *ledger.ID) { d.copy(id[:]) })
	s.activations.readSnapshot(&d, func(id *[32]byte) { d.copy(id[:]) })
	s.expiring.readSnapshot(&d)
	for range d.count() {
		s.defaults = append(s.defaults, readDefault(&d))
	}
	s.replays.readSnapshot(&d)
	if version >= snapshotWithHalts {
		s.readHalts(&d)
	}
	if version == snapshotUsedUp {
		s.usedUp = d.moment()
	}
	d.check(d.left() == 0, "bytes after the end")
	if d.problem != "" {
		return nil, fmt.Errorf("%w: %s at byte %d", errSnapshot, d.problem, d.at)
	}
	return s, nil
}

// half reads eight bytes.
func (d *decoder) half() uint64 {
	var b [8]byte
	d.copy(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// count reads how many of something follow. Each takes a byte at least, so that no count asks for more memory than the
// snapshot has.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(d.left()) {
		d.fail("a count of more than there is")
		return 0
	}
	return int(n)
}

// moment reads a time, which may be one that never comes.
func (d *decoder) moment() int64 {
	at := d.uvarint()
	if at > never {
		d.fail("a time out of range")
		return 0
	}
	return int64(at)
}

func (s *State) readKey(d *decoder) {
	r := Record{}
	d.copy(r.Key[:])
	k := &keyState{created: d.uvarint()}
	r.readKey(d)
	k.key = r.Created
	d.copy(k.key.Operator[:])
	k.key.Organization = d.text(ledger.MaxKeyText)
	k.key.Created, k.key.Revoked = d.moment(), d.moment()
	d.copy(k.key.PolicyHash[:])
	k.key.PolicyLSN = d.uvarint()
	k.key = detached(k.key)
	k.now, k.lsn = d.moment(), d.uvarint()
	k.counters.readSnapshot(d)
	k.holds.readSnapshot(d)
	for range d.count() {
		r.readUsage(d)
		k.usage = append(k.usage, r.Usage)
	}
	for range d.count() {
		k.deployments = append(k.deployments, readDeployment(d))
	}
	k.stored = d.uvarint()
	if d.bool() {
		s.readHooks(k, d)
	}
	k.pins = readPins(d)
	_, twice := s.keys[k.key.ID]
	d.check(!twice, "a key that stands there twice")
	s.keys[k.key.ID], s.byHash[k.key.Hash] = k, k.key.ID
	s.noteCrowded(k)
}

func readDeployment(d *decoder) (v ledger.DeploymentView) {
	d.copy(v.PolicyHash[:])
	v.At, v.LSN, v.Rollback = d.moment(), d.uvarint(), d.bool()
	v.Named, v.Serial = d.bool(), d.uvarint()
	return v
}

func readDefault(d *decoder) boundDefault {
	lsn, at := d.uvarint(), d.moment()
	e := readDefaultEffect(d)
	return boundDefault{ledger.DefaultPolicy{At: at, PolicyHash: e.PolicyHash, Serial: e.Serial, Named: e.Named, Keys: e.Keys}, lsn}
}

func (t *counterTable) readSnapshot(d *decoder) {
	t.nextDeath = d.moment()
	n := d.count()
	if n == 0 {
		if t.nextDeath != 0 {
			t.live = map[[2]uint64]counter{}
		}
		return
	}
	t.live = make(map[[2]uint64]counter, n)
	for range n {
		id := [2]uint64{d.half(), d.half()}
		t.live[id] = counter{dies: d.moment(), order: d.uvarint(), value: d.amount()}
	}
}

func (t *holdTable) readSnapshot(d *decoder) {
	t.nextExpiry = d.moment()
	n := d.count()
	if n == 0 && t.nextExpiry == 0 {
		return
	}
	t.byID, t.byIntent = make(map[ledger.ID]hold, n), make(map[holdIntent][]ledger.ID, n)
	for range n {
		var id ledger.ID
		var h hold
		d.copy(id[:])
		d.copy(h.intent.intentHash[:])
		d.copy(h.intent.policyHash[:])
		h.fee = d.fee()
		h.created, h.expires, h.resolved = d.moment(), d.moment(), d.moment()
		h.lsn, h.version, h.state = d.uvarint(), d.uvarint(), ledger.HoldState(d.byte())
		t.byID[id] = h
		t.byIntent[h.intent] = append(t.byIntent[h.intent], id)
		if h.state == ledger.HoldPending {
			t.pending++
		}
	}
	for _, ids := range t.byIntent {
		slices.SortFunc(ids, func(a, b ledger.ID) int { return cmp.Compare(t.byID[a].lsn, t.byID[b].lsn) })
	}
}

func (s *State) readHooks(k *keyState, d *decoder) {
	k.hooks = &hookTable{}
	for range d.count() {
		h := &hook{Webhook: *readWebhook(d, k.key.ID)}
		h.URL = strings.Clone(h.URL)
		h.Disabled, h.Dropped = d.moment(), d.uvarint()
		n := d.count()
		if n > 0 {
			h.queue = make(map[uint64]delivery, n)
		}
		for range n {
			lsn := d.uvarint()
			h.queue[lsn] = delivery{next: d.moment(), attempts: uint32(d.uvarint()), topic: ledger.Topics(d.byte())}
		}
		k.hooks.list = append(k.hooks.list, h)
		s.wait(k, len(h.queue))
	}
}

func (t *onceTable[K]) readSnapshot(d *decoder, id func(*K)) {
	t.forgotten = d.moment()
	items := make([]onceEntry[K], d.count())
	if len(items) > 0 {
		t.used = make(map[K]int64, len(items))
	}
	for i := range items {
		items[i].expires = d.moment()
		id(&items[i].id)
		t.used[items[i].id] = items[i].expires
	}
	t.order = heap.Restore(items)
}

func (t *expiryTable) readSnapshot(d *decoder) {
	items := make([]expiry, d.count())
	if len(items) > 0 {
		t.pending = map[holdRef]int64{}
	}
	for i := range items {
		items[i].at = d.moment()
		d.copy(items[i].hold.key[:])
		d.copy(items[i].hold.id[:])
		if d.bool() {
			t.pending[items[i].hold] = items[i].at
		}
	}
	t.order = heap.Restore(items)
}
