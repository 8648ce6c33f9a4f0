package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
)

// A copy of a data folder must not be served beside the original: what one has counted, or used up, the other would give again. So the
// folder has a file that says which file it is; a copy of the file is another file.

// placePath is the file in a ledger's folder that says which file it is.
func placePath(ledger string) string { return filepath.Join(ledger, "place") }

// CheckPlace refuses data that is a copy. Data that no service of this release has run on is none.
func CheckPlace(s *cmdsettings.Settings) error {
	return CheckPlaceOf(s.LedgerPath(), "start once with serve --moved")
}

// CheckPlaceOf refuses a ledger's folder in a data folder that is a copy. The error says what to do where the data was moved.
func CheckPlaceOf(ledger, moved string) error {
	path, dir := placePath(ledger), filepath.Dir(ledger)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(text) == 0: // it was killed before it had written the file
		return nil
	case err != nil:
		return fmt.Errorf("whether %s is a copy can't be read: %w; make it readable for the service's user", dir, err)
	}
	own, err := identityOf(path)
	if err != nil {
		return fmt.Errorf("whether %s is a copy can't be found out: %w", dir, err)
	}
	if strings.TrimSpace(string(text)) != own {
		return fmt.Errorf("%s is a copy of the data of a service, and both would give out the same limits, holds and attestations; "+
			"restore a backup with bailiff restore, or, where no service runs on the original any more, %s", dir, moved)
	}
	return nil
}

// Served reports whether a service has run on a ledger's folder.
func Served(ledger string) bool { return !cli.IsMissing(placePath(ledger)) }

// claimPlace notes that the data is where it is now. The file is written in place: only so it keeps its identity.
func claimPlace(s *cmdsettings.Settings) error {
	file, err := os.OpenFile(placePath(s.LedgerPath()), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	own, err := identityOf(file.Name())
	if err == nil {
		_, err = file.WriteString(own + "\n")
	}
	return errors.Join(err, file.Sync(), file.Close())
}
