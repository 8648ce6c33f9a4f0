package decision

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// What judging may take (decisions, section 8).
const (
	// heavyEvaluation is from which effort on a key's requests are judged one at a time.
	heavyEvaluation = 5 * time.Millisecond
	// heavyWait is how long a request waits for its turn to be judged: it keeps its program meanwhile.
	heavyWait = 5 * time.Second
	// maxSought is how many bytes are looked at to name the entries of lists that denied a request, a text once for each entry:
	// some milliseconds. An entry that is not found by then is not named.
	maxSought = 4 << 20
	// largeExplained is from how many bytes on a body that is to be explained takes its key's turn before it is decoded: decoding
	// it takes about as long as judging it does.
	largeExplained = 8 << 10
)

// usualTokenBytes is a little more than what most attestations take.
const usualTokenBytes = 7 << 10

// Decide is Decode, Judge and Close, for a caller that counts requests by no limit of its own.
func (a *Decider) Decide(ctx context.Context, key *ledger.Key, body []byte, call Call, answer *Answer) *service.Failure {
	request, fault := a.Decode(ctx, key, body, call, answer)
	if fault != nil {
		return fault
	}
	defer request.Close()
	return request.Judge(ctx)
}

// Decode reads the body of a request for a decision and checks all that can be checked without a policy. The request is to be
// closed. The answer is where Judge writes; its memory is used again. ctx bounds the wait for the turn to decode a large request
// that is to be explained.
func (a *Decider) Decode(ctx context.Context, key *ledger.Key, body []byte, call Call, answer *Answer) (*Request, *service.Failure) {
	r := a.requests.Get().(*Request)
	r.Call, r.key, r.body, r.to = call, key, body, answer
	r.Timed = call.Timed || a.Metrics != nil
	r.observe, r.observing = a.Observe && !call.TestRun, a.Observe
	answer.Timing = [metrics.Stages]time.Duration{}
	r.unsound = true
	defer r.giveUp()
	fault := a.decode(ctx, r)
	r.unsound = false
	if fault != nil {
		r.Close()
		return nil, fault
	}
	return r, nil
}

func (a *Decider) decode(ctx context.Context, r *Request) (fault *service.Failure) {
	r.now = a.Clock() // which may put the clock in doubt
	if fault = a.ClockFault(); fault != nil {
		return fault
	}
	if r.Explain && len(r.body) >= largeExplained {
		if r.turn, fault = a.heavyTurn(ctx, r.key.ID); fault != nil {
			return fault
		}
	}
	var err error
	r.in, err = r.decoder.Decode(r.body)
	r.now = a.lap(r, metrics.StageDecode, r.now)
	if err != nil {
		fault := invalidIntent(err)
		a.noteMalformed(r, r.key, fault)
		return fault
	}
	return nil
}

// giveUp gives the turn back where decoding panicked: nothing else would.
func (r *Request) giveUp() {
	if r.unsound {
		r.endTurn()
	}
}

// Judge takes a request to its answer: authorize, or a test-run. ctx ends the wait for the store; the decision is then unknown
// to the client, never allowed. The answer means nothing, but for its timing, where Judge returns a failure.
func (r *Request) Judge(ctx context.Context) *service.Failure {
	r.unsound = true
	fault := r.by.judge(ctx, r)
	r.unsound = false
	if fault == nil {
		r.by.count(r.to)
	}
	return fault
}

// Close ends a request, judged or not.
func (r *Request) Close() {
	r.endTurn()
	if r.unsound {
		return
	}
	for stage, took := range r.to.Timing {
		if took > 0 {
			r.by.Metrics.Stage(metrics.Stage(stage), took)
		}
	}
	r.Call, r.to, r.body, r.in, r.key = Call{}, nil, nil, nil, nil
	r.by.requests.Put(r)
}

// count counts a decision.
func (a *Decider) count(answer *Answer) {
	if answer.Replayed {
		a.Metrics.Replay()
		return
	}
	a.Metrics.Decision(answer.Status, answer.Code, answer.TestRun)
	if denied := answer.Status == ledger.Denied.String(); !answer.TestRun && (denied || answer.Status == ledger.Allowed.String()) {
		a.Metrics.Denial(answer.Rule, denied) // an ALLOWED by a rule is a denial that was let pass
	}
}

// lap adds the time since a moment to a stage, and returns the moment that it is now. Without a caller that asks, it is still
// that moment.
func (a *Decider) lap(r *Request, stage metrics.Stage, since time.Time) time.Time {
	if !r.Timed {
		return since
	}
	now := a.Clock()
	r.to.Timing[stage] += now.Sub(since)
	return now
}

func (a *Decider) judge(ctx context.Context, r *Request) (fault *service.Failure) {
	a.unknown.warn(a.Log, r.in.Text(slot.Framework))
	defer a.judgeBy(r, nil) // a program that was superseded goes with its last request
	for range policies.MaxAttempts {
		if fault := a.Halted(r.key); fault != nil {
			return fault
		}
		fault, again := a.attempt(ctx, r)
		if !again {
			return fault
		}
		a.AwaitReplacement(ctx)
		if r.key, fault = a.Refresh(r.key); fault != nil {
			return fault
		}
		r.now = a.Clock()
	}
	return service.Unavailable()
}

// endTurn gives back a turn that judging has not taken over.
func (r *Request) endTurn() {
	if r.turn != nil {
		r.turn()
		r.turn = nil
	}
}

func invalidIntent(err error) *service.Failure {
	var invalid *intent.Error
	if !errors.As(err, &invalid) {
		return service.Fail(errcode.ValidationSchema, err.Error())
	}
	fault := service.Fail(invalid.Code, invalid.Message)
	if invalid.Read {
		fault.Faults = append(fault.Faults, service.Fault{Code: invalid.Code, Field: invalid.Field, Message: invalid.Message})
		for _, other := range invalid.Rest {
			fault.Faults = append(fault.Faults, service.Fault{Code: other.Code, Field: other.Field, Message: other.Message})
		}
	}
	return fault
}

// attempt judges the intent, carries the plan out, and answers; again says that the plan was stale.
func (a *Decider) attempt(ctx context.Context, r *Request) (fault *service.Failure, again bool) {
	policy, fault, again := a.Of(ctx, r.key, r.now.UnixNano())
	if policy == nil {
		return fault, again
	}
	a.judgeBy(r, policy)
	done, fault := a.judgeInTurn(ctx, r)
	if fault != nil {
		return fault, false
	}
	defer done()
	if r.result.Status == vm.Rejected {
		fault := r.rejected()
		a.noteMalformed(r, r.key, fault)
		return fault, false
	}
	if err := a.makePlan(r); err != nil {
		return service.NoRandomness(), false
	}
	claims, fault := a.precheck(r)
	if fault != nil {
		return fault, false
	}
	r.repeatable(claims)
	if r.Explain { // before the plan advances what it tells
		if err := a.measure(ctx, r); err != nil {
			a.Trouble("the limits of an explanation could not be read", err)
			if r.TestRun {
				return r.unstored()
			}
			r.Explain = false // the decision does not depend on its explanation
		}
	}
	return a.carryOut(ctx, r, claims, a.lap(r, metrics.StageEvaluate, r.now))
}

// carryOut submits the plan, signs while its record is on its way, and answers when that is durable.
func (a *Decider) carryOut(ctx context.Context, r *Request, claims *attest.Claims, moment time.Time) (fault *service.Failure, again bool) {
	ticket := a.Ledger.Submit(&r.plan)
	outcome := ticket.Outcome()
	if outcome.Result == ledger.Replayed {
		return a.again(ctx, r, ticket, moment), false
	}
	var token []byte
	var signing error
	if outcome.Decision == ledger.Allowed && a.Signer != nil && !r.TestRun {
		claims.Mode = mode(outcome.Observed)
		token, moment, signing = a.sign(r, claims, moment)
	}
	err := ticket.Wait(ctx)
	a.lap(r, metrics.StageStore, moment)
	if err != nil {
		a.Trouble("a decision could not be stored", err)
		return r.unstored()
	}
	if signing != nil {
		a.Log.Error("an attestation could not be signed", "error", signing)
		return service.Unsigned(), false
	}
	return r.answer(&outcome, token)
}

// sign returns the token of claims or, where another instance signs, the claims.
func (a *Decider) sign(r *Request, claims *attest.Claims, moment time.Time) (token []byte, now time.Time, err error) {
	if r.Unsigned {
		return attest.AppendClaims(nil, claims), moment, nil
	}
	// Other ready requests submit first: signing takes so long that a group would miss them all.
	runtime.Gosched()
	moment = a.lap(r, metrics.StageStore, moment)
	token, err = a.Signer.Issue(make([]byte, 0, usualTokenBytes), claims)
	return token, a.lap(r, metrics.StageSign, moment), err
}

// judge runs the policy over the intent. While observing, every rule is run, since an approved denial still says
// how much it is about, and for an explanation.
func (r *Request) judge() {
	program := r.policy.Program
	if need := len(program.Fields()); cap(r.frame) < need {
		r.frame = make([]vm.Value, need)
	} else {
		r.frame = r.frame[:need]
	}
	r.policy.Binding.Fill(r.in, accounts.Provenance(r.key), program.Needs(r.in.ActionLower()), r.frame)
	runMode := vm.First
	if r.observe || r.Explain {
		runMode = vm.All
	}
	r.result, r.sought = r.machine.Run(program, r.frame, runMode), maxSought
}

// makePlan says what the verdict wants of the ledger.
func (a *Decider) makePlan(r *Request) error {
	r.plan = ledger.Plan{
		ID: r.ID, At: r.now.UnixNano(), Key: r.key.ID, Epoch: r.key.Epoch,
		TestRun: r.TestRun, Observe: r.observe,
		Event:         a.event(r),
		HideValue:     a.EventDetail != FullDetail,
		Pass:          ledger.Ending{Decision: ledger.Allowed},
		TooManyGroups: errcode.AggregateLimit,
		Quota:         a.Quota(r.key),
	}
	if r.key.PolicyHash == [32]byte{} {
		r.plan.Default = r.policy.Digest
	}
	if r.plan.ID.IsZero() {
		if _, err := io.ReadFull(a.Random, r.plan.ID[:]); err != nil {
			return err
		}
	}
	r.sight()
	if r.result.Status == vm.Denied {
		rule := r.policy.Program.Rule(r.result.Violations[0].Rule)
		r.plan.Pass = ledger.Ending{Decision: ledger.Denied, Code: errcode.Code(rule.Code), Rule: rule.Name}
		return nil
	}
	r.reserve()
	if r.result.Status == vm.Pending {
		return a.requestHold(r)
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
func (r *Request) reserve() {
	program := r.policy.Program
	r.reserved = r.reserved[:0]
	for _, reservation := range r.result.Reservations {
		counter := program.Counter(reservation.Counter)
		rule := program.Rule(counter.Rule)
		reserved := ledger.Reservation{
			Counter: r.counter(counter),
			Op:      operations[counter.Op], Amount: reservation.Amount, Limit: counter.Limit, Code: errcode.Code(rule.Code), Rule: rule.Name,
			Decimals: counter.Decimals, Line: r.policy.CounterLines[reservation.Counter],
		}
		if counter.Op == vm.Max && r.frame[counter.Amount].Kind&^vm.Null == vm.Missing {
			reserved.Unseen = errcode.ModelUsage
		}
		r.reserved = append(r.reserved, reserved)
	}
	r.plan.Reservations = r.reserved
}

// counter is the ledger's name of a program's counter, for this intent.
func (r *Request) counter(counter *vm.Counter) ledger.Counter {
	return ledger.Counter{Limit: counter.Name, Window: windows[counter.Window], Group: r.group(counter)}
}

// operations translates what a use does to a counter.
var operations = map[vm.CounterOp]ledger.Op{vm.Count: ledger.Count, vm.Sum: ledger.Sum, vm.Max: ledger.Max}

// windows translates a program's windows into the ledger's.
var windows = map[vm.Window]ledger.Window{vm.Hour: ledger.Hour, vm.Day: ledger.Day, vm.Task: ledger.Task}

// group is what a counter's totals are kept apart by: the text of its slot or, of two slots, of both.
func (r *Request) group(counter *vm.Counter) string {
	switch {
	case counter.Group == vm.NoSlot:
		return ""
	case counter.Subgroup == vm.NoSlot:
		return r.frame[counter.Group].Text
	}
	return r.frame[counter.Group].Text + "\x00" + r.frame[counter.Subgroup].Text
}

// sight has the ledger keep what the request says of its task's model usage (decisions, section 2, "Limits").
func (r *Request) sight() {
	usage, has := r.in.ModelUsage()
	task := r.in.Task()
	if !has || task == "" {
		return
	}
	r.seen = r.seen[:0]
	if usage.HasSpend {
		r.see(sections.KeySpend.Rule, task, usage.SpendMicroUSD)
	}
	if usage.Input > 0 {
		r.see(frame.InputCounter, task, amount.FromUint64(usage.Input))
	}
	if usage.Output > 0 {
		r.see(frame.OutputCounter, task, amount.FromUint64(usage.Output))
	}
	if usage.HasTokens || usage.Input > 0 || usage.Output > 0 {
		r.parts = append(r.parts[:0], ofTask(frame.InputCounter, task), ofTask(frame.OutputCounter, task))
		r.see(sections.KeyTokens.Rule, task, amount.FromUint64(usage.Tokens), r.parts...)
	}
	r.plan.Seen = r.seen
}

func (r *Request) see(name, task string, value amount.Amount, parts ...ledger.Counter) {
	r.seen = append(r.seen, ledger.Sighting{Counter: ofTask(name, task), Value: value, Parts: parts})
}

// ofTask is a counter of what a task uses.
func ofTask(name, task string) ledger.Counter {
	return ledger.Counter{Limit: name, Window: ledger.Task, Group: task}
}

// requestHold says which hold the intent needs.
func (a *Decider) requestHold(r *Request) error {
	rule := r.policy.Program.Rule(r.result.Holds[0])
	r.source = r.in.Canonical(r.policy.Binding.Tokens(), r.source[:0])
	r.hold = ledger.HoldRequest{
		IntentHash: r.in.Hash(r.policy.Binding.Tokens()), PolicyHash: r.policy.Digest, Fee: r.fee(),
		Pending: ledger.Ending{Decision: ledger.Pending, Code: errcode.Code(rule.Code), Rule: rule.Name},
		Denied:  ledger.Ending{Decision: ledger.Denied, Code: errcode.HoldDenied, Rule: rule.Name},
		Method:  r.in.Text(slot.Action), AgentID: r.in.Text(slot.AgentID), PolicyVersion: r.policy.Version, Intent: r.source,
		AmountSent: ledger.Clip(r.in.AmountSent(r.policy.Binding.Tokens())),
	}
	if _, err := io.ReadFull(a.Random, r.hold.Candidate[:]); err != nil {
		return err
	}
	r.hold.Candidate = r.hold.Candidate.UUIDv4()
	r.plan.Hold = &r.hold
	return nil
}

// event is what every ending records of the request.
func (a *Decider) event(r *Request) ledger.Event {
	event := ledger.Event{
		Endpoint: r.endpoint(), RequestID: r.RequestID, AgentID: r.in.Text(slot.AgentID), Action: r.in.Text(slot.Action),
		Class: uint8(r.result.Class), PolicyHash: r.policy.Digest, Commitment: commitment(r.in), Subject: a.subject(r),
	}
	if chain, ok := r.in.ChainID(); ok {
		event.ChainID = uint64(chain)
	}
	if len(r.result.Violations) > 0 {
		a.tellEvent(r, &event, &r.result.Violations[0])
	} else if r.result.Status == vm.Pending {
		event.Details = a.asked(r)
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
func (r *Request) unstored() (fault *service.Failure, again bool) {
	if len(r.plan.Reservations) == 0 {
		return service.Unavailable(), false
	}
	answer := r.newAnswer(ledger.Denied)
	answer.Code = errcode.LimitStore
	answer.Message = append(answer.Message, "the counter of a limit could not be read or advanced, so nothing is allowed; ask again later"...)
	return nil, false
}

// answer turns an outcome into what the client gets.
func (r *Request) answer(outcome *ledger.Outcome, token []byte) (fault *service.Failure, again bool) {
	switch outcome.Result {
	case ledger.Stale:
		return nil, true
	case ledger.KeyRevoked:
		return service.BadKey(), false
	case ledger.Halted:
		return r.by.HaltFault(r.key), false
	case ledger.QuotaExceeded:
		return accounts.QuotaExceeded(r.key, outcome.Now), false
	case ledger.TooManyHolds:
		return service.Fail(errcode.RateLimited, fmt.Sprintf("the key has %d open holds; resolve some, or let them expire", ledger.MaxOpenHolds)), false
	case ledger.Passed, ledger.Held, ledger.HoldDenied, ledger.Refused, ledger.RefusedGroups:
	default:
		return service.Unavailable(), false
	}
	answer := r.newAnswer(outcome.Decision)
	answer.Code, answer.Rule = outcome.Code, outcome.Rule
	if r.Unsigned {
		answer.Claims = token
	} else {
		answer.Attestation = token
	}
	answer.Message, answer.Details = r.appendMessage(answer.Message, outcome), r.details(outcome)
	if r.Explain {
		answer.Explanation = r.explanation(outcome)
	}
	if outcome.Result == ledger.Held && !r.TestRun { // a test-run names no hold, be there one or not
		answer.HoldID, answer.ExpiresAt = outcome.Hold.String(), clock.Seconds(outcome.HoldExpires)
		if r.by.HoldPages != "" {
			answer.ApprovalURL = r.by.HoldPages + answer.HoldID
		}
	}
	return nil, false
}

// newAnswer starts the answer afresh, in the memory that the caller gave for it.
func (r *Request) newAnswer(decision ledger.Decision) *Answer {
	answer := r.to
	*answer = Answer{
		HTTP: 200, Status: decision.String(), PolicyHash: r.policy.Hash, TestRun: r.TestRun, Observe: r.TestRun && r.observing,
		Nonce: strings.Clone(r.in.Text(slot.RequestNonce)), Message: answer.Message[:0], Timing: answer.Timing,
	}
	switch {
	case r.TestRun:
	case decision == ledger.Denied:
		answer.HTTP = 403
	case decision == ledger.Pending:
		answer.HTTP = 202
	}
	return answer
}
