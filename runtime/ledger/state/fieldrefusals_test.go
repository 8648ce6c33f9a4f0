package state

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
)

// A spoiled field is one as it is written, with one thing changed that makes of it one that is never written.
type spoiled struct {
	name  string
	field *field
	of    Record
	spoil func(data []byte) []byte
}

// number puts a number in place of one, which begins at a byte.
func number(at int, n uint64) func([]byte) []byte {
	return func(data []byte) []byte {
		_, size := binary.Uvarint(data[at:])
		return slices.Concat(data[:at], binary.AppendUvarint(nil, n), data[at+size:])
	}
}

// onDisk is a field that is given as it is on disk.
func onDisk(text string) func([]byte) []byte { return func([]byte) []byte { return []byte(text) } }

// Where parts of fields begin whose texts are empty.
const (
	detailAt  = 4 + 1 + 1 + 2*32 + 1 // of a request
	versionAt = 1 + idBytes          // of a hold that is opened
	machineAt = 2*32 + 1             // of a deployment
	attemptAt = 2                    // of what came of a delivery of record 1
	serialAt  = 2*32 + 1             // of a rotation
)

func spoiledFields() []spoiled {
	detail := Record{Event: ledger.Event{Details: ledger.Details{Line: 1}}}
	opened := Record{Hold: HoldEffect{Action: HoldOpened, Version: 2}}
	deployed := Record{Kind: ledger.PolicyBound, Deployed: &DeployEffect{}}
	again := Record{Settled: SettleEffect{LSN: 1, Action: DeliveryAgain}}
	hooked := Record{Webhook: &ledger.Webhook{Format: ledger.EmailFormat}}
	asked := Record{Event: ledger.Event{Subject: subject.Subject{Texts: [subject.Fields]string{subject.Task: "t"}}}}
	rotated := Record{Rotation: &ledger.Rotation{From: [32]byte{1}, To: [32]byte{2}, At: 1, Signed: &ledger.HaltStatement{Serial: 1}}}
	suspended := Record{Kind: ledger.ApproverSuspended, Approver: &ledger.ApproverStatement{Action: ledger.SuspendApprover, Serial: 1, Name: "alice"}}
	stopped := Record{Kind: ledger.KeySuspended, Key: busyKey, Halt: &ledger.Halt{Key: busyKey, Stop: true, Signed: &ledger.HaltStatement{Serial: 1}}}
	dropped := Record{Drop: &ledger.Drop{At: 1, Through: ledger.Head{LSN: 1}}}
	one := binary.AppendUvarint(nil, 1<<subject.Task)
	return []spoiled{
		{"a subject that says nothing", about, asked, onDisk("\x00")},
		{"a subject with an empty text", about, asked, onDisk(string(one) + "\x00")},
		{"a subject of a field that there is not", about, asked, func(data []byte) []byte { return binary.AppendUvarint(nil, 1<<subject.Fields) }},
		{"such a field beside one", about, asked, number(0, 1<<subject.Fields|1<<subject.Task)},
		{"a detail that is too long", request, detail, number(detailAt, 2*detailed)},
		{"details that say nothing", request, detail, number(detailAt+2, 0)},
		{"more entries than there are", request, detail, func(data []byte) []byte { return append(data[:len(data)-1], "\x01\x01a"...) }},
		{"the first version of a hold", holdEffect, opened, number(versionAt, 1)},
		{"a version of a hold before the first", holdEffect, opened, number(versionAt, 0)},
		{"a month out of range", monthUsage, Record{Usage: ledger.Usage{Month: 1, Count: 1}}, number(0, 1<<32)},
		{"a machine out of range", deployment, deployed, number(machineAt, 1<<32)},
		{"attempts out of range", settlement, again, number(attemptAt, 1<<32)},
		{"the standard format", webhookFormat, hooked, onDisk("\x00")},
		{"an unknown format", webhookFormat, hooked, onDisk("\x04")},
		{"an unknown format of an operator", operatorFormat, hooked, onDisk("\x04")},
		{"a rotation without a serial", rotation, rotated, number(serialAt, 0)},
		{"a halt by a statement without a serial", haltEffect, stopped, number(2, 0)},
		{"a drop of nothing", dropEffect, dropped, number(16, 0)},
		{"a division into one slot", slotsEffect, Record{Slots: 2}, number(0, 1)},
		{"a division into too many", slotsEffect, Record{Slots: 2}, number(0, ledger.MaxSlots+1)},
		{"a copy of no record", origin, Record{Origin: 1}, number(0, 0)},
		{"a rotation to the same key", rotation, rotated, func(data []byte) []byte { return slices.Concat(data[:32], data[:32], data[64:]) }},
		{"a statement without a name", statement, suspended, func(data []byte) []byte {
			return []byte(strings.Replace(string(data), "\x05alice", "\x00", 1))
		}},
	}
}

// TestFieldsRefuse: reading refuses a field that is never written, by itself, and not because of the fields beside it.
func TestFieldsRefuse(t *testing.T) {
	for _, s := range spoiledFields() {
		data := s.field.append(&s.of, nil)
		for _, c := range []struct {
			data    []byte
			refused bool
		}{{data, false}, {s.spoil(slices.Clone(data)), true}} {
			got, d := Record{Kind: s.of.Kind, Key: s.of.Key, Now: 1, Webhook: &ledger.Webhook{}}, newDecoder(string(c.data))
			if s.field.read(&got, &d); (d.Problem() != "") != c.refused {
				t.Errorf("%s, of %s: with it %t, %q at byte %d of %x", s.name, s.field.name, c.refused, d.Problem(), d.At(), c.data)
			}
		}
	}
}
