package state

import (
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/codec"
	"bailiff/runtime/subject"
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
	*d = newDecoder(data)
	number := d.Byte()
	found := &numbers[number]
	r.Kind = found.kind
	d.Copy(r.Key[:])
	r.Now = d.Time()
	if found.form != nil {
		d.fields(r, found.form)
	}
	problem, at := d.Problem(), d.At()
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
	case d.Problem() != "":
	case d.Left() > 0:
		d.Fail("bytes after the end")
	case r.form() != form:
		d.Fail("content that another form is for")
	}
}

func (r *Record) readReplay(d *decoder) {
	r.Replay = &ledger.Replay{}
	d.Copy(r.Replay.ID[:])
	r.Replay.Nonce, r.Replay.Expires = d.Text(ledger.MaxNonce), d.Time()
	r.Replay.Claims = d.Bytes(ledger.MaxClaims)
}

func (r *Record) readDecision(d *decoder) {
	d.Copy(r.Plan[:])
	r.Result = ledger.Result(d.Byte())
	r.Ending.Decision = ledger.Decision(d.Byte())
	r.Observed = d.Bool()
	r.Ending.Code = errcode.Code(d.Text(ledger.MaxRule))
	r.Ending.Rule = d.Text(ledger.MaxRule)
	r.readRequest(d)
	d.Check(r.Result.Recorded(), "a result that is not recorded")
	isTestRun := r.Ending.Decision == ledger.TestRun
	d.Check(r.Ending.Decision >= ledger.Allowed && r.Ending.Decision <= ledger.TestRun, "unknown decision")
	d.Check(isTestRun == (r.Kind == ledger.Simulated), "a decision of another kind of record")
}

func (r *Record) readSubject(d *decoder) {
	to := &r.Event.Subject
	fields := d.Uvarint()
	d.Check(fields != 0 && fields < 1<<subject.Fields, "a subject that says nothing, or fields that there are not")
	for f := range to.Texts {
		if d.Problem() != "" || fields&(1<<f) == 0 {
			continue
		}
		to.Texts[f] = d.Text(subject.Table[f].Max)
		d.Check(to.Texts[f] != "", "an empty text in a subject")
		if subject.Table[f].Further != "" {
			to.Further[f] = d.Int32()
		}
	}
}

func (r *Record) readRequest(d *decoder) {
	e := &r.Event
	e.Endpoint = d.Text(ledger.MaxEventText)
	e.RequestID = d.Text(ledger.MaxEventText)
	e.AgentID = d.Text(ledger.MaxEventText)
	e.Action = d.Text(ledger.MaxEventText)
	e.Class = d.Byte()
	e.ChainID = d.Uvarint()
	d.Copy(e.Commitment[:])
	d.Copy(e.PolicyHash[:])
	e.Value = d.Text(ledger.MaxEventDetail)
	n := d.Uvarint()
	d.Check(n < 2*detailed, "a text that is too long")
	e.Detail = d.Take(int(n % detailed))
	if n >= detailed {
		d.details(&e.Details)
	}
}

func (d *decoder) details(to *ledger.Details) {
	to.Line, to.Count = d.Int32(), d.Int32()
	to.Limit = d.Text(ledger.MaxDetailText)
	to.Entry = d.Text(ledger.MaxDetailText)
	n := d.Uvarint()
	d.Check(n <= ledger.MaxAllowed, "too many entries")
	for i := uint64(0); i < n && d.Problem() == ""; i++ {
		to.Allowed = append(to.Allowed, d.Text(ledger.MaxDetailText))
	}
	d.Check(!to.IsZero() && to.Fit(), "details that say nothing, or too much")
}

func (r *Record) readCounters(d *decoder) {
	n := d.Uvarint()
	if n >= forgetting {
		n -= forgetting
		r.Forgets = d.Uvarint()
		d.Check(r.Forgets != 0 && n > 0, "groups that make room for none, or by no record")
	}
	d.Check(n <= ledger.MaxSightings+ledger.MaxReservations, "too many counters")
	for i := uint64(0); i < n && d.Problem() == ""; i++ {
		var c CounterEffect
		c.Counter.Limit = d.Text(ledger.MaxLimitName)
		c.Counter.Window = ledger.Window(d.Byte())
		c.Counter.Group = d.Text(ledger.MaxGroupText)
		c.Value = d.Amount()
		if c.Counter.Window == taskWithRoom {
			c.Counter.Window, c.Room = ledger.Task, true
		}
		d.Check(c.Counter.Window >= ledger.Hour && c.Counter.Window <= ledger.Task, "unknown window")
		r.Counters = append(r.Counters, c)
	}
}

func (r *Record) readHold(d *decoder) {
	h := &r.Hold
	h.Action = HoldAction(d.Byte())
	d.Check(h.Action <= holdOpenedBy, "unknown hold action")
	if h.Action == NoHold {
		return
	}
	d.Copy(h.ID[:])
	switch h.Action {
	case holdOpenedBy:
		h.Action, h.Version = HoldOpened, d.Uvarint()
		d.Check(h.Version > 1, "a version that needs no such record")
		h.Fee = d.fee()
	case HoldOpened:
		h.Version = 1
	default:
		return
	}
	h.Expires = d.Time()
	d.Copy(h.IntentHash[:])
	d.Copy(h.PolicyHash[:])
	h.Method = d.Text(ledger.MaxEventText)
	h.AgentID = d.Text(ledger.MaxEventText)
	h.PolicyVersion = d.Text(ledger.MaxEventText)
	h.Intent = d.Bytes(ledger.MaxIntent)
}

func (r *Record) readUsage(d *decoder) {
	month := d.Uvarint()
	d.Check(month < 1<<32, "a month out of range")
	r.Usage.Month = uint32(month)
	if month != 0 {
		r.Usage.Count = d.Uvarint()
	}
}

func (r *Record) readKey(d *decoder) {
	k := &r.Created
	k.ID, k.Created = r.Key, r.Now
	d.Copy(k.Hash[:])
	k.Email = d.Text(ledger.MaxKeyText)
	k.Environment = d.Text(ledger.MaxKeyText)
	k.Tier = d.Text(ledger.MaxKeyText)
	k.Scopes = d.scopes()
	k.Shim = d.Bool()
	k.Epoch = d.Uvarint()
}

func readDeployEffect(d *decoder) *DeployEffect {
	e := &DeployEffect{}
	d.Copy(e.Operator[:])
	d.Copy(e.PolicyHash[:])
	e.PolicyVersion = d.Text(ledger.MaxKeyText)
	machine := d.Uvarint()
	d.Check(machine < 1<<32, "a machine's version out of range")
	e.Machine = uint32(machine)
	e.Rollback = d.Bool()
	if d.Bool() {
		e.Activation = &ledger.Activation{}
		d.Copy(e.Activation.ID[:])
		e.Activation.Expires = d.Time()
	}
	e.Text = d.Bytes(ledger.MaxPolicyText)
	e.Program = d.Bytes(ledger.MaxProgram)
	return e
}

func readDefaultEffect(d *decoder) *DefaultEffect {
	e := &DefaultEffect{}
	d.Copy(e.PolicyHash[:])
	e.Rollback, e.Serial, e.Named = d.Bool(), d.Uvarint(), d.Bool()
	n := d.Uvarint()
	d.Check(n <= ledger.MaxNamedKeys && (n == 0 || e.Named), "keys that cannot be named")
	for i := uint64(0); i < n && d.Problem() == ""; i++ {
		var key ledger.ID
		d.Copy(key[:])
		e.Keys = append(e.Keys, key)
	}
	return e
}

func readWebhook(d *decoder, key ledger.ID) *ledger.Webhook {
	w := &ledger.Webhook{Key: key}
	d.Copy(w.ID[:])
	w.URL = d.Text(ledger.MaxWebhookURL)
	w.Topics = ledger.Topics(d.Byte())
	w.Secret = d.Bytes(ledger.MaxWebhookSecret)
	w.Created = d.Time()
	d.Check(w.Topics&^ledger.AllTopics == 0, "unknown topics")
	return w
}

// webhookFormat reads a format that is not the standard one.
func (d *decoder) webhookFormat() ledger.WebhookFormat {
	format := d.anyFormat()
	d.Check(format > ledger.StandardFormat, "an unknown format of a webhook")
	return format
}

func (d *decoder) anyFormat() ledger.WebhookFormat {
	format := ledger.WebhookFormat(d.Byte())
	d.Check(format <= ledger.EmailFormat, "an unknown format of a webhook")
	return format
}

func (e *SettleEffect) read(d *decoder) {
	e.LSN = d.Uvarint()
	e.Action = SettleAction(d.Byte())
	d.Check(e.Action >= DeliveryDone && e.Action <= DeliveryDisables, "unknown result of a delivery")
	if e.Action != DeliveryAgain {
		return
	}
	attempts := d.Uvarint()
	d.Check(attempts < 1<<32, "attempts out of range")
	e.Attempts, e.Next = uint32(attempts), d.Time()
}

func (r *Record) readOutbox(d *decoder) {
	n := d.Uvarint()
	d.Check(n <= ledger.MaxWebhooks, "too many webhooks")
	for i := uint64(0); i < n && d.Problem() == ""; i++ {
		var e OutboxEffect
		d.Copy(e.Webhook[:])
		e.Dropped = d.Bool()
		r.Outbox = append(r.Outbox, e)
	}
}

// A decoder takes a record or a snapshot apart.
type decoder struct{ codec.Decoder }

func newDecoder(data string) decoder { return decoder{codec.NewDecoder(data)} }

func (d *decoder) scopes() ledger.Scopes {
	s := ledger.Scopes(d.Byte())
	d.Check(s&^ledger.AllScopes == 0, "unknown scopes")
	return s
}

func (d *decoder) fee() (f ledger.Fee) {
	if f.Declared = d.Bool(); f.Declared {
		f.Amount = d.Amount()
	}
	return f
}
