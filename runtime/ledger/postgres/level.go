package pgledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger/state"
)

// A store has a level, so that instances of this release and of the one before can take over from each other: the highest number of a form
// that records may have. It is raised when all instances read the new ones.

// RaisePatience is how long an instance that was not heard keeps the level from being raised.
const RaisePatience = time.Minute

const sqlRaise = `UPDATE bailiff.store SET writes = $1 WHERE writes <= $1
AND NOT EXISTS (SELECT FROM bailiff.instances WHERE reads < $1 AND seen > clock_timestamp() - $2::bigint * interval '1 microsecond')`

// Raise raises the level of the store. An instance writes records of it when it opens the record the next time.
func (s *Store) Raise(to int) error {
	slots, err := s.Count()
	if err == nil {
		err = s.check(slots)
	}
	if err != nil {
		return err
	}
	if to > state.Latest() {
		return fmt.Errorf("ledger: this release reads records up to %d; run a release that reads %d", state.Latest(), to)
	}
	rows, err := s.db.copying.exec(sqlRaise, to, RaisePatience.Microseconds())
	if err != nil {
		return fmt.Errorf("ledger: raising the level, which the role that owns the tables may do: %w", err)
	}
	if rows == 1 {
		return nil
	}
	made, err := s.db.made()
	switch {
	case err != nil:
		return err
	case made.writes > to:
		return fmt.Errorf("ledger: the level of the store is %d, and there may be records of it; a level is not lowered", made.writes)
	}
	older, err := s.older(to)
	if err == nil && len(older) == 0 {
		err = errors.New("ledger: instances have changed meanwhile; try it again")
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("ledger: these instances do not read records of the level %d: %q; update them, or end them and wait for %s", to, older, RaisePatience)
}

// older returns the names of instances that do not read records of a level.
func (s *Store) older(level int) (names []string, err error) {
	err = s.db.query(func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, `SELECT name FROM bailiff.instances WHERE reads < $1 AND seen > clock_timestamp() - $2::bigint * interval '1 microsecond' ORDER BY name`, level, RaisePatience.Microseconds())
		if err == nil {
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return slices.Compact(names), err
}
