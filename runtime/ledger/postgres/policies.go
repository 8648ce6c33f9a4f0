package pgledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// policyPlace begins the names of the places that have the default policies of instances.
const policyPlace = "policy "

// sqlPolicies returns the default policies of the instances that were heard in a time.
const sqlPolicies = `SELECT DISTINCT i.name, p.place FROM bailiff.instances i JOIN bailiff.places p ON p.name = '` + policyPlace + `' || i.name
WHERE i.seen > clock_timestamp() - $1::bigint * interval '1 microsecond' ORDER BY i.name`

// policiesHeard is how long ago an instance may have been heard whose default policy counts.
const policiesHeard = time.Minute

// An InstancePolicy is the default policy with which an instance judges, by its hash, "" where it has none.
type InstancePolicy struct{ Instance, Policy string }

// NotePolicy notes the hash of this instance's default policy, "" where it has none, for those that compare theirs with it.
func (s *Store) NotePolicy(policy string) error {
	return s.db.asking.keep(sqlPlace, policyPlace+s.options.Name, policy)
}

// Policies returns the default policies that instances have noted which were heard in the last minute, in the order of their names.
func (s *Store) Policies() (all []InstancePolicy, err error) {
	err = s.db.asking.twice(func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, sqlPolicies, policiesHeard.Microseconds())
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[InstancePolicy])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: asking the database for the instances' default policies: %w", err)
	}
	return all, nil
}
