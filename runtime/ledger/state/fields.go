package state

import (
	"encoding/binary"
	"math"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/codec"
	"bailiff/runtime/ledger/pins"
	"bailiff/runtime/subject"
	"bailiff/vm/errcode"
)

// A field is a part of a record's body: how many bytes it has at most, how it is written, and how it is read. Reading accepts what
// writing gives, and nothing else. Kinds of records share fields.
type field struct {
	name   string // in the grammar of records
	most   int
	append func(r *Record, b []byte) []byte
	read   func(r *Record, d *decoder)
}

// Bounds of written fields.
const (
	maxVarint   = binary.MaxVarintLen64
	maxAmount   = 1 + 32
	idBytes     = len(ledger.ID{})
	headBytes   = 1 + idBytes + maxVarint // kind, key and now
	eventTexts  = 4*(ledger.MaxEventText+maxVarint) + 2*(ledger.MaxEventDetail+maxVarint)
	detailTexts = (2 + ledger.MaxAllowed) * (ledger.MaxDetailText + maxVarint)
	maxRequest  = eventTexts + 1 + maxVarint + 2*32 + detailTexts + 3*maxVarint
	maxCounter  = ledger.MaxLimitName + maxVarint + 1 + ledger.MaxGroupText + maxVarint + maxAmount
	maxReplay   = 32 + ledger.MaxNonce + maxVarint + maxVarint + ledger.MaxClaims + maxVarint
	maxOutbox   = maxVarint + ledger.MaxWebhooks*(idBytes+1)
	maxPins     = ledger.MaxToolsMetBytes + ledger.MaxPinnedTools*(ledger.MaxToolName+1+32+2*maxVarint) + ledger.MaxServerName + 2*maxVarint
)

// The fields of a decision.
var (
	decision    = &field{"event", idBytes + 3 + 2*(ledger.MaxRule+maxVarint) + maxRequest, (*Record).appendDecision, (*Record).readDecision}
	about       = &field{"subject", maxSubject(), (*Record).appendSubject, (*Record).readSubject}
	advances    = &field{"counters", 2*maxVarint + (ledger.MaxReservations+ledger.MaxSightings)*maxCounter, (*Record).appendCounters, (*Record).readCounters}
	holdEffect  = &field{"hold", 2 + idBytes + 6*maxVarint + maxAmount + 2*32 + 3*ledger.MaxEventText + ledger.MaxIntent, (*Record).appendHold, (*Record).readHold}
	monthUsage  = &field{"usage", 2 * maxVarint, (*Record).appendUsage, (*Record).readUsage}
	outbox      = &field{"outbox", maxOutbox, (*Record).appendOutbox, (*Record).readOutbox}
	replayOf    = &field{"replay", maxReplay, (*Record).appendReplay, (*Record).readReplay}
	maybeAbout  = maybe(about, hasSubject)
	maybeReplay = maybe(replayOf, replayed)
	sentAmount  = &field{"sent", ledger.MaxEventDetail + maxVarint, func(r *Record, b []byte) []byte {
		return codec.AppendText(b, r.Hold.AmountSent)
	}, func(r *Record, d *decoder) {
		r.Hold.AmountSent = d.Text(ledger.MaxEventDetail)
		d.Check(r.Hold.Action == HoldOpened && r.Hold.AmountSent != "", "an amount of no hold")
	}}
)

// The fields of keys and policies.
var (
	createdKey = &field{"created", 32 + 3*(ledger.MaxKeyText+maxVarint) + 2 + maxVarint, (*Record).appendKey, (*Record).readKey}
	owner      = &field{"owner", 32 + ledger.MaxKeyText + maxVarint, func(r *Record, b []byte) []byte {
		return codec.AppendText(append(b, r.Created.Operator[:]...), r.Created.Organization)
	}, func(r *Record, d *decoder) {
		d.Copy(r.Created.Operator[:])
		r.Created.Organization = d.Text(ledger.MaxKeyText)
	}}
	tier   = textField("tier", ledger.MaxKeyText, func(r *Record) *string { return &r.Created.Tier })
	scopes = &field{"scopes", 1, func(r *Record, b []byte) []byte {
		return append(b, byte(r.Created.Scopes))
	}, func(r *Record, d *decoder) { r.Created.Scopes = d.scopes() }}
	epoch      = numberField("epoch", 0, upTo[uint64](math.MaxUint64), func(r *Record) *uint64 { return &r.Epoch })
	deployment = &field{
		"deployment", 2*32 + ledger.MaxKeyText + 2*maxVarint + 2 + 32 + maxVarint + ledger.MaxPolicyText + maxVarint + ledger.MaxProgram + maxVarint,
		func(r *Record, b []byte) []byte { return r.Deployed.append(b) },
		func(r *Record, d *decoder) { r.Deployed = readDeployEffect(d) },
	}
	names = &field{"names", 1 + maxVarint, func(r *Record, b []byte) []byte {
		return binary.AppendUvarint(append(b, codec.Bit(r.Deployed.Named)), r.Deployed.Serial)
	}, func(r *Record, d *decoder) { r.Deployed.Named, r.Deployed.Serial = d.Bool(), d.Uvarint() }}
	defaultPolicy = &field{"default", 32 + 2 + 2*maxVarint + ledger.MaxNamedKeys*idBytes, func(r *Record, b []byte) []byte {
		return r.Default.append(b)
	}, func(r *Record, d *decoder) { r.Default = readDefaultEffect(d) }}
)

// The fields of holds, attestations and malformed requests.
var (
	holdID     = idField("hold-id", func(r *Record) *ledger.ID { return &r.Hold.ID })
	resolution = &field{"state", 1, func(r *Record, b []byte) []byte {
		return append(b, byte(r.Hold.State))
	}, func(r *Record, d *decoder) {
		r.Hold.State = ledger.HoldState(d.Byte())
		d.Check(r.Hold.State == ledger.HoldAllowed || r.Hold.State == ledger.HoldRefused, "a state that does not resolve a hold")
	}}
	signedAt  = timeField("resolved", func(r *Record) *int64 { return &r.Resolved })
	signature = &field{"signature", 64, func(r *Record, b []byte) []byte {
		return append(b, r.Signature[:]...)
	}, func(r *Record, d *decoder) { d.Copy(r.Signature[:]) }}
	token       = idField("token", func(r *Record) *ledger.ID { return &r.Token })
	tokenExpiry = timeField("expires", func(r *Record) *int64 { return &r.Expires })
	planID      = idField("plan", func(r *Record) *ledger.ID { return &r.Plan })
	code        = textField("code", ledger.MaxRule, func(r *Record) *errcode.Code { return &r.Ending.Code })
	request     = &field{"request", maxRequest, (*Record).appendRequest, (*Record).readRequest}
)

// The fields of webhooks and pins.
var (
	webhook = &field{"webhook", idBytes + ledger.MaxWebhookURL + 1 + ledger.MaxWebhookSecret + 3*maxVarint, func(r *Record, b []byte) []byte {
		return appendWebhook(b, r.Webhook)
	}, func(r *Record, d *decoder) { r.Webhook = readWebhook(d, r.Key) }}
	webhookFormat = &field{"format", 1, func(r *Record, b []byte) []byte {
		return append(b, byte(r.Webhook.Format))
	}, func(r *Record, d *decoder) { r.Webhook.Format = d.webhookFormat() }}
	// operatorFormat is that of a webhook of the operator's.
	operatorFormat = &field{"format", 1, webhookFormat.append, func(r *Record, d *decoder) {
		r.Webhook.Format, r.Webhook.Operator = d.anyFormat(), true
	}}
	webhookID = &field{"webhook-id", idBytes, func(r *Record, b []byte) []byte {
		return append(b, r.Webhook.ID[:]...)
	}, func(r *Record, d *decoder) {
		r.Webhook = &ledger.Webhook{Key: r.Key}
		d.Copy(r.Webhook.ID[:])
	}}
	settlement = &field{"settled", 1 + 3*maxVarint, func(r *Record, b []byte) []byte {
		return r.Settled.append(b)
	}, func(r *Record, d *decoder) { r.Settled.read(d) }}
	pinsEffect = &field{"pins", maxPins, func(r *Record, b []byte) []byte {
		return r.Pins.Append(b)
	}, func(r *Record, d *decoder) { r.Pins = pins.ReadEffect(&d.Decoder) }}
)

// haltEffect is a halt's reason and, where an operator signed it, the statement.
var haltEffect = &field{
	"reason (0 | 1 serial signed-at signature)", ledger.MaxHaltReason + maxVarint + 1 + 2*maxVarint + 64,
	func(r *Record, b []byte) []byte {
		return appendSigned(codec.AppendText(b, r.Halt.Reason), r.Halt.Signed)
	}, func(r *Record, d *decoder) {
		r.Halt = &ledger.Halt{Key: r.Key, Stop: r.Kind == ledger.KeySuspended || r.Kind == ledger.ServiceFrozen, At: r.Now, Reason: d.Text(ledger.MaxHaltReason)}
		r.Halt.Signed = readSigned(d)
	},
}

// restoration is the body of the first record after a restore.
var restoration = &field{
	"stream-before taken keep-counters thawed", 16 + maxVarint + 2,
	func(r *Record, b []byte) []byte {
		v := r.Restored
		b = codec.AppendMoment(append(b, v.Before[:]...), v.Taken)
		return append(b, codec.Bit(v.KeepCounters), codec.Bit(v.Thawed))
	}, func(r *Record, d *decoder) {
		v := &ledger.Restoration{At: r.Now}
		d.Copy(v.Before[:])
		v.Taken, v.KeepCounters, v.Thawed = d.Time(), d.Bool(), d.Bool()
		r.Restored = v
	},
}

// origin is the LSN that a copy has in the log that it was copied from.
var origin = numberField("origin", 1, upTo[uint64](math.MaxUint64), func(r *Record) *uint64 { return &r.Origin })

// slotsEffect is how many slots a store has, and slotEffect one of them, or the first, which has no keys.
var (
	slotsEffect = numberField("slots", 2, upTo(ledger.MaxSlots), func(r *Record) *int { return &r.Slots })
	slotEffect  = numberField("slot", 0, func(r *Record) int { return r.Slots }, func(r *Record) *int { return &r.Slot })
)

// maybe is a field that a record may have, behind a byte that says whether it does.
func maybe(f *field, has func(*Record) bool) *field {
	return &field{"(0 | 1 " + f.name + ")", 1 + f.most, func(r *Record, b []byte) []byte {
		if b = append(b, codec.Bit(has(r))); has(r) {
			return f.append(r, b)
		}
		return b
	}, func(r *Record, d *decoder) {
		if d.Bool() {
			f.read(r, d)
		}
	}}
}

// idField is a field that is an id.
func idField(name string, at func(*Record) *ledger.ID) *field {
	return &field{name, idBytes, func(r *Record, b []byte) []byte {
		return append(b, at(r)[:]...)
	}, func(r *Record, d *decoder) { d.Copy(at(r)[:]) }}
}

// timeField is a field that is a time.
func timeField(name string, at func(*Record) *int64) *field {
	return &field{name, maxVarint, func(r *Record, b []byte) []byte {
		return binary.AppendUvarint(b, uint64(*at(r)))
	}, func(r *Record, d *decoder) { *at(r) = d.Time() }}
}

// numberField is a field that is a number within bounds.
func numberField[T int | uint64](name string, least T, most func(*Record) T, at func(*Record) *T) *field {
	return &field{name, maxVarint, func(r *Record, b []byte) []byte {
		return binary.AppendUvarint(b, uint64(*at(r)))
	}, func(r *Record, d *decoder) {
		n := d.Uvarint()
		d.Check(n >= uint64(least) && n <= uint64(most(r)), "a number ("+name+") that is out of bounds")
		*at(r) = T(min(n, uint64(most(r))))
	}}
}

// upTo is a bound that is the same in all records.
func upTo[T int | uint64](n T) func(*Record) T { return func(*Record) T { return n } }

// textField is a field that is a text of at most so many bytes.
func textField[T ~string](name string, limit int, at func(*Record) *T) *field {
	return &field{name, limit + maxVarint, func(r *Record, b []byte) []byte {
		return codec.AppendText(b, string(*at(r)))
	}, func(r *Record, d *decoder) { *at(r) = T(d.Text(limit)) }}
}

// maxSubject is the largest encoding of a subject.
func maxSubject() int {
	most := maxVarint
	for _, row := range subject.Table {
		most += row.Max + 2*maxVarint
	}
	return most
}
