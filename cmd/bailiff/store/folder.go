package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
)

// The record of a data folder is imported into one store. It says itself into which one: that is written before it is set aside, and so
// before the database can have it, and when it ends, that it has.

// intentPath is the file in a record that names the store into which its import was begun.
func intentPath(record string) string { return filepath.Join(record, "importing") }

// donePath is the file in a record that was imported that says when. It must not be imported a second time, into another database.
func donePath(imported string) string { return filepath.Join(imported, "imported") }

// pathsOf returns where the record of a data folder is, and where it is when it was imported.
func pathsOf(dir string) (ledger, aside string) {
	ledger = filepath.Join(dir, "ledger")
	return ledger, cmdsettings.Imported(ledger)
}

// setAside gives a record the name of one that is imported into a store, and reports whether it has: an import that was interrupted has
// done so already.
func setAside(from, to, store string) (aside bool, err error) {
	_, missing := os.Lstat(from)
	_, none := os.Lstat(to)
	switch {
	case errors.Is(missing, fs.ErrNotExist) && errors.Is(none, fs.ErrNotExist):
		return false, cli.Fail("there is no record in %s; --from names the data folder of a service", filepath.Dir(from))
	case errors.Is(missing, fs.ErrNotExist):
		return false, meant(to, store)
	case none == nil:
		return false, cli.Fail("%s and %s are both there; move the one away that is not to be imported", from, to)
	}
	if err := held(from); err != nil {
		return false, err
	}
	if err := os.Remove(donePath(from)); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an import from which it was taken back
		return false, err
	}
	if err := atomicfile.ReplacePrivate(intentPath(from), []byte(store+"\n")); err != nil {
		return false, err
	}
	if err := errors.Join(os.Rename(from, to), atomicfile.SyncName(to)); err != nil {
		return false, err
	}
	return true, meant(to, store) // another import may have begun at the same time
}

// putBack undoes setAside. The record says for which store it is until it has its name back for good.
func putBack(from, to string) error {
	if err := os.Rename(to, from); err != nil {
		return err
	}
	if err := atomicfile.SyncName(from); err != nil {
		return err
	}
	return os.Remove(intentPath(from))
}

// meant returns an error unless a record that is set aside is meant for a store, which does not have it for certain.
func meant(imported, store string) error {
	const again = "where no instance has run on that store, and none will since it has no records (bailiff store status) or its database is gone, rename %s to %s, and import again"
	name := strings.TrimSuffix(filepath.Base(imported), filepath.Ext(imported))
	done, err := os.ReadFile(donePath(imported))
	if err == nil {
		return cli.Fail("this record was imported already, at %s, into the store %s; two databases would give out the same limits, holds and attestations; "+again,
			strings.TrimSpace(string(done)), intentOf(imported), imported, name)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if other := intentOf(imported); other != store {
		return cli.Fail("an import of this record into the store %s was interrupted, so that one may have it, and SVC_STORE is %s; set SVC_STORE to that one, and import again, which ends the import; or, "+again,
			other, store, imported, name)
	}
	return nil
}

// intentOf returns the id of the store for which a record was set aside.
func intentOf(imported string) string {
	text, err := os.ReadFile(intentPath(imported))
	if id := strings.TrimSpace(string(text)); err == nil && id != "" {
		return id
	}
	return "(not known)"
}

// held returns an error where a process has a record open.
func held(dir string) error {
	err := pebbleledger.Reading(dir, pebbleledger.Options{}, func(commit.Log) error { return nil })
	if errors.Is(err, ledger.ErrLocked) {
		return cli.Fail("a service has %s open; stop it first", dir)
	}
	return err
}
