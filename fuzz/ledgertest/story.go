package ledgertest

import (
	"context"
	"fmt"
	"slices"

	diff "github.com/google/go-cmp/cmp"

	"bailiff/runtime/ledger"
)

// A Story takes random steps of a ledger that is checked, as the histories of Model do. Several of its steps may be under way at
// once, where the ledger's steps are one.
type Story struct{ h *history }

// NewStory returns a story of a ledger.
func NewStory(l *Checked) *Story {
	return &Story{&history{checkedParts: onePart(l), at: Start, reached: l.checks.Reached}}
}

// Begin creates the key without which nothing happens.
func (s *Story) Begin() error { return s.h.changeKey(0) }

// storySteps are the steps of histories that do not end the ledger, move its clock or look at all of it.
var storySteps = [...]uint32{0, 1, 2, 3, 4, 5, 12, 13, 14, 15, 17, 18, 19, 20, 21, 31, 32, 35, 36, 38, 40, 41, 43, 44, 46, 50, 50}

// Step takes a step at a time (Unix nanoseconds), of which the word chooses the kind and the details. A fault is a Violation
// of the ledger; that it refuses is not.
func (s *Story) Step(word uint32, at int64) {
	n := uint32(len(storySteps))
	s.h.at = at
	_ = s.h.step(word/n/52*52 + storySteps[word%n])
}

// Compare compares what can be read of a ledger that works with the model: keys, counters, holds, policies, webhooks, usage.
func (c *Checked) Compare(at int64) error {
	if c.refuses() {
		return nil
	}
	h := &history{checkedParts: onePart(c), at: at}
	used := map[ledger.ID]uint64{}
	counters := map[ledger.ID][]ledger.Counter{}
	var keys []ledger.ID
	for _, e := range c.model.log {
		if e.created != nil {
			keys = append(keys, e.key)
		}
		if e.allowed {
			used[e.key]++
		}
		for _, a := range e.adds {
			if !slices.Contains(counters[e.key], a.counter) {
				counters[e.key] = append(counters[e.key], a.counter)
			}
		}
	}
	for _, id := range keys {
		err := h.compareKey(id, counters[id], used[id])
		if err != nil && away(err) { // a read that failed
			err = h.compareKey(id, counters[id], used[id])
		}
		if err != nil {
			return c.violate("of key %s: %w", id, err)
		}
	}
	return nil
}

// compareKey compares one key. Reads wait until what they show is durable, so that nothing may be under way.
func (h *history) compareKey(id ledger.ID, counters []ledger.Counter, used uint64) error {
	key, now, _ := h.of(id).model.key(id)
	now = max(now, h.at)
	if got, found := h.of(id).LookupKey(key.Hash); !found || *got != key {
		return fmt.Errorf("key %+v, the model says %+v", got, key)
	}
	for _, c := range counters {
		value, err := h.of(id).Counter(context.Background(), id, c, h.at)
		if want := h.of(id).model.counter(id, c, now); err != nil || number(value).Cmp(want) != 0 {
			return fmt.Errorf("counter %v is %s (%w), the model says %s", c, value, err, want)
		}
	}
	usage, err := h.of(id).Usage(context.Background(), id)
	for _, u := range usage {
		used -= u.Count
	}
	if err != nil || used != 0 {
		return fmt.Errorf("usage %+v, %w, the model counts %d more", usage, err, used)
	}
	if err := h.compareHolds(id, now); err != nil {
		return err
	}
	if err := h.compareService(id); err != nil {
		return err
	}
	if got, want := h.whole.Frozen(), h.parts[0].model.frozen(); got != want {
		return fmt.Errorf("frozen (-model +ledger):\n%s", diff.Diff(want, got))
	}
	return nil
}

// Wanted reports whether a webhook of a key is told of events.
func (c *Checked) Wanted(key, id ledger.ID) bool {
	hooks, _ := c.model.outbox(key)
	return slices.ContainsFunc(hooks, func(w ledger.Webhook) bool { return w.ID == id && w.Disabled == 0 })
}

// Uses returns how many attestations are used up by the log up to a record.
func (c *Checked) Uses(lsn uint64) (uses int) {
	for i := range c.model.log {
		if !c.model.log[i].token.IsZero() && uint64(i) < lsn {
			uses++
		}
	}
	return uses
}

// Undelivered returns how many deliveries wait for webhooks.
func (c *Checked) Undelivered() int { return len(c.model.waiting()) }

// Now returns the time of a key.
func (c *Checked) Now(key ledger.ID) int64 {
	_, now, _ := c.model.key(key)
	return now
}

// Unkept returns the record of a plan that somebody was told of, where the disk does not have it; 0 where all is well.
func (c *Checked) Unkept(plan ledger.ID) uint64 {
	if lsn := c.plans[plan]; lsn > c.checks.Durable() {
		return lsn
	}
	return 0
}
