package serve

import (
	"context"
	"errors"
	"sync"
	"time"
)

// background is the work that goes on behind the servers.
type background struct {
	started bool
	cancel  context.CancelFunc
	running sync.WaitGroup
	mutex   sync.Mutex
	faults  []error
}

// start runs a task until its context ends; fault gets the error of one that ends before, and stop returns the others.
func (b *background) start(ctx context.Context, task func(context.Context) error, fault func(error)) {
	b.running.Go(func() {
		err := task(ctx)
		if err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return
		}
		if ctx.Err() == nil {
			fault(err)
			return
		}
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.faults = append(b.faults, err)
	})
}

// stop ends the tasks and waits for them, no longer than ctx lasts.
func (b *background) stop(ctx context.Context) error {
	if b.cancel == nil {
		return nil
	}
	b.cancel()
	ended := make(chan struct{})
	go func() { b.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	return errors.Join(b.faults...)
}

// every returns a task that takes a step at once and then after each period, until one fails.
func every(period time.Duration, step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			if err := step(ctx); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
	}
}
