package state

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/pins"
	"bailiff/runtime/subject"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// randomRecord returns a record of any kind and form of the table, within all bounds.
func randomRecord(n uint64) Record {
	g := source{rand.New(rand.NewPCG(n, 0))}
	forms := Descriptions()
	of := numbers[forms[g.IntN(len(forms))].Number]
	r := Record{Kind: of.kind, Now: g.Int64N(ledger.MaxTime + 1)}
	if kinds[of.kind].of != noKey {
		r.Key = g.id()
	}
	for _, f := range of.form.fields {
		random[f](g, &r)
	}
	return r
}

// random fills in a field, of each that forms have.
var random = map[*field]func(source, *Record){
	decision:   source.decision,
	about:      func(g source, r *Record) { r.Event.Subject = g.subject() },
	advances:   source.counters,
	holdEffect: source.hold,
	monthUsage: func(g source, r *Record) {
		if g.IntN(2) == 1 {
			r.Usage = ledger.Usage{Month: 1 + g.Uint32N(1<<31), Count: g.Uint64()}
		}
	},
	outbox: func(g source, r *Record) {
		for range g.IntN(4) {
			r.Outbox = append(r.Outbox, OutboxEffect{Webhook: g.id(), Dropped: g.IntN(2) == 1})
		}
	},
	replayOf: source.replay,
	maybeReplay: func(g source, r *Record) {
		if g.IntN(3) == 0 {
			g.replay(r)
		}
	},
	maybeAbout: func(g source, r *Record) {
		if g.IntN(3) == 0 {
			r.Event.Subject = g.subject()
		}
	},
	sentAmount: func(g source, r *Record) {
		for r.Hold.Action != HoldOpened {
			g.hold(r)
		}
		r.Hold.AmountSent = "a" + g.text(ledger.MaxEventDetail-1)
	},
	createdKey: func(g source, r *Record) {
		r.Created = ledger.Key{
			ID: r.Key, Hash: g.hash(), Email: g.text(ledger.MaxKeyText), Environment: g.text(20), Tier: g.text(20),
			Scopes: ledger.Scopes(g.IntN(8)), Shim: g.IntN(2) == 1, Created: r.Now, Epoch: g.Uint64(),
		}
	},
	owner: func(g source, r *Record) {
		r.Created.Operator, r.Created.Organization = g.hash(), g.text(ledger.MaxKeyText)
	},
	tier:       func(g source, r *Record) { r.Created.Tier = g.text(20) },
	scopes:     func(g source, r *Record) { r.Created.Scopes = ledger.Scopes(g.IntN(8)) },
	epoch:      func(g source, r *Record) { r.Epoch = g.Uint64N(300) },
	deployment: source.deployment,
	names:      func(g source, r *Record) { r.Deployed.Named, r.Deployed.Serial = g.IntN(2) == 1, g.Uint64N(300) },
	defaultPolicy: func(g source, r *Record) {
		r.Default = &DefaultEffect{PolicyHash: g.hash(), Rollback: g.IntN(2) == 1, Serial: g.Uint64N(300), Named: g.IntN(2) == 1}
		for range g.IntN(3) {
			r.Default.Named, r.Default.Keys = true, append(r.Default.Keys, g.id())
		}
	},
	holdID: func(g source, r *Record) { r.Hold.ID = g.id() },
	resolution: func(g source, r *Record) {
		r.Hold.State = []ledger.HoldState{ledger.HoldAllowed, ledger.HoldRefused}[g.IntN(2)]
	},
	signedAt:    func(g source, r *Record) { r.Resolved = g.Int64N(ledger.MaxTime) },
	signature:   func(g source, r *Record) { copy(r.Signature[:], g.text(64)) },
	token:       func(g source, r *Record) { r.Token = g.id() },
	tokenExpiry: func(g source, r *Record) { r.Expires = g.Int64N(ledger.MaxTime) },
	planID:      func(g source, r *Record) { r.Plan = g.id() },
	code:        func(g source, r *Record) { r.Ending.Code = errcode.Code(g.text(40)) },
	request:     func(g source, r *Record) { r.Event = g.what() },
	webhook: func(g source, r *Record) {
		r.Webhook = &ledger.Webhook{
			ID: g.id(), Key: r.Key, URL: g.text(ledger.MaxWebhookURL), Topics: ledger.Topics(g.IntN(64)),
			Secret: []byte("s" + g.text(ledger.MaxWebhookSecret-1)), Created: g.Int64N(ledger.MaxTime),
		}
	},
	operatorFormat: func(g source, r *Record) {
		r.Webhook.Format, r.Webhook.Operator = ledger.WebhookFormat(g.IntN(4)), true
	},
	webhookFormat: func(g source, r *Record) { r.Webhook.Format = ledger.WebhookFormat(1 + g.IntN(3)) },
	webhookID:     func(g source, r *Record) { r.Webhook = &ledger.Webhook{ID: g.id(), Key: r.Key} },
	settlement: func(g source, r *Record) {
		r.Settled = SettleEffect{LSN: g.Uint64(), Action: SettleAction(1 + g.IntN(4))}
		if r.Settled.Action == DeliveryAgain {
			r.Settled.Attempts, r.Settled.Next = g.Uint32(), g.Int64N(ledger.MaxTime)
		}
	},
	pinsEffect: source.pins,
	note:       func(g source, r *Record) { r.Note = "n" + g.text(ledger.MaxResolutionNote-1) },
	statement: func(g source, r *Record) {
		r.Approver = g.statement(ledger.ApproverAction(r.Kind))
	},
	confirmation: func(g source, r *Record) {
		r.Approver = g.statement(ledger.ConfirmApprover)
		r.Approver.Grant = ledger.Grant{PublicKey: []byte("p" + g.text(100)), WithoutAmount: g.IntN(2) == 1, Expires: 1 + g.Int64N(1<<32)}
		for i := range 1 + g.IntN(3) {
			r.Approver.Sections = append(r.Approver.Sections, "section"+string(rune('a'+i)))
		}
		for i := range g.IntN(3) {
			r.Approver.Keys = append(r.Approver.Keys, ledger.ID{byte(i + 1)})
			r.Approver.Amounts = append(r.Approver.Amounts, ledger.AssetAmount{Asset: "asset" + string(rune('a'+i)), Amount: g.amount()})
		}
	},
	approval: func(g source, r *Record) {
		r.Approval = &ledger.Approval{
			Name: "n" + g.text(20), Credential: []byte("c" + g.text(100)), Serial: g.Uint64N(300), Nonce: g.hash(), Summary: "s" + g.text(1000),
			AuthenticatorData: []byte("a" + g.text(100)), ClientData: []byte("d" + g.text(100)), Signature: []byte("s" + g.text(100)),
		}
	},
	restoration: func(g source, r *Record) {
		r.Restored = &ledger.Restoration{At: r.Now, Taken: g.Int64N(ledger.MaxTime + 1), KeepCounters: g.IntN(2) == 1, Thawed: g.IntN(2) == 1}
		copy(r.Restored.Before[:], g.text(40))
	},
	rotation: func(g source, r *Record) {
		r.Rotation = &ledger.Rotation{From: g.hash(), To: g.hash(), At: max(r.Now, 1)}
		r.Now, r.Rotation.From[0], r.Rotation.To[0] = r.Rotation.At, 1, 2
		if g.IntN(2) == 1 {
			s := &ledger.HaltStatement{Serial: 1 + g.Uint64()>>1, At: g.Int64N(ledger.MaxTime + 1)}
			copy(s.Signature[:], g.text(160))
			r.Rotation.Signed = s
		}
	},
	origin: func(g source, r *Record) { r.Origin = 1 + g.Uint64N(ledger.MaxLSN) },
	dropEffect: func(g source, r *Record) {
		r.Now = max(r.Now, 1)
		r.Drop = &ledger.Drop{At: r.Now, Through: ledger.Head{LSN: 1 + g.Uint64N(ledger.MaxLSN), Hash: g.hash()}, Base: g.hash(), Export: g.hash()}
		copy(r.Drop.Through.Stream[:], g.text(40))
	},
	slotsEffect: func(g source, r *Record) { r.Slots = 2 + g.IntN(ledger.MaxSlots-1) },
	slotEffect:  func(g source, r *Record) { r.Slot = g.IntN(r.Slots + 1) },
	haltEffect: func(g source, r *Record) {
		r.Halt = &ledger.Halt{Key: r.Key, Stop: r.Kind == ledger.KeySuspended || r.Kind == ledger.ServiceFrozen, At: r.Now, Reason: g.text(ledger.MaxHaltReason)}
		if g.IntN(2) == 1 {
			s := &ledger.HaltStatement{Serial: 1 + g.Uint64()>>1, At: g.Int64N(ledger.MaxTime + 1)}
			copy(s.Signature[:], g.text(160))
			r.Halt.Signed = s
		}
	},
}

// statement is one of an action that says nothing of what a device may decide.
func (g source) statement(action ledger.ApproverAction) *ledger.ApproverStatement {
	s := &ledger.ApproverStatement{Action: action, Serial: 1 + g.Uint64()>>1, SignedAt: g.Int64N(ledger.MaxTime + 1), Operator: g.hash(), Name: "alice", Credential: []byte("c" + g.text(50))}
	copy(s.Signature[:], g.text(160))
	return s
}

func (g source) replay(r *Record) {
	r.Replay = &ledger.Replay{ID: g.hash(), Nonce: g.text(ledger.MaxNonce), Expires: g.Int64N(ledger.MaxTime), Claims: []byte("{" + g.text(200))}
}

func (g source) deployment(r *Record) {
	r.Deployed = &DeployEffect{
		Operator: g.hash(), PolicyHash: g.hash(), PolicyVersion: g.text(20), Machine: g.Uint32(), Rollback: g.IntN(2) == 1,
		Text: []byte("t" + g.text(2000)), Program: []byte("p" + g.text(2000)),
	}
	if g.IntN(2) == 1 {
		r.Deployed.Activation = &ledger.Activation{ID: g.hash(), Expires: g.Int64N(ledger.MaxTime)}
	}
}

// pins fills in what becomes of pins.
func (g source) pins(r *Record) {
	r.Pins = &pins.Effect{Server: "s" + g.text(ledger.MaxServerName-1)}
	for range 1 + g.IntN(3) {
		e := pins.ToolEffect{Tool: g.text(ledger.MaxToolName), Change: ledger.PinChange(1 + g.IntN(4))}
		switch e.Change {
		case ledger.ToolPinned, ledger.ToolChanged:
			e.Definition = []byte("{" + g.text(2000))
		case ledger.ToolAccepted:
			e.SHA256 = g.hash()
		}
		r.Pins.Tools = append(r.Pins.Tools, e)
	}
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

func (g source) what() ledger.Event {
	return ledger.Event{
		Endpoint: g.text(30), RequestID: g.text(30), AgentID: g.text(ledger.MaxEventText), Action: g.text(128), Class: uint8(g.IntN(256)),
		ChainID: g.Uint64() >> g.IntN(64), Commitment: g.hash(), PolicyHash: g.hash(), Value: g.text(1024), Detail: g.text(1024), Details: g.details(),
	}
}

func (g source) details() (d ledger.Details) {
	if g.IntN(3) == 0 {
		return d
	}
	d = ledger.Details{Limit: g.text(ledger.MaxDetailText), Count: g.IntN(1 << 31), Entry: g.text(ledger.MaxDetailText), Line: 1 + g.IntN(1<<31-1)}
	for range g.IntN(min(d.Count, ledger.MaxAllowed) + 1) {
		d.Allowed = append(d.Allowed, g.text(ledger.MaxDetailText))
	}
	return d
}

func (g source) subject() (s subject.Subject) {
	for f, row := range subject.Table {
		if s.Texts[f] = g.text(row.Max); s.Texts[f] != "" && row.Further != "" {
			s.Further[f] = g.IntN(subject.MaxFurther)
		}
	}
	return s
}

func (g source) decision(r *Record) {
	r.Plan = g.id()
	r.Result = ledger.Passed + ledger.Result(g.IntN(5))
	r.Ending = ledger.Ending{Decision: ledger.Allowed + ledger.Decision(g.IntN(3)), Code: errcode.Code(g.text(40)), Rule: g.text(ledger.MaxRule)}
	r.Observed = g.IntN(2) == 1
	r.Event = g.what()
	if r.Kind == ledger.Simulated {
		r.Ending.Decision = ledger.TestRun
	}
}

func (g source) counters(r *Record) {
	for range g.IntN(4) {
		c := ledger.Counter{Limit: g.text(60), Window: ledger.Hour + ledger.Window(g.IntN(3)), Group: g.text(ledger.MaxGroupText)}
		r.Counters = append(r.Counters, CounterEffect{Counter: c, Value: g.amount()})
		last := &r.Counters[len(r.Counters)-1]
		last.Room = last.Counter.Window == ledger.Task && g.IntN(2) == 1
	}
	if len(r.Counters) > 0 && g.IntN(2) == 1 {
		r.Forgets = g.Uint64()
	}
}

func (g source) hold(r *Record) {
	r.Hold.Action = HoldAction(g.IntN(4))
	if r.Hold.Action != NoHold {
		r.Hold.ID = g.id()
	}
	if r.Hold.Action == HoldOpened {
		r.Hold = HoldEffect{
			Action: HoldOpened, ID: g.id(), Version: 1 + uint64(g.IntN(3)), Expires: g.Int64N(ledger.MaxTime), IntentHash: g.hash(), PolicyHash: g.hash(),
			Method: g.text(30), AgentID: g.text(30), PolicyVersion: g.text(9), Intent: []byte("{" + g.text(ledger.MaxIntent-1)),
		}
		if r.Hold.Version > 1 && g.IntN(2) == 1 {
			r.Hold.Fee = ledger.Fee{Declared: true, Amount: g.amount()}
		}
	}
}

func TestRecordRoundTrip(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 300))
	var got Record
	properties.Property("decoding gives back what was encoded, and nothing shorter or longer decodes", prop.ForAll(func(n uint64) string {
		want := randomRecord(n)
		data := string(want.Append(nil))
		if most := want.form().most(); len(data) > most {
			return fmt.Sprintf("%d bytes, of at most %d", len(data), most)
		}
		if err := got.Decode(data); err != nil {
			return err.Error()
		}
		if len(want.Counters) == 0 {
			want.Counters = got.Counters // empty, of any capacity
		}
		if len(want.Outbox) == 0 {
			want.Outbox = got.Outbox
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
	for name, data := range map[string]string{ // what the cases below spoil
		"pinned":   "\x07" + head + strings.Repeat("h", 32) + "\x00\x00\x00\x07\x00\x01" + strings.Repeat("\x00", 31) + "\x01\x00",
		"told":     "\x0e" + head + event + "\x00\x00\x00\x01" + strings.Repeat("w", 16) + "\x01",
		"resolved": "\x0f" + head + strings.Repeat("h", 16) + "\x02\x00" + strings.Repeat("s", 64) + "\x01" + strings.Repeat("w", 16) + "\x00",
		"changed":  "\x06" + head + "\x01t\x07",
		"deployed": "\x08" + head + "\x02" + strings.Repeat("o", 64) + "\x00\x01\x00\x00\x00\x00\x00",
		"hooked":   "\x0b" + head + strings.Repeat("w", 16) + "\x00\x3f\x00\x00",
		"forgets":  "\x01" + head + event + "\x81\x10\x05\x01n\x04\x00\x01\x01" + "\x00\x00",
		"settled":  "\x0d" + head + strings.Repeat("w", 16) + "\x01\x02\x01\x00",
	} {
		if err := r.Decode(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range neverWritten(head, event) {
		if err := r.Decode(data); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// neverWritten are records that Append never writes, with a key and a time, and an event, that are as they should be.
func neverWritten(head, event string) map[string]string {
	return map[string]string{
		"nothing":              "",
		"no kind":              "\x00" + head,
		"unknown kind":         "\x10" + head,
		"pinned to nothing":    "\x07" + head + strings.Repeat("h", 32) + "\x00\x00\x00\x07\x00\x01" + strings.Repeat("\x00", 33),
		"told to nobody":       "\x0e" + head + event + "\x00\x00\x00\x00",
		"resolved, to nobody":  "\x0f" + head + strings.Repeat("h", 16) + "\x02\x00" + strings.Repeat("s", 64) + "\x00",
		"told to 21":           "\x0e" + head + event + "\x00\x00\x00\x15" + strings.Repeat("w", 21*17),
		"dropped of 2":         "\x0e" + head + event + "\x00\x00\x00\x01" + strings.Repeat("w", 16) + "\x02",
		"changed to scope 8":   "\x06" + head + "\x01t\x08",
		"activation of 2":      "\x08" + head + "\x02" + strings.Repeat("o", 64) + "\x00\x01\x00\x02\x00\x00\x00",
		"machine out of range": "\x08" + head + "\x02" + strings.Repeat("o", 64) + "\x00\xff\xff\xff\xff\x1f\x00\x00\x00\x00\x00",
		"topic of 64":          "\x0b" + head + strings.Repeat("w", 16) + "\x00\x40\x00\x00",
		"long secret":          "\x0b" + head + strings.Repeat("w", 16) + "\x00\x01\x41" + strings.Repeat("s", 65) + "\x00",
		"settled by 5":         "\x0d" + head + strings.Repeat("w", 16) + "\x01\x05",
		"attempts":             "\x0d" + head + strings.Repeat("w", 16) + "\x01\x02\xff\xff\xff\xff\x1f\x00",
		"long varint":          "\x04" + strings.Repeat("k", 16) + "\x85\x00" + "\x02",
		"time out of range":    "\x04" + strings.Repeat("k", 16) + "\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + "\x02",
		"huge varint":          "\x04" + head + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		"result not recorded":  "\x01" + head + strings.Replace(event, "\x01\x01\x00", "\x08\x01\x00", 1) + "\x00\x00\x00",
		"decision TEST_RUN":    "\x01" + head + strings.Replace(event, "\x01\x01\x00", "\x01\x04\x00", 1) + "\x00\x00\x00",
		"flag of 2":            "\x01" + head + strings.Replace(event, "\x01\x01\x00", "\x01\x01\x02", 1) + "\x00\x00\x00",
		"window of 5":          "\x01" + head + event + "\x01\x01n\x05\x00\x01\x01" + "\x00\x00",
		"forgets by no record": "\x01" + head + event + "\x81\x10\x00\x01n\x04\x00\x01\x01" + "\x00\x00",
		"forgets for none":     "\x01" + head + event + "\x80\x10\x05" + "\x00\x00",
		"zeros in amount":      "\x01" + head + event + "\x01\x01n\x01\x00\x02\x00\x01" + "\x00\x00",
		"wide amount":          "\x01" + head + event + "\x01\x01n\x01\x00\x21" + strings.Repeat("\x01", 33) + "\x00\x00",
		"many counters":        "\x01" + head + event + "\xff\xff\x03",
		"unknown hold action":  "\x01" + head + event + "\x00\x04\x00",
		"hold action of 5":     "\x01" + head + event + "\x00\x05" + strings.Repeat("h", 16) + "\x00",
		"decision of 0":        "\x01" + head + strings.Replace(event, "\x01\x01\x00", "\x01\x00\x00", 1) + "\x00\x00\x00",
		"decision of 5":        "\x01" + head + strings.Replace(event, "\x01\x01\x00", "\x01\x05\x00", 1) + "\x00\x00\x00",
		"resolved to pending":  "\x05" + head + strings.Repeat("h", 16) + "\x01\x00" + strings.Repeat("s", 64),
		"unknown scopes":       "\x03" + head + strings.Repeat("h", 32) + "\x00\x00\x00\x08\x00\x01",
		"month out of range":   "\x01" + head + event + "\x00\x00\xff\xff\xff\xff\x1f\x01",
		"bytes after a record": "\x01" + head + event + "\x00\x00\x00\x00",
	}
}

// TestDecodeRefusesSentAmounts does so with amounts as they were sent.
func TestDecodeRefusesSentAmounts(t *testing.T) {
	head := "\x33" + strings.Repeat("k", 16) + "\x05" + strings.Repeat("p", 16) + "\x01\x01\x00" + strings.Repeat("\x00", 8+64+2)
	opened := "\x02" + strings.Repeat("h", 16) + "\x05" + strings.Repeat("\x00", 64+4)
	const end = "\x00\x00\x00" // usage, outbox, replay
	var r Record
	if err := r.Decode(head + "\x00\x00" + opened + "\x01a" + end); err != nil {
		t.Fatalf("the base of all cases: %v", err)
	}
	for name, data := range map[string]string{
		"without a hold": "\x00\x00\x00" + "\x01a",
		"of no bytes":    "\x00\x00" + opened + "\x00",
		"subject of 2":   "\x02\x00" + opened + "\x01a",
	} {
		if r.Decode(head+data+end) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestDecodeRefusesPins does so with pins.
func TestDecodeRefusesPins(t *testing.T) {
	head := "\x20" + strings.Repeat("k", 16) + "\x05"
	var r Record
	if err := r.Decode(head + "\x01s\x01\x01t\x01\x01d"); err != nil {
		t.Fatalf("the base of all cases: %v", err)
	}
	for name, data := range map[string]string{
		"no server":     "\x00\x01\x01t\x04",
		"no tool":       "\x01s\x00",
		"1001 tools":    "\x01s\xe9\x07" + strings.Repeat("\x01t\x04", ledger.MaxPinnedTools+1),
		"no definition": "\x01s\x01\x01t\x01\x00",
		"no hash":       "\x01s\x01\x01t\x03",
		"changed by 5":  "\x01s\x01\x01t\x05",
	} {
		if r.Decode(head+data) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for n := range uint64(100) { // each form several times
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
		s := New(Secret{})
		var r Record
		key := ledger.Key{ID: ledger.ID{1}, Hash: [32]byte{1}, Email: "e", Environment: "test", Tier: "t", Scopes: 1}
		if err := s.CreateKey(&key, &r); err != nil || s.Apply(1, &r) != nil {
			t.Fatalf("CreateKey: %v", err)
		}
		for i, data := range [][]byte{first, second} {
			if r.Decode(string(data)) != nil {
				return
			}
			if r.Kind != ledger.KeyCreated {
				r.Key = key.ID
			}
			if s.Apply(uint64(2+i), &r) != nil {
				return
			}
		}
	})
}
