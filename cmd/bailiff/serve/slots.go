package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"bailiff/httpd"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/retention"
)

// fitsSlots refuses settings with which an instance can't share a store of several slots.
func (r *service) fitsSlots() error {
	s := r.settings
	if s.PeerListen == "" || s.PeerCert == "" {
		return errors.New("SVC_STORE has several slots, and instances ask each other about their keys; set SVC_PEER_LISTEN, SVC_PEER_CERT, SVC_PEER_KEY and SVC_PEER_CA")
	}
	return nil
}

// openSlots opens the ledger over the slots of the store that are this instance's share, as they come.
func (r *service) openSlots(errorf func(format string, arguments ...any)) error {
	many, err := r.store.Share(slots.Options{
		Commit: commit.Options{Random: r.calls.Random, Logger: errorf, Observer: r.metrics, Clock: r.calls.Clock, Go: r.calls.Go},
		Remote: r.peers.passing.Ask, Log: r.log, Timers: r.calls.Timers, Go: r.calls.Go, Opened: r.slotOpened,
		// The decider is there before the first slot comes.
		Bound:    func(_ int, bound ledger.BoundDefault) { r.decider.DefaultBound(bound) },
		Refused:  func(err error) error { return r.decider.DefaultRefused(err) },
		Replaced: r.fails,
	})
	if err != nil {
		return err
	}
	r.sharing.Store(true)
	r.ledger, r.confirm, r.many = many, many, many
	return nil
}

// drainPatience is how long an instance that ends keeps its slots for requests that are under way. Those that come meanwhile, by other
// instances, wait.
const drainPatience = 2 * time.Second

// drain ends what clients ask for. The slots are handed over when that is done, or takes long: requests go on at the instances that have
// them next.
func (r *service) drain(ctx context.Context) error {
	if r.many == nil {
		return shutDown(ctx, r.clients)
	}
	late := time.AfterFunc(drainPatience, r.endStore)
	defer late.Stop()
	return shutDown(ctx, r.clients)
}

// instanceOf is the instance that has a slot that is not here.
func (r *service) instanceOf(slot int) httpd.Instance {
	owner := r.store.OwnerOf(slot)
	if owner == nil {
		return httpd.Instance{}
	}
	return httpd.Instance{Name: owner.Name, Peer: owner.Peer, Gone: owner.Gone()}
}

// pagesAt returns the name of the instance that has the pages whose sessions are in memory, "" where this one has.
func (r *service) pagesAt() string {
	if r.many == nil {
		return ""
	}
	if stay, here := r.many.Enter(0); here {
		stay.Leave()
		return ""
	}
	if at := r.instanceOf(0); at.Name != "" {
		return at.Name
	}
	return "that has slot 0, which none has at the moment"
}

// slotOpened holds the log of a slot that has come against the checkpoint that this instance keeps of it, if it had the slot before. Where
// records are missing the instance ends, as one with a log of its own does.
func (r *service) slotOpened(slot int, l *commit.Ledger) error {
	if r.proof.none {
		return nil
	}
	if _, err := retention.VerifyBeginning(l.Beginning(), r.signer.CheckpointVerifier()); err != nil {
		return err
	}
	head, err := l.Head(context.Background())
	if err != nil {
		return err
	}
	err = r.compare(r.settings.SlotCheckpointPath(slot), head)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("slot %d: %w", slot, err)
		r.fails(err)
	}
	return err
}

// fails has the service end.
func (r *service) fails(err error) {
	select {
	case r.failed <- err:
	default: // it ends already
	}
}

// keepSlotCheckpoints signs how far the logs have come of the slots that are here.
func (r *service) keepSlotCheckpoints(ctx context.Context) error {
	heads := map[int]ledger.Head{}
	err := r.many.Here(func(slot int, l *commit.Ledger) error {
		if err := l.Flush(ctx); err != nil {
			return nil //nolint:nilerr // it is being lost, which is said elsewhere
		}
		if head, err := l.Head(ctx); err == nil && head.LSN > 0 {
			heads[slot] = head
		}
		return nil
	})
	if err != nil {
		return err
	}
	now := r.clock()
	for slot, head := range heads {
		if r.signedSlots[slot] == head {
			continue
		}
		signed, err := r.signer.SignCheckpoint(attest.Checkpoint{Stream: head.Stream, LSN: head.LSN, Hash: head.Hash, At: now})
		if err == nil {
			err = atomicfile.ReplacePrivate(r.settings.SlotCheckpointPath(slot), signed)
		}
		if err != nil {
			return fmt.Errorf("slot %d: %w", slot, err)
		}
		r.signedSlots[slot] = head
	}
	r.checkpointed.Store(now.UnixNano())
	return r.recordSigner()
}

// perSlotEvery is how often it is looked for slots that have come, or are gone.
const perSlotEvery = time.Second

// perSlot runs a task with the log of each slot, as long as it is here.
func (r *service) perSlot(task func(ctx context.Context, slot int, log ledger.Log) error) func(context.Context) error {
	type running struct {
		of     *commit.Ledger
		cancel context.CancelFunc
		done   chan struct{}
	}
	return func(ctx context.Context) error {
		all := map[int]*running{}
		look := func(ctx context.Context) error {
			here := map[int]*commit.Ledger{}
			_ = r.many.Here(func(slot int, l *commit.Ledger) error { here[slot] = l; return nil }) // there is no error
			for slot, one := range all {
				select {
				case <-one.done:
					delete(all, slot)
				default:
					if here[slot] != one.of {
						one.cancel()
					}
				}
			}
			for slot, l := range here {
				if all[slot] != nil {
					continue
				}
				own, cancel := context.WithCancel(ctx)
				one := &running{l, cancel, make(chan struct{})}
				all[slot] = one
				r.calls.Go(func() {
					defer close(one.done)
					defer cancel()
					if err := task(own, slot, l); err != nil && own.Err() == nil {
						r.log.Warn("work on a slot's log has to be begun again", "slot", slot, "error", err)
					}
				})
			}
			return nil
		}
		err := every(perSlotEvery, look)(ctx)
		for _, one := range all {
			one.cancel()
			<-one.done
		}
		return err
	}
}

// dropped returns how many records retention has dropped of the logs that are here.
func (r *service) dropped() (n uint64) {
	if r.many == nil {
		return r.ledger.Beginning().After.LSN
	}
	_ = r.many.Here(func(_ int, l *commit.Ledger) error { n += l.Beginning().After.LSN; return nil }) // there is no error
	return n
}

// checkSlots finds that this instance can't decide, or can't know which one does. That a slot is nowhere, as while another instance takes it, is no
// reason to send requests to another one: none of them has it.
func (r *service) checkSlots() httpd.Check {
	check := httpd.Check{Name: "ledger"}
	if err := r.many.GivenUp(); err != nil {
		check.Reason = "this instance has given up its slots; the log says why"
		return check
	}
	if silent := r.store.Silent(); silent > 2*time.Duration(r.settings.StoreLease) {
		check.Reason = "the database does not answer"
		return check
	}
	here, lost := 0, 0
	for slot := range r.many.Slots() {
		if stay, ok := r.many.Enter(slot); ok {
			stay.Leave()
			here++
		} else if owner := r.instanceOf(slot); owner.Gone == nil || owner.Peer == "" {
			lost++
		}
	}
	r.lost.Store(int64(lost))
	r.found = r.found || lost == 0
	check.Ready, check.Reason = r.found, fmt.Sprintf("%d of %d slots are here, and the others at instances that are known", here, r.many.Slots())
	if lost > 0 {
		check.Reason = fmt.Sprintf("no instance is known that has %d of %d slots", lost, r.many.Slots())
	}
	return check
}

// watchPeers asks the instances that have slots, again and again, whether they can be reached.
func (r *service) watchPeers(ctx context.Context) error {
	known, reached := map[string]bool{}, 0
	for slot := range r.many.Slots() {
		to := r.instanceOf(slot)
		if to.Gone == nil || to.Peer == "" || known[to.Name+" "+to.Peer] {
			continue
		}
		known[to.Name+" "+to.Peer] = true
		if _, err := r.askPath(ctx, to, "/healthz"); err == nil {
			reached++
		}
	}
	if len(known) < 2 || reached > 0 {
		r.peers.alone.Store(0)
		return nil
	}
	r.peers.alone.Add(1)
	return nil
}

// checkPeers finds that this instance can reach no other one, of which there are at least two: they can reach each other.
func (r *service) checkPeers() httpd.Check {
	patience := 2*time.Duration(r.settings.StoreLease) + standbyPatience
	if time.Duration(r.peers.alone.Load())*askPeerEvery > patience {
		return httpd.Check{Name: "peers", Reason: "no other instance can be reached, so that keys of their slots are refused here"}
	}
	return httpd.Check{Name: "peers", Ready: true, Reason: "other instances can be reached, or there are none"}
}
