// Package retention drops old groups of the event log: it exports the groups into a folder of the operator's, signs a retention
// checkpoint, and then has the ledger drop them. Package ledger/commit does the dropping; this package has the exported files,
// the signatures, and the decision when.
package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
)

// passBytes bounds the groups of one exported file, and what a pass reads at once.
const passBytes = 256 << 20

// A Retainer is a ledger that drops old groups.
type Retainer interface {
	Retain(ctx context.Context, q *ledger.Retention) (*ledger.Drop, error)
}

// Config says which groups are dropped, and how.
type Config struct {
	Ledger Retainer
	Signer *attest.Signer
	Clock  func() time.Time
	Age    time.Duration // of the oldest events that stay
	Folder string        // that gets the exported files
	Bytes  int64         // of one exported file; 0 for 256 MiB
	// Keep returns the LSN of the last record that may be dropped, whatever its age, 0 for any. nil: any.
	Keep    func() uint64
	Reached func(ledger.RetentionStep) error // for tests; nil for nothing
}

// Drop drops everything that is old, in as many passes as it takes, and returns what each has dropped.
func Drop(ctx context.Context, c Config) (all []ledger.Drop, err error) {
	for {
		drop, err := pass(ctx, &c)
		if drop == nil || err != nil {
			return all, err
		}
		all = append(all, *drop)
	}
}

func pass(ctx context.Context, c *Config) (*ledger.Drop, error) {
	now := c.Clock()
	q := &ledger.Retention{Now: now.UnixNano(), Before: now.Add(-c.Age).UnixNano(), Most: c.Bytes, Reached: c.Reached}
	if q.Most == 0 {
		q.Most = passBytes
	}
	if c.Keep != nil {
		q.Keep = c.Keep()
	}
	second := now.UTC().Truncate(time.Second)
	q.Export = func(from ledger.Head) (ledger.Exporter, error) {
		w, err := newWriter(c.Folder, from, func(end ledger.Head) ([]byte, error) {
			return c.Signer.SignCheckpoint(attest.Checkpoint{Stream: end.Stream, LSN: end.LSN, Hash: end.Hash, At: second})
		}, c.Reached)
		if err != nil {
			return nil, fmt.Errorf("exporting to %s: %w", c.Folder, err)
		}
		return w, nil
	}
	q.Sign = func(d *ledger.Drop) ([]byte, error) { return Sign(c.Signer, d) }
	return c.Ledger.Retain(ctx, q)
}

// Sign returns the retention checkpoint of a drop.
func Sign(signer *attest.Signer, d *ledger.Drop) ([]byte, error) {
	end, at := d.Through, time.Unix(0, d.At).UTC().Truncate(time.Second)
	return signer.SignRetention(attest.RetentionCheckpoint{
		Checkpoint: attest.Checkpoint{Stream: end.Stream, LSN: end.LSN, Hash: end.Hash, At: at}, Base: d.Base, Export: d.Export,
	})
}

// errBeginning says that a log does not begin as the service has signed.
var errBeginning = errors.New("the log does not begin as the service has signed")

// VerifyBeginning holds the beginning of a log against its retention checkpoint, which it returns. A whole log has none, and is good.
func VerifyBeginning(b ledger.Beginning, v *attest.CheckpointVerifier) (c attest.RetentionCheckpoint, err error) {
	if b.After.LSN == 0 {
		return c, nil
	}
	c, err = v.OpenRetention(b.Signed)
	switch {
	case err != nil:
		return c, fmt.Errorf("%w: it begins at record %d, and its retention checkpoint is not good: %w", errBeginning, b.After.LSN+1, err)
	case (ledger.Head{Stream: c.Stream, LSN: c.LSN, Hash: c.Hash}) != b.After || c.Base != b.Base:
		return c, fmt.Errorf("%w: it begins at record %d, and its retention checkpoint is of record %d and another state", errBeginning, b.After.LSN+1, c.LSN)
	}
	return c, nil
}
