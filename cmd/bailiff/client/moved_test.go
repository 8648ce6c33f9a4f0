package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	cmdsettings "bailiff/cmd/bailiff/settings"
)

// TestMoved: a data folder whose record is elsewhere says where, unless SVC_STORE names the database, or the folder has a record.
func TestMoved(t *testing.T) {
	for _, c := range []struct{ has, store, want string }{
		{"", "", ""},
		{"ledger.imported", "", "was imported into a database"},
		{"ledger.exporting", "", "was interrupted"},
		{"ledger.imported ledger", "", ""},
		{"ledger.exporting ledger", "", ""},
		{"ledger.imported", "postgres:///x", ""},
	} {
		s := &cmdsettings.Settings{DataDir: t.TempDir(), Store: cmdsettings.StoreURL(c.store)}
		for name := range strings.FieldsSeq(c.has) {
			if err := os.Mkdir(filepath.Join(s.DataDir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := Moved(s); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
