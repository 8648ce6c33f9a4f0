package events

import (
	"slices"
	"testing"

	"bailiff/runtime/ledger"
)

// TestCursors: a query continues at its cursor, in one log or in several, and refuses a text that is not a cursor.
func TestCursors(t *testing.T) {
	for _, q := range []Query{{}, {After: 1}, {After: MaxCursor}, {AfterEach: []uint64{0}}, {AfterEach: []uint64{0, 300, MaxCursor, 7}}} {
		var again Query
		if next := q.Cursor(); !again.Continue(next) || again.After != q.After || !slices.Equal(again.AfterEach, q.AfterEach) {
			t.Errorf("%s is read as %+v, and not as %+v", next, again, q)
		}
	}
	most := Query{AfterEach: make([]uint64, ledger.MaxSlots+2)}
	for _, bad := range []string{"", "s", "x", "-1", "01", "+1", " 1", "9223372036854775808", "s!", "s=", "sgA", "sAB", "s_____________w", most.Cursor()} {
		if q := (Query{}); q.Continue(bad) {
			t.Errorf("%q is read as %+v", bad, q)
		}
	}
}
