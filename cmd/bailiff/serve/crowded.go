package serve

import (
	"context"
	"log/slog"
	"sync/atomic"

	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
)

// crowdedKeys warns of keys that have few counter groups left: beyond ledger.MaxGroups what needs a new group is denied,
// unless another one makes room (decisions, section 2, "Limits").
type crowdedKeys struct {
	ledger ledger.Meter
	clock  clock.Clock
	log    *slog.Logger

	last   map[ledger.ID]bool // the keys that were crowded at the last look
	number atomic.Int64
}

// look warns of each key once when it becomes crowded, and of one that became so again.
func (c *crowdedKeys) look(context.Context) error {
	keys, err := c.ledger.CrowdedKeys(c.clock().UnixNano())
	if err != nil { // the ledger says it itself, and is opened again
		return nil
	}
	now := make(map[ledger.ID]bool, len(keys))
	for _, key := range keys {
		now[key.Key] = true
		if !c.last[key.Key] {
			c.log.Warn("a key has few counter groups left: beyond the limit, what needs a new group is denied unless a group of a task "+
				"makes room that has been idle for a day; use fewer values in group_by and task_id",
				"key", key.Key, "groups", key.Groups, "limit", ledger.MaxGroups)
		}
	}
	c.last = now
	c.number.Store(int64(len(keys)))
	return nil
}

// count returns how many keys were crowded at the last look.
func (c *crowdedKeys) count() int { return int(c.number.Load()) }
