package state

import (
	"encoding/binary"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/codec"
	"bailiff/runtime/subject"
)

// Encoding of a record: its kind, its key, its time, and the fields of its kind in their order. Integers are minimal unsigned
// varints, texts have their length before them, ids and hashes are as they are. Every record has exactly one encoding, and Decode
// accepts no other: a record is written as the last kind of its event that its content needs. Kinds 25 and 26 are version 2 of
// records, and all others are version 1.
//
//	record     = kind key now field*
//	event      = plan result decision observed code rule request
//	request    = endpoint request-id agent action class chain commitment policy value (detail | detail' details), where the length of detail' has 1025 added to it
//	details    = line count limit entry n text*n, not all empty
//	subject    = fields (text, or text further where the table has that)*, where fields has bit n set for field n, not 0
//	counters   = n (limit window group amount)*n, or 2048+n forgets (limit window group amount)*n
//	window     = 1 hour | 2 day | 3 task | 4 task, with room
//	hold       = 0 | 1 id | 2 id opened | 3 id | 4 id version fee opened, of which 2 is version 1 of the intent hash, without a fee
//	fee        = 0 | 1 amount
//	opened     = expires intent-hash policy-hash method agent version intent
//	sent       = text: how the intent wrote the amount of the hold that is opened
//	usage      = 0 | month count
//	outbox     = n (webhook dropped)*n
//	replay     = id nonce expires claims
//	created    = hash email environment tier scopes shim epoch
//	owner      = operator organization, not both empty
//	deployment = operator policy version machine rollback activate text program
//	activate   = 0 | 1 id expires
//	names      = named serial, not both zero
//	default    = policy rollback serial named n (key)*n
//	webhook    = id url topics secret created
//	settled    = event's lsn (1 | 2 attempts next | 3 | 4)
//	pins       = server n (tool (1 definition | 2 definition | 3 hash | 4))*n
//	origin     = the LSN, above 0, of the record in another log that this one is a copy of
//	amount     = length bytes, big-endian, without leading zeros

// holdOpenedBy is how HoldOpened is written where the intent hash has a version above 1.
const holdOpenedBy HoldAction = 4

// forgetting is added to the number of counters where the LSN up to which groups make room follows, and taskWithRoom is how
// the window of a task's counter is written that may make room.
const (
	forgetting   = 2048
	taskWithRoom = ledger.Task + 1
)

// Append appends the encoding of r to b. r is one that Decide and its siblings filled in, or that Decode accepted.
func (r *Record) Append(b []byte) []byte {
	form := r.form()
	b = append(b, form.number)
	b = append(b, r.Key[:]...)
	b = binary.AppendUvarint(b, uint64(r.Now))
	for _, f := range form.fields {
		b = f.append(r, b)
	}
	return b
}

func (r *Record) appendReplay(b []byte) []byte {
	b = append(b, r.Replay.ID[:]...)
	b = binary.AppendUvarint(codec.AppendText(b, r.Replay.Nonce), uint64(r.Replay.Expires))
	return codec.AppendBytes(b, r.Replay.Claims)
}

func (r *Record) appendDecision(b []byte) []byte {
	b = append(b, r.Plan[:]...)
	b = append(b, byte(r.Result), byte(r.Ending.Decision), codec.Bit(r.Observed))
	b = codec.AppendText(b, string(r.Ending.Code))
	b = codec.AppendText(b, r.Ending.Rule)
	return r.appendRequest(b)
}

func (r *Record) appendSubject(b []byte) []byte {
	s := &r.Event.Subject
	fields := uint64(0)
	for f := range s.Texts {
		if s.Texts[f] != "" {
			fields |= 1 << f
		}
	}
	b = binary.AppendUvarint(b, fields)
	for f := range s.Texts {
		if s.Texts[f] == "" {
			continue
		}
		b = codec.AppendText(b, s.Texts[f])
		if subject.Table[f].Further != "" {
			b = binary.AppendUvarint(b, uint64(s.Further[f]))
		}
	}
	return b
}

func (r *Record) appendRequest(b []byte) []byte {
	e := &r.Event
	b = codec.AppendText(b, e.Endpoint)
	b = codec.AppendText(b, e.RequestID)
	b = codec.AppendText(b, e.AgentID)
	b = codec.AppendText(b, e.Action)
	b = append(b, e.Class)
	b = binary.AppendUvarint(b, e.ChainID)
	b = append(b, e.Commitment[:]...)
	b = append(b, e.PolicyHash[:]...)
	b = codec.AppendText(b, e.Value)
	if e.Details.IsZero() {
		return codec.AppendText(b, e.Detail)
	}
	b = append(binary.AppendUvarint(b, uint64(len(e.Detail)+detailed)), e.Detail...)
	return appendDetails(b, &e.Details)
}

// detailed is added to the length of an event's detail where details follow it: no detail is that long.
const detailed = ledger.MaxEventDetail + 1

func appendDetails(b []byte, d *ledger.Details) []byte {
	b = binary.AppendUvarint(b, uint64(d.Line))
	b = binary.AppendUvarint(b, uint64(d.Count))
	b = codec.AppendText(b, d.Limit)
	b = codec.AppendText(b, d.Entry)
	b = binary.AppendUvarint(b, uint64(len(d.Allowed)))
	for _, text := range d.Allowed {
		b = codec.AppendText(b, text)
	}
	return b
}

func (r *Record) appendCounters(b []byte) []byte {
	if r.Forgets == 0 {
		b = binary.AppendUvarint(b, uint64(len(r.Counters)))
	} else {
		b = binary.AppendUvarint(b, uint64(forgetting+len(r.Counters)))
		b = binary.AppendUvarint(b, r.Forgets)
	}
	for i := range r.Counters {
		c := &r.Counters[i]
		b = codec.AppendText(b, c.Counter.Limit)
		window := c.Counter.Window
		if c.Room {
			window = taskWithRoom
		}
		b = append(b, byte(window))
		b = codec.AppendText(b, c.Counter.Group)
		b = codec.AppendAmount(b, c.Value)
	}
	return b
}

func (r *Record) appendHold(b []byte) []byte {
	h := &r.Hold
	action := h.Action
	if action == HoldOpened && h.Version > 1 {
		action = holdOpenedBy
	}
	b = append(b, byte(action))
	if action == NoHold {
		return b
	}
	b = append(b, h.ID[:]...)
	switch action {
	case holdOpenedBy:
		b = appendFee(binary.AppendUvarint(b, h.Version), h.Fee)
	case HoldOpened:
	default:
		return b
	}
	b = binary.AppendUvarint(b, uint64(h.Expires))
	b = append(b, h.IntentHash[:]...)
	b = append(b, h.PolicyHash[:]...)
	b = codec.AppendText(b, h.Method)
	b = codec.AppendText(b, h.AgentID)
	b = codec.AppendText(b, h.PolicyVersion)
	return codec.AppendBytes(b, h.Intent)
}

func (r *Record) appendUsage(b []byte) []byte { return appendUsage(b, r.Usage) }

func appendUsage(b []byte, u ledger.Usage) []byte {
	b = binary.AppendUvarint(b, uint64(u.Month))
	if u.Month == 0 {
		return b
	}
	return binary.AppendUvarint(b, u.Count)
}

func (r *Record) appendKey(b []byte) []byte { return appendKey(b, &r.Created) }

func appendKey(b []byte, k *ledger.Key) []byte {
	b = append(b, k.Hash[:]...)
	b = codec.AppendText(b, k.Email)
	b = codec.AppendText(b, k.Environment)
	b = codec.AppendText(b, k.Tier)
	b = append(b, byte(k.Scopes), codec.Bit(k.Shim))
	return binary.AppendUvarint(b, k.Epoch)
}

func (e *DeployEffect) append(b []byte) []byte {
	b = append(b, e.Operator[:]...)
	b = append(b, e.PolicyHash[:]...)
	b = codec.AppendText(b, e.PolicyVersion)
	b = binary.AppendUvarint(b, uint64(e.Machine))
	b = append(b, codec.Bit(e.Rollback), codec.Bit(e.Activation != nil))
	if e.Activation != nil {
		b = append(b, e.Activation.ID[:]...)
		b = binary.AppendUvarint(b, uint64(e.Activation.Expires))
	}
	b = codec.AppendBytes(b, e.Text)
	return codec.AppendBytes(b, e.Program)
}

func (e *DefaultEffect) append(b []byte) []byte {
	b = append(append(b, e.PolicyHash[:]...), codec.Bit(e.Rollback))
	b = append(binary.AppendUvarint(b, e.Serial), codec.Bit(e.Named))
	b = binary.AppendUvarint(b, uint64(len(e.Keys)))
	for _, key := range e.Keys {
		b = append(b, key[:]...)
	}
	return b
}

func appendWebhook(b []byte, w *ledger.Webhook) []byte {
	b = append(b, w.ID[:]...)
	b = codec.AppendText(b, w.URL)
	b = append(b, byte(w.Topics))
	b = codec.AppendBytes(b, w.Secret)
	return binary.AppendUvarint(b, uint64(w.Created))
}

func (e *SettleEffect) append(b []byte) []byte {
	b = binary.AppendUvarint(b, e.LSN)
	b = append(b, byte(e.Action))
	if e.Action != DeliveryAgain {
		return b
	}
	b = binary.AppendUvarint(b, uint64(e.Attempts))
	return binary.AppendUvarint(b, uint64(e.Next))
}

func (r *Record) appendOutbox(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.Outbox)))
	for i := range r.Outbox {
		b = append(b, r.Outbox[i].Webhook[:]...)
		b = append(b, codec.Bit(r.Outbox[i].Dropped))
	}
	return b
}

func appendFee(b []byte, f ledger.Fee) []byte {
	if b = append(b, codec.Bit(f.Declared)); f.Declared {
		b = codec.AppendAmount(b, f.Amount)
	}
	return b
}
