package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bailiff/runtime/ledger"
)

// A hold is what memory keeps of a hold; its body stays in the log, at lsn.
type hold struct {
	intent    holdIntent
	fee       ledger.Fee
	created   int64
	expires   int64
	resolved  int64
	lsn       uint64
	version   uint64 // of the intent hash
	state     ledger.HoldState
	approvals []heldApproval // while it waits for another approver
	note      string         // of who resolved it
}

// A heldApproval is an approval of a hold that waits for another approver.
type heldApproval struct {
	name, credential string
	serial           uint64 // of the statement that confirmed the device
	note             string
}

// A holdIntent is what a hold is found again by, within its key.
type holdIntent struct{ intentHash, policyHash [32]byte }

// A holdTable has the holds of one key. Expired ones may stay in it until they are swept.
type holdTable struct {
	byID       map[ledger.ID]hold
	byIntent   map[holdIntent][]ledger.ID // the holds of each intent, in the order of the log
	pending    int                        // of byID, expired ones included
	nextExpiry int64                      // none expires before
}

// find returns the hold that decides on an intent with a fee. Only those count that cover the fee and are neither used nor
// expired: the latest that an operator has allowed, or, where there is none, the latest.
func (t *holdTable) find(intent holdIntent, fee ledger.Fee, now int64) (latest ledger.ID, found hold, ok bool) {
	for _, id := range slices.Backward(t.byIntent[intent]) {
		h := t.byID[id]
		switch {
		case now >= h.expires || h.state == ledger.HoldUsed || !h.fee.Covers(fee):
		case h.state == ledger.HoldAllowed:
			return id, h, true
		case !ok:
			latest, found, ok = id, h, true
		}
	}
	return latest, found, ok
}

// open returns the number of unexpired pending holds.
func (t *holdTable) open(now int64) int {
	if t.pending < ledger.MaxOpenHolds || now < t.nextExpiry {
		return t.pending
	}
	open := 0
	for _, h := range t.byID {
		if h.state == ledger.HoldPending && now < h.expires {
			open++
		}
	}
	return open
}

// apply does what a decision does to holds.
func (t *holdTable) apply(lsn uint64, r *Record) error {
	switch r.Hold.Action {
	case HoldOpened:
		return t.add(lsn, r)
	case HoldUsedUp:
		h, ok := t.byID[r.Hold.ID]
		if !ok || h.state != ledger.HoldAllowed || r.Now >= h.expires {
			return fmt.Errorf("hold %s cannot be used up", r.Hold.ID)
		}
		h.state = ledger.HoldUsed
		t.byID[r.Hold.ID] = h
	case HoldFound:
		if _, ok := t.byID[r.Hold.ID]; !ok {
			return fmt.Errorf("hold %s does not exist", r.Hold.ID)
		}
	}
	return nil
}

func (t *holdTable) add(lsn uint64, r *Record) error {
	t.sweep(r.Now)
	e := &r.Hold
	if _, taken := t.byID[e.ID]; taken || r.Now >= e.Expires {
		return fmt.Errorf("hold %s exists already or is born expired", e.ID)
	}
	intent := holdIntent{e.IntentHash, e.PolicyHash}
	t.byID[e.ID] = hold{intent: intent, fee: e.Fee, created: r.Now, expires: e.Expires, lsn: lsn, version: e.Version, state: ledger.HoldPending}
	t.byIntent[intent] = append(t.byIntent[intent], e.ID)
	t.pending++
	t.nextExpiry = min(t.nextExpiry, e.Expires)
	if t.pending > ledger.MaxOpenHolds {
		return fmt.Errorf("more than %d open holds", ledger.MaxOpenHolds)
	}
	return nil
}

func (s *State) applyResolved(k *keyState, _ uint64, r *Record) error {
	s.expiring.remove(holdRef{r.Key, r.Hold.ID})
	return k.holds.resolve(r)
}

// resolve applies an operator's decision.
func (t *holdTable) resolve(r *Record) error {
	h, ok := t.byID[r.Hold.ID]
	if !ok || h.state != ledger.HoldPending || r.Now >= h.expires {
		return fmt.Errorf("hold %s cannot be resolved", r.Hold.ID)
	}
	h.state, h.resolved, h.approvals, h.note = r.Hold.State, r.Now, nil, strings.Clone(r.Note)
	t.byID[r.Hold.ID] = h
	t.pending--
	return nil
}

// sweep forgets expired holds.
func (t *holdTable) sweep(now int64) {
	if t.byID == nil {
		t.byID, t.byIntent, t.nextExpiry = map[ledger.ID]hold{}, map[holdIntent][]ledger.ID{}, never
	}
	if now < t.nextExpiry {
		return
	}
	t.nextExpiry = never
	for id, h := range t.byID {
		if now < h.expires {
			t.nextExpiry = min(t.nextExpiry, h.expires)
			continue
		}
		t.forget(id, h)
	}
}

func (t *holdTable) forget(id ledger.ID, h hold) {
	delete(t.byID, id)
	others := slices.DeleteFunc(t.byIntent[h.intent], func(other ledger.ID) bool { return other == id })
	if t.byIntent[h.intent] = others; len(others) == 0 {
		delete(t.byIntent, h.intent)
	}
	if h.state == ledger.HoldPending {
		t.pending--
	}
}

// ResolveHold fills in the record of an operator's decision, or returns why there is none.
func (s *State) ResolveHold(q *ledger.Resolution, r *Record) error {
	r.reset()
	if err := q.Validate(); err != nil {
		return err
	}
	k := s.keys[q.Key]
	if k == nil {
		return fmt.Errorf("%w: hold %s", ledger.ErrNotFound, q.Hold)
	}
	if err := s.staleOperator(q.Operator); err != nil {
		return err
	}
	now := max(k.now, q.At)
	h, ok := k.holds.byID[q.Hold]
	switch {
	case s.stops(k):
		return fmt.Errorf("%w: hold %s", ledger.ErrHalted, q.Hold)
	case !ok || now >= h.expires:
		return fmt.Errorf("%w: hold %s", ledger.ErrNotFound, q.Hold)
	case h.state != ledger.HoldPending:
		return fmt.Errorf("%w: %s", ledger.ErrHoldResolved, q.Hold)
	}
	r.Kind, r.Key, r.Now = ledger.HoldResolved, q.Key, now
	r.Hold = HoldEffect{ID: q.Hold, State: ledger.HoldRefused}
	if q.Allow {
		r.Hold.State = ledger.HoldAllowed
	}
	r.Note = q.Note
	if q.Approval != nil {
		if err := s.approve(&h, q, now, r); err != nil {
			r.reset()
			return err
		}
	} else {
		r.Resolved, r.Signature = q.Resolved, q.Signature
	}
	k.tell(r)
	return nil
}

// Hold returns an unexpired hold of key without its body, and the LSN of the record that has the body.
func (s *State) Hold(key, id ledger.ID, at int64) (view ledger.Hold, lsn uint64, ok bool) {
	k := s.keys[key]
	if k == nil {
		return view, 0, false
	}
	h, ok := k.holds.byID[id]
	if !ok || max(k.now, at) >= h.expires {
		return view, 0, false
	}
	view = h.view(key, id)
	view.Approvers = s.approvedBy(&h, max(k.now, at))
	return view, h.lsn, true
}

// Holds returns the unexpired holds of key without their bodies, in the order of the log, and the LSNs of the
// records that have the bodies.
func (s *State) Holds(key ledger.ID, at int64) (views []ledger.Hold, lsns []uint64) {
	k := s.keys[key]
	if k == nil {
		return nil, nil
	}
	byLSN := map[uint64]ledger.Hold{}
	for id, h := range k.holds.byID {
		if max(k.now, at) < h.expires {
			byLSN[h.lsn] = h.view(key, id)
			lsns = append(lsns, h.lsn)
		}
	}
	slices.SortFunc(lsns, cmp.Compare[uint64])
	for _, lsn := range lsns {
		views = append(views, byLSN[lsn])
	}
	return views, lsns
}

func (h *hold) view(key, id ledger.ID) ledger.Hold {
	return ledger.Hold{
		ID: id, Key: key, State: h.state, Fee: h.fee,
		IntentHash: h.intent.intentHash, PolicyHash: h.intent.policyHash,
		Created: h.created, Expires: h.expires, Resolved: h.resolved, Note: h.note,
	}
}

// end has the holds expire that are pending, or allowed and not used.
func (t *holdTable) end(at int64) {
	for id, h := range t.byID {
		if h.state != ledger.HoldPending && h.state != ledger.HoldAllowed || h.expires <= at {
			continue
		}
		h.expires = at
		t.byID[id] = h
		t.nextExpiry = min(t.nextExpiry, at)
	}
}

// approvedBy returns which approvers' approvals of a hold count at a time.
func (s *State) approvedBy(h *hold, now int64) (names []string) {
	for _, a := range h.approvals {
		d := s.approvers.decides([]byte(a.credential), now)
		if d != nil && d.Serial == a.serial && !slices.Contains(names, a.name) {
			names = append(names, a.name)
		}
	}
	return names
}

// earlierNote returns the note of an approval of a hold that counts; empty where none has one.
func (s *State) earlierNote(h *hold, now int64) string {
	for _, a := range h.approvals {
		if d := s.approvers.decides([]byte(a.credential), now); d != nil && d.Serial == a.serial && a.note != "" {
			return a.note
		}
	}
	return ""
}

// approve judges an approver's decision about a hold: one denial ends it, and so many approvers as it takes allow it.
func (s *State) approve(h *hold, q *ledger.Resolution, now int64, r *Record) error {
	a := q.Approval
	device := s.approvers.decides(a.Credential, now)
	if device == nil || device.Serial != a.Serial || device.Name != a.Name {
		return fmt.Errorf("%w: its device is unknown, suspended, removed or expired, or was confirmed anew; hold %s", ledger.ErrApprover, q.Hold)
	}
	r.Approval = a
	if !q.Allow {
		return nil
	}
	names := s.approvedBy(h, now)
	again := slices.Contains(names, a.Name)
	if !again {
		names = append(names, a.Name)
	}
	switch waits := len(names) < q.Needed; {
	case waits && again:
		return fmt.Errorf("%w: hold %s waits for another one", ledger.ErrApproved, q.Hold)
	case waits:
		r.Kind, r.Hold.State = ledger.HoldApproved, 0
	case r.Note == "":
		r.Note = s.earlierNote(h, now)
	}
	return nil
}

// applyApproval notes an approval of a hold that waits for another approver.
func (s *State) applyApproval(k *keyState, _ uint64, r *Record) error {
	h, ok := k.holds.byID[r.Hold.ID]
	if !ok || h.state != ledger.HoldPending || r.Now >= h.expires {
		return fmt.Errorf("hold %s cannot be approved", r.Hold.ID)
	}
	h.approvals = append(slices.Clip(h.approvals), heldApproval{strings.Clone(r.Approval.Name), string(r.Approval.Credential), r.Approval.Serial, strings.Clone(r.Note)})
	k.holds.byID[r.Hold.ID] = h
	return nil
}
