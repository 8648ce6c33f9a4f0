package state

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/seed"
	"bailiff/runtime/code"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// randomRecord returns a record of any kind, within all bounds.
func randomRecord(n uint64) Record {
	g := source{rand.New(rand.NewPCG(n, 0))}
	r := Record{Kind: Kind(1 + g.IntN(5)), Key: g.id(), Now: g.Int64N(ledger.MaxTime + 1)}
	switch r.Kind {
	case Decision, TestRun:
		g.event(&r)
	case KeyCreated:
		r.Created = ledger.Key{
			ID: r.Key, Hash: g.hash(), Email: g.text(ledger.MaxKeyText), Environment: g.text(20), Tier: g.text(20),
			Scopes: ledger.Scopes(g.IntN(8)), Shim: g.IntN(2) == 1, Created: r.Now, Epoch: g.Uint64(),
		}
	case KeyRevoked:
		r.Epoch = g.Uint64N(300)
	case HoldResolved:
		r.Hold = HoldEffect{ID: g.id(), State: []ledger.HoldState{ledger.HoldAllowed, ledger.HoldRefused}[g.IntN(2)]}
		r.Resolved = g.Int64N(ledger.MaxTime)
		copy(r.Signature[:], g.text(64))
	}
	return r
}

type source struct{ *rand.Rand }

func (g source) id() (id ledger.ID)  { copy(id[:], g.text(40)); return id }
func (g source) hash() (h [32]byte)  { copy(h[:], g.text(80)); return h }
func (g source) text(max int) string { return strings.Repeat("\x00é\xffa", max)[:g.IntN(max+1)] }
func (g source) amount() amount.Amount {
	b := g.hash()
	clear(b[:g.IntN(33)])
	return amount.FromBytes32(b)
}

func (g source) event(r *Record) {
	r.Plan = g.id()
	r.Result = ledger.Passed + ledger.Result(g.IntN(5))
	r.Ending = ledger.Ending{Decision: ledger.Allowed + ledger.Decision(g.IntN(3)), Code: code.Code(g.text(40)), Rule: g.text(ledger.MaxRule)}
	r.Observed = g.IntN(2) == 1
	r.Event = ledger.Event{
		Endpoint: g.text(30), RequestID: g.text(30), AgentID: g.text(ledger.MaxEventText), Action: g.text(128), Class: uint8(g.IntN(256)),
		ChainID: g.Uint64() >> g.IntN(64), Commitment: g.hash(), PolicyHash: g.hash(), Value: g.text(1024), Detail: g.text(1024),
	}
	if r.Kind == TestRun {
		r.Ending.Decision = ledger.TestRun
		return
	}
	for range g.IntN(4) {
		c := ledger.Counter{Limit: g.text(60), Window: ledger.Hour + ledger.Window(g.IntN(3)), Group: g.text(ledger.MaxGroupText)}
		r.Counters = append(r.Counters, CounterEffect{Counter: c, Value: g.amount()})
	}
	r.Hold.Action = HoldAction(g.IntN(4))
	if r.Hold.Action != NoHold {
		r.Hold.ID = g.id()
	}
	if r.Hold.Action == HoldOpened {
		r.Hold = HoldEffect{
			Action: HoldOpened, ID: g.id(), Expires: g.Int64N(ledger.MaxTime), IntentHash: g.hash(), PolicyHash: g.hash(),
			Method: g.text(30), AgentID: g.text(30), PolicyVersion: g.text(9), Intent: []byte("{" + g.text(ledger.MaxIntent-1)),
		}
	}
	if g.IntN(2) == 1 {
		r.Usage = ledger.Usage{Month: 1 + g.Uint32N(1<<31), Count: g.Uint64()}
	}
}

func TestRecordRoundTrip(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 300))
	var got Record
	properties.Property("decoding gives back what was encoded, and nothing shorter or longer decodes", prop.ForAll(func(n uint64) string {
		want := randomRecord(n)
		data := string(want.Append(nil))
		if err := got.Decode(data); err != nil {
			return err.Error()
		}
		if len(want.Counters) == 0 {
			want.Counters = got.Counters // empty, of any capacity
		}
		if !reflect.DeepEqual(got, want) {
			return "decoded to something else"
		}
		if got.Decode(data+"\x00") == nil || got.Decode(data[:len(data)-1]) == nil || got.Decode(data[:len(data)/2]) == nil {
			return "accepted another length"
		}
		return ""
	}, gen.UInt64()))
	properties.TestingRun(t)
}

// TestDecodeRefuses gives Decode what Append never writes.
func TestDecodeRefuses(t *testing.T) {
	head := strings.Repeat("k", 16) + "\x05" // key, now
	event := strings.Repeat("p", 16) + "\x01\x01\x00" + strings.Repeat("\x00", 6) + "\x00\x00" + strings.Repeat("\x00", 64) + "\x00\x00"
	var r Record
	if err := r.Decode("\x01" + head + event + "\x00\x00\x00"); err != nil {
		t.Fatalf("the base of all cases: %v", err)
	}
	for name, data := range map[string]string{
		"nothing":              "",
		"no kind":              "\x00" + head,
		"unknown kind":         "\x06" + head,
		"long varint":          "\x04" + strings.Repeat("k", 16) + "\x85\x00" + "\x02",
		"time out of range":    "\x04" + strings.Repeat("k", 16) + "\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + "\x02",
		"huge varint":          "\x04" + head + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		"result not recorded":  "\x01" + head + strings.Replace(event, "\x01\x01\x00", "\x08\x01\x00", 1) + "\x00\x00\x00",
		"decision TEST_RUN":    "\x01" + head + strings.Replace(event, "\x01\x01\x00", "\x01\x04\x00", 1) + "\x00\x00\x00",
		"flag of 2":            "\x01" + head + strings.Replace(event, "\x01\x01\x00", "\x01\x01\x02", 1) + "\x00\x00\x00",
		"window of 4":          "\x01" + head + event + "\x01\x01n\x04\x00\x01\x01" + "\x00\x00",
		"zeros in amount":      "\x01" + head + event + "\x01\x01n\x01\x00\x02\x00\x01" + "\x00\x00",
		"wide amount":          "\x01" + head + event + "\x01\x01n\x01\x00\x21" + strings.Repeat("\x01", 33) + "\x00\x00",
		"many counters":        "\x01" + head + event + "\xff\xff\x03",
		"unknown hold action":  "\x01" + head + event + "\x00\x04\x00",
		"resolved to pending":  "\x05" + head + strings.Repeat("h", 16) + "\x01\x00" + strings.Repeat("s", 64),
		"unknown scopes":       "\x03" + head + strings.Repeat("h", 32) + "\x00\x00\x00\x08\x00\x01",
		"month out of range":   "\x01" + head + event + "\x00\x00\xff\xff\xff\xff\x1f\x01",
		"bytes after a record": "\x01" + head + event + "\x00\x00\x00\x00",
	} {
		if err := r.Decode(data); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for n := range uint64(40) {
		r := randomRecord(n)
		f.Add(r.Append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Record
		if r.Decode(string(data)) != nil {
			return
		}
		if again := r.Append(nil); string(again) != string(data) {
			t.Fatalf("%x decodes, and encodes to %x", data, again)
		}
	})
}

// FuzzApply applies whatever decodes, one after the other, to a state with a key: it may refuse, never panic.
func FuzzApply(f *testing.F) {
	for n := range uint64(40) {
		r := randomRecord(n)
		f.Add(r.Append(nil), r.Append(nil))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s := New()
		var r Record
		key := ledger.Key{ID: ledger.ID{1}, Hash: [32]byte{1}, Email: "e", Environment: "test", Tier: "t", Scopes: 1}
		if err := s.CreateKey(&key, &r); err != nil || s.Apply(1, &r) != nil {
			t.Fatalf("CreateKey: %v", err)
		}
		for i, data := range [][]byte{first, second} {
			if r.Decode(string(data)) != nil {
				return
			}
			if r.Kind != KeyCreated {
				r.Key = key.ID
			}
			if s.Apply(uint64(2+i), &r) != nil {
				return
			}
		}
	})
}
