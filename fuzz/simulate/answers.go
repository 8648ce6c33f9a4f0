package simulate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"bailiff/runtime/ledger"
	"bailiff/vm/errcode"
)

// The kinds of operations whose answers have to be those of some order.
const (
	authorize = iota
	authorizeHeld
	resolve
	deploy
	halt
	revoke
)

// An operation is what a client or the operator asked for, of one key or, without one, of the service.
type operation struct {
	kind   int
	key    string
	at     int64 // the service's time then
	until  int64 // its time when it was answered: one that is judged anew is judged later
	policy int
	allow  bool
	stop   bool
	hold   string
}

// String names the operation.
func (o operation) String() string {
	return []string{"authorize", "authorize, held", "resolve", "deploy", "halt", "revoke"}[o.kind] +
		fmt.Sprintf(" of %s at %s: policy %d, allow %t, stop %t", o.key, time.Unix(0, o.at).UTC().Format("02T15:04:05.000"), o.policy, o.allow, o.stop)
}

// unknown is the answer of an operation of which it is not known whether it was carried out.
const unknown = "unknown"

// answers are operations and what they were answered.
type answers struct {
	all  []*asked
	tick int64
}

type asked struct {
	operation
	called, returned int64 // 0: not yet
	said             string
}

// during notes an operation and its answer.
func (a *answers) during(w *world, l *life, key string, o operation, call func() string) {
	a.tick++
	o.key = key
	q := &asked{operation: o, called: a.tick, said: unknown}
	a.all = append(a.all, q)
	said := call()
	id, _ := ledger.ParseID(key)
	q.until = max(q.at, l.now().UnixNano(), w.checked.Now(id))
	if l.over {
		return
	}
	w.note("%s: %q", o, said)
	w.reached[strings.Fields(o.String())[0]+" "+said]++
	a.tick++
	if q.said = said; said == string(errcode.StoreUnavailable) {
		q.said = unknown
	}
	if q.said != unknown {
		q.returned = a.tick
	}
}

// unavailable reports whether an error says that the store does not work.
func unavailable(err error) bool {
	return errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrUnknown) || errors.Is(err, ledger.ErrClosed)
}

// A keyState is what an order of operations makes of a key.
type keyState struct {
	now      int64
	counted  int64 // when the count was advanced last
	count    int
	policy   int // -1: none
	frozen   bool
	halted   bool
	revoked  bool
	held     [agentPolicies]held
	stopping bool // a stop that may have been lost was in force for a while
}

// A held is what became of the one hold of a policy.
type held struct {
	state   ledger.HoldState // 0: none
	expires int64
}

// step returns the states that an operation with an answer may lead to, at any time from when it was called to when it was answered.
func (s keyState) step(o operation, said string) (next []keyState) {
	for at := o.at; at < o.until; at += int64(time.Hour) - at%int64(time.Hour) {
		next = append(next, s.stepAt(o, said, at)...)
	}
	return append(next, s.stepAt(o, said, max(o.at, o.until))...)
}

// taken are the answers of operations that are recorded, those of a key at its time. Refusals do not advance that.
var taken = []string{"", "ALLOWED", "DENIED", "PENDING"}

// stepAt does so at a time.
func (s keyState) stepAt(o operation, said string, at int64) (next []keyState) {
	if said == unknown {
		without := s // it was not carried out, but may have been in force until it was lost
		without.stopping = s.stopping || o.kind == revoke || o.kind == halt && o.stop
		next = append(next, without)
		for _, would := range taken {
			next = append(next, s.stepAt(o, would, at)...)
		}
		return next
	}
	if o.key != "" && slices.Contains(taken, said) {
		s.now = max(s.now, at)
	}
	switch o.kind {
	case authorize, authorizeHeld:
		return s.decide(o, said)
	case resolve:
		return s.resolve(o, said)
	case deploy:
		if said == "" && !s.revoked && !s.frozen && !s.halted {
			s.policy = o.policy
			return []keyState{s}
		}
		return s.unless(said != "")
	case halt:
		if said != "" {
			return s.unless(true)
		}
		if o.key == "" {
			s.frozen = o.stop
		} else {
			s.halted = o.stop
		}
		return []keyState{s}
	}
	if said == "" && !s.revoked {
		s.revoked = true
		return []keyState{s}
	}
	return s.unless(said != "" && s.revoked)
}

// unless is the state as it is, where that fits.
func (s keyState) unless(fits bool) []keyState {
	if !fits {
		return nil
	}
	return []keyState{s}
}

// decide is the decision about a tool, or about one that a person has to approve.
func (s keyState) decide(o operation, said string) []keyState {
	switch said {
	case "ALLOWED", "DENIED", "PENDING":
	default: // a refusal, which is right where something is stopped
		return s.unless(s.revoked || s.frozen || s.halted || s.policy < 0 || s.stopping || !slices.Contains(stops, said))
	}
	if s.revoked || s.frozen || s.halted || s.policy < 0 {
		return nil
	}
	h := &s.held[s.policy]
	if o.kind == authorizeHeld {
		if h.state == 0 || s.now >= h.expires || h.state == ledger.HoldUsed {
			*h = held{ledger.HoldPending, s.now + int64(ledger.HoldLifetime)}
		}
		if h.state == ledger.HoldPending {
			return s.unless(said == "PENDING")
		}
		if h.state == ledger.HoldRefused {
			return s.unless(said == "DENIED")
		}
	}
	if s.counted/int64(time.Hour) != s.now/int64(time.Hour) {
		s.count = 0
	}
	if s.count >= limits[s.policy] {
		return s.unless(said == "DENIED")
	}
	s.count++
	s.counted = s.now
	if o.kind == authorizeHeld {
		h.state = ledger.HoldUsed
	}
	return s.unless(said == "ALLOWED")
}

// stops are the codes of refusals because something is stopped.
var stops = []string{string(errcode.Frozen), string(errcode.KeySuspended), string(errcode.APIKeyInvalid)}

func (s keyState) resolve(o operation, said string) []keyState {
	if o.policy < 0 || said != "" {
		return s.unless(said != "")
	}
	h := &s.held[o.policy]
	if s.frozen || s.halted || h.state != ledger.HoldPending || s.now >= h.expires {
		return nil
	}
	h.state = ledger.HoldRefused
	if o.allow {
		h.state = ledger.HoldAllowed
	}
	return []keyState{s}
}

// model is the model of a key: a state of it is the set of states that the key may be in. It stops in the middle of a step when the
// search does, since what runs on keeps a world from settling.
func model() porcupine.Model {
	type set = map[keyState]struct{}
	return porcupine.Model{
		Init: func() any { return set{{policy: -1}: {}} },
		StepContext: func(ctx context.Context, state, input, output any) (bool, any) {
			next := set{}
			for s := range state.(set) {
				if ctx.Err() != nil {
					return false, nil
				}
				for _, n := range s.step(input.(operation), output.(string)) {
					next[n] = struct{}{}
				}
			}
			return len(next) > 0, next
		},
		Equal: func(a, b any) bool { return maps.Equal(a.(set), b.(set)) },
		Hash: func(state any) (sum uint64) {
			for s := range state.(set) {
				sum ^= maphash.Comparable(hashSeed, s)
			}
			return sum
		},
	}
}

var hashSeed = maphash.MakeSeed()

// The names by which a world counts the searches for orders.
const (
	ordersFound   = "orders found"
	ordersUnfound = "orders not found in time"
)

// searchTime is how long an order is sought, and once more where it is not found in that time. Few of very many take longer, of which mostUnfound are let pass.
const searchTime = 5 * time.Second

// mostUnfound is how many orders may not be found in time beside so many that are.
func mostUnfound(found int) int { return 2 + found/1000 }

// tooManyUnfound is the failure of worlds whose answers were held against orders too seldom.
func tooManyUnfound(reached map[string]int) error {
	found, unfound := reached[ordersFound], reached[ordersUnfound]
	if most := mostUnfound(found); unfound > most {
		return fmt.Errorf("%d orders were not found in twice %v each, and %d were; at most %d may stay unfound", unfound, searchTime, found, most)
	}
	return nil
}

// check returns which key's answers no order explains. What the operator says of the service concerns each key.
func (a *answers) check(w *world, search time.Duration) error {
	byKey := map[string][]porcupine.Operation{}
	for _, q := range a.all {
		if q.key != "" {
			byKey[q.key] = nil
		}
	}
	keys := slices.Sorted(maps.Keys(byKey))
	for i, q := range a.all {
		returned := q.returned
		if returned == 0 {
			returned = a.tick + 1
		}
		for _, key := range keys {
			if q.key == key || q.key == "" {
				byKey[key] = append(byKey[key], porcupine.Operation{ClientId: i, Input: q.operation, Call: q.called, Output: q.said, Return: returned})
			}
		}
	}
	for _, key := range keys {
		found := porcupine.CheckOperationsTimeout(model(), byKey[key], search)
		if found == porcupine.Unknown { // the machine may have been busy
			found = porcupine.CheckOperationsTimeout(model(), byKey[key], search)
		}
		switch found {
		case porcupine.Illegal:
			return fmt.Errorf("no order of its requests explains the answers of key %s:\n%s", key, a.of(key))
		case porcupine.Unknown:
			w.reached[ordersUnfound]++
		default:
			w.reached[ordersFound]++
		}
	}
	return nil
}

// of returns the operations of a key, and their answers.
func (a *answers) of(key string) string {
	var text strings.Builder
	for _, q := range a.all {
		if q.key == key || q.key == "" {
			fmt.Fprintf(&text, "%4d to %4d  %s: %q\n", q.called, q.returned, q.operation, q.said)
		}
	}
	return text.String()
}

// tokenID returns the id of an attestation.
func tokenID(token []byte) (string, error) {
	parts := strings.Split(string(token), ".")
	if len(parts) != 3 {
		return "", errors.New("an attestation is not a compact JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", err
	}
	var claims struct {
		ID string `json:"jti"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.ID == "" {
		return "", fmt.Errorf("an attestation has no id: %w", err)
	}
	return claims.ID, nil
}

// policyOf returns which of the agents' policies has a hash, -1 for none. A deployment without an answer may have taken effect.
func (s *authorityScene) policyOf(hash string) int {
	if policy, known := s.hashes[hash]; known && policy < agentPolicies {
		return policy
	}
	return -1
}

// check holds the answers against all orders, and the webhooks against the log.
func (s *authorityScene) check(w *world) error {
	if err := s.answers.check(w, searchTime); err != nil {
		return err
	}
	most := w.kernel.steps + 2000 // 64 were the most in 400 worlds
	for range 60 {                // as long as deliveries are made again
		if w.checked.Undelivered() == 0 || w.problem() != nil {
			return w.problem()
		}
		w.leap(2 * time.Hour)
		for w.kernel.steps < most && len(w.events) > 0 && w.happen() { // until all have settled
		}
	}
	return fmt.Errorf("%d deliveries wait, and every receiver takes them", w.checked.Undelivered())
}
