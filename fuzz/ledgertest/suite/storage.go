package suite

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"bailiff/runtime/ledger"
)

// sized returns a deployment of a policy that has its key keep size bytes, half of them its program's.
func (f *fixture) sized(hash byte, size, most int) *ledger.Deployment {
	d := f.deployment(hash)
	d.Text, d.Program = bytes.Repeat([]byte("t"), size-size/2), bytes.Repeat([]byte("p"), size/2)
	d.MaxStored = uint64(most)
	return d
}

// testStorage: what a key's deployments keep is counted to the byte, and what would go beyond is refused and changes nothing.
func testStorage(f *fixture) {
	for i, step := range []struct {
		hash         byte
		size, most   int
		stored       int // where it is deployed
		reopensFirst bool
	}{
		{1, 400, 1000, 400, false},
		{2, 601, 1000, 0, false},
		{2, 600, 1000, 1000, false},
		{2, 600, 1000, 0, false}, // the bytes in force would be kept once more
		{3, 1, 1000, 0, true},
		{3, 1, 1001, 1001, false},
		{4, 500, 0, 1501, false}, // no limit
		{5, 1, 1000, 0, true},
		{5, 10, 1511, 1511, false},
	} {
		if step.reopensFirst && f.suite.Reopen != nil {
			f.l = f.suite.Reopen(f.T, f.l)
		}
		d := f.sized(step.hash, step.size, step.most)
		if step.stored != 0 {
			if done := f.deploy(d); done.Stored != uint64(step.stored) {
				f.Fatalf("step %d: %+v", i, done)
			}
			continue
		}
		before := f.readAll()
		_, err := f.l.Deploy(f.Context(), d)
		var full *ledger.StorageError
		if !errors.As(err, &full) || !errors.Is(err, ledger.ErrStorage) || full.Size != d.Size() || full.Most != d.MaxStored || full.Stored+full.Size <= full.Most {
			f.Fatalf("step %d: %v", i, err)
		}
		f.equal("what can be read after a refusal", f.readAll(), before)
	}
	other := f.sized(1, 1000, 1000)
	other.Key = f.newKey(2).ID
	if done, err := f.l.Deploy(f.Context(), other); err != nil || done.Stored != 1000 {
		f.Fatalf("another key: %+v, %v", done, err)
	}
}

// testStorageRace: of deployments at once as many get through as there is room for.
func testStorageRace(f *fixture) {
	var deployed, refused atomic.Int64
	var wg sync.WaitGroup
	for n := range byte(32) {
		d := f.sized(n+1, 100, 750)
		wg.Go(func() {
			switch _, err := f.l.Deploy(context.Background(), d); {
			case err == nil:
				deployed.Add(1)
			case errors.Is(err, ledger.ErrStorage):
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if deployed.Load() != 7 || refused.Load() != 25 {
		f.Fatalf("%d were deployed, %d refused", deployed.Load(), refused.Load())
	}
}
