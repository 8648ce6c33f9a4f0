package state

import (
	"encoding/binary"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// Encoding of a record, version 1. Integers are minimal unsigned varints, texts have their length before them, ids
// and hashes stand as they are. Every record has exactly one encoding, and Decode accepts no other.
//
//	record    = kind key now body
//	decision  = event counters hold usage, and as kind 14 an outbox that is not empty
//	test-run  = event
//	event     = plan result decision observed code rule what
//	what      = endpoint request agent action class chain commitment policy value detail
//	counters  = n (limit window group amount)*n
//	hold      = 0 | 1 id | 2 id expires intent-hash policy-hash method agent version intent | 3 id
//	usage     = 0 | month count
//	created   = hash email environment tier scopes shim epoch, and as kind 7: operator organization, not both empty
//	revoked   = epoch
//	resolved  = hold state resolved signature, and as kind 15 an outbox that is not empty
//	changed   = tier scopes
//	deployed  = epoch operator policy version machine rollback activate text program outbox
//	activate  = 0 | 1 id expires
//	used      = token expires what
//	expired   = hold outbox
//	webhook   = id url topics secret created
//	removed   = id
//	settled   = webhook lsn (1 | 2 attempts next | 3 | 4)
//	outbox    = n (webhook dropped)*n
//	amount    = length bytes, big-endian, without leading zeros

// The kinds of records that have grown since: the same Kind with more to it, so that older logs read as they were
// written.
const (
	keyGrown      Kind = 7  // KeyCreated with an operator key or an organization
	decisionTold  Kind = 14 // Decision with an outbox
	resolvingTold Kind = 15 // HoldResolved with an outbox
)

// encoded returns the kind as it is written.
func (r *Record) encoded() Kind {
	switch {
	case r.Kind == KeyCreated && (r.Created.Operator != [32]byte{} || r.Created.Organization != ""):
		return keyGrown
	case r.Kind == Decision && len(r.Outbox) > 0:
		return decisionTold
	case r.Kind == HoldResolved && len(r.Outbox) > 0:
		return resolvingTold
	}
	return r.Kind
}

// Append appends the encoding of r to b. r is one that Decide and its siblings filled in, or that Decode accepted.
func (r *Record) Append(b []byte) []byte {
	kind := r.encoded()
	b = append(b, byte(kind))
	b = append(b, r.Key[:]...)
	b = binary.AppendUvarint(b, uint64(r.Now))
	b = r.appendBody(b)
	switch kind {
	case keyGrown:
		return appendText(append(b, r.Created.Operator[:]...), r.Created.Organization)
	case decisionTold, resolvingTold, PolicyDeployed, HoldExpired:
		return r.appendOutbox(b)
	}
	return b
}

func (r *Record) appendBody(b []byte) []byte {
	switch r.Kind {
	case Decision:
		b = r.appendEvent(b)
		b = r.appendCounters(b)
		b = r.Hold.append(b)
		return appendUsage(b, r.Usage)
	case TestRun:
		return r.appendEvent(b)
	case KeyCreated:
		return appendKey(b, &r.Created)
	case KeyRevoked:
		return binary.AppendUvarint(b, r.Epoch)
	case HoldResolved:
		b = append(b, r.Hold.ID[:]...)
		b = append(b, byte(r.Hold.State))
		b = binary.AppendUvarint(b, uint64(r.Resolved))
		return append(b, r.Signature[:]...)
	case KeyChanged:
		b = appendText(b, r.Created.Tier)
		return append(b, byte(r.Created.Scopes))
	case PolicyDeployed:
		return r.Deployed.append(binary.AppendUvarint(b, r.Epoch))
	case AttestationUsed:
		b = append(b, r.Token[:]...)
		b = binary.AppendUvarint(b, uint64(r.Expires))
		return appendWhat(b, &r.Event)
	case HoldExpired:
		return append(b, r.Hold.ID[:]...)
	case WebhookCreated:
		return appendWebhook(b, r.Webhook)
	case WebhookRemoved:
		return append(b, r.Webhook.ID[:]...)
	case DeliverySettled:
		return r.Settled.append(append(b, r.Webhook.ID[:]...))
	}
	return b
}

func (r *Record) appendEvent(b []byte) []byte {
	b = append(b, r.Plan[:]...)
	b = append(b, byte(r.Result), byte(r.Ending.Decision), bit(r.Observed))
	b = appendText(b, string(r.Ending.Code))
	b = appendText(b, r.Ending.Rule)
	return appendWhat(b, &r.Event)
}

func appendWhat(b []byte, e *ledger.Event) []byte {
	b = appendText(b, e.Endpoint)
	b = appendText(b, e.RequestID)
	b = appendText(b, e.AgentID)
	b = appendText(b, e.Action)
	b = append(b, e.Class)
	b = binary.AppendUvarint(b, e.ChainID)
	b = append(b, e.Commitment[:]...)
	b = append(b, e.PolicyHash[:]...)
	b = appendText(b, e.Value)
	return appendText(b, e.Detail)
}

func (r *Record) appendCounters(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.Counters)))
	for i := range r.Counters {
		c := &r.Counters[i]
		b = appendText(b, c.Counter.Limit)
		b = append(b, byte(c.Counter.Window))
		b = appendText(b, c.Counter.Group)
		b = appendAmount(b, c.Value)
	}
	return b
}

func (h *HoldEffect) append(b []byte) []byte {
	b = append(b, byte(h.Action))
	if h.Action == NoHold {
		return b
	}
	b = append(b, h.ID[:]...)
	if h.Action != HoldOpened {
		return b
	}
	b = binary.AppendUvarint(b, uint64(h.Expires))
	b = append(b, h.IntentHash[:]...)
	b = append(b, h.PolicyHash[:]...)
	b = appendText(b, h.Method)
	b = appendText(b, h.AgentID)
	b = appendText(b, h.PolicyVersion)
	return appendBytes(b, h.Intent)
}

func appendUsage(b []byte, u ledger.Usage) []byte {
	b = binary.AppendUvarint(b, uint64(u.Month))
	if u.Month == 0 {
		return b
	}
	return binary.AppendUvarint(b, u.Count)
}

func appendKey(b []byte, k *ledger.Key) []byte {
	b = append(b, k.Hash[:]...)
	b = appendText(b, k.Email)
	b = appendText(b, k.Environment)
	b = appendText(b, k.Tier)
	b = append(b, byte(k.Scopes), bit(k.Shim))
	return binary.AppendUvarint(b, k.Epoch)
}

func (e *DeployEffect) append(b []byte) []byte {
	b = append(b, e.Operator[:]...)
	b = append(b, e.PolicyHash[:]...)
	b = appendText(b, e.PolicyVersion)
	b = binary.AppendUvarint(b, uint64(e.Machine))
	b = append(b, bit(e.Rollback), bit(e.Activation != nil))
	if e.Activation != nil {
		b = append(b, e.Activation.ID[:]...)
		b = binary.AppendUvarint(b, uint64(e.Activation.Expires))
	}
	b = appendBytes(b, e.Text)
	return appendBytes(b, e.Program)
}

func appendWebhook(b []byte, w *ledger.Webhook) []byte {
	b = append(b, w.ID[:]...)
	b = appendText(b, w.URL)
	b = append(b, byte(w.Topics))
	b = appendBytes(b, w.Secret)
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
		b = append(b, bit(r.Outbox[i].Dropped))
	}
	return b
}

func appendBytes(b, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

func appendText(b []byte, text string) []byte {
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

func appendAmount(b []byte, a amount.Amount) []byte {
	full := a.Bytes32()
	start := 0
	for start < len(full) && full[start] == 0 {
		start++
	}
	b = append(b, byte(len(full)-start))
	return append(b, full[start:]...)
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}
