package pgledger

// tablesLevel is the version of the tables. A release that needs more raises it, and store init brings older ones up to it. Nothing is taken
// from tables, so that the release before works on over newer ones.
const tablesLevel = 5

// oneSlotLevel is the version of the tables that a store of one slot needs, and severalLevel that of several.
const (
	oneSlotLevel = 3
	severalLevel = 4
)

// tables are made by Init, each where there is none of the name. A slot is a part of the keys. Times are the
// database's. The log is in groups alone: snapshots and lists are copies, which are made from it again.
const tables = `
CREATE SCHEMA IF NOT EXISTS bailiff;
CREATE TABLE IF NOT EXISTS bailiff.store (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	level int NOT NULL,
	slots int NOT NULL CHECK (slots BETWEEN 1 AND 1024),
	environment text NOT NULL,
	signer text NOT NULL DEFAULT ''
);
ALTER TABLE bailiff.store ADD COLUMN IF NOT EXISTS id text NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE bailiff.store ADD COLUMN IF NOT EXISTS moved text NOT NULL DEFAULT '';
ALTER TABLE bailiff.store ADD COLUMN IF NOT EXISTS writes int NOT NULL DEFAULT 0;
ALTER TABLE bailiff.store ADD COLUMN IF NOT EXISTS divided bigint NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS bailiff.instances (
	id text PRIMARY KEY,
	name text NOT NULL,
	seen timestamptz NOT NULL
) WITH (fillfactor = 20);
ALTER TABLE bailiff.instances ADD COLUMN IF NOT EXISTS peer text NOT NULL DEFAULT '';
ALTER TABLE bailiff.instances ADD COLUMN IF NOT EXISTS reads int NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS bailiff.slots (
	slot int PRIMARY KEY,
	term bigint NOT NULL DEFAULT 0,
	owner text,
	owner_name text,
	held text
) WITH (fillfactor = 20);
CREATE TABLE IF NOT EXISTS bailiff.groups (
	slot int,
	first bigint,
	last bigint NOT NULL,
	hash bytea NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (slot, first)
) WITH (toast_tuple_target = 8160);
ALTER TABLE bailiff.groups ALTER data SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS bailiff.snapshots (
	slot int,
	part int,
	data bytea NOT NULL,
	PRIMARY KEY (slot, part)
);
ALTER TABLE bailiff.snapshots ALTER data SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS bailiff.marks (
	slot int PRIMARY KEY,
	mark bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS bailiff.lists (
	slot int,
	key bytea,
	stretch bigint,
	list bytea NOT NULL,
	PRIMARY KEY (slot, key, stretch)
);
CREATE TABLE IF NOT EXISTS bailiff.places (
	name text PRIMARY KEY,
	place text NOT NULL
);
CREATE TABLE IF NOT EXISTS bailiff.bases (
	slot int,
	lsn bigint,
	maker text,
	part int,
	chosen boolean NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (slot, lsn, maker, part)
);
ALTER TABLE bailiff.bases ALTER data SET STORAGE EXTERNAL;
ALTER TABLE bailiff.slots ADD COLUMN IF NOT EXISTS followed bigint NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS bailiff.keys (
	id bytea PRIMARY KEY,
	hash bytea UNIQUE NOT NULL,
	slot int NOT NULL
);
CREATE TABLE IF NOT EXISTS bailiff.activations (
	id bytea PRIMARY KEY,
	slot int NOT NULL
);
INSERT INTO bailiff.slots (slot) VALUES (0) ON CONFLICT DO NOTHING;` + functions

// grants are what the role of a service needs. It inserts groups and bases, and neither changes nor removes them; so with keys and activations. %s is the role.
const grants = `
GRANT USAGE ON SCHEMA bailiff TO %[1]s;
REVOKE ALL ON ALL TABLES IN SCHEMA bailiff FROM %[1]s;
GRANT SELECT ON bailiff.store TO %[1]s;
GRANT UPDATE (signer, moved) ON bailiff.store TO %[1]s;
GRANT SELECT, UPDATE ON bailiff.slots TO %[1]s;
GRANT SELECT, INSERT ON bailiff.groups, bailiff.bases, bailiff.keys, bailiff.activations TO %[1]s;
GRANT EXECUTE ON FUNCTION bailiff.note_divided TO %[1]s;
GRANT SELECT, INSERT, UPDATE, DELETE ON bailiff.instances, bailiff.snapshots, bailiff.marks, bailiff.lists, bailiff.places TO %[1]s;`

// The statements. Those that change a slot lock its row before they change anything, and so are wholly before a claim or wholly after it. A
// scalar subquery looks for the group before: an EXISTS is planned as a scan of the whole log.
const (
	// keepsTwice tells whether a commit is on two disks. A primary may have a synchronous standby no more: one that was a standby has none of
	// its own, and an operator may take it away while the primary runs.
	keepsTwice = `(current_setting('synchronous_standby_names') <> '' AND current_setting('fsync') = 'on' AND current_setting('synchronous_commit') IN ('on', 'remote_apply'))`

	// sqlAdd, sqlAdds and sqlBeat are told last whether one disk is enough.
	sqlAdd = `WITH fence AS (SELECT slot FROM bailiff.slots WHERE slot = $1 AND term = $2 AND ($10::boolean OR ` + keepsTwice + `) FOR UPDATE)
INSERT INTO bailiff.groups (slot, first, last, hash, data) SELECT slot, $3, $4, $5, $6 FROM fence
WHERE $7::bigint = 0 OR (SELECT g.last = $7 AND g.hash = $8 FROM bailiff.groups g WHERE g.slot = $1 AND g.first = $9)`

	// sqlAdds is sqlAdd for several slots. Their rows are locked in the order of their numbers, so that no two instances wait for each other.
	sqlAdds = `WITH a AS (SELECT * FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[], $8::bytea[], $9::bigint[])
	AS a (slot, term, first, last, hash, data, before_last, before_hash, before_first)),
fence AS (SELECT s.slot FROM bailiff.slots s JOIN a ON a.slot = s.slot AND a.term = s.term WHERE $10::boolean OR ` + keepsTwice + ` ORDER BY s.slot FOR UPDATE OF s)
INSERT INTO bailiff.groups (slot, first, last, hash, data) SELECT a.slot, a.first, a.last, a.hash, a.data FROM a JOIN fence USING (slot)
WHERE a.before_last = 0 OR (SELECT g.last = a.before_last AND g.hash = a.before_hash FROM bailiff.groups g WHERE g.slot = a.slot AND g.first = a.before_first)
RETURNING slot`

	// sqlBeat writes, so that its commit waits for the standby, and what it has read is kept.
	sqlBeat = `WITH asked AS (SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::text[]) AS a (slot, id, name, peer)),
beat AS (INSERT INTO bailiff.instances (id, name, peer, reads, seen) SELECT id, name, peer, $5, clock_timestamp() FROM asked ORDER BY id
ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp())
SELECT s.slot, clock_timestamp(), COALESCE(s.owner, ''), COALESCE(s.owner_name, ''), COALESCE(i.peer, ''), COALESCE(extract(epoch FROM clock_timestamp() - i.seen) * 1000000, 1e15)::bigint, COALESCE(s.held, ''), s.term, $6::boolean OR ` + keepsTwice + `, COALESCE(g.first, 0), COALESCE(g.last, 0), COALESCE(g.hash, '')
FROM asked JOIN bailiff.slots s USING (slot) LEFT JOIN bailiff.instances i ON i.id = s.owner LEFT JOIN LATERAL (SELECT first, last, hash FROM bailiff.groups WHERE slot = s.slot ORDER BY first DESC LIMIT 1) g ON true`

	// sqlClaim finds the term that was heard before it: one that comes late or twice changes nothing.
	sqlClaim = `UPDATE bailiff.slots SET term = term + 1, owner = $2, owner_name = $3, held = $2 WHERE slot = $1 AND term = $6 AND ($5::text[] IS NULL OR held = ANY($5)) AND (owner IS NULL OR owner_name = $3
OR owner NOT IN (SELECT id FROM bailiff.instances WHERE seen > clock_timestamp() - $4::bigint * interval '1 microsecond')) RETURNING term`

	sqlAgain = `UPDATE bailiff.slots SET term = term + 1 WHERE slot = $1 AND owner = $2 AND term >= $3 RETURNING term`

	// sqlConfirm writes to the log of changes alone, so that its commit waits for the standby: a primary that was replaced would still
	// answer what only reads. It locks nothing.
	sqlConfirm = `SELECT s.slot, pg_logical_emit_message(true, 'bailiff', '') FROM bailiff.slots s JOIN unnest($1::int[], $2::text[]) AS a (slot, id) ON a.slot = s.slot AND a.id = s.owner`

	sqlRelease = `WITH gone AS (DELETE FROM bailiff.instances WHERE id = $1)
UPDATE bailiff.slots SET term = term + 1, owner = NULL, owner_name = NULL WHERE owner = $1`

	// sqlSweep forgets instances that ended without a word.
	sqlSweep = `DELETE FROM bailiff.instances WHERE seen < clock_timestamp() - interval '1 day' AND id NOT IN (SELECT owner FROM bailiff.slots WHERE owner IS NOT NULL)`

	// sqlLive counts an instance, and the others that were heard in a lease, and the slots of the one that has the fewest.
	sqlLive = `SELECT count(*), min(slots) FROM (SELECT i.name, count(s.slot) AS slots FROM
(SELECT name FROM bailiff.instances WHERE seen > clock_timestamp() - $2::bigint * interval '1 microsecond' UNION SELECT $1) AS i
LEFT JOIN bailiff.slots s ON s.owner_name = i.name GROUP BY i.name) AS c`

	sqlLast = `SELECT first, last, hash FROM bailiff.groups WHERE slot = $1 ORDER BY first DESC LIMIT 1`

	sqlRead = `SELECT first, last, hash, data FROM bailiff.groups WHERE slot = $1 AND last >= $2
AND first >= COALESCE((SELECT g.first FROM bailiff.groups g WHERE g.slot = $1 AND g.first <= $2 ORDER BY g.first DESC LIMIT 1), 0)
ORDER BY first LIMIT $3`
)
