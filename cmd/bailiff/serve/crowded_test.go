package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/ledger"
)

// A crowdedLedger has crowded keys.
type crowdedLedger struct {
	ledger.Ledger
	keys []ledger.KeyGroups
	err  error
}

func (l *crowdedLedger) CrowdedKeys(int64) ([]ledger.KeyGroups, error) { return l.keys, l.err }

// TestCrowdedKeys: each key is warned of once, and again when it was not crowded meanwhile.
func TestCrowdedKeys(t *testing.T) {
	var log bytes.Buffer
	l := &crowdedLedger{}
	c := crowdedKeys{ledger: l, clock: time.Now, log: slog.New(slog.NewTextHandler(&log, nil))}
	look := func(warnings, count int, keys ...byte) {
		t.Helper()
		l.keys = nil
		for _, key := range keys {
			l.keys = append(l.keys, ledger.KeyGroups{Key: ledger.ID{key}, Groups: ledger.CrowdedGroups})
		}
		log.Reset()
		if err := c.look(t.Context()); err != nil || strings.Count(log.String(), "level=WARN") != warnings || c.count() != count {
			t.Errorf("%d crowded keys, %v: %s", c.count(), err, log.String())
		}
	}
	look(0, 0)
	look(1, 1, 1)
	if !strings.Contains(log.String(), "groups=52428 limit=65536") || !strings.Contains(log.String(), "key="+ledger.ID{1}.String()) {
		t.Error(log.String())
	}
	look(1, 2, 1, 2)
	look(0, 2, 1, 2)
	look(0, 1, 2)
	look(1, 2, 1, 2)
	l.err = errors.New("away")
	if err := c.look(t.Context()); err != nil || c.count() != 2 {
		t.Error(err, c.count())
	}
}
