package store

import (
	"fmt"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/state"
)

type levelCommand struct {
	To int `arg:"" optional:"" help:"The new level; without it the present one is printed." placeholder:"N"`
}

// Help says what a level is.
func (c *levelCommand) Help() string {
	return `The level of a store is the highest number of a kind of record that instances write. After an update of all instances it is still the
one of the release before, so that an instance of that release could take over; details that need newer records are left out, and what cannot
be recorded without them is refused. Raise the level then, as the role that owns the tables. An instance of a release that does not read
such records does not start after that, and a level cannot be lowered. An instance reads the level when it opens the record: restart the one that decides.`
}

// Run prints or raises the level.
func (c *levelCommand) Run(std cli.Streams) error {
	return with(func(_ *cmdsettings.Settings, store *pgledger.Store) error {
		if c.To != 0 {
			if err := store.Raise(c.To); err != nil {
				return cli.Fail("%v", err)
			}
		}
		status, err := store.Status()
		if err != nil {
			return cli.Fail("%v", err)
		}
		fmt.Fprintf(std.Out, "the level of the store is %d, and this release reads records up to %d\n", status.Writes, state.Latest())
		for _, one := range status.Instances {
			if one.Heard <= pgledger.RaisePatience {
				fmt.Fprintf(std.Out, "%s reads records up to %d, heard %s ago\n", one.Name, one.Reads, one.Heard.Round(time.Millisecond))
			}
		}
		return nil
	})
}
