package state

import (
	"errors"
	"fmt"
	"math"

	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

var errRecord = errors.New("state: record")

// ErrNewer says that a part of a log has a form that this release does not know.
var ErrNewer = errors.New("a newer release wrote it, or it was altered")

// Decode reads the encoding of one record into r, whose memory is used again. The texts of r share the memory of
// data. It accepts exactly what Append writes; anything else is an error that says what and where.
func (r *Record) Decode(data string) error {
	r.reset()
	d := &r.decoder
	d.data = data
	number := d.byte()
	found := &numbers[number]
	r.Kind = found.kind
	d.copy(r.Key[:])
	r.Now = d.time()
	if found.form != nil {
		d.fields(r, found.form)
	}
	problem, at := d.problem, d.at
	*d = decoder{}
	switch {
	case found.form == nil:
		return fmt.Errorf("%w of the unknown kind %d: %w", errRecord, number, ErrNewer)
	case problem != "":
		return fmt.Errorf("%w of kind %d: %s at byte %d", errRecord, number, problem, at)
	}
	return nil
}

// fields reads the body of a record. A record has one encoding, so its content has to need the form that it has.
func (d *decoder) fields(r *Record, form *form) {
	for _, f := range form.fields {
		f.read(r, d)
	}
	switch {
	case d.problem != "":
	case d.left() > 0:
		d.fail("bytes after the end")
	case r.form() != form:
		d.fail("content that another form is for")
	}
}

func (r *Record) readReplay(d *decoder) {
	r.Replay = &ledger.Replay{}
	d.copy(r.Replay.ID[:])
	r.Replay.Nonce, r.Replay.Expires = d.text(ledger.MaxNonce), d.time()
	r.Replay.Claims = d.bytes(ledger.MaxClaims)
}

func (r *Record) readDecision(d *decoder) {
	d.copy(r.Plan[:])
	r.Result = ledger.Result(d.byte())
	r.Ending.Decision = ledger.Decision(d.byte())
	r.Observed = d.bool()
	r.Ending.Code = errcode.Code(d.text(ledger.MaxRule))
	r.Ending.Rule = d.text(ledger.MaxRule)
	r.readRequest(d)
	d.check(r.Result.Recorded(), "a result that is not recorded")
	isTestRun := r.Ending.Decision == ledger.TestRun
	d.check(r.Ending.Decision >= ledger.Allowed && r.Ending.Decision <= ledger.TestRun, "unknown decision")
	d.check(isTestRun == (r.Kind == ledger.Simulated), "a decision of another kind of record")
}

func (r *Record) readSubject(d *decoder) {
	to := &r.Event.Subject
	fields := d.uvarint()
	d.check(fields != 0 && fields < 1<<subject.Fields, "a subject that says nothing, or fields that there are not")
	for f := range to.Texts {
		if d.problem != "" || fields&(1<<f) == 0 {
			continue
		}
		to.Texts[f] = d.text(subject.Table[f].Max)
		d.check(to.Texts[f] != "", "an empty text in a subject")
		if subject.Table[f].Further != "" {
			to.Further[f] = d.int32()
		}
	}
}

func (r *Record) readRequest(d *decoder) {
	e := &r.Event
	e.Endpoint = d.text(ledger.MaxEventText)
	e.RequestID = d.text(ledger.MaxEventText)
	e.AgentID = d.text(ledger.MaxEventText)
	e.Action = d.text(ledger.MaxEventText)
	e.Class = d.byte()
	e.ChainID = d.uvarint()
	d.copy(e.Commitment[:])
	d.copy(e.PolicyHash[:])
	e.Value = d.text(ledger.MaxEventDetail)
	n := d.uvarint()
	d.check(n < 2*detailed, "a text that is too long")
	e.Detail = d.take(int(n % detailed))
	if n >= detailed {
		d.details(&e.Details)
	}
}

func (d *decoder) details(to *ledger.Details) {
	to.Line, to.Count = d.int32(), d.int32()
	to.Limit = d.text(ledger.MaxDetailText)
	to.Entry = d.text(ledger.MaxDetailText)
	n := d.uvarint()
	d.check(n <= ledger.MaxAllowed, "too many entries")
	for i := uint64(0); i < n && d.problem == ""; i++ {
		to.Allowed = append(to.Allowed, d.text(ledger.MaxDetailText))
	}
	d.check(!to.IsZero() && to.Fit(), "details that say nothing, or too much")
}

// int32 reads a number that fits into 31 bits.
func (d *decoder) int32() int {
	n := d.uvarint()
	d.check(n <= math.MaxInt32, "a number that is too large")
	return int(n & math.MaxInt32)
}

func (r *Record) readCounters(d *decoder) {
	n := d.uvarint()
	if n >= forgetting {
		n -= forgetting
		r.Forgets = d.uvarint()
		d.check(r.Forgets != 0 && n > 0, "groups that make room for none, or by no record")
	}
	d.check(n <= ledger.MaxSightings+ledger.MaxReservations, "too many counters")
	for i := uint64(0); i < n && d.problem == ""; i++ {
		var c CounterEffect
		c.Counter.Limit = d.text(ledger.MaxLimitName)
		c.Counter.Window = ledger.Window(d.byte())
		c.Counter.Group = d.text(ledger.MaxGroupText)
		c.Value = d.amount()
		if c.Counter.Window == taskWithRoom {
			c.Counter.Window, c.Room = ledger.Task, true
		}
		d.check(c.Counter.Window >= ledger.Hour && c.Counter.Window <= ledger.Task, "unknown window")
		r.Counters = append(r.Counters, c)
	}
}

func (r *Record) readHold(d *decoder) {
	h := &r.Hold
	h.Action = HoldAction(d.byte())
	d.check(h.Action <= holdOpenedBy, "unknown hold action")
	if h.Action == NoHold {
		return
	}
	d.copy(h.ID[:])
	switch h.Action {
	case holdOpenedBy:
		h.Action, h.Version = HoldOpened, d.uvarint()
		d.check(h.Version > 1, "a version that needs no such record")
		h.Fee = d.fee()
	case HoldOpened:
		h.Version = 1
	default:
		return
	}
	h.Expires = d.time()
	d.copy(h.IntentHash[:])
	d.copy(h.PolicyHash[:])
	h.Method = d.text(ledger.MaxEventText)
	h.AgentID = d.text(ledger.MaxEventText)
	h.PolicyVersion = d.text(ledger.MaxEventText)
	h.Intent = d.bytes(ledger.MaxIntent)
}

func (r *Record) readUsage(d *decoder) {
	month := d.uvarint()
	d.check(month < 1<<32, "a month out of range")
	r.Usage.Month = uint32(month)
	if month != 0 {
		r.Usage.Count = d.uvarint()
	}
}

func (r *Record) readKey(d *decoder) {
	k := &r.Created
	k.ID, k.Created = r.Key, r.Now
	d.copy(k.Hash[:])
	k.Email = d.text(ledger.MaxKeyText)
	k.Environment = d.text(ledger.MaxKeyText)
	k.Tier = d.text(ledger.MaxKeyText)
	k.Scopes = d.scopes()
	k.Shim = d.bool()
	k.Epoch = d.uvarint()
}

func readDeployEffect(d *decoder) *DeployEffect {
	e := &DeployEffect{}
	d.copy(e.Operator[:])
	d.copy(e.PolicyHash[:])
	e.PolicyVersion = d.text(ledger.MaxKeyText)
	machine := d.uvarint()
	d.check(machine < 1<<32, "a machine's version out of range")
	e.Machine = uint32(machine)
	e.Rollback = d.bool()
	if d.bool() {
		e.Activation = &ledger.Activation{}
		d.copy(e.Activation.ID[:])
		e.Activation.Expires = d.time()
	}
	e.Text = d.bytes(ledger.MaxPolicyText)
	e.Program = d.bytes(ledger.MaxProgram)
	return e
}

func readDefaultEffect(d *decoder) *DefaultEffect {
	e := &DefaultEffect{}
	d.copy(e.PolicyHash[:])
	e.Rollback, e.Serial, e.Named = d.bool(), d.uvarint(), d.bool()
	n := d.uvarint()
	d.check(n <= ledger.MaxNamedKeys && (n == 0 || e.Named), "keys that cannot be named")
	for i := uint64(0); i < n && d.problem == ""; i++ {
		var key ledger.ID
		d.copy(key[:])
		e.Keys = append(e.Keys, key)
	}
	return e
}

func readWebhook(d *decoder, key ledger.ID) *ledger.Webhook {
	w := &ledger.Webhook{Key: key}
	d.copy(w.ID[:])
	w.URL = d.text(ledger.MaxWebhookURL)
	w.Topics = ledger.Topics(d.byte())
	w.Secret = d.bytes(ledger.MaxWebhookSecret)
	w.Created = d.time()
	d.check(w.Topics&^ledger.AllTopics == 0, "unknown topics")
	return w
}

func (e *SettleEffect) read(d *decoder) {
	e.LSN = d.uvarint()
	e.Action = SettleAction(d.byte())
	d.check(e.Action >= DeliveryDone && e.Action <= DeliveryDisables, "unknown result of a delivery")
	if e.Action != DeliveryAgain {
		return
	}
	attempts := d.uvarint()
	d.check(attempts < 1<<32, "attempts out of range")
	e.Attempts, e.Next = uint32(attempts), d.time()
}

func (r *Record) readOutbox(d *decoder) {
	n := d.uvarint()
	d.check(n <= ledger.MaxWebhooks, "too many webhooks")
	for i := uint64(0); i < n && d.problem == ""; i++ {
		var e OutboxEffect
		d.copy(e.Webhook[:])
		e.Dropped = d.bool()
		r.Outbox = append(r.Outbox, e)
	}
}

// A decoder takes a record apart. After the first problem it returns zeros only, and the problem stays.
type decoder struct {
	data    string
	at      int // how many bytes have been read; an index costs no write barrier, where the rest of data would
	problem string
}

// left returns how many bytes are left.
func (d *decoder) left() int { return len(d.data) - d.at }

func (d *decoder) fail(problem string) {
	if d.problem == "" {
		d.problem = problem
	}
}

func (d *decoder) check(ok bool, problem string) {
	if !ok {
		d.fail(problem)
	}
}

// take returns the next n bytes.
func (d *decoder) take(n int) string {
	if d.problem != "" || n > d.left() {
		d.fail("too short")
		return ""
	}
	d.at += n
	return d.data[d.at-n : d.at]
}

func (d *decoder) byte() byte {
	if d.problem != "" || d.left() == 0 {
		d.fail("too short")
		return 0
	}
	d.at++
	return d.data[d.at-1]
}

func (d *decoder) bool() bool {
	b := d.byte()
	d.check(b <= 1, "a flag that is neither 0 nor 1")
	return b == 1
}

func (d *decoder) copy(dst []byte) { copy(dst, d.take(len(dst))) }

// uvarint reads an unsigned varint of the shortest form.
func (d *decoder) uvarint() uint64 {
	var value uint64
	for shift := 0; ; shift += 7 {
		b := d.byte()
		if d.problem != "" {
			return 0
		}
		if shift > 0 && b == 0 || shift == 63 && b > 1 {
			d.fail("a varint that is too long")
			return 0
		}
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
}

// time reads a time of at most MaxTime and a hold's lifetime.
func (d *decoder) time() int64 {
	t := d.uvarint()
	if t > ledger.MaxTime+uint64(ledger.MaxHoldLifetime) {
		d.fail("a time out of range")
		return 0
	}
	return int64(t)
}

func (d *decoder) text(limit int) string {
	n := d.uvarint()
	if n > uint64(limit) {
		d.fail("a text that is too long")
		return ""
	}
	return d.take(int(n))
}

// bytes returns a copy, nil where it is empty.
func (d *decoder) bytes(limit int) []byte {
	if text := d.text(limit); text != "" {
		return []byte(text)
	}
	return nil
}

func (d *decoder) scopes() ledger.Scopes {
	s := ledger.Scopes(d.byte())
	d.check(s&^ledger.AllScopes == 0, "unknown scopes")
	return s
}

func (d *decoder) fee() (f ledger.Fee) {
	if f.Declared = d.bool(); f.Declared {
		f.Amount = d.amount()
	}
	return f
}

func (d *decoder) amount() amount.Amount {
	n := int(d.byte())
	if n > 32 {
		d.fail("an amount of more than 32 bytes")
		return amount.Amount{}
	}
	digits := d.take(n)
	if digits != "" && digits[0] == 0 {
		d.fail("an amount with a leading zero")
		return amount.Amount{}
	}
	var full [32]byte
	copy(full[32-len(digits):], digits)
	return amount.FromBytes32(full)
}
