package state

import (
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/pins"
	"bailiff/vm/amount"
)

// What the state of busy has. Its times are from its now.
var (
	busyKey, revokedKey                           = ledger.ID{1}, ledger.ID{2}
	pendingHold, allowedHold, resolvedHold        = ledger.ID{0x11}, ledger.ID{0x12}, ledger.ID{0x13}
	hookOfAll, hookDisabled, hookOfDenied         = ledger.ID{0x21}, ledger.ID{0x22}, ledger.ID{0x23}
	usedToken, usedActivation                     = ledger.ID{0x31}, [32]byte{0x32}
	unknownID                                     = ledger.ID{0x99}
	operatorBefore, operatorNow                   = [32]byte{1}, [32]byte{2}
	busyCounter                                   = ledger.Counter{Limit: "n", Window: ledger.Day}
	holdEnds                                      = hour
	busyMonth                                     = monthOf(100 * day)
	allowedEnding, deniedEnding                   = ledger.Ending{Decision: ledger.Allowed}, ledger.Ending{Decision: ledger.Denied}
	busyEpoch                              uint64 = 2
)

// busy is a state with one of everything that a record can be about.
func busy(t *testing.T) *crowd {
	c := newCrowd(t, 8)
	c.apply(c.opens(pendingHold))
	c.apply(c.opens(allowedHold))
	c.apply(c.opens(resolvedHold))
	c.apply(c.resolves(allowedHold, ledger.HoldAllowed))
	c.apply(c.resolves(resolvedHold, ledger.HoldRefused))
	for _, w := range []ledger.Webhook{{ID: hookOfAll, Topics: ledger.AllTopics}, {ID: hookDisabled, Topics: ledger.AllTopics}, {ID: hookOfDenied, Topics: ledger.IntentDenied}} {
		c.apply(c.hooks(w))
	}
	decided := c.decision()
	decided.Outbox = []OutboxEffect{{Webhook: hookOfAll}, {Webhook: hookDisabled}}
	decided.Counters = []CounterEffect{{Counter: busyCounter, Value: amount.FromUint64(5)}}
	decided.Usage = ledger.Usage{Month: busyMonth, Count: 1}
	c.apply(decided)
	c.apply(c.settles(hookDisabled, c.lsn, DeliveryDisables))
	c.apply(c.uses(usedToken))
	c.apply(c.deploys(1, usedActivation))
	c.apply(Record{Kind: ledger.OperatorRotated, Now: c.now, Rotation: &ledger.Rotation{From: operatorBefore, To: operatorNow, At: c.now}})
	c.apply(Record{Kind: ledger.KeyCreated, Key: revokedKey, Now: c.now, Created: ledger.Key{ID: revokedKey, Hash: [32]byte{2}, Epoch: 1}})
	c.apply(Record{Kind: ledger.KeyWasRevoked, Key: revokedKey, Now: c.now, Epoch: busyEpoch})
	return c
}

func (c *crowd) of(kind ledger.Kind) Record { return Record{Kind: kind, Key: busyKey, Now: c.now} }

func (c *crowd) decision() Record {
	r := c.of(ledger.Decided)
	r.Result, r.Ending = ledger.Passed, allowedEnding
	return r
}

func (c *crowd) holds(action HoldAction, id ledger.ID) Record {
	r := c.decision()
	r.Hold = HoldEffect{Action: action, ID: id}
	return r
}

func (c *crowd) opens(id ledger.ID) Record {
	r := c.holds(HoldOpened, id)
	r.Hold.Version, r.Hold.Expires, r.Hold.IntentHash = ledger.IntentHashVersion, c.now+holdEnds, [32]byte{id[0]}
	return r
}

func (c *crowd) resolves(id ledger.ID, to ledger.HoldState) Record {
	r := c.of(ledger.HoldResolved)
	r.Hold = HoldEffect{ID: id, State: to}
	return r
}

func (c *crowd) approves(id ledger.ID) Record {
	r := c.of(ledger.HoldApproved)
	r.Hold.ID, r.Note, r.Approval = id, "n", &ledger.Approval{Name: "alice", Credential: []byte("c"), Summary: "s", Signature: []byte("s")}
	return r
}

func (c *crowd) expires(id ledger.ID) Record {
	r := c.of(ledger.HoldExpired)
	r.Now, r.Hold.ID = c.now+holdEnds, id
	return r
}

func (c *crowd) hooks(w ledger.Webhook) Record {
	r := c.of(ledger.WebhookCreated)
	w.Key, w.URL, w.Secret, w.Created = busyKey, "https://example.com", []byte("secret"), c.now
	r.Webhook = &w
	return r
}

func (c *crowd) changesHook(kind ledger.Kind, id ledger.ID) Record {
	r := c.of(kind)
	r.Webhook = &ledger.Webhook{ID: id, Key: busyKey}
	return r
}

func (c *crowd) settles(id ledger.ID, lsn uint64, action SettleAction) Record {
	r := c.changesHook(ledger.DeliverySettled, id)
	r.Settled = SettleEffect{LSN: lsn, Action: action}
	return r
}

func (c *crowd) uses(token ledger.ID) Record {
	r := c.of(ledger.AttestationUsed)
	r.Token, r.Expires = token, c.now+1
	return r
}

func (c *crowd) deploys(epoch uint64, activation [32]byte) Record {
	r := c.of(ledger.PolicyBound)
	r.Epoch, r.Deployed = epoch+1, &DeployEffect{Operator: operatorNow, Text: []byte("t"), Program: []byte("p"), Activation: &ledger.Activation{ID: activation, Expires: c.now + 1}}
	return r
}

func (c *crowd) halts(kind ledger.Kind) Record {
	r := c.of(kind)
	if kind == ledger.ServiceFrozen {
		r.Key = ledger.ID{}
	}
	r.Epoch, r.Halt = busyEpoch+1, &ledger.Halt{Key: r.Key, Stop: kind != ledger.KeyResumed, At: c.now}
	return r
}

func (c *crowd) pins(change ledger.PinChange) Record {
	r := c.of(ledger.PinsChanged)
	r.Pins = &pins.Effect{Server: "s", Tools: []pins.ToolEffect{{Tool: "t", Change: change, Definition: []byte("{}")}}}
	return r
}

// whole is a record about the whole store.
func (c *crowd) whole(kind ledger.Kind) Record {
	return Record{
		Kind: kind, Now: c.now, Default: &DefaultEffect{PolicyHash: [32]byte{1}}, Restored: &ledger.Restoration{At: c.now},
		Rotation: &ledger.Rotation{From: operatorNow, To: [32]byte{3}, At: c.now}, Drop: &ledger.Drop{At: c.now, Through: ledger.Head{LSN: c.lsn}},
		Approver: statementOf(1, "alice", "c"), Halt: &ledger.Halt{Stop: true, At: c.now}, Slots: 2,
	}
}

// told is a decision that webhooks are told of.
func (c *crowd) told(hooks ...ledger.ID) Record {
	r := c.decision()
	for _, id := range hooks {
		r.Outbox = append(r.Outbox, OutboxEffect{Webhook: id})
	}
	return r
}

// A refusal is a record that can follow in the state of busy, and what makes of it one that can't.
type refusal struct {
	name  string
	good  func(*crowd) Record
	spoil func(*Record)
}

func id(r func(*Record) *ledger.ID, to ledger.ID) func(*Record) {
	return func(record *Record) { *r(record) = to }
}

func recordKey(r *Record) *ledger.ID  { return &r.Key }
func recordHold(r *Record) *ledger.ID { return &r.Hold.ID }
func recordHook(r *Record) *ledger.ID { return &r.Webhook.ID }

// later moves the time of a record.
func later(by int64) func(*Record) { return func(r *Record) { r.Now += by } }

// epochs moves the epoch of a record.
func epochs(by uint64) func(*Record) { return func(r *Record) { r.Epoch += by } }

var decisionRefusals = []refusal{
	{"a decision of an unknown kind", (*crowd).decision, func(r *Record) { r.Kind = 255 }},
	{"a decision of no key", (*crowd).decision, id(recordKey, unknownID)},
	{"a decision of a revoked key", (*crowd).decision, id(recordKey, revokedKey)},
	{"a decision before the last", (*crowd).decision, later(-1)},
	{"a counter that stays", counts, func(r *Record) { r.Counters[0].Value = amount.FromUint64(5) }},
	{"a counter that falls", counts, func(r *Record) { r.Counters[0].Value = amount.FromUint64(4) }},
	{"a group that makes room and is not idle", counts, func(r *Record) { r.Forgets = 1 }},
	{"usage that skips one", used, func(r *Record) { r.Usage.Count++ }},
	{"usage that stays", used, func(r *Record) { r.Usage.Count-- }},
	{"usage of a month before", used, func(r *Record) { r.Usage = ledger.Usage{Month: busyMonth - 1, Count: 1} }},
	{"a replay of a denial", replays, func(r *Record) { r.Ending = deniedEnding }},
	{"told a webhook that is not there", tells, func(r *Record) { r.Outbox[0].Webhook = unknownID }},
	{"told a disabled webhook", tells, func(r *Record) { r.Outbox[0].Webhook = hookDisabled }},
	{"told a webhook of other topics", tells, func(r *Record) { r.Outbox[0].Webhook = hookOfDenied }},
	{"told a webhook twice", tells, func(r *Record) { r.Outbox = append(r.Outbox, r.Outbox[0]) }},
}

func counts(c *crowd) Record {
	r := c.decision()
	r.Counters = []CounterEffect{{Counter: busyCounter, Value: amount.FromUint64(6)}}
	return r
}

func used(c *crowd) Record {
	r := c.decision()
	r.Usage = ledger.Usage{Month: busyMonth, Count: 2}
	return r
}

func replays(c *crowd) Record {
	r := c.decision()
	r.Replay = &ledger.Replay{ID: [32]byte{1}, Expires: c.now + int64(ledger.ReplayLife), Claims: []byte("{}")}
	return r
}

func tells(c *crowd) Record { return c.told(hookOfAll) }

var holdRefusals = []refusal{
	{"a hold that is born expired", opensAnother, func(r *Record) { r.Hold.Expires = r.Now }},
	{"a hold that is there", opensAnother, id(recordHold, pendingHold)},
	{"a pending hold that is used up", usesUp, id(recordHold, pendingHold)},
	{"a denied hold that is used up", usesUp, id(recordHold, resolvedHold)},
	{"an unknown hold that is used up", usesUp, id(recordHold, unknownID)},
	{"an expired hold that is used up", usesUp, later(holdEnds)},
	{"an unknown hold that is found", finds, id(recordHold, unknownID)},
	{"a resolved hold that is resolved", resolvesPending, id(recordHold, resolvedHold)},
	{"an unknown hold that is resolved", resolvesPending, id(recordHold, unknownID)},
	{"an expired hold that is resolved", resolvesPending, later(holdEnds)},
	{"a resolved hold that is approved", approvesPending, id(recordHold, resolvedHold)},
	{"an unknown hold that is approved", approvesPending, id(recordHold, unknownID)},
	{"an expired hold that is approved", approvesPending, later(holdEnds)},
	{"a hold that expires early", expiresPending, later(-1)},
	{"an allowed hold that expires while pending", expiresPending, id(recordHold, allowedHold)},
	{"an unknown hold that expires", expiresPending, id(recordHold, unknownID)},
}

func opensAnother(c *crowd) Record    { return c.opens(ledger.ID{0x14}) }
func usesUp(c *crowd) Record          { return c.holds(HoldUsedUp, allowedHold) }
func finds(c *crowd) Record           { return c.holds(HoldFound, pendingHold) }
func resolvesPending(c *crowd) Record { return c.resolves(pendingHold, ledger.HoldAllowed) }
func approvesPending(c *crowd) Record { return c.approves(pendingHold) }
func expiresPending(c *crowd) Record  { return c.expires(pendingHold) }

var keyRefusals = []refusal{
	{"a key that is there", createsKey, id(recordKey, busyKey)},
	{"a key with the hash of another", createsKey, func(r *Record) { r.Created.Hash = [32]byte{2} }},
	{"a revocation of the epoch that is", revokesKey, epochs(^uint64(0))},
	{"a revocation that skips an epoch", revokesKey, epochs(1)},
	{"a revocation of a revoked key", revokesKey, id(recordKey, revokedKey)},
	{"a change of a revoked key", changesKey, id(recordKey, revokedKey)},
	{"a policy of the epoch that is", deploysAnother, epochs(^uint64(0))},
	{"a policy that skips an epoch", deploysAnother, epochs(1)},
	{"a policy of a revoked key", deploysAnother, id(recordKey, revokedKey)},
	{"an activation that was used", deploysAnother, func(r *Record) { r.Deployed.Activation.ID = usedActivation }},
	{"an activation that has expired", deploysAnother, func(r *Record) { r.Deployed.Activation.Expires = r.Now }},
	{"an attestation that was used", usesToken, func(r *Record) { r.Token = usedToken }},
	{"an attestation that has expired", usesToken, func(r *Record) { r.Expires = r.Now }},
	{"an attestation of a revoked key", usesToken, id(recordKey, revokedKey)},
	{"a halt of the epoch that is", suspends, epochs(^uint64(0))},
	{"a halt that skips an epoch", suspends, epochs(1)},
	{"a halt of a revoked key", suspends, id(recordKey, revokedKey)},
	{"an end of a halt of a revoked key", resumes, id(recordKey, revokedKey)},
	{"pins of a revoked key", pinsTool, id(recordKey, revokedKey)},
	{"a tool that changes and is not pinned", pinsTool, func(r *Record) { r.Pins.Tools[0].Change = ledger.ToolChanged }},
}

func createsKey(c *crowd) Record {
	return Record{Kind: ledger.KeyCreated, Key: ledger.ID{3}, Now: c.now, Created: ledger.Key{ID: ledger.ID{3}, Hash: [32]byte{3}}}
}

func revokesKey(c *crowd) Record {
	r := c.of(ledger.KeyWasRevoked)
	r.Epoch = busyEpoch + 1
	return r
}

func changesKey(c *crowd) Record     { return c.of(ledger.KeyChanged) }
func deploysAnother(c *crowd) Record { return c.deploys(busyEpoch, [32]byte{0x33}) }
func usesToken(c *crowd) Record      { return c.uses(ledger.ID{0x34}) }
func suspends(c *crowd) Record       { return c.halts(ledger.KeySuspended) }
func resumes(c *crowd) Record        { return c.halts(ledger.KeyResumed) }
func pinsTool(c *crowd) Record       { return c.pins(ledger.ToolPinned) }

var webhookRefusals = []refusal{
	{"a webhook that is there", createsHook, id(recordHook, hookOfAll)},
	{"a webhook of a revoked key", createsHook, id(recordKey, revokedKey)},
	{"an unknown webhook that is removed", removesHook, id(recordHook, unknownID)},
	{"an enabled webhook that is enabled", enablesHook, id(recordHook, hookOfAll)},
	{"an unknown webhook that is enabled", enablesHook, id(recordHook, unknownID)},
	{"a webhook of a revoked key that is enabled", enablesHook, id(recordKey, revokedKey)},
	{"an unknown webhook's delivery", delivers, id(recordHook, unknownID)},
	{"a delivery of another event", delivers, func(r *Record) { r.Settled.LSN++ }},
	{"an attempt that stays the first", triesAgain, func(r *Record) { r.Settled.Attempts = 0 }},
	{"an attempt that skips one", triesAgain, func(r *Record) { r.Settled.Attempts = 2 }},
	{"a webhook that is disabled before the last", disables, later(-1)},
}

// toldAt is the record of which hookOfAll is told in the state of busy.
const toldAt = 10

func createsHook(c *crowd) Record { return c.hooks(ledger.Webhook{ID: ledger.ID{0x24}, Topics: 1}) }
func removesHook(c *crowd) Record { return c.changesHook(ledger.WebhookRemoved, hookOfAll) }
func enablesHook(c *crowd) Record { return c.changesHook(ledger.WebhookEnabled, hookDisabled) }
func disables(c *crowd) Record    { return c.settles(hookOfAll, toldAt, DeliveryDisables) }

// delivers is timeless: it may be before the last change of its key.
func delivers(c *crowd) Record {
	r := c.settles(hookOfAll, toldAt, DeliveryDone)
	r.Now--
	return r
}

func triesAgain(c *crowd) Record {
	r := c.settles(hookOfAll, toldAt, DeliveryAgain)
	r.Settled.Attempts, r.Settled.Next = 1, c.now
	return r
}

var storeRefusals = []refusal{
	{"a default policy of a key", of(ledger.DefaultBound), id(recordKey, busyKey)},
	{"a clock of a key", of(ledger.ClockSet), id(recordKey, busyKey)},
	{"a restore of a key", of(ledger.ServiceRestored), id(recordKey, busyKey)},
	{"a rotation of a key", of(ledger.OperatorRotated), id(recordKey, busyKey)},
	{"a rotation from a key of before", of(ledger.OperatorRotated), func(r *Record) { r.Rotation.From = operatorBefore }},
	{"a drop of a key", of(ledger.EventsDropped), id(recordKey, busyKey)},
	{"a division of a key", of(ledger.StoreDivided), id(recordKey, busyKey)},
	{"a joining of a key", of(ledger.StoreJoined), id(recordKey, busyKey)},
	{"a drop of itself", of(ledger.EventsDropped), func(r *Record) { r.Drop.Through.LSN++ }},
	{"an approver of a key", of(ledger.ApproverConfirmed), id(recordKey, busyKey)},
	{"a freeze of a key", of(ledger.ServiceFrozen), func(r *Record) { r.Key, r.Epoch = busyKey, busyEpoch+1 }},
	{"a malformed request of no key", func(c *crowd) Record { r := c.of(ledger.RequestMalformed); r.Now--; return r }, id(recordKey, unknownID)},
}

func of(kind ledger.Kind) func(*crowd) Record {
	return func(c *crowd) Record { return c.whole(kind) }
}

// TestApplyRefuses: a record that cannot follow is refused, one that can is not.
func TestApplyRefuses(t *testing.T) {
	for _, refusals := range [][]refusal{decisionRefusals, holdRefusals, keyRefusals, webhookRefusals, storeRefusals} {
		for _, refused := range refusals {
			c := busy(t)
			r := refused.good(c)
			if err := c.s.Apply(c.lsn+1, &r); err != nil {
				t.Errorf("%s: without that it is refused: %v", refused.name, err)
			}
			c = busy(t)
			r = refused.good(c)
			refused.spoil(&r)
			if err := c.s.Apply(c.lsn+1, &r); err == nil {
				t.Errorf("%s is applied", refused.name)
			}
		}
	}
}
