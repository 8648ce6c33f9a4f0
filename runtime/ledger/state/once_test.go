package state

import (
	"errors"
	"fmt"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/ledger"
)

// useAll uses ids as the words say, by keys whose clocks differ by hours, and returns what went wrong.
func useAll(table *onceTable[uint32], words []uint32) string {
	used := map[uint32]bool{}
	for i, word := range words {
		base := int64(i) * 100 * keptExpired // the unit: so it changes little
		id := word % 64
		expires := int64(id) * 100 * keptExpired * int64(len(words)) / 64 // each id has one expiry
		now := base + (int64(word>>8%8)-4)*2000*keptExpired
		err := table.check(id, expires, now)
		switch {
		case err == nil && used[id]:
			return fmt.Sprintf("use %d: %d is used a second time", i, id)
		case now >= expires && !errors.Is(err, ledger.ErrExpired):
			return fmt.Sprintf("use %d: %d has expired: %v", i, id, err)
		case err == nil:
			if err := table.add(id, expires, now); err != nil {
				return err.Error()
			}
			used[id] = true
		}
		if len(table.used) != table.order.Len() {
			return fmt.Sprintf("%d are remembered, %d in order", len(table.used), table.order.Len())
		}
	}
	return ""
}

func TestOnce(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 300))
	words := gen.SliceOfN(400, gen.UInt32())
	properties.Property("nothing is used twice, whoever's clock is behind", prop.ForAll(func(words []uint32) string {
		return useAll(&onceTable[uint32]{}, words)
	}, words))
	properties.TestingRun(t)

	forgetful := prop.ForAllNoShrink(func(words []uint32) string {
		for n := range words { // a table that forgets what it has forgotten, after each prefix
			table := &onceTable[uint32]{}
			if useForgetting(table, words[:n+1]) {
				return "caught"
			}
		}
		return ""
	}, gen.SliceOfN(100, gen.UInt32()))
	if forgetful.Check(seed.Parameters(t, 50)).Passed() {
		t.Fatal("a table that forgets is not noticed")
	}
}

// useForgetting is useAll over a table whose memory of what it has forgotten is lost: the canary of TestOnce.
func useForgetting(table *onceTable[uint32], words []uint32) (caught bool) {
	used := map[uint32]bool{}
	for _, word := range words {
		id, now := word%8, int64(word>>8%8)*1000*keptExpired
		expires := (int64(id)*1000 + 500) * keptExpired
		table.forgotten = 0
		if table.check(id, expires, now) != nil {
			continue
		}
		if used[id] {
			return true
		}
		used[id] = true
		if table.add(id, expires, now) != nil {
			return false
		}
	}
	return false
}

// TestOnceForgets has the table give back what has expired, a few at a time.
func TestOnceForgets(t *testing.T) {
	var table onceTable[int]
	for i := range 100_000 {
		if err := table.add(i, (int64(i)+100)*keptExpired, int64(i)*keptExpired); err != nil {
			t.Fatal(err)
		}
		if len(table.used) > 102 {
			t.Fatalf("%d are remembered after %d", len(table.used), i)
		}
	}
}
