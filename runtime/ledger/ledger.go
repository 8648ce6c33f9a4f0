// Package ledger defines the durable state of the service: which API keys exist, how far every limit's counter has
// come, which holds are open, how much was used, and one record of every decision.
//
// The ledger is a log. A caller makes a [Plan] (what to check, what to advance, what to record for each way it
// may end) and submits it. One atomic step carries the plan out or refuses its reservations as a whole, and
// records which; the [Ticket] names the [Outcome] at once and waits, on demand, until the record is durable.
// Nothing may be answered to a client before [Ticket.Wait] has returned nil.
//
// This package has the types and the interface. The meaning of a plan is in ledger/state, a pure package that
// every ledger shares; ledger/commit turns steps into durable groups; ledger/pebble and ledger/memory keep the
// groups; fuzz/ledgertest/suite is the conformance suite that each of them passes.
//
// What every ledger promises:
//
//   - All counters of one plan are checked and advanced in one step. A plan refused by any of them advances none.
//   - A limit is never exceeded under any concurrency, and a counter never falls below what was acknowledged.
//   - Time never runs backwards for a key, except where an operator says so by SetClock: a step's now is the larger of the plan's
//     time and the key's last now.
//   - What was acknowledged survives a crash. What was not is unknown: it may or may not be there afterwards.
//   - Reads that others act on wait until what they show is durable.
//   - An attestation and an activation are used up once, by whichever key, also across restarts.
//   - An event that a webhook subscribes to is delivered at least once, and not before it is durable. If the outbox of its
//     key was full, it is not delivered, and that is counted.
//   - After a failed write everything is refused until the ledger has been opened again.
package ledger

import (
	"context"
	"io"

	"bailiff/vm/amount"
)

// A Ledger decides plans and keeps what came of them. All methods may be called by many goroutines at once.
//
// Methods that return an error return one that wraps [ErrUnavailable] when nothing was recorded because the
// ledger has failed or is closed, and [ErrUnknown] when it is not known whether the record was kept.
//
// Its parts are interfaces of their own, so that a caller can ask for what it needs.
type Ledger interface {
	decider
	keyReader
	keyWriter
	policyStore
	holdStore
	approverStore
	Meter
	attestationStore
	haltStore
	operatorStore
	timeStore
	webhookStore
	Outbox
	pinStore
	EventReader
	// LogOf returns the log that has the records of a key. Where there is one log, that is the ledger's.
	LogOf(key ID) Log
	retainer

	// Flush returns when all that was submitted before is durable: test-runs and results of deliveries too, which otherwise
	// wait for a decision to come along, or for Close.
	Flush(ctx context.Context) error

	// Health returns nil while the ledger works, and otherwise its fault. Some troubles (a full disk
	// in a background flush) are reported here before they stop the ledger.
	Health() error

	// Close makes durable what was submitted, test-runs included, and releases the ledger's resources. Whatever
	// is submitted later is refused with [ErrClosed].
	io.Closer
}

// decider is the part of a [Ledger] that decides plans.
type decider interface {
	// Submit decides p and appends its record to the open group. It does no I/O and takes a microsecond or two.
	// p is only read, and not kept. A plan that cannot be decided (the ledger has failed, or p breaks a bound of
	// this package) has the outcome [Unknown], and its ticket's Wait says why.
	Submit(p *Plan) Ticket

	// Peek returns the outcome that p would have now, and changes nothing. What it sees may not be durable yet.
	// It is [Unknown] where Submit's would be.
	Peek(p *Plan) Outcome

	// Replay returns the decision of a record that the outcome of a plan named as [Replayed]. [ErrNotFound] where the record
	// is of no such decision of the key.
	Replay(ctx context.Context, key ID, lsn uint64) (ReplayedDecision, error)
}

// keyReader is the part of a [Ledger] that knows the API keys as they are durably.
type keyReader interface {
	// LookupKey returns the key whose secret has the SHA-256 hash, as it is durably. Revoked keys are found too.
	// The key is shared and must not be changed. Looking up allocates nothing.
	LookupKey(hash [32]byte) (*Key, bool)

	// LookupKeyID returns the key of an id, as LookupKey does.
	LookupKeyID(id ID) (*Key, bool)

	// Keys returns all keys in the order of their creation, revoked ones included.
	Keys(ctx context.Context) ([]Key, error)
}

// keyWriter is the part of a [Ledger] that creates, changes and revokes API keys.
type keyWriter interface {
	// CreateKey records a new API key and returns when it is durable. [ErrKeyExists] where the id or the hash is
	// taken, [ErrInvalid] where a field is missing or out of bounds. Epoch and Revoked of key must be zero.
	CreateKey(ctx context.Context, key Key) error

	// RevokeKey revokes a key at a time (Unix nanoseconds), moves its epoch, and returns the key as it is then,
	// once that is durable. [ErrNotFound] where there is none, [ErrKeyRevoked] where it was revoked before.
	RevokeKey(ctx context.Context, id ID, at int64) (Key, error)

	// ChangeKey changes a key's tier and scopes and returns it as it is then, once that is durable. [ErrNotFound] where
	// there is none, [ErrKeyRevoked] where it is revoked.
	ChangeKey(ctx context.Context, change KeyChange) (Key, error)
}

// policyStore is the part of a [Ledger] that keeps which policy governs which key.
type policyStore interface {
	// Deploy binds a policy to a key and returns once that is durable; from then on LookupKey shows it. [ErrNotFound],
	// [ErrKeyRevoked], [ErrOperator] where the key is pinned to another operator key, [ErrNotNamed], [ErrSerial],
	// [ErrRollback] where that is refused, [ErrStorage], [ErrUsed] or [ErrExpired] of the activation. A refusal changes nothing, and rests on what is durable.
	Deploy(ctx context.Context, d *Deployment) (Deployed, error)

	// BindDefault records the policy that governs every key without one of its own from now on, and returns once that is
	// durable. [ErrSerial] where one before had a serial and this has none, or none that is higher; the policy in force
	// again is no change.
	BindDefault(ctx context.Context, d *DefaultPolicy) (BoundDefault, error)

	// Policy returns the policy that a key has deployed last, as it was stored. [ErrNotFound] where it has none.
	Policy(ctx context.Context, key ID) (StoredPolicy, error)

	// DeployedPolicy returns the policy of a key that the record of an LSN has deployed. [ErrNotFound] where it has deployed none.
	DeployedPolicy(ctx context.Context, key ID, lsn uint64) (StoredPolicy, error)

	// Deployments returns a key's log of deployments, oldest first.
	Deployments(ctx context.Context, key ID) ([]DeploymentView, error)
}

// holdStore is the part of a [Ledger] that keeps what waits for a person.
type holdStore interface {
	// ResolveHold records an operator's decision about a pending hold and returns the hold as it is then, without its source intent,
	// once that is durable. [ErrNotFound] where the hold is missing, expired or another key's; [ErrHoldResolved] where
	// it has been resolved before. The signature is recorded, not verified here. An approver's is [ErrApprover] where the device may not
	// decide then, and [ErrApproved] where the approver has approved the hold before.
	ResolveHold(ctx context.Context, r Resolution) (Hold, error)

	// Hold returns a hold of key that has not expired at the time at (Unix nanoseconds, or the key's now where
	// that is later), with its source intent. [ErrNotFound] where it is missing, expired or another key's.
	Hold(ctx context.Context, key, id ID, at int64) (Hold, error)

	// Holds returns the unexpired holds of key, oldest first, without their source intents.
	Holds(ctx context.Context, key ID, at int64) ([]Hold, error)

	// OutdatedHolds returns how many pending holds were opened under an older version of the intent hash. They are due,
	// whatever their time.
	OutdatedHolds() (int, error)

	// PendingHolds returns how many holds are pending, those included whose expiry is not recorded yet, and when the one was
	// opened that expires first: Unix nanoseconds, 0 where none is pending. It takes no longer the more there are.
	PendingHolds() (number int, oldest int64, err error)

	// ExpireHolds records the expiry of up to limit pending holds that have expired at a time, and returns how many.
	// A key reads an expired hold as absent whether that is recorded or not; the record is for its webhooks.
	ExpireHolds(ctx context.Context, at int64, limit int) (int, error)
}

// approverStore is the part of a [Ledger] that keeps who may decide holds with a passkey.
type approverStore interface {
	// StateApprover records what an operator has signed about an approver, and returns once that is durable; it is in force then.
	// [ErrStatementSerial] where its serial is not one above that of the statement before, [ErrNotFound] where the approver has no such device,
	// [ErrTooMany] where it has MaxDevices or there are MaxApprovers, [ErrKeyExists] where the credential is another approver's. The
	// signature is recorded, not verified here.
	StateApprover(ctx context.Context, s *ApproverStatement, at int64) error

	// Approvers returns the devices that are not removed, in the order of their confirmation, and the serial of the latest statement.
	Approvers(ctx context.Context) (all []Approver, serial uint64, err error)
}

// Meter is the part of a [Ledger] that says how far counters have come.
type Meter interface {
	// Counter returns how far a counter of key has come in the window that holds the time at.
	Counter(ctx context.Context, key ID, counter Counter, at int64) (amount.Amount, error)

	// CrowdedKeys returns the keys that have CrowdedGroups or more live counter groups at a time.
	CrowdedKeys(at int64) ([]KeyGroups, error)

	// Usage returns the number of ALLOWED decisions of key per UTC month, oldest first.
	Usage(ctx context.Context, key ID) ([]Usage, error)
}

// haltStore is the part of a [Ledger] that stops keys and the service.
type haltStore interface {
	// Halt suspends or resumes a key, or freezes or thaws the service, and returns once that is durable. Plans, uses of attestations,
	// deployments and resolutions that come after it are refused while it stops them: [Stale], [ErrHalted]. [ErrStatementSerial] where a
	// statement's serial is not above that of the one before; [ErrNotFound] and [ErrKeyRevoked] concern the key. A halt of something
	// stopped does nothing.
	Halt(ctx context.Context, h *Halt) error

	// Frozen returns how far the service is stopped. What it shows may not be durable yet.
	Frozen() HaltState
}

// operatorStore is the part of a [Ledger] that knows which keys the service's operator had.
type operatorStore interface {
	// RotateOperator replaces the operator's key and returns once that is durable. From then on nothing is deployed, resolved or
	// stated by an earlier key: [ErrOperator]. [ErrOperator] too where From is not the latest of Operators, if there are any;
	// [ErrStatementSerial] where a statement's serial is not above that of the one before; [ErrTooMany].
	RotateOperator(ctx context.Context, r *Rotation) error

	// Operators returns the keys of the service's operator. What it shows may not be durable yet. They are shared, and must not be
	// changed.
	Operators() Operators
}

// attestationStore is the part of a [Ledger] that uses attestations up.
type attestationStore interface {
	// UseOnce uses up an attestation and returns once that is durable. [ErrUsed], [ErrExpired], [ErrStale] where the
	// key's epoch or the default policy is another than the use's, [ErrKeyRevoked] where the key is revoked or unknown,
	// [ErrHalted] where the key or the service is stopped, or was since the attestation was issued.
	UseOnce(ctx context.Context, u *Use) error
}

// timeStore is the part of a [Ledger] that knows what time it is for keys.
type timeStore interface {
	// Latest returns the latest time of any key's steps: Unix nanoseconds, 0 where there was none.
	Latest(ctx context.Context) (int64, error)

	// SetClock records that the time is at, where a clock that was ahead has been put right, and returns once that is durable.
	// The time of every key that is later goes back to it, and what would end later than its length from then ends sooner.
	// Nothing else lets time run backwards.
	SetClock(ctx context.Context, at int64) error
}

// webhookStore is the part of a [Ledger] that keeps the receivers of keys' events.
type webhookStore interface {
	// CreateWebhook records a receiver. [ErrNotFound] and [ErrKeyRevoked] concern the key; [ErrTooMany] where it has
	// MaxWebhooks; [ErrHalted] where the key or the service is stopped and it is not the operator's.
	CreateWebhook(ctx context.Context, w Webhook) error

	// RemoveWebhook removes a webhook and what waits for it. [ErrNotFound] where it is missing, another key's, or the operator's and
	// another one removes it; [ErrHalted] where the key or the service is stopped and it is not the operator who removes it.
	RemoveWebhook(ctx context.Context, c WebhookChange) error

	// EnableWebhook has a webhook told again of what happens from then on, where it was disabled; otherwise it does
	// nothing. [ErrNotFound] and [ErrHalted] as of RemoveWebhook; [ErrKeyRevoked].
	EnableWebhook(ctx context.Context, c WebhookChange) error

	// Webhooks returns the webhooks of key, oldest first.
	Webhooks(ctx context.Context, key ID) ([]Webhook, error)
}

// Outbox is the part of a [Ledger] that hands out the deliveries to webhooks.
type Outbox interface {
	// Due returns up to limit deliveries that are due at a time, whose events are durable, and that are not among those
	// it returned before without a result: each is handed out once, until SettleDelivery. next is when the earliest
	// other one falls due, 0 where none waits.
	Due(ctx context.Context, at int64, limit int) (due []Delivery, next int64, err error)

	// SettleDelivery records what came of an attempt. It does not wait for the record: where that is lost, the delivery
	// is made again. Where the delivery waits no more (its webhook is gone, or it was settled before) nothing is
	// recorded, and that is no error.
	SettleDelivery(r DeliveryResult) error

	// Has reports whether a delivery that was handed out is this ledger's still. Of several slots one may have left, and its deliveries are
	// handed out where it is.
	Has(d *Delivery) bool

	// Outboxed returns a channel that gets a value after events have become durable for which deliveries wait.
	Outboxed() <-chan struct{}
}

// pinStore is the part of a [Ledger] that keeps which tools of MCP servers are accepted.
type pinStore interface {
	// MeetTools pins those of a server's tools that are not pinned, notes which of the others have changed, and returns once
	// that is durable. What is accepted of a pinned tool stays as it is. [ErrNotFound], [ErrKeyRevoked]; a [*PinError] where
	// the key would pin more than it may, and then nothing is recorded.
	MeetTools(ctx context.Context, l *ToolList) error

	// AcceptTool accepts the definition of a pinned tool that the operator has looked at. [ErrDefinition] where the tool's
	// servers have shown another one since; [ErrNotFound] where it is not pinned; [ErrKeyRevoked].
	AcceptTool(ctx context.Context, d *PinDecision) error

	// ForgetTools gives up the pin of a tool or, where d names none, of all tools of its server. [ErrNotFound], [ErrKeyRevoked].
	ForgetTools(ctx context.Context, d *PinDecision) error

	// Pins returns the pins of key, of one server or, without a name, of all, without texts.
	Pins(ctx context.Context, key ID, server string) ([]Pin, error)

	// Pin returns one pin of key, with its texts. [ErrNotFound] where the tool is not pinned.
	Pin(ctx context.Context, key ID, server, tool string) (Pin, error)
}

// EventReader is the part of a [Ledger] that reads the durable log.
type EventReader interface {
	// Events returns a page of the durable events that a query asks for, in the order of the log.
	Events(ctx context.Context, query EventQuery) (EventPage, error)

	// Head returns the chain's durable end: the stream, the LSN of the last record, and the SHA-256 of the last group.
	Head(ctx context.Context) (Head, error)

	// Path returns the durable groups of the log from the one that has a record, as many as have so many bytes, one at least,
	// after it has followed the chain from there to the log's end. [ErrNotFound] where there is no such durable record, [ErrDropped]
	// where there was.
	Path(ctx context.Context, lsn uint64, most int) (Path, error)

	// Groups returns the durable groups of the log that follow the record after, 0 for the first, as many as have so many bytes, one
	// at least where there are any; and the log's durable end. [ErrDropped] where the log begins later.
	Groups(ctx context.Context, after uint64, most int) (Path, Head, error)
}

// A Log is the durable log of a [Ledger], or the one of a key's slot.
type Log interface {
	EventReader

	// Beginning returns where the log begins; the zero Beginning where nothing was dropped, or the log can't be asked.
	Beginning() Beginning
}

// retainer is the part of a [Ledger] that drops old groups of the log.
type retainer interface {
	// Retain exports the oldest groups, as far as all of their records are old, and then drops them; what is live stays. It takes one
	// bounded pass, and returns nil where there is nothing to drop. Decisions go on meanwhile. [ErrNotRetained] where the log
	// cannot. An error leaves the log whole, or, where its last step has failed, has it opened again.
	Retain(ctx context.Context, q *Retention) (*Drop, error)

	// Beginning returns where the log begins; the zero Beginning where nothing was dropped.
	Beginning() Beginning

	// ReadBase returns up to most bytes of the base of a log that begins after the record of an LSN, from a place on, none at its end; what
	// the log has in place of its first groups; and how large the base is. [ErrNotFound] where the log begins elsewhere.
	ReadBase(of uint64, at int64, most int) (part, group []byte, size int64, err error)
}

// A Head is a place in the log's chain of hashes.
type Head struct {
	Stream [16]byte // id of the log, chosen at random when it was begun
	LSN    uint64   // of the last record up to here; 0 for an empty log
	Hash   [32]byte // SHA-256 of the group that ends there; zeros for an empty log
}

// A Path is consecutive groups of the log as they were written, and the place that they end at.
type Path struct {
	Groups [][]byte
	End    Head
}

// KeyGroups is how many live counter groups a key has.
type KeyGroups struct {
	Key    ID
	Groups int
}

// Bounds of what one key may have, because agents choose names (decisions, sections 2 and 5).
const (
	// MaxGroups is the largest number of live counter groups of a key.
	MaxGroups = 65_536
	// CrowdedGroups is how many live groups of a key its operator is warned of: four fifths of MaxGroups.
	CrowdedGroups = MaxGroups / 5 * 4
	// MaxOpenHolds is the largest number of unexpired pending holds of a key.
	MaxOpenHolds = 1_000
	// MaxSlots is how many slots of keys a store may have.
	MaxSlots = 1024
)
