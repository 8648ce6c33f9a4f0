package client

import (
	"path/filepath"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
)

// Moved returns an error where a data folder has no record since that was imported into a database, or is not exported whole from one.
func Moved(s *cmdsettings.Settings) error {
	record := s.LedgerPath()
	switch imported := cmdsettings.Imported(record); {
	case s.Store != "" || !cli.IsMissing(record):
		return nil
	case !cli.IsMissing(imported):
		return cli.Fail("the record of %s was imported into a database, which continues it: set SVC_STORE; or, where no instance has run on the database, and none will, rename %s to %s, which can be served or imported again then",
			s.DataDir, filepath.Base(imported), filepath.Base(record))
	case !cli.IsMissing(cmdsettings.Exporting(record)):
		return cli.Fail("an export into %s was interrupted, and its record is in the database still: run bailiff store export again, where bailiff store status says that the record was exported, after bailiff store export --undo", s.DataDir)
	}
	return nil
}
