package state

import (
	"encoding/binary"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// Encoding of a record, version 1. Integers are minimal unsigned varints, texts have their length before them, ids
// and hashes stand as they are. Every record has exactly one encoding, and Decode accepts no other.
//
//	record   = kind key now body
//	decision = event counters hold usage
//	test-run = event
//	event    = plan result decision observed code rule endpoint request agent action class chain commitment policy value detail
//	counters = n (limit window group amount)*n
//	hold     = 0 | 1 id | 2 id expires intent-hash policy-hash method agent version intent | 3 id
//	usage    = 0 | month count
//	created  = hash email environment tier scopes shim epoch
//	revoked  = epoch
//	resolved = hold state resolved signature
//	amount   = length bytes, big-endian, without leading zeros

// Append appends the encoding of r to b. r is one that Decide and its siblings filled in, or that Decode accepted.
func (r *Record) Append(b []byte) []byte {
	b = append(b, byte(r.Kind))
	b = append(b, r.Key[:]...)
	b = binary.AppendUvarint(b, uint64(r.Now))
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
	}
	return b
}

func (r *Record) appendEvent(b []byte) []byte {
	b = append(b, r.Plan[:]...)
	b = append(b, byte(r.Result), byte(r.Ending.Decision), bit(r.Observed))
	b = appendText(b, string(r.Ending.Code))
	b = appendText(b, r.Ending.Rule)
	e := &r.Event
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
	b = binary.AppendUvarint(b, uint64(len(h.Intent)))
	return append(b, h.Intent...)
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
