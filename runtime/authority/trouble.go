package authority

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// troubles logs what every request meets while the store fails, once in a second: a full disk would be filled anew by the
// lines about it, and whoever has a key could fill the log.
type troubles struct {
	latest  atomic.Int64 // Unix second of the last line
	without atomic.Int64 // requests since then without a line of their own
}

// report logs an error, with how many requests had trouble since the line before and no line of their own.
func (t *troubles) report(log *slog.Logger, now time.Time, what string, err error) {
	second := now.Unix()
	if last := t.latest.Load(); second == last || !t.latest.CompareAndSwap(last, second) {
		t.without.Add(1)
		return
	}
	log.Error(what, "error", err, "alsoBefore", t.without.Swap(0))
}
