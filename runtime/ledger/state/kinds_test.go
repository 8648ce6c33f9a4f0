package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/codec"
)

// notice is a kind of record as later ones will be: about no key, signed, with a body of up to 8 KiB and a number.
var (
	noticeBody = &field{"body", 8<<10 + maxVarint, func(r *Record, b []byte) []byte {
		return codec.AppendBytes(b, r.Hold.Intent)
	}, func(r *Record, d *decoder) {
		r.Hold.Intent = d.Bytes(8 << 10)
		d.Check(r.Hold.Intent != nil, "a notice without a body")
	}}
	notice = kind{
		forms: []form{
			{number: 200, fields: []*field{epoch, noticeBody, signature}},
			{number: 201, needs: told, fields: []*field{epoch, noticeBody, signature, outbox}},
		},
		of: noKey,
		apply: func(s *State, _ *keyState, _ uint64, r *Record) error {
			if r.Epoch <= uint64(s.groups) {
				return fmt.Errorf("notice %d comes after notice %d", r.Epoch, s.groups)
			}
			s.groups = int(r.Epoch)
			return nil
		},
		show: func(r *Record, e *ledger.LoggedEvent) { e.Signature, e.Server = r.Signature, string(r.Hold.Intent) },
	}
)

// TestNewKind adds a row to the table: its records are written, read, bounded, applied and shown, by nothing but the row.
func TestNewKind(t *testing.T) {
	saved := numbers
	t.Cleanup(func() { kinds[200], numbers = kind{}, saved })
	kinds[200] = notice
	for i := range notice.forms {
		numbers[notice.forms[i].number] = written{200, &notice.forms[i]}
	}
	kinds[200].forms = notice.forms
	s := New(Secret{})
	s.SetMaxGroups(0)
	for n, size := range []int{1, 8 << 10} {
		want := Record{Kind: 200, Now: 5, Epoch: uint64(n + 1), Signature: [64]byte{7}, Hold: HoldEffect{Intent: bytes.Repeat([]byte("n"), size)}}
		data := want.Append(nil)
		var got Record
		if err := got.Decode(string(data)); err != nil || len(data) > want.form().most() || !bytes.Equal(got.Append(nil), data) {
			t.Fatalf("a body of %d bytes is %d bytes of at most %d: %v", size, len(data), want.form().most(), err)
		}
		if e := got.View(9); e.Kind != 200 || e.LSN != 9 || e.Signature != want.Signature || len(e.Server) != size {
			t.Errorf("it is shown as %+v", e)
		}
		if err := s.Apply(uint64(n+1), &got); err != nil {
			t.Error(err)
		}
		if err := s.Apply(uint64(n+2), &got); err == nil || !strings.Contains(err.Error(), "comes after") {
			t.Errorf("applied twice: %v", err)
		}
		got.Key = ledger.ID{1}
		if err := s.Apply(uint64(n+2), &got); err == nil || !strings.Contains(err.Error(), "names a key") {
			t.Errorf("with a key: %v", err)
		}
	}
	head := string([]byte{200}) + strings.Repeat("\x00", idBytes) + "\x05\x01"
	body := func(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) + strings.Repeat("n", n) }
	rest := strings.Repeat("s", 64)
	for name, data := range map[string]string{
		"no body":            head + body(0) + rest,
		"a long body":        head + body(8<<10+1) + rest,
		"a short signature":  head + body(1) + rest[1:],
		"an empty outbox":    "\xc9" + head[1:] + body(1) + rest + "\x00",
		"one of another row": "\xca" + head[1:] + body(1) + rest,
	} {
		if new(Record).Decode(data) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestTable has tables refused that must not write a log.
func TestTable(t *testing.T) {
	numbered(&kinds) // as it is
	for name, change := range map[string]func(*[256]kind){
		"a name without a row":            func(k *[256]kind) { k[ledger.PinsChanged] = kind{} },
		"a row without a name":            func(k *[256]kind) { k[200] = notice },
		"a first form of another number":  func(k *[256]kind) { k[ledger.KeyChanged].forms = []form{{number: 99}} },
		"a number twice":                  func(k *[256]kind) { k[ledger.KeyChanged].forms = []form{{number: 6}, {number: 7, needs: told}} },
		"a form that nothing ever needs":  func(k *[256]kind) { k[ledger.KeyChanged].forms = []form{{number: 6}, {number: 99}} },
		"a first form that needs content": func(k *[256]kind) { k[ledger.KeyChanged].forms = []form{{number: 6, needs: told}} },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			changed := kinds
			change(&changed)
			numbered(&changed)
		}()
	}
	for _, w := range numbers {
		if w.form == nil {
			continue
		}
		for i, f := range w.form.fields {
			if random[f] == nil {
				t.Errorf("field %d of form %d has no generator; give it one in random", i, w.form.number)
			}
		}
	}
}
