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
	"bailiff/runtime/ledger/codec"
	"bailiff/runtime/ledger/heap"
	"bailiff/runtime/ledger/pins"
)

// Encoding of a snapshot, version 6 to 13, in the terms of records (encode.go). What a state finds by one thing and by another
// is there once. Queues are as they are in memory, so that a state that was read goes on exactly as the one that
// was written would have.
//
// The version means what is forgotten when as well: verifying compares the bytes with those of a replay, so that with
// another order of sweeping an honest snapshot of before would pass for an edited one.
//
//	snapshot    = (6 | 7 | 8 | 9 | 10 | 11 | 12 | 13) secret n (key)*n tokens activations expiring n (default)*n replays halts approvers formats operators dropped followed   keys in the order of their creation
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
//	approvers   = after used-up, which may be 0 then, in version 9, which a state has that ever had an approver or has a hold with a note: serial n (device)*n n (key hold n (name credential)*n note)*n
//	formats     = after approvers in version 10, which a state has that has a webhook with a format or of the operator: n (key webhook format)*n   the operator's with 128 added
//	operators   = after formats, which may be empty then, in version 11, which a state has whose operator key was replaced: serial n (key)*n
//	dropped     = after operators, which may be empty then, in version 12, which a state has of whose log retention has dropped records: lsn
//	followed    = after dropped, which may be 0 then, in version 13, which a state has that follows another log: lsn
//	device      = confirmed suspended confirmation, as in a record
//	tokens      = forgotten n (expires id)*n                           activations likewise
//	expiring    = n (at key id pending)*n
const (
	snapshotVersion   = 6
	snapshotWithHalts = 7
	snapshotUsedUp    = 8
	snapshotApprovers = 9
	snapshotFormats   = 10
	snapshotOperators = 11
	snapshotDropped   = 12
	snapshotFollowed  = 13
)

var errSnapshot = errors.New("state: snapshot")

// A part is what a snapshot has from a version on, where a state needs it or a later one.
type part struct {
	version byte
	needed  func(*State) bool
	append  func(*State, []byte) []byte
	read    func(*State, *decoder)
}

var parts = [...]part{
	{snapshotWithHalts, func(s *State) bool { return s.halt != (ledger.HaltState{}) || s.everHalted() }, (*State).appendHalts, (*State).readHalts},
	{snapshotUsedUp, func(s *State) bool { return s.usedUp != 0 }, func(s *State, b []byte) []byte { return codec.AppendMoment(b, s.usedUp) }, func(s *State, d *decoder) { s.usedUp = d.Moment() }},
	{snapshotApprovers, func(s *State) bool { return s.approvers.serial != 0 || s.noted() }, (*State).appendApprovals, (*State).readApprovals},
	{snapshotFormats, func(s *State) bool { return len(s.appendFormats(nil)) > 1 }, (*State).appendFormats, (*State).readFormats},
	{snapshotOperators, func(s *State) bool { return len(s.operators.Keys) > 0 }, (*State).appendOperators, (*State).readOperators},
	{snapshotDropped, func(s *State) bool { return s.dropped != 0 }, func(s *State, b []byte) []byte { return binary.AppendUvarint(b, s.dropped) }, func(s *State, d *decoder) { s.dropped = d.Uvarint() }},
	{snapshotFollowed, func(s *State) bool { return s.followed != 0 }, func(s *State, b []byte) []byte { return binary.AppendUvarint(b, s.followed) }, func(s *State, d *decoder) { s.followed = d.Uvarint() }},
}

// version returns the oldest version of a snapshot that holds what s has.
func (s *State) version() (version byte) {
	version = snapshotVersion
	for i := range parts {
		if parts[i].needed(s) {
			version = parts[i].version
		}
	}
	return version
}

// AppendSnapshot appends all that s knows to b. Equal states have equal snapshots.
func (s *State) AppendSnapshot(b []byte) []byte {
	version := s.version()
	b = append(b, version)
	for _, half := range s.secret {
		b = binary.BigEndian.AppendUint64(b, half)
	}
	keys := s.inOrder()
	b = codec.AppendCount(b, len(keys))
	for _, k := range keys {
		b = k.appendSnapshot(b)
	}
	b = s.tokens.appendSnapshot(b, func(b []byte, id ledger.ID) []byte { return append(b, id[:]...) })
	b = s.activations.appendSnapshot(b, func(b []byte, id [32]byte) []byte { return append(b, id[:]...) })
	b = s.expiring.appendSnapshot(b)
	b = codec.AppendCount(b, len(s.defaults))
	for i := range s.defaults {
		d := &s.defaults[i]
		b = codec.AppendMoment(binary.AppendUvarint(b, d.lsn), d.At)
		e := DefaultEffect{PolicyHash: d.PolicyHash, Serial: d.Serial, Named: d.Named, Keys: d.Keys}
		b = e.append(b)
	}
	b = s.replays.appendSnapshot(b)
	for i := range parts {
		if version >= parts[i].version {
			b = parts[i].append(s, b)
		}
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

// AppendKey appends what s knows of a key that is there: all but approvals, notes and formats of webhooks.
func (s *State) AppendKey(b []byte, id ledger.ID) []byte { return s.keys[id].appendSnapshot(b) }

func (k *keyState) appendSnapshot(b []byte) []byte {
	b = append(b, k.key.ID[:]...)
	b = binary.AppendUvarint(b, k.created)
	b = appendKey(b, &k.key)
	b = append(b, k.key.Operator[:]...)
	b = codec.AppendText(b, k.key.Organization)
	b = codec.AppendMoment(codec.AppendMoment(b, k.key.Created), k.key.Revoked)
	b = append(b, k.key.PolicyHash[:]...)
	b = binary.AppendUvarint(b, k.key.PolicyLSN)
	b = codec.AppendMoment(b, k.now)
	b = binary.AppendUvarint(b, k.lsn)
	b = k.counters.appendSnapshot(b)
	b = k.holds.appendSnapshot(b)
	b = codec.AppendCount(b, len(k.usage))
	for _, u := range k.usage {
		b = appendUsage(b, u)
	}
	b = codec.AppendCount(b, len(k.deployments))
	for _, d := range k.deployments {
		b = codec.AppendMoment(append(b, d.PolicyHash[:]...), d.At)
		b = append(binary.AppendUvarint(b, d.LSN), codec.Bit(d.Rollback), codec.Bit(d.Named))
		b = binary.AppendUvarint(b, d.Serial)
	}
	b = binary.AppendUvarint(b, k.stored)
	return k.pins.AppendSnapshot(k.hooks.appendSnapshot(b))
}

// everHalted reports whether a key was ever stopped.
func (s *State) everHalted() bool {
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
	b = codec.AppendCount(b, len(halted))
	for _, k := range halted {
		b = appendHalt(append(b, k.key.ID[:]...), &k.key.Halt)
	}
	return b
}

func (s *State) readHalts(d *decoder) {
	s.halt = readHalt(d)
	for range d.Count() {
		var id ledger.ID
		d.Copy(id[:])
		halt := readHalt(d)
		if k := s.keys[id]; k != nil {
			k.key.Halt = halt
		} else {
			d.Fail("a halt of a key that is not there")
		}
	}
}

func appendHalt(b []byte, h *ledger.HaltState) []byte {
	return codec.AppendText(binary.AppendUvarint(codec.AppendMoment(codec.AppendMoment(b, h.Since), h.Last), h.Serial), h.Reason)
}

func readHalt(d *decoder) ledger.HaltState {
	return ledger.HaltState{Since: d.Moment(), Last: d.Moment(), Serial: d.Uvarint(), Reason: strings.Clone(d.Text(ledger.MaxHaltReason))}
}

func (t *counterTable) appendSnapshot(b []byte) []byte {
	b = codec.AppendCount(codec.AppendMoment(b, t.nextDeath), len(t.live))
	ids := slices.SortedFunc(maps.Keys(t.live), func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
	for _, id := range ids {
		c := t.live[id]
		for _, half := range id {
			b = binary.BigEndian.AppendUint64(b, half)
		}
		b = codec.AppendAmount(binary.AppendUvarint(codec.AppendMoment(b, c.dies), c.order), c.value)
	}
	return b
}

func (t *holdTable) appendSnapshot(b []byte) []byte {
	b = codec.AppendCount(codec.AppendMoment(b, t.nextExpiry), len(t.byID))
	for _, id := range t.inOrder() {
		h := t.byID[id]
		b = append(b, id[:]...)
		b = append(b, h.intent.intentHash[:]...)
		b = append(b, h.intent.policyHash[:]...)
		b = appendFee(b, h.fee)
		b = codec.AppendMoment(codec.AppendMoment(codec.AppendMoment(b, h.created), h.expires), h.resolved)
		b = binary.AppendUvarint(binary.AppendUvarint(b, h.lsn), h.version)
		b = append(b, byte(h.state))
	}
	return b
}

// inOrder returns the ids of the holds in their order.
func (t *holdTable) inOrder() []ledger.ID {
	return slices.SortedFunc(maps.Keys(t.byID), func(a, b ledger.ID) int { return bytes.Compare(a[:], b[:]) })
}

func (t *hookTable) appendSnapshot(b []byte) []byte {
	b = append(b, codec.Bit(t != nil))
	if t == nil {
		return b
	}
	b = codec.AppendCount(b, len(t.list))
	for _, h := range t.list {
		b = appendWebhook(b, &h.Webhook)
		b = binary.AppendUvarint(codec.AppendMoment(b, h.Disabled), h.Dropped)
		b = codec.AppendCount(b, len(h.queue))
		for _, lsn := range slices.Sorted(maps.Keys(h.queue)) {
			d := h.queue[lsn]
			b = codec.AppendMoment(binary.AppendUvarint(b, lsn), d.next)
			b = append(binary.AppendUvarint(b, uint64(d.attempts)), byte(d.topic))
		}
	}
	return b
}

func (t *onceTable[K]) appendSnapshot(b []byte, id func([]byte, K) []byte) []byte {
	b = codec.AppendCount(codec.AppendMoment(b, t.forgotten), t.order.Len())
	for _, e := range t.order.Items() {
		b = id(codec.AppendMoment(b, e.expires), e.id)
	}
	return b
}

func (t *expiryTable) appendSnapshot(b []byte) []byte {
	b = codec.AppendCount(b, t.order.Len())
	for _, e := range t.order.Items() {
		b = append(codec.AppendMoment(b, e.at), e.hold.key[:]...)
		at, pending := t.pending[e.hold]
		b = append(append(b, e.hold.id[:]...), codec.Bit(pending && at == e.at))
	}
	return b
}

// ReadSnapshot returns the state of a snapshot. An error says what is wrong with it, and where. It takes what
// AppendSnapshot wrote; of anything else it does not promise that it is refused, so a snapshot needs a checksum.
func ReadSnapshot(b []byte) (*State, error) {
	d := newDecoder(string(b))
	version := d.Byte()
	d.Check(version >= snapshotVersion && version <= snapshotFollowed, "another version wrote it")
	s := New(Secret{d.Half(), d.Half()})
	for range d.Count() {
		s.readKey(&d)
	}
	s.tokens.readSnapshot(&d, func(id *ledger.ID) { d.Copy(id[:]) })
	s.activations.readSnapshot(&d, func(id *[32]byte) { d.Copy(id[:]) })
	s.expiring.readSnapshot(&d)
	for range d.Count() {
		s.defaults = append(s.defaults, readDefault(&d))
	}
	s.replays.readSnapshot(&d)
	for i := range parts {
		if version >= parts[i].version {
			parts[i].read(s, &d)
		}
	}
	d.Check(d.Left() == 0, "bytes after the end")
	if d.Problem() != "" {
		return nil, fmt.Errorf("%w: %s at byte %d", errSnapshot, d.Problem(), d.At())
	}
	return s, nil
}

func (s *State) readKey(d *decoder) {
	r := Record{}
	d.Copy(r.Key[:])
	k := &keyState{created: d.Uvarint()}
	r.readKey(d)
	k.key = r.Created
	d.Copy(k.key.Operator[:])
	k.key.Organization = d.Text(ledger.MaxKeyText)
	k.key.Created, k.key.Revoked = d.Moment(), d.Moment()
	d.Copy(k.key.PolicyHash[:])
	k.key.PolicyLSN = d.Uvarint()
	k.key = detached(k.key)
	k.now, k.lsn = d.Moment(), d.Uvarint()
	k.counters.readSnapshot(d)
	k.holds.readSnapshot(d)
	for range d.Count() {
		r.readUsage(d)
		k.usage = append(k.usage, r.Usage)
	}
	for range d.Count() {
		k.deployments = append(k.deployments, readDeployment(d))
	}
	k.stored = d.Uvarint()
	if d.Bool() {
		s.readHooks(k, d)
	}
	k.pins = pins.ReadTable(&d.Decoder)
	_, twice := s.keys[k.key.ID]
	d.Check(!twice, "a key that occurs twice")
	s.keys[k.key.ID], s.byHash[k.key.Hash] = k, k.key.ID
	s.noteCrowded(k)
}

func readDeployment(d *decoder) (v ledger.DeploymentView) {
	d.Copy(v.PolicyHash[:])
	v.At, v.LSN, v.Rollback = d.Moment(), d.Uvarint(), d.Bool()
	v.Named, v.Serial = d.Bool(), d.Uvarint()
	return v
}

func readDefault(d *decoder) boundDefault {
	lsn, at := d.Uvarint(), d.Moment()
	e := readDefaultEffect(d)
	return boundDefault{ledger.DefaultPolicy{At: at, PolicyHash: e.PolicyHash, Serial: e.Serial, Named: e.Named, Keys: e.Keys}, lsn}
}

func (t *counterTable) readSnapshot(d *decoder) {
	t.nextDeath = d.Moment()
	n := d.Count()
	if n == 0 {
		if t.nextDeath != 0 {
			t.live = map[[2]uint64]counter{}
		}
		return
	}
	t.live = make(map[[2]uint64]counter, n)
	for range n {
		id := [2]uint64{d.Half(), d.Half()}
		t.live[id] = counter{dies: d.Moment(), order: d.Uvarint(), value: d.Amount()}
	}
}

func (t *holdTable) readSnapshot(d *decoder) {
	t.nextExpiry = d.Moment()
	n := d.Count()
	if n == 0 && t.nextExpiry == 0 {
		return
	}
	t.byID, t.byIntent = make(map[ledger.ID]hold, n), make(map[holdIntent][]ledger.ID, n)
	for range n {
		var id ledger.ID
		var h hold
		d.Copy(id[:])
		d.Copy(h.intent.intentHash[:])
		d.Copy(h.intent.policyHash[:])
		h.fee = d.fee()
		h.created, h.expires, h.resolved = d.Moment(), d.Moment(), d.Moment()
		h.lsn, h.version, h.state = d.Uvarint(), d.Uvarint(), ledger.HoldState(d.Byte())
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
	for range d.Count() {
		h := &hook{Webhook: *readWebhook(d, k.key.ID)}
		h.URL = strings.Clone(h.URL)
		h.Disabled, h.Dropped = d.Moment(), d.Uvarint()
		n := d.Count()
		if n > 0 {
			h.queue = make(map[uint64]delivery, n)
		}
		for range n {
			lsn := d.Uvarint()
			h.queue[lsn] = delivery{next: d.Moment(), attempts: uint32(d.Uvarint()), topic: ledger.Topics(d.Byte())}
		}
		k.hooks.list = append(k.hooks.list, h)
		s.wait(k, len(h.queue))
	}
}

func (t *onceTable[K]) readSnapshot(d *decoder, id func(*K)) {
	t.forgotten = d.Moment()
	items := make([]onceEntry[K], d.Count())
	if len(items) > 0 {
		t.used = make(map[K]int64, len(items))
	}
	for i := range items {
		items[i].expires = d.Moment()
		id(&items[i].id)
		t.used[items[i].id] = items[i].expires
	}
	t.order = heap.Restore(items)
}

func (t *expiryTable) readSnapshot(d *decoder) {
	items := make([]expiry, d.Count())
	if len(items) > 0 {
		t.pending = map[holdRef]int64{}
	}
	for i := range items {
		items[i].at = d.Moment()
		d.Copy(items[i].hold.key[:])
		d.Copy(items[i].hold.id[:])
		if d.Bool() {
			t.pending[items[i].hold] = items[i].at
		}
	}
	t.order = heap.Restore(items)
}

// appendSnapshot appends the devices and the serial.
func (t *approverTable) appendSnapshot(b []byte) []byte {
	b = codec.AppendCount(binary.AppendUvarint(b, t.serial), len(t.devices))
	for i := range t.devices {
		d := &t.devices[i]
		b = appendStatement(codec.AppendMoment(codec.AppendMoment(b, d.Confirmed), d.Suspended), &d.ApproverStatement)
	}
	return b
}

func (t *approverTable) readSnapshot(d *decoder) {
	t.serial = d.Uvarint()
	for range d.Count() {
		one := ledger.Approver{Confirmed: d.Moment(), Suspended: d.Moment()}
		one.ApproverStatement = readStatement(d, ledger.ConfirmApprover).Clone()
		t.devices = append(t.devices, one)
	}
}

// appendApprovals appends the approvers, the approvals of the holds that wait for another approver, and the notes of those that are resolved.
func (s *State) appendApprovals(b []byte) []byte {
	b = s.approvers.appendSnapshot(b)
	n, list := 0, []byte(nil)
	for _, k := range s.inOrder() {
		for _, id := range k.holds.inOrder() {
			h := k.holds.byID[id]
			if len(h.approvals) == 0 && h.note == "" {
				continue
			}
			n++
			list = codec.AppendCount(append(append(list, k.key.ID[:]...), id[:]...), len(h.approvals))
			for _, a := range h.approvals {
				list = binary.AppendUvarint(codec.AppendText(codec.AppendText(list, a.name), a.credential), a.serial)
				list = codec.AppendText(list, a.note)
			}
			list = codec.AppendText(list, h.note)
		}
	}
	return append(codec.AppendCount(b, n), list...)
}

func (s *State) readApprovals(d *decoder) {
	s.approvers.readSnapshot(d)
	for range d.Count() {
		var key, id ledger.ID
		d.Copy(key[:])
		d.Copy(id[:])
		k := s.keys[key]
		var h hold
		if k != nil {
			h = k.holds.byID[id]
		}
		for range d.Count() {
			a := heldApproval{name: strings.Clone(d.Text(ledger.MaxApproverName)), credential: strings.Clone(d.Text(ledger.MaxCredential)), serial: d.Uvarint()}
			a.note = strings.Clone(d.Text(ledger.MaxResolutionNote))
			h.approvals = append(h.approvals, a)
		}
		h.note = strings.Clone(d.Text(ledger.MaxResolutionNote))
		if d.Check(k != nil && h.state != 0, "an approval of a hold that is not there"); d.Problem() == "" {
			k.holds.byID[id] = h
		}
	}
}

// noted reports whether a hold has a note.
func (s *State) noted() bool {
	for _, k := range s.keys {
		for _, h := range k.holds.byID {
			if h.note != "" {
				return true
			}
		}
	}
	return false
}

// appendFormats appends the formats of the webhooks that have another than the standard one; a single byte where none has.
func (s *State) appendFormats(b []byte) []byte {
	n, list := 0, []byte(nil)
	for _, k := range s.inOrder() {
		if k.hooks == nil {
			continue
		}
		for _, h := range k.hooks.list {
			if shape := byte(h.Format) | codec.Bit(h.Operator)*operatorBit; shape != 0 {
				n++
				list = append(append(append(list, k.key.ID[:]...), h.ID[:]...), shape)
			}
		}
	}
	return append(codec.AppendCount(b, n), list...)
}

// operatorBit is set in the format of a webhook that is the operator's.
const operatorBit = 1 << 7

func (s *State) readFormats(d *decoder) {
	for range d.Count() {
		var key, id ledger.ID
		d.Copy(key[:])
		d.Copy(id[:])
		shape := d.Byte()
		format, operator := ledger.WebhookFormat(shape&^operatorBit), shape&operatorBit != 0
		d.Check(shape != 0 && format <= ledger.EmailFormat, "an unknown format of a webhook")
		var h *hook
		if k := s.keys[key]; k != nil {
			h = k.hooks.find(id)
		}
		if d.Check(h != nil, "a format of a webhook that is not there"); h != nil {
			h.Format, h.Operator = format, operator
		}
	}
}
