package state_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/state"
)

// A numberedRecord is a record with its LSN.
type numberedRecord struct {
	lsn  uint64
	data string
}

// TestKeep: a state that forgets keys is as one that never heard of them, but for what can be used once. So does a record of a division,
// which forgets all.
func TestKeep(t *testing.T) {
	tried := 0
	for _, log := range logs(t) {
		var records []numberedRecord
		var all []ledger.ID
		var r state.Record
		s := state.New(state.Secret{1, 2})
		if err := commit.Records(log, nil, func(lsn uint64, record string) error {
			if err := r.Decode(record); err != nil {
				return err
			}
			records = append(records, numberedRecord{lsn, strings.Clone(record)})
			if r.Kind == ledger.KeyCreated && len(all) < 3 {
				all = append(all, r.Key)
			}
			return s.Apply(lsn, &r)
		}); err != nil {
			t.Fatal(err)
		}
		if len(records) > 10_000 { // of one key
			continue
		}
		for _, only := range append(all, ledger.ID{}) {
			kept, alone := again(t, s), state.New(state.Secret{1, 2})
			if kept.Keep(func(key *ledger.Key) bool { return key.ID == only }, kept.Followed()); only.IsZero() {
				kept = again(t, s)
				divides(t, kept)
			}
			for _, one := range records {
				if err := r.Decode(one.data); err != nil {
					t.Fatal(err)
				}
				if !r.Key.IsZero() && r.Key != only {
					continue
				}
				if err := alone.Apply(one.lsn, &r); err != nil {
					t.Fatal(err)
				}
			}
			tried++
			if diff := cmp.Diff(kept, again(t, kept), everything); diff != "" {
				t.Fatalf("of key %s its snapshot says something else:\n%s", only, diff)
			}
			if diff := cmp.Diff(again(t, alone), again(t, kept), everything, usedOnce); diff != "" {
				t.Fatalf("of key %s (-alone +kept):\n%s", only, diff)
			}
		}
	}
	if tried < 50 {
		t.Errorf("%d states were looked at", tried)
	}
}

// usedOnce leaves out what stays used.
var usedOnce = cmp.FilterPath(func(p cmp.Path) bool {
	f, ok := p.Last().(cmp.StructField)
	return ok && p.Index(-2).Type() == reflect.TypeFor[state.State]() && (f.Name() == "tokens" || f.Name() == "activations")
}, cmp.Ignore())

// divides applies a division.
func divides(t *testing.T, s *state.State) {
	t.Helper()
	var r state.Record
	if err := s.Divide(3, 1, &r); err != nil || r.Kind != ledger.StoreDivided || r.Slots != 3 || r.Now < s.Latest() {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := s.Apply(ledger.MaxLSN, &r); err != nil {
		t.Fatal(err)
	}
}
