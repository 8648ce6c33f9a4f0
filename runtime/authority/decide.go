package authority

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"bailiff/compiler"
	"bailiff/runtime/attest"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// maxAttempts bounds how often a plan is made again because the key's epoch moved meanwhile. Each time takes a
// revocation or a deployment of that key within microseconds.
const maxAttempts = 32

// usualTokenBytes is a little more than what most attestations take.
const usualTokenBytes = 7 << 10

// worker is the memory that one decision needs. Workers are pooled; what leaves a decision is copied out of it.
type worker struct {
	decoder *intent.Decoder
	machine vm.Machine
	frame   []vm.Value

	key       *ledger.Key
	policy    *Policy
	in        *intent.Intent
	result    *vm.Result
	bodyBytes int
	asked
	observe   bool // what the policy denies is approved
	observing bool // the service observes; a test-run only says so
	now       time.Time
	plan      ledger.Plan
	hold      ledger.HoldRequest
	reserved  []ledger.Reservation
	seen      []ledger.Sighting
	parts     []ledger.Counter // of the tokens that were seen
	to        *Answer          // the caller's
	source    []byte           // the intent's canonical form, for a hold
	limits    []Headroom       // by counter, for an explanation
	sought    int              // bytes that may still be looked at for the entries of lists that denied
	body      []byte           // the caller's
	replay    ledger.Replay
	claimed   []byte // the claims in replay
	told      told   // of the first violation
	turn      func() // gives back the turn that was taken before the body was decoded; nil for none
}

// asked is what a caller wants.
type asked struct {
	testRun   bool
	explain   bool
	timed     bool
	id        ledger.ID
	requestID string // the caller's memory
	trace     string // the same
	admit     Admitter
}

// Call is what a caller wants of a decision beside its body. Nothing of it is kept.
type Call struct {
	ID        ledger.ID // of the decision, and of nothing else; drawn where it is zero
	TestRun   bool
	Explain   bool   // the answer has an explanation
	RequestID string // that the client gave, recorded with the event; at most ledger.MaxEventText bytes
	Trace     string // a traceparent that tracecontext passes, recorded with the event; or ""
	Timed     bool   // the answer says how long its stages took
	Admit     Admitter
}

// An Admitter has a say before a request that is valid in itself is judged: the limit per key (decisions, section 3,
// "Order").
type Admitter interface {
	// Admit returns nil, or what is answered instead. It is called once a request.
	Admit(key *ledger.Key) *Failure
}

func newWorker(options intent.Options) *worker { return &worker{decoder: intent.NewDecoder(options)} }

// Decide takes one intent to its answer: authorize, or, with testRun, the strict decision without any effect.
// ctx ends the wait for the store; the decision is then unknown to the client, never allowed. The answer is written
// to answer, whose memory is used again; but for its timing it means nothing where Decide returns a failure.
func (a *Authority) Decide(ctx context.Context, key *ledger.Key, body []byte, testRun bool, answer *Answer) *Failure {
	return a.Judge(ctx, key, body, Call{TestRun: testRun}, answer)
}

// Judge is Decide with all that a caller can ask for. It lends a worker to decide.
func (a *Authority) Judge(ctx context.Context, key *ledger.Key, body []byte, call Call, answer *Answer) *Failure {
	w := a.workers.Get().(*worker)
	w.to, w.asked = answer, asked{
		testRun: call.TestRun, explain: call.Explain, timed: call.Timed || a.Metrics != nil,
		id: call.ID, requestID: call.RequestID, trace: call.Trace, admit: call.Admit,
	}
	answer.Timing = [metrics.Stages]time.Duration{}
	fault := a.decide(ctx, w, key, body)
	w.to, w.asked, w.body = nil, asked{}, nil
	a.workers.Put(w) // not deferred: after a panic nobody knows what state it is in
	a.count(answer, fault)
	return fault
}

// count counts a decision and how long it took.
func (a *Authority) count(answer *Answer, fault *Failure) {
	if a.Metrics == nil {
		return
	}
	switch {
	case fault == nil && answer.Replayed:
		a.Metrics.Replay()
	case fault == nil:
		a.Metrics.Decision(answer.Status, answer.Code, answer.TestRun)
		if denied := answer.Status == ledger.Denied.String(); !answer.TestRun && (denied || answer.Status == ledger.Allowed.String()) {
			a.Metrics.Denial(answer.Rule, denied) // an ALLOWED by a rule is a denial that was let pass
		}
	}
	for stage, took := range answer.Timing {
		if took > 0 {
			a.Metrics.Stage(metrics.Stage(stage), took)
		}
	}
}

// lap adds the time since a moment to a stage, and returns the moment that it is now. Where nobody asked, it is still
// that moment.
func (a *Authority) lap(w *worker, stage metrics.Stage, since time.Time) time.Time {
	if !w.timed {
		return since
	}
	now := a.Clock()
	w.to.Timing[stage] += now.Sub(since)
	return now
}

func (a *Authority) decide(ctx context.Context, w *worker, key *ledger.Key, body []byte) *Failure {
	w.now = a.Clock() // which may put the clock in doubt
	if a.Guard != nil && a.Guard.Doubt() != nil {
		return clockUnconfirmed()
	}
	if w.explain && len(body) >= largeExplained {
		turn, fault := a.heavyTurn(ctx, key.ID)
		if fault != nil {
			return fault
		}
		w.turn = turn
		defer w.endTurn()
	}
	in, err := w.decoder.Decode(body)
	w.now = a.lap(w, metrics.StageDecode, w.now)
	if err != nil {
		fault := invalidIntent(err)
		a.noteMalformed(w, key, fault)
		return fault
	}
	if w.admit != nil {
		if fault := w.admit.Admit(key); fault != nil {
			return fault
		}
	}
	a.unknown.warn(a.Log, in.Text(slot.Framework))
	w.in, w.key, w.observe, w.observing = in, key, a.Observe && !w.testRun, a.Observe
	w.bodyBytes, w.body = len(body), body
	defer a.judgeBy(w, nil) // a program that was superseded goes with its last request
	for range maxAttempts {
		fault, again := a.attempt(ctx, w)
		if !again {
			return fault
		}
		a.awaitReplacement(ctx)
		if w.key, fault = a.refresh(w.key); fault != nil {
			return fault
		}
		w.now = a.Clock()
	}
	return unavailable()
}

// endTurn gives back a turn that judging has not taken over.
func (w *worker) endTurn() {
	if w.turn != nil {
		w.turn()
		w.turn = nil
	}
}

func invalidIntent(err error) *Failure {
	var invalid *intent.Error
	if !errors.As(err, &invalid) {
		return failure(errcode.ValidationSchema, err.Error())
	}
	fault := failure(invalid.Code, invalid.Message)
	if invalid.Read {
		fault.Faults = append(fault.Faults, Fault{invalid.Code, invalid.Field, invalid.Message})
		for _, other := range invalid.Rest {
			fault.Faults = append(fault.Faults, Fault{other.Code, other.Field, other.Message})
		}
	}
	return fault
}

// refresh looks a key up again whose epoch has moved.
func (a *Authority) refresh(key *ledger.Key) (*ledger.Key, *Failure) {
	fresh, found := a.Ledger.LookupKey(key.Hash)
	if !found || fresh.Revoked != 0 {
		return nil, badKey()
	}
	return fresh, nil
}

// attempt judges the intent, carries the plan out, and answers; again says that the plan was stale.
func (a *Authority) attempt(ctx context.Context, w *worker) (fault *Failure, again bool) {
	policy, fault, again := a.policyOf(ctx, w.key, w.now.UnixNano())
	if policy == nil {
		return fault, again
	}
	a.judgeBy(w, policy)
	done, fault := a.judgeInTurn(ctx, w)
	if fault != nil {
		return fault, false
	}
	defer done()
	if w.result.Status == vm.Rejected {
		fault := w.rejected()
		a.noteMalformed(w, w.key, fault)
		return fault, false
	}
	if err := a.makePlan(w); err != nil {
		return noRandomness(), false
	}
	claims, fault := a.precheck(w)
	if fault != nil {
		return fault, false
	}
	w.repeatable(claims)
	if w.explain { // before the plan advances what it tells
		if err := a.measure(ctx, w); err != nil {
			a.troubles.report(a.Log, a.Clock(), "the limits of an explanation could not be read", err)
			if w.testRun {
				return w.unstored()
			}
			w.explain = false // the decision does not depend on its explanation
		}
	}
	return a.carryOut(ctx, w, claims, a.lap(w, metrics.StageEvaluate, w.now))
}

// carryOut submits the plan, signs while its record is on its way, and answers when that is durable.
func (a *Authority) carryOut(ctx context.Context, w *worker, claims *attest.Claims, moment time.Time) (fault *Failure, again bool) {
	ticket := a.Ledger.Submit(&w.plan)
	outcome := ticket.Outcome()
	if outcome.Result == ledger.Replayed {
		return a.again(ctx, w, ticket, moment), false
	}
	var token []byte
	var signing error
	if outcome.Decision == ledger.Allowed && a.Signer != nil && !w.testRun {
		claims.Mode = mode(outcome.Observed)
		// Whoever else is ready submits first: signing takes so long that a group would miss them all.
		runtime.Gosched()
		moment = a.lap(w, metrics.StageStore, moment)
		token, signing = a.Signer.Issue(make([]byte, 0, usualTokenBytes), claims)
		moment = a.lap(w, metrics.StageSign, moment)
	}
	err := ticket.Wait(ctx)
	a.lap(w, metrics.StageStore, moment)
	if err != nil {
		a.troubles.report(a.Log, a.Clock(), "a decision could not be stored", err)
		return w.unstored()
	}
	if signing != nil {
		a.Log.Error("an attestation could not be signed", "error", signing)
		return failure(errcode.Internal, "the attestation could not be signed; the decision stays recorded, so ask again with a new intent"), false
	}
	return w.answer(&outcome, token)
}

// judge runs the policy over the intent. While observing, every rule is run, since an approved denial still says
// how much it is about, and for an explanation.
func (w *worker) judge() {
	program := w.policy.program
	if need := len(program.Fields()); cap(w.frame) < need {
		w.frame = make([]vm.Value, need)
	} else {
		w.frame = w.frame[:need]
	}
	w.policy.binding.Fill(w.in, provenance(w.key), program.Needs(w.in.ActionLower()), w.frame)
	runMode := vm.First
	if w.observe || w.explain {
		runMode = vm.All
	}
	w.result, w.sought = w.machine.Run(program, w.frame, runMode), maxSought
}

func provenance(key *ledger.Key) intent.Provenance {
	if key.Shim {
		return intent.Shim
	}
	return intent.Agent
}

// makePlan says what the verdict wants of the ledger.
func (a *Authority) makePlan(w *worker) error {
	w.plan = ledger.Plan{
		ID: w.id, At: w.now.UnixNano(), Key: w.key.ID, Epoch: w.key.Epoch,
		TestRun: w.testRun, Observe: w.observe,
		Event:         a.event(w),
		HideValue:     a.EventDetail != FullDetail,
		Pass:          ledger.Ending{Decision: ledger.Allowed},
		TooManyGroups: errcode.AggregateLimit,
		Quota:         a.quota(w.key),
	}
	if w.key.PolicyHash == [32]byte{} {
		w.plan.Default = w.policy.digest
	}
	if w.plan.ID.IsZero() {
		if _, err := io.ReadFull(a.Random, w.plan.ID[:]); err != nil {
			return err
		}
	}
	w.sight()
	if w.result.Status == vm.Denied {
		rule := w.policy.program.Rule(w.result.Violations[0].Rule)
		w.plan.Pass = ledger.Ending{Decision: ledger.Denied, Code: errcode.Code(rule.Code), Rule: rule.Name}
		return nil
	}
	w.reserve()
	if w.result.Status == vm.Pending {
		return a.requestHold(w)
	}
	return nil
}

// A plan has room for every counter of a program, and a ledger knows the version of the hashes that it is given.
const (
	_ = uint(ledger.MaxReservations - vm.MaxCounters)
	_ = uint(ledger.IntentHashVersion - intent.HashVersion)
	_ = uint(intent.HashVersion - ledger.IntentHashVersion)
)

// reserve turns the machine's reservations into the ledger's.
func (w *worker) reserve() {
	program := w.policy.program
	w.reserved = w.reserved[:0]
	for _, reservation := range w.result.Reservations {
		counter := program.Counter(reservation.Counter)
		rule := program.Rule(counter.Rule)
		reserved := ledger.Reservation{
			Counter: w.counter(counter),
			Op:      operations[counter.Op], Amount: reservation.Amount, Limit: counter.Limit, Code: errcode.Code(rule.Code), Rule: rule.Name,
			Decimals: counter.Decimals, Line: w.policy.counterLines[reservation.Counter],
		}
		if counter.Op == vm.Max && w.frame[counter.Amount].Kind&^vm.Null == vm.Missing {
			reserved.Unseen = errcode.ModelUsage
		}
		w.reserved = append(w.reserved, reserved)
	}
	w.plan.Reservations = w.reserved
}

// counter is the ledger's name of a program's counter, for this intent.
func (w *worker) counter(counter *vm.Counter) ledger.Counter {
	return ledger.Counter{Limit: counter.Name, Window: windows[counter.Window], Group: w.group(counter)}
}

// operations translates what a use does to a counter.
var operations = map[vm.CounterOp]ledger.Op{vm.Count: ledger.Count, vm.Sum: ledger.Sum, vm.Max: ledger.Max}

// windows translates a program's windows into the ledger's.
var windows = map[vm.Window]ledger.Window{vm.Hour: ledger.Hour, vm.Day: ledger.Day, vm.Task: ledger.Task}

// group is what a counter's totals are kept apart by: the text of its slot or, of two slots, of both.
func (w *worker) group(counter *vm.Counter) string {
	switch {
	case counter.Group == vm.NoSlot:
		return ""
	case counter.Subgroup == vm.NoSlot:
		return w.frame[counter.Group].Text
	}
	return w.frame[counter.Group].Text + "\x00" + w.frame[counter.Subgroup].Text
}

// sight has the ledger keep what the request says of its task's model usage (decisions, section 2, "Limits").
func (w *worker) sight() {
	usage, has := w.in.ModelUsage()
	task := w.in.Text(slot.TaskID)
	if !has || task == "" {
		return
	}
	w.seen = w.seen[:0]
	if usage.HasSpend {
		w.see(compiler.SpendCounter, task, usage.SpendMicroUSD)
	}
	if usage.Input > 0 {
		w.see(compiler.InputCounter, task, amount.FromUint64(usage.Input))
	}
	if usage.Output > 0 {
		w.see(compiler.OutputCounter, task, amount.FromUint64(usage.Output))
	}
	if usage.HasTokens || usage.Input > 0 || usage.Output > 0 {
		w.parts = append(w.parts[:0], ofTask(compiler.InputCounter, task), ofTask(compiler.OutputCounter, task))
		w.see(compiler.TokensCounter, task, amount.FromUint64(usage.Tokens), w.parts...)
	}
	w.plan.Seen = w.seen
}

func (w *worker) see(name, task string, value amount.Amount, parts ...ledger.Counter) {
	w.seen = append(w.seen, ledger.Sighting{Counter: ofTask(name, task), Value: value, Parts: parts})
}

// ofTask is a counter of what a task uses.
func ofTask(name, task string) ledger.Counter {
	return ledger.Counter{Limit: name, Window: ledger.Task, Group: task}
}

// requestHold says which hold the intent needs.
func (a *Authority) requestHold(w *worker) error {
	rule := w.policy.program.Rule(w.result.Holds[0])
	w.source = w.in.Canonical(w.policy.binding.Tokens(), w.source[:0])
	w.hold = ledger.HoldRequest{
		IntentHash: w.in.Hash(w.policy.binding.Tokens()), PolicyHash: w.policy.digest, Fee: w.fee(),
		Pending: ledger.Ending{Decision: ledger.Pending, Code: errcode.Code(rule.Code), Rule: rule.Name},
		Denied:  ledger.Ending{Decision: ledger.Denied, Code: errcode.HoldDenied, Rule: rule.Name},
		Method:  w.in.Text(slot.Action), AgentID: w.in.Text(slot.AgentID), PolicyVersion: w.policy.Version, Intent: w.source,
	}
	if _, err := io.ReadFull(a.Random, w.hold.Candidate[:]); err != nil {
		return err
	}
	w.hold.Candidate = w.hold.Candidate.UUIDv4()
	w.plan.Hold = &w.hold
	return nil
}

// event is what every ending records of the request.
func (a *Authority) event(w *worker) ledger.Event {
	event := ledger.Event{
		Endpoint: w.endpoint(), RequestID: w.requestID, AgentID: w.in.Text(slot.AgentID), Action: w.in.Text(slot.Action),
		Class: uint8(w.result.Class), PolicyHash: w.policy.digest, Commitment: commitment(w.in), Subject: a.subject(w),
	}
	if chain, ok := w.in.ChainID(); ok {
		event.ChainID = uint64(chain)
	}
	if len(w.result.Violations) > 0 {
		a.tellEvent(w, &event, &w.result.Violations[0])
	} else if w.result.Status == vm.Pending {
		event.Details = a.asked(w)
	}
	return event
}

// commitment is txCommit or userOpHash as bytes; the decoder has checked that it is one of them.
func commitment(in *intent.Intent) (sum [32]byte) {
	text := in.Text(slot.TxCommit)
	if text == "" {
		text = strings.TrimPrefix(in.Text(slot.UserOpHash), "0x")
	}
	_, _ = hex.Decode(sum[:], []byte(text))
	return sum
}

// unstored answers where the store failed. A plan with limits is denied for want of its counters; everything
// else is unavailable (decisions, section 3).
func (w *worker) unstored() (fault *Failure, again bool) {
	if len(w.plan.Reservations) == 0 {
		return unavailable(), false
	}
	answer := w.newAnswer(ledger.Denied)
	answer.Code = errcode.LimitStore
	answer.Message = append(answer.Message, "the counter of a limit could not be read or advanced, so nothing is allowed; ask again later"...)
	return nil, false
}

// answer turns an outcome into what the client gets.
func (w *worker) answer(outcome *ledger.Outcome, token []byte) (fault *Failure, again bool) {
	switch outcome.Result {
	case ledger.Stale:
		return nil, true
	case ledger.KeyRevoked:
		return badKey(), false
	case ledger.QuotaExceeded:
		return quotaExceeded(w.key, outcome.Now), false
	case ledger.TooManyHolds:
		return failure(errcode.RateLimited, fmt.Sprintf("the key has %d open holds; resolve some, or let them expire", ledger.MaxOpenHolds)), false
	case ledger.Passed, ledger.Held, ledger.HoldDenied, ledger.Refused, ledger.RefusedGroups:
	default:
		return unavailable(), false
	}
	answer := w.newAnswer(outcome.Decision)
	answer.Code, answer.Rule, answer.Attestation = outcome.Code, outcome.Rule, token
	answer.Message, answer.Details = w.appendMessage(answer.Message, outcome), w.details(outcome)
	if w.explain {
		answer.Explanation = w.explanation(outcome)
	}
	if outcome.Result == ledger.Held && !outcome.Hold.IsZero() {
		answer.HoldID, answer.ExpiresAt = outcome.Hold.String(), seconds(outcome.HoldExpires)
	}
	return nil, false
}

// newAnswer starts the answer afresh, in the memory that the caller gave for it.
func (w *worker) newAnswer(decision ledger.Decision) *Answer {
	answer := w.to
	*answer = Answer{
		HTTP: 200, Status: decision.String(), PolicyHash: w.policy.Hash, TestRun: w.testRun, Observe: w.testRun && w.observing,
		Nonce: strings.Clone(w.in.Text(slot.RequestNonce)), Message: answer.Message[:0], Timing: answer.Timing,
	}
	switch {
	case w.testRun:
	case decision == ledger.Denied:
		answer.HTTP = 403
	case decision == ledger.Pending:
		answer.HTTP = 202
	}
	return answer
}
