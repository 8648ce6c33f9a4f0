package pgledger

import (
	"errors"
	"strings"
	"testing"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// TestLevel: over a store of a lower level records are written as a release before reads them, and those that it could not read are
// refused. The level is raised when no such release is heard any more.
func TestLevel(t *testing.T) {
	store, url := inDatabase(t)
	db := same(t, url)
	if status, err := store.Status(); err != nil || status.Writes != state.Latest() {
		t.Errorf("a new store has the level %d: %v", status.Writes, err)
	}
	execute := func(sql string, arguments ...any) {
		t.Helper()
		_, err := db.copying.exec(sql, arguments...)
		must(t, err)
	}
	execute(`UPDATE bailiff.store SET writes = 3`)
	execute(`INSERT INTO bailiff.instances (id, name, reads, seen) VALUES ('1', 'old', 3, clock_timestamp())`)
	l := stored(t, store)
	plain, owned := ledgertest.NewKey(11), ledgertest.NewKey(12)
	owned.Organization = "acme"
	must(t, l.CreateKey(t.Context(), plain))
	if err := l.CreateKey(t.Context(), owned); !errors.Is(err, ledger.ErrUnavailable) || !strings.Contains(err.Error(), "bailiff store level") {
		t.Errorf("a record that the release before can't read: %v", err)
	}
	if _, found := l.LookupKeyID(owned.ID); found {
		t.Error("a key was made by a record that was refused")
	}
	must(t, l.Health())
	if err := store.Raise(state.Latest()); err == nil || !strings.Contains(err.Error(), `["old"]`) {
		t.Errorf("raised beside an instance of the release before: %v", err)
	}
	execute(`UPDATE bailiff.instances SET seen = seen - interval '2 minutes' WHERE name = 'old'`)
	if err := store.Raise(state.Latest() + 1); err == nil || !strings.Contains(err.Error(), "this release reads records up to") {
		t.Errorf("raised above what this release reads: %v", err)
	}
	must(t, store.Raise(state.Latest()))
	if err := store.Raise(3); err == nil || !strings.Contains(err.Error(), "a level is not lowered") {
		t.Errorf("lowered: %v", err)
	}
	must(t, l.Close())
	l = stored(t, store)
	must(t, l.CreateKey(t.Context(), owned))
	must(t, l.Close())
}
