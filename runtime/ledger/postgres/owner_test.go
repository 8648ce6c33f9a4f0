package pgledger

import (
	"errors"
	"testing"
	"time"
)

// TestOwner has an instance that waits know where the owner is, and when it is not the owner any more.
func TestOwner(t *testing.T) {
	each(t, func(t *testing.T, fresh func(string) database) {
		db := unclosed{fresh("")}
		const lease = 300 * time.Millisecond
		first, err := take(db, instance{id: "1", name: "a", peer: "a:1"}, newLife(lease), nil)
		must(t, err)
		waiting := newLife(lease)
		taken := make(chan *log, 1)
		stop := make(chan struct{})
		go func() {
			l, err := take(db, instance{id: "2", name: "b"}, waiting, stop)
			if err != nil && !errors.Is(err, ErrStopped) {
				t.Errorf("taking the log: %v", err)
			}
			taken <- l
		}()
		var owner *Owner
		for deadline := time.Now().Add(time.Minute); owner == nil; owner = waiting.owner.Load() {
			if time.Now().After(deadline) {
				t.Fatal("no owner is known")
			}
			time.Sleep(time.Millisecond)
		}
		if owner.Name != "a" || owner.Peer != "a:1" {
			t.Errorf("the owner is %s at %q", owner.Name, owner.Peer)
		}
		select {
		case <-owner.Gone():
			t.Error("an owner that decides is said to be gone")
		default:
		}
		must(t, first.Close())
		<-owner.Gone()
		second := <-taken
		if waiting.owner.Load() != nil {
			t.Error("who decides itself waits for another one")
		}
		must(t, second.Close())
	})
}
