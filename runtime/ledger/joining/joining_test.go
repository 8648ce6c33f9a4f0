package joining_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/joining"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/ledger/state"
)

// at is a time in seconds as records have it.
func at(seconds int64) int64 { return ledgertest.Start + seconds*1e9 }

// hookID is the webhook of key 1.
var hookID = ledgertest.ID('w', 1)

// recordOf reads a record: its name, its time, and a number, which is that of a key, of a policy, or of the record that it is a copy of.
func recordOf(text string) (r state.Record, err error) {
	var name string
	var seconds int64
	var n uint64
	if _, err = fmt.Sscanf(text, "%s %d %d", &name, &seconds, &n); err != nil {
		return r, fmt.Errorf("%q: %w", text, err)
	}
	r = state.Record{Key: ledgertest.ID('k', n), Now: at(seconds)}
	switch name {
	case "key":
		r.Kind, r.Created = ledger.KeyCreated, ledgertest.NewKey(n)
	case "change":
		r.Kind, r.Created.Tier, r.Created.Scopes = ledger.KeyChanged, "pro", ledger.ScopeAuthorize
	case "hook":
		r.Kind, r.Webhook = ledger.WebhookCreated, &ledger.Webhook{
			ID: hookID, Key: r.Key, URL: "https://example.com/", Topics: ledger.AllTopics, Secret: make([]byte, ledger.MinWebhookSecret), Created: r.Now,
		}
	case "deploy": // which the webhook is told of
		r.Kind, r.Epoch, r.Deployed = ledger.PolicyBound, 1, &state.DeployEffect{PolicyVersion: "2.0.0"}
		r.Outbox = []state.OutboxEffect{{Webhook: hookID}}
	case "settle": // the delivery of a record of key 1
		r.Kind, r.Key, r.Webhook, r.Settled = ledger.DeliverySettled, ledgertest.ID('k', 1), &ledger.Webhook{ID: hookID}, state.SettleEffect{LSN: n, Action: state.DeliveryDone}
	case "freeze", "thaw":
		r.Kind, r.Key, r.Origin, r.Halt = ledger.ServiceThawed, ledger.ID{}, n, &ledger.Halt{At: r.Now, Stop: name == "freeze"}
		if r.Halt.Stop {
			r.Kind = ledger.ServiceFrozen
		}
	case "policy":
		r.Kind, r.Key, r.Default = ledger.DefaultBound, ledger.ID{}, &state.DefaultEffect{PolicyHash: [32]byte{byte(n)}}
	case "serial": // a default policy with a serial
		r.Kind, r.Key, r.Default = ledger.DefaultBound, ledger.ID{}, &state.DefaultEffect{PolicyHash: [32]byte{byte(n)}, Serial: n}
	case "clock":
		r.Kind, r.Key = ledger.ClockSet, ledger.ID{}
	case "divided":
		r.Kind, r.Key, r.Slots = ledger.StoreDivided, ledger.ID{}, 2
	case "restored":
		r.Kind = ledger.ServiceRestored
	default:
		err = fmt.Errorf("%q is not known", name)
	}
	return r, err
}

// logOf makes a log of records, of which those up to a semicolon are a group.
func logOf(records string) (*memory.Log, error) {
	log := memory.NewLog()
	filling, err := commit.Restore(log)
	if err != nil {
		return nil, err
	}
	for _, text := range strings.Split(records, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if text == ";" {
			if err := filling.Flush(); err != nil {
				return nil, err
			}
			continue
		}
		r, err := recordOf(text)
		if err == nil && r.Kind == ledger.ServiceRestored {
			if err = filling.Flush(); err == nil {
				_, err = filling.Finish(ledger.Restoration{At: r.Now, Taken: 1}, rand.Reader)
			}
		} else if err == nil {
			_, err = filling.Put(&r)
		}
		if err != nil {
			return nil, err
		}
	}
	return log, filling.Flush()
}

// show lists the records of a log, and numbers its streams.
func show(log *memory.Log, out *strings.Builder) error {
	chain, err := commit.VerifyChain(log, 0)
	if err != nil {
		return err
	}
	err = commit.Records(log, func(uint64, *state.State) {}, func(lsn uint64, record string) error {
		var r state.Record
		err := r.Decode(record)
		fmt.Fprintf(out, "%d %s %d", lsn, r.Kind, (r.Now-ledgertest.Start)/1e9)
		if r.Key != (ledger.ID{}) {
			fmt.Fprintf(out, " of key %d", r.Key[15])
		}
		if r.Default != nil {
			fmt.Fprintf(out, ", policy %d", r.Default.PolicyHash[0])
		}
		if r.Origin != 0 || r.Slots != 0 {
			fmt.Fprintf(out, " origin %d, %d slots", r.Origin, r.Slots)
		}
		if r.Kind == ledger.ClockSet {
			fmt.Fprintf(out, ", slot %d", r.Slot)
		}
		out.WriteByte('\n')
		return err
	})
	fmt.Fprintf(out, "%d streams\n", len(chain.Streams))
	return err
}

// streamOf is the stream of the log that is made, as the specification has it.
func streamOf(t *testing.T, o *joining.Options) [16]byte {
	t.Helper()
	text := []byte("joined")
	for _, log := range o.From {
		chain, err := commit.VerifyChain(log, 0)
		if err != nil {
			t.Fatal(err)
		}
		text = append(binary.BigEndian.AppendUint64(append(text, chain.Head.Stream[:]...), chain.Head.LSN), chain.Head.Hash[:]...)
	}
	sum := sha256.Sum256(text)
	return [16]byte(sum[:])
}

// TestJoin has logs of slots become one, by testdata/join.txt: a line for each log, the first slot's first.
func TestJoin(t *testing.T) {
	datadriven.RunTest(t, "testdata/join.txt", func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		o := joining.Options{At: at(100), Random: rand.Reader, Told: func(uint64) {}}
		if d.HasArg("divided") {
			d.ScanArgs(t, "divided", &o.Divided)
		}
		for _, line := range strings.Split(d.Input, "\n") {
			log, err := logOf(strings.TrimPrefix(line, "-"))
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			o.From = append(o.From, log)
		}
		var out strings.Builder
		made := memory.NewLog()
		joined, err := joining.Join(made, &o)
		if err != nil {
			return err.Error() + "\n"
		}
		if err := show(made, &out); err != nil {
			d.Fatalf(t, "%v", err)
		}
		if stream := streamOf(t, &o); !strings.Contains(d.Input, "restored") && joined.Stream != stream {
			d.Fatalf(t, "the stream is %x, and not %x", joined.Stream, stream)
		}
		for slot := range o.From {
			fmt.Fprintf(&out, "of slot %d up to", slot)
			for lsn := range uint64(6) {
				fmt.Fprintf(&out, " %d", joined.Reached(slot, lsn))
			}
			out.WriteByte('\n')
		}
		again := memory.NewLog()
		if same, err := joining.Join(again, &o); err != nil || same.Head != joined.Head {
			d.Fatalf(t, "the second time it comes to %+v, not %+v: %v", same, joined, err)
		}
		return out.String()
	})
}

// A careless log keeps another group than it is given.
type careless struct {
	*memory.Log
	at uint64
}

// Append implements commit.Log.
func (c careless) Append(first uint64, group []byte) error {
	if first >= c.at {
		group = bytes.Clone(group)
		group[len(group)-6] ^= 1
	}
	return c.Log.Append(first, group)
}

// read makes a log of records.
func read(t *testing.T, records string) *memory.Log {
	t.Helper()
	log, err := logOf(records)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestJoinCareless: a log that does not keep what it is given is noticed, and so is one that has records.
func TestJoinCareless(t *testing.T) {
	freeze := read(t, "freeze 1 0")
	o := joining.Options{From: []commit.Log{freeze, read(t, "key 2 1, change 3 1"), memory.NewLog()}, At: at(100), Random: rand.Reader, Told: func(uint64) {}}
	for to, says := range map[commit.Log]string{
		careless{memory.NewLog(), 1}: "the copy: ", careless{memory.NewLog(), 2}: "the copy: ", freeze: "has records",
	} {
		if _, err := joining.Join(to, &o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// TestJoinAltered: a group of a slot's log that is another one, or can't be read, is noticed, though what follows it is as it was.
func TestJoinAltered(t *testing.T) {
	groups := func(log *memory.Log) (all [][]byte) {
		if err := log.Read(1, func(_ uint64, group []byte) bool { all = append(all, group); return true }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	good, other := groups(read(t, "key 2 1,;, change 3 1,;, change 5 1")), groups(read(t, "key 2 1,;, change 4 1,;, change 5 1"))
	for what, second := range map[string][]byte{"another group": other[1], "no group": []byte("nonsense"), "the first one": good[0]} {
		log := memory.NewLog()
		for n, group := range [][]byte{good[0], second, good[2]} {
			if err := log.Append(uint64(n+1), group); err != nil { //nolint:gosec // it is small
				t.Fatal(err)
			}
		}
		o := joining.Options{From: []commit.Log{memory.NewLog(), log, memory.NewLog()}, At: at(100), Random: rand.Reader, Told: func(uint64) {}}
		if _, err := joining.Join(memory.NewLog(), &o); !errors.Is(err, ledger.ErrCorrupt) || !strings.Contains(err.Error(), "slot 1: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A shifty log gives other groups once it was read from record 1 on so many times.
type shifty struct {
	*memory.Log
	others *memory.Log
	times  *int
}

// Read implements commit.Log.
func (s shifty) Read(from uint64, yield func(uint64, []byte) bool) error {
	if from == 1 {
		if *s.times--; *s.times < 0 {
			return s.others.Read(from, yield)
		}
	}
	return s.Log.Read(from, yield)
}

// TestJoinChanged: a log that ends early, or has other records when it is read again, is not joined.
func TestJoinChanged(t *testing.T) {
	const records = "key 2 1, change 3 1"
	for says, others := range map[string]string{
		"was read up to record 0": "", "to another state of key": "key 2 1, change 4 1", "has 1 keys, and those of the slots 0": "freeze 1 7",
	} {
		times := 2 // where it ends, and all of it
		if others == "" {
			times = 1
		}
		log := shifty{read(t, records), read(t, others), &times}
		o := joining.Options{From: []commit.Log{memory.NewLog(), log, memory.NewLog()}, At: at(100), Random: rand.Reader, Told: func(uint64) {}}
		if _, err := joining.Join(memory.NewLog(), &o); !errors.Is(err, ledger.ErrCorrupt) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", others, err)
		}
	}
}
