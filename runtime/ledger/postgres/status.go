package pgledger

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// A made is the row of the store's own table; its level is 0 where there are no tables.
type made struct {
	level       int
	slots       int
	environment string
	signer      string
	id          string
	moved       string // where the record was exported to; "" where it was not
	writes      int    // the highest number of a form that records may have
	divided     uint64 // the last record of the log that was divided; 0 where none was
}

func (p *postgres) made() (m made, err error) {
	err = p.asking.twice(func(ctx context.Context, c *pgx.Conn) error {
		var there bool
		if err := c.QueryRow(ctx, `SELECT to_regclass('bailiff.store') IS NOT NULL`).Scan(&there); err != nil || !there {
			return err
		}
		err := c.QueryRow(ctx, `SELECT level, slots, environment, signer, COALESCE(to_jsonb(s)->>'id', ''), COALESCE(to_jsonb(s)->>'moved', ''), COALESCE((to_jsonb(s)->>'writes')::int, 0), COALESCE((to_jsonb(s)->>'divided')::bigint, 0) FROM bailiff.store s`).
			Scan(&m.level, &m.slots, &m.environment, &m.signer, &m.id, &m.moved, &m.writes, &m.divided)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return m, err
}

// A Setup says how Init makes a store.
type Setup struct {
	// Role is given what a service needs of the tables; "" for none.
	Role string
	// Drops says whether the role may drop old groups, as retention does; nil leaves that as it is.
	Drops *bool
	// Slots is how many slots a new store has; 0 for one. It can't be changed.
	Slots int
}

// Init makes the tables that are missing. It reports whether it made any; tables of another environment, of a newer release, or with
// another number of slots are an error.
func (s *Store) Init(o Setup) (fresh bool, err error) {
	if o.Slots < 0 || o.Slots > ledger.MaxSlots {
		return false, fmt.Errorf("ledger: a store has 1 to %d slots, not %d", ledger.MaxSlots, o.Slots)
	}
	before, err := s.db.made()
	switch {
	case err != nil:
		return false, fmt.Errorf("ledger: asking the database: %w", err)
	case before.level > tablesLevel:
		return false, fmt.Errorf("ledger: the tables are of the level %d, and this release makes %d; they are newer, and stay", before.level, tablesLevel)
	case before.level != 0 && before.environment != s.options.Environment:
		return false, s.check(1)
	case before.level != 0 && o.Slots != 0 && o.Slots != before.slots:
		return false, fmt.Errorf("ledger: the store has %d slots, and their number can't be changed; make another store with %d, in another database, and move the record there with bailiff store export and bailiff store import", before.slots, o.Slots)
	}
	err = s.db.transact(func(ctx context.Context, t pgx.Tx) error {
		if _, err := t.Exec(ctx, tables); err != nil {
			return fmt.Errorf("making the tables, which the role that owns them does: %w", err)
		}
		if _, err := t.Exec(ctx, sqlInit, tablesLevel, s.options.Environment, state.Latest(), max(1, o.Slots)); err != nil {
			return fmt.Errorf("making the tables: %w", err)
		}
		if _, err := t.Exec(ctx, sqlInitSlots); err != nil {
			return fmt.Errorf("making the slots: %w", err)
		}
		return o.give(ctx, t)
	})
	if err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	return before.level == 0, nil
}

// give gives a role what it needs.
func (o *Setup) give(ctx context.Context, t pgx.Tx) error {
	if o.Role == "" {
		return nil
	}
	given := grants
	switch {
	case o.Drops != nil && *o.Drops:
		given += dropping
	case o.Drops != nil:
		given += keeping
	}
	if _, err := t.Exec(ctx, fmt.Sprintf(given, pgx.Identifier{o.Role}.Sanitize())); err != nil {
		return fmt.Errorf("giving the role %s what it needs (CREATE ROLE makes it): %w", o.Role, err)
	}
	return nil
}

// sqlInit notes the level of the tables. A new store is written as this release does, and one that is there as it was.
const sqlInit = `INSERT INTO bailiff.store AS s (level, slots, environment, writes) VALUES ($1, $4, $2, $3)
ON CONFLICT (one) DO UPDATE SET level = $1, writes = CASE s.writes WHEN 0 THEN $3 ELSE s.writes END`

// sqlInitSlots makes the rows of the slots. Where there are several, the first has the service-wide records.
const sqlInitSlots = `INSERT INTO bailiff.slots (slot) SELECT generate_series(0, CASE WHEN slots > 1 THEN slots ELSE 0 END) FROM bailiff.store ON CONFLICT DO NOTHING`

// A Status is what there is to know of a database.
type Status struct {
	Server      string // version
	ID          string // of the store
	Environment string
	Level       int // of the tables
	Writes      int // the level of the store: the highest number of a form that records may have

	SlotStatus              // of the first slot
	Slots      []SlotStatus // of several the first has the service-wide records
	Bytes      int64        // of all tables
	Moved      string       // where the record was exported to; "" where it was not
	Divided    uint64       // the last record of the log that was divided, after which the logs of slots begin; 0 where none was

	Instances []InstanceStatus

	Lone string // the setting by which the loss of one standby stops every commit; "" where it does not
	// Waits is the setting where fewer standbys are connected than it demands, so that every commit waits; "" elsewhere.
	Waits   string
	Unsafe  string        // why what the database confirms may be lost with its machine; "" where it is not
	Changes bool          // the role may change or remove groups
	Offset  time.Duration // of the database's clock
}

// A SlotStatus is a slot, and who has it.
type SlotStatus struct {
	Slot  int
	Owner string        // name of the instance that decides; "" for none
	Term  int64         // how often the log was taken, and looked into
	Heard time.Duration // since the owner was heard
	Last  uint64        // LSN of the last record
}

// Records returns how many records there are, of all slots together.
func (s *Status) Records() (n uint64) {
	for _, slot := range s.Slots {
		if n += slot.Last; slot.Slot > 0 {
			n -= min(s.Divided, slot.Last)
		}
	}
	return n
}

// Keyed returns how many slots have keys.
func (s *Status) Keyed() int {
	if len(s.Slots) > 1 {
		return len(s.Slots) - 1
	}
	return 1
}

// An InstanceStatus is an instance that was heard in the last day.
type InstanceStatus struct {
	Name  string
	Peer  string        // where it takes requests from others; "" where it takes none
	Reads int           // the highest number of a form of records that it reads
	Heard time.Duration // since then
}

// Status asks the database for all that there is to know of it.
func (s *Store) Status() (status Status, err error) {
	made, err := s.db.made()
	switch {
	case err != nil:
		return status, fmt.Errorf("ledger: asking the database: %w", err)
	case made.level < oneSlotLevel || made.environment != s.options.Environment:
		return status, s.check(1)
	}
	status.Moved, status.Writes, status.Divided = made.moved, made.writes, made.divided
	err = s.db.query(func(ctx context.Context, c *pgx.Conn) error {
		asked := s.options.Calls.Clock()
		var now time.Time
		if err := c.QueryRow(ctx, sqlStatus).Scan(&now, &status.Server, &status.ID, &status.Level, &status.Environment, &status.Bytes, &status.Changes); err != nil {
			return err
		}
		status.Offset = now.Sub(asked.Add(s.options.Calls.Clock().Sub(asked) / 2))
		if status.Slots, err = slotsStatus(ctx, c); err != nil {
			return err
		}
		status.SlotStatus = status.Slots[0]
		rows, err := c.Query(ctx, `SELECT DISTINCT ON (name) name, peer, reads, extract(epoch FROM clock_timestamp() - seen)::float8 FROM bailiff.instances WHERE seen > clock_timestamp() - interval '1 day' ORDER BY name, seen DESC`)
		if err != nil {
			return err
		}
		status.Instances, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i InstanceStatus, err error) {
			var heard float64
			err = row.Scan(&i.Name, &i.Peer, &i.Reads, &heard)
			i.Heard = seconds(heard)
			return i, err
		})
		return err
	})
	if err != nil {
		return status, fmt.Errorf("ledger: asking the database: %w", err)
	}
	var lossy *lossyError
	if err := s.db.replicated(); errors.As(err, &lossy) {
		if status.Unsafe = lossy.Error(); s.options.Trust {
			status.Unsafe = lossy.trusted()
		}
		status.Unsafe = strings.TrimPrefix(status.Unsafe, "ledger: ")
	} else if err != nil {
		return status, err
	}
	status.Lone, status.Waits, err = s.db.standbys()
	return status, err
}

const sqlStatus = `SELECT clock_timestamp(), current_setting('server_version'), st.id, st.level, st.environment,
(SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'bailiff' AND c.relkind = 'r'),
has_table_privilege('bailiff.groups', 'UPDATE') OR has_table_privilege('bailiff.groups', 'DELETE') OR has_table_privilege('bailiff.groups', 'TRUNCATE')
FROM bailiff.store st`

const sqlSlotsStatus = `SELECT s.slot, s.term, COALESCE(s.owner_name, ''), COALESCE(extract(epoch FROM clock_timestamp() - i.seen)::float8, 0),
COALESCE((SELECT g.last FROM bailiff.groups g WHERE g.slot = s.slot ORDER BY g.first DESC LIMIT 1), 0)
FROM bailiff.slots s LEFT JOIN bailiff.instances i ON i.id = s.owner ORDER BY s.slot`

// slotsStatus asks who has which slot.
func slotsStatus(ctx context.Context, c *pgx.Conn) ([]SlotStatus, error) {
	rows, err := c.Query(ctx, sqlSlotsStatus)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (one SlotStatus, err error) {
		var heard float64
		err = row.Scan(&one.Slot, &one.Term, &one.Owner, &heard, &one.Last)
		one.Heard = seconds(heard)
		return one, err
	})
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A lossyError says that the database may lose what it has confirmed when its machine is lost.
type lossyError struct {
	setting, value string
	standby        bool // it is no primary, so that the setting is not what to change
}

// Error says which setting allows that.
func (e *lossyError) Error() string {
	if e.standby {
		return e.found()
	}
	return e.found() + "; set a synchronous standby, fsync = on and synchronous_commit = on, or set SVC_STORE_SYNC=trust where it copies what it keeps in another way"
}

// trusted says it where that is trusted.
func (e *lossyError) trusted() string {
	if e.standby {
		return e.found()
	}
	return e.found() + ", unless it copies what it keeps in another way, as SVC_STORE_SYNC=trust says"
}

func (e *lossyError) found() string {
	if e.standby {
		return "ledger: the database is a standby, and takes no records; have SVC_STORE name the primary, or all hosts"
	}
	return fmt.Sprintf("ledger: the database has %s = '%s': what it confirms may be on one machine only", e.setting, e.value)
}

// replicated returns a *lossyError where the database may lose what it confirms when its machine is lost, nil where it does not.
func (p *postgres) replicated() error { return p.asking.do(lossy) }

// lossy is replicated over a connection.
func lossy(ctx context.Context, c *pgx.Conn) error {
	settings := [...]string{"synchronous_standby_names", "fsync", "synchronous_commit"}
	var values [len(settings)]string
	var standby bool
	err := c.QueryRow(ctx, `SELECT current_setting($1), current_setting($2), current_setting($3), pg_is_in_recovery()`, settings[0], settings[1], settings[2]).Scan(&values[0], &values[1], &values[2], &standby)
	if err != nil {
		return err
	}
	for i, value := range values {
		if value == "" || value == "off" || value == "local" || value == "remote_write" {
			return &lossyError{settings[i], value, standby}
		}
	}
	return nil
}

// standbyNames takes synchronous_standby_names apart: FIRST 1 (a, b), ANY 2 (a, b, c), 2 (a, b), or a, b.
var standbyNames = regexp.MustCompile(`(?is)^\s*(?:(?:FIRST|ANY)?\s*(\d+)\s*\((.*)\)|(.*?))\s*$`)

// standbys returns the setting that names the synchronous standbys: as lone where a commit waits for all that there are of these, and as waits
// where it waits for more than are connected. Either is "" elsewhere.
func (p *postgres) standbys() (lone, waits string, err error) {
	var setting string
	var connected int
	var standby bool
	err = p.asking.do(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication), pg_is_in_recovery()`).Scan(&setting, &connected, &standby)
	})
	if err != nil {
		return "", "", fmt.Errorf("ledger: asking the database for its standbys: %w", err)
	}
	if setting == "" || standby {
		return "", "", nil
	}
	spare, wanted := spares(setting, connected)
	if spare <= 0 {
		lone = setting
	}
	if connected < wanted {
		waits = setting
	}
	return lone, waits, nil
}

// spares returns how many of the standbys that a setting names may be lost until commits wait, and how many a commit waits for. * is for all
// that are connected.
func spares(setting string, connected int) (spare, wanted int) {
	parts := standbyNames.FindStringSubmatch(setting)
	wanted = 1
	names := parts[3]
	if parts[1] != "" {
		wanted, _ = strconv.Atoi(parts[1])
		names = parts[2]
	}
	all := strings.Split(names, ",")
	named := len(all)
	if slices.ContainsFunc(all, func(name string) bool { return slices.Contains([]string{"*", `"*"`}, strings.TrimSpace(name)) }) {
		named = connected
	}
	return named - wanted, wanted
}
