package state

import (
	"encoding/binary"
	"reflect"
	"testing"

	"bailiff/runtime/ledger"
)

// TestReplaysForgotten: expired decisions are forgotten as others come, no more are kept than may be, and a snapshot has the rest.
func TestReplaysForgotten(t *testing.T) {
	var table replayTable
	ref := func(n uint64) (r replayRef) {
		binary.BigEndian.PutUint64(r.id[:], n)
		return r
	}
	life := int64(ledger.ReplayLife)
	for n := range uint64(1000) { // one a second
		table.add(ref(n%200), replay{lsn: n + 1, epoch: 1, expires: int64(n)*1e9 + life})
	}
	if kept := len(table.by); kept != 60 || len(table.order)-table.head != kept {
		t.Errorf("%d are kept, %d in order", kept, len(table.order)-table.head)
	}
	if table.by[ref(199)].lsn != 1000 || table.by[ref(100)].lsn != 0 {
		t.Errorf("the latest is %+v, one of long ago %+v", table.by[ref(199)], table.by[ref(100)])
	}
	var read replayTable
	text := table.appendSnapshot(nil)
	d := newDecoder(string(text))
	if read.readSnapshot(&d); d.Problem() != "" || d.Left() != 0 || !reflect.DeepEqual(read.by, table.by) {
		t.Errorf("read %d, %q", len(read.by), d.Problem())
	}
	if again := read.appendSnapshot(nil); string(again) != string(text) {
		t.Error("the snapshot of what was read is another one")
	}
	for n := range uint64(ledger.MaxReplays + 10) { // all at once
		table.add(ref(1000+n), replay{lsn: 2000 + n, epoch: 1, expires: 1e12 + life})
	}
	if kept := len(table.by); kept != ledger.MaxReplays {
		t.Errorf("%d are kept, of at most %d", kept, ledger.MaxReplays)
	}
}
